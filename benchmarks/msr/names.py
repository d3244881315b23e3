"""What the names of the networks say: SET-NETWORK-EMBEDDING, as `models.py` gives them."""

import json
from pathlib import Path

SETS = ("sst2", "agnews", "imdb")
DIMENSIONS = (5, 10, 25, 50, 100)


def parts(name: str) -> tuple[str, str, str, int]:
    """Set, network, kind of embedding, dimension."""
    data, network, embedding = name.split("-")
    kind = embedding.rstrip("0123456789")
    return data, network, kind, int(embedding.removeprefix(kind))


def accuracies(models: Path) -> dict[str, float]:
    path = models / "accuracy.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return {name: entry["accuracy"] for name, entry in found.items()}
