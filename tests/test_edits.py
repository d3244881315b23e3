"""Edits: spans by hand, the search on a classifier that counts words, budgets to the unit, and the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from lexproof.answers import Unknown
from lexproof.candidates.guesses import Guess, Guesser, Guesses, Place
from lexproof.cli import run
from lexproof.edits import Actions, Edited, Editor, Item, Similar, edit, edit_all
from lexproof.edits.actions import Draft, Edit
from lexproof.errors import InputError, ModelError
from lexproof.points import FloatArray
from lexproof.text import Input, Text
from lexproof.victims.base import Victim

WEIGHTS = {"good": 1.0, "great": 2.0, "fine": 0.5, "dull": -1.5, "slow": -1.0, "grim": -3.0, "film": 0.25, "plot": 0.25}


class Counter(Victim):
    """The sum of the weights of its words, squashed; remembers what it was asked."""

    kind = "counter"
    labels = ("negative", "positive")

    def __init__(self, weights: dict[str, float] | None = None) -> None:
        self.weights = WEIGHTS if weights is None else weights
        self.asked: list[list[Input]] = []

    @property
    def fingerprint(self) -> str:
        return "counter"

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        self.asked.append(list(inputs))
        surfaces = [given if isinstance(given, str) else given[1] for given in inputs]
        if any("unreadable" in surface for surface in surfaces):
            raise ModelError("cannot read this")
        sums = np.array([sum(self.weights.get(word.lower(), 0.0) for word in Text.parse(s).words) for s in surfaces])
        chance = 1 / (1 + np.exp(-sums))
        return np.stack([1 - chance, chance], axis=1)

    @property
    def texts(self) -> list[Input]:
        return [given for call in self.asked for given in call]


class Fixed(Guesser):
    """Guesses the same words everywhere; remembers the places."""

    def __init__(self, *guesses: tuple[str, float]) -> None:
        super().__init__("nowhere")
        self.guesses: Guesses = tuple(Guess(word, chance) for word, chance in guesses)
        self.places: list[Place] = []

    def __call__(self, places: Sequence[Place], k: int) -> list[Guesses | None]:
        self.places += places
        return [self.guesses[:k] for _ in places]


def shapes(edits: Sequence[Edit]) -> list[tuple[str, int, str, str]]:
    return [(one.kind, one.position, one.old, one.new) for one in edits]


def test_every_kind_of_edit_by_hand() -> None:
    draft = Draft(Text.parse("A great film, they say."))
    edits = Actions(english=False)(draft, Fixed(("slow", 0.9)))
    assert shapes(edits) == [
        ("replace", 0, "A", "Slow"),
        ("insert", 0, "", " slow"),
        ("merge", 0, "A great", "Slow"),
        ("replace", 1, "great", "slow"),
        ("insert", 1, "", " slow"),
        ("merge", 1, "great film", "slow"),
        ("replace", 2, "film", "slow"),
        ("insert", 2, "", " slow"),  # no merge across the comma
        ("replace", 3, "they", "slow"),
        ("insert", 3, "", " slow"),
        ("merge", 3, "they say", "slow"),
        ("replace", 4, "say", "slow"),
        ("insert", 4, "", " slow"),
    ]
    assert [draft.write([one]) for one in edits[:8]] == [
        "Slow great film, they say.",
        "A slow great film, they say.",
        "Slow film, they say.",
        "A slow film, they say.",
        "A great slow film, they say.",
        "A slow, they say.",
        "A great slow, they say.",
        "A great film slow, they say.",
    ]
    assert draft.write([edits[12], edits[5], edits[0]]) == "Slow slow, they say slow."
    assert draft.write([]) == "A great film, they say."
    assert [one.words for one in edits[3:6]] == [(1,), (1,), (1, 2)]


def test_the_model_is_asked_about_the_edited_text() -> None:
    guesser = Fixed(("slow", 0.9))
    Actions(english=False)(Draft(Text.parse("great film", premise="so")), guesser)
    shown = [(str(place.text), place.text.words[place.at], place.at, place.text.premise) for place in guesser.places]
    assert shown == [
        ("great film", "great", 0, "so"),
        ("great word film", "word", 1, "so"),
        ("word", "word", 0, "so"),
        ("great film", "film", 1, "so"),
        ("great film word", "word", 2, "so"),
    ]
    assert all(place.hidden for place in guesser.places)


def test_each_kind_has_its_least_probability() -> None:
    draft = Draft(Text.parse("great film"))
    guesser = Fixed(("slow", 6e-3), ("grim", 6e-4), ("dull", 1e-9))
    found: dict[str, list[str]] = {"replace": [], "insert": [], "merge": []}
    for one in Actions(english=False)(draft, guesser):
        if one.position == 0:
            found[one.kind].append(one.new.strip())
    assert found == {"replace": ["slow", "grim"], "insert": ["slow", "grim", "dull"], "merge": ["slow"]}
    assert len(Actions(english=False, k=1, kinds=("insert",))(draft, guesser)) == 2


def test_function_words_and_antonyms_stay_out() -> None:
    guesser = Fixed(("not", 0.5), ("bad", 0.3), ("fine", 0.2), ("film", 0.1))
    edits = Actions()(Draft(Text.parse("the good film")), guesser)
    assert shapes(edits) == [
        ("insert", 0, "", " bad"),
        ("insert", 0, "", " fine"),
        ("insert", 0, "", " film"),
        ("replace", 1, "good", "fine"),
        ("replace", 1, "good", "film"),
        ("insert", 1, "", " bad"),
        ("insert", 1, "", " fine"),
        ("insert", 1, "", " film"),
        ("merge", 1, "good film", "fine"),  # film would only leave out good
        ("replace", 2, "film", "bad"),
        ("replace", 2, "film", "fine"),
        ("insert", 2, "", " bad"),
        ("insert", 2, "", " fine"),
        ("insert", 2, "", " film"),
    ]


def test_one_edit_is_enough() -> None:
    victim = Counter()
    answer = edit(victim, "a good film", 1, masked_lm=Fixed(("grim", 0.1), ("dull", 0.1)))
    assert isinstance(answer, Edited)
    assert (answer.witness, answer.predicted, shapes(answer.edits)) == (
        "a grim", 0, [("merge", 1, "good film", "grim")]
    )  # fmt: skip
    # the text, and 2 words for each of 3 insertions, 2 replacements and 1 merge
    assert answer.queries == len(set(victim.texts)) == 1 + 12
    assert victim.texts[-1] == answer.witness  # scored again as text


def test_edits_add_up_and_the_rest_is_put_back() -> None:
    weights = {"good": 1.0, "great": 1.0, "nice": 0.5, "slow": -0.25, "film": 0.3}
    guesser = Fixed(("slow", 0.1))
    victim = Counter(weights)
    text = "good x great y nice film"
    answer = edit(victim, text, 1, masked_lm=guesser, max_edits=6, actions=Actions(english=False, kinds=("replace",)))
    assert isinstance(answer, Edited)
    # 2.8, and -1.25 for good and great, -0.75 nice, -0.55 film, -0.25 x and y: the third flips, and needs the others
    assert answer.witness == "slow x slow y slow film"
    # 1 text, 6 single edits, 2 more on the way, 2 without one of them; nothing is scored again after a step
    assert (answer.queries, answer.cost.cached) == (1 + 6 + 2 + 2, 2)
    more = Counter({**weights, "slow": -0.5})
    shorter = edit(more, text, 1, masked_lm=guesser, max_edits=6, actions=Actions(english=False, kinds=("replace",)))
    assert isinstance(shorter, Edited)
    assert [one.old for one in shorter.edits] == ["good", "great"]


def test_a_needless_edit_is_put_back() -> None:
    class Either(Counter):
        """Broken by c alone or by a and b together, but a and b look better alone."""

        def scores(self, inputs: Sequence[Input]) -> FloatArray:
            self.asked.append(list(inputs))
            chances = []
            for given in map(str, inputs):
                a, b, c = (f"{word}1" in given for word in "abc")
                chances.append(0.1 if (a and c) or (a and b and c) else 0.9 - 0.2 * a - 0.1 * b - 0.05 * c)
            return np.array([[1 - chance, chance] for chance in chances])

    class Own(Fixed):
        def __call__(self, places: Sequence[Place], k: int) -> list[Guesses | None]:
            return [(Guess(place.text.words[place.at] + "1", 0.5),) for place in places]

    actions = Actions(english=False, kinds=("replace",))
    answer = edit(Either(), "a b c", 1, masked_lm=Own(), actions=actions, max_edits=3)
    assert isinstance(answer, Edited)
    assert [one.old for one in answer.edits] == ["a", "c"]


def test_a_merge_and_its_neighbor_do_not_both_happen() -> None:
    victim = Counter({"good": 2.0, "great": 2.0, "ok": 0.9})
    guesser = Fixed(("ok", 0.9))
    answer = edit(victim, "good great good great", 1, masked_lm=guesser, max_edits=4, actions=Actions(english=False))
    assert isinstance(answer, Unknown)
    assert "good ok great" in victim.texts
    chains = [given for call in victim.asked[2:] for given in call]
    assert chains == [
        "ok ok"
    ]  # the best at each word are merges; the one in the middle overlaps the first, made before


@pytest.mark.parametrize("budget", range(16))
def test_never_one_query_too_many(budget: int) -> None:
    victim = Counter()
    answer = edit(victim, "a good film", 1, masked_lm=Fixed(("grim", 0.1), ("dull", 0.1)), max_queries=budget)
    fresh = 1 if isinstance(answer, Edited) else 0  # the check of the witness
    assert answer.queries == len(victim.texts) - fresh <= budget
    if isinstance(answer, Unknown):
        assert answer.reason == f"budget of {budget} queries used up"
        assert answer.queries == budget
    # "a grim good film" (-1.75) is the first flip there is, at the second query
    assert isinstance(answer, Edited) == (budget >= 2)


def test_many_texts_give_what_each_gives_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["good", "great", "fine", "dull", "slow", "film", "plot", "x"]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, size=int(rng.integers(0, 9)))) for _ in range(40)]
    guesser = Fixed(("slow", 0.1), ("fine", 0.05), ("dull", 0.01))
    alone = [edit(Counter(), text, masked_lm=guesser, max_edits=3) for text in texts]
    for rows, width in ((2048, 32), (3, 5)):
        monkeypatch.setattr("lexproof.edits.driver._ROWS", rows)
        monkeypatch.setattr("lexproof.edits.driver._WIDTH", width)
        items = [Item(key, Text.parse(text)) for key, text in enumerate(texts)]
        together = {one.key: one.answer for one in edit_all(Editor(guesser, max_edits=3), Counter(), items)}
        for key, expected in enumerate(alone):
            got = together[key]
            assert got is not None
            expected_record, record = expected.to_json(), got.to_json()
            expected_record.pop("seconds"), record.pop("seconds")
            assert record == expected_record
    assert {type(one) for one in alone} == {Edited, Unknown}


def test_every_witness_is_a_flip_with_edits_that_are_needed() -> None:
    rng = np.random.default_rng(1)
    words = list(WEIGHTS)
    guesser = Fixed(("slow", 0.1), ("fine", 0.05), ("dull", 0.01))
    found = 0
    for _ in range(60):
        text = " ".join(rng.choice(words, size=int(rng.integers(1, 8))))
        victim = Counter()
        label = int(victim.predict([text])[0])
        answer = edit(victim, text, label, masked_lm=guesser, max_edits=4)
        if not isinstance(answer, Edited):
            continue
        found += 1
        draft = Draft(Text.parse(text))
        assert len(answer.edits) <= 4
        assert draft.write(answer.edits) == answer.witness
        assert int(Counter().predict([answer.witness])[0]) == answer.predicted != label
        for kept in combinations(answer.edits, len(answer.edits) - 1):
            assert int(Counter().predict([draft.write(kept)])[0]) == label
        places = [at for one in answer.edits for at in one.words]
        assert len(places) == len(set(places))
    assert found > 20


def test_edges() -> None:
    guesser = Fixed(("grim", 0.1))
    assert isinstance(edit(Counter(), "", 0, masked_lm=guesser), Unknown)
    wrong = edit(Counter(), "a good film", 0, masked_lm=guesser)
    assert isinstance(wrong, Edited)
    assert (wrong.edits, wrong.witness, wrong.queries) == ((), "a good film", 1)
    assert isinstance(edit(Counter(), "good", 1, masked_lm=guesser, max_edits=0), Unknown)
    assert isinstance(edit(Counter(), "good", 1, masked_lm=Fixed()), Unknown)
    pair = edit(Counter(), ("grim grim", "good"), masked_lm=guesser)
    assert isinstance(pair, Edited)
    assert pair.witness == "grim"
    aimed = edit(Counter(), "good", 1, target=0, masked_lm=guesser)
    assert isinstance(aimed, Edited)
    assert aimed.predicted == 0


def test_a_floor_leaves_out_edits_that_change_the_meaning() -> None:
    class Letters:
        """Counts of letters, normalized: grim is far from good, goodish near."""

        name = "letters"

        def encode(self, texts: Sequence[str]) -> np.ndarray:  # type: ignore[type-arg]
            rows = np.array([[text.count(chr(97 + c)) for c in range(26)] for text in texts], np.float32)
            return rows / np.maximum(1e-9, np.linalg.norm(rows, axis=1, keepdims=True))

    weights = {"good": 1.0, "grim": -3.0, "goods": -2.0}
    guesser = Fixed(("grim", 0.5), ("goods", 0.1))
    actions = Actions(english=False, kinds=("replace",))
    free = edit(Counter(weights), "good", 1, masked_lm=guesser, actions=actions)
    kept = edit(Counter(weights), "good", 1, masked_lm=guesser, actions=actions, similar=Similar(Letters(), 0.7))
    assert isinstance(free, Edited)
    assert isinstance(kept, Edited)
    assert (free.witness, kept.witness) == ("grim", "goods")
    none = edit(Counter(weights), "good", 1, masked_lm=guesser, actions=actions, similar=Similar(Letters(), 0.999))
    assert isinstance(none, Unknown)
    # cut short after grim, which flips but is not similar
    short = Similar(Letters(), 0.7)
    cut = edit(Counter(weights), "good", 1, masked_lm=guesser, actions=actions, similar=short, max_queries=2)
    assert isinstance(cut, Unknown)
    draft = Draft(Text.parse("a b c d e f g"))
    merge = Edit("merge", 3, "d e", "x", 6, 9)
    assert draft.around(merge, 3) == ("c d e", "c x")
    assert draft.around(merge, 1) == ("d e", "x")
    assert draft.around(merge, 99) == ("a b c d e f g", "a b c x f g")
    assert draft.around(Edit("insert", 6, "", " x", 13, 13), 2) == ("f g", "f g x")


def test_answers_say_that_they_are_outside_of_the_space() -> None:
    answer = edit(Counter(), "a good film", 1, masked_lm=Fixed(("grim", 0.1)))
    record = json.loads(json.dumps(answer.to_json()))
    assert (record["answer"], record["space"], record["witness_predicted"]) == ("edited", "edits", 0)
    assert record["edits"] == [
        {"kind": "merge", "position": 1, "old": "good film", "new": "grim", "start": 2, "stop": 11}
    ]  # fmt: skip
    assert not {"swaps", "lower", "upper"} & record.keys()


def test_what_cannot_be_used_is_said() -> None:
    with pytest.raises(InputError, match="expected k >= 1, got 0"):
        Actions(k=0)
    with pytest.raises(InputError, match=r"expected a least probability to merge in \[0, 1\], got 2"):
        Actions(merge=2)
    with pytest.raises(InputError, match=r"expected kinds of edits out of replace, insert, merge, got \('swap',\)"):
        Actions(kinds=("swap",))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected max_edits >= 0, got -1"):
        edit(Counter(), "a", 0, masked_lm=Fixed(), max_edits=-1)
    with pytest.raises(InputError, match="expected a floor from -1 to 1 and a window of at least 1 word, got 2 and 15"):
        Similar(None, 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected a target other than the label, got 0 for both"):
        edit(Counter(), "a", 0, target=0, masked_lm=Fixed())
    with pytest.raises(ModelError, match="cannot read this"):
        edit(Counter(), "unreadable", masked_lm=Fixed())


def test_one_bad_text_does_not_stop_the_others() -> None:
    items = [Item(0, Text.parse("good")), Item(1, Text.parse("unreadable"), 1), Item(2, Text.parse("great"), 1, 1)]
    found = {one.key: one for one in edit_all(Editor(Fixed(("grim", 0.1))), Counter(), items)}
    assert isinstance(found[0].answer, Edited)
    assert found[0].predicted == 1
    assert found[1].answer is None
    assert "cannot read this" in str(found[1].error)
    assert "target other than the label" in str(found[2].error)


MODEL = """
def score(texts):
    return [[0.9, 0.1] if "bad" in text.split() else [0.2, 0.8] for text in texts]
score.labels = ["negative", "positive"]

def name(texts):
    return ["negative" if "bad" in text.split() else "positive" for text in texts]
name.labels = ["negative", "positive"]
"""


def test_the_command_line(
    tmp_path: Path, tiny_mlm: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    given = ["edit", "a film", "--model", "model.py:score", "--masked-lm", str(tiny_mlm)]
    assert run([*given, "--json", "--out", "out.jsonl"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "out.jsonl").read_text()) == record
    assert (record["answer"], record["space"], record["label"], record["predicted"]) == ("edited", "edits", 1, 1)
    assert (record["swaps"], record["lower"], record["upper"], record["changed"]) == (None, 0, None, [])
    assert "bad" in record["witness"]
    assert run(given) == 0
    assert "outside of the swap space: read as negative" in capsys.readouterr().out
    assert run([*given, "--label", "negative"]) == 0
    assert "misclassified as positive as it stands" in capsys.readouterr().out
    assert run([*given, "--out", "out.jsonl"]) == 2
    assert "expected --out to be a new file" in capsys.readouterr().err
    assert run([*given, "--kinds", "swap"]) == 2
    assert "expected kinds of edits out of" in capsys.readouterr().err
    assert run([*given, "--window", "3"]) == 2
    assert "expected --floor with --window, got none" in capsys.readouterr().err
    (tmp_path / "texts.csv").write_text("text\na film\n")
    assert run(["edit", "--data", "texts.csv", *given[2:]]) == 0
    assert "the model's own predictions count as gold" in capsys.readouterr().err
    assert run(["edit", "a film", "--model", "model.py:name", "--label-only", *given[4:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == "edited"
    assert run(["edit", "a film", "--model", "model.py:score", "--masked-lm", str(tmp_path)]) == 2
    assert "expected a masked language model folder or name" in capsys.readouterr().err


@pytest.fixture(scope="module")
def tiny_mlm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("tiny-bert")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "bad", "film", "##s", ","]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=32,
    )  # fmt: skip
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(folder)
    return folder


def test_probabilities_are_the_models(tiny_mlm: Path) -> None:
    import torch
    from transformers import AutoTokenizer, BertForMaskedLM

    text = Text.parse("a good film, bad films")
    found = Guesser(tiny_mlm)([Place(text, 1), Place(text, 1, hidden=False), Place(text, 4, hidden=False)], 9)
    assert found[2] is None  # films has two pieces
    tokenizer, model = AutoTokenizer.from_pretrained(tiny_mlm), BertForMaskedLM.from_pretrained(tiny_mlm).eval()
    for guesses, shown in zip(found, ("a [MASK] film, bad films", "a good film, bad films"), strict=False):
        assert guesses is not None
        with torch.inference_mode():
            chances = model(**tokenizer(shown, return_tensors="pt")).logits[0, 2].double().softmax(0)
        ids = tokenizer.convert_tokens_to_ids([guess.word for guess in guesses])
        assert sorted(guess.word for guess in guesses) == ["a", "bad", "film", "good"]
        assert [guess.probability for guess in guesses] == pytest.approx(chances[ids].tolist(), rel=1e-5)
        assert list(chances[ids]) == sorted(chances[ids], reverse=True)
