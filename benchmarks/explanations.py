"""Which method finds the words that matter: rank agreement and deletion curves of all methods of `lexproof explain`.

    python benchmarks/explanations.py MODEL DATA --texts 200 --out results [--norm 2] [--lime-samples 1000]
        [--methods radius,swaps,lime,deletion,gradient] [--orders 10] [--max-words 0] [--threads 1] [--seed 0]

Texts are drawn by the seed from those of the test split that the model classifies correctly (with --max-words of at
most so many words).  One JSON line a text is written to OUT/MODEL-DATA.explanations.jsonl as it is finished and found
there by the next run; a summary goes to OUT/MODEL-DATA.explanations.json and a plot of the curves to the same with
.svg.  Printed, with 95 % bootstrap intervals of means over texts:

    agreement   of each two methods: Spearman and Kendall (tau-b) correlations of the words that both know; how often
                they name the same word first, and the overlap of their three first words.  `unsigned lime` are LIME's
                weights without their sign, as a safe radius has none
    curves      for the order of each method, of the words by falling saliency: the area under the label's score as
                words are deleted, and as they are masked (smaller is better); the drop of the score after the first
                1, 3 and 5 words are deleted; on how many texts the area is smaller than that of random orders
    open words  the same where every order begins with the words that have substitutes, and goes on with the others as
                they stand in the text: `swaps` knows nothing else, so only here it competes on equal terms
    seconds     a text

`deletion` ranks words by what the first step of its own curve measures: a reference, not a rival.
"""

import argparse
import json
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from upper_bounds import draw, interval

import lexproof as lp
from lexproof.candidates import from_spec
from lexproof.explaining import DeletionCurve, Explainer, Saliency, deletion_curve, random_curve
from lexproof.explaining.agreement import agreement
from lexproof.victims.base import Victim

GRID = np.linspace(0, 1, 41)
FIRST = (1, 3, 5)


def measured(curve: DeletionCurve) -> dict[str, Any]:
    shares = np.linspace(0, 1, len(curve.deleted))
    drops = {str(k): float(curve.deleted[0] - curve.deleted[min(k, len(shares) - 1)]) for k in FIRST}
    return {
        "deleted": curve.area_deleted,
        "masked": curve.area_masked,
        "drops": drops,
        "curve": np.round(np.interp(GRID, shares, curve.deleted), 5).tolist(),
    }


def one(victim: Victim, explainer: Explainer, space: lp.Space, label: int, orders: int) -> dict[str, Any]:
    """Everything that is measured on a text."""
    found = explainer.explain(victim, space, label)
    answered = list(found.answered)
    if any(own.method == "lime" for own in answered):
        sizes = tuple(float(value) for value in np.abs(found["lime"].array))
        answered.append(Saliency(method="unsigned lime", values=sizes))
    text, rng = space.original, np.random.default_rng(explainer.seed)
    curves = {own.method: deletion_curve(victim, text, label, own.order()) for own in answered}
    curves["random"] = random_curve(victim, text, label, orders=orders, seed=explainer.seed)
    opened = {own.method: deletion_curve(victim, text, label, open_first(space, own.order())) for own in answered}
    drawn = [open_first(space, rng.permutation(space.n).tolist()) for _ in range(orders)]
    opened["random"] = average([deletion_curve(victim, text, label, order) for order in drawn])
    return {
        "words": space.n,
        "open": len(space.open),
        "left_out": {own.method: own.reason for own in found.saliencies if own.reason},
        "seconds": {own.method: own.seconds for own in found.saliencies},
        "agreement": [agreement(a, b, (1, 3)).to_json() for a, b in combinations(answered, 2)],
        "curves": {name: measured(curve) for name, curve in curves.items()},
        "open_curves": {name: measured(curve) for name, curve in opened.items()},
    }


def open_first(space: lp.Space, order: list[int]) -> list[int]:
    """The words with substitutes in this order, then the others as they stand in the text."""
    is_open = space.sizes > 0
    return [i for i in order if is_open[i]] + np.flatnonzero(~is_open).tolist()


def average(curves: list[DeletionCurve]) -> DeletionCurve:
    return DeletionCurve(
        np.mean([own.deleted for own in curves], axis=0), np.mean([own.masked for own in curves], axis=0)
    )


def measure(path: Path, setting: dict[str, Any], work: list[tuple[lp.Space, int]], ask: Any) -> list[dict[str, Any]]:
    """One record a text; those that an earlier run has written are not made again."""
    done: list[dict[str, Any]] = []
    if path.exists():
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # a line that was cut off is dropped
        found = [json.loads(line) for line in lines]
        if found and found[0] == setting:
            done = found[1 : 1 + len(work)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        elif found:
            sys.exit(f"{path} holds results of another setting; move it or choose another --out")
    if not done:
        path.write_text(json.dumps(setting) + "\n", encoding="utf-8")
    begun, first = time.perf_counter(), len(done)
    for space, label in work[first:]:
        done.append(ask(space, label))
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done[-1]) + "\n")
        pace = (time.perf_counter() - begun) / (len(done) - first)
        print(f"{len(done)} of {len(work)} texts, {pace:.2f} s a text", file=sys.stderr, flush=True)
    return done


def mean(values: list[float]) -> dict[str, Any]:
    array = np.array(values, float)
    low, high = interval(array)
    return {"mean": float(array.mean()) if len(array) else None, "low": low, "high": high, "n": len(array)}


def summed(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over texts."""
    pairs: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        for own in record["agreement"]:
            pairs.setdefault(f"{own['first']} / {own['second']}", []).append(own)
    agreed = {}
    for name, all_ in pairs.items():
        known = [own for own in all_ if own["spearman"] is not None]
        agreed[name] = {key: mean([own[key] for own in known]) for key in ("spearman", "kendall")}
        agreed[name] |= {f"top{k}": mean([own["overlap"][k] for own in known]) for k in ("1", "3")}
    methods = dict.fromkeys(name for record in records for name in record["seconds"])
    seconds = {name: mean([record["seconds"][name] for record in records]) for name in methods}
    left_out = {name: sum(name in record["left_out"] for record in records) for name in methods}
    return {
        "agreement": agreed,
        "curves": averaged([record["curves"] for record in records]),
        "open_curves": averaged([record["open_curves"] for record in records if record["open"]]),
        "seconds": seconds,
        "left_out": left_out,
        "words": mean([record["words"] for record in records]),
    }


def averaged(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Means of the curves of each order over the texts that have it."""
    curves: dict[str, Any] = {}
    for name in dict.fromkeys(name for record in records for name in record):
        having = [record for record in records if name in record]
        own = [record[name] for record in having]
        curves[name] = {key: mean([curve[key] for curve in own]) for key in ("deleted", "masked")}
        curves[name] |= {f"drop{k}": mean([curve["drops"][str(k)] for curve in own]) for k in FIRST}
        better = [record[name]["deleted"] < record["random"]["deleted"] for record in having]
        curves[name] |= {"better": mean(better), "curve": np.mean([curve["curve"] for curve in own], axis=0).tolist()}
    return curves


def shown(own: dict[str, Any], digits: int = 3) -> str:
    if own["mean"] is None:
        return "-"
    return f"{own['mean']:.{digits}f} [{own['low']:.{digits}f}, {own['high']:.{digits}f}]"


def tables(summary: dict[str, Any]) -> list[str]:
    lines = ["| methods | texts | Spearman | Kendall | same first word | overlap of 3 |", "|---|---|---|---|---|---|"]
    for name, own in summary["agreement"].items():
        cells = [shown(own[key], 2) for key in ("spearman", "kendall", "top1", "top3")]
        lines.append(f"| {name} | {own['spearman']['n']} | " + " | ".join(cells) + " |")
    head = "texts | area deleted | area masked | drop 1 | drop 3 | drop 5 | better than random | s a text |"
    for key, title in (("curves", "order"), ("open_curves", "order, open words first")):
        lines += ["", f"| {title} | {head}", "|---|---|---|---|---|---|---|---|---|"]
        lines += [curve_row(name, own, summary["seconds"].get(name)) for name, own in summary[key].items()]
    left = {name: count for name, count in summary["left_out"].items() if count}
    return [*lines, *(["", f"left out: {left}"] if left else [])]


def curve_row(name: str, own: dict[str, Any], seconds: dict[str, Any] | None) -> str:
    cells = [shown(own[key]) for key in ("deleted", "masked", *(f"drop{k}" for k in FIRST))]
    cells.append("-" if name == "random" else f"{own['better']['mean']:.0%}")
    cells.append("-" if seconds is None else f"{seconds['mean']:.3f}")
    return f"| {name} | {own['deleted']['n']} | " + " | ".join(cells) + " |"


def plot(summary: dict[str, Any], title: str, out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    styles = {
        "radius": ("#1f6fb2", "-"), "swaps": ("#c65102", "-"), "lime": ("#5e3c99", "-"),
        "unsigned lime": ("#5e3c99", ":"), "deletion": ("#0b7a4b", "--"),
        "gradient": ("#777777", "--"), "random": ("#000000", ":"),
    }  # fmt: skip
    figure, axis = pyplot.subplots(figsize=(6.8, 3.6))
    for name, own in summary["curves"].items():
        color, style = styles.get(name, ("#333333", "-"))
        axis.plot(100 * GRID, own["curve"], color=color, linestyle=style, label=name)
    axis.set_xlabel("words deleted, the most salient first (%)")
    axis.set_ylabel("mean score of the label")
    axis.set_title(title, fontsize=10)
    axis.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--methods", default="radius,swaps,lime,deletion,gradient")
    parser.add_argument("--candidates", default="default")
    parser.add_argument("--norm", default="2")
    parser.add_argument("--lime-samples", type=int, default=1000)
    parser.add_argument("--time-limit", type=float, help="seconds a text for safe radii")
    parser.add_argument("--orders", type=int, default=10, help="random orders a text")
    parser.add_argument("--max-words", type=int, help="leave out longer texts")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    victim = lp.load(str(options.model))
    explainer = Explainer(
        methods=tuple(options.methods.split(",")), norm=float(options.norm), seed=options.seed,
        lime_samples=options.lime_samples, time_limit=options.time_limit,
    )  # fmt: skip
    candidates = from_spec(options.candidates)
    drawn = draw(victim, options.data, options.texts if options.max_words is None else 1_000_000, options.seed)
    fitting = [(lp.Text.parse(text), label) for text, label in drawn]
    if options.max_words is not None:
        fitting = [(text, label) for text, label in fitting if len(text) <= options.max_words]
    work = [(lp.Space.around(text, candidates), label) for text, label in fitting[: options.texts]]
    setting = {
        "model": victim.fingerprint, "data": options.data, "methods": options.methods, "norm": options.norm,
        "candidates": options.candidates, "lime_samples": options.lime_samples, "time_limit": options.time_limit,
        "orders": options.orders, "max_words": options.max_words, "seed": options.seed,
    }  # fmt: skip
    stem = f"{options.model.name}-{options.data}.explanations"
    records = measure(
        options.out / f"{stem}.jsonl", setting, work,
        lambda space, label: one(victim, explainer, space, label, options.orders),
    )  # fmt: skip
    summary = summed(records)
    (options.out / f"{stem}.json").write_text(json.dumps({"setting": setting, **summary}, indent=1) + "\n")
    plot(summary, f"{options.model.name} on {options.data}, {len(records)} texts", options.out / f"{stem}.svg")
    print(f"{options.model.name} on {options.data}: {len(records)} texts of {summary['words']['mean']:.1f} words")
    print("\n".join(tables(summary)))


if __name__ == "__main__":
    main()
