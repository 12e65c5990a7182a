"""A stored result says where it comes from: command, versions, commit, and a digest of the code."""

from __future__ import annotations

import ast
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
    """Return the command that was run, the versions it ran with, and the commit if this runs from its repository."""
    return {"command": command, **versions(), "python_version": platform.python_version(), **_commit()}


def program(module: str) -> dict[str, str]:
    """Return what decides a module's results beside its arguments: versions, and ``code``, a digest of its sources.

    Two programs with the same version may differ, and one mustn't continue what the other has begun. The digest covers
    the module and all of this package that it imports by their text alone, so no machine or folder changes it.
    """
    return {**versions(), "code": _digest(module)}


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide a training's numbers, as far as they're installed."""
    return {f"{name}_version": metadata.version(name) for name in PACKAGES if find_spec(name)}


def sources(module: str) -> dict[str, str]:
    """Return by name the text of a module of this package, and of all that it imports from it, directly or not."""
    texts, left = {}, {module}
    while left:
        name = left.pop()
        texts[name] = _file(name).read_text(encoding="utf8")
        left |= {other for other in _imported(texts[name]) if other not in texts and _file(other).is_file()}
    return texts


@functools.cache  # digests the code that this process imported, even if the files change later
def _digest(module: str) -> str:
    whole = "\0".join(f"{name}\n{text}" for name, text in sorted(sources(module).items()))
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def _imported(text: str) -> set[str]:
    """Find what a module imports from this package: ``from a.b import c`` gives a, a.b, and a.b.c, if it's a module."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    ours = {name for name in names if name.startswith(f"{PACKAGE.name}.")}
    # a package's own __init__ runs before what lies in it
    return ours | {name.rsplit(".", depth)[0] for name in ours for depth in range(1, name.count("."))}


def _file(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _commit() -> dict[str, str]:
    try:
        # an installed copy may lie inside somebody else's repository, which doesn't track it
        _git("ls-files", "--error-unmatch", __file__)
        return {"commit": _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")}
    except (OSError, subprocess.CalledProcessError):
        return {}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=PACKAGE, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()
