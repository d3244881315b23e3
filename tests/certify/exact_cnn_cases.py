"""Small random windowed nets, and the truth about them by full enumeration."""

from itertools import combinations, product

import numpy as np

from lexproof.certify.exact.cnn_net import WindowedNet


def random_net(rng: np.random.Generator, most_units: int = 6) -> WindowedNet:
    """A net of 1-6 positions, some empty, with mixed widths, and in turn ties, duplicates and changes of 0."""
    places, units, rivals = (int(rng.integers(low, high)) for low, high in ((1, 7), (1, most_units + 1), (1, 5)))
    width = int(rng.integers(1, 6))
    lead = width // 2
    sizes = rng.integers(0, 4, places)
    if rng.random() < 0.05:
        sizes[:] = 0
    position = np.repeat(np.arange(places), sizes)
    change = rng.normal(0, 1, (len(position), width, units))
    z = rng.normal(0, 1, (places, units)) - rng.random()
    weight = rng.normal(0, 1, (rivals, units))
    narrow = rng.integers(1, width + 1, units)  # a narrow filter does not see all offsets
    change *= np.arange(width)[:, None] < narrow
    margin = rng.exponential(3.0, rivals) - 0.2  # of the text itself
    if rng.random() < 0.3:  # ties: small whole numbers
        change, z, weight, margin = (np.round(array) for array in (change, z, weight, margin))
    if len(position) > 1 and rng.random() < 0.3:
        position[1], change[1] = position[0], change[0]
    if len(position) and rng.random() < 0.2:
        change[0] = 0
    return WindowedNet(z, position, change, lead, weight, margin - weight @ np.maximum(z.max(axis=0), 0.0))


def sets(net: WindowedNet, most: int, among: list[int] | None = None) -> list[tuple[int, ...]]:
    """All sets of at most `most` candidates, one a position."""
    chosen = range(net.candidates) if among is None else among
    by_position: dict[int, list[int]] = {}
    for c in chosen:
        by_position.setdefault(int(net.position[c]), []).append(c)
    found = []
    for count in range(most + 1):
        for positions in combinations(sorted(by_position), count):
            found += list(product(*(by_position[at] for at in positions)))
    return found


def truth(net: WindowedNet, most: int, theta: float) -> int | None:
    """The smallest size of an adversarial set of at most `most` candidates."""
    every = sets(net, most)
    flips = [
        len(chosen) for chosen, margin in zip(every, net.margins(every).min(axis=1), strict=True) if margin <= theta
    ]
    return min(flips, default=None)
