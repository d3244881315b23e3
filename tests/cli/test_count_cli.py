"""`lexproof count`: intervals, thresholds, shares by number of swaps, and the line about all texts."""

import json
from pathlib import Path

import pytest
from calls import MODEL_OPTIONS, call, records


@pytest.fixture
def wide(here: Path) -> Path:
    """Texts of ten words with a thousand substitutes each, one in ten of which flips."""
    words = [f"word{i}" for i in range(5)]
    table = {
        word: [f"{'dull' if j % 10 == 0 else 'other'}{i}x{j}" for j in range(1000)] for i, word in enumerate(words)
    }
    (here / "table.json").write_text(json.dumps(table))
    (here / "texts.csv").write_text("text\n" + "".join(f"{' '.join(words)} {'good ' * k}\n" for k in range(3)))
    return here


COUNT = ["count", "--data", "texts.csv", "--max-swaps", "2", *MODEL_OPTIONS]


@pytest.mark.parametrize("interval", ["anytime", "clopper-pearson", "hoeffding"])
def test_each_interval_holds_the_share(wide: Path, capsys: pytest.CaptureFixture[str], interval: str) -> None:
    status, out, err = call(capsys, *COUNT, "--json", "--interval", interval, "--half-width", "0.05")
    assert status == 0, err
    truth = (5 * 100 + 10 * (1000**2 - 900**2)) / (1 + 5 * 1000 + 10 * 1000**2)
    for record in records(out):
        assert (record["answer"], record["method"], record["confidence"]) == ("share", interval, 0.995)
        assert record["low"] <= truth <= record["high"]
        assert record["high"] - record["low"] <= 0.1
        assert (record["n"] == 1199) == (interval != "anytime")
    assert (
        "PR > 0.9: 0 of 3 texts classified correctly, 0.0000 [0.0000, 0.7076] (95 % Clopper-Pearson); 3 settled" in err
    )
    assert "PR >" not in out


def test_a_threshold_is_said_and_used_for_the_last_line(wide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, *COUNT, "--threshold", "0.5")
    assert status == 0
    assert out.count("; PR is above 0.5 (") == 3
    assert out.splitlines()[-1].startswith("PR > 0.5: 3 of 3 texts classified correctly, 1.0000 [0.2924, 1.0000]")
    status, out, _ = call(capsys, "count", "a fun film", *MODEL_OPTIONS)  # one text needs no last line
    assert "PR >" not in out


def test_shares_by_number_of_swaps(wide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, *COUNT, "--by-swaps", "--half-width", "0.1", "--samples", "900", "--json")
    assert status == 0, err
    for record in records(out):
        assert record["answer"] == "share-curve"
        assert [share["method"] for share in record["strata"]] == ["exact", "anytime", "anytime"]
        assert [row["radius"] for row in record["radii"]] == [0, 1, 2]
        assert record["radii"][1]["low"] <= 500 / 5001 <= record["radii"][1]["high"]
    assert "PR > 0.9: 0 of 3 texts" in err
    status, out, _ = call(capsys, *COUNT, "--by-swaps", "--half-width", "0.1", "--limit", "1")
    assert status == 0
    assert "    up to 2 swaps: PR 0." in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "1.2"], "expected a threshold in (0, 1), got 1.2"),
        (["--by-swaps", "--threshold", "0"], "expected a threshold in (0, 1), got 0"),
        (["--half-width", "0"], "expected a half width in (0, 1), got 0"),
        (["--confidence", "1"], "expected a confidence in (0, 1), got 1"),
        (["--interval", "wilson"], "'wilson' is not one of 'anytime', 'clopper-pearson', 'hoeffding'"),
        (["--samples", "0"], "0 is not in the range x>=1"),
        (["--exact-points", "-1"], "-1 is not in the range x>=0"),
    ],
)
def test_bad_options_are_refused(
    here: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    status, out, err = call(capsys, *COUNT, *options)
    assert (status, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_misclassified_text_is_answered_and_not_counted_among_those_that_hold(
    wide: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (wide / "texts.csv").write_text("text,label\na fun film,1\na fun film,0\n")
    status, out, err = call(capsys, *COUNT)
    assert status == 0, err
    assert out.count("misclassified as positive as it stands; ") == 1
    assert "of 1 texts classified correctly" in out.splitlines()[-1]
    (wide / "texts.csv").write_text("text,label\na fun film,0\na good plot,0\n")
    status, out, err = call(capsys, *COUNT)
    assert status == 0, err
    assert out.count("misclassified as positive as it stands; ") == 2
    assert out.splitlines()[-1] == "PR > 0.9: no text is classified correctly"


def test_an_audit_says_how_many_texts_resist_random_swaps(wide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "audit", "--data", "texts.csv", "--max-swaps", "1", "--out", "run", *MODEL_OPTIONS)
    assert status == 0, err
    assert any(line.strip().startswith("PR above 0.9") and line.endswith(" of 3") for line in out.splitlines())
