"""``scansnap predict FILE``: what SGD will do to a user's classes, in sentences and numbers, without training."""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
import warnings
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.commands import CLASS_FILE, REQUIRED, check_folder, check_new, command, store
from scansnap_core.extras import needs
from scansnap_core.rules import number, one_of

if TYPE_CHECKING:
    import xarray as xr

    from scansnap_core.data.sequences import SequenceClasses

ROWS, DRAWN, SHOWN = 7, 49, 10
"""The numbers of times that are printed and drawn, and of classes that are printed at most."""


@command(
    "predict",
    "predict what SGD does to a class system, without training",
    CLASS_FILE,
    ("--lr-y RATE", float, "eta_Y", REQUIRED),
    ("--lr-z RATE", float, "eta_Z", REQUIRED),
    ("--until N", float, "the last step, in steps of batch size 1", REQUIRED),
    ("--seq-len T", float, "sequence length", math.inf),
    ("--optimizer NAME", str, "sgd, momentum, flow, or adam for its first updates", "sgd"),
    ("--momentum MU", float, "of the optimizer momentum (default: 0.9)"),
    ("--out FILE", Path, "store the forecast in this NetCDF file"),
    ("--draw FILE", Path, "draw attention logits over time into this picture"),
)
def run(options: argparse.Namespace) -> int:
    """Predict what SGD does to a class system from zero weights, by our law."""
    from scansnap_core.data.sequences import SequenceClasses
    from scansnap_core.theory.law.answer import ANSWERED, answer
    from scansnap_core.theory.law.predicting import PredictionOutOfRange, predict
    from scansnap_core.theory.solving import IntegrationFailed

    classes = SequenceClasses.load(options.file)
    one_of(ANSWERED)("optimizer", options.optimizer)
    number(least=1, says="the last step is finite and at least 1", remedy="pass e.g. 10000")("until", options.until)
    asked = {"seq_len": options.seq_len, "optimizer": options.optimizer, "momentum": options.momentum}
    if options.optimizer == "adam":
        if options.out is not None or options.draw is not None:
            rule, remedy = "for Adam there are sentences and no forecast", "leave --out and --draw out"
            raise BadInput("--optimizer adam with --out or --draw", rule, remedy)
        _say(answer(classes, options.lr_y, options.lr_z, options.until, **asked))
        return 0
    if options.draw is not None:
        _check_picture(options.draw)
    if options.out is not None:
        check_new(options.out)
    times = np.unique(np.geomspace(1, options.until, ROWS if options.draw is None else DRAWN))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PredictionOutOfRange)
        try:
            found = predict(classes, options.lr_y, options.lr_z, times, **asked)
        except IntegrationFailed as error:
            print(f"scansnap: {error}", file=sys.stderr)
            return 1
    for warning in caught:
        print(f"scansnap: {warning.message}", file=sys.stderr)
    unit = "updates" if options.optimizer == "momentum" else "steps of batch size 1"
    print(f"K = {classes.num_classes} classes, M = {classes.vocab_size} tokens; t in {unit}\n")
    try:
        _say(answer(classes, options.lr_y, options.lr_z, options.until, **asked))
    except (BadInput, IntegrationFailed) as error:
        print(f"scansnap: numbers alone, no sentences: {error}", file=sys.stderr)
    print("\n\n".join(_table(found, classes, n) for n in range(min(classes.num_classes, SHOWN))))
    if classes.num_classes > SHOWN:
        print(f"\n... and {classes.num_classes - SHOWN} more classes")
    if options.out is not None:
        store(found, options)
        print(f"\nstored in {options.out}")
    if options.draw is not None:
        _draw(found, classes, options.draw)
        print(f"\ndrawn in {options.draw}")
    return 0


def _say(told: dict[str, list[str]]) -> None:
    for topic, sentences in told.items():
        print(textwrap.fill(f"{topic}. {' '.join(sentences)}", 100), end="\n\n")


def _table(found: xr.Dataset, classes: SequenceClasses, n: int) -> str:
    """Tabulate what becomes of class n: of its dominant and its most frequent common token, and its entropy."""
    from scansnap_core.theory.law.trials import columns

    row, name, labels = classes.compact.query_row[n], classes.coords["class"][n], classes.coords["token"]
    best = list(columns(classes, n).items())
    lines = [f"class {name}: z of " + ", ".join(f"its {kind} token {labels[at]}" for kind, at in best)]
    lines.append(f"{'t':>10}{''.join(f'{kind:>12}' for kind, _ in best)}{'entropy':>10}  phase  memory")
    meanings = found.regime.flag_meanings.split()
    for i in np.unique(np.linspace(0, found.sizes["recorded"] - 1, ROWS).round().astype(int)):
        at = found.isel(recorded=i, query=row)
        z = "".join(f"{float(at.Z[place]):12.4g}" for _, place in best)
        regimes = " ".join(meanings[int(at.regime[place])] for _, place in best)
        entropy, phase = float(at.entropy[n]), str(at.phase.values[n])
        lines.append(f"{float(at.recorded):10.4g}{z}{entropy:10.4f}  {phase:<5}  {regimes}")
    return "\n".join(lines)


def _check_picture(path: Path) -> None:
    with needs("plots"):
        from matplotlib.backend_bases import FigureCanvasBase
    check_folder("--draw", path)
    if path.is_dir() or path.suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
        raise BadInput(f"--draw {path}", "a picture's name ends in a format of Matplotlib's", "name it e.g. z.png")


def _draw(found: xr.Dataset, classes: SequenceClasses, path: Path) -> None:
    with needs("plots"):
        import matplotlib.pyplot as plt

        from scansnap_core import pictures, plots
    plots.use_style()
    figure = pictures.logits_over_time(found, classes)
    picture = BytesIO()
    figure.savefig(picture, format=path.suffix[1:].lower(), bbox_inches="tight")
    plt.close(figure)
    files.save(path, picture.getvalue())
