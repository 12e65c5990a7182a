"""Which way imports run: the contracts of pyproject.toml, and for each a wrong import that breaks it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINTER = Path(sys.executable).with_name("lint-imports")

WRONG = {
    "upwards, inside of a function": ("data/audit.py", "def f():\n    from scansnap_core.theory import tails"),
    "mathematics in the ledger, for types alone": (
        "ledger/values.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sympy",
    ),
    "a kernel from another room": ("sweeps/blocks.py", "from scansnap_core.engine.kernel import climb"),
    "through the front door": ("data/audit.py", "from scansnap_core import BadInput"),
    "a circle in a room": ("book/notebooks.py", "from scansnap_core.book import board"),
    "a room without a place": ("attic.py", ""),
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "scansnap_core", tmp_path / "scansnap_core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder: Path) -> tuple[int, str]:
    command = [str(LINTER), "--no-logo", "--no-cache"]
    done = subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_imports_run_one_way(copy: Path) -> None:
    code, printed = lint(copy)
    assert code == 0, printed


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_import_breaks_a_contract(copy: Path, fault: str) -> None:
    module, source = WRONG[fault]
    with (copy / "scansnap_core" / module).open("a") as file:
        file.write(f"\n{source}\n")
    code, printed = lint(copy)
    assert code == 1, printed
    assert "BROKEN" in printed
