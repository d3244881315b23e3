"""Which words matter: the saliency of every word of a text by several methods, side by side.

    explanation = lexproof.explain(victim, "a charming and often affecting journey")
    explanation["radius"].values, explanation.agreement()

| method | saliency of a word |
|---|---|
| radius | smallest certified safe radius of the text's words / that of the word; 0 if any replacement is safe |
| swaps | largest drop of the label's score over all substitutes of the word |
| deletion | drop of the label's score when the word is deleted |
| gradient | L1 norm of the gradient of the label's score by the word's vectors |
| lime | weight of the word in LIME's linear model of the label's score around the text; may be negative |

`explain` is the verb for one text; `Explainer` asks about many.
"""

from __future__ import annotations

from collections.abc import Sequence

from lexproof.edits import as_text
from lexproof.explaining.agreement import Agreement
from lexproof.explaining.curves import DeletionCurve, deletion_curve, random_curve
from lexproof.explaining.explainer import DEFAULT_METHODS, METHODS, Explained, Explainer, known_methods, usual_methods
from lexproof.explaining.explanation import Explanation, SafeRadius, Saliency, WorstSwap
from lexproof.safe_radius.settings import norm_of
from lexproof.space import Candidates, Space
from lexproof.text import Input, Text
from lexproof.victims.base import Victim

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "Agreement",
    "DeletionCurve",
    "Explained",
    "Explainer",
    "Explanation",
    "SafeRadius",
    "Saliency",
    "WorstSwap",
    "deletion_curve",
    "explain",
    "random_curve",
    "usual_methods",
]


def explain(
    victim: Victim,
    text: Text | Input,
    label: int | str | None = None,
    *,
    candidates: Candidates | None = None,
    norm: float | str = 2,
    methods: Sequence[str] | str = DEFAULT_METHODS,
    seed: int = 0,
    lime_samples: int = 1000,
    time_limit: float | None = None,
) -> Explanation:
    """How much each word of the text matters for the label, by every method asked for.

    `label`, by name or number, defaults to the victim's own prediction; `methods` are names, or one.  `candidates` are
    the substitutes that `swaps` tries (the default ones), `norm` (1, 2 or inf) and `time_limit` (seconds) are for
    `radius`, `seed` and `lime_samples` for `lime`, which needs the extra of that name.  A method that this victim
    cannot serve, or not in time, is left out and says why; so is, of the default methods, `lime` without its package.
    """
    if candidates is None:
        from lexproof.candidates import default

        candidates = default()
    explainer = Explainer(
        methods=known_methods(methods), norm=norm_of(norm), seed=seed, lime_samples=lime_samples, time_limit=time_limit
    )
    return explainer.explain(victim, Space.around(as_text(text), candidates), label)
