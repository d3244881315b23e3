"""The tree of texts with k swaps against scoring every text by itself."""

import itertools

import pytest
import torch

from lexproof.certify.recurrent import shares_states
from lexproof.errors import InputError
from lexproof.space import Space
from lexproof.victims.lstm import BiLstmNet, BiLstmSettings, LstmNet, LstmSettings
from lexproof.victims.lstm_tree import Candidates, stratum_logits
from small_victims import word_victim

WORDS = 12


def random_net(kind: str, seed: int) -> LstmNet | BiLstmNet:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net: LstmNet | BiLstmNet
        if kind == "lstm":
            net = LstmNet(WORDS, 3, LstmSettings(dim=3, units=4))
        else:
            net = BiLstmNet(WORDS, 3, BiLstmSettings(dim=3, units=4))
    return net.eval().requires_grad_(False)


def random_text(seed: int, length: int) -> Candidates:
    """Some positions without candidates, some candidates that are equal or no change, in no order of position."""
    generator = torch.Generator().manual_seed(seed)
    count = int(torch.randint(0, 9, (1,), generator=generator))
    draw = [torch.randint(0, most, (size,), generator=generator) for most, size in ((WORDS, length), (length, count))]
    return Candidates(draw[0], draw[1], torch.randint(0, WORDS, (count,), generator=generator))


def by_hand(net: LstmNet | BiLstmNet, text: Candidates, swaps: int) -> dict[tuple[int, ...], torch.Tensor]:
    """The logits of every text with so many swaps, by its candidates in order of position."""
    found = {}
    for picks in itertools.combinations(range(len(text.at)), swaps):
        places = [int(text.at[pick]) for pick in picks]
        if len(set(places)) == swaps:
            ids = text.ids.clone()
            ids[list(places)] = text.token[list(picks)]
            ordered = tuple(pick for _, pick in sorted(zip(places, picks, strict=True)))
            found[ordered] = net(ids[None], torch.tensor([len(ids)]))[0]
    return found


@pytest.mark.parametrize("kind", ["lstm", "bilstm"])
@pytest.mark.parametrize("swaps", [1, 2, 3, 4])
def test_every_text_once_with_its_logits(kind: str, swaps: int) -> None:
    total = 0
    for seed in range(12):
        net, text = random_net(kind, seed), random_text(seed, length=1 + seed % 7)
        expected = by_hand(net, text, swaps)
        parts = list(stratum_logits(net, text, swaps))
        picks = [tuple(row) for part in parts for row in part.picks.tolist()]
        assert sorted(picks) == sorted(expected)
        for part in parts:
            assert part.logits.dtype == torch.float64 and part.picks.shape == (len(part.logits), swaps)
            for row, logits in zip(part.picks.tolist(), part.logits, strict=True):
                torch.testing.assert_close(logits, expected[tuple(row)], rtol=0, atol=1e-6)
        total += len(picks)
    assert total > 20  # the cases are not all empty


@pytest.mark.parametrize("kind", ["lstm", "bilstm"])
def test_large_strata_come_in_parts(kind: str) -> None:
    text = Candidates(
        torch.zeros(5, dtype=torch.long), torch.arange(5).repeat_interleave(30), torch.arange(150) % WORDS
    )
    parts = list(stratum_logits(random_net(kind, 0), text, 2))
    assert sum(len(part.picks) for part in parts) == 10 * 30 * 30
    assert max(len(part.picks) for part in parts) <= 2048


def test_bad_numbers_are_refused() -> None:
    net, text = random_net("lstm", 0), random_text(1, 4)
    with pytest.raises(InputError, match="expected at least 1 swap, got 0"):
        next(stratum_logits(net, text, 0))
    many = Candidates(torch.zeros(9, dtype=torch.long), torch.arange(9), torch.ones(9, dtype=torch.long))
    with pytest.raises(InputError, match="expected fewer texts, got 9 candidates and 19 swaps; allow fewer swaps"):
        next(stratum_logits(net, many, 19))


def test_what_cannot_be_numbered_is_not_enumerated_as_a_tree() -> None:
    """Few texts of many swaps: 15504 with 15 of 20, but 21**15 keys."""
    victim = word_victim("lstm", 0, max_length=20)
    space = Space(" ".join(f"w{i}" for i in range(20)), [[f"w{i + 1}"] for i in range(20)], 15)
    assert shares_states(victim, space, 6, may_leave_out=True)
    assert not shares_states(victim, space, 15, may_leave_out=True)
