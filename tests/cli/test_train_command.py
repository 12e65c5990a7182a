from __future__ import annotations

import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from scansnap_core.cli import main
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.engine import training
from scansnap_core.engine.names import OPTIMIZERS
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


def test_names_are_stored(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("classes:\n  - {name: ship, query: the, probs: {and: 3e-1, wave: 0.7}}\n")
    out = tmp_path / "run.nc"
    rest = ["--lr-y", "1", "--lr-z", "1", "--steps", "2", "--device", "cpu", "--out", str(out)]
    assert main(["train", str(tmp_path / "a.yaml"), *rest]) == 0
    with xr.open_dataset(out, engine="h5netcdf") as run:
        assert run.token.values.tolist() == ["and", "wave"]
        assert run["query"].values.tolist() == ["the"]
        assert run.output.values.tolist() == ["ship", "(others)"]


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
    ("more", "message"),
    [
        (["--lr-y", "0"], "--lr-y 0.0: a learning rate is positive and finite; pass e.g. 1.0"),
        (["--lr-z", "nan"], "--lr-z nan: a learning rate"),
        (["--lr-y", "1", "2", "--lr-z", "1", "2", "3"], "2 values of lr_y and 3 of lr_z: rates are paired"),
        (["--steps", "0"], "--steps 0: a positive integer"),
        (["--seq-len", "1"], "--seq-len 1.0: T is a whole number"),
        (["--batch-size", "0"], "--batch-size 0: a positive integer"),
        (["--expectation"], "--expectation with --seq-len 128: the expectation"),
        (["--seeds", "one"], "--seeds one: seeds are integers or ascending ranges; pass e.g. 0,1,2 or 0-9"),
        (["--seeds", "3-1"], "--seeds 3-1: seeds are"),
        (["--seeds", ""], "--seeds : seeds are"),
        (["--out", ""], "--out .: a stored run is never overwritten"),
        (["--momentum", "0.5"], "--momentum 0.5 with the optimizer sgd: only the optimizer momentum has it; leave it"),
        (["--seeds=-1"], "--seeds -1: seeds are"),
        (["--optimizer", "lion"], f"--optimizer lion: the choices are {', '.join(OPTIMIZERS)}"),
        (["--device", "tpu"], "--device tpu: a device is auto, cpu or cuda"),
        (["--initial", "one"], "--initial one: the choices are zero, random"),
        (["--record", "0"], "--record 0: a positive integer"),
    ],
)
def test_bad_input(more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.nc"
    assert main(arguments(out, *more)) == 2
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert stderr.startswith(f"scansnap: error: {message}")
    assert stderr.count("\n") == 1
    assert not out.exists()


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
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_early(*_: object, **__: object) -> None:
        raise AssertionError("the training began")

    monkeypatch.setattr(training, "train", too_early)
    (tmp_path / "there.nc").write_text("precious")
    assert main(arguments(tmp_path / name)) == 2
    stderr = capsys.readouterr().err
    assert stderr.startswith(f"scansnap: error: --out {tmp_path}")
    assert message in stderr
    assert (tmp_path / "there.nc").read_text() == "precious"
    with pytest.raises(AssertionError, match="the training began"):
        main(arguments(tmp_path / "new.nc"))


def test_the_installed_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scansnap_core.cli"]
    done = subprocess.run([*command, *arguments(tmp_path / "run.nc")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    again = subprocess.run([*command, *arguments(tmp_path / "run.nc")], capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert again.stderr.count("\n") == 1
    assert "Traceback" not in again.stderr
