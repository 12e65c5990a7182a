"""What a sweep stores, and that neither blocks nor a kill change a bit of it."""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray as xr

from scansnap_core import BadInput
from scansnap_core.data.datasets import syn_medium, syn_small
from scansnap_core.engine.training import train
from scansnap_core.storage import provenance
from scansnap_core.storage.store import read
from scansnap_core.sweeps import blocks, running
from scansnap_core.sweeps.blocks import Block
from scansnap_core.sweeps.grid_files import grid_of, load_grid
from scansnap_core.sweeps.grids import Grid
from scansnap_core.sweeps.running import run
from scansnap_core.theory import measures
from tests.engine.references import overlapping_classes, scattered_classes
from tests.sweeps.processes import PATIENCE, finished_blocks, start, wait_for
from tests.sweeps.stores import files

CONTENT: dict[str, Any] = {
    "data": ["syn_medium 1", "syn_small", "syn_medium 2"],
    "rates": {"lr_z": [0.5, 2], "ratio": [1, 5]},
    "steps": 6,
    "seeds": [3, 8],
    "optimizer": ["momentum", "adam"],
    "seq_len": [16, 32],
    "batch_size": 8,
    "initial": "random",
}
SLOW = """
data: syn_medium 3
rates: {lr_z: [1, 2], ratio: [1, 5]}
steps: 60
seeds: 16
optimizer: momentum
initial: random
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    path = tmp_path_factory.mktemp("swept") / "a.zarr"
    run(grid_of(CONTENT, Path()), path, command="scansnap sweep")
    return read(path)


WITHOUT_TORCH = """
import sys
from pathlib import Path
from scansnap_core.sweeps.grid_files import grid_of
from scansnap_core.sweeps.running import run
content = {"data": ["syn_small"], "rates": {"lr_z": [1], "ratio": [1]}, "steps": 2, "seeds": 1, "batch_size": 4}
run(grid_of(content, Path()), sys.argv[1], device="cpu")
sys.exit("torch" in sys.modules)
"""


def test_a_sweep_on_a_cpu_waits_for_no_torch(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "a.zarr")], check=True)


def test_it_stores_what_train_returns(swept: xr.Dataset) -> None:
    assert dict(swept.entropy.sizes) == {
        "data": 3, "optimizer": 2, "seq_len": 2, "batch_size": 1, "seed": 2, "rate": 4, "class": 4,
    }  # fmt: skip
    assert {"command", "torch_version", "configuration"} <= swept.attrs.keys()
    assert swept.lr_y.values.tolist() == [0.5, 2.5, 2, 10]
    classes = syn_medium(2)
    expected = train(
        classes, lr_y=[0.5, 2.5, 2, 10], lr_z=[0.5, 0.5, 2, 2], steps=6, seeds=[8], optimizer="adam", seq_len=32,
        batch_size=8, initial="random", dtype="float32",
    ).isel(seed=0, recorded=-1)  # fmt: skip
    one = swept.sel(data="syn_medium 2", optimizer="adam", seq_len=32, batch_size="8", seed=8)
    Z = one.Z.sel(query=classes.compact.queries, token=classes.compact.tokens)
    np.testing.assert_allclose(Z, expected.Z, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(one.final_loss, expected.loss.isel(step=-1), rtol=1e-5)
    H = measures.entropy(measures.attention(expected.Z, classes), classes)
    np.testing.assert_allclose(one.entropy, H, rtol=1e-5)
    np.testing.assert_array_equal(one.diverged_at, -1)
    # what a class system lacks is NaN, and nothing else is
    assert swept.num_classes.values.tolist() == [2, 2, 4]
    assert np.isnan(swept.entropy.sel(data="syn_small")).any(["optimizer", "seed"]).sum("class").max() == 2
    assert np.isfinite(swept.entropy).sum() == (2 + 2 + 4) * 2 * 2 * 2 * 4


IRREGULAR = Grid(
    data={"scattered": scattered_classes(), "syn_small": syn_small(), "overlapping": overlapping_classes()},
    rates=((0.5, 1.0), (2.0, 0.3)),
    steps=3,
    seeds=(8, 3, 5),
    optimizers=("sgd", "momentum"),
    seq_lens=(16, 5),
    batch_sizes=(3, 9, 4, 2),
    initial="random",
)


@pytest.fixture(scope="module")
def irregular(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("irregular") / "a.zarr"
    run(IRREGULAR, path, device="cpu")
    return path


def test_every_run_of_an_irregular_grid_lies_at_its_labels(irregular: Path) -> None:
    stored = read(irregular)
    assert stored.token.values.tolist() == list(range(30))
    assert stored["query"].values.tolist() == [3, 6, 7, 8, 12, 30, 31]
    for name, classes in IRREGULAR.data.items():
        compact = classes.compact
        for optimizer, seq_len, batch_size in itertools.product(("sgd", "momentum"), (16, 5), (3, 9, 4, 2)):
            expected = train(
                classes, lr_y=[0.5, 2.0], lr_z=[1.0, 0.3], steps=3, seeds=[8, 3, 5], optimizer=optimizer,
                seq_len=seq_len, batch_size=batch_size, initial="random", dtype="float32", device="cpu",
            ).isel(recorded=-1)  # fmt: skip
            one = stored.sel(data=name, optimizer=optimizer, seq_len=seq_len, batch_size=str(batch_size))
            Z = expected.Z.reindex(query=stored["query"], token=stored.token)  # NaN where the classes hold nothing
            assert np.isfinite(Z).sum() == 6 * len(compact.queries) * len(compact.tokens)
            np.testing.assert_allclose(one.Z, Z, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(one.final_loss, expected.loss.isel(step=-1), rtol=1e-5)
            H = measures.entropy(measures.attention(expected.Z, classes), classes)
            np.testing.assert_allclose(one.entropy[..., : classes.num_classes], H, rtol=1e-5, atol=1e-6)
            assert np.isnan(one.entropy[..., classes.num_classes :]).all()
    assert len(np.unique(stored.final_loss)) > 0.98 * stored.final_loss.size  # no two of them are one


def test_which_blocks_are_there_counts_and_not_how_many(
    irregular: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster's workers finish in any order: what it leaves has gaps."""
    path, there, computed = tmp_path / "a.zarr", [60, 0, 143, 17], []
    here = running._here

    def some(left: Iterator[Block]) -> running.Results:
        chosen = {block.number: block for block in left}
        yield from here(iter([chosen[number] for number in there]))

    def watched(left: Iterator[Block]) -> running.Results:
        for block, values in here(left):
            computed.append(block.number)
            yield block, values

    monkeypatch.setattr(running, "_here", some)
    run(IRREGULAR, path, device="cpu")
    with pytest.raises(BadInput, match="4 of 144 blocks"):
        read(path)
    monkeypatch.setattr(running, "_here", watched)
    run(IRREGULAR, path, device="cpu")
    assert computed == [number for number in range(144) if number not in there]
    xr.testing.assert_equal(read(path), read(irregular))


def test_progress_counts_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of a store that is continued; a block here is 2 rates of 1 seed."""
    bars: list[dict[str, Any]] = []

    @contextmanager
    def bar(things: None, show: bool, *, total: int, initial: int, unit: str) -> Iterator[Any]:
        bars.append({"total": total, "initial": initial, "unit": unit, "moved": 0})
        yield SimpleNamespace(update=lambda runs: bars[-1].update(moved=bars[-1]["moved"] + runs))

    here = running._here
    grid = grid_of(CONTENT | {"data": "syn_small", "optimizer": "sgd", "seq_len": 16}, Path())
    monkeypatch.setattr(running, "progress_bar", bar)
    monkeypatch.setattr(running, "_here", lambda left: here(itertools.islice(left, 1)))
    run(grid, tmp_path / "a.zarr", device="cpu")
    monkeypatch.setattr(running, "_here", here)
    run(grid, tmp_path / "a.zarr", device="cpu")
    first, second = bars
    assert first["total"] == second["total"] == grid.num_runs == 8
    assert first["initial"] == 0
    assert 1 < first["moved"] < 8
    assert second["initial"] == first["moved"] == 8 - second["moved"]


def test_the_store_names_the_program(irregular: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = provenance.program("scansnap_core.sweeps.blocks")
    configuration = json.loads(read(irregular).configuration)
    assert program.items() <= configuration.items()
    assert configuration["device"] == "cpu"
    before = files(irregular)
    monkeypatch.setattr(running, "program", lambda module: program | {"code": "another"})
    with pytest.raises(BadInput, match=f'code = "{program["code"]}", asked for is "another": .* to the code of commit'):
        run(IRREGULAR, irregular, device="cpu")
    assert files(irregular) == before


def test_blocks_do_not_matter(swept: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "RATES_PER_BLOCK", 3)
    grid = grid_of(CONTENT, Path())
    assert blocks.layout_of(grid).num_blocks == 2 * 24
    run(grid, tmp_path / "a.zarr")
    other = read(tmp_path / "a.zarr")
    xr.testing.assert_equal(other.sel(optimizer="momentum"), swept.sel(optimizer="momentum"))
    for name in ("entropy", "final_loss", "diverged_at"):  # Adam's products run over all rates of a block at once
        xr.testing.assert_allclose(other[name], swept[name], rtol=1e-5, atol=0)
    one_seed = grid_of(CONTENT | {"seeds": [8]}, Path())
    run(one_seed, tmp_path / "b.zarr")
    xr.testing.assert_equal(read(tmp_path / "b.zarr"), other.sel(seed=[8]))


def test_seeds_matter(swept: xr.Dataset) -> None:
    assert not np.isclose(swept.final_loss.sel(seed=3), swept.final_loss.sel(seed=8), atol=0).any()


def test_the_expectation_at_infinite_length(tmp_path: Path) -> None:
    content = CONTENT | {"seq_len": np.inf, "batch_size": "expectation", "initial": "zero", "data": "syn_small"}
    run(grid_of(content, Path()), tmp_path / "a.zarr")
    result = read(tmp_path / "a.zarr")
    assert (result.seq_len.values.tolist(), result.batch_size.values.tolist()) == ([np.inf], ["expectation"])
    xr.testing.assert_equal(result.Z.sel(seed=3), result.Z.sel(seed=8).assign_coords(seed=3))


def test_diverged_runs_are_stored_and_named(tmp_path: Path) -> None:
    content = CONTENT | {"data": "syn_small", "rates": {"pairs": [[1, 1], [1e200, 1e200]]}, "dtype": "float64"}
    run(grid_of(content | {"optimizer": "sgd", "seq_len": 3}, Path()), tmp_path / "a.zarr")
    result = read(tmp_path / "a.zarr")
    assert (result.diverged_at.isel(rate=0) == -1).all()
    assert (result.diverged_at.isel(rate=1) >= 0).all()
    assert np.isnan(result.entropy.isel(rate=1)).all()


def test_whether_progress_is_shown_is_yes_or_no(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="progress = 3: it is True or False"):
        run(grid_of(CONTENT, Path()), tmp_path / "a.zarr", progress=3)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_more_runs_than_the_disk_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = grid_of(CONTENT, Path())
    path = tmp_path / "a.zarr"
    run(grid, path)
    written = sum(map(len, files(path).values()))
    assert written / 2 < blocks.num_bytes(grid, blocks.layout_of(grid)) < 20 * written
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(2, 1, blocks.num_bytes(grid, blocks.layout_of(grid)) - 1))
    run(grid, path)  # it needs no room any more
    message = r"96 runs, up to 0\.\d+ MB: the disk of .*b\.zarr holds them: 0\.\d+ MB are free; take fewer runs, or"
    with pytest.raises(BadInput, match=message):
        run(grid, tmp_path / "b.zarr")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.zarr"]
    many = grid_of(CONTENT | {"seeds": 1_000_000}, Path())
    with pytest.raises(BadInput, match=r"48,000,000 runs, up to [\d,]+\.\d+ MB: the disk of .* take fewer runs"):
        run(many, tmp_path / "b.zarr")


def test_killed_and_continued_it_is_the_same_to_the_last_byte(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(SLOW)
    out = tmp_path / "a.zarr"
    command = ("scansnap_core.cli", "sweep", tmp_path / "grid.yaml", "--out", out)
    process = start(*command)
    wait_for(lambda: finished_blocks(out) >= 3, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    kept = finished_blocks(out)
    assert 3 <= kept < 16
    shutil.copytree(out, tmp_path / "killed.zarr")

    process = start(*command)
    stdout, stderr = process.communicate()
    assert (process.returncode, stdout, stderr) == (0, f"64 runs stored in {out}\n", "")
    killed = files(tmp_path / "killed.zarr")
    journal = killed.pop("blocks.journal")
    continued = files(out)
    assert continued["blocks.journal"].startswith(journal)
    # all that was there is there still; a temporary file of the block that was cut short may be gone
    assert {name: continued.get(name) for name in killed if not name.endswith(".partial")}.items() <= continued.items()

    shutil.move(out, tmp_path / "continued.zarr")
    told = shlex.join(["scansnap", *map(str, command[1:])])
    run(load_grid(str(tmp_path / "grid.yaml")), out, command=told)
    assert files(out) == files(tmp_path / "continued.zarr")

    run(load_grid(str(tmp_path / "grid.yaml"), seeds=1, rng="replay"), tmp_path / "control.zarr", command=told)
    assert not read(tmp_path / "control.zarr").Z.equals(read(out).Z.sel(seed=[1]))


class Staged:
    """A block that says when it begins, and may take many tasks."""

    is_compiled = True

    def __init__(self, number: int, tasks: int = 0) -> None:
        self.number, self.tasks, self.began, self.done = number, tasks, threading.Event(), 0

    def compute(self, threads: ThreadPoolExecutor) -> int:
        self.began.set()
        list(threads.map(self.task, range(self.tasks)))
        return self.number

    def task(self, _: int) -> None:
        self.done += 1
        time.sleep(0.01)


def test_whoever_stops_a_sweep_does_not_wait_for_what_is_left_of_a_block() -> None:
    blocks = [Staged(0), Staged(1, tasks=5000)]
    results: Any = running._here(iter(blocks))  # type: ignore[arg-type]
    next(results)
    assert blocks[1].began.wait(PATIENCE)
    results.close()
    assert blocks[1].done < 5000
