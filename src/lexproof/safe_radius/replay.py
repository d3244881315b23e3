"""Continuous witnesses before the victim itself: its own network, in its own precision, reads the vectors.

Guarantee: what `confirmed` returns is a flip by the victim's own decision, the first largest score; it lies in the box,
and its distance is that of the vectors returned, which the victim reads rounded to its precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lexproof.points import FloatArray
from lexproof.safe_radius.answer import VectorFlip
from lexproof.victims.balls import scale_of
from lexproof.victims.base import Victim, check_scores
from lexproof.victims.open_tokens import OpenTokens
from lexproof.victims.scale import Scale

if TYPE_CHECKING:
    from lexproof.victims.transformer import Transformer
    from lexproof.victims.words import WordVictim

_NUDGES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # how much farther from the text than found, as shares of the way


def vector_scores(victim: Victim, tokens: OpenTokens, scale: Scale, vectors: Tensor) -> FloatArray:
    """The victim's scores of a text whose open tokens have these scaled vectors: (..., K, d) to (..., classes).

    NoRule for a victim without word vectors.
    """
    from lexproof.victims.words import WordVictim

    rows = vectors.reshape(-1, *vectors.shape[-2:])
    if isinstance(victim, WordVictim):
        scores = _word_model_scores(victim, tokens, scale.raw(rows))
    else:
        from lexproof.victims.transformer import Transformer

        if not isinstance(victim, Transformer):
            scale_of(victim)  # says what is wrong with the victim
        assert isinstance(victim, Transformer)
        scores = _transformer_scores(victim, tokens, scale.raw(rows))
    return scores.reshape(*vectors.shape[:-2], victim.classes)


def _embedded(table: Tensor, tokens: OpenTokens, raw: Tensor) -> Tensor:
    """The vectors of all tokens of each row, the open ones replaced: (B, L, d), in the precision of the table."""
    embedded = table[torch.from_numpy(tokens.ids)].repeat(len(raw), 1, 1)
    embedded[:, torch.from_numpy(tokens.places)] = raw.to(table.dtype)
    return embedded


def _word_model_scores(victim: WordVictim, tokens: OpenTokens, raw: Tensor) -> FloatArray:
    with torch.inference_mode():
        embedded = _embedded(victim.net.embedding.weight, tokens, raw)
        logits = victim.net.logits(embedded, torch.full((len(raw),), len(tokens.ids)))
    return victim.probabilities(logits.double().numpy())


def _transformer_scores(victim: Transformer, tokens: OpenTokens, raw: Tensor) -> FloatArray:
    from lexproof.victims.transformer_encoding import Row

    given = victim.tensors([Row(tokens.ids.tolist(), tokens.types.tolist())])
    ids = given.pop("input_ids")
    repeated = {name: value.expand(len(raw), ids.shape[1]) for name, value in given.items()}
    with torch.inference_mode():
        embedded = _embedded(victim.model.get_input_embeddings().weight, tokens, raw)
        logits = victim.model(inputs_embeds=embedded, **repeated).logits
    scores = torch.softmax(logits.double(), dim=-1).numpy()
    return check_scores(scores, len(raw), victim.classes, victim.name)


def confirmed(
    victim: Victim, tokens: OpenTokens, scale: Scale, center: Tensor, vectors: Tensor, label: int, norm: float
) -> VectorFlip | None:
    """The flip `vectors` (K, d) of a text with the vectors `center`, as the victim reads it.

    Where float32 undoes it, the first of some points a little farther from the text that is a flip; None if none is.
    """
    for nudge in _NUDGES:
        farther = (center + (1 + nudge) * (vectors - center)).clamp(min=0.0)
        point = torch.minimum(farther, scale.top) if nudge else vectors
        # alone, as whoever checks it will: beside others, float32 may decide otherwise
        predicted = int(vector_scores(victim, tokens, scale, point).argmax())
        if predicted != label:
            distance = float(torch.linalg.vector_norm((point - center).flatten(), ord=norm))
            return VectorFlip(vectors=tuple(map(tuple, point.tolist())), distance=distance, predicted=predicted)
    return None
