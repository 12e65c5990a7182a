"""Outputs are compared as `scansnap verify` compares them, too: pictures among them, which nbval leaves out."""

from collections.abc import Generator

import pytest
from nbval.plugin import IPyNbCell

from scansnap_core.ledger.compare import differences


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a cell whose stored outputs differ from those that it just gave."""
    yield
    if isinstance(item, IPyNbCell) and (found := differences(item.cell.outputs, item.test_outputs)):
        item.raise_cell_error("Cell outputs differ", "\n".join(found))
