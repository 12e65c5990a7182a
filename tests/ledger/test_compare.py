import base64
import io
from typing import Any

import numpy as np
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_output
from PIL import Image

from scansnap_core.ledger.compare import differences

PIXELS = np.full((100, 200, 3), 255, dtype=np.uint8)


def display(**data: Any) -> NotebookNode:
    return new_output("display_data", {name.replace("_", "/"): value for name, value in data.items()})


def stream(text: str, name: str = "stdout") -> NotebookNode:
    return new_output("stream", name=name, text=text)


def picture(pixels: np.ndarray[Any, np.dtype[np.uint8]]) -> NotebookNode:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return display(image_png=base64.b64encode(file.getvalue()).decode())


def changed(rows: slice, columns: slice, value: int) -> NotebookNode:
    pixels = PIXELS.copy()
    pixels[rows, columns] = value
    return picture(pixels)


def test_the_same_outputs_dont_differ() -> None:
    outputs = [stream("a\n"), display(text_plain="1", text_html="<b>1</b>"), picture(PIXELS)]
    assert differences(outputs, outputs) == []


def test_a_stream_may_come_in_pieces() -> None:
    assert differences([stream("a\nb\n")], [stream("a\n"), stream("b\n")]) == []
    assert differences([stream("a\nb\n")], [stream("a\n"), stream("c\n")])


@pytest.mark.parametrize("mime", ["text_plain", "text_html", "text_latex", "image_svg+xml", "application_json"])
def test_text_is_compared_exactly(mime: str) -> None:
    [line] = differences([display(**{mime: "0.30000000000000004"})], [display(**{mime: "0.3"})])
    assert mime.replace("_", "/") in line
    assert "fresh '0.3'" in line


@pytest.mark.parametrize(
    ("stored", "fresh"),
    [
        ([], [stream("a")]),
        ([stream("a")], []),
        ([stream("a")], [stream("a", "stderr")]),
        ([display(text_plain="1")], [display(text_plain="1", text_html="1")]),
        ([display(text_plain="1"), display(text_plain="2")], [display(text_plain="2"), display(text_plain="1")]),
        ([display(application_json={"a": 1})], [display(application_json={"a": 2})]),
        ([new_output("display_data", {}, metadata={"a": 1})], [new_output("display_data", {}, metadata={"a": 2})]),
        ([display(image_jpeg="AAAA")], [display(image_jpeg="AAAB")]),
        ([display(image_png="AAAA")], [picture(PIXELS)]),
        ([picture(PIXELS)], [picture(PIXELS[:99])]),
    ],
)
def test_any_other_difference_is_found(stored: list[NotebookNode], fresh: list[NotebookNode]) -> None:
    assert differences(stored, fresh)


def test_a_picture_may_differ_in_the_last_bits_of_an_edge() -> None:
    assert differences([picture(PIXELS)], [changed(slice(None), slice(50, 52), 250)]) == []


def test_a_small_label_that_changed_is_found() -> None:
    [line] = differences([picture(PIXELS)], [changed(slice(93, 100), slice(190, 195), 0)])
    assert "another image/png" in line


def test_a_swapped_picture_is_found() -> None:
    assert differences([changed(slice(None), slice(0, 100), 0)], [changed(slice(None), slice(100, 200), 0)])
