"""A training's store: what it holds, that a kill changes no bit of it, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import xarray as xr

from scansnap_core.base import files as files_module
from scansnap_core.storage import provenance
from scansnap_core.storage.store import Store, read
from scansnap_core.text.recording import NotRepeated, check_repeated, record, train_text
from scansnap_core.text.settings import Settings
from tests.refusing import refuses
from tests.sweeps.processes import finished_blocks, start, wait_for
from tests.sweeps.stores import files
from tests.text.tiny import small_corpus

CORPUS = small_corpus()
SMALL = Settings(steps=14, every=4, embedding=8, hidden=6, context=10, batch_size=5, lr=0.5, layers=2)


class Killed(BaseException):
    """In place of SIGKILL, where a test wants to choose the moment."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("undisturbed") / "run.zarr"
    record(CORPUS, SMALL, path, command="scansnap text train")
    return path


def test_it_stores_what_train_text_returns(undisturbed: Path) -> None:
    stored, (inside, training) = read(undisturbed), train_text(CORPUS, SMALL)
    assert stored.step.values.tolist() == [0, 4, 8, 12, 14]
    assert dict(stored.maps.sizes) == {"snapshot": 5, "layer": 2, "sequence": 2, "query": 10, "key": 10}
    xr.testing.assert_equal(stored.drop_vars("state"), inside)
    assert {"command", "configuration", "torch_version"} <= stored.attrs.keys()
    assert '"trained_on": "generated"' in stored.configuration
    # beside it lies the trained model, and no older state
    state = undisturbed / "state-4.pt"
    assert [file.name for file in undisturbed.glob("state-*")] == [state.name]
    kept = torch.load(state, weights_only=True)["model"]
    assert all(torch.equal(kept[name], value) for name, value in training.model.state_dict().items())


def raising_after(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    left = [calls]

    def wrapped(*arguments: Any) -> Any:
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        return function(*arguments)

    return wrapped


def killed_after_two(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", raising_after(2, Store.write))
        with pytest.raises(Killed):
            record(CORPUS, SMALL, path, command="scansnap text train")


@pytest.mark.parametrize("calls", [0, 1, 3, 4])
@pytest.mark.parametrize(("owner", "name"), [(Store, "write"), (files_module, "save"), (os, "replace")])
def test_killed_anywhere(
    calls: int, owner: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Path
) -> None:
    path = tmp_path / "run.zarr"
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, raising_after(calls, getattr(owner, name)))
        with pytest.raises(Killed):
            record(CORPUS, SMALL, path, command="scansnap text train")
    assert finished_blocks(path) <= calls
    record(CORPUS, SMALL, path, command="scansnap text train")
    assert files(path) == files(undisturbed)


def test_killed_from_outside(tmp_path: Path) -> None:
    def command(name: str) -> list[str | Path]:
        arguments = ["--corpus", "topics", "--steps", "12", "--every", "3", "--lr", "1", "--device", "cpu"]
        return ["scansnap_core.cli", "text", "train", *arguments, "--out", tmp_path / name]

    process = start(*command("killed.zarr"))
    wait_for(lambda: finished_blocks(tmp_path / "killed.zarr") >= 2, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert 2 <= finished_blocks(tmp_path / "killed.zarr") < 5
    for name in ("killed.zarr", "whole.zarr"):
        process = start(*command(name))
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    killed, whole = (read(tmp_path / name) for name in ("killed.zarr", "whole.zarr"))
    xr.testing.assert_equal(killed, whole)
    assert f"stored in {tmp_path / 'whole.zarr'}" in out
    assert "trained on the generated split of topics" in out
    assert f"12: {float(whole.loss[-1]):.3f}; {float(whole.entropy[-1, 0]):.3f}" in out


def test_another_training_is_refused(undisturbed: Path) -> None:
    before = files(undisturbed)
    for settings, corpus, differs in (
        (dataclasses.replace(SMALL, lr=1.0), CORPUS, "lr = 0.5, asked for is 1.0"),
        (SMALL, dataclasses.replace(CORPUS, trained_on="test"), "trained_on = 'generated', asked for is 'test'"),
        (SMALL, dataclasses.replace(CORPUS, sha256={"valid": "ab"}), "sha256_valid = None, asked for is 'ab'"),
    ):
        with refuses(f"store {undisturbed}: {differs}", "a store holds one configuration"):
            record(corpus, settings, undisturbed)
    assert files(undisturbed) == before


def test_the_store_names_the_program(undisturbed: Path) -> None:
    program = provenance.program()
    assert program.items() <= json.loads(read(undisturbed).configuration).items()


@pytest.mark.parametrize("damage", ["missing", "flipped", "truncated", "of another step"])
def test_a_damaged_state_is_refused(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.zarr"
    killed_after_two(path, monkeypatch)
    state, ahead = path / "state-1.pt", path / "state-2.pt"
    content = state.read_bytes()
    if damage == "missing":
        state.unlink()
    elif damage == "flipped":
        state.write_bytes(content[:999] + bytes([content[999] ^ 1]) + content[1000:])
    elif damage == "truncated":
        state.write_bytes(content[:-1])
    else:
        shutil.copy(ahead, state)
    how = "is missing" if damage == "missing" else "fails its checksum"
    with refuses(f"store {path}: state-1.pt {how}", "training goes on from the state it was left in"):
        record(CORPUS, SMALL, path)
    assert finished_blocks(path) == 2
    state.write_bytes(content)
    record(CORPUS, SMALL, path)
    assert finished_blocks(path) == 5


def test_what_a_kill_left_goes_with_the_next_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Path
) -> None:
    path = tmp_path / "run.zarr"
    killed_after_two(path, monkeypatch)
    for name in ("state-0.pt", ".state-1.pt.17.partial"):
        (path / name).write_bytes(b"left behind")
    record(CORPUS, SMALL, path, command="scansnap text train")
    assert files(path) == files(undisturbed)


# -- the beginning of a record, again --------------------------------------------------------------------------------

REPEATED = Settings(steps=12, every=3, embedding=8, hidden=6, context=10, batch_size=5, lr=0.5, layers=2)
BEGINNING = dataclasses.replace(REPEATED, steps=6)


@pytest.fixture(scope="module")
def recorded() -> xr.Dataset:
    """As the results hold it: with a layer more, which this training doesn't have."""
    run = train_text(CORPUS, REPEATED)[0].swap_dims(snapshot="step")
    return run[["loss", "entropy"]].reindex(layer=[1, 2, 3])


@pytest.mark.parametrize("change", [{"seed": 1}, {"lr": 0.6}, {"dropout": 0.1}, {"positions": False}])
def test_the_same_training_and_another(change: dict[str, Any], recorded: xr.Dataset) -> None:
    check_repeated(recorded, CORPUS, BEGINNING, tolerance=1e-4)
    with pytest.raises(NotRepeated, match=r"loss differs from the record by .* within 6 steps, where 0.0001 is"):
        check_repeated(recorded, CORPUS, dataclasses.replace(BEGINNING, **change), tolerance=1e-4)


@pytest.mark.parametrize("name", ["loss", "entropy"])
@pytest.mark.parametrize("by", [2e-4, float("nan")])
def test_each_snapshot_and_layer_counts(name: str, by: float, recorded: xr.Dataset) -> None:
    at = recorded.step == 3
    if name == "entropy":
        at = at & (recorded.layer == 2)
    changed = recorded.assign({name: recorded[name].where(~at, recorded[name] + by)})
    with pytest.raises(NotRepeated, match=f"{name} differs"):
        check_repeated(changed, CORPUS, BEGINNING, tolerance=1e-4)
    after = recorded.assign({name: recorded[name].where(recorded.step <= 6)})
    check_repeated(after, CORPUS, BEGINNING, tolerance=1e-4)


def test_snapshots_that_the_record_lacks(recorded: xr.Dataset) -> None:
    with refuses("recorded steps [0, 3, 6, 9, 12]", "they lack [4], where a training of these settings is seen"):
        check_repeated(recorded, CORPUS, dataclasses.replace(REPEATED, steps=4), tolerance=1e-4)
