"""Outputs are compared as `scansnap verify` compares them, too: pictures among them, which nbval leaves out."""

import os
from collections.abc import Generator
from contextlib import ExitStack
from copy import deepcopy

import nbval.kernel
import pytest
from jupyter_client.manager import KernelManager
from nbval.plugin import IPyNbCell

from scansnap_core.book.compare import differences
from scansnap_core.book.execute import kernel_environment
from scansnap_core.book.forking import Zygote, forked, pays

for name in ("PYTHONSTARTUP", "IPYTHONDIR", "MATPLOTLIBRC"):  # as `scansnap verify` starts kernels
    os.environ[name] = kernel_environment()[name]
running = ExitStack()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fork the kernels of all notebooks from one process, as `scansnap verify` does."""
    if not isinstance(item, IPyNbCell) or nbval.kernel.KernelManager is not KernelManager:
        return
    if pays(len({cell.path for cell in item.session.items if isinstance(cell, IPyNbCell)})):
        nbval.kernel.KernelManager = forked(KernelManager, running.enter_context(Zygote(kernel_environment())))


def pytest_sessionfinish() -> None:
    """End that process."""
    running.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a cell whose stored outputs differ from those that it just gave."""
    if not isinstance(item, IPyNbCell):
        return (yield)
    stored = deepcopy(item.cell.outputs)  # nbval merges the pieces of a stream where they are
    result = yield
    if found := differences(stored, item.test_outputs):
        item.raise_cell_error("Cell outputs differ", "\n".join(found))
    return result
