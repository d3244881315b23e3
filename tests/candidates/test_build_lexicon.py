"""The lexicon's builder, on a WordNet of a few synsets and vectors of a few dimensions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from lexproof.candidates import counter_fit
from lexproof.candidates.lexicon import Lexicon
from lexproof.errors import DataError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "scripts"
ENDS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}

# key: (part of speech, words, pointers as (symbol, key, source, target))
SYNSETS = {
    "film": ("n", ["film", "movie", "Kino"], []),
    "coat": ("n", ["film", "coating"], []),
    "good": ("a", ["good", "fine"], [("!", "bad", 1, 1), ("&", "great", 0, 0)]),
    "great": ("a", ["great", "superb"], [("&", "good", 0, 0)]),
    "bad": ("a", ["bad"], [("!", "good", 1, 1), ("&", "awful", 0, 0)]),
    "awful": ("a", ["awful", "dreadful"], [("&", "bad", 0, 0)]),
    "see": ("v", ["see", "view"], [("@", "perceive", 0, 0)]),
    "spot": ("v", ["spot"], [("@", "perceive", 0, 0)]),
    "perceive": ("v", ["perceive"], []),
    "badly": ("r", ["badly"], [("\\", "bad", 1, 1)]),
    "well": ("r", ["well"], [("\\", "good", 1, 1)]),
    "finely": ("r", ["finely"], [("\\", "good", 1, 2)]),
    "goodness": ("n", ["goodness"], [("+", "good", 1, 1)]),
    "badness": ("n", ["badness"], [("+", "bad", 1, 1)]),
    "obscenity": ("n", ["obscenity"], []),
    "drat": ("n", ["drat", "dang"], [(";u", "obscenity", 0, 0)]),
    "child": ("n", ["child", "kid"], []),
    "fisherman": ("n", ["fisherman", "angler"], []),
    "admit": ("v", ["admit", "allow"], []),
}
EXCEPTIONS = {"n": ["children child"], "v": ["saw see", "seen see"], "a": ["better good", "best good"], "r": []}
NUMBERS = {key: 100 + at for at, key in enumerate(SYNSETS)}


def write_wordnet(folder: Path) -> None:
    licence = "  1 This software is provided  \n  2 under a license.  \n"
    for pos, end in ENDS.items():
        data, senses = [], {}
        for key, (part, words, pointers) in SYNSETS.items():
            if part != pos:
                continue
            members = " ".join(f"{word} 0" for word in words)
            links = "".join(
                f" {symbol} {NUMBERS[target]:08d} {SYNSETS[target][0]} {source:02x}{to:02x}"
                for symbol, target, source, to in pointers
            )
            data.append(
                f"{NUMBERS[key]:08d} 00 {pos} {len(words):02x} {members} {len(pointers):03d}{links} | a gloss; here\n"
            )
            for word in words:
                senses.setdefault(word.lower(), []).append(NUMBERS[key])
        (folder / f"data.{end}").write_text(licence + "".join(data), encoding="utf-8")
        index = [
            f"{word} {pos} {len(keys)} 1 @ {len(keys)} 0 {' '.join(f'{key:08d}' for key in keys)}\n"
            for word, keys in senses.items()
        ]
        (folder / f"index.{end}").write_text(licence + "".join(index), encoding="utf-8")
        (folder / f"{end}.exc").write_text("\n".join(EXCEPTIONS[pos]), encoding="utf-8")
    (folder / "cntlist.rev").write_text("film%1:00:00:: 1 9\nfilm%1:00:01:: 2 1\nsee%2:39:00:: 1 5\n", encoding="utf-8")


VOCABULARY = [
    "the", "good", "film", "movie", "films", "movies", "great", "bad", "fine", "superb", "awful", "dreadful", "see",
    "view", "saw", "viewed", "seen", "coating", "perceive", "spot", "badly", "well", "finely", "goodness", "badness",
    "drat", "dang", "child", "children", "kid", "kids", "fisherman", "fishermen", "angler", "admit", "admitted",
    "allow", "allowed", "Kino", "better", "best", "finer", "finest", "obscenity",
]  # fmt: skip


def write_glove(folder: Path) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(VOCABULARY), 6)).astype(np.float32) + 1.5  # all rather alike, as GloVe's are
    np.save(folder / "glove_6B_50d_emb.npy", vectors)
    parquet.write_table(pyarrow.table({"index": VOCABULARY}), folder / "glove_6B_index.parquet")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Path]:
    folder = tmp_path_factory.mktemp("build")
    write_wordnet(folder)
    write_glove(folder)
    (folder / "simlex.txt").write_text(
        "word1\tword2\tPOS\tSimLex999\ngood\tfine\tA\t8\ngood\tbad\tA\t1\nsee\tview\tV\t9\nfilm\tspot\tN\t2\n",
        encoding="utf-8",
    )
    out = folder / "lexicon.json.xz"
    return out, build(folder, out), folder


def build(folder: Path, out: Path) -> str:
    command = [sys.executable, str(SCRIPTS / "build_lexicon.py"), "--glove", str(folder), "--wordnet", str(folder)]
    command += ["--simlex", str(folder / "simlex.txt"), "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_same_inputs_give_the_same_file(built: tuple[Path, str, Path]) -> None:
    out, report, folder = built
    again = build(folder, folder / "again.xz")
    assert (folder / "again.xz").read_bytes() == out.read_bytes()
    assert again == report
    assert f"{out.stat().st_size} bytes" in report
    assert "SimLex-999 Spearman, counter-fitted:" in report and "on 4 of 999 pairs" in report


def test_neighbors_are_related_words_in_the_same_form(built: tuple[Path, str, Path]) -> None:
    lexicon = Lexicon.read(built[0])
    assert dict(lexicon.neighbors("film")).keys() >= {"movie"}
    assert dict(lexicon.neighbors("films")).keys() == {"movies"}
    assert dict(lexicon.neighbors("saw")).keys() == {"viewed"} == dict(lexicon.neighbors("seen")).keys()
    assert dict(lexicon.neighbors("fishermen")).keys() == set()  # "anglers" has no vector
    assert dict(lexicon.neighbors("children")).keys() == {"kids"}
    assert dict(lexicon.neighbors("admitted")).keys() == {"allowed"}
    assert dict(lexicon.neighbors("good")).keys() == {"fine", "great", "superb"}
    for word in ("the", "Kino", "kino", "drat", "dang"):
        assert lexicon.neighbors(word) == []


def test_opposites_follow_similar_and_derived_words(built: tuple[Path, str, Path]) -> None:
    lexicon = Lexicon.read(built[0])
    for a, b in [
        ("good", "bad"),
        ("superb", "dreadful"),
        ("goodness", "badness"),
        ("well", "badly"),
        ("better", "bad"),
    ]:
        assert lexicon.opposed(a, b) and lexicon.opposed(b, a), (a, b)
    for a, b in [("good", "great"), ("film", "bad"), ("finely", "badly")]:
        assert not lexicon.opposed(a, b), (a, b)


def test_senses_forms_and_parts_of_speech(built: tuple[Path, str, Path]) -> None:
    lexicon = Lexicon.read(built[0])
    assert lexicon.synonyms("film", "n") == ("movie", "coating")
    assert lexicon.synonyms("drat", "n") == ()
    assert lexicon.morphology.inflect("good", "a", "er") == "better"
    assert lexicon.morphology.inflect("fine", "a", "est") == "finest"
    assert lexicon.morphology.inflect("great", "a", "er") is None  # "greater" has no vector
    assert lexicon.morphology.inflect("admit", "v", "ed") == "admitted"
    assert [reading.lemma for reading in lexicon.analyze("fishermen")] == ["fisherman"]


@pytest.fixture
def princeton(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import princeton

    return princeton


def test_the_reader_reads_every_field(princeton: ModuleType, tmp_path: Path) -> None:
    write_wordnet(tmp_path)
    database = princeton.read(tmp_path)
    assert len(database.synsets) == len(SYNSETS)
    synset = database.synsets["a", NUMBERS["good"]]
    assert synset.words == ("good", "fine")
    assert synset.pointers[0] == princeton.Pointer("!", ("a", NUMBERS["bad"]), 1, 1)
    assert database.senses["n"]["film"] == (("n", NUMBERS["film"]), ("n", NUMBERS["coat"]))
    assert database.counts == {("n", "film"): 10, ("v", "see"): 5}
    assert database.irregular["v"] == (("saw", "see"), ("seen", "see"))


def test_a_folder_without_wordnet_is_refused(princeton: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected WordNet's database files in .*, got no data.noun"):
        princeton.read(tmp_path)


@pytest.mark.data
@pytest.mark.slow
def test_counter_fitting_improves_real_vectors(data_folder: Path) -> None:
    from scipy.stats import spearmanr

    lexicons = data_folder / "lexicons"
    with np.load(lexicons / "glove6b_100d_top60k_f16.npz") as arrays:
        words, vectors = arrays["words"].tolist()[:12_000], arrays["vectors"][:12_000].astype(np.float32)
    rows = {word: row for row, word in enumerate(words)}
    simlex = [line.split("\t") for line in (lexicons / "SimLex-999.txt").read_text(encoding="utf-8").splitlines()[1:]]
    known = [(rows[a], rows[b], float(score)) for a, b, _, score, *_ in simlex if a in rows and b in rows]

    def rho(space: np.ndarray) -> float:
        unit = space / np.linalg.norm(space, axis=1, keepdims=True)
        return float(spearmanr([unit[i] @ unit[j] for i, j, _ in known], [score for *_, score in known]).statistic)

    def pairs(name: str) -> list[tuple[str, str]]:
        lines = (lexicons / name).read_text(encoding="utf-8").splitlines()
        return [(line.split()[0], line.split()[1]) for line in lines]

    antonyms = pairs("ppdb_antonyms.txt") + pairs("wordnet_antonyms.txt")
    fitted = counter_fit(words, vectors, synonyms=pairs("ppdb_synonyms.txt"), antonyms=antonyms)
    assert len(known) > 700
    assert rho(fitted) > rho(vectors) + 0.1
