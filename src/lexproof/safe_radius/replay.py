"""Vectors through the victim's own network: no flip that descent claims is believed before it is scored here."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lexproof.errors import NoRule
from lexproof.points import FloatArray
from lexproof.safe_radius.answer import VectorFlip
from lexproof.victims.base import Victim
from lexproof.victims.open_tokens import OpenTokens
from lexproof.victims.scale import Scale


def vector_scores(victim: Victim, tokens: OpenTokens, scale: Scale, vectors: Tensor) -> FloatArray:
    """The victim's scores (classes,) of a text whose open tokens have these vectors (K, d), in its own precision."""
    from lexproof.victims.words import WordVictim

    ids, places = torch.from_numpy(tokens.ids), torch.from_numpy(tokens.places)
    with torch.inference_mode():
        if isinstance(victim, WordVictim):
            given = _moved(victim.net.embedding.weight[ids], places, scale.raw(vectors))
            logits = victim.net.logits(given[None], torch.tensor([len(ids)]))
            return np.asarray(victim.probabilities(logits.double().numpy())[0])
        return _transformer_scores(victim, tokens, places, scale.raw(vectors))


def _transformer_scores(victim: Victim, tokens: OpenTokens, places: Tensor, raw: Tensor) -> FloatArray:
    from lexproof.victims.transformer import Transformer

    if not isinstance(victim, Transformer):
        raise NoRule(f"no embedding to move in: a {victim.kind!r} victim has no word vectors")
    given = _moved(victim.model.get_input_embeddings().weight[torch.from_numpy(tokens.ids)], places, raw)
    segments = {"token_type_ids": torch.from_numpy(tokens.types)[None]} if tokens.types.any() else {}
    logits = victim.model(inputs_embeds=given[None], **segments).logits
    scores: FloatArray = torch.softmax(logits.double(), -1)[0].numpy()
    return scores


def _moved(table_rows: Tensor, places: Tensor, raw: Tensor) -> Tensor:
    moved = table_rows.clone()
    moved[places] = raw.to(moved.dtype)
    return moved


def confirmed(
    victim: Victim, tokens: OpenTokens, scale: Scale, center: Tensor, vectors: Tensor, label: int, norm: float
) -> VectorFlip | None:
    """The flip that the vectors are, with their distance from the center; None if the victim does not see one.

    Where the victim computes in float32 it reads the vectors rounded; the distance is that of the vectors given.
    """
    predicted = int(vector_scores(victim, tokens, scale, vectors).argmax())
    if predicted == label:
        return None
    distance = float(torch.linalg.vector_norm((vectors - center).flatten(), ord=norm))
    return VectorFlip(vectors=tuple(map(tuple, vectors.tolist())), distance=distance, predicted=predicted)
