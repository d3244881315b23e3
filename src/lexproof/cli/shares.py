"""How many of many texts hold: the last line of `lexproof count`."""

from __future__ import annotations

from dataclasses import dataclass, field

from lexproof.answers import Answer, RadiusShare, Share, ShareCurve
from lexproof.asking import Answered
from lexproof.cli.answers import Refused
from lexproof.statistics.intervals import check_threshold, clopper_pearson, is_above

_USUAL = 0.9  # the PDP paper asks which texts have PR > 0.9


@dataclass(slots=True)
class ShareSummary:
    """The shares of many texts that are classified correctly, and how many of them have PR above a threshold."""

    threshold: float | None = None
    shares: list[Share | RadiusShare] = field(default_factory=list)
    is_asked: bool = False  # whether any text has a share

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def add(self, answered: Answered[Answer] | Refused, predicted: int | None) -> None:
        """Take a text's answer if it has one and is classified correctly; of a curve the share of the whole space."""
        answer = None if isinstance(answered, Refused) else answered.answer
        self.is_asked |= isinstance(answer, Share | ShareCurve)
        if isinstance(answered, Refused) or predicted != answered.goal.label:
            return
        if isinstance(answer, ShareCurve):
            self.shares.append(answer.radii[-1])
        elif isinstance(answer, Share):
            self.shares.append(answer)

    def sentence(self) -> str:
        """How many texts are above by their estimates, and how many of all are settled by their intervals.

        The interval is over the draw of the texts.
        """
        limit = _USUAL if self.threshold is None else self.threshold
        n = len(self.shares)
        if not n:
            return f"PR > {limit:g}: no text is classified correctly"
        above = sum(is_above(share.value, limit) for share in self.shares)
        settled = sum(is_above(share.high, limit) == is_above(share.low, limit) for share in self.shares)
        low, high = clopper_pearson(above, n, 0.95)
        share = f"{above / n:.4f}" if n else "unknown"
        return (
            f"PR > {limit:g}: {above} of {n} texts classified correctly, {share} [{low:.4f}, {high:.4f}] "
            f"(95 % Clopper-Pearson); {settled} settled by their intervals"
        )
