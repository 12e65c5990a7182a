"""Outputs are compared as `scansnap verify` compares them, too: pictures among them, which nbval leaves out."""

from collections.abc import Generator
from copy import deepcopy
from functools import partial

import nbval.kernel
import pytest
from nbval.plugin import IPyNbCell

from scansnap_core.book.compare import differences
from scansnap_core.book.execute import kernel_environment

# Kernels have the environment that `scansnap verify` gives them.
nbval.kernel.start_new_kernel = partial(nbval.kernel.start_new_kernel, env=kernel_environment())


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
