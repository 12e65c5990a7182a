from __future__ import annotations

import hashlib
import resource
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from scansnap_core.cli import main
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import training
from scansnap_core.engine.training import train
from scansnap_core.theory import measures

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_topics.yaml"


def arguments(out: Path, *more: str) -> list[str]:
    return ["train", str(EXAMPLE), "--lr-y", "1", "--lr-z", "1", "--steps", "5", "--out", str(out), *more]


def test_it_stores_what_train_returns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.nc"
    options = "--lr-y 1 2 --lr-z 0.5 --steps 20 --seeds 0-1,7 --batch-size 16 --seq-len 32 --optimizer momentum"
    more = "--momentum 0.8 --initial random --record 10 --rng replay --dtype float32 --device cpu"
    assert main(["train", str(EXAMPLE), *options.split(), *more.split(), "--out", str(out)]) == 0
    stdout, stderr = capsys.readouterr()
    assert stderr == ""
    with xr.open_dataset(out, engine="h5netcdf") as stored:
        expected = train(
            SequenceClasses.load(EXAMPLE), lr_y=[1, 2], lr_z=0.5, steps=20, seeds=[0, 1, 7], batch_size=16, seq_len=32,
            optimizer="momentum", momentum=0.8, initial="random", record=10, rng="replay", dtype="float32",
            device="cpu",
        )  # fmt: skip
        xr.testing.assert_equal(stored, expected)
        assert stored.attrs.items() >= expected.attrs.items()
        assert stored.attrs["command"].startswith(
            f"scansnap train {shlex.quote(str(EXAMPLE))} --lr-y 1 2 --lr-z 0.5 --steps 20"
        )
        assert stored.attrs["numpy_version"] == np.__version__
        assert {"scansnap_core_version", "torch_version", "class_file_sha256"} <= stored.attrs.keys()
    lines = stdout.splitlines()
    assert len(lines) == 1 + 6 + 1
    classes = SequenceClasses.load(EXAMPLE)
    H = measures.entropy(measures.attention(expected.Z.isel(recorded=-1), classes), classes)
    one = {"seed": 2, "rate": 1}
    first, second = H.isel(one).values
    loss = float(expected.loss.isel(one).isel(step=-1))
    assert lines[6] == f"seed 7, lr_y 2, lr_z 0.5: {loss:.4g}; {first:.4g} {second:.4g}"
    assert lines[7] == f"stored in {out}"


@pytest.mark.parametrize(("model", "by"), [("residual", "class"), ("heads 2", "head and class")])
def test_a_variant_is_summed_up_too(model: str, by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path / "run.nc", "--model", model, "--initial", "random")) == 0
    head, line, _ = capsys.readouterr().out.splitlines()
    assert f"and by {by} the entropy" in head
    with xr.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as run:
        classes = SequenceClasses.load(EXAMPLE)
        H = measures.entropy(measures.attention(run.Z.isel(recorded=-1), classes), classes)
    assert line.partition("; ")[2] == " ".join(f"{value:.4g}" for value in H.values.ravel())


def test_the_expectation_at_infinite_length(tmp_path: Path) -> None:
    out = tmp_path / "run.nc"
    assert main(arguments(out, "--expectation", "--seq-len", "inf")) == 0
    with xr.open_dataset(out, engine="h5netcdf") as stored:
        assert stored.attrs["seq_len"] == np.inf
        assert stored.attrs["batch_size"] == "expectation"
        assert stored.loss.isel(step=0).item() == pytest.approx(np.log(11), rel=1e-9, abs=0)


def test_attention_moves_to_the_distinct_tokens_as_the_example_says(tmp_path: Path) -> None:
    out = tmp_path / "run.nc"
    assert main([*arguments(out), "--steps", "200"]) == 0
    classes = SequenceClasses.load(EXAMPLE)
    with xr.open_dataset(out, engine="h5netcdf") as stored:
        c = measures.attention(stored.Z, classes).isel(seed=0, rate=0, recorded=-1)
    at_first = c.copy(data=classes.compact.probs)
    for n, (topic, winner) in enumerate({"ship": "wave", "plane": "cloud"}.items()):
        own, before = c.sel({"class": topic}), at_first.sel({"class": topic})
        assert (own < before).sel(token=["and", "blue"]).all()
        distinct = classes.labels(classes.distinct_tokens(n))
        gain = own.sel(token=distinct) / before.sel(token=distinct)
        assert gain.idxmax("token") == winner


def test_a_diverged_run_is_stored_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.nc"
    rates = ["--lr-y", "1", "1e200", "--lr-z", "1", "1e200", "--seq-len", "3", "--seeds", "0,1"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(arguments(out, *rates)) == 1
    stdout, stderr = capsys.readouterr()
    with xr.open_dataset(out, engine="h5netcdf") as stored:
        assert (stored.diverged_at.isel(rate=0) == -1).all()
        steps = stored.diverged_at.isel(rate=1).values
        assert np.isfinite(stored.loss.isel(rate=0)).all()
    assert stderr.splitlines() == [
        f"scansnap: run seed={seed}, lr_y=1e+200, lr_z=1e+200 turned NaN at step {step}: its later values are NaN; "
        "use smaller rates"
        for seed, step in enumerate(steps)
    ]
    assert "seed 1, lr_y 1e+200, lr_z 1e+200: nan; nan nan" in stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("there.nc", "there.nc: a stored run is never overwritten; name another file"),
        ("", ": a stored run is never overwritten; name another file"),
        ("nowhere/run.nc", "nowhere/run.nc: No such file or directory: the file can be written; name another file"),
        ("there.nc/run.nc", "there.nc/run.nc: Not a directory: the file can be written"),
        ("x" * 300, ": File name too long: the file can be written"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_training(
    name: str, message: str, tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_early(*_: object, **__: object) -> None:
        raise AssertionError("the training began")

    monkeypatch.setattr(training, "train", too_early)
    (tmp_path / "there.nc").write_text("precious")
    said = refused(*arguments(tmp_path / name))
    assert said.startswith(f"--out {tmp_path}")
    assert message in said
    assert (tmp_path / "there.nc").read_text() == "precious"
    with pytest.raises(AssertionError, match="the training began"):
        main(arguments(tmp_path / "new.nc"))


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="prlimit is Linux's")
def test_a_full_disk_at_the_end_loses_nothing(tmp_path: Path) -> None:
    """A limit on the size of files plays the full disk, in every folder, and is lifted when the program waits."""
    out = tmp_path / "run.nc"
    program = [sys.executable, "-m", "scansnap_core.cli", *arguments(out)]
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, usual[1]))

    with subprocess.Popen(program, preexec_fn=limited, stdout=-1, stderr=-1, text=True) as run:
        assert run.stderr is not None
        line = run.stderr.readline()
        assert line.startswith(f"scansnap: file {out}: File too large: the result waits in memory")
        assert not any(tmp_path.iterdir())
        resource.prlimit(run.pid, resource.RLIMIT_FSIZE, usual)
        stdout, stderr = run.communicate()
    assert (run.returncode, stderr) == (0, "")
    assert stdout.endswith(f"stored in {out}\n")
    with xr.open_dataset(out, engine="h5netcdf") as stored:
        assert stored.sizes["step"] == 5


def test_the_checksum_is_that_of_the_classes_that_were_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classes = tmp_path / "classes.yaml"
    classes.write_bytes(EXAMPLE.read_bytes())
    whole = training.train

    def meanwhile(*given: Any, **more: Any) -> Any:
        classes.unlink()
        return whole(*given, **more)

    monkeypatch.setattr(training, "train", meanwhile)
    command = [
        "train",
        str(classes),
        *["--lr-y", "1", "--lr-z", "1", "--steps", "2", "--out"],
        str(tmp_path / "run.nc"),
    ]
    assert main(command) == 0
    with xr.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as stored:
        assert stored.attrs["class_file_sha256"] == hashlib.sha256(EXAMPLE.read_bytes()).hexdigest()
