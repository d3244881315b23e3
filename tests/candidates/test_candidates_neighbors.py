"""Nearest neighbors against brute force, counter-fitting against its objective and a hand-made case."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lexproof.candidates import Neighbors, counter_fit
from lexproof.candidates.counterfit import Settings
from lexproof.candidates.neighbors import LexiconNeighbors, nearest, unit
from lexproof.errors import DataError, InputError
from lexproof.text import Text


def brute_force(vectors: np.ndarray, row: int, k: int, floor: float) -> list[int]:
    cosines = [float(np.dot(v.astype(np.float64), vectors[row].astype(np.float64))) for v in vectors]
    order = sorted((j for j in range(len(vectors)) if j != row), key=lambda j: (-cosines[j], j))
    return [j for j in order[:k] if cosines[j] >= floor]


@pytest.mark.parametrize(("k", "floor"), [(1, -1.0), (5, 0.2), (40, -1.0), (300, 0.0)])
def test_nearest_is_exact_for_any_block(k: int, floor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    vectors = unit(rng.normal(size=(60, 6)).astype(np.float32))
    vectors[7] = vectors[3]  # a tie
    rows = rng.permutation(60)
    expected = [brute_force(vectors, int(row), k, floor) for row in rows]
    for block in (1, 100, 2**24):
        monkeypatch.setattr("lexproof.candidates.neighbors._BLOCK", block)
        found = list(nearest(vectors, rows, k=k, floor=floor))
        assert [others.tolist() for others, _ in found] == expected
    assert 7 in expected[rows.tolist().index(3)] and expected[rows.tolist().index(3)][0] == 7


def test_a_lone_or_zero_vector_has_no_neighbors() -> None:
    assert [others.tolist() for others, _ in nearest(np.ones((1, 3), np.float32), np.array([0]), k=5, floor=-1)] == [[]]
    source = Neighbors(["a", "b"], np.array([[0, 0], [1, 0]], np.float32), floor=0.1)
    assert source(Text.from_words(["a", "b"])) == ((), ())


WORDS = ["film", "movie", "flick", "bank", "Film"]
VECTORS = np.array([[1, 0], [1, 0.1], [1, 0.5], [0, 1], [1, 0.01]], np.float32)


def test_neighbors_of_a_text() -> None:
    source = Neighbors(WORDS, VECTORS, k=2, floor=0.5)
    assert source(Text.from_words(["Film", "unknown", "bank"])) == (("Movie", "Flick"), (), ())
    assert Neighbors(WORDS, VECTORS, k=3, floor=0.5)(Text.from_words(["film"])) == (("movie", "flick"),)
    assert source.spec["k"] == 2
    assert source.fingerprint != Neighbors(WORDS, VECTORS * [[1, 2]], k=2, floor=0.5).fingerprint


def test_files_give_what_arrays_give(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", words=np.array(WORDS), vectors=VECTORS.astype(np.float16))
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in zip(WORDS, VECTORS.tolist(), strict=True)]
    (tmp_path / "glove.txt").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "word2vec.txt").write_text("\n".join(["5 2", *lines]) + "\n", encoding="utf-8")
    text = Text.from_words(WORDS)
    expected = Neighbors(WORDS, VECTORS, k=3)(text)
    for name in ("v.npz", "glove.txt", "word2vec.txt"):
        loaded = Neighbors.load(tmp_path / name, k=3)
        assert loaded(text) == expected
        assert len(str(loaded.spec["sha256"])) == 64


def test_files_that_cannot_be_used_say_why(tmp_path: Path) -> None:
    (tmp_path / "broken.npz").write_bytes(b"not a zip")
    with pytest.raises(DataError, match=r"expected numpy arrays in broken\.npz"):
        Neighbors.load(tmp_path / "broken.npz")
    with pytest.raises(DataError, match=r"expected a file of word vectors or 'glove-50d', got .*which does not exist"):
        Neighbors.load(tmp_path / "none.npz")


def test_settings_that_cannot_be_used_say_why() -> None:
    with pytest.raises(InputError, match=r"expected one vector for each of 5 words, got an array of shape \(4, 2\)"):
        Neighbors(WORDS, VECTORS[:4])
    with pytest.raises(InputError, match=r"expected k >= 1 and a floor from -1 to 1, got k=0 and floor=0.5"):
        Neighbors(WORDS, VECTORS, k=0)
    with pytest.raises(InputError, match="expected finite vectors, got NaN or infinity"):
        Neighbors(WORDS, VECTORS * np.nan)
    with pytest.raises(InputError, match="expected a floor from -1 to 1, got 2"):
        LexiconNeighbors(floor=2)


# ------------------------------------------------------------------ counter-fitting


def objective(vectors: np.ndarray, start: np.ndarray, synonyms: list, antonyms: list, held: list, s: Settings) -> float:
    """The paper's objective, written as it stands there."""

    def distance(v: np.ndarray, i: int, j: int) -> float:
        return 1 - float(v[i] @ v[j])

    repel = sum(max(0.0, s.delta - distance(vectors, i, j)) for i, j in antonyms)
    attract = sum(max(0.0, distance(vectors, i, j) - s.gamma) for i, j in synonyms)
    hold = sum(max(0.0, distance(vectors, i, j) - distance(start, i, j)) for i, j in held)
    return s.k1 * repel + s.k2 * attract + s.k3 * hold


def test_counter_fitting_lowers_its_objective() -> None:
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(30)]
    start = unit(rng.normal(size=(30, 8)).astype(np.float32) + 1.0)
    synonyms, antonyms = [(0, 1), (2, 3), (4, 5), (0, 6)], [(7, 8), (9, 10), (1, 11)]
    settings = Settings(steps=1)
    held = [
        (i, j)
        for i in range(30)
        for j in range(30)
        if i < j and start[i] @ start[j] >= 1 - settings.rho and (i, j) not in antonyms
    ]
    assert held
    vectors, before = start, objective(start, start, synonyms, antonyms, held, settings)
    name = [(words[i], words[j]) for i, j in synonyms], [(words[i], words[j]) for i, j in antonyms]
    for steps in (5, 20, 60):
        vectors = counter_fit(
            words, start, synonyms=name[0], antonyms=name[1], settings=Settings(steps=steps, preserved=29)
        )
        after = objective(vectors, start, synonyms, antonyms, held, settings)
        assert after < before
        before = after
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_synonyms_come_close_antonyms_part_and_others_stay() -> None:
    rng = np.random.default_rng(2)
    words = ["good", "great", "bad", "tree", "plant"]
    start = unit(rng.normal(size=(5, 10)).astype(np.float32))
    start[2] = unit((start[0] + 0.2 * start[3])[None])[0]  # good and bad occur alike
    pairs = {"synonyms": [("good", "great"), ("unknown", "good")], "antonyms": [("bad", "good")]}
    fitted = counter_fit(words, start, **pairs, settings=Settings(steps=100))
    assert fitted[0] @ fitted[1] > 0.99 > start[0] @ start[1]
    assert fitted[0] @ fitted[2] < 0.01 < start[0] @ start[2]
    assert np.allclose(fitted[3:], start[3:], atol=1e-6)
    assert np.array_equal(fitted, counter_fit(words, start, **pairs, settings=Settings(steps=100)))


def test_the_preserving_term_holds_neighbors_together() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=6)
    start = unit(np.stack([base, base + 0.1, base + 0.1 * rng.normal(size=6), -base]).astype(np.float32))
    words, antonyms = ["a", "b", "c", "d"], [("a", "c")]
    kept = counter_fit(words, start, synonyms=[], antonyms=antonyms, settings=Settings(steps=30))
    free = counter_fit(words, start, synonyms=[], antonyms=antonyms, settings=Settings(steps=30, k3=0))
    assert kept[0] @ kept[1] > free[0] @ free[1]


def test_a_pair_that_is_both_counts_as_antonym() -> None:
    start = unit(np.array([[1, 0.2], [1, -0.2]], np.float32))
    fitted = counter_fit(["a", "b"], start, synonyms=[("a", "b")], antonyms=[("b", "a")])
    assert fitted[0] @ fitted[1] < start[0] @ start[1]


def test_no_pairs_and_no_steps_change_nothing() -> None:
    start = unit(np.random.default_rng(4).normal(size=(6, 4)).astype(np.float32))
    words = list("abcdef")
    assert np.allclose(counter_fit(words, start, synonyms=[], antonyms=[]), start, atol=1e-6)
    assert np.allclose(
        counter_fit(words, start, synonyms=[("a", "b")], antonyms=[], settings=Settings(steps=0)), start, atol=1e-6
    )


def test_counter_fitting_refuses_what_it_cannot_use() -> None:
    with pytest.raises(InputError, match="expected one vector for each distinct word, got 2 for 1 words"):
        counter_fit(["a", "a"], np.eye(2, dtype=np.float32), synonyms=[], antonyms=[])
    with pytest.raises(InputError, match="expected steps >= 0 and preserved >= 0, got -1 and 20"):
        Settings(steps=-1)


def test_repeats_and_spellings_of_the_word_use_up_no_places() -> None:
    words = ["film", "film", "Film", "movie", "FILM", "movie", "flick", "pic"]
    vectors = np.array([[1, 0], [1, 0.01], [1, 0], [1, 0.1], [1, 0], [1, 0.11], [1, 0.2], [1, 0.3]], np.float32)
    for k, expected in ((1, ("movie",)), (2, ("movie", "flick")), (9, ("movie", "flick", "pic"))):
        source = Neighbors(words, vectors, k=k)
        assert source(Text.from_words(["film"])) == (expected,)
        assert source.substitutes("film") == expected
        assert source.lookup(["film", "pic"])[0] == expected
        assert len(source.substitutes("pic")) == min(k, 5)
