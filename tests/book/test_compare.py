import base64
import io
from typing import Any

import numpy as np
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_output
from PIL import Image

from scansnap_core.book.compare import differences

PIXELS = np.full((100, 200, 3), 255, dtype=np.uint8)


def display(**data: Any) -> NotebookNode:
    return new_output("display_data", {name.replace("_", "/"): value for name, value in data.items()})


def stream(text: str, name: str = "stdout") -> NotebookNode:
    return new_output("stream", name=name, text=text)


def picture(pixels: np.ndarray[Any, np.dtype[np.uint8]]) -> NotebookNode:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return display(image_png=base64.b64encode(file.getvalue()).decode())


def specks(*places: Any, value: int = 0) -> NotebookNode:
    """A white picture, but for these pixels or slices."""
    pixels = PIXELS.copy()
    for place in places:
        pixels[place] = value
    return picture(pixels)


def test_the_same_outputs_dont_differ_and_a_stream_may_come_in_pieces() -> None:
    outputs = [stream("a\n"), display(text_plain="1", text_html="<b>1</b>"), picture(PIXELS)]
    assert differences(outputs, outputs) == []
    assert differences([stream("a\nb\n")], [stream("a\n"), stream("b\n")]) == []
    assert differences([stream("a\nb\n")], [stream("a\n"), stream("c\n")])


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


def test_an_edge_may_differ_in_its_last_bits_and_a_small_label_not() -> None:
    assert differences([picture(PIXELS)], [specks(np.s_[:, 50:52], value=250)]) == []
    [line] = differences([picture(PIXELS)], [specks(np.s_[93:100, 190:195])])
    assert "another image/png" in line


def test_text_on_the_other_side_of_an_output_is_another_output() -> None:
    shown = display(text_plain="1")
    assert differences([stream("a\n"), shown, stream("b\n")], [stream("a\nb\n"), shown])
    assert differences([shown, stream("a\n"), stream("b\n")], [shown, stream("a\nb\n")]) == []
    assert differences([shown, shown, stream("a\n"), stream("b\n")], [shown, shown, stream("a\nb\n")]) == []


@pytest.mark.parametrize("mime", ["text_plain", "text_html", "text_latex", "image_svg+xml", "application_json"])
@pytest.mark.parametrize(("stored", "fresh"), [("0.30000000000000004", "0.3"), ("a", "b"), ("b", "a")])
def test_each_of_an_outputs_forms_is_compared_exactly(mime: str, stored: str, fresh: str) -> None:
    same = {"text_plain": "1", "text_html": "1"}
    [line] = differences([display(**{**same, mime: stored})], [display(**{**same, mime: fresh})])
    assert line == f"stores another {mime.replace('_', '/')} than it gives: stored {stored!r}, fresh {fresh!r}"


def test_what_there_is_more_or_less_of_is_named() -> None:
    says = "stores another image/png than it gives: 200x99 instead of 200x100 pixels"
    assert differences([picture(PIXELS[:99])], [picture(PIXELS)]) == [says]
    more, both = display(text_plain="1", text_html="1"), "2 outputs (text/html text/plain; stdout)"
    assert differences([more], [display(text_plain="1")]) == ["stores text/html text/plain, but gives text/plain"]
    assert differences([], [more, stream("a")]) == [
        f"stores 0 outputs (none), but gives {both.replace(' outputs', '')}"
    ]
    assert differences([more, stream("a")], []) == [f"stores {both}, but gives 0 (none)"]


def test_errors_and_results_are_compared() -> None:
    def ended(message: str) -> list[NotebookNode]:
        error = new_output("error", ename="ValueError", evalue=message, traceback=[message])
        return [error, new_output("execute_result", {"text/plain": message}, execution_count=1)]

    assert differences(ended("a"), ended("a")) == []
    assert differences(ended("a"), ended("b")) == [
        "stores another error than it gives: stored 'ValueError: a', fresh 'ValueError: b'",
        "stores another text/plain than it gives: stored 'a', fresh 'b'",
    ]


BEFORE, AFTER = "".join(map(chr, range(400, 460))), "".join(map(chr, range(500, 560)))


@pytest.mark.parametrize(
    ("stored", "fresh", "said"),
    [
        (f"{BEFORE}x{AFTER}", f"{BEFORE}y{AFTER}", (f"{BEFORE[-30:]}x{AFTER[:39]}", f"{BEFORE[-30:]}y{AFTER[:39]}")),
        (f"{BEFORE}y{AFTER}", f"{BEFORE}x{AFTER}", (f"{BEFORE[-30:]}y{AFTER[:39]}", f"{BEFORE[-30:]}x{AFTER[:39]}")),
        (BEFORE, BEFORE + AFTER, (BEFORE[-30:], BEFORE[-30:] + AFTER[:40])),
        ("abc", "abd", ("abc", "abd")),
        ({"ä": 1, "b": 2}, {"b": 3, "ä": 1}, ('{"b": 2, "ä": 1}', '{"b": 3, "ä": 1}')),  # keys have no order
    ],
)
def test_texts_are_cut_around_the_first_difference(stored: Any, fresh: Any, said: tuple[str, str]) -> None:
    [line] = differences([display(application_json=stored)], [display(application_json=fresh)])
    assert line.endswith(f": stored {said[0]!r}, fresh {said[1]!r}")


@pytest.mark.parametrize(
    ("places", "value", "found"),
    [
        ([(5, 5), (5, 6)], 0, ""),  # root(2 * 3/4 * 255^2)/32 = 9.8 of 255: alpha doesn't change
        ([(5, 5), (5, 6), (6, 5)], 0, "12"),
        ([(5, 5), (5, 6), (6, 5), (6, 6)], 65, "10"),  # 10.3
        ([(0, 0), (0, 1), (0, 2)], 0, "12"),  # an edge belongs to a tile
        ([(0, 0), (1, 0), (2, 0)], 0, "12"),
        ([(99, 199), (99, 198), (99, 197)], 0, "12"),
        ([(5, 30), (5, 31), (5, 32)], 0, ""),  # three, but in two tiles of 32
        ([(30, 5), (31, 5), (32, 5)], 0, ""),
        ([(5, 110), (5, 111), (5, 180), (5, 181)], 0, ""),
        ([(5, 5), (5, 6), (90, 5), (90, 6)], 0, ""),
    ],
)
def test_pictures_may_differ_by_10_of_255_in_each_tile_of_32(
    places: list[tuple[int, int]], value: int, found: str
) -> None:
    says = [f"stores another image/png than it gives: they differ by {found} of 255 somewhere (RMS of a tile)"]
    expected = says if found else []
    assert differences([picture(PIXELS)], [specks(*places, value=value)]) == expected
    assert differences([specks(*places, value=value)], [picture(PIXELS)]) == expected


def test_a_difference_of_10_is_the_last_that_may_be() -> None:
    pixels = PIXELS.copy()
    pixels[5, :5], pixels[6, 0, 0] = 255 - 160, 255 - 160  # root(16/4 * 160^2)/32 = 10
    assert differences([picture(PIXELS)], [picture(pixels)]) == []
    pixels[6, 0, 0] -= 1
    assert len(differences([picture(PIXELS)], [picture(pixels)])) == 1
