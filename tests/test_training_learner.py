"""Learners: what a defense is told of a text is true of the text, for word models and transformers alike."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from lexproof.candidates import Table
from lexproof.text import Text
from lexproof.training.learner import Options, stacked
from small_training import KINDS, batch_of, learner_for, reviews, synonyms

every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_vectors_states_and_logits_agree(kind: str) -> None:
    learner = learner_for(kind)
    batch = batch_of(learner, *reviews(9))
    learner.module.eval()
    logits, states = learner.logits(batch), learner.states(batch)
    torch.testing.assert_close(states.logits, logits)
    torch.testing.assert_close(learner.logits(batch, learner.vectors(batch.ids)), logits)
    assert states.text.ndim == 2 and len(states.text) == 9
    order = [batch.inputs.index(text) for text in reviews(9)[0]]
    probabilities = torch.softmax(logits.detach().double(), 1).numpy()[order]
    np.testing.assert_allclose(probabilities, learner.snapshot().scores(reviews(9)[0]), rtol=0, atol=1e-5)


@every_kind
def test_moved_vectors_move_the_logits_and_nothing_is_left_behind(kind: str) -> None:
    learner = learner_for(kind)
    batch = batch_of(learner, *reviews(4))
    learner.module.eval()
    before = learner.logits(batch)
    vectors = learner.vectors(batch.ids)
    moved = vectors + torch.randn(vectors.shape, generator=torch.Generator().manual_seed(0)) * batch.real[:, :, None]
    assert not torch.allclose(learner.logits(batch, moved), before, atol=1e-4)
    torch.testing.assert_close(learner.logits(batch), before)


@every_kind
@pytest.mark.parametrize("is_pair", [False, True])
def test_options_are_what_the_swapped_text_is_read_as(kind: str, is_pair: bool) -> None:
    learner = learner_for(kind)
    table = {**{word: list(options) for word, options in (("film", ["plot", "unheard"]), ("good", ["great", "fine"]))}}
    text = "the film, was good"
    given = ("it was fine", text) if is_pair else text
    (found,) = learner.options([given], Table(table))
    assert len(found.at) >= 3
    seen = {(int(at), int(token)) for at, token in zip(found.at, found.token, strict=True)}
    row = learner.encode([given])[0]
    ids = np.array(getattr(row, "ids", row))
    expected = set()
    for position, word in enumerate(Text.parse(text).words):
        for option in table.get(word, ()):
            swapped = str(Text.parse(text).swap({position: option}))
            other = learner.encode([("it was fine", swapped) if is_pair else swapped])[0]
            changed = np.array(getattr(other, "ids", other))
            if len(changed) == len(ids) and (changed != ids).sum() == 1:
                at = int(np.flatnonzero(changed != ids)[0])
                expected.add((at, int(changed[at])))
    # a transformer reads "unheard" in pieces, a word model as <unk>
    assert seen == expected


def test_stacked_options_hold_each_token_first() -> None:
    learner = learner_for("cnn")
    inputs, gold = reviews(5)
    batch = batch_of(learner, inputs, gold)
    options = learner.options(batch.inputs, synonyms())
    ids, is_real = stacked(batch, options)
    assert torch.equal(ids[:, :, 0], batch.ids.long()) and is_real[:, :, 0].all()
    for b, own in enumerate(options):
        for place in range(ids.shape[1]):
            wanted = own.token[own.at == place].tolist()
            assert ids[b, place][is_real[b, place]].tolist() == [int(batch.ids[b, place]), *wanted]
    nothing = [Options(np.empty(0, np.int64), np.empty(0, np.int64))] * 5
    assert stacked(batch, nothing)[0].shape == (*batch.ids.shape, 1)


@every_kind
def test_a_snapshot_stays_as_it_is(kind: str) -> None:
    learner = learner_for(kind)
    victim = learner.snapshot()
    before = victim.fingerprint, victim.scores(["the film was good"])
    with torch.no_grad():
        for weight in learner.module.parameters():
            weight.mul_(1.1)
    again = type(victim).scores(victim, ["the film was good"])
    assert np.array_equal(again, before[1]) and learner.snapshot().fingerprint != before[0]
    assert all(weight.requires_grad for weight in learner.module.parameters())
