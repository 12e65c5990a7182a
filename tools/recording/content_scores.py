"""How the words rank in a standard Transformer's attention to content, from finished trainings:
``content_scores.nc``.

The stores are those of README.md; beside the arrays each holds the trained model. The initial one
comes from its seed.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
import xarray as xr

from scansnap_core.base import files
from scansnap_core.storage.provenance import provenance
from scansnap_core.storage.store import read
from scansnap_core.text import cooccurrence, rankings
from scansnap_core.text.corpus import UNK, Corpus, load_corpus
from scansnap_core.text.samples import Samples, samples_after
from scansnap_core.text.settings import Settings
from scansnap_core.text.training import Training
from tools.recording.real_text import LEAST_NEXT, NUM_NEXT, QUERIES

RESULTS = Path(__file__).parents[2] / "results"
VOCAB_SIZE = 2_000
PATTERNS = ("layers-1_lr-*.zarr", "no-positions_*.zarr")
MOMENTS = ("untrained", "trained", "gain")


def samples_of(query: int, corpus: Corpus, seq_len: int) -> Samples:
    """Return the samples (contexts and next words) around a query word."""
    unknown = [corpus.words.index(UNK)]
    return samples_after(
        corpus.train, query, seq_len=seq_len, num_next=NUM_NEXT, least=LEAST_NEXT, without=unknown
    )


def content_scores(
    store: Path, corpus: Corpus, settings: Settings, queries: list[int]
) -> np.ndarray:
    """Compute scores before and after training, and what was gained, by query: (query, 3, M)."""
    training = Training(corpus, settings, torch.device("cpu"))
    found = []

    def scores() -> list[np.ndarray]:
        with torch.no_grad():
            return [training.model.content_scores(query).double().numpy() for query in queries]

    found.append(scores())
    training.resume((store / f"state-{len(settings.snapshots) - 1}.pt").read_bytes())
    found.append(scores())
    before, after = np.array(found)
    return np.stack([before, after, after - before], axis=1)


def ranked(z: np.ndarray, samples: Samples, described: xr.Dataset, vocab_size: int) -> xr.Dataset:
    """:func:`rankings.follow` of (3, M) scores less their mean over contexts: a softmax doesn't
    feel a constant.
    """
    words = np.arange(vocab_size)
    at_described = z[:, described.word.values]
    centred = (
        z - (at_described @ described.frequency.values / described.frequency.values.sum())[:, None]
    )
    rows = xr.DataArray(
        centred, dims=("recorded", "word"), coords={"recorded": list(MOMENTS), "word": words}
    )
    return rankings.follow(rows, samples, described, vocab_size)


def record(stores: list[Path], folder: Path | None) -> None:
    """Write the file."""
    corpus = load_corpus("wikitext-2", folder).limited(VOCAB_SIZE)
    queries = [corpus.words.index(word) for word in QUERIES]
    context = Settings().context
    sources = []
    rows = []
    real = [samples_of(query, corpus, context) for query in queries]
    dealt = [samples.shuffled(np.random.default_rng(0)) for samples in real]
    described = {
        kind: [cooccurrence.describe(one, np.random.default_rng(0)) for one in some]
        for kind, some in (("text", real), ("shuffled", dealt))
    }
    for store in stores:
        attrs = read(store).attrs
        asked = json.loads(attrs["configuration"])
        settings = Settings(**{name: asked[name] for name in Settings.__dataclass_fields__})
        sources.append({name: attrs[name] for name in ("command", "commit")})
        scores = content_scores(store, corpus, settings, queries)
        for kind, some in (("text", real), ("shuffled", dealt)):
            parts = [
                ranked(z, samples, words, VOCAB_SIZE)
                for z, samples, words in zip(scores, some, described[kind], strict=True)
            ]
            one = xr.concat(parts, dim=xr.Variable("query", list(QUERIES)))
            what = {
                "lr": settings.lr,
                "seed": settings.seed,
                "positions": settings.positions,
                "contexts": kind,
            }
            rows.append(
                one.expand_dims("run").assign_coords({name: ("run", [what[name]]) for name in what})
            )
    source = provenance("python -m tools.recording.content_scores FOLDER") | {
        "corpus": corpus.name,
        "trained_on": corpus.trained_on,
        "sha256": dict(corpus.sha256),
        "vocab_size": VOCAB_SIZE,
        "trainings": sources,
    }
    labelled = [
        [int((words.label == name).sum()) for name in one.label.values]
        for words in described["text"]
    ]
    result = xr.concat(rows, dim="run")
    result = result.assign(labelled=(("query", "label"), labelled)).assign_attrs(
        source=json.dumps(source)
    )
    files.keep(RESULTS / "content_scores.nc", result.to_netcdf(engine="h5netcdf"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the stores are")
    parser.add_argument(
        "--data", type=Path, help="the corpus' folder; default: where scansnap text train looks"
    )
    options = parser.parse_args()
    record(
        sorted(path for pattern in PATTERNS for path in options.folder.glob(pattern)), options.data
    )
