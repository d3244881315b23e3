"""How texts resist random swaps: figure 5 of Yang et al. 2022, beside what an attack breaks, and what counting costs.

    python benchmarks/shares.py MODEL... --data mr --texts 500 --out results [--candidates wordnet?k=5]
        [--max-share 0.25] [--interval anytime] [--half-width 0.025] [--confidence 0.995] [--attack best]
        [--threads 1] [--seed 0]

Texts are drawn by the seed from those of the test split that a model classifies correctly.  For each text, PR is the
share of its space that keeps the label, counted completely or sampled until its interval is as narrow as asked; the
attack searches the same spaces.  Answers are written to OUT/MODEL-DATA.shares.json after every block of texts and found
there by the next run, so that a long measurement can be done in parts.  OUT/DATA.shares.svg shows a violin a model.
Columns:

    PR > 0.9  texts with that PR, with a 95 % Clopper-Pearson interval
    settled   texts whose own interval of PR lies on one side of 0.9
    broken    texts that the attack breaks, with a 95 % Clopper-Pearson interval
    median PR over the texts
    exact     texts whose space was counted completely
    samples   mean and median over the other texts; a fixed number by Hoeffding is named above the table
    PR high   mean samples over those of them with PR >= 0.95, and how many these are
    ms        time a text for counting, the engine driving a block of texts at once
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lexproof as lp
from lexproof.asking import Item, answer_all
from lexproof.auditing.summary import THRESHOLD, Shares, share_of
from lexproof.candidates import from_spec
from lexproof.counting import Count
from lexproof.questions import Find
from lexproof.report import Group, write_violins
from lexproof.statistics.intervals import hoeffding_samples
from lexproof.victims.base import Victim

sys.path.insert(0, str(Path(__file__).parent))
from upper_bounds import draw

_HIGH = 0.95


def counted(victim: Victim, items: list[Item], setting: dict[str, Any]) -> list[dict[str, Any]]:
    """Share, interval and samples of each text, and whether the attack breaks it."""
    names = ("interval", "half_width", "confidence", "seed")
    question = Count(**{name: setting[name] for name in names})
    found: dict[int, dict[str, Any]] = {}
    begun = time.perf_counter()
    for done in answer_all(question, victim, items):
        if not isinstance(done.answer, lp.Share):
            raise SystemExit(f"text {done.item.key} could not be counted: {done.error or done.answer}")
        share = done.answer
        kept = ("value", "low", "high", "method", "n", "queries")
        found[done.item.key] = {"label": done.goal.label, **{name: getattr(share, name) for name in kept}}
    seconds = (time.perf_counter() - begun) / len(items)
    for done in answer_all(Find(attack=setting["attack"], seed=setting["seed"]), victim, items):
        broken = isinstance(done.answer, lp.Broken)
        found[done.item.key] |= {"swaps": done.answer.swaps if broken else None, "seconds": seconds}
    return [found[key] for key in sorted(found)]


def counted_all(
    path: Path, setting: dict[str, Any], victim: Victim, items: list[Item], size: int
) -> list[dict[str, Any]]:
    """All texts, block by block; what an earlier run of the same setting has written is not done again."""
    texts: list[dict[str, Any]] = []
    if path.exists() and json.loads(path.read_text())["setting"] == setting:
        texts = json.loads(path.read_text())["texts"]
    while len(texts) < len(items):
        texts += counted(victim, items[len(texts) : len(texts) + size], setting)
        path.write_text(json.dumps({"setting": setting, "texts": texts}))
        print(f"{path.name}: {len(texts)} texts", flush=True)
    return texts[: len(items)]


def spread(texts: list[dict[str, Any]]) -> Shares:
    shares = Shares()
    for text in texts:
        shares.add(text["label"], text)
    return shares


def stated(share: dict[str, Any]) -> str:
    return f"{share['k']} ({share['value']:.1%}, {share['low']:.1%} to {share['high']:.1%})"


def row(name: str, texts: list[dict[str, Any]]) -> str:
    shares = spread(texts)
    sampled = [text for text in texts if text["method"] != "exact"]
    samples = [text["n"] for text in sampled]
    high = [text["n"] for text in sampled if 1 - text["value"] >= _HIGH]
    cells = [
        f"{len(texts)}",
        stated(shares.above()),
        f"{shares.settled}",
        stated(share_of(sum(text["swaps"] is not None for text in texts), len(texts))),
        f"{np.median([1 - text['value'] for text in texts]):.4f}",
        f"{shares.exact}",
        f"{np.mean(samples):.0f} / {np.median(samples):.0f}" if samples else "–",
        f"{np.mean(high):.0f} ({len(high)})" if high else "–",
        f"{1000 * np.mean([text['seconds'] for text in texts]):.1f}",
    ]
    return f"| {name} | " + " | ".join(cells) + " |"


def measured(model: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The texts of one model."""
    victim, candidates = lp.load(model), from_spec(options.candidates)
    drawn = draw(victim, options.data, options.texts, options.seed)
    if not drawn:
        raise SystemExit(f"expected texts that {model} classifies correctly, got none in {options.data}")
    spaces = [lp.Space.around(text, candidates, max_share=options.max_share) for text, _ in drawn]
    items = [Item(key, space, label) for key, (space, (_, label)) in enumerate(zip(spaces, drawn, strict=True))]
    names = ("data", "candidates", "max_share", "interval", "half_width", "confidence", "attack", "seed")
    setting = {"model": victim.fingerprint, **{key: getattr(options, key) for key in names}}
    path = options.out / f"{Path(model).name}-{options.data}.shares.json"
    return counted_all(path, setting, victim, items, options.block)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", required=True)
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--candidates", default="wordnet?k=5")
    parser.add_argument("--max-share", type=float, default=0.25)
    parser.add_argument("--interval", default="anytime", help="or clopper-pearson, hoeffding")
    parser.add_argument("--half-width", type=float, default=0.025)
    parser.add_argument("--confidence", type=float, default=0.995)
    parser.add_argument("--attack", default="best")
    parser.add_argument("--block", type=int, default=50, help="texts counted at once, and written together")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    results = {Path(model).name: measured(model, options) for model in options.models}
    groups = [
        Group(name=name, values=[1 - text["value"] for text in texts], above=spread(texts).above())
        for name, texts in results.items()
    ]
    title = f"{options.data}: PR at {options.max_share:.0%} of the words"
    plot = write_violins(options.out / f"{options.data}.shares.svg", groups, title)
    fixed = hoeffding_samples(options.half_width, options.confidence)
    print(f"{title}, {options.candidates}; Hoeffding would draw {fixed:,} samples a text; plot: {plot}")
    print(f"| model | texts | PR > {THRESHOLD:g} | settled | broken | median PR | exact | samples | PR high | ms |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    print("\n".join(row(name, texts) for name, texts in results.items()))


if __name__ == "__main__":
    main()
