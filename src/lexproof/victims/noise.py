"""How far floating point moves a network's scores, measured on the network itself.

No constant can bound it: the error of a logit grows with the weights, and in a recurrent network it may grow with every
word.  So a word model reads random texts in float32, in full and by change, and once more in float64; a transformer
reads them in several batches.  The largest error seen, times a safety factor, bounds the difference of two evaluations
of one text.  With trained models, their last layer as it is and 10 and 100 times as large, the logits of the same texts
differed by at most 0.9 times the error seen here for convolutional and recurrent ones (texts of 1 to 400 words, batches
of 1 to 256; in float64 by next to nothing), and by at most 6 times for MiniLM (reviews, batches of 1 to 120).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lexproof.victims.vocabulary import PAD
from lexproof.victims.word_net import WordNet

_TEXTS = {1: 8, 8: 8, 24: 8, 80: 4, 1000: 2}  # how many of each length, which is cut to what the network reads
_WORDS = 256  # so few different ones that tables of words stay small
_SAFETY = 32.0  # half of it is left after the softmax


def stated_rounding(noise: float, *, least: float) -> float:
    """A bound on the change of a score margin, from a measured error of a difference of two logits.

    Doubled until it is enough, and not taken as it is, so that it is the same on machines whose noise is about equal.
    The softmax moves a margin by at most half of what the logits' differences move.
    """
    needed = _SAFETY * noise / 2
    if needed <= least or math.isinf(needed):
        return max(needed, least)
    return least * 2.0 ** math.ceil(math.log2(needed / least))


@torch.inference_mode()
def noise_of(net: WordNet, wide: WordNet) -> float:
    """The largest error of a difference of two logits on random texts, evaluated in full and by single swaps."""
    worst = 0.0
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(PAD + 1, net.embedding.num_embeddings, (_WORDS,), generator=generator)
    for length, count in {min(length, net.max_length): count for length, count in _TEXTS.items()}.items():
        ids = words[torch.randint(_WORDS, (count, length), generator=generator)]
        lengths, rows = torch.full((count,), length), torch.arange(count)
        before = ids.clone()
        positions = torch.randint(length, (count,), generator=generator)
        before[rows, positions] = words[torch.randint(_WORDS, (count,), generator=generator)]
        exact = wide.logits(net.embedding(ids).double(), lengths)
        for found in (
            net(ids, lengths),
            net.swap(net.prepare(before, lengths), rows, positions, ids[rows, positions]),
        ):
            worst = max(worst, largest_difference(found.double() - exact))
    return worst


def largest_difference(errors: Tensor) -> float:
    """The largest difference between two classes' errors in a row (B, classes); infinite if a logit was not finite."""
    found = float((errors.amax(1) - errors.amin(1)).max())
    return math.inf if math.isnan(found) else found
