from pathlib import Path

import pytest

from tests.sweeps.stores import fill


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that was written from beginning to end; to be read, not changed."""
    path = tmp_path_factory.mktemp("undisturbed") / "a.zarr"
    assert fill(path) == list(range(12))
    return path
