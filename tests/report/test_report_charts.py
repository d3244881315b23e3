"""Charts as geometry, cards, headline, facts: numbers on the page are the numbers of the summary."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from synthetic_run import records, share_of, summary

from lexproof.report import band as band_chart
from lexproof.report import histogram as histogram_chart
from lexproof.report.band import band, share_y
from lexproof.report.cards import cards
from lexproof.report.definitions import DEFINITIONS
from lexproof.report.dots import dots
from lexproof.report.facts import bad_rows, byline, candidates, facts
from lexproof.report.headline import headline, takeaways
from lexproof.report.histogram import histogram
from lexproof.report.scale import whole_ticks


def curve(*points: tuple[int, int], n: int = 60) -> list[dict[str, Any]]:
    return [
        {"swaps": swaps, "attacked": share_of(attacked, n), "certified": share_of(certified, n)}
        for swaps, (attacked, certified) in enumerate(points)
    ]


def test_band_lies_between_the_curves_and_inside_the_plot() -> None:
    drawn = band(curve((52, 52), (30, 18), (12, 6)))
    assert drawn is not None
    assert [m.y for m in drawn.attacked] == [share_y(52 / 60), share_y(0.5), share_y(0.2)]
    assert [m.y for m in drawn.certified] == [share_y(52 / 60), share_y(0.3), share_y(0.1)]
    for mark in (*drawn.attacked, *drawn.certified):
        assert band_chart.TOP <= mark.high <= mark.y <= mark.low <= band_chart.BOTTOM
        assert band_chart.LEFT < mark.x < band_chart.RIGHT
    assert drawn.attacked[1].title == "up to 1 swap: 50% (37% to 63%) not broken"
    assert drawn.table[2] == ("2", "20% (11% to 32%)", "10% (3.8% to 21%)")
    assert (drawn.attacked_end.value, drawn.certified_end.value) == ("20%", "10%")
    assert drawn.confidence == "95%"


@pytest.mark.parametrize("end", [(0, 0), (60, 60), (60, 0), (31, 29)])
def test_the_two_end_labels_never_touch_and_stay_in_the_plot(end: tuple[int, int]) -> None:
    drawn = band(curve((60, 60), end))
    assert drawn is not None
    assert drawn.certified_end.y - drawn.attacked_end.y >= 34
    assert drawn.attacked_end.y >= band_chart.TOP
    assert drawn.certified_end.y + 14 <= band_chart.BOTTOM + 1


def test_band_without_values() -> None:
    assert band([]) is None
    assert band(curve((0, 0), n=0)) is None
    single = band(curve((3, 2)))
    assert single is not None
    assert len(single.attacked) == 1


@pytest.mark.parametrize(
    ("end", "ticks"),
    [(0, (0,)), (4, (0, 1, 2, 3, 4)), (57, (0, 10, 20, 30, 40, 50)), (13, tuple(range(0, 14, 2)))],
)
def test_ticks_are_round(end: int, ticks: tuple[int, ...]) -> None:
    assert whole_ticks(end) == ticks


def test_histogram_counts_every_answered_text_once() -> None:
    made = records(300)
    drawn = histogram(made)
    assert drawn is not None
    assert drawn.errors == 1
    assert sum(int(c.total.replace(",", "") or 0) for c in drawn.columns) == 299
    assert drawn.columns[0].label == "0"
    assert drawn.columns[-1].label == "none"
    exact = sum(r["upper"] == 2 and r["answer"] == "minimum" for r in made)
    still_open = sum(r["upper"] == 2 and r["answer"] == "bracket" for r in made)
    assert drawn.columns[2].title == f"2 swaps: {exact} texts exact, {still_open} open"
    for column in drawn.columns:
        assert column.settled[0] + column.settled[1] == pytest.approx(histogram_chart.BOTTOM, abs=0.2)
        assert column.open[0] + column.open[1] == pytest.approx(column.settled[0], abs=0.2)


def test_histogram_gathers_a_long_tail() -> None:
    made = [{"id": m, "answer": "minimum", "lower": m, "upper": m} for m in range(1, 41)]
    drawn = histogram(made)
    assert drawn is not None
    assert [c.label for c in drawn.columns] == [str(m) for m in range(10)] + ["10+", "none"]
    assert [c.total for c in drawn.columns] == [""] + ["1"] * 9 + ["31", ""]


def test_histogram_of_nothing() -> None:
    assert histogram([]) is None
    assert histogram([{"id": 0, "answer": "error"}]) is None


def test_one_dot_a_text_while_there_is_room() -> None:
    shares = [0.0, 0.0, 0.25, 1.0]
    made = [{"share": {"value": s}, "upper": None if s == 0 else 1} for s in shares]
    drawn = dots([*made, {"share": None, "upper": None}])
    assert drawn is not None
    assert (drawn.texts, drawn.per_dot, drawn.mean) == (4, 1, "69%")
    assert [d.is_broken for d in sorted(drawn.dots, key=lambda d: d.x)] == [True, True, False, False]
    assert len({(d.x, d.y) for d in drawn.dots}) == 4
    assert dots([]) is None


def test_many_texts_share_a_dot() -> None:
    drawn = dots([{"share": {"value": 0.0}, "upper": None}] * 10_000)
    assert drawn is not None
    assert drawn.per_dot == 334
    assert len(drawn.dots) == 30


def test_cards_carry_interval_n_and_definition() -> None:
    made = cards({**summary(records()), "clean": share_of(51, 60)})
    assert [c.name for c in made] == list(DEFINITIONS)
    clean = made[0]
    assert (clean.value, clean.basis) == ("85%", "51 of 60 texts; 95% interval 73% to 92.9%")
    assert clean.definition == DEFINITIONS["clean"]
    assert all(c.definition for c in made)


def test_a_summary_may_word_its_own_definitions() -> None:
    given = {**summary(records()), "definitions": {"clean": "Right as it stands."}}
    assert cards(given)[0].definition == "Right as it stands."


def test_cards_of_an_empty_run() -> None:
    empty = {c.name: c for c in cards(summary([]))}
    assert (empty["clean"].value, empty["clean"].basis) == ("–", "no text to measure it on")
    assert (empty["minimum"].value, empty["minimum"].basis) == ("–", "no text is broken")
    assert "share" not in empty
    assert cards({}) == ()


def headline_of(right: int, attacked: int, certified: int, n: int = 100) -> str:
    return headline({"clean": share_of(right, n), "curve": curve((right, right), (attacked, certified), n=n)})


@pytest.mark.parametrize(
    ("right", "attacked", "certified", "sentence"),
    [
        (
            80,
            40,
            24,
            "Swapping one word is enough to fool this classifier on 50% of the 80 texts it gets right; 30% are proven "
            "safe against every single swap.",
        ),
        (
            80,
            40,
            40,
            "Swapping one word is enough to fool this classifier on 50% of the 80 texts it gets right; the other 50% "
            "are proven safe against every single swap.",
        ),
        (
            80,
            40,
            0,
            "Swapping one word is enough to fool this classifier on 50% of the 80 texts it gets right; none of the "
            "others is proven safe.",
        ),
        (80, 0, 0, "Swapping one word is enough to fool this classifier on every text it gets right."),
        (80, 80, 80, "Swapping one word cannot fool this classifier on any text it gets right: each is proven safe."),
        (
            80,
            80,
            20,
            "No single swap is known to fool this classifier on the 80 texts it gets right; 25% are proven safe "
            "against every single swap.",
        ),
        (1, 1, 0, "No single swap is known to fool this classifier on the 1 text it gets right; none is proven safe."),
        (0, 0, 0, "This classifier gets none of the 100 texts right, so no swap is needed to fool it."),
    ],
)
def test_headline_says_only_what_is_known(right: int, attacked: int, certified: int, sentence: str) -> None:
    assert headline_of(right, attacked, certified) == sentence


def test_headline_without_texts_or_swaps() -> None:
    assert headline({}) == "No text was audited, so nothing is known yet."
    assert headline(summary([])) == "No text was audited, so nothing is known yet."
    only_clean = {"clean": share_of(3, 4), "curve": curve((3, 3), n=4)}
    assert headline(only_clean) == "This classifier gets 3 of 4 texts right; no swap was tried."


def test_takeaways() -> None:
    given = {
        "clean": share_of(52, 60),
        "aua": share_of(24, 60),
        "certified": share_of(12, 60),
        "closed": share_of(45, 60),
        "minimum": {"mean_lower": 1.8, "mean_upper": 2.1, "n": 40, "closed": 35},
        "dangerous": [{"old": "good", "new": "decent", "texts": 5, "alone": 3, "examples": []}],
    }
    assert takeaways(given) == (
        "Without swaps it gets 52 of 60 texts right; with all allowed swaps its accuracy on these texts is between 20% "
        "(proven) and 40% (not broken).",
        "Where a flip is known, 1.8 to 2.1 swaps are needed on average (40 texts).",
        "The question is settled for 45 of 60 texts (75%): the minimum is known exactly, or proven not to exist.",
        "The swap to look at first is good → decent: it helps to fool 5 texts, and fools 3 on its own.",
    )
    assert takeaways({}) == ()
    always = {"dangerous": [{"old": "good", "new": "decent", "texts": 3, "alone": 3, "examples": []}]}
    assert takeaways(always) == ("The swap to look at first is good → decent: it fools 3 texts on its own.",)
    never = {"dangerous": [{"old": "good", "new": "decent", "texts": 1, "alone": 0, "examples": []}]}
    assert takeaways(never) == ("The swap to look at first is good → decent: it helps to fool 1 text.",)
    closed = copy.deepcopy(given)
    closed["minimum"]["mean_lower"] = 2.1
    assert "known, 2.1 swaps are needed" in takeaways(closed)[1]
    settled = takeaways({**given, "certified": given["aua"]})[0]
    assert settled.endswith("with all allowed swaps its accuracy on these texts is exactly 40%.")


def test_facts_and_byline() -> None:
    given = summary(records())
    stated = dict(facts(given))
    assert stated["Classifier"] == "invented-cnn (cnn)"
    assert stated["Texts"] == "60 texts from invented"
    assert stated["Limit"] == "at most 25% of the words swapped"
    assert stated["Created"] == "2026-11-15 21:00 UTC"
    assert byline(given) == (
        "60 texts from invented · attack textfooler · at most 25% of the words swapped · 2026-11-15 21:00 UTC"
    )
    assert facts({"created": "some day", "max_swaps": 3}) == (("Limit", "at most 3 swaps"), ("Created", "some day"))
    assert re.search(r'"top": 8', candidates(given))
    assert candidates({}) == ""
    assert bad_rows(given) == (("7", "label 5 is not one of 0, 1"),)
