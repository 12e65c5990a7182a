"""Claims that a card cites from another chapter, held against what that chapter stores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scansnap_core.book.cited import cited_faults, shown_of
from scansnap_core.book.notebooks import Stored, read_stored
from scansnap_core.ledger.verdicts import Verdict
from tests.book.books import CLAIMS, GOOD_CELLS, write_notebook
from tests.book.conftest import Run
from tests.findings import a_refutation

ROOT = Path(__file__).parents[2]
PAGE = "population"
CLAIM = "common_falls_gradient"


@pytest.fixture(scope="module")
def stored() -> Stored:
    return read_stored(ROOT)


def faults_with(stored: Stored, population: Verdict) -> list[str]:
    """The faults of the book if the population's chapter stored another verdict."""
    return cited_faults(ROOT, replace(stored, verdicts={**stored.verdicts, PAGE: population}))


def without(stored: Stored, claim_id: str) -> Verdict:
    """The population's verdict without one of its checks."""
    own = stored.own(PAGE)
    left = tuple(check for check in own.checks if check.id != claim_id)
    assert len(left) == len(own.checks) - 1
    return replace(own, checks=left)


def test_every_card_of_the_book_cites_what_is_stored(stored: Stored) -> None:
    assert cited_faults(ROOT, stored) == []


def test_a_cited_claim_that_is_gone_is_named_on_every_card_that_needs_it(stored: Stored) -> None:
    faults = faults_with(stored, without(stored, CLAIM))
    rule = "no check or refutation of population has this id; name another, or store population"
    assert faults == [
        f"{page}.yaml: card.gradient.keeps = 'population:{CLAIM}': {rule}"
        for page in ("theorem_2", "theorem_3", "theorem_4")
    ]
    citing = [
        page for page, verdict in stored.verdicts.items() if f"{PAGE}:" in " ".join(r.cited for r in verdict.card)
    ]
    assert set(citing) > {"theorem_2", "theorem_3", "theorem_4"}
    assert len(faults_with(stored, Verdict(PAGE))) == len(citing)


def test_a_cited_claim_that_came_out_otherwise_contradicts_the_card(stored: Stored) -> None:
    refuted = replace(without(stored, CLAIM), refutations=(a_refutation(CLAIM, "numeric"),))
    faults = faults_with(stored, refuted)
    rule = "what is kept is shown by a check, which held; move it, or name a check"
    assert faults[0] == f"theorem_2.yaml: card.gradient.keeps = 'population:{CLAIM}': {rule}"
    assert len(faults) == 3


def test_what_is_shown_is_what_the_other_chapter_stores(stored: Stored) -> None:
    own = stored.own(PAGE)
    (check,) = (check for check in own.checks if check.id == CLAIM)
    shown = shown_of(f"{PAGE}:{CLAIM}", own)
    assert (shown["number"], shown["by"]) == (check.measured, CLAIM)
    assert shown["scope"] in [each.why for each in own.sampled if each.id == CLAIM]
    control = shown_of("population:distinct_can_fall_gradient.control", own)
    assert (control["by"], control["scope"]) == ("distinct_can_fall_gradient", "")


@pytest.mark.parametrize(("cited", "named"), [("numeric_half", False), ("numeric_whole", True)])
def test_verify_names_a_cited_claim_that_nobody_stored(book: Path, verify: Run, cited: str, named: bool) -> None:
    card = CLAIMS["card"] | {"sgd": {"keeps": [f"lemma_08:{cited}"], "says": "So."}}
    write_notebook(book / "chapters" / "other.ipynb", GOOD_CELLS, CLAIMS | {"card": card})
    code, _, errors = verify("lemma_08")
    place = "other.yaml: card.sgd.keeps = 'lemma_08:numeric_whole'"
    said = f"{place}: no check or refutation of lemma_08 has this id; name another, or store lemma_08"
    assert (code == 1, said in errors) == (named, named), errors
