"""The mutants: which changes count, who judges them, and what a run on a small tree stores and refuses."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from scansnap_core import BadInput
from tools.mutants import command, judges
from tools.mutants.catalogue import MODULES, module_path, mutants_of
from tools.mutants.judges import Outcome, UnitTests, panels, planted

MODULE = "def double(x: int) -> int:\n    return 2 * x\n"
TEST = "from scansnap_core.theory import flows\n\n\ndef test_double() -> None:\n    assert flows.double(3) == 6\n"
WEAK = TEST.replace("flows.double(3) == 6", "flows.double(2) == 4")  # 2 + 2 = 2 ** 2 = 2 * 2
SOURCE, FILE = "scansnap_core/theory/flows.py", "tests/theory/test_flows.py"


def write_tree(root: Path, source: str = MODULE, test: str = TEST) -> Path:
    """A small tree to plant mutants in: one of its modules has something to change, and a test."""
    for name, text in {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "--import-mode=importlib"\n',
        "scansnap_core/__init__.py": "",
        **{str(module_path(module)): "" for module in MODULES},
        SOURCE: source,
        FILE: test,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="module")
def tests() -> UnitTests:
    return UnitTests()


@pytest.mark.parametrize(
    ("source", "becomes"),
    [
        ("y = x * 2", {"y = x + 2", "y = x - 2", "y = x / 2", "y = x ** 2", "y = x * 1", "y = x * 3"}),
        ("y = a < b", {"y = a <= b", "y = a >= b"}),
        ("y = a == b", {"y = a != b"}),
        ("y = a is None", {"y = a is not None"}),
        ("y = -x", {"y = x"}),
        ("y = a and True", {"y = a or True", "y = a and False"}),
        ("for x in y: break", {"for x in []: break", "for x in y: continue"}),
        ("class A:\n    @property\n    def b(self): pass\n", {""}),
        ('def f(a: int | None, *, b: "3 - 1" = None) -> Floats[2]:\n    """From 1 to 2 - x."""\n', set()),
        ("@lru_cache(maxsize=2)\ndef f(): zip(x, strict=True)\nif TYPE_CHECKING: import y", set()),
    ],
)
def test_what_a_source_can_become(tmp_path: Path, source: str, becomes: set[str]) -> None:
    found = mutants_of(write_tree(tmp_path, source), "theory.flows")
    assert {mutant.becomes for mutant in found} == becomes
    assert len(found) == len(becomes)


def test_a_comment_exempts_its_line_alone(tmp_path: Path) -> None:
    source = "a = 1  # mutant: any\n# mutant: any other would do,\n# if it's a number\nb = 1\nc = 1\n# why\nd = 1\n"
    found = mutants_of(write_tree(tmp_path, source), "theory.flows")
    assert {mutant.row for mutant in found if mutant.exempt} == {1, 4}
    assert {mutant.row for mutant in found if not mutant.exempt} == {5, 7}


def outcome(tests: UnitTests, tree: Path, becomes: str) -> Outcome:
    (mutant,) = (mutant for mutant in mutants_of(tree, "theory.flows") if mutant.becomes == becomes)
    with planted(mutant, tree):
        return tests.judge(tree, "theory.flows")


def test_a_wrong_module_dies_and_a_right_one_lives(tests: UnitTests, tmp_path: Path) -> None:
    tree = write_tree(tmp_path)
    assert tests.judge(tree, "theory.flows") is Outcome.SURVIVED
    assert outcome(tests, tree, "return 2 + x") is Outcome.KILLED
    assert outcome(tests, tree, "return 2 / x") is Outcome.KILLED  # at once again, with a file of the same size and age
    assert (tree / SOURCE).read_text() == MODULE
    (tree / FILE).write_text(WEAK)
    assert outcome(tests, tree, "return 2 + x") is Outcome.SURVIVED


def test_what_is_imported_must_be_the_copy(tests: UnitTests, tmp_path: Path) -> None:
    tree = write_tree(tmp_path, test="from scansnap_core import BadInput\n\n\ndef test_it() -> None:\n    pass\n")
    shutil.rmtree(tree / "scansnap_core")  # so that the installed package is found
    with pytest.raises(RuntimeError, match="instead of the copy"):
        tests.judge(tree, "theory.flows")


# The child's limit is the parent's, so that the endless loop needn't take two minutes.
ONE_SECOND = "import resource\n\nresource.setrlimit(resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY))"


@pytest.mark.parametrize(
    ("head", "body", "said"),
    [
        ("import os", "os._exit(0)", Outcome.KILLED),
        ("import time", "time.sleep(60)", Outcome.TIMEOUT),
        (ONE_SECOND, "while True: pass", Outcome.TIMEOUT),
    ],
)
def test_a_test_without_end_kills_nothing(
    tests: UnitTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str, body: str, said: Outcome
) -> None:
    monkeypatch.setattr(judges, "SECONDS", 15)
    tree = write_tree(tmp_path, test=f"{head}\n\n\ndef test_it() -> None:\n    {body}\n")
    assert tests.ask(tree, [FILE]) is said


def test_the_likeliest_judges_come_first_and_no_one_that_waits(tmp_path: Path) -> None:
    tree = write_tree(tmp_path)
    for file, text in {
        "tests/theory/test_a.py": TEST,
        "tests/engine/test_a.py": TEST,
        "tests/theory/test_processes.py": f"import subprocess\n{TEST}",
        "tests/site/test_a.py": TEST,  # waits for a browser
    }.items():
        (tree / file).parent.mkdir(exist_ok=True)
        (tree / file).write_text(text)
    assert panels(tree, "theory.flows") == [[FILE], ["tests/theory/test_a.py", "tests/engine/test_a.py"]]


def test_each_module_of_the_package_is_there_and_has_judges() -> None:
    for module in MODULES:
        assert (command.ROOT / module_path(module)).is_file()
        assert panels(command.ROOT, module)


def stored(tree: Path) -> dict[str, Any]:
    return json.loads((tree / command.RECORD).read_text("utf8"))["theory.flows"]


def test_a_run_stores_counts_and_survivors_and_judges_only_what_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = write_tree(tmp_path, test=WEAK)
    assert command.run(tree, 2, ["theory.flows"]) == 1
    assert stored(tree)["counts"] == {"mutants": 6, "killed": 4, "timeouts": 0, "equivalent": 0, "survived": 2}
    survivors = {f"{SOURCE}:2: return 2 * x -> return 2 {sign} x" for sign in ("+", "**")}
    assert set(stored(tree)["survivors"]) == survivors
    assert set(re.findall("survived  (.*)", capsys.readouterr().out)) == survivors

    before = stored(tree)
    with monkeypatch.context() as patch:
        patch.setattr(UnitTests, "judge", lambda *_: 7 / 0)
        assert command.run(tree, 1, ["theory.flows"]) == 1
    assert stored(tree) == before

    (tree / SOURCE).write_text(MODULE.replace("2 * x", "2 * x  # mutant: the test knows 2 alone"))
    assert command.run(tree, 1, ["theory.flows"]) == 0
    assert stored(tree)["counts"] == {"mutants": 6, "killed": 4, "timeouts": 0, "equivalent": 2, "survived": 0}
    (tree / FILE).write_text(TEST)
    assert command.run(tree, 1, ["theory.flows"]) == 0
    assert stored(tree)["counts"]["killed"] == 6


@pytest.mark.parametrize(
    ("module", "test", "said"),
    [
        ("kernel", TEST, r"kernel: no mutants are made of it; choose from book\.compare, "),
        ("theory.flows", TEST.replace("6", "7"), "the tests of theory.flows: they pass on the sources as they are"),
    ],
)
def test_what_cannot_be_judged_is_refused(tmp_path: Path, module: str, test: str, said: str) -> None:
    tree = write_tree(tmp_path, test=test)
    with pytest.raises(BadInput, match=said):
        command.run(tree, 1, [module])
    assert not (tree / command.RECORD).exists()
