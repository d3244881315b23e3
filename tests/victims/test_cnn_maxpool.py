"""Convolution and max in one: the values and gradients of the two apart."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from lexproof.victims.cnn_maxpool import largest_output  # noqa: E402


def apart(conv: nn.Conv1d, padded: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    return conv(padded).masked_fill(~inside[:, None], -torch.inf).max(2).values


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("wants", ["both", "weights", "input"])
def test_values_and_gradients(width: int, wants: str) -> None:
    generator = torch.Generator().manual_seed(width)
    conv = nn.Conv1d(4, 7, width).double().requires_grad_(wants != "input")
    padded = torch.randn(6, 4, 8 + width - 1, generator=generator, dtype=torch.float64)
    padded[2] = padded[2, :, :1]  # a text of one word again and again: every window is the largest
    inside = torch.arange(8) < torch.tensor([8, 1, 8, 3, 5, 8])[:, None]
    weights = torch.randn(6, 7, generator=generator, dtype=torch.float64)
    found = []
    for ask in (apart, largest_output):
        leaf = padded.clone().requires_grad_(wants != "weights")
        conv.zero_grad()
        value = ask(conv, leaf, inside)
        value.backward(weights)
        found.append([value.detach(), leaf.grad, conv.weight.grad, conv.bias.grad])
    for one, two in zip(*found, strict=True):
        assert (one is None) == (two is None)
        if one is not None:
            torch.testing.assert_close(two, one)


def test_against_finite_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    conv = nn.Conv1d(2, 3, 2).double()
    padded = torch.randn(2, 2, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    inside = torch.arange(4) < torch.tensor([4, 2])[:, None]
    assert torch.autograd.gradcheck(lambda given: largest_output(conv, given, inside), padded)
