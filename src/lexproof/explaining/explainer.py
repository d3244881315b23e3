"""The explainer: settings, and the methods asked about one text or many."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from lexproof.asking import Item
from lexproof.errors import InputError, MissingExtra, ModelError, NoRule, UnknownName
from lexproof.explaining.asked import Asked, Progress, untold
from lexproof.explaining.by_lime import by_lime, check_lime
from lexproof.explaining.by_probes import by_deletion, by_gradient
from lexproof.explaining.by_radius import by_radius
from lexproof.explaining.by_swaps import by_swaps
from lexproof.explaining.explanation import Explanation, Saliency
from lexproof.explaining.labels import label_number
from lexproof.safe_radius.settings import norm_of
from lexproof.space import Space
from lexproof.victims.base import Victim

METHODS: Mapping[str, Callable[[Asked], Saliency]] = MappingProxyType(
    {"radius": by_radius, "swaps": by_swaps, "deletion": by_deletion, "gradient": by_gradient, "lime": by_lime}
)
"""All methods, by name."""

DEFAULT_METHODS = ("radius", "swaps", "lime")
"""What is proven, what is tried and what is estimated, side by side; LIME only if its package is installed."""


def usual_methods() -> tuple[tuple[str, ...], str]:
    """The default methods that can be asked here, and a note that names the pip command for what is missing."""
    try:
        check_lime()
    except MissingExtra as error:
        return tuple(method for method in DEFAULT_METHODS if method != "lime"), f"lime is left out: {error}"
    return DEFAULT_METHODS, ""


@dataclass(frozen=True, slots=True)
class Explained:
    """An item with its explanation, or with the error that kept it from being explained."""

    item: Item
    explanation: Explanation | None
    error: InputError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explainer:
    """What is asked about each text; checks itself before anything runs.

    `norm` and `time_limit` (seconds a text, None for no limit) are of `radius`, whose bounds can take long for
    recurrent networks and transformers; `seed` and `lime_samples` of `lime`.  `methods` may be a single name; the
    default ones leave `lime` out, with the reason, if its package is missing, where others raise MissingExtra.
    `progress` is told the share of the work on a text that is done.
    """

    methods: tuple[str, ...] = DEFAULT_METHODS
    norm: float = 2.0
    seed: int = 0
    lime_samples: int = 1000
    time_limit: float | None = None
    progress: Progress = field(default=untold, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", known_methods(self.methods))
        object.__setattr__(self, "norm", norm_of(self.norm))
        if self.lime_samples < 2:
            raise InputError(f"expected lime_samples >= 2, got {self.lime_samples}")
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InputError(f"expected time_limit >= 0, got {self.time_limit}")
        if "lime" in self.methods and self.methods != DEFAULT_METHODS:
            check_lime()

    def explain(self, victim: Victim, space: Space, label: int | str | None = None) -> Explanation:
        """Ask every method about one text; `space` has the substitutes that `swaps` tries, one at a time."""
        scores = victim.scores([space.original.input])[0]
        predicted = int(scores.argmax())
        label = predicted if label is None else label_number(label, victim)
        asked = Asked(
            victim=victim,
            space=space,
            label=label,
            scores=scores,
            norm=self.norm,
            seed=self.seed,
            samples=self.lime_samples,
            time_limit=self.time_limit,
            tell=self.progress,
        )
        return Explanation(
            text=space.original,
            label=label,
            predicted=predicted,
            scores=tuple(map(float, scores)),
            labels=victim.labels,
            norm=self.norm,
            seed=self.seed,
            saliencies=tuple(self._answers(asked)),
        )

    def _answers(self, asked: Asked) -> Iterator[Saliency]:
        """What each method says; methods count as equally long."""
        for number, method in enumerate(self.methods):
            tell = partial(self._tell, number)
            yield _timed(method, replace(asked, tell=tell))
            tell(1.0)

    def _tell(self, done: int, share: float) -> None:
        self.progress((done + share) / len(self.methods))

    def explain_all(self, victim: Victim, items: Iterable[Item]) -> Iterator[Explained]:
        """Explain many texts, each as it is finished; one that the victim cannot answer stops no other."""
        for item in items:
            try:
                yield Explained(item, self.explain(victim, item.space, item.label))
            except ModelError as error:
                yield Explained(item, None, error)


def known_methods(given: str | Iterable[str]) -> tuple[str, ...]:
    """The methods given, or the one, each once; InputError unless all are known."""
    named = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not named:
        raise InputError(f"expected at least one method, got none; choose from {', '.join(METHODS)}")
    for name in named:
        if not isinstance(name, str):
            raise InputError(f"expected names of methods out of {', '.join(METHODS)}, got {name!r}")
        if name not in METHODS:
            raise UnknownName("method", name, METHODS)
    return tuple(dict.fromkeys(named))


def _timed(method: str, asked: Asked) -> Saliency:
    """The method's answer, or why it has none."""
    begun = time.perf_counter()
    try:
        found = METHODS[method](asked)
    except (NoRule, MissingExtra) as error:
        found = Saliency(method=method, reason=str(error))
    return replace(found, seconds=time.perf_counter() - begun)
