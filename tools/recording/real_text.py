"""Train (Y, Z) on what stands around frequent words of WikiText, for the chapter on real text.

``real_text.nc`` holds statistics over words, and the words themselves only in two short lists of
examples.
"""

import argparse
import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from tqdm import tqdm

from scansnap_core.base import files
from scansnap_core.storage.provenance import provenance
from scansnap_core.text import cooccurrence, rankings, yz
from scansnap_core.text.corpus import UNK, Corpus, load_corpus
from scansnap_core.text.samples import Samples, samples_after

RESULTS = Path(__file__).parents[2] / "results"
QUERIES = ("the", "of", "and", "in", "to", ",", ".")
RECORD = (10, 30, 100, 300, 1000, 2000, 3000, 4500, 6000)
EARLY = 100
LATE = 6000
NUM_NEXT = 32
LEAST_NEXT = 15
BATCH_SIZE = 32
EXAMPLES = 6
NUMBERS = ("rho", "low", "high", "chance", "p")


@dataclass(frozen=True)
class Case:
    """One training: after which query word, and on what."""

    query: str
    variant: str = "text"
    """text; shuffled next words; one half, judged by the other; base rates known; T = infinity"""
    seed: int = 0
    seq_len: int = 35
    lr_y: float = 2.0
    lr_z: float = 0.2


def cases() -> list[Case]:
    """List all trainings of the file."""
    chosen = []
    for query in QUERIES:
        chosen += [
            Case(query, variant, seed) for variant in ("text", "shuffled") for seed in (0, 1)
        ]
        chosen += [
            Case(query, variant, seed)
            for variant in ("half", "shuffled half")
            for seed in (0, 1, 2)
        ]
        chosen += [Case(query, variant) for variant in ("base rates", "infinity")]
    the = Case("the")
    for seq_len in (8, 128):
        chosen += [
            replace(the, seq_len=seq_len, variant=variant) for variant in ("text", "shuffled")
        ]
    return chosen + [replace(the, lr_z=lr_z) for lr_z in (0.02, 2.0)] + [replace(the, lr_y=0.5)]


def samples_of(case: Case, corpus: Corpus) -> Samples:
    """Return the samples around the query word, as they occur in the text."""
    number = {word: place for place, word in enumerate(corpus.words)}
    return samples_after(
        corpus.train,
        number[case.query],
        seq_len=case.seq_len,
        num_next=NUM_NEXT,
        least=LEAST_NEXT,
        without=[number[UNK]],
    )


def measure(case: Case, corpus: Corpus) -> tuple[xr.Dataset, xr.Dataset, xr.DataArray]:
    """Train once, and return the statistics, the words' description, and z (recorded, word)."""
    samples = samples_of(case, corpus)
    rng = np.random.default_rng(case.seed)
    if "shuffled" in case.variant:
        samples = samples.shuffled(rng)
    taught = judge = samples
    if "half" in case.variant:
        taught, judge = samples.halves(rng)
    if case.variant == "infinity":
        taught = samples.at_infinity()
    described = cooccurrence.describe(judge, np.random.default_rng(0))
    run = yz.train_on(
        taught,
        vocab_size=corpus.vocab_size,
        lr_y=case.lr_y,
        lr_z=case.lr_z,
        record=RECORD,
        batch_size=None if case.variant == "infinity" else BATCH_SIZE,
        seeds=[case.seed],
        base_rates=case.variant == "base rates",
        held_out=judge if "half" in case.variant else None,
    ).isel(seed=0)
    found = rankings.follow(run.z, taught, described, corpus.vocab_size)
    # The mean over a hundred steps, or as many as there are.
    found["loss"] = (
        "recorded",
        [float(run.loss[max(0, step - 100) : step].mean()) for step in RECORD],
    )
    found["held_out_loss"] = run.get("held_out_loss", xr.full_like(found.loss, np.nan)).drop_vars(
        "seed", errors="ignore"
    )
    P = taught.next_probs
    found["next_entropy"] = (), float(-(P * np.log(P)).sum())
    found["num_next"] = ((), len(P))
    found["num_samples"] = ((), len(taught.target))
    found["num_words"] = ((), described.sizes["word"])
    found["num_in_contexts"] = ((), len(taught.words))
    found["labelled"] = (
        "label",
        [int((described.label == name).sum()) for name in found.label.values],
    )
    z = run.z.sel(word=described.word)
    found["intervals"] = ("moment", "explains", "number"), np.full((2, 5, len(NUMBERS)), np.nan)
    if case.seed == 0 and case == Case(case.query, case.variant):
        known = rankings.scores(taught, described, corpus.vocab_size)
        found["intervals"] = (
            ("moment", "explains", "number"),
            [intervals(z.sel(recorded=t), known) for t in (EARLY, LATE)],
        )
    return found.drop_vars(["seed"], errors="ignore"), described, z


def intervals(z: xr.DataArray, known: dict[str, np.ndarray]) -> np.ndarray:
    """Return the numbers of :func:`rankings.explain`: (explains, number), the last one distinctness
    given frequency.
    """
    rng = np.random.default_rng(0)
    alone = rankings.explain(z.values, known, rng)
    pair = {name: known[name] for name in ("frequency", "distinctness")}
    given = rankings.explain(z.values, pair, rng, given="frequency").sel(score=["distinctness"])
    return np.concatenate(
        [np.stack([part[name].values for name in NUMBERS], axis=-1) for part in (alone, given)]
    )


def the_words(
    described: xr.Dataset, z: xr.DataArray, words: tuple[str, ...]
) -> tuple[xr.Dataset, dict[str, list[str]]]:
    """Return the numbers of each word, without its name; and the names at both ends, early and
    late.
    """
    shown = described[["frequency", "distinctness", "contexts", "label"]].drop_vars("word")
    shown["z"] = ("moment", "word"), z.sel(recorded=[EARLY, LATE]).values
    examples = {}
    for step in (EARLY, LATE):
        order = z.word.values[np.argsort(z.sel(recorded=step).values)]
        examples[f"gain {step}"] = [words[number] for number in order[::-1][:EXAMPLES]]
        examples[f"lose {step}"] = [words[number] for number in order[:EXAMPLES]]
    return shown, examples


def record(folder: Path | None) -> None:
    """Run all cases and write the file."""
    torch.set_num_threads(1)  # the programs are small
    corpus = load_corpus("wikitext-2", folder)
    rows = []
    extra = {}
    chosen = cases()
    for case in tqdm(chosen):
        found, described, z = measure(case, corpus)
        rows.append(found)
        if case == Case("the"):
            shown, examples = the_words(described, z, corpus.words)
            extra = {name: values.rename(word="the_word") for name, values in shown.items()}
    runs = xr.concat(rows, dim="run").assign_coords(
        {name: ("run", [asdict(case)[name] for case in chosen]) for name in asdict(chosen[0])}
    )
    source: dict[str, Any] = provenance("python -m tools.recording.real_text") | {
        "device": "cpu",
        "threads": "1",
    }
    source |= {
        "date": datetime.now(UTC).date().isoformat(),
        "corpus": corpus.name,
        "trained_on": corpus.trained_on,
    }
    source |= {
        "sha256": dict(corpus.sha256),
        "vocab_size": corpus.vocab_size,
        "batch_size": BATCH_SIZE,
    }
    source |= {"num_next": NUM_NEXT, "least_next": LEAST_NEXT}
    names = [*rankings.SCORES, "distinctness given frequency"]
    result = runs.assign({f"the_{name}": values for name, values in extra.items()}).assign_coords(
        explains=names, number=list(NUMBERS), moment=[EARLY, LATE]
    )
    result = result.assign_attrs(source=json.dumps(source), examples=json.dumps(examples))
    coded = {
        name: {"zlib": True}
        for name, values in result.data_vars.items()
        if values.dtype.kind == "f" and values.ndim
    }
    files.keep(RESULTS / "real_text.nc", result.to_netcdf(engine="h5netcdf", encoding=coded))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="the corpus' folder; default: where scansnap text train looks"
    )
    record(parser.parse_args().data)
