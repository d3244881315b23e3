"""Random networks as the solvers see them and as the checker does, what is true of them, and damaged proofs."""

import copy
import json
from itertools import combinations, product

import numpy as np

from lexproof.certify.exact.additive import AdditiveNet
from lexproof.certify.exact.cnn_net import WindowedNet
from lexproof.checker.networks import Convolution, Perceptron


def additive_net(rng, positions=8, per_position=3, units=8):
    """Positions with and without candidates; with ties, duplicates and candidates that change nothing."""
    counts = rng.integers(0, per_position + 1, positions)
    position = np.repeat(2 * np.arange(positions), counts)
    is_whole = rng.random() < 0.3
    change = rng.normal(size=(len(position), units))
    z0, weight = rng.normal(size=units), rng.normal(size=(int(rng.integers(1, 4)), units))
    if is_whole:
        change, z0, weight = np.round(change), np.round(z0), np.round(weight)
    if len(position) > 3:
        change[1], change[3] = change[0], 0.0
    head = 1.0 + rng.exponential(4.0, len(weight))
    return AdditiveNet(z0, change, position, weight, head - weight @ np.maximum(z0, 0.0))


def windowed_net(rng, places=7, per_position=3, units=7):
    """Filters of mixed widths; with ties, duplicates and candidates that change nothing."""
    width = int(rng.integers(1, 5))
    position = np.repeat(np.arange(places), rng.integers(0, per_position + 1, places))
    change = rng.normal(size=(len(position), width, units)) * (
        np.arange(width)[:, None] < rng.integers(1, width + 1, units)
    )
    z, weight = rng.normal(size=(places, units)), rng.normal(size=(int(rng.integers(1, 4)), units))
    if rng.random() < 0.3:
        change, z, weight = np.round(change), np.round(z), np.round(weight)
    if len(position) > 3:
        change[1], change[3] = change[0], 0.0
    bias = 0.5 + rng.exponential(2.0, len(weight)) - weight @ np.maximum(z.max(axis=0), 0.0)
    return WindowedNet(z, position, change, width // 2, weight, bias)


def seen(net):
    """The same network for the checker: class 0 is the label, the others are its rivals."""
    weight, bias = np.vstack([0.0 * net.weight[:1], -net.weight]), np.append(0.0, -net.bias)
    if isinstance(net, AdditiveNet):
        return Perceptron(net.z0, net.change, net.position, weight, bias)
    return Convolution(net.z, net.change, net.position, -net.lead, weight, bias)


def rivals(net):
    return list(range(1, len(net.bias) + 1))


def sets(position, most, free=None):
    """Every set of at most so many candidates at different positions."""
    groups = {}
    for c in range(len(position)) if free is None else free:
        groups.setdefault(int(position[c]), []).append(int(c))
    for count in range(min(most, len(groups)) + 1):
        for chosen in combinations(groups.values(), count):
            yield from map(list, product(*chosen))


def least_margins(net, most):
    """The least margin of any rival over all sets of at most 0, 1, … `most` candidates, from the definition."""
    own = seen(net)
    every = list(sets(net.position, most))
    margins = (np.array([own.features(chosen) for chosen in every]) @ net.weight.T + net.bias).min(axis=1)
    sizes = np.array([len(chosen) for chosen in every])
    return [float(margins[sizes <= count].min()) for count in range(most + 1)]


def through_json(proof):
    return json.loads(json.dumps(proof))


def spots(tree, path=()):
    """The path to every value in nested lists and objects."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from spots(value, (*path, key))


def damaged(proof, rng):
    """A copy with one value deleted, replaced, or put in place of another."""
    proof = copy.deepcopy(proof)
    paths = [path for path in spots(proof) if path]
    path = paths[int(rng.integers(len(paths)))]
    holder = proof
    for key in path[:-1]:
        holder = holder[key]
    new = [
        lambda: rng.normal() * 100, lambda: int(rng.integers(0, 9)), lambda: {"points": 2}, lambda: {"empty": True},
        lambda: {"bound": {"shares": {}, "slopes": {}}}, list, lambda: None, lambda: float("nan"), lambda: "7",
    ]  # fmt: skip
    kind = int(rng.integers(len(new) + 2))
    if kind < len(new):
        holder[path[-1]] = new[kind]()
    elif kind == len(new):
        del holder[path[-1]]
    else:
        other = proof
        for key in paths[int(rng.integers(len(paths)))]:
            other = other[key]
        holder[path[-1]] = copy.deepcopy(other)
    return proof
