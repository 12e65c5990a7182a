"""``scansnap train FILE``: train on a user's classes and store the runs as labelled NetCDF."""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scansnap_core import files
from scansnap_core.bad_input import BadInput
from scansnap_core.commands.audit import listed
from scansnap_core.engine.names import MODELS
from scansnap_core.extras import needs
from scansnap_core.rules import MOST_VALUES
from scansnap_core.storage.provenance import provenance

if TYPE_CHECKING:
    import xarray as xr

    from scansnap_core.data.sequences import SequenceClasses

TRAINED, DIVERGED = 0, 1
BATCH_SIZE = 128
OPTIMIZER_HELP = "sgd, momentum, adam, or module:class such as torch.optim:AdamW (default: sgd)"

MODEL_HELP = f"{', '.join(MODELS)} with a number H or W, or module:function (default: plain)"


def add_to(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "train",
        help="train on a class system and store the runs",
        description="Train the 1-layer transformer on a class system and store the runs as NetCDF.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the classes, a .yaml or .json file")
    parser.add_argument("--lr-y", type=float, nargs="+", required=True, metavar="RATE", help="eta_Y, one or several")
    parser.add_argument("--lr-z", type=float, nargs="+", required=True, metavar="RATE", help="eta_Z, paired with them")
    parser.add_argument("--steps", type=int, required=True, metavar="N", help="updates to make")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the NetCDF file to write")
    parser.add_argument("--seeds", default="0", metavar="LIST", help="such as 0,1,2 or 0-9 (default: 0)")
    parser.add_argument("--batch-size", type=int, metavar="B", help=f"samples an update (default: {BATCH_SIZE})")
    parser.add_argument(
        "--expectation", action="store_true", help="the expected gradient in place of batches (with --seq-len inf)"
    )
    parser.add_argument(
        "--seq-len", type=float, default=128, metavar="T", help="tokens with the query, or inf (default: 128)"
    )
    parser.add_argument("--optimizer", default="sgd", metavar="NAME", help=OPTIMIZER_HELP)
    parser.add_argument("--model", default="plain", metavar="NAME", help=MODEL_HELP)
    parser.add_argument("--momentum", type=float, metavar="MU", help="of the optimizer momentum (default: 0.9)")
    parser.add_argument("--initial", default="zero", metavar="NAME", help="zero or random (default: zero)")
    parser.add_argument("--record", type=int, metavar="N", help="keep Y and Z every N steps (default: start and end)")
    parser.add_argument("--rng", default="fresh", metavar="NAME", help="fresh, replay or counter (default: fresh)")
    parser.add_argument("--device", default="auto", metavar="NAME", help="auto, cpu or cuda (default: auto)")
    parser.add_argument("--dtype", default="float64", metavar="NAME", help="float64 or float32 (default: float64)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Train, store the runs, and sum them up; 1 if a run diverged."""
    from scansnap_core.data.class_files import load_classes

    classes, seeds = load_classes(options.file), _seeds(options.seeds)
    if options.expectation and options.batch_size is not None:
        raise BadInput(
            f"--batch-size {options.batch_size} with --expectation",
            "the expected gradient takes no batches",
            "leave one of the two out",
        )
    batch_size = BATCH_SIZE if options.batch_size is None else options.batch_size
    check_new(options.out)
    with needs("sweeps"):
        import_module("h5netcdf")

    from scansnap_core.engine.training import TrainingDiverged, train

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TrainingDiverged)
        result = train(
            classes,
            lr_y=options.lr_y,
            lr_z=options.lr_z,
            steps=options.steps,
            seeds=seeds,
            batch_size=None if options.expectation else batch_size,
            seq_len=options.seq_len,
            optimizer=options.optimizer,
            momentum=options.momentum,
            model=options.model,
            initial=options.initial,
            record=options.record,
            rng=options.rng,
            device=options.device,
            dtype=options.dtype,
            progress=True,
        )
    digest = hashlib.sha256(options.file.read_bytes()).hexdigest()
    result.attrs |= {**provenance(options.command_line), "class_file_sha256": digest}
    files.save(options.out, result.to_netcdf(engine="h5netcdf"), new=True)

    lines, undefined = _summary(result, classes)
    print(lines)
    print(f"stored in {options.out}")
    for warning in caught:
        print(f"scansnap: {warning.message}", file=sys.stderr)
    if undefined:
        print(f"scansnap: no entropy of {undefined} runs: no attention is left on distinct tokens", file=sys.stderr)
    return DIVERGED if undefined or (result.diverged_at >= 0).any() else TRAINED


def _seeds(text: str) -> list[int]:
    """Read "0,1,2" or "0-9" or both."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if first > last:
            raise BadInput(f"--seeds {text}", "seeds are integers or ascending ranges", "pass e.g. 0,1,2 or 0-9")
        if len(seeds) + last - first >= MOST_VALUES:
            raise BadInput(f"--seeds {text}", f"there are at most {MOST_VALUES:,} of them", "use several trainings")
        seeds += range(first, last + 1)
    return seeds


def check_new(path: Path) -> None:
    """Try to write the file, which alone shows that it can be written, before the training."""
    try:
        path.open("xb").close()
    except FileExistsError:
        raise BadInput(f"--out {path}", "a stored run is never overwritten", "name another file") from None
    except OSError as error:
        raise BadInput(f"--out {path}: {error.strerror}", "the file can be written", "name another file") from None
    path.unlink()


def _summary(result: xr.Dataset, classes: SequenceClasses) -> tuple[str, int]:
    """Write a line for each run, and count those that didn't diverge and have no entropy."""
    import numpy as np

    from scansnap_core.theory import measures

    with np.errstate(invalid="ignore"):  # a diverged run has no attention
        attention = measures.attention(result.Z.isel(recorded=-1), classes)
        entropy = measures.entropy(attention, classes)
    own = [n for n in range(classes.num_classes) if len(classes.distinct_tokens(n))]
    entropy = entropy.isel({"class": own})
    heads = [dim for dim in ("head",) if dim in entropy.dims]
    undefined = int((entropy.isnull().any([*heads, "class"]) & (result.diverged_at < 0)).sum())
    which = "class" if len(own) == classes.num_classes else f"class that has any ({listed(own)})"
    which = " and ".join([*heads, which])
    lines = [f"final loss, and by {which} the entropy of attention over its distinct tokens, in nats"]
    for seed in range(result.sizes["seed"]):
        for rate in range(result.sizes["rate"]):
            one = result.isel(seed=seed, rate=rate)
            name = f"seed {int(one.seed)}, lr_y {float(one.lr_y):g}, lr_z {float(one.lr_z):g}"
            loss = float(one.loss.isel(step=-1)) + 0.0  # shows -0 as 0
            lines.append(f"{name}: {loss:.4g}; {listed(entropy.isel(seed=seed, rate=rate).values.ravel())}")
    return "\n".join(lines), undefined
