"""Attacks, recipes and constraints on the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from calls import MODEL_OPTIONS, call, records

from lexproof.cli import frame


class Letters:
    """Encodes a text by its counts of letters."""

    name = "letters"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        counts = np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], np.float32) + 1e-3
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence encoder that needs no package."""
    monkeypatch.setattr(frame, "default_encoder", Letters)


FIND = ["find", "a fun film", *MODEL_OPTIONS]
AUDIT = ["audit", "--data", "texts.csv", *MODEL_OPTIONS]


# ------------------------------------------------------------------ attacks


@pytest.mark.parametrize(("verb", "default"), [("find", "textfooler"), ("minimize", "best")])
def test_the_attack_used_is_named(here: Path, capsys: pytest.CaptureFixture[str], verb: str, default: str) -> None:
    status, out, _ = call(capsys, verb, *FIND[1:])
    assert status == 0
    assert f"({default}, " in out
    _, out, _ = call(capsys, verb, *FIND[1:], "--json")
    assert records(out)[0]["attack"] == default
    _, out, _ = call(capsys, verb, *FIND[1:], "--json", "--attack", "random?draws=7")
    assert records(out)[0]["attack"] == "random?draws=7"
    assert records(out)[0]["swaps"] == 1
    _, out, _ = call(capsys, verb, "--help")
    assert f"[default: {default}, or decision" in " ".join(out.split())


def test_a_failed_attack_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "find", "a plain story", *MODEL_OPTIONS, "--json", "--max-share", "1")
    assert records(out)[0]["reason"] == "textfooler found no flip"


@pytest.mark.parametrize("verb", ["find", "minimize", "prove"])
def test_a_budget_of_nothing_is_an_answer(here: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    status, out, err = call(capsys, verb, *FIND[1:], "--max-queries", "0", "--json")
    assert status == 0, err
    (record,) = records(out)
    assert (record["queries"], record["upper"]) == (0, None)
    assert "budget of 0 queries used up" in record["reason"]


def test_an_audit_without_budget_answers_every_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, *AUDIT, "--out", "run", "--max-queries", "0", "--json")
    assert status == 0, err
    assert {(record["queries"], record["lower"], record["upper"]) for record in records(out)} == {(0, 0, None)}


def test_the_list_of_attacks_says_what_each_needs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "list", "attacks", "--json")
    listed = {record["name"]: record for record in records(out)}
    assert listed["textfooler"]["needs"] == ["scores"]
    assert {"paper", "code", "benchmark"} <= set(listed["textfooler"]["variants"])
    assert listed["a2t"]["needs"] == ["gradients", "scores"]
    assert "masked LM in recipes" in listed["bae"]["needs"]
    assert all({"summary", "cost", "reference"} <= set(record) for record in listed.values())
    status, out, _ = call(capsys, "list", "attacks")
    assert status == 0
    assert all(name in out for name in listed)


# ------------------------------------------------------------------ constraints


def swapped(out: str) -> list[str]:
    return [change["new"] for change in records(out)[0]["changed"]]


def test_a_floor_keeps_out_what_is_not_similar(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert swapped(call(capsys, *FIND, "--json")[1]) == ["dull"]
    _, out, _ = call(capsys, *FIND, "--json", "--floor", "0.99")
    assert (records(out)[0]["answer"], records(out)[0]["changed"]) == ("unknown", [])
    status, out, _ = call(capsys, "prove", *FIND[1:], "--json", "--floor", "1")
    assert (status, records(out)[0]["answer"]) == (0, "robust")
    _, out, _ = call(capsys, "prove", *FIND[1:], "--floor", "1")  # "dull" does fool the model
    assert "robust: none of 3 texts with up to 1 swaps is allowed and fools it" in out


def test_the_number_of_substitutes_is_limited(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "table.json").write_text(json.dumps({"fun": ["bright", "dull"]}))
    assert swapped(call(capsys, *FIND, "--json")[1]) == ["dull"]
    assert swapped(call(capsys, *FIND, "--json", "--max-candidates", "1")[1]) == []


def test_the_budget_grows_with_the_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, words in (("a plain story", 3), ("a fun story", 3), ("good", 1)):
        _, out, _ = call(capsys, "prove", text, *MODEL_OPTIONS, "--json", "--queries-per-word", "1")
        assert records(out)[0]["queries"] <= words
    _, out, _ = call(capsys, "prove", "good", *MODEL_OPTIONS, "--json", "--queries-per-word", "1")
    assert records(out)[0]["reason"].startswith("budget of 1 queries used up")


def test_a_preset_says_what_it_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call(capsys, *FIND, "--preset", "agnews", "--floor", "0.2")
    assert status == 0
    assert "at most 50 substitutes a word; at most 30% of the words swapped; cosine similarity" in err
    assert "at least 0.2; at most 50 queries for each word" in err


def test_a_count_has_no_budget_and_does_not_say_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call(capsys, "count", *FIND[1:], "--preset", "agnews", "--floor", "0.2")
    assert (status, "at least 0.2" in err, "queries" in err) == (0, True, False)


def test_the_usual_share_limits_where_nothing_else_does(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def most(*options: str) -> int:
        call(capsys, *AUDIT, "--out", "run", "--overwrite", *options)
        return max(record["max_swaps"] for record in records(call(capsys, *AUDIT, "--resume", "--out", "run",
                   *options, "--json")[1]))  # fmt: skip

    (here / "texts.csv").write_text("text\n" + "fun good " * 8 + "\n")
    assert most() == 4  # a quarter of 16 words
    assert most("--max-swaps", "7") == 7
    assert most("--attack", "pwws", "--recipe", "paper") == 16  # the paper sets no limit
    assert most("--attack", "pwws", "--recipe", "paper", "--max-share", "0.5") == 8
    assert most("--preset", "imdb", "--floor", "-1") == 1
    assert most("--attack", "a2t", "--recipe", "paper", "--floor", "-1", "--max-share", "0.1", "--model", "movies-cnn",
                "--labels", "negative,positive") == 1  # and not the recipe's four  # fmt: skip


# ------------------------------------------------------------------ recipes


def test_a_recipe_gives_candidates_and_limits(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["find", "a dull and sad film", "--model", "model.py:score", "--attack", "pwws", "--recipe", "paper"]
    status, out, err = call(capsys, *arguments, "--json")
    assert status == 0, err
    assert records(out)[0]["attack"] == "pwws?variant=paper"
    assert "candidates wordnet?k=100&filters=stop-words,no-antonyms; no limits" in err
    assert "left out: named entities are not replaced" in err
    status, _, err = call(capsys, *arguments, "--candidates", "table:table.json")
    assert (status, "candidates table:table.json; no limits" in err) == (0, True)


def test_a_recipe_needs_no_masked_model_with_candidates_of_ones_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = call(capsys, *FIND, "--attack", "bert-attack", "--recipe", "paper")
    assert status == 0, err


# ------------------------------------------------------------------ runs


def test_a_run_records_its_constraints_and_is_resumed_only_with_them(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--floor", "0.5", "--window", "2", "--measure", "angular", "--queries-per-word", "90"]
    status, _, err = call(capsys, *AUDIT, *limits, "--max-candidates", "9", "--out", "run")
    assert status == 0, err
    identity = json.loads((here / "run" / "config.json").read_text())["identity"]
    settings = identity["settings"]
    assert identity["encoder"] == "letters"
    expected = {"attack": "best", "floor": 0.5, "window": 2, "measure": "angular", "queries_per_word": 90}
    assert {name: settings[name] for name in expected} == expected
    assert settings["max_candidates"] == 9
    assert settings["samples"] == 0  # a share would take too long to compare
    report = (here / "run" / "report.html").read_text(encoding="utf-8")
    for fact in (
        "angular at least 0.5 in 2 words around each swap by letters",
        "at most 90 model inputs a word of the text",
        "at most 9 substitutes a word",
    ):
        assert fact in report
    again = [*AUDIT, *limits, "--out", "run", "--resume"]
    status, _, err = call(capsys, *again)
    assert (status, "its settings.max_candidates is 9, now it is None" in err) == (2, True)
    status, _, err = call(capsys, *again, "--max-candidates", "9", "--floor", "0.6")
    assert (status, "its settings.floor is 0.5, now it is 0.6" in err) == (2, True)
    status, _, err = call(capsys, *again, "--max-candidates", "9", "--attack", "random")
    assert (status, "its settings.attack is best, now it is random" in err) == (2, True)
    status, _, err = call(capsys, *again, "--max-candidates", "9", "--attack", "best")
    assert status == 0, err


def test_a_run_without_constraints_states_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, *AUDIT, "--out", "run")
    report = (here / "run" / "report.html").read_text(encoding="utf-8")
    assert "Similarity" not in report
    assert json.loads((here / "run" / "config.json").read_text())["identity"]["settings"]["samples"] == 500


# ------------------------------------------------------------------ refusals

REFUSED = {
    "attack": (["--attack", "textfoler"], "unknown attack 'textfoler'; did you mean 'textfooler'?"),
    "variant": (["--attack", "textfooler?variant=papers"], "unknown variant of textfooler 'papers'"),
    "setting": (["--attack", "textfooler?hid=masked"], "unknown setting 'hid' of attack 'textfooler'; available: "),
    "value": (["--attack", "textfooler?hide=cut"], "expected hide out of"),
    "recipe": (["--attack", "pwws", "--recipe", "papers"], "unknown variant of recipe pwws 'papers'; did you mean"),
    "no such recipe": (["--attack", "random", "--recipe", "paper"], "unknown recipe 'random'; available: a2t, bae"),
    "recipe without attack": (["--recipe", "paper"], "expected --attack with --recipe, got none; there are"),
    "two variants": (
        ["--attack", "pwws?variant=paper", "--recipe", "code"], "expected --recipe or variant= in --attack, got both",
    ),
    "preset": (["--preset", "mr"], "unknown preset 'mr'; available: agnews, agnews-code, imdb, imdb-code"),
    "floor": (["--floor", "1.2"], "expected a floor from -1 to 1 (cosine), got 1.2"),
    "angular floor": (["--floor", "-0.2", "--measure", "angular"], "expected a floor from 0 to 1 (angular), got -0.2"),
    "measure": (["--floor", "0.5", "--measure", "dot"], "'dot' is not one of 'cosine', 'angular'"),
    "measure of nothing": (["--measure", "angular"], "expected --floor with --measure, got none"),
    "encoder of nothing": (["--encoder", "x"], "expected --floor with --encoder, got none"),
    "window of nothing": (["--window", "15"], "expected a floor with a window, got none"),
    "share": (["--max-share", "0"], "expected --max-share in (0, 1], got 0"),
    "unreadable encoder": (
        ["--floor", "0.5", "--encoder", "no/such/folder"], "expected a Hugging Face model folder or name, got 'no/such",
    ),
    "no name": (["--attack", " "], "expected the name of an attack, got nothing; see `lexproof list attacks`"),
    "masked model not used": (
        ["--attack", "pwws", "--recipe", "paper", "--masked-lm", "x"],
        "expected --masked-lm with a recipe that uses it, got candidates table:table.json",
    ),
    "masked model of nothing": (["--masked-lm", "x"], "expected --recipe with --masked-lm, got none"),
    "gradients": (["--attack", "a2t"], "attack 'a2t' needs gradients, which 'blackbox' victims do not have"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("verb", ["find", "audit"])
def test_one_line_says_what_is_wrong(here: Path, capsys: pytest.CaptureFixture[str], verb: str, case: str) -> None:
    options, expected = REFUSED[case]
    status, out, err = call(capsys, *(FIND if verb == "find" else AUDIT), *options)
    assert status == 2, err
    assert (len(err.strip().splitlines()), out) == (1, ""), err
    assert expected in err
    assert not (here / "runs").exists()


def test_a_recipe_without_its_model_says_what_to_do(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["find", "a fun film", "--model", "model.py:score", "--attack", "bae", "--recipe", "paper"]
    status, _, err = call(capsys, *arguments)
    assert status == 2
    assert "expected a masked language model for bae, got none; give --masked-lm FOLDER" in err


def test_a_model_that_answers_with_labels(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "labels.py").write_text(
        "def name(texts):\n    return ['negative' if 'dull' in text else 'positive' for text in texts]\n"
        "name.labels = ['negative', 'positive']\n"
    )
    model = ["--model", "labels.py:name", "--candidates", "table:table.json", "--label-only", "--json"]
    for verb in ("find", "minimize"):
        status, out, err = call(capsys, verb, "a fun film", *model)
        assert status == 0, err
        assert (records(out)[0]["attack"], swapped(out)) == ("decision", ["dull"])
    status, out, err = call(capsys, "audit", "--data", "texts.csv", "--out", "run", *model)
    assert status == 0, err
    assert json.loads((here / "run" / "summary.json").read_text())["attack"] == "decision"
    status, _, err = call(capsys, "find", "a fun film", *model, "--attack", "textfooler")
    assert (status, "needs scores, but the victim gives labels only" in err) == (2, True)
