"""Record attention on one passage of WikiText-2 over training, for the chapter that looks at it.

Two models train on the test split. The paper's own, Y and Z, reads the 34 words before each "the"
and learns what follows. The standard Transformer of Figure 7 reads everything. Both are then shown
the same passage of the validation text, which neither was trained on.
"""

import argparse
import itertools
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from scipy import sparse
from tqdm import tqdm

from scansnap_core.base import files
from scansnap_core.data.probabilities import Floats, Ints
from scansnap_core.storage.provenance import provenance
from scansnap_core.text import yz
from scansnap_core.text.corpus import EOS, UNK, Corpus, load_corpus
from scansnap_core.text.samples import Samples, samples_after
from scansnap_core.text.settings import Settings
from scansnap_core.text.training import Training
from scansnap_core.theory.clocks import transition

RESULTS = Path(__file__).parents[2] / "results"
QUERY = "the"
CONTEXT = 35
NUM_NEXT = 32
LEAST_NEXT = 15
BATCH_SIZE = 32
LR_Y = 2.0
LR_Z = 0.2
STEPS = 6000
SMALL_VOCABULARY = 2000
"""The Transformer's words, as in Figure 7; the paper's own model has all of the corpus."""
MOST_UNKNOWN = 1
"""The number of words of the passage that the Transformer doesn't know."""
AVERAGED = 25
"""The losses of this many steps are averaged."""


def passage_place(corpus: Corpus, small: Corpus, next_words: Ints) -> int:
    """Return where the passage's last word stands in the validation text.

    It is the first passage of 35 words that ends in "the", within one line, with at most one
    unknown word, and with a next word that is one of the classes. No attention was looked at.
    """
    unknown = small.words.index(UNK)
    line_end = small.words.index(EOS)
    for place in np.flatnonzero(small.validation == small.words.index(QUERY)):
        words = small.validation[place - CONTEXT + 1 : place + 1]
        if len(words) < CONTEXT or line_end in words:
            continue
        few_unknown = np.count_nonzero(words == unknown) <= MOST_UNKNOWN
        if few_unknown and corpus.validation[place + 1] in next_words:
            return int(place)
    raise LookupError("the validation text has no such passage")


def own_moments(num_next: int, vocab_size: int) -> list[int]:
    """List the steps at which the paper's own model is looked at; t_0' and t_0 are among them."""
    clock = [round(time) for time in transition(num_next, vocab_size, LR_Y)]
    return sorted({10, 30, 100, 200, 1000, 2000, 3000, 4500, STEPS, *clock})


def attention_on(samples: Samples, z: Floats) -> sparse.csr_array:
    """Return attention on each sample's words, shape (samples, words)."""
    weights = samples.q.multiply(np.exp(z - z.max())).tocsr()
    return sparse.csr_array(weights.multiply(1 / weights.sum(axis=1)[:, None]))


def apart(before: sparse.csr_array, after: sparse.csr_array) -> float:
    """Average over the samples the share of attention that lies elsewhere."""
    return float(abs(after - before).sum() / 2 / before.shape[0])


def entropy(samples: Samples, attention: sparse.csr_array) -> float:
    """Average over the samples the entropy of attention on places, in nats.

    Two places with the same word have the same attention, so a word's is divided by its places.
    """
    places = samples.q.multiply(CONTEXT - 1).tocoo()
    weights = attention.tocsr()[places.coords[0], places.coords[1]]
    terms = -weights * np.log(weights / places.data)
    return float(terms.sum() / attention.shape[0])


def own_model(corpus: Corpus) -> tuple[xr.Dataset, int]:
    """Train Y and Z after "the"; return attention on the passage, and its place."""
    number = {word: place for place, word in enumerate(corpus.words)}
    samples = samples_after(
        corpus.train,
        number[QUERY],
        seq_len=CONTEXT,
        num_next=NUM_NEXT,
        least=LEAST_NEXT,
        without=[number[UNK]],
    )
    place = passage_place(corpus, corpus.limited(SMALL_VOCABULARY), samples.next_words)
    passage = corpus.validation[place - CONTEXT + 1 : place + 1]
    record = own_moments(len(samples.next_words), corpus.vocab_size)
    run = yz.train_on(
        samples,
        vocab_size=corpus.vocab_size,
        lr_y=LR_Y,
        lr_z=LR_Z,
        record=record,
        batch_size=BATCH_SIZE,
    ).isel(seed=0)
    # z of each word of the passage; a word that no training context holds keeps z = 0.
    column = {word: place for place, word in enumerate(samples.words)}
    z = np.concatenate([np.zeros((1, len(samples.words))), run.z.values])
    on_passage = np.zeros((len(z), CONTEXT - 1))
    for position, word in enumerate(passage[:-1]):
        if word in column:
            on_passage[:, position] = z[:, column[word]]
    weights = np.exp(on_passage)
    on_samples = [attention_on(samples, at) for at in z]
    start = on_samples[0]
    end = on_samples[-1]
    moved = [0.0, *(apart(*pair) for pair in itertools.pairwise(on_samples))]
    values = {
        "own_attention": (("own_step", "place"), weights / weights.sum(axis=1, keepdims=True)),
        "own_moved": ("own_step", moved),
        "own_from_start": ("own_step", [apart(start, at) for at in on_samples]),
        "own_to_end": ("own_step", [apart(at, end) for at in on_samples]),
        "own_entropy": ("own_step", [entropy(samples, at) for at in on_samples]),
        "own_loss": ("own_mean_step", run.loss.values.reshape(-1, AVERAGED).mean(axis=1)),
        "next_probs": ("next", samples.next_probs),
    }
    coords = {
        "own_step": [0, *record],
        "own_mean_step": np.arange(AVERAGED, STEPS + 1, AVERAGED) - (AVERAGED - 1) / 2,
        "next": [corpus.words[word] for word in samples.next_words],
    }
    words = [corpus.words[word] for word in corpus.validation[place - CONTEXT + 1 : place + 2]]
    return xr.Dataset(values, coords).assign_attrs(words=json.dumps(words)), place


def transformer(corpus: Corpus, place: int) -> xr.Dataset:
    """Train the Transformer of Figure 7; return the last word's attention on the passage."""
    settings = Settings()
    training = Training(corpus, settings, torch.device("cpu"))
    passage = torch.from_numpy(corpus.validation[place - CONTEXT + 1 : place + 1])[None]
    following = int(corpus.validation[place + 1])
    kept: dict[str, list[Floats]] = {"row": [], "loss": [], "entropy": [], "chance": []}
    for _, values in tqdm(training.snapshots(), total=len(settings.snapshots)):
        with torch.no_grad():
            model = training.model.eval()
            kept["row"].append(model.attention(passage)[0, 0, -1].numpy().copy())
            kept["chance"].append(model(passage)[0, -1].softmax(-1)[following].numpy().copy())
        kept["loss"].append(values["loss"])
        kept["entropy"].append(values["entropy"][0])
    dims = {"row": ("step", "key"), "loss": "step", "entropy": "step", "chance": "step"}
    arrays = {name: (dims[name], np.stack(kept[name]).astype("f4")) for name in kept}
    return xr.Dataset(arrays, {"step": settings.snapshots})


def record(out: Path) -> None:
    """Train both, and write the file."""
    torch.set_num_threads(1)
    corpus = load_corpus("wikitext-2")
    small = corpus.limited(SMALL_VOCABULARY)
    own, place = own_model(corpus)
    trained = transformer(small, place)
    small_words = [small.words[word] for word in small.validation[place - CONTEXT + 1 : place + 2]]
    counts = np.bincount(small.train, minlength=small.vocab_size) / len(small.train)
    result = xr.merge([own.drop_attrs(), trained])
    result["word_shares"] = "word", np.sort(counts)[::-1].astype("f4")
    result["next_share"] = (), counts[small.words.index(small_words[-1])]
    source = provenance("python -m tools.recording.one_passage") | {
        "date": datetime.now(UTC).date().isoformat(),
        "corpus": corpus.name,
        "trained_on": corpus.trained_on,
        "sha256": dict(corpus.sha256),
        "passage": json.loads(own.words),
        "small_passage": small_words,
        "passage_place": place,
        "vocab_size": corpus.vocab_size,
        "small_vocab_size": small.vocab_size,
        "num_next": own.sizes["next"],
        "lr_y": LR_Y,
        "lr_z": LR_Z,
        "batch_size": BATCH_SIZE,
    }
    result = result.assign_attrs(source=json.dumps(source))
    coded = {name: {"zlib": True} for name in result.data_vars}
    files.keep(out, result.to_netcdf(engine="h5netcdf", encoding=coded))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?", default=RESULTS / "one_passage.nc")
    record(parser.parse_args().out)
