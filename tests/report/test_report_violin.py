"""Violins: the density against a direct sum, the outline against the values, files that parse whatever names say."""

from __future__ import annotations

import random
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hostile_run import HOSTILE, hostile_run
from synthetic_run import records, summary

from lexproof.errors import InputError
from lexproof.report import Group, render, write_violins
from lexproof.report.density import BANDWIDTH, density
from lexproof.report.violin import Violin, class_groups, violins
from lexproof.report.violin_file import violin_page, violin_svg

SVG = "{http://www.w3.org/2000/svg}"


def spread(n: int, seed: int = 0) -> list[float]:
    rng = random.Random(seed)
    return [1 - rng.betavariate(0.5, 4) for _ in range(n)]


def drawn(*groups: Group) -> tuple[Violin, ...]:
    found = violins(groups)
    assert found is not None
    return found.violins


def outline(points: str, x: float) -> list[tuple[float, float]]:
    """Half width and height of the points at the right of a violin."""
    pairs = [tuple(map(float, pair.split(","))) for pair in points.split()]
    assert len(pairs) % 2 == 0
    right, left = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
    for (a, y), (b, other) in zip(right, reversed(left), strict=True):
        assert (a - x, y) == (pytest.approx(x - b, abs=0.11), other)
    return [(a - x, y) for a, y in right]


@pytest.mark.parametrize("values", [[0.5], [0.0, 0.0, 1.0], spread(200), [0.003 * i for i in range(300)]])
def test_density_is_the_reflected_gaussian_sum(values: list[float]) -> None:
    at = np.linspace(0, 1, 301)
    rounded = np.round(np.array(values), 3)
    images = np.concatenate([rounded, -rounded, 2 - rounded])
    kernel = np.exp(-0.5 * ((at[:, None] - images) / BANDWIDTH) ** 2) / (BANDWIDTH * np.sqrt(2 * np.pi))
    assert density(values, at) == pytest.approx(kernel.sum(axis=1) / len(values), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("values", [[0.5], [1.0] * 7, [0.0, 1.0], spread(3000)])
def test_density_integrates_to_one(values: list[float]) -> None:
    at = np.linspace(0, 1, 4001)
    assert np.trapezoid(density(values, at), at) == pytest.approx(1, abs=1e-4)


def test_a_violin_ends_at_its_values_and_is_wide_where_they_are_frequent() -> None:
    (violin,) = drawn(Group(name="a", values=[0.2] * 10 + [0.6] * 30 + [0.8]))
    assert violin.full == ""
    points = outline(violin.pale, violin.x)
    heights = [y for _, y in points]
    assert (max(heights), min(heights)) == (violin.least, violin.most)
    widest = max(points)
    middle = next(width for width, y in points if y == violin.middle)
    assert widest[1] == pytest.approx(violin.middle, abs=1.1)
    assert middle == widest[0] == pytest.approx(56, abs=0.1)
    low = next(width for width, y in points if y == violin.least)
    assert low == pytest.approx(56 / 3, abs=0.2)
    between = next(width for width, y in points if y == pytest.approx((violin.least + violin.middle) / 2, abs=0.6))  # type: ignore[operator]
    assert between == 0


def test_a_violin_is_cut_at_the_threshold() -> None:
    values = spread(500)
    (violin,) = drawn(Group(name="a", values=values))
    above, below = outline(violin.full, violin.x), outline(violin.pale, violin.x)
    assert below[-1] == above[0]
    assert max(y for _, y in above) < max(y for _, y in below)
    share = sum(value > 0.9 for value in values) / 500
    assert violin.caption == (f"{share:.0%} above 0.9", "n = 500")


def test_the_threshold_itself_is_not_above() -> None:
    (violin,) = drawn(Group(name="a", values=[0.9, 1 - 50 / 500, 0.9001, 1.0]))
    assert violin.caption == ("50% above 0.9", "n = 4")


@pytest.mark.parametrize("values", [[0.7], [1.0] * 30, [0.0, 0.0]])
def test_equal_values_are_a_line_of_full_width(values: list[float]) -> None:
    (violin,) = drawn(Group(name="a", values=values))
    assert (violin.full, violin.pale) == ("", "")
    assert violin.most == violin.least == violin.middle
    assert violin.bar[1] - violin.bar[0] == pytest.approx(112, abs=0.1)


def test_groups_without_texts() -> None:
    assert violins([]) is None
    assert violins([Group(name="a", values=[])]) is None
    empty, _ = drawn(Group(name="a", values=[]), Group(name="b", values=[0.5]))
    assert (empty.middle, empty.caption, empty.title) == (None, ("no text", ""), "a: no text")
    with pytest.raises(InputError, match="expected at least one value of PR"):
        violin_svg([], "x")


def test_the_order_of_the_values_does_not_matter() -> None:
    values = spread(300)
    assert violin_svg([Group(name="a", values=values)], "x") == violin_svg([Group(name="a", values=values[::-1])], "x")


@pytest.mark.parametrize(("n", "rows", "columns"), [(1, 1, 1), (3, 1, 3), (4, 2, 2), (7, 3, 3), (20, 7, 3)])
def test_many_groups_stand_in_rows_and_do_not_touch(n: int, rows: int, columns: int) -> None:
    found = violins([Group(name=f"class {i}", values=spread(20, i)) for i in range(n)], per_row=3)
    assert found is not None
    assert len(found.axes) == rows
    assert len({violin.x for violin in found.violins}) == columns
    for one, other in zip(found.violins, found.violins[1:], strict=False):
        assert one.bar[1] < other.bar[0] or one.base < other.base
    assert all(violin.base < found.height and violin.x < found.width for violin in found.violins)


def test_the_title_and_table_say_what_the_picture_shows() -> None:
    above = {"low": 0.05, "high": 0.9, "confidence": 0.95}
    found = violins([Group(name="positive", values=[0.25, 0.9, 0.95, 1.0], above=above), Group(name="b", values=[0.0])])
    assert found is not None
    assert found.violins[0].title == (
        "positive: 4 texts, PR from 0.250 to 1, median 0.925; PR > 0.9 on 50% (95% interval 5.0% to 90%)"
    )
    assert found.table[0] == ("positive", "50%", "5.0% to 90%", "4", "0.250", "0.925", "1")
    assert found.table[1] == ("b", "0%", "–", "1", "0", "0", "0")
    assert found.confidence == "95%"


@pytest.mark.parametrize("wrong", [-0.01, 1.5, float("nan")])
def test_values_outside_of_a_share_are_refused(wrong: float) -> None:
    with pytest.raises(InputError, match=r"expected values of PR in \[0, 1\], got .* in 'cnn'"):
        Group(name="cnn", values=[0.5, wrong])


def test_the_picture_is_valid_and_shows_hostile_names_as_text() -> None:
    groups = [Group(name=name, values=spread(30)) for name in HOSTILE]
    picture = ElementTree.fromstring(violin_svg(groups, HOSTILE[0]))
    assert [child.tag for child in picture][:3] == [f"{SVG}title", f"{SVG}desc", f"{SVG}style"]
    assert picture[0].text == HOSTILE[0]
    tags = {element.tag.removeprefix(SVG) for element in picture.iter()}
    assert tags == {"svg", "title", "desc", "style", "rect", "text", "line", "g", "polygon", "circle"}
    names = {key for element in picture.iter() for key in element.keys()}  # noqa: SIM118
    assert not any(name.startswith("on") or "href" in name for name in names)
    said = [element.text or "" for element in picture.iter(f"{SVG}title")]
    assert said[1].startswith("<script>alert(1)</script>: 30 texts, PR from ")
    assert "override‹U+202E›txt.exe: " in said[8]
    assert len(picture.findall(f".//{SVG}circle")) == len(HOSTILE)


def test_the_page_escapes_names_too() -> None:
    page = violin_page([Group(name=name, values=[0.5]) for name in HOSTILE], HOSTILE[0])
    assert page.count("<script") == 0
    assert page.count("<svg") == 1
    assert "<img" not in page
    assert "default-src &#39;none&#39;" in page


def test_a_file_is_what_its_name_says(tmp_path: Path) -> None:
    groups = [Group(name="a", values=spread(20))]
    assert write_violins(tmp_path / "a.SVG", groups, "t").read_text("utf-8").lstrip().startswith("<svg xmlns=")
    assert write_violins(tmp_path / "a.html", groups, "t").read_text("utf-8").lstrip().startswith("<!DOCTYPE html>")
    with pytest.raises(InputError, match=r"expected a file that ends in .svg or .html, got .*a.png"):
        write_violins(tmp_path / "a.png", groups, "t")
    assert len(list(tmp_path.iterdir())) == 2


def test_thousands_of_values_make_a_small_picture() -> None:
    picture = violin_svg([Group(name="a", values=spread(20_000))], "x")
    assert len(picture) < 20_000


def test_the_report_shows_classes_beside_the_number() -> None:
    made = records(300)
    total = summary(made)
    page = render(total, made)
    counted = [r for r in made if r["share"] and r["upper"] != 0]
    above = sum(1 - r["share"]["value"] > 0.9 for r in counted)
    assert f"({above} of {len(counted)} texts; 95% interval " in page
    assert 'data-card="above"' in page
    for label, name in enumerate(total["victim"]["labels"]):
        own = [1 - r["share"]["value"] for r in counted if r["label"] == label]
        title = f"<title>{name}: {len(own)} texts, PR from "
        assert re.search(re.escape(title) + r"[^<]*\(95% interval ", page)


def test_an_old_summary_still_has_violins_but_no_interval() -> None:
    made = records(100)
    old = {**summary(made), "share": {"mean": 0.1, "n": 90}}
    page = render(old, made)
    assert 'data-card="above"' not in page
    assert page.count('<g class="violin">') == 2
    assert "PR is above 0.9 for" not in page
    groups = class_groups(made, ["negative", "positive"], old["share"])
    assert [group.above for group in groups] == [None, None]


def test_a_run_without_shares_has_no_violins() -> None:
    made = [{**record, "share": None} for record in records(30)]
    page = render(summary(made), made)
    assert "How texts resist random swaps" not in page
    assert "No share was measured in this run." in page


def test_hostile_labels_on_the_report() -> None:
    total, made = hostile_run()
    page = render(total, made)
    assert page.count("<script") == 2
    assert page.count('<g class="violin">') == 2
