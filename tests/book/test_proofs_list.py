"""The list of what is proved and what is only sampled is drawn from the stored verdicts."""

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
