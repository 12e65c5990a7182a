"""What the commands refuse: in one line that names value, rule and remedy, and nothing is written."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

AUDIT = f"audit {shlex.quote(str(Path(__file__).parents[2] / 'examples' / 'two_topics.yaml'))}"
RATES = f"{AUDIT.removeprefix('audit ')} --lr-y 1 --lr-z 0.1"
PREDICT = f"predict {RATES} --until 10"
TRAIN = f"train {RATES} --steps 5 --out run.nc"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("dance", "argument COMMAND: invalid choice: 'dance'"),
        ("audit", "the following arguments are required: FILE; see scansnap audit --help"),
        (f"{AUDIT} --colour", "unrecognized arguments: --colour; see scansnap --help"),
        (f"{AUDIT} --seq-len long", "argument --seq-len: invalid float value: 'long'; see scansnap audit"),
        ("audit nowhere.yaml", "file nowhere.yaml: No such file or directory: the file must exist and be readable"),
        (f"{AUDIT} --seq-len 1", "--seq-len 1.0: T is a whole number of at least 2"),
        (f"{AUDIT} --lr-z 0", "--lr-z 0.0: a learning rate is positive and finite; pass e.g. 1.0"),
        (f"{PREDICT} --until 0", "--until 0.0: the last step is finite and at least 1"),
        (f"{PREDICT} --lr-y -1", "--lr-y -1.0: a learning rate is positive and finite"),
        (f"{PREDICT} --optimizer lion", "--optimizer lion: the choices are sgd, momentum, flow, adam"),
        (
            f"{PREDICT} --optimizer adam --out z.nc",
            "--optimizer adam with --out: for Adam",
        ),
        (f"{PREDICT} --optimizer adam --momentum 0.5", "--momentum 0.5 with the optimizer adam: only the optimizer"),
        ("sweep fig7 --out a.zarr", "grid fig7: a grid is one of fig5, fig6, fig11, fig12, or a .yaml file"),
        ("sweep fig6 --out a.zarr --seeds 0", "--seeds 0: how many seeds"),
        ("sweep fig6 --out a.zarr --rng lottery", "--rng lottery: the choices are fresh"),
        ("sweep fig6 --out a.zarr --device tpu", "--device tpu: a device is auto, cpu or cuda"),
        (f"{TRAIN} --batch-size 0", "--batch-size 0: a positive integer"),
        (f"{TRAIN} --record 0", "--record 0: a positive integer"),
        (f"{TRAIN} --expectation", "--expectation with --seq-len 128: the expectation"),
        (
            f"{TRAIN} --momentum 0.5",
            "--momentum 0.5 with the optimizer sgd: only the optimizer momentum has it",
        ),
        (f"{TRAIN} --seeds one", "--seeds one: seeds are integers or ascending ranges; pass e.g. 0,1,2 or 0-9"),
        (f"{TRAIN} --seeds 3-1", "--seeds 3-1: seeds are"),
        (f"{TRAIN} --seeds=-1", "--seeds -1: seeds are"),
        (f"{TRAIN} --seeds ''", "--seeds '': a value isn't empty"),
        (f"{TRAIN} --out ''", "--out '': a value isn't empty"),
        (f"{TRAIN} --out=", "--out '': a value isn't empty"),
    ],
)
def test_bad_input(
    arguments: str, message: str, refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(*shlex.split(arguments)).startswith(message)
    assert list(tmp_path.iterdir()) == []
