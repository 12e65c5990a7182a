"""``scansnap predict FILE``: what SGD will do to a user's classes, in sentences and numbers, without training."""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import textwrap
import warnings
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.commands.train import check_new
from scansnap_core.extras import needs
from scansnap_core.storage.provenance import provenance

if TYPE_CHECKING:
    import xarray as xr

    from scansnap_core.data.sequences import SequenceClasses

ROWS, DRAWN, SHOWN = 7, 49, 10
"""The numbers of times that are printed and drawn, and of classes that are printed at most."""


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "predict",
        help="predict what SGD does to a class system, without training",
        description="Predict what SGD does to a class system from zero weights, by the law that the gradient obeys.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the classes, a .yaml or .json file")
    parser.add_argument("--lr-y", type=float, required=True, metavar="RATE", help="eta_Y")
    parser.add_argument("--lr-z", type=float, required=True, metavar="RATE", help="eta_Z")
    parser.add_argument(
        "--until", type=float, required=True, metavar="N", help="the last step, in steps of batch size 1"
    )
    parser.add_argument("--seq-len", type=float, default=math.inf, metavar="T", help="sequence length (default: inf)")
    parser.add_argument("--optimizer", default="sgd", metavar="NAME", help="sgd, momentum or flow (default: sgd)")
    parser.add_argument("--momentum", type=float, metavar="MU", help="of the optimizer momentum (default: 0.9)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="store the forecast in this NetCDF file")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="draw attention logits over time into this picture")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Print the forecast and draw it."""
    from scansnap_core.data.class_files import load_classes
    from scansnap_core.theory.law.predicting import PredictionOutOfRange, predict
    from scansnap_core.theory.solving import IntegrationFailed

    classes = load_classes(options.file)
    if not (math.isfinite(options.until) and options.until >= 1):
        raise BadInput(
            f"--until {options.until:g}", "the last step is finite and at least 1", "pass e.g. --until 10000"
        )
    if options.draw is not None:
        _check_picture(options.draw)
    if options.out is not None:
        check_new(options.out)
        with needs("sweeps"):
            import_module("h5netcdf")
    asked = {"seq_len": options.seq_len, "optimizer": options.optimizer, "momentum": options.momentum}
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
    _say(classes, options, asked)
    print("\n\n".join(_table(found, classes, n) for n in range(min(classes.num_classes, SHOWN))))
    if classes.num_classes > SHOWN:
        print(f"\n... and {classes.num_classes - SHOWN} more classes")
    if options.out is not None:
        digest = hashlib.sha256(options.file.read_bytes()).hexdigest()
        found.attrs |= {**provenance(options.command_line), "class_file_sha256": digest}
        files.save(options.out, found.to_netcdf(engine="h5netcdf"), new=True)
        print(f"\nstored in {options.out}")
    if options.draw is not None:
        _draw(found, classes, options.draw)
        print(f"\ndrawn in {options.draw}")
    return 0


def _say(classes: SequenceClasses, options: argparse.Namespace, asked: dict[str, Any]) -> None:
    """Print the answer in sentences, or why there is none."""
    from scansnap_core.theory.law.answer import answer
    from scansnap_core.theory.solving import IntegrationFailed

    try:
        told = answer(classes, options.lr_y, options.lr_z, options.until, **asked)
    except (BadInput, IntegrationFailed) as error:
        print(f"scansnap: numbers alone, no sentences: {error}", file=sys.stderr)
        return
    for topic, sentences in told.items():
        print(textwrap.fill(f"{topic}. {' '.join(sentences)}", 100), end="\n\n")


def _table(found: xr.Dataset, classes: SequenceClasses, n: int) -> str:
    """Tabulate what becomes of class n: of its dominant and its most frequent common token, and its entropy."""
    compact = classes.compact
    row, name = compact.query_row[n], classes.coords["class"][n]
    held = np.flatnonzero(compact.probs[n])
    common = [at for at in held if compact.tokens[at] in classes.common_tokens]
    own = [at for at in held if at not in common]
    kinds = [("common", common), ("dominant", own), ("rarest", own)]
    best = [
        (kind, (min if kind == "rarest" else max)(ats, key=lambda at: compact.probs[n, at]))
        for kind, ats in kinds
        if ats
    ]
    labels = classes.coords["token"]
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
    if not path.resolve().parent.is_dir():
        raise BadInput(f"--draw {path}", "its folder doesn't exist", "create it or name another file")
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
