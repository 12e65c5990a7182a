"""The command line: what it doesn't import, readers that go early, and a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from scansnap_core.cli import INTERRUPTED, NOBODY_READS, REFUSED
from scansnap_core.commands import NOTHING_KEPT

HELP = """
from scansnap_core.cli import main
try: main(["--help"])
except SystemExit: pass
"""
THEORY = """
import scansnap_core as ss, scansnap_core.engine.settings
from scansnap_core.theory import clocks, decoder, formulas, gallery, measures, spectrum
ss.audit(ss.syn_small())
"""


@pytest.mark.parametrize(
    ("program", "slow"),
    [
        ("import scansnap_core", ("matplotlib", "numpy", "sympy", "torch")),
        (HELP, ("scipy", "sympy", "torch", "xarray", "numba", "nbformat")),
        ("import scansnap_core.book.verify", ("scipy", "sympy", "torch", "xarray", "numba")),
        ("import scansnap_core.sweeps.running", ("sympy", "torch", "matplotlib")),
        (THEORY, ("torch",)),
    ],
)
def test_a_start_waits_for_no_slow_import(program: str, slow: tuple[str, ...]) -> None:
    code = f"import sys\n{program}\nprint(sorted({set(slow)} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["audit examples/two_topics.yaml", "--help"])
def test_nobody_reads(command: str) -> None:
    program = [sys.executable, "-m", "scansnap_core.cli", *command.split()]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    assert subprocess.run(program, capture_output=True, text=True).returncode == 0
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(program, stdout=writes, stderr=subprocess.PIPE, text=True, env=environment)
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (NOBODY_READS, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is Linux's")
def test_a_full_disk_is_said_in_a_sentence() -> None:
    program = [sys.executable, "-m", "scansnap_core.cli", "audit", "examples/two_topics.yaml"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (REFUSED, "scansnap: error: No space left on device: output\n")


CTRL_C = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
LATE = "import atexit, os, signal\natexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
MODEL = "def model(batch, Y, Z):\n    raise KeyboardInterrupt\n"
CALLED = f"def model(batch, Y, Z):\n{textwrap.indent(CTRL_C, '    ')}    return batch\n"
TRAIN = "train {} --lr-y 1 --lr-z 1 --steps 2 --seq-len 8 --model mine:model --out run.nc"


@pytest.mark.parametrize(
    ("module", "status", "errors"),
    [
        (CTRL_C + MODEL, INTERRUPTED, f"scansnap: interrupted: {NOTHING_KEPT}\n"),
        (CALLED, INTERRUPTED, f"scansnap: interrupted: {NOTHING_KEPT}\n"),
        (LATE, REFUSED, "scansnap: error: "),
    ],
    ids=["in an import", "at work", "at the end"],
)
def test_an_interrupt_is_said_in_a_line(tmp_path: Path, module: str, status: int, errors: str) -> None:
    (tmp_path / "mine.py").write_text(module)
    given = [word.format(Path("examples/two_topics.yaml").absolute()) for word in TRAIN.split()]
    environment = os.environ | {"PYTHONPATH": str(Path().absolute())}
    program = [sys.executable, "-m", "scansnap_core.cli", *given]
    done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(errors)
    assert [entry.name for entry in tmp_path.iterdir() if entry.name != "__pycache__"] == ["mine.py"]
