"""The list of what is proved and what is only sampled is drawn from the stored verdicts."""

import functools
import json
from pathlib import Path

import pytest
import yaml

from scansnap_core import BadInput
from scansnap_core.book.proofs import SAMPLED_FILE, proofs_html, reviewed_samples
from scansnap_core.book.stored import Stored, read_stored

BOOK = Path(__file__).resolve().parents[2]


@functools.cache
def stored() -> Stored:
    return read_stored(BOOK)


def test_the_list_counts_what_the_chapters_store() -> None:
    verdicts = stored().verdicts.values()
    proofs = [proof for verdict in verdicts for proof in verdict.get("proofs", [])]
    sampled = [entry for verdict in verdicts for entry in verdict.get("sampled", [])]
    sampled += [entry for _, entry in reviewed_samples(BOOK, stored())]
    drawn = proofs_html(BOOK, lambda page_id: f"{page_id}.html")
    assert f"{len(proofs)} of {len(proofs) + len(sampled)} claims over all of their conditions are proved" in drawn
    assert f"{len(sampled)} are only sampled" in drawn
    assert drawn.count("<tr>") == len(proofs) + len(sampled) + 2
    assert 'href="lemma_08.html"' in drawn


def test_every_proof_says_what_it_is_for() -> None:
    for verdict in stored().verdicts.values():
        for proof in verdict.get("proofs", []):
            assert all(proof[key] for key in ("what", "region", "assumptions", "how", "control", "control_is")), proof
        checked = {check["what"] for check in verdict.get("checks", [])}
        assert {entry["what"] for entry in verdict.get("sampled", [])} <= checked, json.dumps(verdict["id"])


CHECK = "Beyond Assumption 2, at"


def test_a_reviewed_sample_is_a_check_of_its_page(tmp_path: Path) -> None:
    assert reviewed_samples(tmp_path, stored()) == []
    (tmp_path / "chapters").mkdir()
    (tmp_path / SAMPLED_FILE).write_text(yaml.safe_dump({"theorem_1": {CHECK: "random matrices"}}))
    ((page, entry),) = reviewed_samples(tmp_path, stored())
    assert (page, entry["why"]) == ("theorem_1", "random matrices")
    assert entry["what"] in {check["what"] for check in stored().verdicts["theorem_1"]["checks"]}


@pytest.mark.parametrize(
    "listed",
    [
        {"theorem_1": {"no check begins so": "why"}},
        {"theorem_1": {"": "every check begins so"}},
        {"no_page": {CHECK: "why"}},
        {"theorem_1": {CHECK: " "}},
        {"theorem_1": {CHECK: "why", CHECK[:-1]: "said twice"}},
        {"theorem_1": [CHECK]},
        [],
    ],
)
def test_a_wrong_list_is_refused(tmp_path: Path, listed: object) -> None:
    (tmp_path / "chapters").mkdir()
    (tmp_path / SAMPLED_FILE).write_text(yaml.safe_dump(listed))
    with pytest.raises(BadInput, match=r"sampled\.yaml"):
        reviewed_samples(tmp_path, stored())
