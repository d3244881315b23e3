"""An explanation as a record and as HTML."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

import lexproof as lp
from lexproof.explaining import Explanation, SafeRadius, Saliency, WorstSwap
from lexproof.explaining.by_radius import saliencies
from lexproof.text import Text

RADII = (
    SafeRadius(lower=0.5, diameter=2.0, any_replacement=False),
    SafeRadius(lower=2.0, diameter=2.0, any_replacement=True),
    SafeRadius(lower=1.0, diameter=2.0, any_replacement=False),
)


def explanation() -> Explanation:
    swaps = (None, WorstSwap(substitute="<b>", drop=0.4, score=0.5, flips=True), None)
    return Explanation(
        text=Text.parse("a <fun> film"), label=1, predicted=1, scores=(0.1, 0.9), labels=("bad", "<good>"),
        norm=float("inf"), seed=3,
        saliencies=(
            Saliency(method="radius", values=saliencies(RADII), details=RADII, seconds=0.5),
            Saliency(method="swaps", values=(None, 0.4, None), details=swaps, queries=7),
            Saliency(method="lime", values=(0.1, -0.2, 0.0), queries=10),
            Saliency(method="gradient", reason="no <gradients>"),
        ),
    )  # fmt: skip


def test_radius_saliency_is_the_least_radius_over_the_radius() -> None:
    assert saliencies(RADII) == (1.0, 0.0, 0.5)
    nothing = SafeRadius(lower=0.0, diameter=2.0, any_replacement=False)
    unread = SafeRadius(lower=0.0, diameter=0.0, any_replacement=True)
    assert saliencies([nothing, RADII[0], RADII[2], unread]) == (1.0, 1.0, 0.5, 0.0)
    assert saliencies([unread, unread]) == (0.0, 0.0)
    assert saliencies([]) == ()
    assert [own.normalized for own in (*RADII, unread)] == [0.25, 1.0, 0.5, 1.0]


def test_the_record_has_one_list_a_method_and_keys_that_stay() -> None:
    record = json.loads(json.dumps(explanation().to_json(), allow_nan=False))
    assert record.keys() == {
        "answer", "text", "premise", "label", "predicted", "labels", "scores", "words", "norm", "methods", "agreement",
        "queries", "seconds", "seed",
    }  # fmt: skip
    assert (record["answer"], record["words"], record["norm"]) == ("explanation", ["a", "fun", "film"], "inf")
    assert (record["queries"], record["seconds"], record["seed"]) == (18, 0.5, 3)
    assert record["methods"] == {
        "radius": {
            "saliency": [1.0, 0.0, 0.5], "lower": [0.5, 2.0, 1.0], "diameter": [2.0, 2.0, 2.0],
            "any_replacement": [False, True, False], "reason": "", "queries": 0, "seconds": 0.5,
        },
        "swaps": {
            "saliency": [None, 0.4, None], "drop": [None, 0.4, None], "score": [None, 0.5, None],
            "substitute": [None, "<b>", None], "flips": [None, True, None], "reason": "", "queries": 7, "seconds": 0.0,
        },
        "lime": {"saliency": [0.1, -0.2, 0.0], "reason": "", "queries": 10, "seconds": 0.0},
        "gradient": {"saliency": None, "reason": "no <gradients>", "queries": 0, "seconds": 0.0},
    }  # fmt: skip
    assert [(own["first"], own["second"]) for own in record["agreement"]] == [
        ("radius", "swaps"), ("radius", "lime"), ("swaps", "lime"),
    ]  # fmt: skip


def test_what_a_run_keeps_is_part_of_the_record() -> None:
    record, kept = explanation().to_json(), explanation().saliency_json()
    assert set(kept) == {"label", "words", "norm", "methods", "agreement"}
    assert {name: record[name] for name in kept} == kept


def test_a_proven_radius_is_not_rounded_up() -> None:
    proven = 0.12345678987
    radius = SafeRadius(lower=proven, diameter=2.0, any_replacement=False)
    record = Saliency(method="radius", values=(1.0,), details=(radius,)).to_json()
    assert record["lower"] == [proven]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.tips: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.tips += [value or "" for name, value in attrs if name == "title"]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_it_whole_and_escaped() -> None:
    parsed = _Tags()
    html = explanation()._repr_html_()
    parsed.feed(html)
    assert "fun" not in parsed.tags and "b" in parsed.tags and "script" not in parsed.tags
    assert parsed.text.count("a <fun> film") == 3
    assert "no <gradients>" in parsed.text and "<good> (0.900)" in parsed.text
    assert "→ <b>: -0.400, flips" in parsed.tips
    assert "safe within 0.5, 25% of the diameter" in parsed.tips and "any replacement is safe" in parsed.tips
    assert "http" not in html and "@import" not in html  # complete in itself


def test_the_label_is_explained_not_the_prediction() -> None:
    victim = lp.BlackBox(lambda texts: [[0.3, 0.7] for _ in texts], labels=["bad", "good"])
    found = lp.explain(victim, "a film", 0, methods=["radius", "swaps"])
    assert (found.label, found.predicted) == (0, 1)
    assert found["radius"].reason == "no ball is safe: the text is read as good, not as bad"
    assert "bad (0.300), but read as good" in found._repr_html_()


@pytest.mark.parametrize("name", ["explain", "Explanation", "deletion_curve"])
def test_the_verb_is_not_hidden_by_its_room(name: str) -> None:
    """A package `lexproof.explain` would take the place of the function of that name once it is imported."""
    import lexproof.explaining

    assert getattr(lp, name) is getattr(lexproof.explaining, name)
