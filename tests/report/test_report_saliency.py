"""Colored words: pieces, tables, the page of explanations, and the rows of a run that has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from driving import Open, resize
from explained_run import explained, explanation
from hostile_run import hostile_run
from synthetic_run import LABELS, records, summary

from lexproof.report import render, render_explanations, write
from lexproof.report.explanations import fragment, mean_agreement
from lexproof.report.saliency import LEVELS, agreed, is_short, legend, lines, score_shown, shares, tip
from lexproof.report.saliency_table import most_salient, table
from lexproof.report.visible import visible

SURFACES = ["", "...", "a", " a  b\tc ", "e\u0301t\u00e9 — na\u00efve\u200d", "\u202egood\u202c <b>film</b>", "x" * 99]


@pytest.mark.parametrize("surface", SURFACES)
def test_the_pieces_of_every_line_spell_the_text(surface: str) -> None:
    made = lines(surface, explanation(surface), LABELS)
    assert [line.method for line in made] == ["radius", "swaps", "gradient", "lime"]
    for line in made:
        if line.method == "gradient":
            assert (line.pieces, line.legend) == ((), "no <gradients>")
        else:
            assert "".join(piece.text for piece in line.pieces) == visible(surface)
            assert [piece.text for piece in line.pieces if piece.kind] == list(
                map(visible, explanation(surface)["words"])
            )


def test_words_of_another_split_are_shown_all_the_same() -> None:
    found = {"words": ["New York", "is"], "norm": 2, "methods": {"lime": {"saliency": [1.0, -0.5], "reason": ""}}}
    (line,) = lines("New York is", found, LABELS)
    assert [piece.to_json() for piece in line.pieces] == [
        ["New York", "lex-p8", "+1.000"], " ", ["is", "lex-n4", "-0.500"],
    ]  # fmt: skip
    assert lines("New York is", None, LABELS) == ()


def test_full_color_is_the_largest_of_the_text() -> None:
    assert shares("lime", [0.1, None, -0.4]) == [0.25, None, -1.0]
    assert shares("swaps", [0.1, None, -0.4]) == [1.0, None, 0.0]  # a rise is no drop
    assert shares("swaps", [-0.1, -0.4]) == [0.0, 0.0]
    assert shares("radius", [0.0, 0.0]) == [0.0, 0.0]
    assert shares("radius", [1.0, 0.5, 0.0, 0.75]) == [1.0, 0.0, 0.0, 0.5]
    assert shares("radius", [1.0, 1.0]) == [1.0, 1.0]
    method = {"saliency": [0.5, 0.03, -0.25, None, 0.0], "any_replacement": [False, False, False, False, True]}
    (line,) = lines("a b c d e", {"words": list("abcde"), "norm": 1, "methods": {"deletion": method}}, LABELS)
    kinds = [piece.kind for piece in line.pieces if piece.kind]
    assert kinds == [f"lex-p{LEVELS}", "lex-p0", f"lex-n{LEVELS // 2}", "lex-none", "lex-safe"]


def test_tips_and_legends_say_what_is_known() -> None:
    radius = {"saliency": [1.0, 0.0], "lower": [0.25, 5.0], "diameter": [5.0, 5.0], "any_replacement": [False, True]}
    assert tip("radius", radius, 0) == "safe within 0.25, 5.0% of the diameter"
    assert tip("radius", radius, 1) == "any replacement is safe"
    ends = "full color: safe within 0.25 only (L2)"
    assert legend("radius", radius, "good", 2.0) == f"{ends}; underlined: any replacement is safe"
    assert (
        legend("radius", {**radius, "any_replacement": [True, True]}, "good", 2.0)
        == "underlined: any replacement is safe"
    )
    two = {**radius, "saliency": [1.0, 0.5], "lower": [0.25, 0.5], "any_replacement": [False, False]}
    assert legend("radius", two, "good", 2.0) == "full color: safe within 0.25 only, no color: within 0.5 (L2)"
    swaps = {"saliency": [0.2, None], "substitute": ["ni\u202ece", None], "flips": [True, None]}
    assert tip("swaps", swaps, 0) == "→ ni‹U+202E›ce: -0.200, flips"
    assert tip("swaps", swaps, 1) == "no substitutes"
    assert legend("swaps", swaps, "good", 2.0) == "full color: the score of good falls by 0.2"
    assert legend("swaps", {"saliency": [-0.2]}, "good", 2.0) == "nothing lowers the score of good"
    assert legend("swaps", {"saliency": [None]}, "good", 2.0) == "no word can be swapped"
    assert legend("lime", {"saliency": []}, "good", 2.0) == "no words"
    assert legend("lime", {"saliency": [0.0, -0.0]}, "good", 2.0) == "0 for every word"
    assert "purple rises" in legend("deletion", {"saliency": [-0.2, 0.1]}, "good", 2.0)
    assert legend("gradient", {"saliency": [0.2, 0.1]}, "good", 2.0) == "full color: norm 0.2"


def test_the_table_has_a_row_a_word_and_leaves_out_who_did_not_answer() -> None:
    found = explanation("a good film here")
    columns = table(found)
    assert [own.title for own in columns] == ["word", "safe radius", "of diameter", "worst swap", "drop", "LIME"]
    assert {len(own.cells) for own in columns} == {4}
    assert columns[0].cells == ("a", "good", "film", "here")
    for i, safe in enumerate(found["methods"]["radius"]["any_replacement"]):
        assert (columns[1].cells[i] == "all") == safe == (columns[2].cells[i] == "100%")


def test_zero_has_no_sign_of_its_own() -> None:
    for zero in (0.0, -0.0):
        swaps = {"saliency": [zero], "substitute": ["nice"], "flips": [False], "reason": ""}
        methods = {"swaps": swaps, "lime": {"saliency": [zero], "reason": ""}}
        assert tip("swaps", swaps, 0) == "→ nice: +0.000" and tip("lime", methods["lime"], 0) == "+0.000"
        assert [own.cells for own in table({"words": ["a"], "methods": methods})][2:] == [("+0.000",), ("+0.000",)]
    none = {"first": "radius", "second": "lime", "n": 9, "spearman": -0.001, "kendall": -0.001, "overlap": {}}
    assert agreed(none) == "safe radius and LIME: Spearman +0.00, Kendall +0.00 over 9 words"
    assert mean_agreement([{"agreement": [none]}])[0][2][:2] == ["+0.00", "+0.00"]


def test_what_cannot_be_compared_says_why() -> None:
    none = {"first": "radius", "second": "lime", "n": 3, "spearman": None, "kendall": None, "overlap": {}}
    assert agreed(none) == "safe radius and LIME: one of them tells no words apart"
    assert agreed({**none, "n": 1}) == "safe radius and LIME: too few words to compare"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.8, "0.800"), (0.9996, ">0.999"), (1.0, "1.000"), (0.0004, "<0.001"), (0.0, "0.000"), (-3.25, "-3.250")],
)
def test_a_score_is_never_rounded_to_certainty(value: float, shown: str) -> None:
    assert score_shown(value) == shown


def test_the_most_salient_words_of_any_method_come_in_the_order_of_the_text() -> None:
    methods = {"a": {"saliency": [0, 0, 9, 1, 0]}, "b": {"saliency": [5, None, 0, 0, -6]}, "c": {"saliency": None}}
    found = {"words": list("vwxyz"), "methods": methods}
    assert most_salient(found, 2) == [2, 4]
    assert most_salient(found, 3) == [2, 3, 4]
    assert most_salient(found, 9) == [0, 1, 2, 3, 4]


# ---------------------------------------------------------------- pages


def answer(surface: str, **changes: Any) -> dict[str, Any]:
    agreement = {
        "first": "radius",
        "second": "lime",
        "n": 4,
        "spearman": 0.5,
        "kendall": 0.25,
        "overlap": {"1": 1.0, "3": 0.5},
    }
    return {
        "id": 0, "answer": "explanation", "text": surface, "premise": None, "label": 1, "predicted": 1,
        "labels": ["negative", "positive"], "scores": [0.2, 0.8], "agreement": [agreement], **explanation(surface),
        **changes,
    }  # fmt: skip


def test_a_page_of_explanations() -> None:
    failed = {"id": 1, "answer": "error", "text": "a <bad> one", "premise": None, "reason": "too <bad>", "methods": {}}
    page = render_explanations([answer("a <good> film", premise="so <it> is"), failed], "my <model> on texts")
    assert "my &lt;model&gt; on texts" in page
    assert "could not be explained: too &lt;bad&gt;" in page
    assert "so &lt;it&gt; is" in page
    assert "<good>" not in page and "<bad>" not in page
    assert "default-src &#39;none&#39;" in page and "<script" not in page
    assert "2 texts" in page and "+0.50" in page
    assert "positive (0.800)" in page
    assert "gray" in page  # the key names every color
    assert page.count('<div class="lex-scroll"') == 2  # both tables scroll in a box of their own


def test_a_text_without_words_has_no_table() -> None:
    assert "Word by word" not in render_explanations([answer("...")], "t")
    assert "Word by word" in render_explanations([answer("a")], "t")


def test_agreement_is_averaged_over_the_texts_that_have_any() -> None:
    none = {
        "first": "radius",
        "second": "lime",
        "n": 1,
        "spearman": None,
        "kendall": None,
        "overlap": {"1": 1.0, "3": 1.0},
    }
    one = answer("a b")
    two = answer("a b", agreement=[{**one["agreement"][0], "spearman": 1.0, "overlap": {"1": 0.0, "3": None}}])
    three = answer("a b", agreement=[none])
    assert mean_agreement([one, two, three]) == [("safe radius and LIME", 2, ["+0.75", "+0.25", "50%", "50%"])]
    assert mean_agreement([three]) == [("safe radius and LIME", 0, ["–", "–", "–", "–"])]
    assert mean_agreement([explanation("a b")]) == []  # as older runs kept it
    assert mean_agreement([{"label": None, "words": [], "methods": {}, "reason": "no"}]) == []


def test_a_fragment_brings_its_style_and_nothing_else() -> None:
    html = fragment(answer("a good film"))
    assert html.count("<style>") == 1 and "<script" not in html and "<html" not in html
    assert ".lex-p8" in html


# ---------------------------------------------------------------- the report of a run


def test_a_run_without_explanations_has_none_of_it() -> None:
    page = render(summary(records()), records())
    body, _, script = page.partition("<script")
    assert not any(trace in body for trace in ('"lex-', ".lex-", "Which words matter"))
    assert '"saliency":' not in script and '"unfolded":' not in script


def test_a_run_with_explanations_shows_them() -> None:
    run = explained(records())
    page = render({**summary(run), "explain": ["radius", "swaps"]}, run)
    assert page.count("<summary>Which words matter</summary>") == 25
    assert "Saliency" in page and "radius, swaps" in page
    assert ".lex-p8" in page


def test_a_run_shows_how_far_the_methods_agree_on_its_texts() -> None:
    run = explained(records())
    older = render(summary(run), run)  # a run that kept no agreement
    assert "How far the methods agree" not in older
    for record in run:
        if record["answer"] != "error":
            record["explanation"]["agreement"] = answer("a b")["agreement"]
    page = render(summary(run), run)
    assert "How far the methods agree" in page
    n = sum(record["answer"] != "error" for record in run)
    assert f'<td>safe radius and LIME</td><td class="lex-number">{n}</td><td class="lex-number">+0.50</td>' in page


def test_long_texts_are_folded() -> None:
    run = explained([{**records()[0], "text": "good " * 61, "changed": [], "breakers": []}])
    assert not is_short(run[0]["text"]) and is_short("good " * 60)
    page = render(summary(run), run)
    assert '<details class="lex-saliency"><summary>' in page
    assert '"unfolded":false' in page


@pytest.fixture
def pages(folder: Path) -> Path:
    run = explained(records())
    write(folder / "explained.html", {**summary(run), "explain": ["radius", "swaps", "lime"]}, run)
    about, hostile = hostile_run()
    write(folder / "explained-hostile.html", about, explained(list(hostile)))
    for name in ("explained", "explained-hostile"):
        page = (folder / f"{name}.html").read_text("utf-8")
        (folder / f"{name}-silent.html").write_text(page.replace('"use strict";', '"use  strict";'), "utf-8")
    return folder


@pytest.mark.browser
@pytest.mark.parametrize("name", ["explained", "explained-hostile"])
def test_script_and_template_draw_the_same_words(pages: Path, open_page: Open, name: str) -> None:
    outer = "return [...document.querySelectorAll('#rows tr')].map(row => row.outerHTML)"
    by_script = open_page(name).execute_script(outer)
    assert open_page(f"{name}-silent").execute_script(outer) == by_script
    assert any("lex-w lex-p8" in row for row in by_script)


@pytest.mark.browser
def test_the_policy_lets_the_colors_through(pages: Path, open_page: Open) -> None:
    driver = open_page("explained")
    color = "return getComputedStyle(document.querySelector(arguments[0])).backgroundColor"
    assert driver.execute_script(color, "#rows .lex-p8") == "rgba(230, 97, 1, 0.62)"
    assert driver.execute_script(color, "#rows .lex-n8") == "rgba(120, 75, 190, 0.62)"


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1200])
def test_tables_break_no_number_and_no_word(folder: Path, open_page: Open, width: int) -> None:
    shown = [answer("a charming and often affecting journey", id=number) for number in range(2)]
    (folder / "explanations.html").write_text(render_explanations(shown, "model on texts"), "utf-8")
    driver = open_page("explanations")
    resize(driver, width)
    driver.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    rects = "const range = document.createRange(); range.selectNodeContents(cell); return range.getClientRects().length"
    script = (
        f"return [...document.querySelectorAll('.lex-table td')].map(cell => [cell.textContent, (() => {{{rects}}})()])"
    )
    cells = driver.execute_script(script)
    assert ["charming", 1] in cells and ["+0.50", 1] in cells
    assert [text for text, pieces in cells if " " not in text and pieces != 1] == []
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
