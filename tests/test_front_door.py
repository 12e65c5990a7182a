"""The front door: complete, with examples that run, and fifteen statements from own classes to a picture."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from code_page import tasks

import scansnap_core as ss

ROOT = Path(__file__).parents[1]
MODULES = [module.name for module in pkgutil.walk_packages(ss.__path__, "scansnap_core.")]
EXCEPTIONS = {"IntegrationFailed", "TrainingDiverged"}
NAMES = [name for name in ss.__all__ if name not in EXCEPTIONS and not inspect.ismodule(getattr(ss, name))]


def test_a_module_is_there_whichever_name_was_asked_for_first() -> None:
    modules = [name for name in ss.__all__ if inspect.ismodule(getattr(ss, name))]
    assert {"formulas", "law"} <= set(modules)
    program = f"""
import sys
for name in {modules}:
    for held in [held for held in sys.modules if held.partition(".")[0] == "scansnap_core"]:
        del sys.modules[held]
    import scansnap_core
    print(getattr(scansnap_core, name).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [getattr(ss, name).__name__ for name in modules]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_shows_an_example(name: str) -> None:
    assert ">>>" in (getattr(ss, name).__doc__ or "")


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module))
    assert found.failed == 0


def test_readme_takes_fifteen_statements_from_own_classes_to_a_picture(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf8")
    (program,) = re.findall(r"```python\n(import scansnap_core as ss\n.*?)```", readme, re.DOTALL)
    assert sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(program))) <= 15
    environment = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "1(c) rates" in done.stdout
    assert [path.suffix for path in tmp_path.iterdir()] == [".png"]


def test_the_code_page_has_every_name_under_its_task() -> None:
    by_task = tasks()
    assert all(by_task.values())
    assert sorted(name for names in by_task.values() for name in names) == sorted(ss.__all__)
    assert "train" in by_task["Training"]
    assert {"SequenceClasses", "with_overlap"} <= set(by_task["Classes and data sets"])
