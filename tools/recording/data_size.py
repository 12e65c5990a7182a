"""Subsample what stands around frequent words of WikiText, for the chapter on data size.

One half of a query word's samples judges which words are distinct; distinct training sequences are
drawn from the other. ``data_size.nc`` holds counts and means over words, and no word.
"""

import argparse
import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from tqdm import tqdm

from scansnap_core.base import files
from scansnap_core.storage.provenance import provenance
from scansnap_core.text import cooccurrence, yz
from scansnap_core.text.corpus import UNK, Corpus, load_corpus
from scansnap_core.text.samples import Samples, samples_after

RESULTS = Path(__file__).parents[2] / "results"
QUERIES = ("the", "of", ",")
SIZES = (4, 16, 64, 256, 1024)
DRAWS = 20
TRAINED = 5
RECIPE = {"seq_len": 35, "num_next": 32, "least": 15}
TRAINING: dict[str, Any] = {"lr_y": 2.0, "lr_z": 0.2, "record": [300, 1000], "batch_size": 32}


def halves(corpus: Corpus, query: str) -> tuple[Samples, Samples]:
    """The half to draw from, and the half that judges."""
    number = {word: place for place, word in enumerate(corpus.words)}
    samples = samples_after(corpus.train, number[query], without=[number[UNK]], **RECIPE)
    return samples.halves(np.random.default_rng(0))


def drawn(taught: Samples, size: int, seed: int) -> Samples:
    """Draw ``size`` samples without replacement, as the distinct training sequences."""
    return taught.only(np.random.default_rng([seed, size]).permutation(len(taught.target))[:size])


def expected(judge: Samples, words: np.ndarray, size: int, next_probs: np.ndarray) -> float:
    """How many of these places would look distinct if next words had nothing to do with contexts.

    Of a word in a share p of the contexts: sum_n (1 - p(1 - P(n)))^N - (1 - p)^N.
    """
    p = cooccurrence.contexts_with(judge)[words].sum(axis=1) / len(judge.target)
    one = (1 - p[:, None] * (1 - next_probs)) ** size - (1 - p[:, None]) ** size
    return float(one.sum())


def counted(part: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Count the samples in which each word stands, and tell whether these have one next word."""
    table = cooccurrence.contexts_with(part)
    return table.sum(axis=1), (table > 0).sum(axis=1) == 1


def count(part: Samples, alike: np.ndarray, other: np.ndarray) -> dict[str, float]:
    """Count words that look distinct in a draw: of those judged not distinct, of distinct, of all;
    and their share.
    """
    _, looks = counted(part)
    return {
        "spurious": looks[alike].sum(),
        "of_distinct": looks[other].sum(),
        "of_all": looks.sum(),
        "share": (part.weight @ part.q)[looks].sum(),
    }


def attend_to(
    part: Samples, z: np.ndarray, alike: np.ndarray, other: np.ndarray
) -> dict[str, float]:
    """z, less its mean over the places of the draw: of words that only look distinct, of distinct
    ones; and of words in two samples, with one next word or with two.
    """
    times, looks = counted(part)
    share = part.weight @ part.q
    z = z - share @ z
    twice = times == 2
    groups = {
        "z_spurious": alike[looks[alike]],
        "z_distinct": other[times[other] > 0],
        "z_twice_one": np.flatnonzero(twice & looks),
        "z_twice_two": np.flatnonzero(twice & ~looks),
    }
    return {
        name: float(z[group].mean()) if len(group) else np.nan for name, group in groups.items()
    }


def measure(corpus: Corpus, query: str, size: int, shuffled: bool) -> xr.Dataset:
    """Measure all draws of one size."""
    taught, judge = halves(corpus, query)
    if shuffled:
        taught = taught.shuffled(np.random.default_rng(1))
        judge = judge.shuffled(np.random.default_rng(1))
    described = cooccurrence.describe(judge, np.random.default_rng(0))
    places = np.searchsorted(judge.words, described.word)
    distinct = (described.label == cooccurrence.DISTINCT).values
    alike = places[~distinct]
    other = places[distinct]
    counts = []
    seen = []
    for seed in range(DRAWS):
        part = drawn(taught, size, seed)
        counts.append(count(part, alike, other))
        if seed < TRAINED:
            z = yz.train_on(part, vocab_size=corpus.vocab_size, seeds=[seed], **TRAINING).z.isel(
                seed=0
            )
            seen.append([attend_to(part, each, alike, other) for each in z.values])
    found: dict[str, Any] = {name: ("draw", [each[name] for each in counts]) for name in counts[0]}
    found |= {
        name: (("training", "step"), [[at[name] for at in each] for each in seen])
        for name in seen[0][0]
    }
    even = np.full(len(judge.next_words), 1 / len(judge.next_words))
    expectations = {
        "expected": expected(judge, alike, size, judge.next_probs),
        "expected_of_distinct": expected(judge, other, size, judge.next_probs),
        "expected_if_even": expected(judge, alike, size, even),
    }
    sizes = {"num_alike": len(alike), "num_distinct": len(other), "num_samples": len(taught.target)}
    return xr.Dataset(found | {name: ((), value) for name, value in (expectations | sizes).items()})


def record(folder: Path | None) -> None:
    """Run all and write the file."""
    torch.set_num_threads(1)  # the programs are small
    source: dict[str, Any] = provenance("python -m tools.recording.data_size") | {
        "device": "cpu",
        "threads": "1",
    }
    corpus = load_corpus("wikitext-2", folder)
    cases = list(itertools.product(QUERIES, SIZES, (False, True)))
    rows = [measure(corpus, *case) for case in tqdm(cases)]
    index = {
        name: ("case", [case[i] for case in cases])
        for i, name in enumerate(("query", "N", "shuffled"))
    }
    source |= {
        "date": datetime.now(UTC).date().isoformat(),
        "corpus": corpus.name,
        "trained_on": corpus.trained_on,
    }
    source |= {"sha256": dict(corpus.sha256), "vocab_size": corpus.vocab_size, **RECIPE, **TRAINING}
    result = xr.concat(rows, dim="case").assign_coords(index | {"step": TRAINING["record"]})
    result = result.assign_attrs(source=json.dumps(source))
    files.keep(RESULTS / "data_size.nc", result.to_netcdf(engine="h5netcdf"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="the corpus' folder; default: where scansnap text train looks"
    )
    record(parser.parse_args().data)
