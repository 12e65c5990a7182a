"""Programs that are small, and what a command says that refuses its input."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from scansnap_core.cli import main

# A second thread costs more than it gives here, and pytest-xdist has taken the cores.
torch.set_num_threads(1)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must refuse what it is given, in one line; returns the line without its beginning."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        try:
            status: object = main(arguments)
        except SystemExit as stopped:  # argparse's own
            status = stopped.code
        stdout, stderr = capsys.readouterr()
        assert (status, stdout, stderr.count("\n")) == (2, "", 1)
        return stderr.removeprefix("scansnap: error: ")

    return run
