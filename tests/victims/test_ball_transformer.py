"""Transformers as functions of open words: the model's own logits, and bounds that no point of a ball breaks."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

import lexproof as lp  # noqa: E402
from lexproof.bounds.backward import linear_relaxation  # noqa: E402
from lexproof.bounds.ball import BallRegion  # noqa: E402
from lexproof.errors import EvidenceError, NoRule  # noqa: E402
from lexproof.text import Text  # noqa: E402
from lexproof.victims.ball_transformer import transformer_balls, transformer_scale, transformer_tokens  # noqa: E402
from lexproof.victims.balls import Item, opened  # noqa: E402
from lexproof.victims.open_tokens import OpenTokens  # noqa: E402
from lexproof.victims.transformer import Transformer  # noqa: E402
from lexproof.victims.transformer_program import transformer_program  # noqa: E402

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*SPECIAL, *(f"w{i}" for i in range(8)), "-", "ab", "xy", "##cd", "##zw", "##q"]
SHAPE = {"vocab_size": len(PIECES) + 2, "num_labels": 3, "max_position_embeddings": 32, "pad_token_id": 0}
BERT = {**SHAPE, "hidden_size": 6, "num_attention_heads": 2, "intermediate_size": 8}
DISTIL = {**SHAPE, "dim": 6, "n_heads": 2, "hidden_dim": 8}
NORMS = (1.0, 2.0, math.inf)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("pieces") / "vocab.txt"
    path.write_text("\n".join(PIECES))
    return transformers.BertTokenizerFast(str(path))


def small(tokenizer: Any, layers: int = 1, family: str = "Bert", seed: int = 0, **settings: Any) -> Transformer:
    """Random weights of some size, biases and scales included; two words have equal vectors."""
    max_length = settings.pop("max_length", 24)
    sizes = {**DISTIL, "n_layers": layers} if family == "DistilBert" else {**BERT, "num_hidden_layers": layers}
    config = getattr(transformers, f"{family}Config")(**sizes, **settings)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = getattr(transformers, f"{family}ForSequenceClassification")(config)
        for name, tensor in model.named_parameters():
            torch.nn.init.normal_(tensor, float("LayerNorm.weight" in name or "norm.weight" in name), 0.4)
    with torch.no_grad():
        table = model.get_input_embeddings().weight
        table[6] = table[5]
        table[-2:] = 50.0  # no token of the tokenizer
    return Transformer.of(model, tokenizer, ["a", "b", "c"], max_length=max_length)


def own_logits(victim: Transformer, tokens: OpenTokens, raw: Any) -> Any:
    """The model in float64 on a text whose open tokens have these vectors (B, K, d)."""
    model = copy.deepcopy(victim.model).double()
    ids = torch.from_numpy(tokens.ids)
    vectors = model.get_input_embeddings().weight[ids].expand(len(raw), -1, -1).clone()
    vectors[:, torch.from_numpy(tokens.places)] = raw
    types = torch.from_numpy(tokens.types).expand(len(raw), -1)
    more = {"token_type_ids": types} if "token_type_ids" in victim.tensors([victim.encoder.encode(["w1"])[0]]) else {}
    with torch.no_grad():
        return model(inputs_embeds=vectors, **more).logits


def at_random(shape: Any, seed: int) -> Any:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("family", ["Bert", "DistilBert", "Roberta"])
def test_values_are_the_models_logits_wherever_the_words_are(tokenizer: Any, family: str, layers: int) -> None:
    victim = small(tokenizer, layers, family)
    scale = transformer_scale(victim)
    texts = [Text.parse("w1 abcd w3 w3"), Text.parse("w2 w1 w5 xyzw!"), Text.parse("abcd w2 w2", "w5 w6")]
    tokens = [transformer_tokens(victim, text, words) for text in texts for words in ((0,), (1,), (2,), (0, 2), (0, 1))]
    seen = []
    for rows, network in transformer_balls(victim, scale, tokens):
        seen += rows
        given = at_random(network.center.shape, 1) * network.high
        found = network.graph(torch.arange(len(rows))).value(given)
        turned = torch.arange(len(rows)).flip(0)
        again = network.graph(turned).value(given[turned])
        torch.testing.assert_close(again, found[turned], rtol=0, atol=1e-9)
        for k, row in enumerate(rows):
            expected = own_logits(victim, tokens[row], scale.raw(given[k : k + 1]))
            torch.testing.assert_close(found[k : k + 1], expected, rtol=0, atol=1e-8)
    assert sorted(seen) == list(range(len(tokens)))


def test_texts_as_they_are_have_the_victims_scores(tokenizer: Any) -> None:
    victim = small(tokenizer, 2)
    texts = [Text.parse(text) for text in ("w1 abcd w3", "w2 w1 w5", "w1-w2", "xyzw ab, w1")]
    found = opened(victim, [Item(text, (0,)) for text in texts])
    scores = victim.scores([text.input for text in texts])
    for group in found.groups:
        logits = group.network.graph(torch.arange(len(group.items))).value(group.network.center)
        np.testing.assert_allclose(torch.softmax(logits, 1).numpy(), scores[group.items], atol=victim.rounding)
    assert sorted(number for group in found.groups for number in group.items) == list(range(len(texts)))


def test_the_first_token_or_every_token_may_be_open(tokenizer: Any) -> None:
    for layers in (1, 2):
        victim = small(tokenizer, layers)
        scale = transformer_scale(victim)
        ids = np.array([5, 7, 9, 9])
        tokens = [
            OpenTokens(ids, np.array(places), np.zeros(4, np.int64)) for places in ([0], [2], [0, 3], [0, 1, 2, 3])
        ]
        for rows, network in transformer_balls(victim, scale, tokens):
            given = at_random(network.center.shape, 2) * network.high
            graph = network.graph(torch.arange(len(rows)))
            for k, row in enumerate(rows):
                expected = own_logits(victim, tokens[row], scale.raw(given[k : k + 1]))
                torch.testing.assert_close(graph.value(given)[k : k + 1], expected, rtol=0, atol=1e-8)
            hold_everywhere(network, 0.05, 2.0, 3)


# ---------------------------------------------------------------------- tokens and scale


def test_open_tokens_are_the_pieces_of_the_words(tokenizer: Any) -> None:
    victim = small(tokenizer, max_length=8)

    def places(text: str, *words: int, premise: str | None = None) -> list[int]:
        return transformer_tokens(victim, Text.parse(text, premise), words).places.tolist()

    assert places("w1 abcd w3", 0) == [1]
    assert places("w1 abcd w3", 1) == [2, 3]
    assert places("w1 abcd w3", 2, 0) == [1, 4]
    assert places("w1, abcd w1!", 1) == [3, 4]  # a comma that the tokenizer does not know is a token as well
    assert places("never abcd", 0) == [1]
    assert places("w1 w2 w3 w4 w5 w6 w7", 6) == []  # past the length limit
    assert places("w1 w2 w3 w4 w5 abcd", 5) == [6]  # cut in the middle
    assert places("w3 w4", 1, premise="w1 w2") == [5]
    cut = transformer_tokens(victim, Text.parse("w3 w4", "w1 w2"), (0,))
    assert cut.ids.tolist() == [2, 6, 7, 3, 8, 9, 3]
    assert cut.types.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_words_that_are_never_read_are_in_no_group(tokenizer: Any) -> None:
    victim = small(tokenizer, max_length=8)
    text = Text.parse("w1 w2 w3 w4 w5 w6 w7")
    found = opened(victim, [Item(text, (6,)), Item(text, (5, 6)), Item(text, (5,))])
    assert [group.items for group in found.groups] == [[1, 2]]
    assert len(found.tokens[0].places) == 0 and not found.tokens[0].missing


def test_a_word_without_tokens_is_not_one_that_is_never_read(tokenizer: Any) -> None:
    """BPE that knows no unknown token drops characters that it has not seen: a word in their place would be read."""
    model, victim = tokenizers.models.BPE(), small(tokenizer)
    bare = tokenizers.Tokenizer(model)
    bare.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=len(PIECES), special_tokens=["[PAD]"], show_progress=False)
    bare.train_from_iterator(["ab cd ef gh"] * 5, trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=bare, pad_token="[PAD]")
    dropping = Transformer.of(victim.model, fast, ["a", "b", "c"], max_length=8)
    assert transformer_tokens(dropping, Text.parse("ab 中 cd"), [0, 1]).missing == (1,)
    bracket = lp.radius(dropping, "ab 中 cd", words=[1])
    assert (bracket.lower, bracket.any_replacement, bracket.normalized) == (0.0, False, 0.0)
    assert "'中'" in bracket.reason
    lp.recheck_radius(dropping, bracket)
    with pytest.raises(EvidenceError, match="have no token"):
        lp.recheck_radius(dropping, replace(bracket, any_replacement=True))


def test_what_is_read_of_a_pair_may_depend_on_words_that_are_not(tokenizer: Any) -> None:
    """Where both sides are cut, the longer one keeps the odd token: a shorter word past the cut moves it."""
    victim = small(tokenizer, max_length=12)
    last = "abcdq" if tokenizer.tokenize("abcdq") == ["ab", "##cd", "##q"] else pytest.fail("three pieces")
    long, short = " ".join(["w1"] * 8), " ".join(["w1"] * 3)
    text = " ".join(f"w{k % 8}" for k in range(6))
    before, after = victim.encoder.encode([(long, f"{text} {last}"), (long, f"{text} w1")])
    assert before.ids != after.ids
    assert transformer_tokens(victim, Text.parse(f"{text} {last}", premise=long), [6]).missing == (6,)
    assert not transformer_tokens(victim, Text.parse(f"{text} w7 {last}", premise=short), [7]).missing
    before, after = victim.encoder.encode([(short, f"{text} w7 {last}"), (short, f"{text} w7")])
    assert before.ids == after.ids


def test_segment_types_that_the_model_is_not_given_are_not_read(tokenizer: Any) -> None:
    plain = copy.deepcopy(tokenizer)
    plain.model_input_names = ["input_ids", "attention_mask"]
    victim = small(plain)
    text = Text.parse("w3 w4", premise="w1 w2")
    found = opened(victim, [Item(text, (1,))])
    assert not found.tokens[0].types.any()
    network = found.groups[0].network
    logits = network.graph(torch.tensor([0])).value(network.center)
    torch.testing.assert_close(logits.softmax(1).numpy(), victim.scores([text.input]), atol=1e-5, rtol=0)
    assert not np.allclose(small(tokenizer).scores([text.input]), victim.scores([text.input]), atol=1e-3)


class Adapted(torch.nn.Linear):
    """A layer that adds something to what its weights say."""

    def forward(self, given: Any) -> Any:
        return super().forward(given) + 1.0


def adapted(model: Any) -> None:
    attention = model.bert.encoder.layer[0].attention.self
    attention.query = Adapted(attention.query.in_features, attention.query.out_features)


def pruned(model: Any) -> None:
    """One of two heads is gone; the configuration does not know."""
    attention = model.bert.encoder.layer[0].attention
    for name in ("query", "key", "value"):
        layer = getattr(attention.self, name)
        layer.weight, layer.bias = torch.nn.Parameter(layer.weight[:3]), torch.nn.Parameter(layer.bias[:3])
        layer.out_features = 3
    attention.output.dense.weight = torch.nn.Parameter(attention.output.dense.weight[:, :3])
    attention.self.num_attention_heads, attention.self.all_head_size = 1, 3


def hooked(model: Any) -> None:
    model.bert.pooler.register_forward_hook(lambda module, given, found: -found)


def other_activation(model: Any) -> None:
    model.bert.encoder.layer[0].intermediate.intermediate_act_fn = torch.nn.SiLU()


@pytest.mark.parametrize("change", [adapted, pruned, hooked, other_activation])
def test_a_model_that_is_not_what_it_seems_has_no_rule(tokenizer: Any, change: Any) -> None:
    victim = small(tokenizer, seed=1)
    space = lp.Space(Text.parse("w1 w2 w3"), [(), ("w4",), ()], 1)
    opened(victim, [Item(space.original, (1,))])
    transformer_program(victim, space)
    change(victim.model)
    with pytest.raises(NoRule):
        opened(victim, [Item(space.original, (1,))])
    with pytest.raises(NoRule):
        transformer_program(victim, space)


def test_the_scale_is_that_of_the_tokens_a_text_may_have(tokenizer: Any) -> None:
    victim = small(tokenizer)
    with torch.no_grad():
        victim.model.get_input_embeddings().weight[0] = -40.0  # padding
    scale = transformer_scale(victim)
    table = victim.model.get_input_embeddings().weight[1 : len(PIECES)].double()
    assert torch.equal(scale.low, table.amin(0))
    assert float(scale.scaled(table).max()) == 1.0
    torch.testing.assert_close(scale.raw(scale.scaled(table)), table)


def test_what_has_no_rule_is_said(tokenizer: Any) -> None:
    victim = small(tokenizer)
    padded = [OpenTokens(np.array([2, 0, 5, 3]), np.array([1]), np.zeros(4, np.int64))]
    with pytest.raises(NoRule, match="no bound rule for the padding token among the words that move"):
        transformer_balls(victim, transformer_scale(victim), padded)
    odd = small(tokenizer, hidden_act="silu")
    with pytest.raises(NoRule, match="no bound rule for operation 'silu' of this model"):
        opened(odd, [Item(Text.parse("w1"), (0,))])


# ---------------------------------------------------------------------- bounds


def points_of(region: BallRegion, count: int, seed: int) -> list[Any]:
    """Points of the ball and the box: the center, the ends of random forms, and points on the way to them."""
    generator = torch.Generator().manual_seed(seed)
    forms = torch.randn(len(region.center), count, *region.center.shape[1:], generator=generator, dtype=torch.float64)
    forms[:, ::2] *= torch.rand(forms[:, ::2].shape, generator=generator, dtype=torch.float64) > 0.7  # few coordinates
    ends = forms.requires_grad_()
    (least,) = torch.autograd.grad(region.minimum(ends).sum(), ends)  # the minimizers, by the envelope theorem
    shares = torch.rand(len(region.center), count, 1, 1, generator=generator, dtype=torch.float64)
    inside = torch.lerp(region.center[:, None].expand_as(least), least, shares)
    return [region.center, *least.unbind(1), *inside.unbind(1)]


def hold_everywhere(network: Any, radius: float, norm: float, seed: int, count: int = 8) -> Any:
    """That no point leaves a box or falls below a bound of a margin; the relaxation."""
    rows = torch.arange(len(network.center))
    region = BallRegion(
        network.center, torch.full((len(rows),), radius, dtype=torch.float64), norm, network.low, network.high
    )
    graph = network.graph(rows)
    relaxation = network.relaxation(graph, region)
    form = torch.tensor([[1.0, -1, 0], [-1, 1, 0], [0, 1, -1], [0, 0, 1]]).double().expand(len(rows), -1, -1)
    bound = relaxation.lower(graph.last, form)
    for point in points_of(region, count, seed):
        distance = torch.linalg.vector_norm((point - region.center).flatten(1), ord=norm, dim=1)
        assert (distance <= radius + 1e-9).all() and (point >= -1e-12).all() and (point <= network.high + 1e-12).all()
        values = graph.values(point)
        for node, (value, box) in enumerate(zip(values, relaxation.boxes, strict=True)):
            assert (value >= box.low - 1e-8).all() and (value <= box.high + 1e-8).all(), node
        assert (bound <= torch.einsum("nsc,nc->ns", form, values[-1]) + 1e-8).all()
    if radius == 0.0:
        torch.testing.assert_close(bound, torch.einsum("nsc,nc->ns", form, graph.value(region.center)))
    return relaxation


@pytest.mark.parametrize(("layers", "activation"), [(1, "gelu"), (2, "gelu_new"), (2, "relu"), (3, "gelu")])
def test_no_point_of_a_ball_breaks_a_bound(tokenizer: Any, layers: int, activation: str) -> None:
    victim = small(tokenizer, layers, seed=layers, hidden_act=activation)
    items = [Item(Text.parse("w1 abcd w3 w3"), words) for words in ((0,), (1,), (2, 3))]
    for number, group in enumerate(opened(victim, items).groups):
        for norm in NORMS if layers == 1 else NORMS[number % 3 :][:1]:
            for radius in (0.0, 0.01, 0.3, 9.0):
                hold_everywhere(group.network, radius, norm, number)


def test_tokens_bounded_alone_are_bounded_no_worse(tokenizer: Any) -> None:
    victim = small(tokenizer, 2, seed=5)
    items = [Item(Text.parse("w1 abcd w3 w3"), words) for words in ((0,), (2,), (3,))]
    (group,) = opened(victim, items).groups
    network, rows = group.network, torch.arange(3)
    region = BallRegion(network.center, torch.full((3,), 0.02, dtype=torch.float64), 2.0, network.low, network.high)
    graph = network.graph(rows)
    form = torch.eye(3).double().expand(3, -1, -1)
    alone, together = network.relaxation(graph, region), linear_relaxation(graph, region)
    found, plain = alone.lower(graph.last, form), together.lower(graph.last, form)
    assert (found >= plain - 1e-9).all()
    torch.testing.assert_close(found, plain, rtol=1e-3, atol=1e-6)


def test_rows_do_not_know_of_each_other(tokenizer: Any) -> None:
    victim = small(tokenizer, 2, seed=6)
    texts = ["w1 w2 w3", "w3 w3 w1", "abcd w1"]
    (group,) = opened(victim, [Item(Text.parse(text), (len(text.split()) - 1,)) for text in texts]).groups
    network = group.network
    radius = torch.tensor([0.01, 0.2, 0.05]).double()

    def bound(rows: Any) -> Any:
        graph = network.graph(rows)
        region = BallRegion(network.center[rows], radius[rows], 2.0, network.low[rows], network.high[rows])
        return network.relaxation(graph, region).lower(graph.last, torch.eye(3).double().expand(len(rows), -1, -1))

    whole = bound(torch.tensor([2, 0, 1, 2]))
    for at, row in enumerate((2, 0, 1, 2)):
        torch.testing.assert_close(bound(torch.tensor([row])), whole[at : at + 1], rtol=1e-9, atol=1e-12)


def test_time_may_run_out_between_passes(tokenizer: Any) -> None:
    victim = small(tokenizer, 2)
    (group,) = opened(victim, [Item(Text.parse("w1 w2"), (0,))]).groups
    network, calls = group.network, []

    def check() -> None:
        calls.append(1)
        if len(calls) == 4:
            raise TimeoutError

    region = BallRegion(network.center, torch.tensor([0.1]).double(), 2.0, network.low, network.high)
    with pytest.raises(TimeoutError):
        network.relaxation(network.graph(torch.tensor([0])), region, check)
    assert len(calls) == 4
