"""The page of `lexproof words`: numbers at their places, everything escaped, nothing fetched."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from lexproof.errors import InputError
from lexproof.report.words import render_words, write_words
from lexproof.report.words_charts import BOTTOM, MARGIN, SCALE, TOP, histogram, mark
from lexproof.report.words_facts import facts, headline, takeaways
from lexproof.report.words_numbers import change, estimate, reach

HOSTILE = "<script>alert(1)</script>\u202e&\"'"


def share(low: float, high: float | None = None, n: int = 50) -> dict[str, Any]:
    high = low if high is None else high
    ends = {"low": max(0.0, low - 0.1), "high": min(1.0, high + 0.1)}
    return {"value": low if low == high else None, "lower": low, "upper": high, **ends, "n": n, "confidence": 0.95}


def word(name: str, kappa: dict[str, Any], text: str = "a good film") -> dict[str, Any]:
    changed = [{"position": 1, "old": text.split()[1], "new": name}]
    example = {"id": 7, "text": text, "premise": None, "label": 1, "predicted": 0, "witness": "", "changed": changed}
    pairs = {"with_word": share(0.9), "removed": share(0.7), "without_word": share(0.95), "attacked": share(0.4, 0.5)}
    return {
        "word": name, "kappa": kappa, "overall": share(0.3), "part_of_speech": "adverb",
        "examples": [example, example], "accuracy": pairs,
    }  # fmt: skip


def summary(**own: Any) -> dict[str, Any]:
    terms = ("rho", "kappa", "parts", "attacked")
    return {
        "schema": 1, "answer": "flip-words", "title": "model on texts", "finished": True, "n": 50, "correct": 60,
        "misclassified": 4, "errors": 1, "queries": 1234, "method": "euba", "patience": 512, "time_limit": None,
        "seed": 0, "seconds": 3.0, "command": "lexproof words", "rho": share(0.8, 0.9), "lexproof": "0.1.0",
        "victim": {"name": "model", "kind": "cnn", "labels": ["bad", "good"], "fingerprint": "f00"},
        "data": {"name": "texts", "n": 65, "is_labelled": True, "bad_rows": []},
        "classes": [
            {"label": 0, "name": "bad", "n": 0, "words": []},
            {"label": 1, "name": "good", "n": 50, "words": [word("never", share(0.6)), word("ever", share(0.2, 0.4))]},
        ],
        "vocabulary": {
            "size": 111, "source": "a list", "unknown": [], "histogram": [100, 10, 0, 1], "is_exact": False,
            "most_have": 0.1, "top_have": 0.5,
            "parts": {"n": 99, "counts": {"noun": 51, "verb": 33, "adjective": 10, "adverb": 4, "other": 1}},
        },
        "definitions": {term: f"what {term} means" for term in terms}, **own,
    }  # fmt: skip


def test_what_the_page_says() -> None:
    page = render_words(summary())
    for said in (
        "One word put in the place of another flips 10% to 20% of all pairs of 50 texts and 111 words.",
        "The word to look at first is “never”: it flips 60% of the 50 texts of class good.",
        "95% of the words flip at least 10% of the texts each, the top 0.1% at least 50%.",
        "a <del>good</del><ins>never</ins> film",
        "90% → 70%",
        "95.0% → 40% to 50%",
        "No text of this class is classified correctly.",
        "what rho means",
        "what kappa means",
        '<tr><th scope="row">noun</th><td>51</td></tr>',
        "4 misclassified, 1 unreadable left out",
        "euba, patience 512",
        "then read as <bdi>bad</bdi>",
    ):
        assert said in page, said
    assert page == render_words(summary())  # the same summary gives the same page
    assert "not finished" not in page


def test_a_page_without_accuracy_or_flips_or_labels() -> None:
    given = summary(finished=False, rho=share(1.0))
    for own in given["classes"][1]["words"]:
        own["accuracy"] = None
    given["data"]["is_labelled"] = False
    page = render_words(given)
    assert "Without it" not in page
    assert "flips 0% of all pairs" in page
    assert "The page shows the first 50 of 60 texts." in page
    assert "The model&#39;s own predictions count as gold." in page
    given["classes"][1]["words"] = []
    assert "No word of the vocabulary is known to flip a text of this class." in render_words(given)
    assert takeaways(given)[0] == "No word of the vocabulary is known to flip a text."


def test_everything_is_escaped_and_nothing_is_fetched() -> None:
    given = summary(title=HOSTILE, command=HOSTILE, method=HOSTILE)
    given["victim"]["labels"] = [HOSTILE, HOSTILE]
    given["data"] |= {"name": HOSTILE, "bad_rows": [{"line": 3, "reason": HOSTILE}]}
    given["vocabulary"] |= {"source": HOSTILE, "unknown": [HOSTILE]}
    own = word(HOSTILE, share(0.5), f"a {HOSTILE} film")
    own["examples"][0] |= {"premise": HOSTILE}
    own["examples"][0]["changed"] = [{"position": 0, "old": "a", "new": HOSTILE}]
    given["classes"][1] |= {"name": HOSTILE, "words": [own]}
    page = render_words(given)
    assert "<script" not in page and "\u202e" not in page
    assert page.count("‹U+202E›") >= 10
    assert "default-src 'none'" in page.replace("&#39;", "'")
    assert not re.search(r"(?:src|href)=\"(?!#|data:,)", page)
    assert "url(" not in page.replace("url(#hatch)", "")


def test_the_page_needs_the_right_summary(tmp_path: Path) -> None:
    for wrong in ({**summary(), "answer": None}, {**summary(), "schema": 2}, {"schema": 1}):
        with pytest.raises(InputError, match="lexproof words"):
            render_words(wrong)
    path = write_words(tmp_path / "report.html", summary())
    assert path.read_text("utf-8") == render_words(summary())
    assert [own.name for own in tmp_path.iterdir()] == ["report.html"]


def test_marks_stand_where_their_numbers_say() -> None:
    found = mark(share(0.25, 0.5))
    assert found is not None
    assert (found.low, found.high, found.open) == (MARGIN + 0.25 * SCALE, MARGIN + 0.5 * SCALE, 0.25 * SCALE)
    assert found.interval == (MARGIN + 0.15 * SCALE, MARGIN + 0.6 * SCALE)
    assert mark(share(0.5, n=0)) is None


def test_the_histogram_grows_with_the_logarithm_of_counts() -> None:
    found = histogram([100, 10, 0, 1])
    assert found is not None
    heights = [column.height for column in found.columns]
    assert heights[0] == BOTTOM - TOP and heights[2] == 0 < heights[3]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[3], abs=0.2)  # a factor of ten is a step
    assert [tick.label for tick in found.ticks] == ["1", "10", "100"]
    assert [tick.at for tick in found.ticks] == [found.columns[at].top for at in (3, 1, 0)]
    assert found.columns[1].title == "kappa from 25% to 50%: 10 words"
    assert histogram([0, 0]) is histogram([]) is None


def test_numbers_are_written_without_claiming_more_than_is_known() -> None:
    assert estimate(share(0.5)) == "50%"
    assert estimate(share(0.12345, 0.67891)) == "12.3% to 67.9%"
    assert estimate(share(0.0, 1.0)) == "0% to 100%"
    assert estimate(share(0.99999, 1.0)) == "99.9% to 100%"  # rounded down, as what is not known to hold for all
    assert estimate(share(0.5, n=0)) == reach(share(0.5, n=0)) == "–"
    assert reach(share(0.5)) == "40% to 60%"
    assert change(share(1.0), share(0.5)) == "100% → 50%"
    assert change(share(1.0, n=0), share(0.5, n=0)) == "–"


def test_unknown_words_and_facts_are_said() -> None:
    given = summary(time_limit=1.5, method="exact")
    given["vocabulary"]["unknown"] = [f"u{i}" for i in range(30)]
    said = takeaways(given)[-1]
    assert said.startswith("30 of 111 words are unknown to the model, which reads them all alike: u0, ")
    assert said.endswith("u19, ….")
    assert ("Time limit", "1.5 s a text") in facts(given)
    assert ("Method", "exact") in facts(given)
    assert "20%" in headline(summary(rho=share(0.8)))


def test_the_summary_is_left_as_it_is() -> None:
    given = summary()
    before = deepcopy(given)
    render_words(given)
    assert given == before
