"""A small tree to plant mutants in: one of its modules has something to change, and a test."""

from __future__ import annotations

from pathlib import Path

import yaml

from tools.mutants.catalogue import MODULES, Mutant, module_path, mutants_of

MODULE = "def double(x: int) -> int:\n    return 2 * x\n"
TEST = "from scansnap_core.theory import flows\n\n\ndef test_double() -> None:\n    assert flows.double(3) == 6\n"


def write_tree(root: Path, test: str = TEST) -> Path:
    for name, text in {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "--import-mode=importlib"\n',
        "scansnap_core/__init__.py": "",
        **{str(module_path(module)): "" for module in MODULES},
        "scansnap_core/theory/flows.py": MODULE,
        "tools/mutants/equivalent.yaml": "",
        "tests/theory/test_flows.py": test,
        "tests/theory/test_nothing.py": "def test_nothing() -> None:\n    pass\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def name_equivalent(root: Path, *entries: dict[str, object]) -> None:
    (root / "tools/mutants/equivalent.yaml").write_text(yaml.safe_dump(list(entries)))


def mutants() -> list[Mutant]:
    return list(mutants_of("theory.flows", MODULE))


def mutant(becomes: str) -> Mutant:
    return next(m for m in mutants() if m.becomes == becomes)
