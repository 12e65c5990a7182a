"""A number that a page quotes from a chapter leads to its claim, and shows on what it was measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from quoted_numbers import QUOTED, meaning

from scansnap_core.ledger.claims import Claims, read_claims
from tests.site.book import ROOT, documents

CLAIMS = ROOT / "chapters" / "statements" / "snapping_gradient.yaml"
WEIGHTY = ("chapters/index", "chapters/mathematics", "chapters/essay", "chapters/verdicts")
"""The pages that speak of many systems."""


@pytest.fixture(scope="module")
def claims() -> Claims:
    return read_claims(CLAIMS)


def test_a_number_with_a_scope_tells_claim_scope_and_control(claims: Claims) -> None:
    found = meaning("least", "Where attention freezes", claims)
    assert found is not None
    claim_id, words = found
    claim = claims.claims[claim_id]
    assert claim_id == claims.numbers["least"].of
    parts = re.findall(r"<p>(.*?)</p>", words)
    assert len(parts) == 3
    assert "63 runs" in parts[1]
    assert claim.control.split(",")[0].split("$")[0] in parts[2]


def test_a_number_that_bears_a_claims_name_tells_the_claim_and_one_of_no_claim_nothing(claims: Claims) -> None:
    found = meaning("fall_later_gradient", "A page", claims)
    assert found is not None
    assert found[0] == "fall_later_gradient"
    assert found[1].startswith("<p><strong>A page.</strong> ")
    asking = meaning("fall_later_gradient", "Who wins?", claims)
    assert asking is not None
    assert asking[1].startswith("<p><strong>Who wins?</strong> ")
    assert meaning("nothing", "A page", claims) is None


@pytest.mark.parametrize("document", WEIGHTY)
def test_every_quoted_number_of_a_weighty_page_has_a_scope_and_leads_to_its_claim(site: Path, document: str) -> None:
    page = (site / f"{document}.html").read_text(encoding="utf8")
    quoted = [(found["page"], found["name"]) for found in QUOTED.finditer(page)]
    assert quoted
    anchors = set(re.findall(r'<a class="ss-term" href="[^"]*#claim-\w+" data-terms="(number-[\w-]+)"><data', page))
    assert len(anchors) == len(set(quoted))
    for anchor in anchors:
        told = page[page.index(f'<dt id="{anchor}">') :].partition("</dd>")[0]
        assert "Measured on:" in told


def test_every_link_of_a_number_leads_to_a_claim_of_the_chapter(site: Path) -> None:
    tried = 0
    for document in documents():
        path = site / f"{document}.html"
        page = path.read_text(encoding="utf8")
        for address in re.findall(r'<a class="ss-term" href="([^"#]*#claim-\w+)" data-terms="number-', page):
            chapter, _, anchor = address.partition("#")
            target = (path.parent / chapter).read_text(encoding="utf8")
            assert target.count(f'id="{anchor}"') == 1, (document, address)
            tried += 1
    assert tried > 10
