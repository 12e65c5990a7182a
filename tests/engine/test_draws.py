"""Where random numbers come from: each source against what it promises, the authors' order against a literal loop."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from scipy import stats

from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import draws
from scansnap_core.engine.draws import Expectation, Fresh, Replay
from tests.engine.references import overlapping_classes

SEEDS = [3, 8]
M, L, Q, K = 9, 6, 2, 3
BATCH, LENGTH = 5, 8


def uneven_classes() -> SequenceClasses:
    """Three classes of three, two and four tokens."""
    probs = np.zeros((K, M))
    probs[0, [0, 1, 2]] = 0.2, 0.5, 0.3
    probs[1, [0, 3]] = 0.6, 0.4
    probs[2, [0, 1, 4, 5]] = 0.3, 0.3, 0.2, 0.2
    return SequenceClasses(probs, query_of=[6, 7, 6], next_of=[8, 2, 5])


@pytest.fixture
def global_generators() -> Iterator[None]:
    python = random.getstate()
    with torch.random.fork_rng(devices=[]):
        yield
    random.setstate(python)


def test_fresh_initial_values_are_uniform() -> None:
    """In ±1/sqrt(M), Y and Z alike."""
    many = Fresh(overlapping_classes(), list(range(200)), BATCH, LENGTH)
    for values, shape in zip(many.initial(overlapping_classes().tokens), ((200, L, M), (200, Q, L)), strict=True):
        assert values.shape == shape
        assert stats.kstest(values.ravel(), stats.uniform(-1 / 3, 2 / 3).cdf).pvalue > 1e-3
        assert np.abs(values).max() <= 1 / 3
        assert stats.kstest(values.ravel(), stats.uniform(-0.3, 0.6).cdf).pvalue < 1e-4  # control


@pytest.mark.parametrize("source", [Fresh, Replay])
def test_a_seed_draws_what_it_draws_alone(source: type[Fresh] | type[Replay]) -> None:
    both, alone = (source(overlapping_classes(), seeds, BATCH, LENGTH) for seeds in (SEEDS, SEEDS[1:]))
    for draw in (lambda s: s.initial(overlapping_classes().tokens), lambda s: s.batch(), lambda s: s.batch()):
        for together, single in zip(draw(both), draw(alone), strict=True):
            assert together.shape[0] == 2
            assert (together[1] == single[0]).all()
            assert (together[0] != single[0]).any()  # control: the other seed


def test_the_expectation_is_every_class_once() -> None:
    source = Expectation(overlapping_classes(), SEEDS)
    for _ in range(2):
        classes, q = source.batch()
        assert classes.tolist() == [[0, 1, 2]] * 2
        assert q.tolist() == [overlapping_classes().compact.probs.tolist()] * 2
    fresh = Fresh(overlapping_classes(), SEEDS, BATCH, LENGTH).initial(overlapping_classes().tokens)
    initial = source.initial(overlapping_classes().tokens)
    assert all((ours == theirs).all() for ours, theirs in zip(initial, fresh, strict=True))


@pytest.mark.usefixtures("global_generators")
@pytest.mark.parametrize("at_once", [draws.AT_ONCE, 2 * M, 1])
@pytest.mark.parametrize("length", [LENGTH, 2])  # of a single token, Torch draws another number of random numbers
def test_replay_draws_in_the_authors_order(length: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    classes = uneven_classes()
    monkeypatch.setattr(draws, "AT_ONCE", at_once)
    replay = Replay(classes, SEEDS, BATCH, length)
    (Y, Z), batches = replay.initial(classes.tokens), [replay.batch() for _ in range(2)]
    for s, seed in enumerate(SEEDS):
        random.seed(seed)
        torch.manual_seed(seed + 2)
        decoder, attention = torch.nn.Linear(M, M, bias=False), torch.nn.Linear(M, M, bias=False)
        assert torch.tensor(Y[s]).equal(decoder.weight.detach().T[classes.tokens.copy()].double())
        assert torch.tensor(Z[s]).equal(attention.weight.detach()[[6, 7]][:, classes.tokens.copy()].double())
        for drawn, q in batches:
            for b in range(BATCH):
                n = random.choice(range(K))
                support = classes.support(n)
                weights = torch.tensor(classes.probs[n, support], dtype=torch.float32)
                tokens = support[torch.multinomial(weights, length - 1, replacement=True).numpy()]
                counts = [(tokens == token).sum() for token in classes.tokens]
                assert drawn[s, b] == n
                assert (q[s, b] * (length - 1)).tolist() == pytest.approx(counts, abs=1e-12)
    assert np.abs(Y).max() == pytest.approx(1 / 3, rel=0.1, abs=0)


def test_replay_leaves_the_global_generators_alone() -> None:
    python, numbers = random.getstate(), torch.get_rng_state()
    Replay(overlapping_classes(), SEEDS, BATCH, LENGTH).batch()
    assert random.getstate() == python
    assert torch.get_rng_state().equal(numbers)


@pytest.mark.parametrize("source", [Fresh, Replay])
def test_draws_go_on_where_others_stood(source: type[Fresh] | type[Replay]) -> None:
    first, other = (source(overlapping_classes(), seeds, BATCH, LENGTH) for seeds in (SEEDS, [4, 9]))
    first.batch()
    states = first.state()
    assert len(states) == len(set(states)) == len(SEEDS)
    other.resume(states)
    for expected, found in zip(first.batch(), other.batch(), strict=True):
        assert (found == expected).all()
    with pytest.raises(ValueError, match="zip"):
        other.resume(states[:1])


def test_the_expectation_stands_nowhere() -> None:
    source = Expectation(overlapping_classes(), SEEDS)
    assert source.state() == ["", ""]
    source.resume(["", ""])
    assert source.batch()[0].tolist() == [[0, 1, 2]] * 2
