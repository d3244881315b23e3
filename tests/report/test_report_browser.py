"""The page in a real Chromium: it loads in silence, sorts, filters, searches, pages and copies."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from driving import Open, choose, click, find, ids
from synthetic_run import records, summary

from lexproof.report.status import status

pytestmark = pytest.mark.browser

RECORDS = records()


def test_loads_without_complaint_and_without_requests(open_page: Open) -> None:
    driver = open_page("plain")
    assert driver.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith("data:")} == {driver.current_url}
    assert find(driver, "h1").text.startswith("Swapping one word is enough")
    assert find(driver, "#found").text == "Texts 1 to 25 of 60"


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_script_and_template_draw_the_same_rows(open_page: Open, folder: Path, name: str) -> None:
    outer = "return [...document.querySelectorAll('#rows tr')].map(row => row.outerHTML)"
    by_script = open_page(name).execute_script(outer)
    source = (folder / f"{name}.html").read_text("utf-8")
    (folder / f"{name}-silent.html").write_text(source.replace('"use strict";', '"use  strict";'), "utf-8")
    driver = open_page(f"{name}-silent")
    assert driver.execute_script("return document.documentElement.classList.contains('js')") is False
    assert driver.execute_script(outer) == by_script
    assert len(by_script) == 25


def test_without_a_script_the_page_still_reads(open_page: Open) -> None:
    driver = open_page("silent")
    assert "Content Security Policy" in driver.get_log("browser")[0]["message"]
    assert not find(driver, "#controls").is_displayed()
    assert find(driver, "h1").is_displayed()
    assert find(driver, ".chart").is_displayed()
    assert len(ids(driver)) == 25


@pytest.mark.parametrize("key", ["lower", "upper", "queries"])
def test_headers_sort_both_ways_and_say_so(open_page: Open, key: str) -> None:
    driver = open_page("plain")
    header = f"th.{key}"
    known = [r for r in RECORDS if r[key] is not None]
    unknown = [r["id"] for r in RECORDS if r[key] is None]
    for descending, direction in ((False, "ascending"), (True, "descending")):
        click(driver, f"{header} button")
        ordered = sorted(known, key=lambda r: -r[key] if descending else r[key])
        assert ids(driver) == ([r["id"] for r in ordered] + unknown)[:25]
        assert find(driver, header).get_attribute("aria-sort") == direction
        assert find(driver, "th.id").get_attribute("aria-sort") == "none"


def test_share_and_confidence_sort(open_page: Open) -> None:
    driver = open_page("plain")
    shares = {r["id"]: r["share"]["value"] for r in RECORDS if r["share"]}
    click(driver, "th.share button")
    click(driver, "th.share button")
    assert [shares[i] for i in ids(driver)] == sorted(shares.values(), reverse=True)[:25]
    scores = {r["id"]: r["scores"][r["predicted"]] for r in RECORDS if r["scores"]}
    click(driver, "th.confidence button")
    assert [scores[i] for i in ids(driver)] == sorted(scores.values())[:25]


def test_keyboard_sorts(open_page: Open) -> None:
    driver = open_page("plain")
    find(driver, "th.queries button").send_keys("\ue007")
    assert ids(driver) == [r["id"] for r in sorted(RECORDS, key=lambda r: r["queries"])][:25]


@pytest.mark.parametrize("name", ["wrong", "exact", "open", "unsettled", "robust", "error"])
def test_status_filter(open_page: Open, name: str) -> None:
    driver = open_page("plain")
    choose(driver, "#status", name)
    expected = [r["id"] for r in RECORDS if status(r) == name]
    assert ids(driver) == expected[:25]
    assert (
        find(driver, "#found").text == f"Texts 1 to {min(25, len(expected))} of {len(expected)} that match, out of 60"
    )


def test_label_and_settled_filters_add_up(open_page: Open) -> None:
    driver = open_page("plain")
    choose(driver, "#label", "0")
    negative = [r for r in RECORDS if r["label"] == 0]
    assert ids(driver) == [r["id"] for r in negative][:25]
    click(driver, "#closed")
    settled = [r["id"] for r in negative if r["answer"] in ("minimum", "robust")]
    assert ids(driver) == settled[:25]
    click(driver, "#clear")
    time.sleep(0.05)
    assert ids(driver) == list(range(25))


def test_search_finds_words_swaps_and_numbers(open_page: Open) -> None:
    driver = open_page("plain")
    box = find(driver, "#query")
    box.send_keys("WANDERS")
    assert ids(driver) == [r["id"] for r in RECORDS if "wanders" in r["text"]][:25]
    box.clear()
    box.send_keys("#17")
    assert ids(driver) == [17]
    box.clear()
    box.send_keys("no such words")
    assert ids(driver) == []
    assert find(driver, "#found").text == "No text matches; change or reset the filters."


def test_dangerous_swaps_lead_to_their_texts(open_page: Open) -> None:
    driver = open_page("plain")
    worst = summary(RECORDS)["dangerous"][0]
    click(driver, ".swaps .all")
    pair = (worst["old"], worst["new"])
    holding = [r["id"] for r in RECORDS if any((c["old"], c["new"]) == pair for c in (*r["changed"], *r["breakers"]))]
    time.sleep(0.05)
    assert ids(driver) == holding
    box = find(driver, "#query")
    box.clear()
    box.send_keys(f"{worst['old']} →")
    assert set(holding) <= set(ids(driver))
    box.clear()
    box.send_keys(f"{worst['old'][1:]} → {worst['new']}")
    assert ids(driver) == []
    click(driver, ".swaps .examples a")
    time.sleep(0.05)
    assert ids(driver) == [worst["examples"][0]]


def test_pages_turn(open_page: Open) -> None:
    driver = open_page("plain")
    assert not find(driver, "#previous").is_enabled()
    click(driver, "#next")
    assert ids(driver) == list(range(25, 50))
    assert find(driver, "#page").text == "Page 2 of 3"
    click(driver, "#last")
    assert ids(driver) == list(range(50, 60))
    assert not find(driver, "#next").is_enabled()
    click(driver, "#previous")
    click(driver, "#first")
    assert ids(driver) == list(range(25))
    choose(driver, "#size", "100")
    assert ids(driver) == list(range(60))


def test_evidence_opens_and_the_witness_is_copied_as_it_is(open_page: Open) -> None:
    driver = open_page("plain")
    driver.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    broken = next(r for r in RECORDS if r["upper"])
    row = f"#rows tr[data-id='{broken['id']}']"
    assert not find(driver, f"{row} dl").is_displayed()
    click(driver, f"{row} .evidence > summary")
    assert find(driver, f"{row} dd").text == broken["witness"]
    click(driver, f"{row} .copy")
    deadline = time.monotonic() + 3
    while find(driver, f"{row} .copy").text != "Copied" and time.monotonic() < deadline:
        time.sleep(0.02)
    copied = driver.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], e => arguments[0](String(e)))"
    )
    assert copied == broken["witness"]


def test_ten_thousand_texts_stay_quick(open_page: Open) -> None:
    driver = open_page("many")
    assert find(driver, "#found").text == "Texts 1 to 25 of 10,000"
    timed = """
    const start = performance.now();
    document.getElementById('query').value = 'wanders';
    document.getElementById('query').dispatchEvent(new Event('input'));
    document.querySelector('th.queries button').click();
    return performance.now() - start;
    """
    driver.execute_script(timed)
    assert driver.execute_script(timed) < 1500
    assert len(ids(driver)) == 25
