"""What `--json` prints: the same keys in every record, and no bound that is not proven."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from calls import MODEL_OPTIONS, call, records

KEYS = {
    "text", "label", "predicted", "answer", "swaps", "lower", "upper", "witness", "changed", "queries", "seconds",
    "seed",
}  # fmt: skip


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status, out, err = call(capsys, *arguments, "--json", *MODEL_OPTIONS)
    assert status == 0, err
    (record,) = records(out)
    assert record.keys() >= KEYS
    return record  # type: ignore[no-any-return]


def ends(record: dict[str, Any]) -> tuple[str, int | None, int, int | None]:
    return record["answer"], record["swaps"], record["lower"], record["upper"]


def test_find(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ends(ask(capsys, "find", "a fun film")) == ("broken", 1, 1, 1)
    assert ends(ask(capsys, "find", "a dull film", "--label", "positive")) == ("broken", 0, 0, 0)
    record = ask(capsys, "find", "a plain story")
    assert ends(record) == ("unknown", None, 1, None)
    assert (record["witness"], record["changed"]) == (None, [])
    # two flips are needed to reach the target, and none is allowed: nothing is known but that the text is no flip
    assert ends(ask(capsys, "find", "a fun film", "--target", "negative", "--max-swaps", "0"))[1:] == (None, 1, None)


def test_find_claims_no_more_than_the_text_itself(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A flip with two swaps proves nothing about one swap."""
    (here / "model.py").write_text(
        "def score(texts):\n"
        "    return [[0.1 + 0.25 * k, 0.9 - 0.25 * k] for k in [('dull' in t) + ('poor' in t) for t in texts]]\n"
        "score.labels = ['negative', 'positive']\n"
    )
    swaps = ["--max-swaps", "2"]
    assert ends(ask(capsys, "find", "a fun and good film", *swaps)) == ("broken", 2, 1, 2)
    assert ends(ask(capsys, "prove", "a fun and good film", *swaps)) == ("broken", 2, 2, 2)
    assert ends(ask(capsys, "minimize", "a fun and good film", *swaps)) == ("minimum", 2, 2, 2)
    assert ends(ask(capsys, "prove", "a fun and good film", "--max-swaps", "1")) == ("robust", None, 2, None)
    # the text itself and the 4 texts with one swap: 5 queries leave nothing for two swaps, 4 too few for one
    cut_short = ["prove", "a fun and good film", *swaps, "--max-queries"]
    assert ends(ask(capsys, *cut_short, "5")) == ("unknown", None, 2, None)
    assert ends(ask(capsys, *cut_short, "4")) == ("unknown", None, 1, None)


def test_prove_minimize_and_count(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ends(ask(capsys, "prove", "a fun film")) == ("broken", 1, 1, 1)
    assert ends(ask(capsys, "prove", "a dull film", "--label", "positive")) == ("broken", 0, 0, 0)
    record = ask(capsys, "prove", "a plain story")
    assert ends(record) == ("robust", None, 1, None)
    assert (record["witness"], record["changed"]) == (None, [])
    assert ends(ask(capsys, "minimize", "a fun film")) == ("minimum", 1, 1, 1)
    assert ends(ask(capsys, "minimize", "a plain story")) == ("bracket", None, 1, None)
    record = ask(capsys, "count", "a fun film")
    assert ends(record) == ("share", None, 1, None)
    assert (record["value"], record["n"]) == (1 / 3, 3)


@pytest.mark.parametrize("verb", ["find", "prove", "minimize", "count"])
def test_one_bad_text_does_not_stop_the_others(here: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    options = ["--data", "texts.csv", "--candidates", "table:table.json", "--model", "model.py:picky"]
    status, out, err = call(capsys, verb, *options, "--json", "--out", "answers.jsonl")
    assert status == 0, err
    found = {record["id"]: record for record in records(out)}
    assert sorted(found) == [0, 1, 2, 3]
    assert [found[key]["answer"] == "error" for key in range(4)] == [False, True, False, False]
    failed = found[1]
    assert failed.keys() >= KEYS
    assert "raised ValueError: too good" in failed["reason"]
    assert (failed["text"], failed["label"], failed["predicted"]) == ("a good plot", 1, None)
    assert ends(failed) == ("error", None, 0, None)
    assert "1 of 4 texts not answered, the first: " in err
    assert sorted(map(json.dumps, records((here / "answers.jsonl").read_text()))) == sorted(
        map(json.dumps, records(out))
    )
    status, out, _ = call(capsys, verb, *options)
    assert status == 0
    assert "too good" in out


def test_all_texts_bad(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--candidates", "table:table.json", "--model", "model.py:picky", "--out", "answers.jsonl"]
    status, _, err = call(capsys, "minimize", "a good plot", "so good", *options)
    assert status == 2
    assert "none of 2 texts answered, the first: " in err.splitlines()[-1]
    assert not (here / "answers.jsonl").exists()
    status, _, err = call(capsys, "minimize", "a good plot", *options)
    assert (status, len(err.strip().splitlines())) == (2, 1)
    assert "raised ValueError: too good" in err


def test_texts_with_the_target_label_are_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mixed.csv").write_text("text,label\na fun film,positive\na dull film,negative\n")
    status, out, err = call(capsys, "find", "--data", "mixed.csv", "--target", "negative", "--json", *MODEL_OPTIONS)
    assert status == 0, err
    found = {record["text"]: record["answer"] for record in records(out)}
    assert found == {"a fun film": "broken", "a dull film": "error"}


def test_max_swaps_alone_sets_the_limit(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "table.json").write_text(json.dumps({"plain": ["flat"], "story": ["tale"]}))
    text = "a plain story of it all"
    for arguments, swaps in (
        ([], 1), (["--max-swaps", "2"], 2), (["--max-swaps", "2", "--max-share", "0.25"], 1),
        (["--max-share", "1"], 2),
    ):  # fmt: skip
        _, out, _ = call(capsys, "prove", text, *arguments, *MODEL_OPTIONS)
        assert f"with up to {swaps} swaps fools it" in out
    (here / "one.csv").write_text(f"text,label\n{text},positive\n")
    for arguments, swaps, share in (([], 1, 0.25), (["--max-swaps", "2"], 2, None)):
        options = ["--data", "one.csv", "--out", "run", "--overwrite", *MODEL_OPTIONS, *arguments]
        status, out, err = call(capsys, "audit", *options, "--json")
        assert status == 0, err
        assert records(out)[0]["max_swaps"] == swaps
        assert json.loads((here / "run" / "summary.json").read_text())["max_share"] == share
    _, out, _ = call(capsys, "prove", "--help")
    assert "0.25, or no limit with --max-swaps" in " ".join(out.split())


def test_limit_holds_for_arguments_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "find", "a fun film", "a good plot", "--limit", "1", "--json", *MODEL_OPTIONS)
    assert (status, [record["text"] for record in records(out)]) == (0, ["a fun film"])
