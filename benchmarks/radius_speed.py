"""Certified radii of every word of a text: the batched search beside a straightforward bound of one word at a time.

    python benchmarks/radius_speed.py --kind cnn-flatten cnn-max --norm 2 inf --words 3
    python benchmarks/radius_speed.py --model models/sst2-cnn-trained50 --data sst2 --texts 2
    python benchmarks/radius_speed.py --kind lstm --norm 2 --words 1

Without --model the weights are random (torch's defaults) and word vectors uniform in [0, 1]: the network of the MSR
paper, 3 layers of 150 filters of width 3 over 25 words of 50 dimensions, flattened or with global max-pool; `lstm` has
256 units, 14 words of 50 dimensions, 7 classes.

The reference is a backward linear bound (CROWN) as one would write it down: the graph of the whole text, one word
open, boxes of all unsettled units by the same backward bound, 12 steps of bisection between 0 and the farthest corner.
It is run on --words words, spread over the text, and its seconds are scaled to all of them; for `lstm` it is a single
bound, made for our radius and taken 12 times.  Radii are those of the words on which both were run; "worst" is the
least ratio of ours to the reference's.  The search stops within --tolerance of a radius that the bound does not prove.
Seconds are those of the processor, one thread, so that other work on the machine counts little; with --threads 2 or
more they are wall time.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

import lexproof as lp
from lexproof.bounds.backward import linear_relaxation
from lexproof.bounds.ball import BallRegion
from lexproof.bounds.graph import Box, Graph, LinearOp, Pulled, inner
from lexproof.bounds.linear_ops import Affine, Conv, Flatten
from lexproof.bounds.maxpool import MaxPool
from lexproof.bounds.relu import Relu
from lexproof.data import read
from lexproof.safe_radius.lower import certified_radii, margin_forms
from lexproof.text import Text
from lexproof.victims.ball_cnn import cnn_balls
from lexproof.victims.ball_lstm import lstm_balls
from lexproof.victims.cnn import Cnn, CnnNet, CnnSettings
from lexproof.victims.lstm import Lstm, LstmNet, LstmSettings
from lexproof.victims.lstm_graph import lstm_graph
from lexproof.victims.open_tokens import OpenTokens, word_model_tokens
from lexproof.victims.scale import Scale
from lexproof.victims.vocabulary import Vocabulary
from lexproof.victims.word_net import WordNet

STEPS = 12
WORDS = 1000


def seconds() -> float:
    """Of the processor, or wall time where several threads share the work."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


class Case(NamedTuple):
    """A network and the words of a text, one open token each."""

    name: str
    net: WordNet
    tokens: list[OpenTokens]
    theta: float


@dataclass(frozen=True, eq=False)
class Placed(LinearOp):
    """One word's scaled vector at its place in a text: (N, 1, d) to (N, L, F), W x there, the text elsewhere."""

    name: ClassVar[str] = "text around a word"
    weight: Tensor  # (F, d)
    text: Tensor  # (L, F), what 0 gives at the place
    at: int

    def value(self, *inputs: Tensor) -> Tensor:
        text = self.text.expand(len(inputs[0]), -1, -1).clone()
        text[:, self.at] += inputs[0][:, 0] @ self.weight.T
        return text

    def interval(self, *boxes: Box) -> Box:
        center, spread = (boxes[0].low + boxes[0].high) / 2, (boxes[0].high - boxes[0].low) / 2
        middle = self.value(center)
        wide = torch.zeros_like(middle)
        wide[:, self.at] = spread[:, 0] @ self.weight.abs().T
        return Box(middle - wide, middle + wide)

    def pull(self, form: Tensor) -> Pulled:
        word = (form[:, :, self.at] @ self.weight)[:, :, None]
        return Pulled((word,), inner(form, self.text.expand(len(form), -1, -1)))


def whole_cnn(net: CnnNet, scale: Scale, tokens: OpenTokens) -> Graph:
    """The graph of a text with one open word, written down layer by layer."""
    vectors, at = net.embedding.weight[torch.from_numpy(tokens.ids)].double(), int(tokens.places[0])
    vectors[at] = scale.low
    graph = Graph()
    value = graph.add(Placed(torch.diag(scale.width), vectors, at), 0)
    for number, conv in enumerate(net.parts[0].stack):
        below = graph.add(Relu(), value) if number else value
        value = graph.add(Conv(conv.weight.double(), conv.bias.double()), below)
    weight, bias = net.last.weight.double(), net.last.bias.double()
    if net.is_flat:
        size = (len(vectors), net.settings.filters)
        seen = weight.view(len(weight), -1, net.settings.filters)[:, : len(vectors)].flatten(1)
        graph.add(Affine(seen, bias), graph.add(Flatten(size), graph.add(Relu(), value)))
    else:
        graph.add(Affine(weight, bias), graph.add(MaxPool(rectified=True), value))
    return graph


def whole_lstm(net: LstmNet, scale: Scale, tokens: OpenTokens) -> Graph:
    """All steps of a text with one open word, those before it too."""
    vectors, at = net.embedding.weight[torch.from_numpy(tokens.ids)].double(), int(tokens.places[0])
    steps, features = lstm_graph(net, vectors[None], 0, len(vectors) - 1)
    sent = features(vectors)
    sent[at] = features(scale.low)
    graph = Graph()
    graph.add(Placed(net.lstm.weight_ih_l0.double() * scale.width, sent, at), 0)
    for node in steps.nodes:
        graph.add(node.op, *(k + 1 for k in node.inputs))
    return graph


def one_word(net: WordNet, scale: Scale, tokens: OpenTokens, norm: float) -> tuple[Graph, BallRegion]:
    """The graph of a word, and its ball of radius 0."""
    graph = (whole_cnn if isinstance(net, CnnNet) else whole_lstm)(net, scale, tokens)  # type: ignore[arg-type]
    center = scale.scaled(net.embedding.weight[torch.from_numpy(tokens.ids[tokens.places])])[None]
    top = scale.top.expand_as(center)
    return graph, BallRegion(center, torch.zeros(1, dtype=torch.float64), norm, torch.zeros_like(center), top)


def margin_of(graph: Graph, ball: BallRegion, radius: float, label: Tensor) -> float:
    """The least margin that the reference proves in a ball of this radius."""
    region = BallRegion(ball.center, torch.full_like(ball.radius, radius), ball.norm, ball.low, ball.high)
    relaxation = linear_relaxation(graph, region)
    return float(relaxation.lower(graph.last, margin_forms(label, relaxation.boxes[-1].low.shape[1])).min())


def bisected(graph: Graph, ball: BallRegion, label: Tensor, theta: float) -> float:
    """The radius that bisection certifies."""
    low, high = 0.0, float(ball.farthest())
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if margin_of(graph, ball, middle, label) > theta else (low, middle)
    return low


def ours(case: Case, scale: Scale, norm: float, tolerance: float) -> tuple[Tensor, float]:
    """The radius of every word, and the seconds for all of them, building the networks included."""
    balls: Callable[..., list] = cnn_balls if isinstance(case.net, CnnNet) else lstm_balls
    start = seconds()
    radii = torch.zeros(len(case.tokens), dtype=torch.float64)
    for rows, network in balls(case.net, scale, case.tokens):
        labels = network.graph(torch.arange(len(rows))).value(network.center).argmax(1)
        radii[rows] = certified_radii(network, labels, norm, theta=case.theta, tolerance=tolerance)
    return radii, seconds() - start


def reference(case: Case, scale: Scale, norm: float, chosen: list[int], radii: Tensor) -> tuple[list[float], float]:
    """The radii of the chosen words, not a number for an LSTM, and the seconds for all words of the text."""
    found, total = [], 0.0
    for word in chosen:
        graph, ball = one_word(case.net, scale, case.tokens[word], norm)
        label = graph.value(ball.center).argmax(1)
        start = seconds()
        if isinstance(case.net, CnnNet):
            found.append(bisected(graph, ball, label, case.theta))
            total += seconds() - start
        else:
            margin = margin_of(graph, ball, float(radii[word]), label)
            total += STEPS * (seconds() - start)
            print(f"  word {word}: at our radius {radii[word]:.4f} the reference proves a margin of {margin:.5f}")
            found.append(math.nan)
    return found, total / len(chosen) * len(case.tokens)


def random_case(kind: str, seed: int) -> Case:
    length, classes = (14, 7) if kind == "lstm" else (25, 2)
    vocabulary, labels = Vocabulary([f"w{k}" for k in range(WORDS)]), [f"class {k}" for k in range(classes)]
    if kind == "lstm":
        net = Lstm(vocabulary, labels, settings=LstmSettings(dim=50, max_length=length, units=256), seed=seed).net
    else:
        pooling = "flatten" if kind == "cnn-flatten" else "max"
        shape = CnnSettings(dim=50, max_length=length, filters=150, widths=(3,), layers=3, pooling=pooling)
        net = Cnn(vocabulary, labels, settings=shape, seed=seed).net
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        net.embedding.weight[1:] = torch.rand(net.embedding.weight[1:].shape, generator=generator)
    ids = np.random.default_rng(seed).integers(2, WORDS, length)
    tokens = [OpenTokens(ids, np.array([at]), np.zeros(length, np.int64)) for at in range(length)]
    return Case(f"{kind}, random weights", net, tokens, 0.0)


def cases(args: argparse.Namespace) -> Iterator[Case]:
    if args.model is None:
        for kind in args.kind:
            yield random_case(kind, args.seed)
        return
    victim = lp.load(args.model)
    for number, text in enumerate(read(args.data, labels=victim.labels, limit=args.texts).texts):
        parsed = text if isinstance(text, Text) else Text.parse(text)
        tokens = [word_model_tokens(victim, parsed, [word]) for word in range(len(parsed))]
        own = [word for word in tokens if len(word.places) == 1]
        yield Case(f"{victim.name}, text {number}, {len(own)} words", victim.net, own, 2 * victim.rounding)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--kind", nargs="+", default=["cnn-flatten", "cnn-max"], choices=["cnn-flatten", "cnn-max", "lstm"]
    )
    parser.add_argument("--norm", nargs="+", type=float, default=[2.0, math.inf])
    parser.add_argument("--words", type=int, default=3, help="words on which the reference is run; 0: none")
    parser.add_argument("--model", help="a trained cnn or lstm, instead of random weights")
    parser.add_argument("--data", default="sst2")
    parser.add_argument("--texts", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=0.01, help="of the search; 0.01: radii to 1 %%")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print("| network | norm | ours s/text | reference s/text | ratio | ours: mean (min) | ours, reference, worst |")
    print("|---|---|---|---|---|---|---|")
    for case in cases(args):
        scale = Scale.of(case.net.embedding.weight[1:])
        for norm in args.norm:
            radii, taken = ours(case, scale, norm, args.tolerance)
            chosen = np.linspace(0, len(case.tokens) - 1, args.words).round().astype(int).tolist()
            theirs, slow = reference(case, scale, norm, chosen, radii) if chosen else ([], math.nan)
            same, other = radii[chosen], torch.tensor(theirs, dtype=torch.float64)
            worst = float((same / other).min()) if chosen else math.nan
            ran = f"{slow:.0f} ({len(chosen)} words, scaled) | {slow / taken:.0f}x"
            sizes = f"{radii.mean():.4f} ({radii.min():.4f}) | {same.mean():.4f}, {other.mean():.4f}, {worst:.3f}"
            print(f"| {case.name} | {norm:g} | {taken:.2f} | {ran} | {sizes} |", flush=True)


if __name__ == "__main__":
    main()
