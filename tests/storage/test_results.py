"""Recorded results are those that were reviewed: each has its checksum in a file that no program writes along."""

import hashlib
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "results"
SUMS = RESULTS / "SHA256SUMS"


def test_recorded_results_are_the_reviewed_ones() -> None:
    reviewed = dict(line.split()[::-1] for line in SUMS.read_text().splitlines())
    files = [path for path in RESULTS.iterdir() if path.name not in ("README.md", SUMS.name)]
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert found == reviewed, "look at what changed, then: cd results && sha256sum *.nc *.csv > SHA256SUMS"
