"""The house style of the book's figures.

A chapter calls :func:`use_style` once and ends each plotting cell with :func:`show`. Alternative
text stands in the metadata of the cell that plots, where the book's builder finds it and writes it
into the image's ``alt`` attribute::

    {"mystnb": {"image": {"alt": "Entropy against time: falls, then levels off."}}}
"""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.digits import digits as written
from scansnap_core.base.extras import needs
from scansnap_core.base.rules import Rule, checked_list, takes

with needs("plots"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from cycler import cycler
    from IPython.display import display
    from matplotlib.figure import Figure

#: Widest figure in inches. A phone shows it 360 px wide, where 11 pt text is then still 9 px high.
MAX_WIDTH = 6.4
#: An axis of a heat map with more named ticks names some of them.
NAMED_TICKS = 40

# : The card behind a figure: light in both of the site's colour modes, so that ink and colours keep
# their contrast.
CARD = "#fcfcfa"

#: TeX between dollar signs, in Markdown.
FORMULA = re.compile(r"\$[^$]+\$")

_INK = "#23272f"
_GRID = "#dfe1e4"

# Okabe and Ito's colours are told apart with any colour vision; two of them are too pale for lines
# on a light card.
_BLACK, _ORANGE, _SKY, _GREEN, _YELLOW, _BLUE, _RED, _PINK = mpl.color_sequences["okabe_ito"]
_CYCLE = [_BLUE, _RED, _GREEN, _PINK, _ORANGE, _BLACK]

#: Matplotlib's settings of every figure.
STYLE = {
    "figure.figsize": (6.0, 3.7),
    "figure.dpi": 100,
    "figure.facecolor": CARD,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 160,
    "savefig.facecolor": CARD,
    "font.size": 11,
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "cm",
    "text.color": _INK,
    "axes.facecolor": CARD,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.labelsize": 11,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=_CYCLE),
    "grid.color": _GRID,
    "grid.linewidth": 0.7,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "image.cmap": "cividis",
    "image.interpolation": "nearest",
}


def use_style() -> None:
    """Make the house style Matplotlib's default for the rest of the notebook."""
    mpl.rcdefaults()
    plt.style.use(STYLE)


def show_table(head: Sequence[object], rows: Iterable[Sequence[object]], digits: int = 3) -> None:
    """Display a table as Markdown, and as the same text, which is compared when the notebook is
    verified.

    Parameters
    ----------
    head
        The columns' names.
    rows
        Lists of as many cells each: Markdown, with TeX between dollar signs, or numbers.
    digits
        How many significant digits floating-point numbers get. Write those that need fewer
        yourself.

    Examples
    --------
    >>> show_table(["$K$", "error"], [(2, 1.0842e-05), (10, 0.25)])  # doctest: +SKIP
    """
    lines_of_cells = [
        checked_list("head", head),
        *(checked_list("a row", row) for row in checked_list("rows", rows)),
    ]

    def cell(value: object) -> str:
        """Write what stands in a cell. A bar in a formula would end the cell."""
        if isinstance(value, float):
            return written(float(value), digits)
        return FORMULA.sub(lambda formula: formula[0].replace("|", r"\vert "), str(value))

    lines = ["| " + " | ".join(map(cell, row)) + " |" for row in lines_of_cells]
    lines.insert(1, "| " + " | ".join(["---"] * len(lines_of_cells[0])) + " |")
    display({"text/markdown": "\n".join(lines), "text/plain": "\n".join(lines)}, raw=True)


def show_words(
    words: Sequence[str],
    rows: Mapping[str, NDArray[np.floating[Any]]],
    *,
    full: float = 1.0,
    most: int = 3,
) -> None:
    """Display a text once for each moment, every word with its weight: a bar below it and a tint.

    A sentence after each text names the words with the most weight, for readers who don't see the
    bars. The same sentences are the output's plain text, which is compared when the notebook is
    verified.

    Parameters
    ----------
    words
        The text, a word at each place.
    rows
        By a name such as ``"step 100"``, each place's weight, shape (len(words),), from 0 to 1. All
        rows have one scale.
    full
        The weight that the highest bar and the deepest tint stand for. The tint goes with the
        weight's root, so that even attention can be seen beside it.
    most
        How many words a sentence names. Places of the same word count together.

    Examples
    --------
    >>> show_words(["a", "storm"], {"start": np.array([0.5, 0.5])})  # doctest: +SKIP
    """
    for name, weights in rows.items():
        if np.shape(weights) != (len(words),) or not np.all((weights >= 0) & (weights <= 1)):
            rule = f"it has a weight from 0 to 1 for each of the {len(words)} words"
            raise BadInput(f"row {name}", rule, "pass attention, e.g. that of one query")
    sentences = {name: _most_weight(words, weights, most) for name, weights in rows.items()}
    parts = []
    for name, weights in rows.items():
        heights = np.minimum(np.asarray(weights, dtype=np.float64) / full, 1)
        sizes = [f"--share:{height:.3f};--tint:{height**0.5:.3f}" for height in heights.tolist()]
        spans = [
            f'<span style="{size}">{html.escape(word)}</span>'
            for word, size in zip(words, sizes, strict=True)
        ]
        parts.append(
            f'<p class="ss-when">{html.escape(name)}</p>'
            f'<p class="ss-weighed">{" ".join(spans)}</p>'
            f'<p class="ss-most">{html.escape(sentences[name])}</p>'
        )
    markup = f'<div class="ss-passage">{"".join(parts)}</div>'
    plain_text = "\n".join(f"{name}: {sentence}" for name, sentence in sentences.items())
    display({"text/html": markup, "text/plain": plain_text}, raw=True)


def _most_weight(words: Sequence[str], weights: NDArray[np.floating[Any]], most: int) -> str:
    """Write the sentence that names the ``most`` words with the most weight, each with the sum over
    all of its places.

    ``weights`` has the shape (len(words),), from 0 to 1.
    """
    total: dict[str, float] = {}
    times: dict[str, int] = {}
    for word, weight in zip(words, weights.tolist(), strict=True):
        total[word] = total.get(word, 0.0) + weight
        times[word] = times.get(word, 0) + 1
    # Words of the same weight stand in the text's order.
    first = sorted(total, key=lambda word: -round(total[word], 6))[:most]
    named = [
        f"“{word}” {100 * total[word]:.0f} %" + f" ({times[word]} places)" * (times[word] > 1)
        for word in first
    ]
    return f"Most weight: {', '.join(named)}."


def heat_map(
    values: NDArray[np.float64],
    rows: tuple[str, NDArray[Any]],
    columns: tuple[str, NDArray[Any]],
    meaning: str,
    *,
    signed: bool = False,
) -> Figure:
    """Draw a matrix; masked values stay white.

    Parameters
    ----------
    values
        Shape (R, C), not negative unless ``signed``, which draws positive values red and negative
        ones blue.
    rows, columns
        The axes' names, such as ``"class"``, and labels, shapes (R,) and (C,). Up to
        :data:`NAMED_TICKS` names are written along an axis, evenly spaced, but only eight numbers,
        because a reader knows the numbers between.
    meaning
        What the colours show.
    """
    with plt.style.context(STYLE):
        fig, ax = plt.subplots()
    top = float(np.abs(values).max())
    limits = {"cmap": "RdBu_r", "vmin": -top, "vmax": top} if signed else {"vmin": 0.0}
    picture = ax.imshow(values, aspect="auto", **limits)
    for axis, (name, labels) in ((ax.yaxis, rows), (ax.xaxis, columns)):
        axis.set_label_text(name)
        most = NAMED_TICKS if labels.dtype.kind == "U" else 8
        at = np.unique(np.linspace(0, labels.size - 1, min(labels.size, most)).round().astype(int))
        axis.set_ticks(at, [plain(str(label)) for label in labels[at]])
    if columns[1].dtype.kind == "U":
        ax.tick_params(axis="x", rotation=90)
    ax.grid(False)
    fig.colorbar(picture, label=meaning)
    return fig


def plain(text: str) -> str:
    """Escape a text so that Matplotlib doesn't read it as TeX."""
    return text.replace("$", r"\$")


@takes(
    fig=Rule(
        lambda fig: isinstance(fig, Figure),
        "it is a figure of Matplotlib's",
        "pass e.g. plt.subplots()[0]",
    ),
    caption=Rule(
        lambda caption: isinstance(caption, str) and bool(caption.strip()),
        "a figure needs a caption",
        "say in one sentence what to see",
    ),
)
def show(fig: Figure, caption: str) -> None:
    """Display a figure and its caption as the outputs of the cell, then close the figure.

    The PNG is the same, byte for byte, in every run with the same versions. The caption is an
    output of its own, as text that is compared when the notebook is verified, so a number in it is
    checked like any other. A figure that is too wide to be read on a phone raises BadInput.

    Parameters
    ----------
    fig
        A figure no wider than :data:`MAX_WIDTH` inches. Put more panels below one another, not side
        by side.
    caption
        Markdown, with TeX between dollar signs: one or two sentences that say what to see. Round
        its numbers.
    """
    width = float(fig.get_figwidth())
    if width > MAX_WIDTH:
        rule = f"a figure is at most {MAX_WIDTH} in wide, to be legible on a phone"
        raise BadInput(f"figure width {width:g} in", rule, "arrange its panels below one another")
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", metadata={"Software": None})
    plt.close(fig)
    png = base64.b64encode(buffer.getvalue()).decode()
    display({"image/png": png, "text/plain": "figure"}, raw=True)
    display({"text/markdown": caption, "text/plain": caption}, raw=True)
