"""Certified balls against gradient descent: no point of a ball that is certified may change the class.

    python benchmarks/radius_soundness.py --cases 10000 [--seed 0] [--kinds mlp,cnn] [--out FILE]

A case is a random network, text, index set of 1 to 5 words, norm and radius.  Networks are small and of every kind,
with 2 to 4 classes, small and large weights, some of them with units that are constant or dead and dimensions in which
all words agree.  Texts have repeated and unknown words (ties), words of several tokens, and words past what the network
reads.  The radius is the one that the search certifies, or one around it (0.3 to 1.5 times) if the bound certifies that
one, too, or, for one of four, a far smaller one, at which bounds come close to the truth even of networks for which the
certified radius does not; where all of the box is certified, it is all of the box.

Each certified ball is attacked by 200 steps of projected gradient descent from each of 4 starts (`ball_descent`), which
shares nothing with the bounds but the graph whose gradients it follows.  A case is wrong if the bound, asked again,
does not certify what the search did, or if at any of the last or best points
- the victim's own network, in its own precision, predicts another class for these vectors;
- the graph's margin is below the bound of it; or the graph is not the victim's network in float64;
- a value inside the graph lies outside its box.
Then descent is let loose beyond the radius: the nearest point found that does change the class says how close the
certificates come to it ("closest": distance over certified radius, at least 1 if all is well).

Batch number b of a kind depends on `--seed` and b only.  With `--out` each batch is written as a line of JSON when it
is finished, and a run is continued where it stopped.  One thread.  Exit status 1 if a case was wrong.
"""

import argparse
import copy
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from ball_descent import Ball, descend, margins_of, nearest_flip
from torch import Tensor

from lexproof.bounds.ball_network import BallNetwork
from lexproof.safe_radius.lower import certified_radii, margin_bound, region_of
from lexproof.text import Text
from lexproof.victims.balls import Item, Opened, opened
from lexproof.victims.base import Victim

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from small_victims import SHAPES, WORDS, transformer_victim, word_victim

Row = dict[str, Any]

KINDS = [*SHAPES, "transformer"]
SLOW = {"cnn-deep", "lstm", "bilstm", "transformer"}  # half as many batches
TEXTS = 16  # a batch: texts of one length, one index set, one norm
BATCHES_A_VICTIM = 4
STEPS, STARTS, FAR_STEPS = 200, 4, 50
ROUNDING = 1e-8  # of values in float64
NORMS = (1.0, 2.0, math.inf)


# ---------------------------------------------------------------------- random cases


@lru_cache(maxsize=4)
def random_victim(kind: str, seed: int) -> Victim:
    """A small network; some have constant units, dead ones, or a dimension in which all words agree."""
    rng = np.random.default_rng([seed, 1])
    classes, scale = int(rng.integers(2, 5)), float(rng.choice([0.3, 0.5, 0.7, 1.0, 2.0, 5.0]))
    if kind == "transformer":
        with tempfile.TemporaryDirectory() as folder:
            victim = transformer_victim(Path(folder), seed, classes=classes, layers=1 + int(rng.random() < 0.25))
        network = victim.model
    else:
        victim = word_victim(kind, seed, classes=classes, scale=scale, dim=int(rng.integers(1, 5)))
        network = victim.net
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if weight.ndim > 1 and "embedding" not in name and rng.random() < 0.2:
                weight[int(rng.integers(len(weight)))] = 0.0  # a constant unit, or a dead one
            if ("word_embeddings" in name or name == "embedding.weight") and rng.random() < 0.3:
                weight[1:, int(rng.integers(weight.shape[1]))] = 0.25  # padding stays 0
    return victim


def random_text(rng: np.random.Generator, length: int) -> Text:
    """Words with repetitions, unknown ones, and now and then one of two tokens."""
    words = [str(word) for word in rng.choice([*WORDS, "never", WORDS[0], WORDS[0]], size=length)]
    if rng.random() < 0.2:
        words[int(rng.integers(length))] = "w0 w1"
    return Text.from_words(words)


def random_items(rng: np.random.Generator) -> list[Item]:
    length = int(rng.integers(1, 11))  # word models read 7 tokens
    count = min(length, 1 if rng.random() < 0.5 else int(rng.integers(1, 6)))
    words = tuple(sorted(rng.choice(length, size=count, replace=False).tolist()))
    return [Item(random_text(rng, length), words) for _ in range(TEXTS)]


# ---------------------------------------------------------------------- the victim itself


def own_logits(victim: Victim, found: Opened, numbers: list[int], points: Tensor, *, wide: bool) -> Tensor:
    """The victim's own network on the vectors that points (B, K, d) of these items stand for; or it in float64."""
    tokens = [found.tokens[number] for number in numbers]
    network = victim.model if victim.kind == "transformer" else victim.net
    network = copy.deepcopy(network).double() if wide else network
    table = network.get_input_embeddings().weight if victim.kind == "transformer" else network.embedding.weight
    vectors = table[torch.from_numpy(np.stack([own.ids for own in tokens]))].clone()
    places = torch.from_numpy(np.stack([own.places for own in tokens]))
    raw = found.scale.raw(points).to(vectors.dtype)
    vectors = vectors.scatter(1, places[:, :, None].expand_as(raw), raw)
    with torch.no_grad():
        if victim.kind == "transformer":
            types = torch.from_numpy(np.stack([own.types for own in tokens]))
            return network(inputs_embeds=vectors, token_type_ids=types).logits.double()
        return network.logits(vectors, torch.full((len(vectors),), vectors.shape[1])).double()


# ---------------------------------------------------------------------- a batch


def ask(kind: str, seed: int, number: int) -> Row:
    """What is certified for one batch of cases, and what descent makes of it."""
    victim = random_victim(kind, 1_000_003 * seed + number // BATCHES_A_VICTIM)
    rng = np.random.default_rng([seed, number, KINDS.index(kind)])
    items, norm = random_items(rng), NORMS[number % 3]
    found = opened(victim, items)
    read = {item for group in found.groups for item in group.items}
    row: Row = {"kind": kind, "number": number, "norm": str(norm), "words": len(items[0].words), "cases": len(items)}
    row |= {"certified": 0, "whole": 0, "unread": len(items) - len(read), "wrong": [], "closest": None}
    for group in found.groups:
        for length in sorted({len(found.tokens[item].ids) for item in group.items}):
            own = [at for at, item in enumerate(group.items) if len(found.tokens[item].ids) == length]
            _judge(row, victim, found, group.network, own, [group.items[at] for at in own], norm, rng)
    return row


def _judge(
    row: Row, victim: Victim, found: Opened, network: BallNetwork, own: list[int], numbers: list[int], norm: float,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Certify and attack some rows of a network, which are these items."""
    theta = 2.0 * victim.rounding
    labels = network.graph(torch.arange(len(network.center))).value(network.center).argmax(1)
    radii = certified_radii(network, labels, norm, theta=theta)[own]
    rows, labels = torch.tensor(own), labels[own]
    far = region_of(network, rows, torch.zeros(len(rows), dtype=torch.float64), norm).farthest()
    whole, is_proven = radii == math.inf, radii > 0
    radius = torch.where(whole, far, torch.where(is_proven, torch.from_numpy(_factors(rng, len(own))) * radii, far))
    beyond = is_proven & ~whole & ~(margin_bound(network, rows, radius, labels, norm) > theta)
    radius = torch.where(beyond, radii, radius)  # too far: the certified radius itself
    bound = margin_bound(network, rows, radius, labels, norm)
    holds = bound > theta
    unproven = is_proven & ~holds
    row["wrong"] += [f"text {numbers[at]}: its radius is not proven again" for at in unproven.nonzero()[:, 0].tolist()]
    row["certified"] += int(holds.sum())
    row["whole"] += int((whole & holds).sum())
    if not bool(holds.any()):
        return
    asked = Asked(rows[holds], labels[holds], radius[holds], bound[holds], norm)
    numbers = [number for number, is_held in zip(numbers, holds.tolist(), strict=True) if is_held]
    _attack(row, victim, found, network, asked, numbers, int(rng.integers(1 << 30)))


def _factors(rng: np.random.Generator, count: int) -> np.ndarray:
    """Of the certified radius: half of them 1, some around it, some far smaller."""
    kind = rng.random(count)
    around, small = rng.uniform(0.3, 1.5, count), 10 ** rng.uniform(-3, -0.5, count)
    return np.where(kind < 0.5, 1.0, np.where(kind < 0.75, around, small))


class Asked(NamedTuple):
    """Certified balls: rows of a network, and the bounds of their margins."""

    rows: Tensor
    labels: Tensor
    radius: Tensor
    bound: Tensor
    norm: float


def _attack(
    row: Row, victim: Victim, found: Opened, network: BallNetwork, asked: Asked, numbers: list[int], seed: int
) -> None:
    """Descent in the balls, then beyond them; what contradicts the certificates goes into the row."""
    many, labels, radius, bound = (part.repeat_interleave(STARTS) for part in asked[:4])
    ball = Ball(network, many, radius, asked.norm)
    rivals = torch.randint(victim.classes, (len(many),), generator=torch.Generator().manual_seed(seed))
    rivals = torch.where((torch.arange(len(many)) % STARTS < 2) | (rivals == labels), -1, rivals)
    repeated = [number for number in numbers for _ in range(STARTS)]
    boxes = network.relaxation(ball.graph, region_of(network, many, radius, asked.norm)).boxes
    for point in descend(ball, labels, rivals, STEPS, seed):
        assert bool((ball.distance(point) <= ball.radius[:, 0, 0] * (1 + 1e-9)).all()), "the attack left the ball"
        values = ball.graph.values(point)
        margin, size = margins_of(values[-1], labels), 1 + values[-1].abs().amax(1)
        wide = own_logits(victim, found, repeated, point, wide=True)
        own = margins_of(own_logits(victim, found, repeated, point, wide=False), labels)
        inside = [_is_inside(value, *box) for value, box in zip(values, boxes, strict=True)]
        _note(row, numbers, own <= 0, "the victim predicts another class inside a certified ball")
        _note(row, numbers, margin <= bound - ROUNDING * size, "the margin is below its bound")
        _note(row, numbers, (wide - values[-1]).abs().amax(1) > 1e-6 * size, "the graph is not the victim")
        _note(row, numbers, ~torch.stack(inside).all(0), "a value is outside its box")
    nearest = nearest_flip(network, asked.rows, asked.labels, asked.radius, asked.norm, steps=FAR_STEPS, seed=seed)
    ratio = float((nearest / asked.radius.clamp(min=1e-300)).min())
    if ratio < math.inf:
        row["closest"] = ratio if row["closest"] is None else min(row["closest"], ratio)
    is_nearer = nearest < asked.radius * (1 - 1e-9)
    _note(row, numbers, is_nearer.repeat_interleave(STARTS), "a nearer point changes the class")


def _is_inside(value: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Which rows lie in their boxes."""
    slack = ROUNDING * (1 + value.abs())
    return ((value >= low - slack) & (value <= high + slack)).flatten(1).all(1)


def _note(row: Row, numbers: list[int], wrong: Tensor, what: str) -> None:
    for at in sorted({int(k) // STARTS for k in wrong.nonzero()[:, 0]}):
        row["wrong"].append(f"text {numbers[at]}: {what}")


# ---------------------------------------------------------------------- the run


def batches(args: argparse.Namespace, kept: list[Row]) -> Iterator[Row]:
    """Batches of all kinds in turn, until enough cases are certified."""
    kinds = args.kinds.split(",") if args.kinds else KINDS
    done, certified = {(row["kind"], row["number"]) for row in kept}, sum(row["certified"] for row in kept)
    begun, number = time.perf_counter(), 0
    while certified < args.cases:
        for kind in kinds:
            at = number // 2 if kind in SLOW else number
            if (kind in SLOW and number % 2) or (kind, at) in done or certified >= args.cases:
                continue
            row = ask(kind, args.seed, at)
            certified += row["certified"]
            yield row
            seconds = time.perf_counter() - begun
            print(f"\r{certified}/{args.cases} certified, {seconds:.0f} s, {kind} {at}  ", end="", file=sys.stderr)
        number += 1
    print(file=sys.stderr)


def table(rows: list[Row]) -> None:
    print("| network | cases | words never read | certified and attacked | all of the box | closest flip | wrong |")
    print("|---" * 7 + "|")
    for kind in [*dict.fromkeys(row["kind"] for row in rows), *("norm " + str(norm) for norm in NORMS), "total"]:
        own = [row for row in rows if kind in (row["kind"], f"norm {row['norm']}", "total")]
        cells = [sum(row[key] for row in own) for key in ("cases", "unread", "certified", "whole")]
        closest = min((row["closest"] for row in own if row["closest"] is not None), default=math.nan)
        wrong = sum(len(row["wrong"]) for row in own)
        print(f"| {kind} | " + " | ".join(map(str, cells)) + f" | {closest:.4f} | {wrong} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[Row] = []
    if args.out is not None and args.out.exists():
        rows = [json.loads(line) for line in args.out.read_text().splitlines()]
    try:
        for row in batches(args, list(rows)):
            rows.append(row)
            if args.out is not None:
                with args.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    except KeyboardInterrupt:
        print(file=sys.stderr)
    table(rows)
    wrong = [f"{row['kind']} {row['number']}: {text}" for row in rows for text in row["wrong"]]
    print("\n".join(f"WRONG: {text}" for text in wrong) + f"\ncontradictions: {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
