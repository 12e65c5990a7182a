"""A stored result says where it comes from: command, versions, commit, and a digest of the code."""

from __future__ import annotations

import functools
import hashlib
import platform
import subprocess
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("scansnap_core", "torch", "numpy", "numba", "scipy", "sympy")
PACKAGE = Path(__file__).parents[1]


def provenance(command: str) -> dict[str, str]:
    """Return the command that was run, the versions it ran with, and the commit if this runs
    from its repository.
    """
    return {
        "command": command,
        **versions(),
        "python_version": platform.python_version(),
        **_commit(),
    }


@functools.cache  # of the code that this process imported, even if the files change later
def program() -> dict[str, str]:
    """Return what decides results beside a command's arguments: versions, and ``code``, a digest of
    this package.

    Two programs with the same version may differ, and one mustn't continue what the other has
    begun. The digest covers the sources by their text alone, so no machine or folder changes it.
    """
    sources = {
        path.relative_to(PACKAGE).as_posix(): path.read_text("utf8")
        for path in PACKAGE.rglob("*.py")
    }
    whole = "\0".join(f"{name}\n{text}" for name, text in sorted(sources.items()))
    return {**versions(), "code": hashlib.sha256(whole.encode()).hexdigest()[:16]}


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide a training's numbers, as far as they're
    installed.
    """
    return {f"{name}_version": metadata.version(name) for name in PACKAGES if find_spec(name)}


def _commit() -> dict[str, str]:
    """Return the commit of the repository that this file is in, if git knows it."""
    try:
        # An installed copy may lie inside somebody else's repository, which doesn't track it.
        _git("ls-files", "--error-unmatch", __file__)
        return {"commit": _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")}
    except (OSError, subprocess.SubprocessError):
        return {}


def _git(*arguments: str) -> str:
    """Return what a git command prints, in this package's folder."""
    done = subprocess.run(
        ["git", *arguments], cwd=PACKAGE, capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()
