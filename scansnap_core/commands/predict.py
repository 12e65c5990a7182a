"""``scansnap predict FILE``: what SGD will do to a user's classes, in sentences and numbers,
without training.
"""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import number, one_of
from scansnap_core.commands import CLASS_FILE, REQUIRED, NewFile, command
from scansnap_core.engine.names import MOMENTUM

if TYPE_CHECKING:
    import xarray as xr

    from scansnap_core.data.sequences import SequenceClasses

ROWS = 7
SHOWN = 10
"""The numbers of times and, at most, of classes that are printed."""


@command(
    "predict",
    "predict what SGD does to a class system, without training",
    CLASS_FILE,
    ("--lr-y RATE", float, "eta_Y", REQUIRED),
    ("--lr-z RATE", float, "eta_Z", REQUIRED),
    ("--until N", float, "the last time, in updates", REQUIRED),
    ("--batch-size B", int, "sequences per update, shown in random order (default: full batches)"),
    ("--seq-len T", float, "sequence length", math.inf),
    ("--runs R", int, "train R runs in the law's place, where it doesn't hold"),
    ("--optimizer NAME", str, "sgd, momentum, flow, or adam for its first updates", "sgd"),
    ("--momentum MU", float, f"of the optimizer momentum (default: {MOMENTUM})"),
    ("--out FILE", Path, "store the forecast in this NetCDF file"),
)
def run(options: argparse.Namespace) -> int:
    """Predict what SGD does to a class system from zero weights, by our law."""
    from scansnap_core.data.sequences import SequenceClasses
    from scansnap_core.law.answer import answer
    from scansnap_core.law.answer_numbers import ANSWERED
    from scansnap_core.law.expected_error import PredictionOutOfRange
    from scansnap_core.law.predicting import predict
    from scansnap_core.theory.solving import IntegrationFailed

    classes = SequenceClasses.load(options.file)
    one_of(ANSWERED)("optimizer", options.optimizer)
    number(least=1, says="the last step is finite and at least 1", remedy="pass e.g. 10000")(
        "until", options.until
    )
    asked = {
        "seq_len": options.seq_len,
        "optimizer": options.optimizer,
        "momentum": options.momentum,
    }
    asked["batch_size"] = options.batch_size
    if options.optimizer == "adam":
        for name in ("out", "runs"):
            if getattr(options, name) is not None:
                rule = "for Adam there are sentences and no forecast"
                raise BadInput(f"--optimizer adam with --{name}", rule, f"leave --{name} out")
        _say(answer(classes, options.lr_y, options.lr_z, options.until, **asked))
        return 0
    out = None if options.out is None else NewFile(options)
    times = np.unique(np.geomspace(1, options.until, ROWS))
    times[-1] = options.until  # without rounding, as the sentences are about this time
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PredictionOutOfRange)
        try:
            found = predict(classes, options.lr_y, options.lr_z, times, **asked, runs=options.runs)
        except IntegrationFailed as error:
            print(f"scansnap: {error}", file=sys.stderr)
            return 1
    if out is not None:  # before anything is printed, whose reader may be gone
        out.store(found)
    for warning in caught:
        print(f"scansnap: {warning.message}", file=sys.stderr)
    print(
        f"K = {classes.num_classes} classes, M = {classes.vocab_size} tokens; {_subject(options)}\n"
    )
    try:
        _say(answer(classes, options.lr_y, options.lr_z, options.until, **asked, forecast=found))
    except (BadInput, IntegrationFailed) as error:
        print(f"scansnap: numbers alone, no sentences: {error}", file=sys.stderr)
    print("\n\n".join(_table(found, classes, n) for n in range(min(classes.num_classes, SHOWN))))
    if classes.num_classes > SHOWN:
        print(f"\n... and {classes.num_classes - SHOWN} more classes")
    if options.out is not None:
        print(f"\nstored in {options.out}")
    return 0


def _subject(options: argparse.Namespace) -> str:
    """Say which z the numbers are of, and in what t counts."""
    if options.optimizer == "flow":
        return "z of the gradient flow; t in steps of batch size 1"
    if options.runs is not None:
        batches = (
            "full batches" if options.batch_size is None else f"batches of {options.batch_size}"
        )
        return f"z's mean over {options.runs} runs in {batches}; t in updates"
    if options.batch_size is None:
        return "z of full batches; t in updates"
    return f"z's mean over runs in batches of {options.batch_size}; t in updates"


def _say(by_topic: dict[str, list[str]]) -> None:
    for topic, sentences in by_topic.items():
        print(textwrap.fill(f"{topic}. {' '.join(sentences)}", 100), end="\n\n")


def _table(found: xr.Dataset, classes: SequenceClasses, n: int) -> str:
    """Write a table for class n: z of its dominant and its commonest token, and the entropy.

    Equally frequent tokens stand in one column. If attention tells equally frequent common ones
    apart, it is the column of the token whose z is lowest at the end.
    """
    from scansnap_core.law.trials import columns, lowest

    row = classes.compact.query_row[n]
    name = classes.coords["class"][n]
    labels = classes.coords["token"]
    groups = columns(classes, n)
    if "common" in groups:
        groups["common"] = lowest(found.Z.isel(recorded=-1, query=row).values, groups["common"])
    if "rarest" in groups and groups["rarest"][0] == groups["dominant"][0]:
        groups["distinct"] = groups.pop("rarest")
        del groups["dominant"]
    best = [(kind, int(group[0])) for kind, group in groups.items()]
    called = (
        f"its {kind} token{'s' if len(group) > 1 else ''} {' and '.join(map(str, labels[group]))}"
        for kind, group in groups.items()
    )
    lines = [f"class {name}: z of {', '.join(called)}"]
    lines.append(
        f"{'t':>10}{''.join(f'{kind:>12}' for kind, _ in best)}{'entropy':>10}  phase  memory"
    )
    meanings = found.regime.flag_meanings.split()
    for i in range(found.sizes["recorded"]):
        at = found.isel(recorded=i, query=row)
        z = "".join(f"{float(at.Z[place]):12.4g}" for _, place in best)
        regimes = " ".join(meanings[int(at.regime[place])] for _, place in best)
        entropy = float(at.entropy[n])
        phase = str(at.phase.values[n])
        lines.append(f"{float(at.recorded):10.4g}{z}{entropy:10.4f}  {phase:<5}  {regimes}")
    return "\n".join(lines)
