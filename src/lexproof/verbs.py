"""The verbs on one space, find, prove, minimize, count, and on words in embedding space, radius.

    answer = prove(victim, space, label)

They check every answer's evidence before they return it (`lexproof.questions`, `lexproof.evidence`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lexproof.answers import Bracket, Broken, Minimum, Robust, Share, ShareCurve, Unknown
from lexproof.asking import Item, answer_one, goal_for
from lexproof.certify.cascade import PROVERS
from lexproof.certify.radius import CertifiedCurve, curve_of
from lexproof.counting import Count, CountCurve
from lexproof.engine import Limits
from lexproof.errors import InputError
from lexproof.questions import AttackLike, Find, Minimize, Prove
from lexproof.safe_radius.answer import RadiusBracket
from lexproof.safe_radius.index_sets import IndexSet, check_words, index_sets
from lexproof.safe_radius.settings import Settings, norm_of
from lexproof.space import Space
from lexproof.statistics.guarantee import EXACT_NODES, EXACT_POINTS, Interval
from lexproof.text import Input, Text
from lexproof.victims.base import Victim


def find(
    victim: Victim,
    space: Space,
    label: int | None = None,
    *,
    target: int | None = None,
    attack: AttackLike = None,
    seed: int = 0,
    max_queries: int | None = None,
    time_limit: float | None = None,
) -> Broken | Unknown:
    """A text of the space that fools the victim, or Unknown: that an attack fails proves nothing.

    `label` defaults to the victim's own prediction.  A text that is misclassified as it stands is Broken with 0 swaps.
    `attack` is a name with settings (`lexproof list attacks`) or an attack object; TextFooler if none is given, or
    `decision` for a victim that gives labels only.
    """
    return answer_one(
        Find(attack=attack, seed=seed, limits=Limits(max_queries, time_limit)), victim, space, label, target
    )


def prove(
    victim: Victim,
    space: Space,
    label: int | None = None,
    *,
    target: int | None = None,
    provers: Sequence[str] = PROVERS,
    max_nodes: int | None = None,
    max_queries: int | None = None,
    time_limit: float | None = None,
) -> Robust | Broken | Unknown:
    """Whether no text of the space fools the victim; Broken with a witness if one does.

    `provers` are tried from cheap to dear (`lexproof list provers`).  Robust comes with a certificate that
    `lexproof.recheck` derives again and `lexproof.check` verifies from its JSON.
    """
    question = Prove(provers=tuple(provers), max_nodes=max_nodes, limits=Limits(max_queries, time_limit))
    return answer_one(question, victim, space, label, target)


def certified_curve(
    victim: Victim, space: Space, label: int | None = None, *, target: int | None = None
) -> CertifiedCurve:
    """Lower bounds of the margin for 0 … max_swaps swaps from one sweep of bounds, and the radius they certify.

    NoRule for a victim that does not show its operations.
    """
    return curve_of(victim, space, goal_for(victim, Item(0, space, label, target)))


def minimize(
    victim: Victim,
    space: Space,
    label: int | None = None,
    *,
    target: int | None = None,
    attack: AttackLike = None,
    seed: int = 0,
    provers: Sequence[str] = PROVERS,
    max_points: int = 100_000,
    max_nodes: int | None = 200_000,
    max_queries: int | None = None,
    time_limit: float | None = None,
) -> Minimum | Bracket:
    """The fewest swaps that fool the victim, exactly or as a bracket `lower <= R <= upper`.

    `attack` gives the upper end: `best` if none is given, or `decision` for a victim that gives labels only.
    `provers` give the lower end, within `max_points` texts scored and `max_nodes` nodes of branch and bound.
    """
    question = Minimize(
        attack=attack,
        provers=tuple(provers),
        max_points=max_points,
        max_nodes=max_nodes,
        seed=seed,
        limits=Limits(max_queries, time_limit),
    )
    return answer_one(question, victim, space, label, target)


def count(
    victim: Victim,
    space: Space,
    label: int | None = None,
    *,
    target: int | None = None,
    half_width: float = 0.025,
    confidence: float = 0.995,
    samples: int | None = None,
    interval: Interval = "anytime",
    threshold: float | None = None,
    exact_points: int = EXACT_POINTS,
    exact_nodes: int = EXACT_NODES,
    seed: int = 0,
    time_limit: float | None = None,
) -> Share | Unknown:
    """The share of the space that fools the victim: exact if the space is small or bounds settle it, else estimated.

    `interval` is `anytime` (draws until the half width is reached, or PR = 1 - share is known to be above or below the
    `threshold`; when time runs out, the interval so far), or `clopper-pearson` or `hoeffding` with the number of draws
    of the PDP paper, N > ln(2 / (1 - confidence)) / (2 half_width²).  `samples` sets, or for `anytime` limits, that
    number; a space of no more points is enumerated.  Word models are first tried by bounds, within `exact_points` texts
    scored and `exact_nodes` nodes bounded (0: not at all).
    """
    question = Count(
        samples=samples,
        confidence=confidence,
        interval=interval,
        half_width=half_width,
        threshold=threshold,
        exact_points=exact_points,
        exact_nodes=exact_nodes,
        seed=seed,
        limits=Limits(None, time_limit),
    )
    return answer_one(question, victim, space, label, target)


def count_curve(
    victim: Victim,
    space: Space,
    label: int | None = None,
    *,
    target: int | None = None,
    half_width: float = 0.025,
    confidence: float = 0.995,
    samples: int | None = None,
    interval: Interval = "anytime",
    exact_points: int = EXACT_POINTS,
    exact_nodes: int = EXACT_NODES,
    seed: int = 0,
    time_limit: float | None = None,
) -> ShareCurve | Unknown:
    """The share that fools the victim among texts with exactly k and with at most r swaps, for every k and r.

    Each number of swaps is counted exactly where that is cheap and drawn from otherwise, as `count` does; all intervals
    hold together at the confidence asked for.  `samples` is the most draws for one number of swaps.
    """
    question = CountCurve(
        samples=samples,
        confidence=confidence,
        interval=interval,
        half_width=half_width,
        exact_points=exact_points,
        exact_nodes=exact_nodes,
        seed=seed,
        limits=Limits(None, time_limit),
    )
    return answer_one(question, victim, space, label, target)


def radius(
    victim: Victim,
    text: Input | Text,
    words: Sequence[int],
    *,
    norm: float | str = 2,
    uppers: Sequence[str] = ("descent", "words"),
    tolerance: float = 0.01,
    seed: int = 0,
    time_limit: float | None = None,
    neighbors: int | None = None,
) -> RadiusBracket:
    """How far these words of a text may move together in embedding space before the predicted class changes.

    `norm` is 1, 2 or inf.  The bracket `lower <= MSR <= upper` is a proof from below; from above the nearest point that
    the `uppers` found: `descent` in the ball, `words` of the vocabulary (any one of them), `mcts` (all of them).
    NoRule for a victim without word vectors, such as a black box.
    """
    (bracket,) = next(
        radii(
            victim, [text], [words], norm=norm, uppers=uppers, tolerance=tolerance, seed=seed, time_limit=time_limit,
            neighbors=neighbors,
        )
    )  # fmt: skip
    return bracket


def radii(
    victim: Victim,
    texts: Iterable[Input | Text],
    sets: str | Sequence[Sequence[int]] = "each",
    *,
    norm: float | str = 2,
    uppers: Sequence[str] = ("descent", "words"),
    tolerance: float = 0.01,
    seed: int = 0,
    time_limit: float | None = None,
    neighbors: int | None = None,
) -> Iterator[list[RadiusBracket]]:
    """For each text the brackets of many index sets.

    `sets` is `each` word, all `pairs`, `KxCOUNT` sets drawn by the seed, or a list of sets such as [(0,), (1, 4)].
    Texts are bounded in batches; `time_limit` is in seconds a text, what is proven by then is kept.
    """
    if isinstance(texts, str):
        raise InputError(f"expected a list of texts, got one string, {texts[:40]!r}; lp.radius asks about one text")
    from lexproof.safe_radius.question import Asked  # with all that bounds and searches in a ball need: not at import
    from lexproof.safe_radius.question import radii as brackets_of

    settings = Settings(
        norm=norm_of(norm),
        uppers=_uppers(uppers),
        tolerance=tolerance,
        seed=seed,
        time_limit=time_limit,
        neighbors=neighbors,
    )
    asked = [Asked(given, _sets(given, sets, seed)) for given in map(_text, texts)]
    return brackets_of(victim, asked, settings)


def _uppers(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InputError(f"expected a list of upper ends such as ['descent'], got the string {given!r}")
    return tuple(given)


def _sets(text: Text, sets: str | Sequence[Sequence[int]], seed: int) -> list[IndexSet]:
    return index_sets(text, sets, seed) if isinstance(sets, str) else [check_words(text, own) for own in sets]


def _text(given: Input | Text) -> Text:
    """The text, split as `Text.parse` does: a bracket states a text and the numbers of words in it, no more."""
    if not isinstance(given, Text | str) and not (isinstance(given, tuple) and len(given) == 2):
        raise InputError(f"expected a text, or a pair of premise and hypothesis, got {given!r}")
    if not isinstance(given, Text):
        return Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
    parsed = Text.parse(str(given), premise=given.premise)
    if parsed != given:
        raise InputError(f"expected words as Text.parse finds them, {list(parsed.words)}, got {list(given.words)}")
    return given
