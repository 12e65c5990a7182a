"""Copies of the tree, in which a mutant is planted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.mutants.catalogue import Mutant

ROOT = Path(__file__).parents[2]
NOT_COPIED = {"_build", "reports", "__pycache__"}


@contextmanager
def copies(root: Path, count: int) -> Iterator[list[Path]]:
    """Copies of the tree at ``root``, without what is hidden, built or installed; removed in the end."""
    with TemporaryDirectory(prefix="mutants-") as folder:
        yield [Path(shutil.copytree(root, Path(folder, str(i)), ignore=_ignored)) for i in range(count)]


def _ignored(folder: str, names: list[str]) -> set[str]:
    return {
        name
        for name in names
        if name.startswith(".") or name in NOT_COPIED or Path(folder, name, "pyvenv.cfg").is_file()
    }


@contextmanager
def planted(mutant: Mutant, copy: Path) -> Iterator[None]:
    """The copy with the mutant in it; the original module is put back."""
    path = copy / mutant.path
    original = path.read_bytes()
    path.write_text(mutant.source, encoding="utf8")
    try:
        yield
    finally:
        path.write_bytes(original)
