"""The report of a real (small) audit says what its records say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import lexproof as lp
from lexproof.text import Text
from toys import Additive

TEXTS = [
    "a warm film",
    "cold plot & <b>slow</b> cast",
    "quick score",
    "odd, odd, odd",
    "",
    "plain text\x00here",
    "موسيقى warm",
]
LABELS = [1, 0, 1, 0, 1, 0, 1]


def candidates(text: Text) -> list[list[str]]:
    return [[f"{word}1", f"{word}2"] if word in ("warm", "cold", "slow", "quick", "odd") else [] for word in text.words]


def test_the_report_of_an_audit(tmp_path: Path) -> None:
    result = lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates, out=tmp_path / "run")
    html = (tmp_path / "run" / "report.html").read_text("utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    rows = json.loads(found.group(1))["rows"]
    assert [row["id"] for row in rows] == [record["id"] for record in result.records]
    for row, record in zip(rows, result.records, strict=True):
        assert row["keys"]["upper"] == record["upper"]
        assert row["keys"]["queries"] == record["queries"]
        swapped = [piece for piece in row["segments"] if isinstance(piece, list) and len(piece) == 2]
        assert swapped == [[change["old"], change["new"]] for change in record["changed"]]
    assert "&lt;b&gt;" in html
    assert "plain text‹U+0000›here" in html
    assert lp.audit(Additive(1), TEXTS, LABELS, candidates=candidates).summary["n"] == len(rows)
