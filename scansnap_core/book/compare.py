"""Compare a cell's stored outputs with those of a fresh execution.

Everything is compared exactly, except that pictures are compared as pictures: the last bits of an
antialiased edge may differ between processors, while another label or another curve may not.
"""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from scansnap_core.base.extras import needs

if TYPE_CHECKING:
    from nbformat import NotebookNode

# A moved label or curve gives 20 and more on 0..255 in the tile that holds it, whereas over the
# whole picture it may give less than 2; values that differ by 1e-12 give 0, those that differ by
# 1e-4 still less than 1.
_TILE = 32
_TOLERANCE = 10.0


def differences(stored: list[NotebookNode], fresh: list[NotebookNode]) -> list[str]:
    """List what differs between the outputs of a cell, in a line for each output that differs."""
    before = _merged(stored)
    after = _merged(fresh)
    if len(before) != len(after):
        return [
            f"stores {len(before)} outputs ({_kinds(before)}), but gives {len(after)} "
            f"({_kinds(after)})"
        ]
    return [line for a, b in zip(before, after, strict=True) for line in _output_differences(a, b)]


def _merged(outputs: list[NotebookNode]) -> list[dict[str, Any]]:
    """Turn outputs into mappings from MIME type, or a stream's name, to content.

    A stream that came in pieces becomes one output: where it is cut changes from run to run.
    """
    merged: list[dict[str, Any]] = []
    for output in outputs:
        if output.output_type == "stream":
            if merged and output.name in merged[-1]:
                merged[-1][output.name] += output.text
            else:
                merged.append({output.name: output.text})
        elif output.output_type == "error":
            merged.append({"error": f"{output.ename}: {output.evalue}"})
        else:
            merged.append({**output.data, "metadata": output.metadata})
    return merged


def _kinds(outputs: list[dict[str, Any]]) -> str:
    """Name what outputs of :func:`_merged` hold, for a message: the MIME types of each one, or the
    name of its stream.
    """
    return "; ".join(" ".join(sorted(set(output) - {"metadata"})) for output in outputs) or "none"


def _output_differences(stored: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    """List, in a line each, the parts in which two outputs of :func:`_merged` differ."""
    if stored.keys() != fresh.keys():
        return [f"stores {_kinds([stored])}, but gives {_kinds([fresh])}"]
    lines = []
    for mime, before in stored.items():
        after = fresh[mime]
        if before == after:
            continue
        if mime.endswith("image/png"):
            lines += _picture_differences(mime, before, after)
        else:
            lines.append(f"stores another {mime} than it gives: {_excerpts(before, after)}")
    return lines


def _picture_differences(mime: str, stored: str, fresh: str) -> list[str]:
    """Say in a line how two pictures, in base64, differ; an empty list if they look the same.

    They differ if the root mean square of the difference is above the tolerance in some tile of 32
    by 32 pixels: over the whole picture a moved label would be lost.
    """
    try:
        before = _pixels(stored)
        after = _pixels(fresh)
    except (ValueError, OSError) as error:
        return [f"stores an unreadable {mime} ({type(error).__name__})"]
    if before.shape != after.shape:
        return [
            f"stores another {mime} than it gives: {_size(before)} instead of {_size(after)} pixels"
        ]
    squares = ((before - after) ** 2).mean(axis=2)
    starts = [np.arange(0, length, _TILE) for length in squares.shape]
    sums = np.add.reduceat(np.add.reduceat(squares, starts[0], axis=0), starts[1], axis=1)
    worst = float(np.sqrt(sums.max()) / _TILE)
    if worst <= _TOLERANCE:
        return []
    return [
        f"stores another {mime} than it gives: they differ by {worst:.0f} of 255 somewhere (RMS "
        "of a tile)"
    ]


def _pixels(encoded: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Decode a picture in base64, such as a PNG, to its pixels in red, green, blue and opacity, 0
    to 255: shape (height, width, 4).
    """
    # Reading a picture is the only thing here that needs Pillow, and most comparisons end before
    # it.
    with needs("book"):
        from PIL import Image

    with Image.open(io.BytesIO(base64.b64decode(encoded))) as picture:
        return np.asarray(picture.convert("RGBA"), dtype=np.float64)


def _size(picture: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    """Write width and height."""
    return f"{picture.shape[1]}x{picture.shape[0]}"


def _excerpts(stored: Any, fresh: Any) -> str:
    """Quote two texts, or values as JSON, from shortly before the first character that differs, so
    that a message shows what changed.
    """

    def text_of(value: Any) -> str:
        """Return a text as it is, and anything else as JSON."""
        if isinstance(value, str):
            return value
        return json.dumps(value, sort_keys=True, ensure_ascii=False)

    before = text_of(stored)
    after = text_of(fresh)
    same = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
        min(len(before), len(after)),
    )
    start = max(0, same - 30)
    return f"stored {before[start : same + 40]!r}, fresh {after[start : same + 40]!r}"
