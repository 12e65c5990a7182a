"""Where a stored result comes from."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path

PACKAGES = ("scansnap_core", "torch", "numpy", "numba")


def provenance(command: str) -> dict[str, str]:
    """The command, the versions it ran with, and the commit if the package runs from its repository.

    Parameters
    ----------
    command
        What was run, so that it can be run again.
    """
    return {"command": command, **versions(), "python_version": platform.python_version(), **_commit()}


def versions() -> dict[str, str]:
    """The versions of the packages that decide a training's numbers."""
    return {f"{name}_version": metadata.version(name) for name in PACKAGES}


def _commit() -> dict[str, str]:
    try:
        # an installed copy may lie inside somebody else's repository, which doesn't track it
        _git("ls-files", "--error-unmatch", __file__)
        return {"commit": _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")}
    except (OSError, subprocess.CalledProcessError):
        return {}


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.strip()
