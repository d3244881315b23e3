"""Random additive networks, plain enumeration over them, and a checker of proofs that shares no code with a solver."""

from itertools import combinations, product

import numpy as np

from lexproof.certify.exact.additive import AdditiveNet


def small_net(rng, positions=6, per_position=3, units=8, rivals=None):
    """Up to so many positions, of which some are empty; with ties, duplicates and candidates that change nothing.

    Half of the networks have small integers for all numbers, so that sums are exact and margins often equal.  The text
    itself is adversarial only now and then.
    """
    counts = rng.integers(0, per_position + 1, rng.integers(0, positions + 1))
    position = rng.permutation(np.repeat(3 * np.arange(len(counts)), counts))
    units = int(rng.integers(1, units + 1))
    rivals = int(rng.integers(1, 5)) if rivals is None else rivals
    is_whole = bool(rng.random() < 0.5)

    def draw(*shape):
        return rng.integers(-2, 3, shape).astype(float) if is_whole else rng.normal(size=shape)

    change = draw(len(position), units) * (rng.random((len(position), 1)) > 0.1)
    if len(position) > 1 and rng.random() < 0.5:
        change[1] = change[0]
    z0, weight = draw(units), draw(rivals, units)
    head = rng.integers(0, 20, rivals) if is_whole else rng.exponential(8.0, rivals)
    return AdditiveNet(z0, change, position, weight, head - weight @ np.maximum(z0, 0.0))


def larger_net(seed, positions=14, units=24, rivals=1, spread=0.4, head=2.0):
    """A network that takes several swaps and some branching."""
    rng = np.random.default_rng(seed)
    position = np.repeat(np.arange(positions), rng.integers(1, 4, positions))
    z0, weight = rng.normal(0, 1, units), rng.normal(0, 0.3, (rivals, units))
    change = rng.normal(0, spread, (len(position), units))
    return AdditiveNet(z0, change, position, weight, head - weight @ np.maximum(z0, 0.0))


def thetas(net):
    """A threshold of its own for each network: often a tie with some point."""
    return float(np.random.default_rng(len(net.position)).choice([0.0, 1.0, -1.0, 1e-3]))


def groups(position, free):
    """The free candidates of each position."""
    found = {}
    for c in free:
        found.setdefault(int(position[c]), []).append(int(c))
    return list(found.values())


def points(net, free, budget):
    """Every set of at most `budget` free candidates at different positions."""
    sets = groups(net.position, free)
    for count in range(min(budget, len(sets)) + 1):
        for chosen in combinations(sets, count):
            yield from product(*chosen)


def enumerated(net, theta):
    """The smallest number of swaps with some margin <= theta, or None."""
    for swaps in points(net, range(len(net.position)), len(net.position)):
        hidden = net.z0 + sum((net.change[c] for c in swaps), np.zeros(len(net.z0)))
        if min(net.weight @ np.maximum(hidden, 0.0) + net.bias) <= theta:
            return len(swaps)
    return None


def expected(net, theta):
    """The two ends of the exact bracket."""
    least = enumerated(net, theta)
    return (len(set(net.position.tolist())) + 1, None) if least is None else (least, least)


def is_proven(net, theta, proof, radius):
    """Whether a proof holds, by the description in `record`."""
    rivals = proof["rivals"]
    everything = list(range(len(net.position)))
    return len(rivals) == len(net.bias) and all(
        part["swaps"] >= radius and _holds(net, row, theta, part["tree"], (net.z0, everything, part["swaps"], {}))
        for row, part in enumerate(rivals)
    )


def _holds(net, row, theta, node, region):
    hidden, free, budget, phases = region
    if "points" in node:
        return all(_margin(net, row, hidden, swaps) > theta for swaps in points(net, free, budget))
    if "empty" in node:
        low, high = _ranges(net, region)
        return any(high[h] < 0 if sign > 0 else low[h] > 0 for h, sign in phases.items())
    if "bound" in node:
        return _holds_bound(net, row, theta, node, region)
    if "phase" in node:
        unit = node["phase"]
        signs = [("off", -1), ("on", 1)]
        return unit not in phases and all(
            _holds(net, row, theta, node[name], (hidden, free, budget, {**phases, unit: sign})) for name, sign in signs
        )
    at = [c for c in free if net.position[c] == node["position"]]
    rest = [c for c in free if net.position[c] != node["position"]]
    return sorted(c for c, _ in node["words"]) == at and all(
        _holds(net, row, theta, child, part)
        for child, part in [
            (node["stays"], (hidden, rest, budget, phases)),
            *((child, (hidden + net.change[c], rest, budget - 1, phases)) for c, child in node["words"]),
        ]
    )


def _holds_bound(net, row, theta, node, region):
    hidden, free, budget, phases = region
    base, gains = _bound(net, row, node["bound"], region)
    dropped = node.get("drop")
    if dropped is None:
        return base - _most(net, free, [-g for g in gains], budget) > theta - 1e-9
    for c in dropped:
        others = [d for d in free if net.position[d] != net.position[c]]
        rest = -_most(net, others, [-gains[free.index(d)] for d in others], budget - 1)
        if base + gains[free.index(c)] + rest <= theta - 1e-9:
            return False
    left = [c for c in free if c not in dropped]
    return _holds(net, row, theta, node["then"], (hidden, left, budget, phases))


def _margin(net, row, hidden, swaps):
    after = hidden + sum((net.change[c] for c in swaps), np.zeros(len(hidden)))
    return net.weight[row] @ np.maximum(after, 0.0) + net.bias[row]


def _most(net, free, values, budget):
    """The greatest sum of values of at most `budget` candidates at different positions."""
    best = {}
    for c, value in zip(free, values, strict=True):
        best[int(net.position[c])] = max(value, best.get(int(net.position[c]), 0.0))
    return sum(sorted(best.values(), reverse=True)[:budget])


def _ranges(net, region):
    hidden, free, budget, _ = region
    changes = [net.change[free, h] for h in range(len(hidden))]
    low = [z - _most(net, free, -d, budget) for z, d in zip(hidden, changes, strict=True)]
    return low, [z + _most(net, free, d, budget) for z, d in zip(hidden, changes, strict=True)]


def _bound(net, row, numbers, region):
    """The base and the gains of the additive bound."""
    hidden, free, budget, phases = region
    low, high = _ranges(net, region)
    base, gains = float(net.bias[row]), np.zeros(len(free))
    for h, weight in enumerate(net.weight[row]):
        change, phase, is_both = net.change[free, h], phases.get(h, 0), low[h] < 0 < high[h]
        if is_both and not phase and weight < 0:
            shares = np.array(numbers["shares"].get(str(h), np.zeros(len(free)))) / 100
            line = np.maximum(change, 0.0) - shares * np.abs(change)
            over = max(_most(net, free, -line, budget), hidden[h] + _most(net, free, change - line, budget))
            base, gains = base + weight * over, gains + weight * line
            continue
        if is_both and (phase or weight > 0):
            slope = numbers["slopes"].get(str(h), weight if phase > 0 else 0.0)
            assert (phase < 0 and slope >= 0) or (phase > 0 and slope <= weight) or 0 <= slope <= weight
        else:
            slope = weight if low[h] >= 0 or (phase > 0 and not is_both) else 0.0
        base, gains = base + slope * hidden[h], gains + slope * change
    return base, gains
