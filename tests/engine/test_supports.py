"""The program on supports against the dense one, over what can differ: common tokens, queries, support sizes, K = M."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xarray as xr
from scipy import sparse
from torch.utils.flop_counter import FlopCounterMode

from scansnap_core import BadInput
from scansnap_core.data.datasets import syn_large, syn_medium, syn_small, with_overlap
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import kernel
from scansnap_core.engine.compiled import SupportRun
from scansnap_core.engine.training import TrainingDiverged, train
from scansnap_core.theory import gallery
from tests.engine.references import overlapping_classes

LR_Y, LR_Z, STEPS, BOUND = 2.0, 1.0, 60, 1e-10


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
    """Of the losses, Y and Z, relative to their largest entries."""
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
def test_it_is_the_dense_program(classes: SequenceClasses) -> None:
    assert max(differences(classes, dense(classes))) <= BOUND
    # controls: a rate that is off by 1 part in 10^8, one step less of Y, and Z's rate
    for nearby in (dense(classes, lr_y=LR_Y * (1 + 1e-8)), dense(classes, lr_z=LR_Z * (1 + 1e-8))):
        assert max(differences(classes, nearby)) > BOUND
    assert max(differences(classes, dense(classes, steps=STEPS - 1).pad(step=(0, 1), mode="edge"))) > BOUND


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


def test_its_operations_are_those_of_the_dense_program_where_supports_are_full() -> None:
    full = SequenceClasses(np.random.default_rng(0).dirichlet(np.ones(7), 5), [0, 1, 1, 2, 0])
    for classes in (full, uneven_classes(0)):
        with FlopCounterMode(display=False) as counter:
            dense(classes, steps=1)
        K, L, Q = classes.num_classes, len(classes.tokens), len(classes.compact.queries)
        with_Z = 2 * 2 * K * Q * L
        same = counter.get_total_flops() - with_Z == SupportRun(classes, LR_Y, LR_Z).operations
        assert same == (classes is full)


@pytest.mark.filterwarnings("ignore::scansnap_core.engine.training.TrainingDiverged")
def test_divergence_is_told_alike() -> None:
    alike = SequenceClasses([[0.3, 0.7, 0.0, 0.0]] * 3, [3, 3, 3])  # nothing tells them apart, so errors stay
    run = SupportRun(alike, 1e200, 1e200)
    with pytest.warns(TrainingDiverged, match="the run turned NaN at step . of 20; use smaller rates"):
        loss = run.advance(20)
    reference = dense(alike, 1e200, 1e200, 20)
    assert reference.diverged_at > 0
    assert np.array_equal(np.isnan(loss), np.isnan(reference.loss))


@pytest.mark.parametrize("rates", [(0.0, 1.0), (1.0, -1.0), (np.inf, 1.0)])
def test_bad_rates(rates: tuple[float, float]) -> None:
    with pytest.raises(BadInput, match=r"lr_[yz] = .*: a learning rate is positive and finite; pass e.g. 1.0"):
        SupportRun(overlapping_classes(), *rates)


@pytest.mark.parametrize("steps", [0, 1.5, True])
def test_bad_steps(steps: object) -> None:
    with pytest.raises(BadInput, match=f"steps = {steps}: a positive integer; pass e.g. 100"):
        SupportRun(overlapping_classes(), LR_Y, LR_Z).advance(steps)  # type: ignore[arg-type]


def test_a_system_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(shape: object) -> np.ndarray:
        raise MemoryError

    classes = overlapping_classes()
    monkeypatch.setattr(np, "zeros", no_memory)
    with pytest.raises(
        BadInput, match=r"K = 3 classes that hold L = 6 tokens: Y takes 1\.8e-07 GiB, and it is held in"
    ):
        SupportRun(classes, LR_Y, LR_Z)


def test_all_runs_share_one_compiled_program() -> None:
    """Processes that compile at once must compile the same types; see ``kernel.prepare``."""
    for classes in (overlapping_classes(), syn_small()):
        SupportRun(classes, LR_Y, 1).advance(1)
    assert len(kernel.climb_classes.signatures) == len(kernel.climb_common.signatures) == 1
