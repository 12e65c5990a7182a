"""Dropout's random words against the generator written out, and what dropout makes of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from scansnap_core.text.dropout import Dice, Dropout

LOWER = 2**64 - 1


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox-4x64-10 in whole numbers, by its definition (Salmon et al., SC11)."""
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * counter[0], 0xCA5A826395121157 * counter[2]
        counter = [second >> 64 ^ counter[1] ^ key[0], second & LOWER, first >> 64 ^ counter[3] ^ key[1], first & LOWER]
        key = [key[0] + 0x9E3779B97F4A7C15 & LOWER, key[1] + 0xBB67AE8584CAA73B & LOWER]
    return counter


@pytest.mark.parametrize(("seed", "step"), [(0, 0), (5, 7), (2**64 - 1, 3)])
def test_words_are_philoxs_by_seed_and_step(seed: int, step: int) -> None:
    dice = Dice(seed)
    dice.begin(step)
    found = torch.cat([dice.words(5), dice.words(3), dice.words(8)]).numpy()
    blocks = np.array([philox([1 + block, 0, 0, 0], [seed, step]) for block in range(3)], np.uint64).ravel()
    lower_first = np.stack([blocks & 0xFFFFFFFF, blocks >> 32], axis=1).ravel().astype(np.uint32).view(np.int32)
    # five words take three numbers of 64 bits, and the half that is left isn't used
    assert found.tolist() == [*lower_first[:5], *lower_first[6:9], *lower_first[10:18]]


@pytest.mark.parametrize("p", [0.1, 0.2, 0.75])
def test_as_many_are_dropped_as_it_says_and_the_mean_stays(p: float) -> None:
    x = torch.arange(1.0, 10_001, dtype=torch.float64).requires_grad_()
    left = Dropout(p, Dice(1))(x)
    dropped = left == 0
    assert stats.binomtest(int(dropped.sum()), len(x), p).pvalue > 1e-3
    torch.testing.assert_close(left[~dropped], x[~dropped] / (1 - p))
    left.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.where(dropped, 0.0, 1 / (1 - p)).double())


def test_nearly_all_are_dropped_where_p_is_nearly_1() -> None:
    x = torch.ones(10_000, dtype=torch.float64)
    assert not Dropout(1 - 1e-12, Dice(1))(x).any()
    assert Dropout(1e-12, Dice(1))(x).all()


def test_each_call_takes_words_of_its_own_and_a_step_can_be_made_again() -> None:
    dice = Dice(2)
    drop, x = Dropout(0.5, dice), torch.ones(8, 8)
    one, two = drop(x), drop(x)
    assert not torch.equal(one, two)
    dice.begin(step=0)
    assert torch.equal(drop(x), one)
    dice.begin(step=1)
    assert not torch.equal(drop(x), one)
    assert not torch.equal(Dropout(0.5, Dice(3))(x), one)


def test_without_dropout_nothing_is_drawn() -> None:
    dice = Dice(4)
    first, x = dice.words(2), torch.ones(4)
    dice.begin(step=0)
    assert torch.equal(Dropout(0.0, dice)(x), x)
    assert torch.equal(Dropout(0.5, dice).eval()(x), x)
    assert torch.equal(dice.words(2), first)
