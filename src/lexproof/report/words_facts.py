"""The page of `lexproof words` in words: its headline, what to know next, its numbers, and how to run it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lexproof.report.cards import Card
from lexproof.report.facts import facts as shared_facts
from lexproof.report.numerals import count, percent, plural
from lexproof.report.visible import visible
from lexproof.report.words_numbers import estimate, reach

_MOST_NAMED = 20  # unknown words that are named


def headline(summary: Mapping[str, Any]) -> str:
    """What one word does to the texts that the classifier gets right."""
    flipped = estimate(_complement(summary["rho"]))
    texts, words = plural(summary["n"], "text"), plural(summary["vocabulary"]["size"], "word")
    return f"One word put in the place of another flips {flipped} of all pairs of {texts} and {words}."


def takeaways(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """Sentences, each left out where there is nothing to say."""
    return tuple(visible(sentence) for sentence in (_worst(summary), _spread(summary), _unknown(summary)) if sentence)


def _complement(rho: Mapping[str, Any]) -> dict[str, Any]:
    value = rho["value"]
    return {
        "n": rho["n"],
        "value": None if value is None else 1 - value,
        "lower": 1 - rho["upper"],
        "upper": 1 - rho["lower"],
    }


def _worst(summary: Mapping[str, Any]) -> str:
    words = [(own["words"][0], own) for own in summary["classes"] if own["words"]]
    if not words:
        return "No word of the vocabulary is known to flip a text."
    word, own = max(words, key=lambda pair: pair[0]["kappa"]["lower"])
    flips = f"{estimate(word['kappa'])} of the {plural(own['n'], 'text')} of class {own['name']}"
    return f"The word to look at first is “{word['word']}”: it flips {flips}."


def _spread(summary: Mapping[str, Any]) -> str:
    vocabulary = summary["vocabulary"]
    least, most = percent(vocabulary["most_have"]), percent(vocabulary["top_have"])
    if not vocabulary["most_have"]:
        return f"The top 0.1% of the words flip at least {most} of the texts each."
    return f"95% of the words flip at least {least} of the texts each, the top 0.1% at least {most}."


def _unknown(summary: Mapping[str, Any]) -> str:
    vocabulary = summary["vocabulary"]
    unknown = vocabulary["unknown"]
    if not unknown:
        return ""
    named = ", ".join(unknown[:_MOST_NAMED]) + (", …" if len(unknown) > _MOST_NAMED else "")
    are = "is" if len(unknown) == 1 else "are"
    words = plural(vocabulary["size"], "word")
    return f"{count(len(unknown))} of {words} {are} unknown to the model, which reads them all alike: {named}."


def byline(summary: Mapping[str, Any]) -> str:
    """The line under the headline."""
    data, vocabulary = summary["data"], summary["vocabulary"]
    pieces = (
        f"{plural(data['n'], 'text')} from {data['name']}",
        f"{plural(vocabulary['size'], 'word')}: {vocabulary['source']}",
        f"method {summary['method']}",
    )
    return visible(" · ".join(pieces))


def cards(summary: Mapping[str, Any]) -> tuple[Card, ...]:
    """rho, the texts it is about, and the words."""
    rho, meanings = summary["rho"], summary["definitions"]
    middle = rho["lower"] if rho["value"] is None else rho["value"]
    ends = (rho["low"], middle, rho["high"])
    gold = "" if summary["data"]["is_labelled"] else " The model's own predictions count as gold."
    left = f"{count(summary['misclassified'])} misclassified, {count(summary['errors'])} unreadable left out"
    return (
        Card(
            name="rho",
            title="Robustness rho",
            value=estimate(rho),
            basis=f"{plural(rho['n'], 'text')}; 95% interval {reach(rho)}",
            definition=meanings["rho"],
            bar=(round(100 * ends[0], 2), round(100 * ends[1], 2), round(100 * ends[2], 2)),
        ),
        Card(
            name="texts",
            title="Texts",
            value=count(summary["n"]),
            basis=left,
            definition=f"Texts that are classified correctly as they stand: only they can be flipped.{gold}",
        ),
        Card(
            name="vocabulary",
            title="Words",
            value=count(summary["vocabulary"]["size"]),
            basis=visible(summary["vocabulary"]["source"]),
            definition="Each of them may stand in the place of any one word of a text.",
        ),
    )


def facts(summary: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Terms and values of the configuration."""
    method = summary["method"]
    if method.startswith("euba"):
        method += f", patience {count(summary['patience'])}"
    found = [*shared_facts(summary), ("Method", method), ("Queries", count(summary["queries"]))]
    if summary["time_limit"] is not None:
        found.append(("Time limit", f"{summary['time_limit']:g} s a text"))
    return tuple(found)
