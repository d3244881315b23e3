"""Saliency by LIME: the weights of a linear model of the label's score around the text.

Ribeiro, Singh, Guestrin 2016, "Why should I trust you?"; computed by the package `lime`, an extra.

The package is shown the numbers of the words instead of the words, so that its features are exactly our words by
position, whatever letters, apostrophes or hyphens they have and however often they occur.  A word that it hides is
masked for the victim as every probe here is; gaps and premise stay.  No feature is left out of the linear model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lexproof.errors import require
from lexproof.explaining.asked import Asked
from lexproof.explaining.explanation import Saliency
from lexproof.points import MASKED, FloatArray, IntArray

_HIDDEN = "_"


def check_lime() -> None:
    """Raise MissingExtra unless the package is there."""
    require("lime", "lime", "saliency by LIME")


def by_lime(asked: Asked) -> Saliency:
    """The weight of each word; positive if it speaks for the label.  MissingExtra without the package."""
    check_lime()
    n = asked.space.n
    if not n:
        return Saliency(method="lime")
    from lime.lime_text import LimeTextExplainer

    def score(numbered: Sequence[str]) -> FloatArray:
        return asked.scored(np.stack([_point(written) for written in numbered]))

    explainer = LimeTextExplainer(
        split_expression=" ",
        bow=False,
        mask_string=_HIDDEN,
        feature_selection="none",
        random_state=np.random.RandomState(asked.seed),
    )
    numbers = " ".join(map(str, range(n)))
    found = explainer.explain_instance(numbers, score, labels=(asked.label,), num_features=n, num_samples=asked.samples)
    weights = {int(position): float(weight) for position, weight in found.local_exp[asked.label]}
    return Saliency(method="lime", values=tuple(weights[i] for i in range(n)), queries=asked.samples)


def _point(written: str) -> IntArray:
    return np.array([MASKED if word == _HIDDEN else 0 for word in written.split(" ")], np.int32)
