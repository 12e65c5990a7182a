"""The four dynamics side by side: the quasi-static Eqn 10, update (26) with Eqn 4, the true gradient flow and SGD.

Clock: steps of batch size 1. A batch mean moves Y and Z, in expectation, as far as one such step does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr

from scansnap_core.data.sequences import CLASSES, SequenceClasses
from scansnap_core.engine.training import train
from scansnap_core.rules import listed
from scansnap_core.theory import clocks, flows
from scansnap_core.theory.solving import solve

FLOWS = (flows.IdealisedFlow, flows.ModifiedFlow, flows.TrueFlow)
MOMENTS = ("t_0'/2", "t_0'", "t_0", "4 t_0", "40 t_0")
"""Names of :func:`moments`: one while attention scans, the two ends of the transition, and two long after it."""


def moments(classes: SequenceClasses, lr_y: float) -> list[int]:
    """t_0'/2, t_0', t_0, 4 t_0 and 40 t_0 (Theorem 4), rounded to whole steps of batch size 1.

    Parameters
    ----------
    classes
        Uniform ones; M must be 4 or more (see :func:`scansnap_core.theory.clocks.omega`).
    lr_y
        eta_Y.
    """
    CLASSES("classes", classes)
    classes.check_uniform("t_0' and t_0")
    t_0_prime, t_0 = clocks.transition(classes.num_classes, classes.vocab_size, lr_y)
    return [round(time) for time in (t_0_prime / 2, t_0_prime, t_0, 4 * t_0, 40 * t_0)]


def compare(
    classes: SequenceClasses,
    *,
    lr_y: float,
    lr_z: float,
    marks: Sequence[int],
    seeds: Iterable[int] = range(10),
    batch_size: int = 128,
    seq_lens: Sequence[float] = (math.inf, 128),
    optimizer: str = "sgd",
) -> xr.Dataset:
    """Attention logits at the same times under every dynamics, from Y(0) = Z(0) = 0.

    Parameters
    ----------
    lr_y, lr_z
        eta_Y and eta_Z.
    marks
        Times, in steps of batch size 1 for the flows and in updates of ``batch_size`` for SGD.
    seeds, batch_size, seq_lens, optimizer
        Of SGD: one dynamics a sequence length T, as :func:`scansnap_core.engine.training.train` takes them.

    Returns
    -------
    xarray.Dataset
        ``Z`` (dynamics, t, query, token), for SGD the mean over seeds, and ``error``, its standard error (0 for the
        flows; NaN with one seed). ``B`` (dynamics, t, class) of Eqn 12, NaN for SGD.
    """
    marks, seq_lens = listed("marks", marks), listed("seq_lens", seq_lens)
    flow_of = {make.name: make(classes, lr_y, lr_z) for make in FLOWS}
    Z, B, error = [], [], []
    for flow in flow_of.values():
        path = solve(flow, marks)
        Z.append(path.Z.values)
        B.append(path.B.values)
        error.append(np.zeros_like(path.Z.values))
    for seq_len in seq_lens:
        run = train(
            classes,
            lr_y=lr_y,
            lr_z=lr_z,
            steps=marks[-1],
            seeds=seeds,
            batch_size=batch_size,
            seq_len=seq_len,
            optimizer=optimizer,
            record=marks,
        )
        runs = run.Z.squeeze("rate").transpose("seed", "recorded", "query", "token").values
        mean = runs.mean(axis=0)
        Z.append(mean)
        # mutant: Training refuses an empty list of seeds.
        error.append(runs.std(axis=0, ddof=1) / math.sqrt(len(runs)) if len(runs) > 1 else np.full_like(mean, np.nan))
        B.append(np.full((len(marks), classes.num_classes), np.nan))
    axes = ("dynamics", "t", "query", "token")
    names = [*flow_of, *(f"SGD T={seq_len:g}" for seq_len in seq_lens)]
    return xr.Dataset(
        {
            "Z": (axes, np.stack(Z), {"units": "logits"}),
            "error": (axes, np.stack(error), {"units": "logits"}),
            "B": (("dynamics", "t", "class"), np.stack(B)),
        },
        coords={
            "dynamics": names,
            "t": ("t", list(marks), {"units": "steps of batch size 1"}),
            **classes.coords,
        },
    )
