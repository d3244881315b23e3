"""What an endpoint's answer may look like.

Of a service that gives scores:

    {"scores": [[0.1, 0.9], …]}                                         one row a text, one column a label
    [[0.1, 0.9], …]                                                     the same, bare
    [[{"label": "pos", "score": 0.9}, {"label": "neg", …}], …]          Hugging Face's form, columns put in order

and of a service that gives labels only (`scores=False`) these:

    {"labels": ["pos", …]}                                              one label a text, by name or by number
    ["pos", …]                                                          the same, bare
    [{"label": "pos", "score": 0.9}, …]                                 Hugging Face's form; of several the likeliest
"""

from __future__ import annotations

from typing import Any

from lexproof.errors import ModelError


def table(answer: Any, labels: tuple[str, ...], rows: int, source: str) -> Any:
    """The rows of scores in an answer, columns in the order of the labels."""
    answer = rows_in(answer, rows, source)
    if isinstance(answer, list) and answer and all(is_labelled(row) for row in answer):
        return [_by_label(row, labels, source) for row in answer]
    return answer


def rows_in(answer: Any, rows: int, source: str) -> Any:
    """The rows of an answer, whatever it is wrapped in."""
    if isinstance(answer, dict):
        if "scores" not in answer:
            raise ModelError(f"expected 'scores' in the answer of {source}, got keys {sorted(answer)}")
        answer = answer["scores"]
    if rows == 1 and is_labelled(answer):  # one text: some services leave the outer list away
        return [answer]
    return answer


def labels_in(answer: Any, rows: int, source: str) -> Any:
    """The labels in an answer, whatever they are wrapped in; of several with scores the likeliest."""
    if isinstance(answer, dict):
        if "labels" not in answer:
            raise ModelError(f"expected 'labels' in the answer of {source}, got keys {sorted(answer)}")
        answer = answer["labels"]
    if rows == 1 and is_labelled(answer):
        answer = [answer]
    return [_likeliest(row, source) for row in answer] if isinstance(answer, list) else answer


def _likeliest(row: Any, source: str) -> Any:
    if is_labelled(row):
        try:
            return max(row, key=lambda item: float(item["score"]))["label"]
        except (TypeError, ValueError) as error:
            raise ModelError(f"expected a number for each label from {source}, got {row}") from error
    return row["label"] if isinstance(row, dict) and "label" in row else row


def is_labelled(row: Any) -> bool:
    """Whether this is a list of labels with their scores."""
    return (
        isinstance(row, list) and bool(row) and all(isinstance(r, dict) and {"label", "score"} <= r.keys() for r in row)
    )


def _by_label(row: list[dict[str, Any]], labels: tuple[str, ...], source: str) -> list[Any]:
    found = {str(item["label"]): item["score"] for item in row}
    if found.keys() != set(labels):
        raise ModelError(f"expected scores for {', '.join(labels)} from {source}, got {', '.join(sorted(found))}")
    return [found[label] for label in labels]
