"""A sweep on Dask's workers, one of which dies midway, is the sweep made here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from distributed import Client

from scansnap_core.storage import provenance
from scansnap_core.storage.store import JOURNAL
from scansnap_core.sweeps import running
from scansnap_core.sweeps.blocks import blocks
from scansnap_core.sweeps.grid_files import grid_of
from scansnap_core.sweeps.running import run
from tests.refusing import refuses
from tests.sweeps.processes import PATIENCE, SLOW, finished_blocks, start, wait_for
from tests.sweeps.stores import files
from tests.sweeps.test_grids import GOOD

HERE_ALONE = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler on this machine."""
    file = tmp_path / "scheduler.json"
    process = start("distributed.cli.dask_scheduler", *HERE_ALONE, "--port", "0", "--scheduler-file", file)
    wait_for(lambda: file.exists() and '"address"' in file.read_text(), process)
    yield json.loads(file.read_text())["address"]
    process.kill()
    process.communicate()


def worker(scheduler: str) -> subprocess.Popen[str]:
    return start("distributed.cli.dask_worker", scheduler, *HERE_ALONE, "--nthreads", "1", "--no-nanny")


def test_nothing_listens_to_a_network(scheduler: str) -> None:
    """Whoever reaches a scheduler or worker runs code, so the page's commands open them to this machine alone."""
    page = (Path(__file__).parents[2] / "chapters" / "using.md").read_text(encoding="utf8")
    commands = [line for line in page.splitlines() if line.startswith(("dask scheduler", "dask worker"))]
    assert len(commands) == 2
    assert all(" ".join(HERE_ALONE) in command for command in commands)
    process = worker(scheduler)

    def listening() -> set[str]:  # the scheduler is this process's child too
        family = psutil.Process().children(recursive=True)
        connections = [connection for one in family for connection in one.net_connections()]
        return {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN}

    try:
        with Client(scheduler, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
        assert listening() == {"127.0.0.1"}
    finally:
        process.kill()
        process.communicate()


def test_a_worker_dies_midway(scheduler: str, tmp_path: Path) -> None:
    grid, there = grid_of(SLOW | {"seeds": 24}, tmp_path), tmp_path / "there.zarr"
    workers = [worker(scheduler), worker(scheduler)]
    try:
        with ThreadPoolExecutor(1) as aside:
            sweep = aside.submit(run, grid, there, scheduler=scheduler)
            wait_for(lambda: finished_blocks(there) >= 4, workers[1])
            workers[0].kill()
            assert finished_blocks(there) < 20  # of 24
            sweep.result()
    finally:
        for process in workers:
            process.kill()
            process.communicate()
    run(grid, tmp_path / "here.zarr", device="cpu")
    ours, theirs = files(tmp_path / "here.zarr"), files(there)
    assert ours.pop(JOURNAL) != theirs.pop(JOURNAL)  # blocks finish in any order
    assert ours == theirs


def test_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    grid = grid_of(GOOD, Path())
    monkeypatch.setattr(running, "CONNECT_SECONDS", 1)
    with refuses(
        "scheduler tcp://127.0.0.1:9: Timed out …",
        "a Dask scheduler answers at the address",
    ):
        run(grid, tmp_path / "a.zarr", scheduler="tcp://127.0.0.1:9", progress=True)
    said = "scansnap: waiting up to 1 s for a Dask scheduler at tcp://127.0.0.1:9\n"
    assert capsys.readouterr().err.startswith(said)
    with refuses(
        "scheduler nonsense://x: unknown address scheme 'nonsense' (known schemes: …)",
        "a Dask scheduler answers at the address",
    ):
        run(grid, tmp_path / "a.zarr", scheduler="nonsense://x")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with refuses("distributed", "it isn't installed", "pip install 'scansnap_core[cluster]'"):
        run(grid, tmp_path / "a.zarr", scheduler="tcp://127.0.0.1:9")
    run(grid, tmp_path / "a.zarr")


def test_a_worker_with_another_program_is_refused() -> None:
    block = next(blocks(grid_of(GOOD, Path()), "cpu"))
    program = provenance.program()
    assert running.compute_as(program, block).keys() == block.compute().keys()
    for name in ("torch_version", "code"):
        with refuses(f"a worker with {name} {program[name]}", "workers run the program of the store, here 0.1"):
            running.compute_as(program | {name: "0.1"}, block)
