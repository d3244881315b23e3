"""The defense table as a picture: what is left of each defense's accuracy, attacked from above and proven from below.

One line a defense, means over its seeds.  The circle is clean accuracy; the bar runs from the share of texts that is
proven for the whole space to that which the worst-case attack leaves, so that the accuracy under the worst swaps lies
within it (proofs are about a larger space than attacks, without the similarity floor).  The whisker is a 95 % interval
of the bar's right end over the draw of the texts.  Smoothed models (†) have no bar: their certificates are of another
classifier.  Collapsed ones have a star.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from defense_claims import Row, certified, collapsed, is_smoothed, kept, mean_of
from defense_rows import WORST

from lexproof.auditing.summary import share_of

_BAR, _ATTACK, _PLAIN = "#9cc3e6", "#1f6fb2", "#c0392b"


def draw(settings: Mapping[str, Mapping[str, list[Row]]], out: Path) -> None:
    """One panel a setting, the defenses that hold best on top."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, rcParams

    rcParams["svg.hashsalt"] = "lexproof"  # the same rows give the same file

    most = max(map(len, settings.values()))
    figure, axes = pyplot.subplots(
        1, len(settings), figsize=(5.6 * len(settings), 1.4 + 0.27 * most), squeeze=False, sharex=True
    )
    for axis, (name, grouped) in zip(axes.flat, settings.items(), strict=True):
        _panel(axis, name, grouped)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0.3 / (1.4 + 0.27 * most), 1, 1))
    figure.savefig(out, metadata={"Date": None} if out.suffix == ".svg" else None)
    pyplot.close(figure)


def _mean(rows: list[Row], figure: Callable[[Row], float]) -> float:
    return float(np.mean([figure(row) for row in rows]))


def _panel(axis: Any, name: str, grouped: Mapping[str, list[Row]]) -> None:
    held = {own: _mean(rows, mean_of(kept(WORST))) for own, rows in grouped.items()}
    names = sorted(grouped, key=lambda own: held[own])
    shown = next((own for own in names if own != "plain"), None)  # whose colors the legend shows
    for y, own in enumerate(names):
        rows, first = grouped[own], own == shown
        proven = held[own] if is_smoothed(rows) else _mean(rows, mean_of(certified(None)))
        n = min(len(row[WORST]["swaps"]) for row in rows)
        share = share_of(round(held[own] * n), n)
        color = _PLAIN if own == "plain" else _ATTACK
        axis.barh(
            y, held[own] - proven, left=proven, height=0.55, color=_BAR, label="proven to attacked" if first else None
        )
        axis.plot(
            [share["low"], share["high"]], [y, y], color=color, linewidth=0.8, label="95 % interval" if first else None
        )
        axis.plot(
            held[own], y, "|", color=color, markersize=9, markeredgewidth=2, label=f"after {WORST}" if first else None
        )
        clean = _mean(rows, lambda row: row["clean"]["value"])
        axis.plot(clean, y, "o", markersize=4, markerfacecolor="white", color=color, label="clean" if first else None)
    if "plain" in held:
        axis.axvline(held["plain"], color=_PLAIN, linewidth=0.6, linestyle=":")
    marks = {
        own: (" †" if is_smoothed(grouped[own]) else "") + (" *" if collapsed(grouped[own]) else "") for own in names
    }
    axis.set_yticks(range(len(names)), [own + marks[own] for own in names], fontsize=8)
    seeds = sorted({len(rows) for rows in grouped.values()})
    counted = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"
    axis.set_title(f"{name}: {counted} seed{'s' if seeds[-1] > 1 else ''}", fontsize=10)
    axis.set_xlim(0, 1)
    axis.margins(y=0.01)
    axis.set_xlabel("accuracy", fontsize=8)
    axis.grid(axis="x", linewidth=0.3)
