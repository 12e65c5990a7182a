"""What a picture on a page needs."""

from collections.abc import Callable

import pytest
from nbformat import NotebookNode, from_dict, v4

from scansnap_core.book.notebooks import picture_faults


def illustrated_notebook() -> NotebookNode:
    picture = v4.new_output("display_data", {"image/png": "iVBORw0KGgo=", "text/plain": "figure"})
    caption = v4.new_output("display_data", {"text/markdown": "What to see.", "text/plain": "What to see."})
    plot = v4.new_code_cell("show(fig, 'What to see.')", execution_count=1, outputs=[picture, caption])
    plot.metadata = from_dict({"mystnb": {"image": {"alt": "A line that rises."}}})
    return v4.new_notebook(cells=[v4.new_markdown_cell("# Title"), plot])


def drop_alternative_text(cell: NotebookNode) -> None:
    cell.metadata.mystnb.image.alt = " "


def drop_caption(cell: NotebookNode) -> None:
    del cell.outputs[1]


def add_a_widget(cell: NotebookNode) -> None:
    cell.outputs.append(v4.new_output("display_data", {"application/vnd.jupyter.widget-view+json": from_dict({})}))


def test_illustrated_notebook_has_no_fault() -> None:
    assert picture_faults(illustrated_notebook()) == []


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (drop_alternative_text, "without alternative text"),
        (drop_caption, "without a caption"),
        (add_a_widget, "a widget"),
    ],
)
def test_picture_fault_is_found(spoil: Callable[[NotebookNode], None], fault: str) -> None:
    notebook = illustrated_notebook()
    spoil(notebook.cells[1])
    found = picture_faults(notebook)
    assert len(found) == 1
    assert fault in found[0]
