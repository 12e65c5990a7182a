"""Class systems as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scansnap_core import plots
from scansnap_core.data.checks import check_places
from scansnap_core.data.sequences import SequenceClasses
from scansnap_core.extras import needs

with needs("plots"):
    import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LABELS = 40


def picture_of(classes: SequenceClasses) -> Figure:
    """P(l|n) over the tokens that some class holds, in the house style: a row for each class, white where it is 0."""
    check_places("a picture of P(l|n)", classes.num_classes * len(classes.tokens))
    probs, coords = classes.compact.probs, classes.coords
    with plt.style.context(plots.STYLE):
        height = min(1.4 + 0.25 * classes.num_classes, 8.0)
        fig, ax = plt.subplots(figsize=(plots.MAX_WIDTH, height))
        image = ax.imshow(np.ma.masked_equal(probs, 0), aspect="auto", vmin=0)
        for axis, name, labels in ((ax.yaxis, "class", coords["class"]), (ax.xaxis, "token", coords["token"])):
            axis.set_label_text(name)
            if len(labels) <= MOST_LABELS:
                axis.set_ticks(range(len(labels)), [str(label) for label in labels])
        ax.tick_params(axis="x", rotation=90 if classes.token_names else 0)
        ax.grid(visible=False)
        fig.colorbar(image, label="P(l|n)")
        plt.close(fig)  # whoever asked for it shows it
    return fig
