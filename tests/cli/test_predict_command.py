from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import scansnap_core as ss
from scansnap_core.base.digits import digits
from scansnap_core.cli import main
from scansnap_core.law import exact, log_tau, trials
from scansnap_core.law.answer import answer
from scansnap_core.law.answer_numbers import NAMES, numbers
from scansnap_core.law.expected_error import LIKELY

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_topics.yaml"
RATES = ["--lr-y", "1", "--lr-z", "0.1"]


def test_predict_prints_what_the_law_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(EXAMPLE), *RATES, "--until", "1000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = ss.predict(ss.SequenceClasses.load(EXAMPLE), 1, 0.1, [1000])
    head = lines.index("class ship: z of its common token and, its dominant token wave, its rarest token harbour")
    last = lines[head + 8].split()
    assert float(last[0]) == 1000
    tokens = dict(zip(found.token.values.tolist(), found.Z.values[0, 0].tolist(), strict=True))
    assert [float(z) for z in last[1:4]] == pytest.approx(
        [tokens[name] for name in ("and", "wave", "harbour")], rel=1e-3, abs=0
    )
    assert float(last[4]) == pytest.approx(float(found.entropy[0, 0]), abs=1e-4)
    assert last[5] == str(found.phase.values[0, 0])


def test_predict_says_the_answer_first(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--until", "1000", "--seq-len", "64", "--optimizer", "momentum", "--momentum", "0.5"]
    assert main(["predict", str(EXAMPLE), *RATES, *options]) == 0
    said = capsys.readouterr().out.partition("class ship")[0]
    told = answer(ss.SequenceClasses.load(EXAMPLE), 1, 0.1, 1000, seq_len=64, optimizer="momentum", momentum=0.5)
    paragraphs = [f"{topic}. {' '.join(sentences)}" for topic, sentences in told.items()]
    assert " ".join(said.split()) == " ".join(
        ["K = 2 classes, M = 11 tokens; z of full batches; t in updates", *paragraphs]
    )


def test_predict_takes_a_batch_size_and_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    classes = ss.SequenceClasses.load(EXAMPLE)
    printed = {}
    for size in (None, 1, 8):
        asked = [] if size is None else ["--batch-size", str(size)]
        assert main(["predict", str(EXAMPLE), *RATES, "--until", "30", *asked]) == 0
        said = printed[size] = capsys.readouterr().out
        found = ss.predict(classes, 1, 0.1, [30], batch_size=size)
        common = list(map(str, classes.coords["token"])).index("and")
        assert f"{float(found.Z[0, 0, common]):.4g}" in said.partition("class ship")[2].splitlines()[8]
    words = {size: " ".join(said.split()) for size, said in printed.items()}
    assert "z of full batches; t in updates" in words[None]
    assert "z at t = 30 comes from all of Y and Z, without our law, and is right within 0.01 %" in words[None]
    assert "further: at first by about 28 % in batches of 1," in words[None]
    assert "z's mean over runs in batches of 8; t in updates" in words[8]
    assert "In batches of 8 SGD’s mean of z at t = 30 should lie within" in words[8]
    assert "the classes come has moved z’s mean by 8.3 %" in words[1]


@pytest.mark.parametrize("lr_z", ["10", "2"])
@pytest.mark.parametrize("batch_size", [None, 16])
def test_the_sentence_says_how_far_off_it_may_be_as_predict_does(
    lr_z: str, batch_size: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the sentence says is what is expected by ``predict``, with momentum and at large rates too."""
    options = ["--lr-y", "10", "--lr-z", lr_z, "--until", "1000", "--optimizer", "momentum", "--momentum", "0.99"]
    options += [] if batch_size is None else ["--batch-size", str(batch_size)]
    assert main(["predict", str(EXAMPLE), *options]) == 0
    said = " ".join(capsys.readouterr().out.split())
    classes = ss.SequenceClasses.load(EXAMPLE)
    how: dict[str, Any] = {"optimizer": "momentum", "momentum": 0.99, "batch_size": batch_size}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.PredictionOutOfRange)
        found = ss.predict(classes, 10, float(lr_z), [1000], **how)
        alone = numbers(classes, 10, float(lr_z), 1000, **how)
    likely, error = (float(found[name][0]) for name in ("likely_error", "expected_error"))
    assert alone["likely"] == pytest.approx(likely, rel=1e-4, abs=0)
    assert alone["error"] == pytest.approx(error, rel=1e-4, abs=0)
    seven, nine = (digits(100 * share, 2) for share in (likely, error))
    if likely > LIKELY and error < 1:
        assert f"off by more than {seven} % of the whole z, and one in ten by more than {nine} %" in said
    elif likely > LIKELY:
        assert f"off by more than {seven} % of the whole z, and one in ten by 100 % or more" in said
    elif error >= 1:
        assert "one in ten was off by 100 % of the whole z or more" in said
    elif error > LIKELY:
        assert f"nine in ten were off by less than {nine} % of the whole z" in said
    else:
        assert f"within {nine} %" in said


def test_adam_is_answered_with_its_first_updates(capsys: pytest.CaptureFixture[str]) -> None:
    rates = ["--lr-y", "0.01", "--lr-z", "0.02"]
    assert main(["predict", str(EXAMPLE), *rates, "--until", "100", "--optimizer", "adam"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Of the 5 words of the class 3 rise" in said
    assert "“and” falls. “harbour” rises and “wave” falls" in said
    assert "√3/2 η_Z = 0.0173 at first, and by up to √3 η_Z = 0.0346" in said
    assert "class ship" not in said


@pytest.mark.parametrize("classes", [ss.SequenceClasses.load(EXAMPLE), ss.syn_medium(3), *trials.systems(77, 4)])
def test_what_is_said_of_adam_is_what_it_does(classes: ss.SequenceClasses) -> None:
    """Signs of every token, the two speeds, and when a class is learned while attention rests."""
    found = numbers(classes, 1e-3, 1e-3, 100, optimizer="adam")
    row, columns = trials.positions(classes)
    recipe: dict[str, Any] = {"batch_size": None, "seq_len": np.inf, "optimizer": "adam"}
    Z = ss.train(classes, lr_y=1e-3, lr_z=1e-3, steps=100, record=[4, 60, 100], **recipe).Z
    z = Z.isel(seed=0, rate=0).transpose("recorded", "query", "token").values[:, row]
    held = classes.compact.probs[0] > 0
    assert [found[f"{name}_sign"] for name in NAMES] == np.sign(z[0, columns]).tolist()
    assert (found["rising"], found["held"]) == ((z[0, held] > 0).sum(), held.sum())
    assert np.median(np.abs(z[0, held])) == pytest.approx(3 * found["early"], rel=0.15, abs=0)  # Y = 0 at the first
    assert 0.75 < np.median(np.abs(z[2, held] - z[1, held])) / (40 * found["later"]) < 1
    around = [round(share * found["learned"]) for share in (0.5, 2)]
    run = ss.train(classes, lr_y=1e-3, lr_z=1e-12, steps=around[1], **recipe)
    loss = run.loss.isel(seed=0, rate=0).values
    assert loss[around[0] - 1] > 0.4 * loss[0] > 2 * loss[-1]


def test_what_has_no_answer_in_sentences_has_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(EXAMPLE), "--lr-y", "1", "--lr-z", "0", "--until", "100"]) == 0
    out, err = capsys.readouterr()
    assert "class ship" in out
    assert err.startswith("scansnap: numbers alone, no sentences: lr_z = 0")


def test_predict_stores_its_forecast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = tmp_path / "forecast.nc"
    command = ["predict", str(EXAMPLE), *RATES, "--until", "100", "--out", str(stored)]
    assert main(command) == 0
    with xr.open_dataset(stored) as found:
        times = np.geomspace(1, 100, 7)
        xr.testing.assert_allclose(found.Z, ss.predict(ss.SequenceClasses.load(EXAMPLE), 1, 0.1, times).Z, atol=0)
        assert {"command", "class_file_sha256"} <= found.attrs.keys()
    assert main(command) == 2
    assert "a stored run is never overwritten" in capsys.readouterr().err


def test_what_cannot_be_integrated_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(log_tau, "MOST_RATES", 10)
    monkeypatch.setattr(exact, "MOST_NUMBERS", 0)
    arguments = [*RATES, "--until", "1000"]
    assert main(["predict", str(EXAMPLE), *arguments]) == 1
    assert capsys.readouterr().err.startswith("scansnap: the law with lr_z/lr_y = 0.1 could be integrated up to")


def test_it_prints_what_predict_warns_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(EXAMPLE), *RATES, "--until", "1000", "--seq-len", "8"]) == 0
    printed = capsys.readouterr()
    with pytest.warns(ss.PredictionOutOfRange) as caught:
        ss.predict(ss.SequenceClasses.load(EXAMPLE), 1, 0.1, np.geomspace(1, 1000, 7), seq_len=8)
    assert printed.err == f"scansnap: {caught[0].message}\n"
    assert main(["predict", str(EXAMPLE), *RATES, "--until", "1000"]) == 0
    assert not capsys.readouterr().err


def test_short_texts_are_answered_by_runs(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["predict", str(EXAMPLE), *RATES, "--until", "300", "--seq-len", "8", "--batch-size", "64"]
    assert main([*arguments, "--runs", "8"]) == 0
    printed = capsys.readouterr()
    classes = ss.SequenceClasses.load(EXAMPLE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.PredictionOutOfRange)
        found = ss.predict(classes, 1, 0.1, np.geomspace(1, 300, 7), seq_len=8, batch_size=64, runs=8)
    share = digits(100 * found.expected_error.values[-1], 2)
    assert "z's mean over 8 runs in batches of 64; t in updates" in printed.out
    assert f"within {share} % of the forecast" in " ".join(printed.out.split())
    assert main(["predict", str(EXAMPLE), *RATES, "--until", "300", "--optimizer", "adam", "--runs", "8"]) == 2
    assert "--optimizer adam with --runs" in capsys.readouterr().err


def test_what_a_terminal_cannot_write_becomes_question_marks(tmp_path: Path) -> None:
    classes = ss.SequenceClasses.from_dicts({"θ": {"και": 0.5, "a": 0.5}, "sky": {"και": 0.5, "b": 0.5}}, query_of="q")
    classes.save(tmp_path / "greek.yaml")
    program = [sys.executable, "-m", "scansnap_core.cli", "predict", str(tmp_path / "greek.yaml"), *RATES]
    done = subprocess.run(
        [*program, "--until", "10"], capture_output=True, text=True, env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "class ?: z of its common token ???" in done.stdout


def test_equally_frequent_tokens_stand_in_one_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {
        "a": {"of": 0.3, "and": 0.3, "x": 0.2, "y": 0.2},
        "b": {"and": 0.4, "of": 0.1, "p": 0.2, "q": 0.2, "r": 0.1},
    }
    ss.SequenceClasses.from_dicts(rows, query_of="the").save(tmp_path / "tied.yaml")
    assert main(["predict", str(tmp_path / "tied.yaml"), *RATES, "--until", "100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = lines.index("class a: z of its common token and, its distinct tokens x and y")
    assert lines[head + 1].split() == ["t", "common", "distinct", "entropy", "phase", "memory"]
    assert "class b: z of its common token and, its dominant tokens p and q, its rarest token r" in lines
