"""What a stored result says of its origin: versions, the commit and whether files differ from it, the code itself."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from scansnap_core.storage import provenance

PACKAGE = provenance.PACKAGE


def asked(expression: str, folder: Path) -> dict[str, str]:
    """Evaluate an expression of ``provenance`` in a fresh process that runs the package in this folder."""
    program = f"import json; from scansnap_core.storage import provenance; print(json.dumps(provenance.{expression}))"
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def copied(folder: Path) -> Path:
    """The package in another folder."""
    shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_versions_of_all_that_decides_the_numbers() -> None:
    versions = provenance.versions()
    names = ("scansnap_core", "torch", "numpy", "numba", "scipy", "sympy")
    assert versions == {f"{name}_version": metadata.version(name) for name in names}
    said = provenance.provenance("scansnap sweep fig6")
    assert versions.items() <= said.items()
    assert (said["command"], said["python_version"]) == ("scansnap sweep fig6", platform.python_version())


def test_the_commit_and_whether_files_differ_from_it(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    git(folder, "init", "--quiet")
    # inside a repository that doesn't track it
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "another's")
    assert "commit" not in asked("provenance('x')", folder)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "ours")
    git(folder, "tag", "--annotate", "v1", "--message", "v1")
    commit = git(folder, "rev-parse", "HEAD")
    assert len(commit) == 40
    assert asked("provenance('x')", folder)["commit"] == commit
    (folder / "notes").write_text("untracked files decide nothing")
    assert asked("provenance('x')", folder)["commit"] == commit
    with (folder / "scansnap_core" / "theory" / "measures.py").open("a") as file:
        file.write("# changed\n")
    assert asked("provenance('x')", folder)["commit"] == f"{commit}-dirty"


def test_no_commit_outside_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copied(tmp_path)
    assert "commit" not in asked("provenance('x')", folder)
    monkeypatch.setenv("PATH", str(tmp_path))  # no git at all
    assert "commit" not in asked("provenance('x')", folder)


def test_the_digest_is_of_the_text_alone(tmp_path: Path) -> None:
    folder = copied(tmp_path / "a path with a space and an ü")
    here = provenance.program()
    assert here.items() >= provenance.versions().items()
    assert asked("program()", folder) == here
    measures = folder / "scansnap_core" / "theory" / "measures.py"
    text = measures.read_bytes()
    measures.write_bytes(text.replace(b"\n", b"\r\n"))  # as git may write it elsewhere
    assert asked("program()", folder) == here
    measures.write_bytes(text.replace(b"> thresholds", b">= thresholds"))
    assert measures.read_bytes() != text
    assert asked("program()", folder)["code"] != here["code"]
