"""Lower bounds of the margin against the number of swaps allowed, for every model given: a table and a plot.

    python benchmarks/bound_curves.py MODEL... --texts 20 --radii 1,2,3,4,6,8 --out curves.svg [--seconds 60]

A model's folder is named DATA-KIND, its texts are the first of DATA's test split that it classifies correctly.  Lines,
as means over texts of (bound / margin of the text itself), 1 is the text itself and below 0 nothing is proven:

    interval, no budget    intervals, every word may be swapped at once
    interval               intervals, the first layer under the budget of r swaps
    linear, no budget      backward linear bound, every word may be swapped at once
    linear                 backward linear bound under the budget, slopes chosen by ascent
    root of the exact solver   what the solvers of `mlp` and one-layer `cnn` prove before they branch

The table also counts, over all texts and radii, how often a budgeted bound is looser than the one without a budget,
and how often the linear bound is looser than the interval bound.  A model gets no new text after --seconds; texts on
which a linear bound would tighten more than --max-passes units are left out (long ones of recurrent networks).
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

import lexproof as lp
from lexproof.bounds.backward import interval_relaxation, linear_relaxation
from lexproof.bounds.program import Program
from lexproof.certify.curve import interval_margin, linear_margin, passes
from lexproof.certify.lowering import form_of, program_of
from lexproof.data import read
from lexproof.errors import NoRule
from lexproof.goal import Goal
from lexproof.victims.base import Victim

LINES = ("interval, no budget", "interval", "linear, no budget", "linear", "root of the exact solver")
ROUNDING = 1e-9


def bounds(program: Program, form: torch.Tensor, radius: int, steps: int) -> tuple[float, float]:
    """The least margin by intervals, and by the linear bound."""
    region = program.budgeted(radius).region
    by_interval = interval_margin(interval_relaxation(program.graph, region), form).min()
    by_lines = linear_margin(linear_relaxation(program.graph, region), form, steps, float("inf"), None).min()
    return float(by_interval), float(by_lines)


def root_bounds(victim: Victim, space: lp.Space, label: int) -> list[float]:
    """What the exact solver's bound proves before any branching; not a number for victims without one."""
    curve = lp.certified_curve(victim, space, label) if victim.kind in ("mlp", "cnn") else None
    has_own = curve is not None and curve.bound != "linear"
    return list(curve.margins) if has_own else [float("nan")] * (space.max_swaps + 1)


def measure(
    folder: Path, texts: int, radii: list[int], seconds: float, steps: int, most: int
) -> tuple[np.ndarray, float]:
    """(texts, radii, lines) bounds divided by the margin of the text, and seconds a text."""
    victim = lp.load(str(folder))
    data = read(folder.name.split("-")[0], labels=victim.labels, limit=20 * texts)
    found, begun = [], time.perf_counter()
    for text, label in zip(data.texts, data.labels, strict=True):
        if len(found) == texts or time.perf_counter() - begun > seconds:
            break
        space = lp.Space.around(text, lp.candidates.default(), max_swaps=max(radii))
        form = form_of(Goal(label), victim.classes)
        try:
            program = program_of(victim, space)
        except NoRule:
            continue
        itself = float((program.graph.value(program.region.original) @ form.T).min())
        places = program.region.places.shape[1]
        if itself <= 0 or places < max(radii) or passes(program) > most:
            continue
        free = bounds(program, form, places, steps)
        root = root_bounds(victim, space, label)
        rows = []
        for radius in radii:
            own = bounds(program, form, radius, steps)
            rows.append([free[0], own[0], free[1], own[1], root[radius]])
        found.append(np.array(rows) / itself)
    return np.array(found), (time.perf_counter() - begun) / max(1, len(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--radii", default="1,2,3,4,6,8")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--max-passes", type=int, default=20_000)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    radii = [int(part) for part in args.radii.split(",")]
    results = {}
    print(f"{'model':<14} {'texts':>5} {'s/text':>7}  {'line':<24} " + " ".join(f"{'r=' + str(r):>8}" for r in radii))
    for folder in args.models:
        found, spent = measure(folder, args.texts, radii, args.seconds, args.steps, args.max_passes)
        if not len(found):
            print(f"{folder.name:<14} no text with enough words, or no rule")
            continue
        results[folder.name] = found.mean(0)
        for at, line in enumerate(LINES):
            head = f"{folder.name:<14} {len(found):>5} {spent:>7.2f}" if at == 0 else " " * 28
            print(f"{head}  {line:<24} " + " ".join(f"{value:>8.2f}" for value in found[:, :, at].mean(0)), flush=True)
        looser = int((found[:, :, [1, 3]] < found[:, :, [0, 2]] - ROUNDING).sum())
        behind = int((found[:, :, [2, 3]] < found[:, :, [0, 1]] - ROUNDING).sum())
        ahead = int((found[:, :, 3] > found[:, :, 1] + ROUNDING).sum())
        print(
            f"{' ' * 28}  looser than without a budget {looser}, linear looser than interval {behind}, "
            f"linear strictly tighter {ahead} of {found[:, :, 3].size}"
        )
    draw(results, radii, args.out)


def draw(results: dict[str, np.ndarray], radii: list[int], out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(4, len(results))
    rows = -(-len(results) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(3.2 * columns, 2.8 * rows), squeeze=False)
    styles = (("#999999", ":"), ("#999999", "-"), ("#1f6fb2", ":"), ("#1f6fb2", "-"), ("#0b7a4b", "--"))
    for axis in axes.flat[len(results) :]:
        axis.axis("off")
    for axis, (name, means) in zip(axes.flat, results.items(), strict=False):
        for at, (line, (color, style)) in enumerate(zip(LINES, styles, strict=True)):
            axis.plot(radii, means[:, at], color=color, linestyle=style, marker="o", markersize=3, label=line)
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_title(name, fontsize=10)
        axis.set_yscale("symlog", linthresh=1)
        axis.set_xlabel("swaps allowed")
        axis.set_xticks(radii)
    axes[0, 0].set_ylabel("bound / margin of the text")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=5, frameon=False)
    figure.tight_layout(rect=(0, 0.06 if rows > 1 else 0.1, 1, 1))
    figure.savefig(out)


if __name__ == "__main__":
    main()
