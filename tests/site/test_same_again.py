"""Tests that a build depends on the sources alone: another one gives the same files, byte by byte."""

from __future__ import annotations

from pathlib import Path

from tests.site.conftest import build_site


def contents(folder: Path) -> dict[str, bytes]:
    """Map the path of each file below a folder to what it holds."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_another_hash_seed_gives_the_same_site(site: Path, tmp_path: Path) -> None:
    """A set's order depends on the seed, which differs from run to run unless it is given."""
    assert build_site(tmp_path, hash_seed=2) == ""
    first, second = contents(site), contents(tmp_path / "_build/html")
    assert first.keys() == second.keys()
    assert [name for name, held in first.items() if held != second[name]] == []
