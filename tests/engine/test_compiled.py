"""The compiled engine is the readable one, over what can differ: initial values, supports, batches, rates, queries."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import xarray as xr
from numba import njit
from scipy import sparse

from scansnap_core.base.rules import RATE
from scansnap_core.data.datasets import syn_large, syn_medium, syn_small, with_overlap
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import compiled, compiled_draws, kernel
from scansnap_core.engine.compiled import SharedRuns, SupportRun
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.training import TrainingDiverged, train
from scansnap_core.theory import gallery
from tests.engine.references import frequent_classes, overlapping_classes
from tests.refusing import refuses

BOUND = {"float64": 1e-10, "float32": 1e-5}
OPTIONS: dict[str, Any] = {
    "lr_y": [1.0, 3.0], "lr_z": [0.5, 2.0], "steps": 20, "batch_size": 32, "seq_len": 64, "optimizer": "momentum",
    "initial": "random", "record": [20], "rng": "fresh", "device": "cpu", "dtype": "float64",
}  # fmt: skip


def both(classes: SequenceClasses, **changes: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    options = OPTIONS | changes
    ours = SharedRuns(classes, Settings(**options, seeds=[3])).finish()
    result = train(classes, **options, seeds=[3]).isel(seed=0, recorded=-1)
    return ours, {name: result[name].values for name in ours}


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference, relative to the largest entry."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize(
    ("classes", "changes"),
    [
        (syn_medium(1), {}),
        (syn_medium(3), {"initial": "zero"}),
        (syn_medium(10), {"optimizer": "sgd"}),
        (syn_small(), {"rng": "replay", "batch_size": 7}),
        (syn_medium(3), {"rng": "counter"}),
        (overlapping_classes(), {"rng": "counter", "seq_len": np.inf}),
        (frequent_classes(), {}),
        (frequent_classes(), {"rng": "counter"}),
        (with_overlap(3, 40, 0.1), {"rng": "counter", "seq_len": np.inf, "batch_size": None}),
        (overlapping_classes(), {"seq_len": 2}),  # supports of several sizes, one contextual token
        (with_overlap(3, 40, 0.1), {"seq_len": np.inf, "batch_size": None}),
        (with_overlap(3, 500, 0.0, distinct_weights=np.arange(1, 98)), {"initial": "zero", "batch_size": 1}),
        (SequenceClasses(np.eye(4), [0, 0, 1, 1]), {}),  # K = M, one token a class
    ],
    ids=str,
)
def test_it_is_the_readable_program(classes: SequenceClasses, changes: dict[str, Any], dtype: str) -> None:
    ours, theirs = both(classes, dtype=dtype, **changes)
    for name in ("loss", "Z"):
        assert ours[name].dtype == dtype
        assert ours[name].shape == theirs[name].shape
        if np.abs(theirs[name]).max() > 1e-3:  # a class of one token has nothing to learn in Z
            assert difference(ours[name], theirs[name]) <= BOUND[dtype]
    np.testing.assert_array_equal(ours["diverged_at"], theirs["diverged_at"])


def test_attention_that_all_but_vanishes_on_a_sample() -> None:
    """A class whose attention sits on a rare token: samples without it have exp(z - max z) = 0 in float32."""
    classes = SequenceClasses([[0.5, 0.4, 0.1, 0.0], [0.5, 0.2, 0.0, 0.3]], [0, 0])
    Z = np.zeros((4, 4))
    Z[0] = [1.0, 2.0, 300.0, -300.0]
    Y = np.random.default_rng(0).normal(size=(4, 4))
    for dtype, bound in BOUND.items():
        ours, theirs = both(classes, initial=(Y, Z), seq_len=4, dtype=dtype, steps=5, record=[5])
        assert difference(ours["loss"], theirs["loss"]) <= bound
        assert difference(ours["Z"] - Z[:1, :], theirs["Z"] - Z[:1, :]) <= 100 * bound  # 300 has lost two digits


@pytest.mark.filterwarnings("ignore::scansnap_core.engine.training.TrainingDiverged")
@pytest.mark.parametrize(("dtype", "huge"), [("float32", 1e30), ("float64", 1e200)])
def test_divergence_is_told_alike(dtype: str, huge: float) -> None:
    ours, theirs = both(syn_small(), lr_y=[1, huge], lr_z=[1, huge], seq_len=3, optimizer="sgd", dtype=dtype)
    assert theirs["diverged_at"][0] == -1
    assert theirs["diverged_at"][1] >= 0
    np.testing.assert_array_equal(ours["diverged_at"], theirs["diverged_at"])


@pytest.mark.parametrize("rng", ["fresh", "replay", "counter"])
def test_neither_chunks_nor_threads_nor_other_rates_change_a_bit(rng: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = OPTIONS | {"dtype": "float32", "seeds": [3], "rng": rng}
    whole = SharedRuns(syn_medium(3), Settings(**options)).finish()
    monkeypatch.setattr(compiled, "CHUNK", 7)
    with ThreadPoolExecutor(3) as threads:
        for pool in (None, threads):
            parts = SharedRuns(syn_medium(3), Settings(**options)).finish(pool)
            assert all(np.array_equal(parts[name], whole[name]) for name in whole)
    alone = SharedRuns(syn_medium(3), Settings(**options | {"lr_y": 3.0, "lr_z": 2.0})).finish()
    assert all(np.array_equal(alone[name][0], whole[name][1]) for name in whole)
    assert not np.array_equal(alone["Z"][0], whole["Z"][0])


def displaced(array: np.ndarray, places: int) -> np.ndarray:
    """Copy an array to where it begins so many numbers after a cache line does."""
    room = np.empty(array.nbytes + 256, np.uint8)
    start = -room.ctypes.data % 64 + places * array.itemsize
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.mark.parametrize("distinct", [6, 23])  # supports of 7 places and of 24
def test_no_bit_depends_on_where_arrays_lie(distinct: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum that went up to the next cache line first would take its numbers in another order."""
    options = Settings(**OPTIONS | {"dtype": "float32", "seeds": [3], "seq_len": 8})
    classes = with_overlap(3, 3 * (distinct + 1) + 20, 0.3, distinct_weights=np.arange(1.0, distinct + 1))
    sample, found = SharedRuns._sample, []
    for places in range(16):
        runs = SharedRuns(classes, options)
        moved = {name: displaced(part, places) for name, part in vars(runs).items() if isinstance(part, np.ndarray)}
        vars(runs).update(moved)
        monkeypatch.setattr(runs, "_sample", lambda first: [displaced(x, places) for x in sample(runs, first)])  # noqa: B023
        found.append(runs.finish())
    for other in found:
        np.testing.assert_array_equal(other["Z"], found[0]["Z"])
        np.testing.assert_array_equal(other["loss"], found[0]["loss"])


def test_all_trainings_share_two_compiled_programs() -> None:
    """Processes that compile at once must compile the same types in the same order; a third would come in any."""
    for dtype in ("float64", "float32"):
        classes = pickle.loads(pickle.dumps(syn_medium(1)))
        classes.compact.query_row.flags.writeable = False
        for rng in ("fresh", "replay", "counter"):
            SharedRuns(classes, Settings(**OPTIONS | {"dtype": dtype, "seeds": [3], "rng": rng})).finish()
        SupportRun(classes, LR_Y, 1).advance(1)
    for program in (compiled_draws.draw, kernel.climb_classes, kernel.climb_common):
        assert len(program.signatures) == 1
    assert [str(signature[4]) for signature in kernel.climb.signatures] == ["float32", "float64"]


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 3e-7), ("float64", 2e-15)])
def test_exponentials_are_numpys_down_to_the_lowest(dtype: str, bound: float) -> None:
    """Below LOWEST they stay at its exponential; a NaN stays one, and spoils no other number."""
    numbers = np.append(np.linspace(-90, 0, 2001), np.nan).astype(dtype)
    found = numbers.copy()
    kernel._exponentiate(found, found.dtype.type(0))
    expected = np.exp(np.maximum(numbers.astype(np.float64), kernel.LOWEST))
    np.testing.assert_allclose(found, expected, rtol=bound)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_a_half_made_from_bits_are_the_plain_ones(dtype: type) -> None:
    compiled_power = njit(lambda halvings: kernel._power_of_half(halvings))
    for halvings in range(127):
        assert compiled_power(dtype(halvings)) == kernel._power_of_half(halvings)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 15, 16, 17, 100])
def test_the_largest_of_some_numbers_wherever_it_stands(dtype: str, size: int) -> None:
    for place in range(size):
        numbers = np.full(size, -2.0, dtype)
        numbers[place] = -1
        assert kernel._largest(numbers) == -1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("num_columns", [1, 16, 121])
def test_rows_begin_with_a_cache_line_and_fill_whole_ones(dtype: type, num_columns: int) -> None:
    rows = compiled._zeros_in_lines((2, 3, num_columns), np.dtype(dtype))
    num_bytes = rows.shape[2] * rows.itemsize
    assert rows.shape[:2] == (2, 3)
    assert num_bytes % 64 == 0
    assert num_columns * rows.itemsize <= num_bytes < num_columns * rows.itemsize + 64
    assert {row.ctypes.data % 64 for run in rows for row in run} == {0}
    assert not rows.any()


NOWHERE = """
from numba.core import caching
caching.CacheImpl._locator_classes = []
from scansnap_core.engine.kernel import compiled_for_cpu
print(compiled_for_cpu(lambda x: 1 / x)(0.0))
"""


def test_it_compiles_where_nothing_can_be_stored() -> None:
    """As on a read-only file system without a home, where Numba finds no place for its cache."""
    found = subprocess.run([sys.executable, "-c", NOWHERE], capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("inf\n", "")


# -- The large run: common tokens, queries, support sizes, K = M -------------------------------------------------------

LR_Y, LR_Z, STEPS = 2.0, 1.0, 60


def uneven_classes(seed: int) -> SequenceClasses:
    """40 classes of 1 to 12 tokens: each group of 8 has common tokens of its own, some tokens are held by all."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((40, 400))
    for n, row in enumerate(weights):
        group, own = 10 + 5 * (n // 8) + np.arange(5), 50 + 8 * n + np.arange(8)
        for pool, largest in ((np.arange(3), 3), (group, 4), (own, 5)):
            row[rng.choice(pool, rng.integers(largest + 1), replace=False)] = rng.exponential()
        row[own[0]] += 0.1
    next_of = rng.permutation(400)[:40]
    return SequenceClasses(weights / weights.sum(axis=1, keepdims=True), 380 + rng.integers(7, size=40), next_of)


def dense(classes: SequenceClasses, lr_y: float = LR_Y, lr_z: float = LR_Z, steps: int = STEPS) -> xr.Dataset:
    options = {"lr_y": lr_y, "lr_z": lr_z, "steps": steps, "batch_size": None, "seq_len": np.inf, "device": "cpu"}
    return train(classes, **options).isel(seed=0, rate=0).transpose("query", "token", "output", ...)  # type: ignore[arg-type]


def differences(classes: SequenceClasses, other: xr.Dataset) -> list[float]:
    """Return the largest differences of the losses, Y and Z, relative to their largest entries."""
    run = SupportRun(classes, LR_Y, LR_Z)
    loss = run.advance(STEPS)
    end = other.isel(recorded=-1)
    pairs = ((loss, other.loss), (run.Y, end.Y), (run.Z.toarray(), end.Z))
    return [float(np.abs(ours - theirs.values).max() / np.abs(theirs.values).max()) for ours, theirs in pairs]


@pytest.mark.parametrize(
    "classes",
    [
        syn_small(),
        syn_medium(10),
        syn_large(70, 2_000),  # outputs in two blocks, the second not full
        with_overlap(5, 1_000, 0.3),
        overlapping_classes(),
        gallery.random_classes(30, np.random.default_rng(1)),  # most tokens common to some classes
        uneven_classes(0),
        uneven_classes(1),
        SequenceClasses([[0.5, 0.5, 0.0], [0.2, 0.0, 0.8], [0.3, 0.3, 0.4]], [0, 0, 1]),  # K = M
    ],
    ids=str,
)
def test_a_support_run_is_the_dense_program(classes: SequenceClasses) -> None:
    assert max(differences(classes, dense(classes))) <= BOUND["float64"]
    # controls: a rate that is off by 1 part in 10^8, one step less of Y, and Z's rate
    for nearby in (dense(classes, lr_y=LR_Y * (1 + 1e-8)), dense(classes, lr_z=LR_Z * (1 + 1e-8))):
        assert max(differences(classes, nearby)) > BOUND["float64"]
    assert max(differences(classes, dense(classes, steps=STEPS - 1).pad(step=(0, 1), mode="edge"))) > BOUND["float64"]


def test_large_logits_overflow_nothing() -> None:
    classes = overlapping_classes()
    loss = SupportRun(classes, 1e5, LR_Z).advance(3)
    assert loss == pytest.approx(dense(classes, 1e5, steps=3).loss.values, abs=1e-14)
    # attention is a softmax, so a query's logits mean the same when all are raised by as much
    run, raised = SupportRun(classes, LR_Y, LR_Z), SupportRun(classes, LR_Y, LR_Z)
    raised._z += 1000
    assert raised.advance(STEPS) == pytest.approx(run.advance(STEPS), rel=1e-10, abs=0)
    assert raised.Z.data - 1000 == pytest.approx(run.Z.data, abs=1e-10)
    assert run.Z.data.max() > 0.1


def test_a_run_can_be_made_in_pieces_and_among_threads() -> None:
    classes = uneven_classes(2)
    whole, pieces, shared = (SupportRun(classes, LR_Y, LR_Z) for _ in range(3))
    loss = whole.advance(STEPS)
    with ThreadPoolExecutor(3) as threads:
        losses = [np.r_[pieces.advance(STEPS - 7), pieces.advance(7)], shared.advance(STEPS, threads)]
    for run, other in zip((pieces, shared), losses, strict=True):
        assert np.array_equal(other, loss)
        assert np.array_equal(run.Y, whole.Y)
        assert np.array_equal(run.Z.toarray(), whole.Z.toarray())
    assert not np.array_equal(loss[1:], loss[:-1])


def test_its_axes_and_memory_are_the_supports() -> None:
    M = 10**12
    places = ([0.5, 0.5, 0.2, 0.8], ([0, 0, 1, 1], [5, 10**6, 5, M - 1]))
    run = SupportRun(SequenceClasses(sparse.csr_array(places, shape=(2, M)), [M - 2, 3], [M - 3, 8]), LR_Y, LR_Z)
    assert run.advance(1) == pytest.approx([np.log(M)], rel=1e-9, abs=0)
    # columns: next token M - 3, next token 8, all others; with f of class 0 equal on both its tokens
    first, per_step = np.sqrt(0.5), LR_Y / 2
    assert run.Y[1] == pytest.approx(per_step * first * np.array([1, 0, 0]), rel=1e-11, abs=1e-11)
    assert run.Y.shape == (3, 3)
    run.advance(STEPS)
    Z = run.Z.toarray()
    assert Z.shape == (2, 3)
    assert (Z[1] != 0).tolist() == [True, True, False]  # row 1 is token M - 2, the query of class 0
    assert (Z[0] != 0).tolist() == [True, False, True]


@pytest.mark.filterwarnings("ignore::scansnap_core.engine.training.TrainingDiverged")
def test_divergence_of_a_support_run_is_told_alike() -> None:
    alike = SequenceClasses([[0.3, 0.7, 0.0, 0.0]] * 3, [3, 3, 3])  # nothing tells them apart, so errors stay
    run = SupportRun(alike, 1e200, 1e200)
    with pytest.warns(TrainingDiverged, match="the run turned NaN at step . of 20; use smaller rates"):
        loss = run.advance(20)
    reference = dense(alike, 1e200, 1e200, 20)
    assert reference.diverged_at > 0
    assert np.array_equal(np.isnan(loss), np.isnan(reference.loss))


@pytest.mark.parametrize(
    ("rates", "steps", "value", "rule"),
    [
        ((0.0, 1.0), 1, "lr_y = 0.0", RATE.says),
        ((1.0, np.inf), 1, "lr_z = inf", RATE.says),
        ((1.0, 1.0), 0, "steps = 0", "a positive integer"),
    ],
)
def test_bad_rates_and_steps(rates: tuple[float, float], steps: int, value: str, rule: str) -> None:
    with refuses(value, rule):
        SupportRun(overlapping_classes(), *rates).advance(steps)


def test_a_system_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scansnap_core.base.rules.memory", lambda: 287)
    with refuses("K = 3 classes that hold L = 6 tokens, which take 288 bytes", "all is held in memory, here 287 bytes"):
        SupportRun(overlapping_classes(), LR_Y, LR_Z)
