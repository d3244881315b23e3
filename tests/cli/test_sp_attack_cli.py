"""SP-Attack from the command line: its words, its recipe, and files that belong elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from calls import call, records

FIND = ["find", "a fun film", "--model", "model.py:score"]
RECIPE = ["--attack", "sp-attack?similarity=0", "--recipe", "paper"]


@pytest.fixture
def words(here: Path) -> Path:
    path = here / "words.txt"
    path.write_text("bright\ndull\n")
    return path


def test_the_recipe_puts_words_of_the_list_anywhere(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, *FIND, *RECIPE, "--words", "words.txt", "--json")
    assert status == 0, err
    assert "candidates vocabulary:words.txt; at most 50 substitutes a word; at most 1 words swapped" in err
    (record,) = records(out)
    assert (record["answer"], record["swaps"]) == ("broken", 1)
    assert record["attack"] == "sp-attack?variant=paper&similarity=0"
    assert record["witness"] in ("dull fun film", "a dull film", "a fun dull")


REFUSED = {
    "no list": (RECIPE, "expected a list of words for sp-attack, got none; give --words FILE"),
    "no recipe": (["--words", "words.txt"], "expected --recipe with --words, got none; or use --candidates vocab"),
    "another recipe": (
        ["--attack", "pwws", "--recipe", "paper", "--words", "words.txt"],
        "expected --words with a recipe that uses it, got candidates wordnet",
    ),
    "two lists": (
        [*RECIPE, "--words", "words.txt", "--candidates", "vocabulary:words.txt"],
        "expected --words with a recipe that uses it, got candidates vocabulary:words.txt",
    ),
    "no such list": ([*RECIPE, "--words", "none.txt"], "expected a text file with one word a line, got 'none.txt'"),
    "no such model": (
        ["--attack", "sp-attack?fluency=ngram:none"],
        "expected an n-gram model, as scripts/train_ngram.py writes it, got 'none', which does not exist",
    ),
    "what model": (["--attack", "sp-attack?fluency=gram:x"], "unknown model of fluency 'gram'; did you mean 'ngram'?"),
    "weights": (["--attack", "sp-attack?weights=mine"], "expected weights out of code, paper, got 'mine'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_one_line_says_what_is_wrong(words: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    options, expected = REFUSED[case]
    status, out, err = call(capsys, *FIND, *options)
    assert status == 2, err
    assert (len(err.strip().splitlines()), out) == (1, ""), err
    assert expected in err
