"""The mean of a few runs on drawn texts, beside our law, where sequences are as short as sentences.

``text``: the counts of WikiText-2 before a query word, with its next words as classes. What z is,
many runs with other seeds say. ``small``: the systems of :mod:`tools.recording.short_texts`, where
exact descent says it. How many standard errors of the mean are announced was set on the
queries of ``CALIBRATED`` and on the first half of the small systems. The others were held out.
Writes ``drawn_texts.nc``.
"""

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy import sparse
from tqdm import tqdm

from scansnap_core import PredictionOutOfRange, SequenceClasses, predict
from scansnap_core.base import files
from scansnap_core.law.drawn_texts import train_on_texts
from scansnap_core.storage.provenance import provenance
from scansnap_core.text.corpus import UNK, Corpus, load_corpus
from scansnap_core.text.samples import samples_after
from tools.recording.real_text import LEAST_NEXT, RESULTS
from tools.recording.short_texts import COUNT, MARKS, PACE, RATIOS, SEED, descent, small

CALIBRATED = [("the", 4, 10), ("the", 6, 20), ("and", 4, 40), ("and", 6, 10), (",", 4, 20)]
HELD_OUT = [(query, K, T) for query in ("in", "of") for K in (5, 8) for T in (12, 32)]
SETTINGS = [(0.1, None), (1.0, None), (0.1, 32)]
"""eta_Z, at eta_Y = 1, and the batch size. Our law is asked in the first setting alone."""
UPDATES = (10, 30, 100)
RUNS = 8
TRUE_RUNS = 64
"""So many other runs say what z is."""
LENGTHS = (4, 16)
FIELDS = (
    "is_text",
    "held_out",
    "num_classes",
    "seq_len",
    "ratio",
    "batch_size",
    "updates",
    "size",
    "noise",
    "law_error",
    "law_expected",
    "error",
    "expected_error",
)


def classes_after(query: str, num_next: int, seq_len: int, corpus: Corpus) -> SequenceClasses:
    """Make the classes of a query word: its next words, with what stands before it."""
    number = {word: place for place, word in enumerate(corpus.words)}
    samples = samples_after(
        corpus.train,
        number[query],
        seq_len=seq_len,
        num_next=num_next,
        least=LEAST_NEXT,
        without=[number[UNK]],
    )
    held = sparse.coo_array(samples.probs)
    shape = (num_next, corpus.vocab_size)
    probs = sparse.csr_array((held.data, (held.row, samples.words[held.col])), shape)
    return SequenceClasses(
        probs,
        query_of=[number[query]] * num_next,
        next_of=samples.next_words,
        frequencies=samples.next_probs,
    )


def size(Z: np.ndarray) -> np.ndarray:
    """Measure the whole Z at each time."""
    return np.asarray(np.sqrt(np.square(Z).sum(axis=(1, 2))))


def compared(
    classes: SequenceClasses,
    Z: np.ndarray,
    noise: np.ndarray,
    marks: tuple[int, ...],
    with_law: bool,
    **how: Any,
) -> list[tuple[float, ...]]:
    """Compare the mean of RUNS runs, and our law if asked, with Z: the last fields, by time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PredictionOutOfRange)
        runs = predict(classes, t=marks, runs=RUNS, **how)
        law = xr.full_like(runs[["Z", "expected_error"]], np.nan)
        if with_law:
            law = predict(classes, t=marks, **how)
    whole = size(Z)
    columns = [
        marks,
        whole,
        noise,
        size(law.Z.values - Z) / whole,
        law.expected_error.values,
        size(runs.Z.values - Z) / whole,
        runs.expected_error.values,
    ]
    return list(zip(*columns, strict=True))


def of_text(corpus: Corpus) -> list[tuple[float, ...]]:
    """Measure on real counts: rows of :data:`FIELDS`."""
    rows = []
    for query, K, T in tqdm([*CALIBRATED, *HELD_OUT], disable=None):
        classes = classes_after(query, K, T, corpus)
        for lr_z, batch_size in SETTINGS:
            how: dict[str, Any] = {
                "lr_y": 1.0,
                "lr_z": lr_z,
                "seq_len": T,
                "batch_size": batch_size,
            }
            true = train_on_texts(
                classes, t=np.array(UPDATES, float), runs=TRUE_RUNS, seed=RUNS, **how
            ).Z
            mean = true.mean(axis=0)
            noise = np.sqrt(true.var(axis=0, ddof=1).sum(axis=(1, 2)) / TRUE_RUNS) / size(mean)
            first = (lr_z, batch_size) == SETTINGS[0]
            setting = (1, (query, K, T) in HELD_OUT, K, T, lr_z, batch_size or 0)
            rows += [
                (*setting, *row) for row in compared(classes, mean, noise, UPDATES, first, **how)
            ]
    return rows


def of_small() -> list[tuple[float, ...]]:
    """Measure on few tokens, in full batches: rows of :data:`FIELDS`."""
    rng = np.random.default_rng(SEED)
    rows = []
    for number in tqdm(range(COUNT), disable=None):
        classes = small(rng, number)
        lr_y = PACE * classes.num_classes
        for T, ratio in ((T, ratio) for T in LENGTHS for ratio in RATIOS):
            how: dict[str, Any] = {"lr_y": lr_y, "lr_z": lr_y * ratio, "seq_len": T}
            Z = descent(classes, lr_y, lr_y * ratio, T)
            setting = (0, number >= COUNT // 2, classes.num_classes, T, ratio, 0)
            found = compared(classes, Z, np.zeros(len(MARKS)), MARKS, True, **how)
            rows += [(*setting, *row) for row in found]
    return rows


def record(folder: Path | None) -> None:
    """Write the file."""
    corpus = load_corpus("wikitext-2", folder)
    rows = [*of_small(), *of_text(corpus)]
    values = {name: ("point", [row[i] for row in rows]) for i, name in enumerate(FIELDS)}
    source = provenance("python -m tools.recording.drawn_texts") | {
        "corpus": corpus.name,
        "trained_on": corpus.trained_on,
        "sha256": dict(corpus.sha256),
        "runs": RUNS,
        "true_runs": TRUE_RUNS,
    }
    found = xr.Dataset(values, attrs={"source": json.dumps(source)})
    files.keep(RESULTS / "drawn_texts.nc", found.to_netcdf(engine="h5netcdf"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="the corpus' folder; default: where scansnap text train looks"
    )
    record(parser.parse_args().data)
