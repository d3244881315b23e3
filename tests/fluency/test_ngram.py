"""The trigram model: a proper distribution, the textbook's formula, files, and what it thinks of texts."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from lexproof.errors import InputError, ModelError
from lexproof.fluency.ngram import Ngram

WORDS = [f"w{i}" for i in range(12)]


def random_texts(seed: int, count: int = 60) -> list[str]:
    """Texts of a skewed vocabulary with punctuation, some of them empty."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, len(WORDS) + 1)
    return [
        " ".join(rng.choice(WORDS, size=int(rng.integers(0, 9)), p=chances / chances.sum()))
        + str(rng.choice(["", "."]))
        for _ in range(count)
    ]


@pytest.mark.parametrize("texts", [random_texts(0), random_texts(1, 3), ["a"], ["a a a a a a"], ["", "b"]])
@pytest.mark.parametrize("min_count", [1, 2, 4])
def test_every_context_has_a_distribution(texts: list[str], min_count: int) -> None:
    model = Ngram.train(texts, min_count=min_count)
    rng = np.random.default_rng(2)
    known = [*WORDS, ".", "never seen", "a"]
    for length in (0, 1, 2, 2, 2, 2, 3):
        chances = model.probabilities([str(word) for word in rng.choice(known, size=length)])
        assert set(chances) == {None, "", *model.words}
        assert min(chances.values()) > 0
        assert sum(chances.values()) == pytest.approx(1, abs=1e-12)


class Textbook:
    """Modified Kneser-Ney with dictionaries, one probability at a time."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        grams = Counter(
            gram
            for row in rows
            for gram in zip(["<s>", "<s>", *row], ["<s>", *row, "</s>"], [*row, "</s>"], strict=False)
        )
        self.counts: list[Counter[tuple[str, ...]]] = [grams]
        while len(next(iter(self.counts[-1]))) > 1:
            self.counts.append(Counter(gram[1:] for gram in self.counts[-1]))
        self.symbols = len({gram[-1] for gram in grams}) + 1  # and the unknown

    def discount(self, counts: Counter[tuple[str, ...]], count: int) -> float:
        n = Counter(counts.values())
        share = n[1] / (n[1] + 2 * n[2]) if n[1] else 0.5
        at = min(count, 3)
        raw = at - (at + 1) * share * n[at + 1] / n[at] if n[at] else at / 2
        return min(max(raw, 0.1 * at), at)

    def probability(self, context: tuple[str, ...], word: str) -> float:
        below = self.probability(context[1:], word) if context else 1 / self.symbols
        counts = self.counts[2 - len(context)]
        followers = {gram[-1]: count for gram, count in counts.items() if gram[:-1] == context}
        if not followers:
            return below
        total = sum(followers.values())
        left = sum(self.discount(counts, count) for count in followers.values()) / total
        own = followers.get(word, 0)
        return (own - self.discount(counts, own) if own else 0.0) / total + left * below


def test_it_is_the_formula_of_the_textbook() -> None:
    texts = [text for text in random_texts(3, 150) if text]
    rows = [text.replace(".", " .").split() for text in texts]
    by_hand = Textbook(rows)
    model = Ngram.train(texts, min_count=1)
    for context in [(), ("w0",), ("w0", "w1"), ("w3", "w0"), (".",), ("w2", "never")]:
        padded = ("<s>", "<s>", *context)[-2:]
        chances = model.probabilities(context)
        for word in ("w0", "w1", "w7", "."):
            assert chances[word] == pytest.approx(by_hand.probability(padded, word), rel=1e-9), (context, word)
        assert chances[""] == pytest.approx(by_hand.probability(padded, "</s>"), rel=1e-9)


def test_perplexity_is_the_product_of_what_it_predicts() -> None:
    model = Ngram.train(random_texts(4))
    for text in ("w0 w1 w0.", "w5", "", "w0 w0 w0 w0 w0 w0"):
        row = text.replace(".", " .").split()
        logs = [log(model.probabilities(row[:at])[word]) for at, word in enumerate([*row, ""])]
        assert model.perplexity([text])[0] == pytest.approx(exp(-sum(logs) / (len(row) + 1)))


def test_a_text_is_judged_alike_in_any_company() -> None:
    model = Ngram.train(random_texts(5))
    texts = [*random_texts(6, 20), "unheard of words", ""]
    together = model.perplexity(texts)
    assert (together == [model.perplexity([text])[0] for text in texts]).all()
    assert model.perplexity([]).shape == (0,)


def test_unknown_words_share_the_probability_of_the_symbol() -> None:
    rare = [f"bird{i}" for i in range(20)]
    model = Ngram.train(["the cat sat", "the cat ran", *(f"the {bird} sat" for bird in rare)])
    assert model.words == ("cat", "sat", "the")
    assert model.unknown == 21
    after = model.probabilities(["the"])
    unknown = after[None]
    assert unknown > after["cat"]  # as a symbol it is the likeliest
    shares = [log(p) for p in (model.probabilities([])["the"], unknown / 22, model.probabilities(["the", "x"])[""])]
    assert model.perplexity(["the snake"])[0] == pytest.approx(exp(-sum(shares) / 3))
    assert model.perplexity(["the snake"])[0] > model.perplexity(["the cat"])[0]


def test_case_does_not_matter_and_order_does() -> None:
    model = Ngram.train(["the film is good"] * 3 + ["a good film is rare"] * 3 + ["it is good"] * 3)
    assert model.perplexity(["The Film is GOOD"])[0] == model.perplexity(["the film is good"])[0]
    assert model.perplexity(["good is film the"])[0] > 2 * model.perplexity(["the film is good"])[0]


def test_a_file_gives_back_the_model(tmp_path: Path) -> None:
    model = Ngram.train([*random_texts(7), "naïve café’s “quotes”"], min_count=1)
    model.save(tmp_path / "x.ngram")
    assert [path.name for path in tmp_path.iterdir()] == ["x.ngram"]
    again = Ngram.load(tmp_path / "x.ngram")
    assert (again.name, again.words, again.unknown) == (model.name, model.words, model.unknown)
    assert (again.perplexity(random_texts(8)) == model.perplexity(random_texts(8))).all()
    assert Ngram.train(random_texts(7)).name != model.name


@pytest.mark.parametrize("content", [b"", b"text", "npy", "npz", "counts", "format"])
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes | str) -> None:
    path = tmp_path / "x.ngram"
    Ngram.train(["a b a b", "b a"]).save(path)
    with np.load(path) as file:
        parts = {name: file[name] for name in file.files}
    with path.open("wb") as out:
        if isinstance(content, bytes):
            out.write(content)
        elif content == "npy":
            np.save(out, np.zeros(3))
        elif content == "npz":
            np.savez(out, other=np.zeros(3))
        elif content == "counts":
            np.savez(out, **{**parts, "keys": parts["keys"][::-1]})
        else:
            np.savez(out, **{**parts, "format": np.array(99)})
    with pytest.raises(
        ModelError, match=r"expected an n-gram model, as scripts/train_ngram\.py writes it, got .*x\.ngram"
    ):
        Ngram.load(path)


def test_what_cannot_be_learned_or_read() -> None:
    with pytest.raises(InputError, match="expected texts with words to train on, got none"):
        Ngram.train(["", "  "])
    with pytest.raises(InputError, match="expected min_count >= 1, got 0"):
        Ngram.train(["a"], min_count=0)
    with pytest.raises(ModelError, match=r"got 'nowhere\.ngram', which does not exist"):
        Ngram.load("nowhere.ngram")


def test_the_script_writes_a_model_and_refuses_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("text\na good film\na good end\nthe film\n")
    script = Path(__file__).parents[2] / "scripts" / "train_ngram.py"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(script), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("--data", "texts.csv", "--out", "x.ngram", "--min-count", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 texts, 5 words and 0 unknown: ")
    assert Ngram.load(tmp_path / "x.ngram").words == ("a", "end", "film", "good", "the")
    refused = run("--data", "none.csv", "--out", "x.ngram")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert refused.stderr.startswith("train_ngram.py: ")
