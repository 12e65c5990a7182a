from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from scansnap_core.text import corpus
from tests.text.tiny import KNOWN, NAME


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a cache, none of the machine's own places, and the tiny corpus for WikiText-2."""
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda _: tmp_path / "cache")
    monkeypatch.delenv("SCANSNAP_DATA", raising=False)
    monkeypatch.setitem(corpus.KNOWN, NAME, KNOWN)
    monkeypatch.setitem(sys.modules, "datasets", None)  # as if it weren't installed
    return tmp_path / "cache"
