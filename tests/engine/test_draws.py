"""Each source of random numbers keeps its promises: a literal loop, published answers, multinomial counts."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
import torch
from numba import njit
from scipy import stats

from scansnap_core.data.datasets import syn_medium
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine.compiled_draws import ByCounter
from scansnap_core.engine.draws import (
    TOKENS,
    WORD,
    Counter,
    Expectation,
    Fresh,
    Replay,
    class_cuts_of,
    cuts_of,
    draws_of,
    key_of,
    philox,
)  # fmt: skip
from scansnap_core.engine.settings import Settings
from tests.engine.references import DEVICES, frequent_classes, overlapping_classes, scattered_classes

SEEDS = [3, 8]
L, Q = 6, 2
BATCH, LENGTH = 5, 8


def test_fresh_initial_values_are_uniform() -> None:
    """In ±1/sqrt(M), Y and Z alike."""
    many = Fresh(overlapping_classes(), list(range(200)), BATCH, LENGTH)
    for values, shape in zip(many.initial(overlapping_classes().tokens), ((200, L, 9), (200, Q, L)), strict=True):
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
        assert source.state() == ["", ""]
        source.resume(source.state())
    fresh = Fresh(overlapping_classes(), SEEDS, BATCH, LENGTH).initial(overlapping_classes().tokens)
    initial = source.initial(overlapping_classes().tokens)
    assert all((ours == theirs).all() for ours, theirs in zip(initial, fresh, strict=True))


@pytest.mark.parametrize("length", [LENGTH, 2])  # of a single token, Torch draws another number of random numbers
def test_replay_draws_in_the_authors_order(length: int) -> None:
    classes = scattered_classes()
    M, K, queries = classes.vocab_size, classes.num_classes, [3, 8, 12]
    replay = Replay(classes, SEEDS, BATCH, length)
    (Y, Z), batches = replay.initial(classes.tokens), [replay.batch() for _ in range(2)]
    with torch.random.fork_rng(devices=[]):
        for s, seed in enumerate(SEEDS):
            python = random.Random(seed)
            torch.manual_seed(seed + 2)
            decoder, attention = torch.nn.Linear(M, M, bias=False), torch.nn.Linear(M, M, bias=False)
            assert torch.tensor(Y[s]).equal(decoder.weight.detach().T[classes.tokens.copy()].double())
            assert torch.tensor(Z[s]).equal(attention.weight.detach()[queries][:, classes.tokens.copy()].double())
            for drawn, q in batches:
                for b in range(BATCH):
                    n = python.choice(range(K))
                    support = classes.support(n)
                    weights = torch.tensor(classes.probs[n, support], dtype=torch.float32)
                    tokens = support[torch.multinomial(weights, length - 1, replacement=True).numpy()]
                    counts = [(tokens == token).sum() for token in classes.tokens]
                    assert drawn[s, b] == n
                    assert (q[s, b] * (length - 1)).tolist() == pytest.approx(counts, abs=1e-12)
    assert np.abs(Y).max() == pytest.approx(M**-0.5, rel=0.1, abs=0)


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


# -- By counter --------------------------------------------------------------------------------------------------------

SEED = 2**40 + 5

ANSWERS = [  # of Random123's file of known answers: counter, key, words
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((WORD,) * 4, (WORD, WORD), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
def test_philox_gives_the_published_words(device: str) -> None:
    compiled = njit(philox)
    for at, key, words in ANSWERS:
        assert philox(*at, *key) == words
        assert compiled(*map(np.int64, at + key)) == words
        assert tuple(map(int, philox(*(torch.tensor(word, device=device) for word in at + key)))) == words


def by_counter(classes: SequenceClasses, length: float, size: int, steps: int, **more: Any) -> tuple[Any, Any]:
    """Classes (steps, B) and frequencies (steps, B, L) of one seed."""
    source = Counter(classes, [SEED], size, length, **more)
    drawn, q = zip(*(source.batch() for _ in range(steps)), strict=True)
    return torch.cat(drawn).cpu().numpy(), torch.cat(q).cpu().numpy()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("length", [2, 4, 5, 6, 128, np.inf])
@pytest.mark.parametrize("classes", [frequent_classes(), scattered_classes(), syn_medium(3)], ids=str)
def test_both_programs_draw_the_same_counts(classes: SequenceClasses, length: float, device: str) -> None:
    size, steps, first = 9, 4, 1
    places, compact = cuts_of(classes.compact)[0], classes.compact
    compiled = np.zeros((steps - first, size, places.shape[1] + 3))
    ours = ByCounter(classes, SEED, length).steps(first, compiled)
    drawn, q = by_counter(classes, length, size, steps, device=device)
    for step in range(steps - first):
        order = np.argsort(drawn[step + first], kind="stable")
        assert (ours[step] == drawn[step + first][order]).all()
        for b, n in enumerate(ours[step]):
            held = np.flatnonzero(compact.probs[n])
            assert (compiled[step, b, : len(held)] == q[step + first][order[b], held]).all()
            assert not compiled[step, b, len(held) :].any()
    assert q.sum(axis=-1) == pytest.approx(1, rel=1e-12, abs=0)


def test_neither_neighbours_nor_a_new_start_change_a_draw() -> None:
    classes = overlapping_classes()

    def drawn(seeds: list[int], steps: int = 6, after: int = 0, size: int = 5) -> list[Any]:
        source = Counter(classes, seeds, size, 8)
        source.resume([str(after)] * len(seeds))
        found = [source.batch() for _ in range(steps)]
        assert source.state() == [str(after + steps)] * len(seeds)
        return [torch.cat([n[..., None].double(), q], dim=-1) for n, q in found]

    whole = drawn([3, SEED])
    assert all(torch.equal(both[1:], alone) for both, alone in zip(whole, drawn([SEED]), strict=True))
    assert all(torch.equal(late, early) for late, early in zip(drawn([3, SEED], 2, after=4), whole[4:], strict=True))
    assert all(torch.equal(few, many[:, :3]) for few, many in zip(drawn([3, SEED], size=3), whole, strict=True))
    pairs = [*itertools.combinations(whole, 2), (whole[0][:1], whole[0][1:])]
    assert not any(torch.equal(one, other) for one, other in pairs)  # control: other steps, the other seed


@pytest.mark.parametrize("num_classes", [1, 2, 3, 7, 20, 1000])
def test_equally_frequent_classes_are_a_word_times_K_over_2_32(num_classes: int) -> None:
    cuts = class_cuts_of(SequenceClasses(np.eye(num_classes), np.zeros(num_classes, int)))
    words = np.concatenate([cuts, cuts - 1, [0, WORD], np.random.default_rng(0).integers(WORD, size=1000)])
    assert (np.searchsorted(cuts, words, side="right") == words * num_classes >> 32).all()


@pytest.mark.parametrize("classes", [overlapping_classes(), frequent_classes()], ids=str)
def test_counts_are_multinomial(classes: SequenceClasses) -> None:
    """Two tokens of three: the six outcomes of class 0, and the classes, against their probabilities."""
    drawn, q = (each.reshape(-1, *each.shape[2:]) for each in by_counter(classes, 3, 3000, 20))
    of_class = np.bincount(drawn, minlength=3)
    assert stats.chisquare(of_class, classes.frequencies * of_class.sum()).pvalue > 1e-3
    assert stats.chisquare(of_class, np.array([0.22, 0.48, 0.3]) * of_class.sum()).pvalue < 1e-4  # control
    counts = (2 * q[drawn == 0][:, :3]).round().astype(int)
    outcomes = [each for each in itertools.product(range(3), repeat=3) if sum(each) == 2]
    seen = np.array([(counts == each).all(axis=1).sum() for each in outcomes])

    def pvalue(*probs: float) -> float:
        return float(stats.chisquare(seen, len(counts) * stats.multinomial(2, probs).pmf(outcomes)).pvalue)

    assert pvalue(0.2, 0.5, 0.3) > 1e-3
    assert pvalue(0.22, 0.48, 0.3) < 1e-4  # control


def test_long_samples_have_the_multinomial_means_and_covariances() -> None:
    classes, length = overlapping_classes(), 128
    drawn, q = (each.reshape(-1, *each.shape[2:]) for each in by_counter(classes, length, 1000, 20))
    for n in range(classes.num_classes):
        P, mine = classes.compact.probs[n], q[drawn == n]
        held, num = P > 0, len(mine)
        errors = (mine.mean(axis=0) - P)[held] / np.sqrt(P * (1 - P) / (length - 1) / num)[held]
        assert np.abs(errors).max() < 4.5
        expected = (np.diag(P) - np.outer(P, P)) / (length - 1)
        found = np.cov(mine.T)
        spread = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / num)  # of a normal's
        assert np.abs((found - expected)[np.ix_(held, held)] / spread[np.ix_(held, held)]).max() < 4.5
        shorter = (np.diag(P) - np.outer(P, P)) / (length - 33)  # control
        assert np.abs((found - shorter)[np.ix_(held, held)] / spread[np.ix_(held, held)]).max() > 4.5


def test_cuts_are_words() -> None:
    rare = SequenceClasses([[1e-15, 1 - 2e-15, 1e-15], [1.0, 0, 0]], [0, 0])
    places, cuts = cuts_of(rare.compact)
    assert cuts.tolist() == [[1, WORD], [WORD + 1, WORD + 1]]
    assert places.tolist() == [[0, 1, 2], [0, 0, 0]]


def test_cuts_are_the_nearest_words() -> None:
    """0.2 and 0.7 of 2^32 are 858,993,459.2 and 3,006,477,107.2."""
    cuts = [858_993_459, 3_006_477_107]
    assert class_cuts_of(frequent_classes()).tolist() == cuts_of(overlapping_classes().compact)[1][0].tolist() == cuts


def test_a_seed_is_two_words() -> None:
    assert key_of(SEED) == (5, 2**8)


@pytest.mark.parametrize(("rng", "kind"), [("fresh", Fresh), ("replay", Replay), ("counter", Counter)])
def test_the_settings_name_the_source(rng: str, kind: type[Fresh] | type[Replay]) -> None:
    given: dict[str, Any] = {"lr_y": 1.0, "lr_z": 1.0, "steps": 1, "seeds": SEEDS, "batch_size": 5, "seq_len": 8}
    more: dict[str, Any] = {"optimizer": "sgd", "initial": "zero", "record": None, "dtype": "float64", "device": "cpu"}
    assert type(draws_of(overlapping_classes(), Settings(**given, **more, rng=rng))) is kind


@pytest.mark.parametrize(("beyond", "token"), [(0, 1), (1, 0)])
def test_a_word_on_a_cut_means_the_next_token(beyond: int, token: int) -> None:
    cut = philox(0, 0, 0, TOKENS, *key_of(SEED))[0] + beyond
    classes = SequenceClasses([[cut / 2**32, 1 - cut / 2**32]], [0])
    compiled = np.zeros((1, 1, 2))
    ByCounter(classes, SEED, 2).steps(0, compiled)
    assert compiled[0, 0].tolist() == by_counter(classes, 2, 1, 1)[1][0, 0].tolist() == np.eye(2)[token].tolist()
