"""The page in a real Chromium: phone, colors, print, hostile texts."""

from __future__ import annotations

import pytest
from driving import Open, choose, click, find, ids, media, resize
from synthetic_run import records

pytestmark = pytest.mark.browser

RECORDS = records()


@pytest.mark.parametrize("name", ["plain", "hostile", "empty"])
@pytest.mark.parametrize("width", [390, 320])
def test_a_phone_needs_no_sideways_scrolling(open_page: Open, name: str, width: int) -> None:
    driver = open_page(name)
    resize(driver, width)
    driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert driver.execute_script("return document.documentElement.clientWidth") == width


def test_a_phone_breaks_no_number_of_a_table(open_page: Open) -> None:
    driver = open_page("plain")
    resize(driver, 320)
    driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    lines = """
        const tables = document.querySelectorAll('.scroll .plain');
        return [...tables].flatMap(table => [...table.querySelectorAll('td, th')]).map(cell => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            const tops = new Set([...range.getClientRects()].map(line => Math.round(line.top)));
            return [cell.textContent, tops.size];
        })"""
    found = driver.execute_script(lines)
    assert len(found) > 20
    assert [text for text, count in found if count > len(text.split())] == []


def test_a_phone_sorts_by_menu(open_page: Open) -> None:
    driver = open_page("plain")
    assert not find(driver, "#direction").is_displayed()
    resize(driver, 390)
    choose(driver, "#sort", "queries")
    click(driver, "#direction")
    assert ids(driver) == [r["id"] for r in sorted(RECORDS, key=lambda r: -r["queries"])][:25]
    assert find(driver, "#direction").get_attribute("aria-pressed") == "true"


LOW_CONTRAST = """
const parse = color => (color.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
  .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const ground = node => {
  for (let at = node; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color.length === 3 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const bad = [];
for (const node of document.querySelectorAll('body *:not(svg *):not(script):not(:disabled)')) {
  if (![...node.childNodes].some(c => c.nodeType === 3 && c.textContent.trim()) || !node.checkVisibility()) continue;
  const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) bad.push(`${node.tagName}.${node.className} ${ratio.toFixed(2)}`);
}
return bad;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_color_schemes_are_readable(open_page: Open, scheme: str) -> None:
    driver = open_page("plain")
    media(driver, scheme)
    ground = "return getComputedStyle(document.body).backgroundColor"
    brightness = sum(int(part) for part in driver.execute_script(ground)[4:-1].split(","))
    assert (brightness < 150) == (scheme == "dark")
    driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert driver.execute_script(LOW_CONTRAST) == []


def test_the_toggle_turns_the_colors_over(open_page: Open) -> None:
    driver = open_page("plain")
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = driver.execute_script(ground)
    assert find(driver, "#theme").text == "Dark"
    click(driver, "#theme")
    assert driver.execute_script(ground) != before
    assert find(driver, "#theme").text == "Light"
    click(driver, "#theme")
    assert driver.execute_script(ground) == before


def test_hostile_texts_do_nothing(open_page: Open) -> None:
    from selenium.common.exceptions import NoAlertPresentException

    driver = open_page("hostile")
    choose(driver, "#size", "100")
    driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    with pytest.raises(NoAlertPresentException):
        _ = driver.switch_to.alert
    assert driver.get_log("browser") == []
    assert (
        driver.execute_script(
            "return document.querySelectorAll('img, iframe, [onerror], [onload], [onmouseover]').length"
        )
        == 0
    )
    assert driver.execute_script("return document.scripts.length") == 2
    surfaces = driver.execute_script("return [...document.querySelectorAll('.surface')].map(p => p.textContent)")
    assert surfaces[0] == "<script>alert(1)</script> good"
    assert surfaces[2] == '"><img src=x onerror=alert(3)> good'
    assert surfaces[7] == "override‹U+202E›txt.exe good"
    assert len(surfaces) == 30


def test_parsing_a_string_as_markup_is_forbidden(open_page: Open) -> None:
    driver = open_page("plain")
    attempt = "try { document.body.innerHTML = '<p>x</p>'; return 'done'; } catch (error) { return error.name; }"
    assert driver.execute_script(attempt) == "TypeError"
    assert "TrustedHTML" in driver.get_log("browser")[0]["message"]


def test_right_to_left_texts_run_their_way(open_page: Open) -> None:
    driver = open_page("hostile")
    direction = "return getComputedStyle(document.querySelectorAll('.surface')[arguments[0]]).direction"
    assert driver.execute_script(direction, 9) == "rtl"
    assert driver.execute_script(direction, 0) == "ltr"


def test_an_empty_run_is_a_page(open_page: Open) -> None:
    driver = open_page("empty")
    assert driver.get_log("browser") == []
    assert find(driver, "#found").text == "No texts."
    assert find(driver, "#page").text == "Page 1 of 1"


def test_print_is_light_and_without_controls(open_page: Open) -> None:
    driver = open_page("plain")
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
    assert not find(driver, "#controls").is_displayed()
    assert driver.execute_script("return getComputedStyle(document.documentElement).colorScheme") == "light"
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
