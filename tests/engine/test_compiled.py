"""The compiled program against the readable one, over what can differ: initial values, supports, batches, rates."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from scansnap_core.data.datasets import syn_medium, syn_small, with_overlap
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import compiled, kernel
from scansnap_core.engine.compiled import SharedRuns
from scansnap_core.engine.settings import Settings
from scansnap_core.engine.training import train
from tests.engine.references import frequent_classes, overlapping_classes

BOUND = {"float64": 1e-10, "float32": 1e-5}
OPTIONS: dict[str, Any] = {
    "lr_y": [1.0, 3.0], "lr_z": [0.5, 2.0], "steps": 20, "batch_size": 32, "seq_len": 64, "optimizer": "momentum",
    "initial": "random", "record": [20], "rng": "fresh", "device": "cpu", "dtype": "float64",
}  # fmt: skip


def both(classes: SequenceClasses, **changes: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    options = OPTIONS | changes
    ours = SharedRuns(classes, Settings.checked(**options, seeds=[3])).finish()
    result = train(classes, **options, seeds=[3]).isel(seed=0, recorded=-1)
    return ours, {name: result[name].values for name in ours}


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest, relative to the largest entry."""
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


@pytest.mark.parametrize("change", [{"lr_z": [0.5001, 2.0]}, {"momentum": 0.8999}, {"steps": 19, "record": [19]}])
def test_control_a_nearby_training_is_not_it(change: dict[str, Any]) -> None:
    ours, _ = both(syn_medium(3), dtype="float32")
    _, theirs = both(syn_medium(3), dtype="float32", **change)
    assert difference(ours["Z"], theirs["Z"]) > BOUND["float32"]


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
def test_divergence_is_told_alike() -> None:
    ours, theirs = both(syn_small(), lr_y=[1, 1e200], lr_z=[1, 1e200], seq_len=3, optimizer="sgd")
    assert theirs["diverged_at"][0] == -1
    assert theirs["diverged_at"][1] >= 0
    np.testing.assert_array_equal(ours["diverged_at"], theirs["diverged_at"])


@pytest.mark.parametrize("rng", ["fresh", "replay", "counter"])
def test_neither_chunks_nor_threads_nor_other_rates_change_a_bit(rng: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = OPTIONS | {"dtype": "float32", "seeds": [3], "rng": rng}
    whole = SharedRuns(syn_medium(3), Settings.checked(**options)).finish()
    monkeypatch.setattr(compiled, "CHUNK", 7)
    with ThreadPoolExecutor(3) as threads:
        for pool in (None, threads):
            parts = SharedRuns(syn_medium(3), Settings.checked(**options)).finish(pool)
            assert all(np.array_equal(parts[name], whole[name]) for name in whole)
    alone = SharedRuns(syn_medium(3), Settings.checked(**options | {"lr_y": 3.0, "lr_z": 2.0})).finish()
    assert all(np.array_equal(alone[name][0], whole[name][1]) for name in whole)
    assert not np.array_equal(alone["Z"][0], whole["Z"][0])


def test_a_training_is_the_same_under_heap_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each step malloc's free list is stirred, so that the step's arrays lie elsewhere each time."""
    options = Settings.checked(
        lr_y=[0.1, 0.3], lr_z=[0.05, 0.2], steps=300, seeds=[3], batch_size=8, seq_len=64, optimizer="momentum",
        momentum=0.9, initial="random", record=[300], rng="fresh", device="cpu", dtype="float32",
    )  # fmt: skip
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    rng, sample, stirred = np.random.default_rng(0), SharedRuns._sample, []

    def stir_and_sample(runs: SharedRuns, first: int) -> Any:
        rooms = [libc.malloc(size) for size in rng.integers(16, 600, 100).tolist()]
        for room in rng.permutation(rooms):
            libc.free(int(room))
        stirred.append(first)
        return sample(runs, first)

    for distinct in (6, 7, 23):  # supports of 7 and 8 places, which 8 hold, and of 24
        classes = with_overlap(3, 3 * (distinct + 1) + 20, 0.3, distinct_weights=np.arange(1.0, distinct + 1))
        quiet = SharedRuns(classes, options).finish()
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "CHUNK", 1)
            patch.setattr(SharedRuns, "_sample", stir_and_sample)
            noisy = SharedRuns(classes, options).finish()
        for name in ("loss", "Z"):
            np.testing.assert_array_equal(noisy[name], quiet[name])
    assert len(stirred) == 3 * 300


def test_all_trainings_share_two_compiled_programs() -> None:
    """Processes that compile at once must compile the same types in the same order; a third would come in any."""
    for dtype in ("float64", "float32"):
        classes = pickle.loads(pickle.dumps(syn_medium(1)))
        classes.compact.query_row.flags.writeable = False
        for rng in ("fresh", "replay", "counter"):
            SharedRuns(classes, Settings.checked(**OPTIONS | {"dtype": dtype, "seeds": [3], "rng": rng})).finish()
    assert len(kernel.draw.signatures) == 1
    assert [str(signature[4]) for signature in kernel.climb.signatures] == ["float32", "float64"]


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
