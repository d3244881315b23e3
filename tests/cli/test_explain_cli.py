"""lexproof explain: records, a page, what is printed; and `lexproof audit --explain`."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from calls import MODEL_OPTIONS, call, records

from lexproof.explaining import Explainer, Saliency

SWAPS = ["--methods", "swaps,deletion"]


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    status, out, err = call(capsys, "explain", *arguments, "--json", *MODEL_OPTIONS)
    assert status == 0, err
    return records(out)


def test_one_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = ask(capsys, "a fun film", "--seed", "3")
    assert (record["id"], record["text"], record["label"], record["predicted"]) == (0, "a fun film", 1, 1)
    assert (record["answer"], record["words"], record["seed"]) == ("explanation", ["a", "fun", "film"], 3)
    assert list(record["methods"]) == ["radius", "swaps", "lime"]
    assert record["methods"]["radius"]["saliency"] is None
    assert "no embedding to move in" in record["methods"]["radius"]["reason"]
    swaps = record["methods"]["swaps"]
    assert swaps["saliency"] == [None, pytest.approx(0.7), None]
    assert (swaps["substitute"][1], swaps["flips"][1]) == ("dull", True)


def test_for_people(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "explain", "a fun film", *MODEL_OPTIONS)
    assert status == 0
    assert out.startswith("(left out)\n  safe radius: no embedding to move in")
    assert "a fun film\n  single swaps: full color: the score of positive falls by 0.7" in out
    assert "positive: score 0.800" in out
    assert any(line.split("│")[0].strip() == "fun" and "dull (flips)" in line for line in out.splitlines())
    status, out, _ = call(capsys, "explain", "dull", "--label", "positive", *SWAPS, *MODEL_OPTIONS)
    assert "positive: score 0.100, but read as negative" in out
    status, out, _ = call(capsys, "explain", "fun", "--label", "negative", *SWAPS, *MODEL_OPTIONS)
    assert "negative: score 0.200, but read as positive" in out
    assert "flips" not in out  # what is not read as the label cannot be flipped from it
    status, out, _ = call(capsys, "explain", "", *SWAPS, *MODEL_OPTIONS)
    assert status == 0
    assert "left out" not in out and "deletion: no words" in out


def test_a_premise_is_shown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "pairs.csv").write_text("before,text\nso <it> is,a fun film\n")
    (here / "model.py").write_text(
        "def score(pairs):\n    return [[0.2, 0.8] for _ in pairs]\nscore.labels = ['negative', 'positive']\n"
    )
    options = ["--data", "pairs.csv", "--premise-column", "before", *SWAPS, *MODEL_OPTIONS]
    status, out, err = call(capsys, "explain", *options)
    assert status == 0, err
    assert out.startswith("premise: so <it> is\n")
    assert "gold" not in err  # no label is asked for, and none is missed


def test_a_probability_is_not_rounded_to_certainty(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "model.py").write_text(
        "def score(texts):\n    return [[0.0002, 0.9998] for _ in texts]\nscore.labels = ['negative', 'positive']\n"
    )
    status, out, _ = call(capsys, "explain", "a film", *SWAPS, "--out", "page.html", *MODEL_OPTIONS)
    assert status == 0
    assert "positive: score >0.999" in out
    assert "positive (&gt;0.999)" in (here / "page.html").read_text("utf-8")


def test_no_method_that_answers_is_one_line_and_no_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without = ["--methods", "radius,gradient", *MODEL_OPTIONS]
    for name in ("page.html", "lines.jsonl"):
        status, out, err = call(capsys, "explain", "a fun film", "--out", name, *without)
        assert (status, out) == (2, "")
        assert err.count("\n") == 1 and "no method could answer: radius: no embedding to move in" in err
        assert "gradient: no gradients" in err
        assert not (here / name).exists()
    status, out, err = call(capsys, "explain", "a fun film", "a plot", "--json", *without)
    assert (status, out) == (2, "")
    assert "no method could answer on any of 2 texts; on the first: radius: no embedding" in err.splitlines()[-1]


def test_a_text_without_an_answer_is_shown_once_another_has_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explain = Explainer.explain

    def asked(self: Explainer, victim: Any, space: Any, label: int | None = None) -> Any:
        found = explain(self, victim, space, label)
        if str(space.original) != "a plain story":
            return replace(found, saliencies=(Saliency(method="swaps", reason="not now"),))
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Explainer, "explain", asked)
        found = ask(capsys, "--data", "texts.csv", "--methods", "swaps")
    assert [own["methods"]["swaps"]["reason"] for own in found] == ["not now", "not now", "", "not now"]


@pytest.mark.parametrize("name", ["x.html", "x.jsonl"])
def test_a_file_that_cannot_be_written_costs_no_work(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr("lexproof.cli.explain.load_victim", refused)
    status, out, err = call(capsys, "explain", "a fun film", "--out", f"/proc/{name}", *SWAPS, *MODEL_OPTIONS)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1 and f"expected --out to be a file that can be written, got /proc/{name}: " in err


def test_a_file_is_only_left_behind_by_work_that_ends(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, _ = call(capsys, "explain", "a film", "--out", "page.html", "--model", "missing")
    assert status == 2
    assert not (here / "page.html").exists()


def test_long_lines_are_not_broken(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--model", "model.py:picky", *SWAPS]
    _, _, err = call(capsys, "explain", "a plot", "so good", *options)
    (line,) = [line for line in err.splitlines() if "not explained" in line]
    assert "too good" in line and len(line) > 80


def test_one_text_that_takes_long_shows_how_far_it_is(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, err = call(capsys, "explain", "a fun film", *SWAPS, *MODEL_OPTIONS)
    assert err == ""
    (here / "model.py").write_text(
        "import time\n"
        "def score(texts):\n    time.sleep(0.1)\n    return [[0.2, 0.8] for _ in texts]\n"
        "score.labels = ['negative', 'positive']\n"
    )
    monkeypatch.setattr("lexproof.cli.explain._SILENT", 0.01)
    status, out, err = call(capsys, "explain", "a fun film", *SWAPS, *MODEL_OPTIONS)
    assert status == 0 and "explain" not in out
    assert "explain" in err and "6/6" in err and "ETA" in err  # three words by two methods


def test_without_lime_the_default_says_how_to_get_it(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lime", None)
    status, out, err = call(capsys, "explain", "a fun film", "--json", *MODEL_OPTIONS)
    assert status == 0
    assert list(records(out)[0]["methods"]) == ["radius", "swaps"]
    assert err.count("\n") == 1 and "lime is left out" in err and "pip install 'lexproof[lime]'" in err
    status, _, err = call(capsys, "explain", "a fun film", "--methods", "lime", *MODEL_OPTIONS)
    assert status == 2 and "pip install 'lexproof[lime]'" in err
    (first, *_) = audit(capsys, "--out", "run", "--explain")
    assert list(first["explanation"]["methods"]) == ["radius", "swaps"]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_leaves_is_no_error(here: Path, options: list[str]) -> None:
    texts = ["a fun film"] * 400  # more than a pipe holds
    command = [sys.executable, "-m", "lexproof", "explain", *texts, *SWAPS, *MODEL_OPTIONS, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(60) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudoterminal")
def test_results_go_to_standard_output_while_a_bar_is_drawn(here: Path) -> None:
    """A bar on a terminal takes over what is printed; a file that standard output goes to must have it all the same."""
    import os
    import pty

    leader, follower = pty.openpty()
    texts = ["a fun film", "a good plot"]
    command = [sys.executable, "-m", "lexproof", "explain", *texts, *SWAPS, *MODEL_OPTIONS, "--json"]
    with (here / "out.jsonl").open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=follower)
    os.close(follower)
    drawn = b""
    with contextlib.suppress(OSError):  # the end of a pseudoterminal is an error
        while piece := os.read(leader, 65536):
            drawn += piece
    os.close(leader)
    assert process.wait(60) == 0
    assert [own["text"] for own in records((here / "out.jsonl").read_text())] == texts
    assert b"2/2" in drawn and b"a fun film" not in drawn


def test_long_texts_get_a_short_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "explain", "plain " * 40 + "fun", *SWAPS, *MODEL_OPTIONS)
    assert status == 0
    assert "16 more words; --json has them all" in out
    assert "dull (flips)" in out


def test_agreement_is_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "model.py").write_text(
        "def score(texts):\n"
        "    lost = [0.1 * ('fun' not in t) + 0.2 * ('good' not in t) for t in texts]\n"
        "    return [[0.1 + own, 0.9 - own] for own in lost]\n"
        "score.labels = ['negative', 'positive']\n"
    )
    status, out, _ = call(capsys, "explain", "a fun and good film", *SWAPS, *MODEL_OPTIONS)
    assert status == 0
    assert "  single swaps and deletion: Spearman +1.00, Kendall +1.00 over 2 words" in out


def test_a_data_set_as_lines_and_as_a_page(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = ask(capsys, "--data", "texts.csv", *SWAPS, "--out", "out.jsonl")
    written = records((here / "out.jsonl").read_text())
    assert len(written) == 4
    assert [own["text"] for own in written] == ["a fun film", "a good plot", "a plain story", "dull"]
    assert [(own["label"], own["predicted"]) for own in written] == [(1, 1), (1, 1), (1, 1), (0, 0)]
    by_gold = ask(capsys, "--data", "texts.csv", *SWAPS, "--gold")
    assert [(own["label"], own["predicted"]) for own in by_gold] == [(1, 1), (1, 1), (1, 1), (1, 0)]
    assert [own["id"] for own in shown] == [0, 1, 2, 3]
    status, _, err = call(
        capsys, "explain", "--data", "texts.csv", "--limit", "3", *SWAPS, "--out", "page.html", *MODEL_OPTIONS
    )
    assert status == 0 and "page: page.html" in err
    page = (here / "page.html").read_text("utf-8")
    assert page.count('<article class="card">') == 3
    assert "score on texts" in page and "→ dull: -0.700, flips" in page


def test_a_text_that_the_model_cannot_read_stops_no_other(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--model", "model.py:picky", *SWAPS]
    status, out, err = call(capsys, "explain", "--data", "texts.csv", "--json", "--out", "page.html", *options)
    assert status == 0
    found = records(out)
    assert [own["answer"] for own in found] == ["explanation", "error", "explanation", "explanation"]
    assert "too good" in found[1]["reason"] and found[1]["methods"] == {}
    assert "1 of 4 texts not explained" in err
    assert "could not be explained" in (here / "page.html").read_text("utf-8")
    status, out, _ = call(capsys, "explain", "a plot", "so good", *options)
    assert "error: " in out and "too good" in out
    status, _, err = call(capsys, "explain", "so good", *options)
    assert status == 2 and "too good" in err


def test_a_model_that_fails_on_most_texts_is_not_asked_forever(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["a plot", *["so good"] * 20]
    status, _, err = call(capsys, "explain", *texts, "--model", "model.py:picky", *SWAPS, "--out", "page.html")
    assert status == 2
    assert "5 of 6 texts failed, stopping (the rest is kept)" in err
    assert (here / "page.html").exists()


@pytest.mark.parametrize("name", ["page.html", "lines.jsonl"])
def test_nothing_explained_leaves_no_file(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    options = ["--model", "model.py:broken", *SWAPS, "--out", name]
    status, _, err = call(capsys, "explain", "a film", "a plot", *options)
    assert status == 2
    assert "none of 2 texts explained, the first: black box 'model.py:broken' raised ValueError: out of memory" in err
    assert not (here / name).exists()


def test_an_interruption_keeps_what_is_finished(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    explain = Explainer.explain
    asked: list[str] = []

    def interrupted(self: Explainer, victim: Any, space: Any, label: int | None = None) -> Any:
        asked.append(str(space.original))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return explain(self, victim, space, label)

    monkeypatch.setattr(Explainer, "explain", interrupted)
    status, _, err = call(capsys, "explain", "--data", "texts.csv", *SWAPS, "--out", "page.html", *MODEL_OPTIONS)
    assert status == 130 and "everything finished is kept" in err
    assert (here / "page.html").read_text("utf-8").count('<article class="card">') == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "magic"], "unknown method 'magic'; available: deletion, gradient, lime, radius, swaps"),
        (["--methods", ","], "expected at least one method, got none"),
        (["--norm", "3"], "expected the norm 1, 2 or inf, got '3'"),
        (["--label", "great"], "expected a label out of negative, positive or its number, got 'great'"),
        (["--out", "texts.csv"], "expected --out to be a new file, got texts.csv, which exists"),
        (["--gold"], "expected --data with labels for --gold, got arguments without; leave out --gold"),
        (["--lime-samples", "1"], "Invalid value for '--lime-samples'"),
    ],
)
def test_refusals(here: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    status, _, err = call(capsys, "explain", "a fun film", *options, *MODEL_OPTIONS)
    assert status == 2
    assert message in err


# ---------------------------------------------------------------- audit


def audit(capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    status, out, err = call(capsys, "audit", "--data", "texts.csv", "--json", *options, *MODEL_OPTIONS)
    assert status == 0, err
    return records(out)


def test_an_audit_keeps_explanations_and_shows_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = audit(capsys, "--out", "plain")
    found = audit(capsys, "--out", "run", "--explain", "swaps,deletion")
    swaps = found[0]["explanation"]["methods"]["swaps"]
    assert (swaps["saliency"], swaps["flips"]) == ([None, pytest.approx(0.7), None], [None, True, None])
    assert list(found[3]["explanation"]["methods"]) == ["swaps", "deletion"]
    assert [own["explanation"]["label"] for own in found] == [1, 1, 1, 0]  # why a misclassified text is read as it is
    assert "seconds" not in swaps
    assert [(own["first"], own["second"]) for own in found[0]["explanation"]["agreement"]] == [("swaps", "deletion")]
    page = (here / "run" / "report.html").read_text("utf-8")
    assert page.count("<summary>Which words matter</summary>") == 4
    assert "swaps, deletion" in page
    for record in found:
        del record["explanation"]
    kept = [{key: value for key, value in record.items() if key != "seconds"} for record in plain]
    assert [{key: value for key, value in record.items() if key != "seconds"} for record in found] == kept


def test_a_run_without_explain_is_what_it_was(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert all("explanation" not in record for record in audit(capsys, "--out", "run"))
    assert "explain" not in json.loads((here / "run" / "config.json").read_text())["identity"]["settings"]
    assert "explain" not in json.loads((here / "run" / "summary.json").read_text())
    status, _, err = call(
        capsys, "audit", "--data", "texts.csv", "--out", "run", "--resume", "--explain", *MODEL_OPTIONS
    )
    assert status == 2
    assert "its settings.explain is None, now it is ['radius', 'swaps', 'lime']" in err


def test_explain_without_methods_takes_the_usual_ones(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (first, *_) = audit(capsys, "--out", "run", "--explain")
    assert list(first["explanation"]["methods"]) == ["radius", "swaps", "lime"]
    status, _, err = call(capsys, "audit", "--out", "other", "--explain", "magic", *MODEL_OPTIONS)
    assert status == 2 and "unknown method 'magic'" in err
    assert not (here / "other").exists()


def test_an_audit_goes_on_where_an_explanation_fails(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "model.py").write_text(
        "def score(texts):\n"
        "    if any('fun' in t and 'film' not in t for t in texts):\n"
        "        raise ValueError('where is the film')\n"
        "    return [[0.2, 0.8] for _ in texts]\n"
        "score.labels = ['negative', 'positive']\n"
    )
    found = audit(capsys, "--out", "run", "--explain", "deletion")
    assert [record["answer"] for record in found] == ["robust"] * 4
    assert "where is the film" in found[0]["explanation"]["reason"]
    assert found[1]["explanation"]["methods"]["deletion"]["saliency"] == [0.0, 0.0, 0.0]
