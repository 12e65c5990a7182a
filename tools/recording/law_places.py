"""Where real text lies in the law's phase diagram: sampling's push and the drift on what stands
around frequent words.

``law_places.nc`` holds them at rest, for the classes of the chapter on real text, from the contexts
as they are.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp

from scansnap_core.base import files
from scansnap_core.storage.provenance import provenance
from scansnap_core.text.corpus import UNK, Corpus, load_corpus
from scansnap_core.text.samples import samples_after
from scansnap_core.theory.decoder import Decoder
from tools.recording.real_text import LEAST_NEXT, NUM_NEXT, RESULTS

CASES = (("the", 8), ("the", 35), ("the", 128), ("of", 35), ("and", 35), (",", 35))
TAUS = (1.0, 10.0, 100.0, 375.0)
"""The last one is the end of that chapter's trainings: 6000 updates at eta_Y = 2 with K = 32."""


def forces(query: str, seq_len: int, corpus: Corpus) -> xr.Dataset:
    """Push and drift of all words by tau, over eta_Z/eta_Y, as norms; and what they are made of."""
    number = {word: place for place, word in enumerate(corpus.words)}
    samples = samples_after(
        corpus.train,
        number[query],
        seq_len=seq_len,
        num_next=NUM_NEXT,
        least=LEAST_NEXT,
        without=[number[UNK]],
    )
    q = samples.q.toarray()
    K = len(samples.next_words)
    f = q / np.linalg.norm(q, axis=1, keepdims=True)
    of_class = [f[samples.target == n] for n in range(K)]
    F = np.stack([each.mean(axis=0) for each in of_class])
    gram = F @ F.T
    weight = K * samples.next_probs[:, None]
    decoder = Decoder(gram - np.eye(K), corpus.vocab_size, 1.0, modified=False)
    cut = K * (K + 1)

    def rhs(_: float, state: np.ndarray) -> np.ndarray:
        """Compute d/dtau of Y's coefficients and of the integral of <y_k, e_n - alpha_n>."""
        V = state[:cut].reshape(K, K + 1)
        return np.concatenate(
            [(weight * decoder.errors(V)).ravel(), (weight * decoder.gradient(V)).ravel()]
        )

    states = solve_ivp(
        rhs, (0, TAUS[-1]), np.zeros(cut + K * K), t_eval=TAUS, rtol=1e-8, atol=1e-10
    ).y.T

    def pulled(rows: np.ndarray) -> np.ndarray:
        """Sum E[f∘(v - f f·v)] over classes, with a row v for each class."""
        each = zip(of_class, rows, strict=True)
        return np.sum([(x * v - x**2 * (x @ v)[:, None]).mean(axis=0) for x, v in each], axis=0)

    strengths = states[:, cut:].reshape(-1, K, K)
    own = np.stack([pulled(np.diag(C)[:, None] * F) for C in strengths])
    drift = np.stack([pulled((C - np.diag(np.diag(C))) @ F) for C in strengths])
    norm = {
        name: np.linalg.norm(v, axis=1)
        for name, v in (("push", own), ("drift", drift), ("both", own + drift))
    }
    self_overlap = float(np.diag(gram).mean())
    values = {name: ("tau", part) for name, part in norm.items()} | {
        "self_overlap": self_overlap,
        "overlap": float(gram[~np.eye(K, dtype=bool)].mean()) / self_overlap,
        "num_next": K,
        "num_samples": len(samples.target),
    }
    return xr.Dataset(values, coords={"tau": list(TAUS)})


def record(folder: Path | None) -> None:
    """Write the file."""
    corpus = load_corpus("wikitext-2", folder)
    found = xr.concat([forces(query, seq_len, corpus) for query, seq_len in CASES], dim="case")
    found = found.assign_coords(
        query=("case", [q for q, _ in CASES]), seq_len=("case", [T for _, T in CASES])
    )
    source: dict[str, Any] = provenance("python -m tools.recording.law_places") | {
        "corpus": corpus.name,
        "trained_on": corpus.trained_on,
    }
    source |= {"sha256": dict(corpus.sha256), "vocab_size": corpus.vocab_size}
    found = found.assign_attrs(source=json.dumps(source))
    files.keep(RESULTS / "law_places.nc", found.to_netcdf(engine="h5netcdf"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="the corpus' folder; default: where scansnap text train looks"
    )
    record(parser.parse_args().data)
