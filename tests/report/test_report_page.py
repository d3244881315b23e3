"""The page as a file: escaping, policy, size, edges."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile_run import HOSTILE, hostile_run
from synthetic_run import records, summary

from lexproof.errors import InputError
from lexproof.report import render, write
from lexproof.report.embed import asset, json_block, source_hash


class Page(HTMLParser):
    """Tags with attributes, and the text outside style and script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


def test_hostile_strings_make_no_markup() -> None:
    page, plain = Page(render(*hostile_run())), Page(render(summary(records(30)), records(30)))
    tags = {tag for tag, _ in page.tags}
    assert tags <= {tag for tag, _ in plain.tags} | {"p"}
    assert not tags & {"img", "iframe", "object", "embed", "base", "form-x"}
    assert len(page.scripts) == len(plain.scripts) == 2
    for _, attributes in page.tags:
        assert not any(name.startswith("on") or name in ("style", "src") for name in attributes)
        assert not (attributes.get("href") or "").lower().startswith("javascript")


def test_hostile_strings_are_shown_as_text() -> None:
    page = Page(render(*hostile_run()))
    for shown in (
        "<script>alert(1)</script> good",
        '"><img src=x onerror=alert(3)> good',
        "{{ 7 * 7 }} {% raw %} ${8 * 8} good",
        "line‹U+2028›separator‹U+2029› good",
        "nul‹U+0000› escape‹U+001B› good",
        "override‹U+202E›txt.exe good",
        "half ‹U+D83D› pair good",
        "مرحبا بالعالم 👩\u200d👩\u200d👧 good",
    ):
        assert shown in page.text


def test_the_embedded_rows_survive_every_string() -> None:
    total, made = hostile_run()
    page = Page(render(total, made))
    data = json.loads(page.scripts[0])
    assert [row["id"] for row in data["rows"]] == [record["id"] for record in made]
    assert data["rows"][0]["segments"] == ["<script>alert(1)</script> good"]
    assert page.scripts[0].isascii()
    assert not re.search(r"[<>&]", page.scripts[0])


def test_json_block_cannot_end_its_element() -> None:
    for text in HOSTILE:
        block = json_block([text])
        assert json.loads(block) == [text]
        assert block.isascii()
        assert not set("<>&") & set(block)
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_block(float("nan"))


def test_policy_allows_the_page_itself_and_nothing_else() -> None:
    page = Page(render(summary(records()), records()))
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == source_hash(page.scripts[1])
    assert directives["style-src"] == source_hash(asset("page.css"))
    assert directives["img-src"] == "data:"
    assert "unsafe" not in policy


def test_nothing_points_outside_the_file() -> None:
    html = render(summary(records()), records())
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+", html)) - {"http://www.w3.org"}
    assert addresses == set()  # the one allowed is the name of the SVG namespace
    for _, attributes in Page(html).tags:
        assert (attributes.get("href") or "#").startswith(("#", "data:,"))
    for source in (asset("page.js"), asset("page.css")):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|fetch\(|@import", source)


def test_empty_and_partial_summaries_render() -> None:
    empty = Page(render(summary([]), []))
    assert "No text was audited, so nothing is known yet." in empty.text
    assert "No histogram: no text has been answered." in empty.text
    bare = Page(render({"schema": 1}, []))
    assert "This run has no numbers yet." in bare.text
    assert "No swap has fooled the classifier." in bare.text
    unfinished = Page(render({**summary(records(3)), "finished": False}, records(3)))
    assert "This run is not finished. The page shows the 3 texts answered so far." in unfinished.text
    finished = Page(render(summary(records(3)), records(3)))
    assert "This run is not finished." not in finished.text


def test_records_may_be_any_iterable_and_pages_are_equal() -> None:
    made = records()
    assert render(summary(made), iter(made)) == render(summary(made), tuple(made))


def test_another_schema_is_refused() -> None:
    with pytest.raises(InputError, match="expected a summary of schema 1, got 2; write the report with the version"):
        render({"schema": 2}, [])
    with pytest.raises(InputError, match="expected a summary of schema 1, got None"):
        render({}, [])


def test_write_replaces_a_file_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    total, made = hostile_run()
    assert write(target, total, made) == target
    assert target.read_text("utf-8") == render(total, made)
    with pytest.raises(InputError, match="schema"):
        write(target, {"schema": 0}, [])
    assert target.read_text("utf-8") == render(total, made)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_only_the_first_rows_are_markup() -> None:
    page = Page(render(summary(records()), records()))
    assert sum(tag == "tr" and "data-id" in a for tag, a in page.tags) == 25
    assert len(json.loads(page.scripts[0])["rows"]) == 60


def test_ten_thousand_texts() -> None:
    made = records(10_000)
    total = summary(made)
    start = time.perf_counter()
    html = render(total, made)
    assert time.perf_counter() - start < 20
    assert len(html) < 20_000_000
    assert sum(tag == "tr" and "data-id" in a for tag, a in Page(html).tags) == 25


# ---------------------------------------------------------------- colors


def tokens() -> dict[str, tuple[str, str]]:
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", asset("page.css"))
    return {name: (light, dark) for name, light, dark in found}


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_contrast_is_at_least_aa(mode: int) -> None:
    color = {name: pair[mode] for name, pair in tokens().items()}
    for ink in ("ink", "muted", "proven", "broken", "open"):
        for ground in ("paper", "card"):
            assert contrast(color[ink], color[ground]) >= 4.5, (ink, ground)
    for name in ("proven", "broken", "open"):
        assert contrast(color[name], color[f"{name}-soft"]) >= 4.5, name
    assert contrast(color["ink"], color["open-soft"]) >= 4.5
    for ground in ("paper", "card"):
        assert contrast(color["control"], color[ground]) >= 3  # edges of controls and marks need 3 : 1


def test_contrast_of_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
