"""What a sweep stores, and that neither blocks nor a kill change a bit of it."""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml

from scansnap_core.base.rules import FLAG, PATH
from scansnap_core.data.datasets import syn_medium, syn_small
from scansnap_core.engine.training import train
from scansnap_core.storage import provenance
from scansnap_core.storage.store import JOURNAL, read
from scansnap_core.sweeps import blocks, running
from scansnap_core.sweeps.blocks import Block
from scansnap_core.sweeps.grid_files import grid_of, load_grid
from scansnap_core.sweeps.grids import Grid
from scansnap_core.sweeps.running import GRID, run
from scansnap_core.theory import measures
from tests.engine.references import overlapping_classes, scattered_classes
from tests.refusing import refuses
from tests.sweeps.processes import SLOW, finished_blocks, start, wait_for
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
    """A cluster's workers finish in any order, so what they leave has gaps; the bar counts runs."""
    path, there, here = tmp_path / "a.zarr", [60, 0, 143, 17], running._in_this_process
    bars: list[dict[str, Any]] = []

    @contextmanager
    def bar(things: None, show: bool, *, total: int, initial: int, unit: str) -> Iterator[Any]:
        bars.append({"total": total, "initial": initial, "moved": 0})
        yield SimpleNamespace(update=lambda runs: bars[-1].update(moved=bars[-1]["moved"] + runs))

    def some(left: Iterator[Block]) -> running.Results:
        return here(block for block in left if block.number in there)

    monkeypatch.setattr(running, "progress_bar", bar)
    with monkeypatch.context() as patch:
        patch.setattr(running, "_in_this_process", some)
        run(IRREGULAR, path, device="cpu")
    with refuses("store …/a.zarr: 4 of 144 blocks", "a store is read when its blocks are finished"):
        read(path)
    run(IRREGULAR, path, device="cpu")
    assert bars == [{"total": 288, "initial": 0, "moved": 8}, {"total": 288, "initial": 8, "moved": 280}]
    xr.testing.assert_equal(read(path), read(irregular))


def test_the_store_names_the_program(irregular: Path) -> None:
    program = provenance.program()
    assert (program | {"device": "cpu"}).items() <= json.loads(read(irregular).configuration).items()


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


def test_the_expectation_at_infinite_length(tmp_path: Path) -> None:
    content = CONTENT | {"seq_len": np.inf, "batch_size": "expectation", "initial": "zero", "data": "syn_small"}
    run(grid_of(content, Path()), tmp_path / "a.zarr")
    result = read(tmp_path / "a.zarr")
    assert (result.seq_len.values.tolist(), result.batch_size.values.tolist()) == ([np.inf], ["expectation"])
    xr.testing.assert_equal(result.Z.sel(seed=3), result.Z.sel(seed=8).assign_coords(seed=3))


@pytest.mark.parametrize(
    ("wrong", "value", "rule"),
    [
        ({"grid": 5}, "grid = 5", GRID.says),
        ({"out": 5}, "out = 5", PATH.says),
        ({"progress": 3}, "progress = 3", FLAG.says),
    ],
)
def test_bad_arguments(wrong: dict[str, Any], value: str, rule: str, tmp_path: Path) -> None:
    with refuses(value, rule):
        run(**{"grid": grid_of(CONTENT, Path()), "out": tmp_path / "a.zarr"} | wrong)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_more_runs_than_the_disk_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid, path = grid_of(CONTENT, Path()), tmp_path / "a.zarr"
    run(grid, path)
    needed = blocks.layout_of(grid).num_bytes
    assert 0.5 < needed / sum(map(len, files(path).values())) < 20
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=needed - 1))
    run(grid, path)  # it is there
    with refuses(
        "96 runs, up to 0.… MB",
        "the disk of …/b.zarr holds them: 0.… MB are free",
        "take fewer runs, or another disk",
    ):
        run(grid, tmp_path / "b.zarr")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.zarr"]


def test_killed_and_continued_it_is_the_same_to_the_last_byte(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(SLOW))
    out = tmp_path / "a.zarr"
    command = ("scansnap_core.cli", "sweep", tmp_path / "grid.yaml", "--out", out)
    process = start(*command)
    wait_for(lambda: finished_blocks(out) >= 3, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert 3 <= finished_blocks(out) < 16
    journal = (out / JOURNAL).read_bytes()

    process = start(*command)
    stdout, stderr = process.communicate()
    assert (process.returncode, stdout, stderr) == (0, f"64 runs stored in {out}\n", "")
    continued = files(out)
    assert continued[JOURNAL].startswith(journal[: journal.rindex(b"\n")])
    shutil.rmtree(out)
    run(load_grid(str(tmp_path / "grid.yaml")), out, command=shlex.join(["scansnap", *map(str, command[1:])]))
    assert files(out) == continued


WITHOUT_A_DRIVER = """
import sys
from pathlib import Path
from scansnap_core.engine import settings
from scansnap_core.sweeps.grid_files import load_grid
from scansnap_core.sweeps.running import run

settings.has_driver = lambda: False
run(load_grid("fig6", seeds=1), Path(sys.argv[1]))
print("torch" in sys.modules)
"""


def test_a_sweep_on_a_cpu_never_imports_torch(tmp_path: Path) -> None:
    """The import takes a second, as long as a tenth of the whole sweep of Fig. 6."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_DRIVER, str(tmp_path / "fig6.zarr")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "False"
