"""Projected gradient descent in balls of embedding space, to attack certificates: it shares no code with the bounds.

Points are kept inside the box and the ball by their coordinates alone; the network is a graph whose gradients are
followed.  All rows go side by side.
"""

import math

import torch
from torch import Tensor

from lexproof.bounds.ball_network import BallNetwork


class Ball:
    """Rows of a network, and the points of a ball and the box around each."""

    def __init__(self, network: BallNetwork, rows: Tensor, radius: Tensor, norm: float) -> None:
        self.graph = network.graph(rows)
        self.center, self.low, self.high = network.center[rows], network.low[rows], network.high[rows]
        self.radius = radius[:, None, None] * (1 - 1e-12)
        self.norm = norm

    def inside(self, points: Tensor) -> Tensor:
        """Points moved into the box and then towards the center, coordinate by coordinate, into the ball."""
        moved = torch.maximum(torch.minimum(points, self.high), self.low) - self.center
        if self.norm == math.inf:
            moved = torch.maximum(torch.minimum(moved, self.radius), -self.radius)
        elif self.norm == 2.0:
            size = moved.flatten(1).norm(dim=1)[:, None, None]
            moved = moved * (self.radius / size.clamp(min=1e-300)).clamp(max=1.0)
        else:
            moved = moved.sign() * (moved.abs() - self._excess(moved)).clamp(min=0)
        return self.center + moved

    def _excess(self, moved: Tensor) -> Tensor:
        """What each coordinate must lose for the sum of lengths to be within the radius."""
        sizes = moved.abs().flatten(1).sort(1, descending=True).values
        counts = torch.arange(1, sizes.shape[1] + 1)
        levels = (sizes.cumsum(1) - self.radius[:, :, 0]) / counts
        kept = (sizes > levels).sum(1, keepdim=True).clamp(min=1)
        return levels.gather(1, kept - 1).clamp(min=0)[:, :, None]

    def distance(self, points: Tensor) -> Tensor:
        return torch.linalg.vector_norm((points - self.center).flatten(1), ord=self.norm, dim=1)

    def starts(self, generator: torch.Generator) -> Tensor:
        """The center, a corner of the box, a random point far out, one with few coordinates moved; and so on."""
        noise = torch.randn(self.center.shape, generator=generator, dtype=torch.float64)
        few = noise * (torch.rand(noise.shape, generator=generator) < 0.3)
        kinds = [1e-9 * noise, 1e9 * noise, self.radius * 3 * noise, 1e9 * few]
        return self.inside(self.center + torch.stack([kinds[n % 4][n] for n in range(len(noise))]))

    def direction(self, gradient: Tensor, step: int, generator: torch.Generator) -> Tensor:
        """Where a margin falls fastest; where it is flat, anywhere.  In the norm 1 every other step is one number."""
        noise = torch.randn(gradient.shape, generator=generator, dtype=torch.float64)
        flat = gradient.flatten(1).norm(dim=1)[:, None, None] == 0
        gradient = torch.where(flat, noise, gradient)
        if self.norm == math.inf:
            return gradient.sign()
        if self.norm == 1.0 and step % 2:
            wide = gradient.flatten(1)
            top = wide.abs().argmax(1, keepdim=True)
            return torch.zeros_like(wide).scatter(1, top, wide.gather(1, top).sign()).reshape(gradient.shape)
        return gradient / gradient.flatten(1).norm(dim=1)[:, None, None]


def margins_of(logits: Tensor, labels: Tensor) -> Tensor:
    """The label's logit less the largest other one."""
    own = logits.gather(1, labels[:, None])[:, 0]
    return own - logits.scatter(1, labels[:, None], -math.inf).amax(1)


def descend(ball: Ball, labels: Tensor, rivals: Tensor, steps: int, seed: int) -> tuple[Tensor, Tensor]:
    """The point of least margin that was seen from each start, and the last one.

    Rows with a rival of -1 lower the least margin, others the margin over their rival.
    """
    generator = torch.Generator().manual_seed(seed)
    point = ball.starts(generator)
    best, least = point, torch.full((len(point),), math.inf, dtype=torch.float64)
    for step in range(steps):
        point = point.detach().requires_grad_()
        logits = ball.graph.value(point)
        margin = margins_of(logits, labels)
        chosen = logits.gather(1, labels[:, None])[:, 0] - logits.gather(1, rivals.clamp(min=0)[:, None])[:, 0]
        (gradient,) = torch.autograd.grad(torch.where(rivals < 0, margin, chosen).sum(), point)
        with torch.no_grad():
            better = margin < least
            best = torch.where(better[:, None, None], point, best)
            least = torch.where(better, margin, least)
            share = 0.5 * (1 + math.cos(math.pi * step / steps)) + 0.01
            length = 0.5 * share * ball.radius
            point = ball.inside(point - length * ball.direction(gradient, step, generator))
    return best.detach(), point.detach()


def nearest_flip(
    network: BallNetwork, rows: Tensor, labels: Tensor, radius: Tensor, norm: float, *, steps: int, seed: int
) -> Tensor:
    """The distance of the nearest point of each row that is found to change the class by the graph; or inf."""
    nearest = torch.full((len(rows),), math.inf, dtype=torch.float64)
    for factor in (1.1, 2.0, 5.0, 25.0):
        ball = Ball(network, rows, radius * factor, norm)
        flip, _ = descend(ball, labels, torch.full_like(labels, -1), steps, seed)
        with torch.no_grad():
            flips = margins_of(ball.graph.value(flip), labels) < 0
            near, far = torch.zeros(len(rows), 1, 1).double(), torch.ones(len(rows), 1, 1).double()
            for _ in range(25):  # towards the center, while the class stays changed
                middle = (near + far) / 2
                still = margins_of(ball.graph.value(torch.lerp(ball.center, flip, middle)), labels) < 0
                near = torch.where(still[:, None, None], near, middle)
                far = torch.where(still[:, None, None], middle, far)
            distance = ball.distance(torch.lerp(ball.center, flip, far))
        nearest = torch.where(flips, torch.minimum(nearest, distance), nearest)
    return nearest
