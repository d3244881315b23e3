"""The examples of docs/candidates.md run, and its figures are those of the lexicon."""

from __future__ import annotations

import re
from pathlib import Path

from lexproof.candidates import specs
from lexproof.candidates.lexicon import embedded

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "candidates.md").read_text(encoding="utf-8")


def test_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) == 4
    namespace: dict[str, object] = {}
    exec(compile("\n".join(blocks), "docs/candidates.md", "exec"), namespace)


def test_figures_are_those_of_the_lexicon() -> None:
    content = embedded().content
    for count in (len(content["lemmas"].split()), len(content["merit"]), len(content["words"].split())):
        assert f"{count:,}" in PAGE


def test_specs_of_the_page_are_understood() -> None:
    (block,) = re.findall(r"```text\n(.*?)```", PAGE, re.S)
    for line in block.splitlines():
        for part in line.split("#")[0].strip().strip("'").split("|"):
            head, _, query = part.strip().partition("?")
            form = specs.FORMS[head.partition(":")[0]]
            assert (form.file is not None) == (":" in head)
            assert {pair.partition("=")[0] for pair in query.split("&") if pair} <= set(form.settings)
