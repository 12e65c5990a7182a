"""The list of what is proved and what is only sampled is drawn from the stored verdicts."""

import json
from pathlib import Path

from scansnap_core.book.proofs import proofs_html
from scansnap_core.book.stored import read_stored

BOOK = Path(__file__).resolve().parents[2]


def test_the_list_counts_what_the_chapters_store() -> None:
    verdicts = read_stored(BOOK).verdicts.values()
    proofs = [proof for verdict in verdicts for proof in verdict.get("proofs", [])]
    sampled = [entry for verdict in verdicts for entry in verdict.get("sampled", [])]
    drawn = proofs_html(BOOK, lambda page_id: f"{page_id}.html")
    assert f"{len(proofs)} of {len(proofs) + len(sampled)} claims over all of their conditions are proved" in drawn
    assert f"{len(sampled)} are only sampled" in drawn
    assert drawn.count("<tr>") == len(proofs) + len(sampled) + 2
    assert 'href="lemma_08.html"' in drawn


def test_every_proof_says_what_it_is_for() -> None:
    for verdict in read_stored(BOOK).verdicts.values():
        for proof in verdict.get("proofs", []):
            assert all(proof[key] for key in ("what", "region", "assumptions", "how", "control", "control_is")), proof
        checked = {check["what"] for check in verdict.get("checks", [])}
        assert {entry["what"] for entry in verdict.get("sampled", [])} <= checked, json.dumps(verdict["id"])
