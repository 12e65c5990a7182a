"""The rows of `make portable`: what they cover, that their settings take effect, and how a run's report is read."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tools.portable.__main__ import NOTEBOOK, ROWS, Outcome, installed_locales, outcome, surroundings

ROOT = Path(__file__).parents[2]


def values(name: str) -> set[Any]:
    return {row["environment"][name] for row in ROWS.values()}


def test_rows_cover_what_digits_may_not_depend_on() -> None:
    assert len({tuple(row["environment"]) for row in ROWS.values()}) == 1  # each row states every variable
    assert {"default", "avx2", None} <= values("ATEN_CPU_CAPABILITY")
    assert {"generic", "haswell", None} <= values("NUMBA_CPU_NAME")
    assert {"Haswell", None} <= values("OPENBLAS_CORETYPE")
    assert {1, 2} <= values("OMP_NUM_THREADS")
    assert "random" in values("PYTHONHASHSEED")
    assert len(values("LC_ALL")) == len(values("TZ")) == len(ROWS)
    assert any(re.search(r" .*[äöüß]", row["folder"]) for row in ROWS.values())


def test_only_a_rows_own_settings_are_in_force() -> None:
    outside = {"OPENBLAS_CORETYPE": "Zen", "OMP_NUM_THREADS": "16", "HOME": "/home/reader"}
    environment, missing = surroundings("this machine's own", outside, {"C"})
    assert environment == {
        "HOME": "/home/reader",
        "OMP_NUM_THREADS": "2",
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONHASHSEED": "random",
        "LC_ALL": "C",
        "TZ": "America/St_Johns",
    }
    assert missing == []


def test_missing_locale_is_told() -> None:
    assert surroundings("no AVX", {}, {"C", "de_DE.utf8"})[1] == []
    environment, missing = surroundings("no AVX", {}, {"C"})
    assert environment["LC_ALL"] == "C"
    assert missing == ["LC_ALL=de_DE.UTF-8: not installed, C instead"]


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or platform.libc_ver()[0] != "glibc",
    reason="the rows play processors of one kind. To get it: Linux on an x86-64 processor",
)
@pytest.mark.parametrize("row", ROWS)
def test_settings_take_effect(row: str) -> None:
    environment, missing = surroundings(row, os.environ, installed_locales())
    if missing:
        pytest.skip(f"{missing[0]}. To get it: apt-get install locales, and localedef")
    environment |= {"MKL_VERBOSE": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tools.portable.probe"]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    found = json.loads(output.splitlines()[-1]) | {"mkl": re.search(r"CNR:(\w+)", output)[1]}  # type: ignore[index]
    assert {name: found[name] for name in ROWS[row]["shows"]} == ROWS[row]["shows"]


REPORT = """<testsuites><testsuite>
  <testcase classname="tests.engine.test_model" name="test_one"/>
  <testcase classname="tests.engine.test_model" name="test_two"><skipped/></testcase>
  <testcase classname="chapters.statements.lemma_06.ipynb" name="Cell 0"/>
  <testcase classname="chapters.notation.ipynb" name="Cell 0"/>
  <testcase classname="chapters.notation.ipynb" name="Cell 1">{}</testcase>
</testsuite></testsuites>"""


def read(last: str, chapters: set[str]) -> Outcome:
    return outcome(ElementTree.fromstring(REPORT.format(last)), {f"{name}{NOTEBOOK}" for name in chapters})


def test_report_of_a_good_run() -> None:
    assert read("", {"lemma_06", "notation"}) == Outcome(passed=1, skipped=1, chapters=2)


@pytest.mark.parametrize("last", ["<failure/>", "<error/>"])
def test_a_bad_cell_spoils_its_chapter(last: str) -> None:
    fault = "chapters.notation.ipynb::Cell 1"
    assert read(last, {"lemma_06", "notation"}) == Outcome(passed=1, skipped=1, chapters=1, faults=(fault,))


def test_what_was_not_run_is_a_fault() -> None:
    assert read("", {"lemma_06", "notation", "lemma_07"}).faults == ("lemma_07.ipynb wasn't run",)
    assert outcome(ElementTree.fromstring("<testsuites/>"), set()).faults == ("no test passed",)


def test_workflow_plays_the_rows() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text("utf8"))
    assert any("make portable" in str(step.get("run")) for job in workflow["jobs"].values() for step in job["steps"])
