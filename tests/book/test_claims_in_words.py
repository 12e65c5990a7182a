"""Claims in words: what the file may say, what follows from it, and the board."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from scansnap_core.base.files import MAPPING, TEXT
from scansnap_core.book.board import board_html
from scansnap_core.book.claims_in_words import FILE, claims_in_words
from scansnap_core.book.notebooks import Stored, read_stored
from scansnap_core.ledger.entries import Refutation
from scansnap_core.ledger.registry import WITHOUT_CARD
from scansnap_core.ledger.verdicts import HOLDS, Verdict
from tests.findings import a_check, a_refutation
from tests.refusing import refuses

ROOT = Path(__file__).parents[2]


def refutation(claim_id: str, condition: str = "", judges: str = "claim") -> Refutation:
    repair = "" if condition else "1"
    return a_refutation(claim_id, "empirical", condition=condition, repair=repair, judges=judges)


CHECKS = (a_check("one"), a_check("two", "symbolic"), a_check("size"))
VERDICT = Verdict(
    "fig_04", HOLDS, checks=CHECKS, refutations=(refutation("order"), refutation("sign", "small overlaps"))
)
BESIDE = replace(
    VERDICT, refutations=(refutation("remark", judges="remark"), refutation("sign", "weak", judges="scope"))
)
STORED = Stored(
    pages={"fig_04": None, "fig_08": None, "lemma_01": None},  # type: ignore[dict-item]
    verdicts={"fig_04": VERDICT, "fig_08": BESIDE, "lemma_01": Verdict("lemma_01")},
)


def written(tmp_path: Path, answers: Any, **changes: Any) -> Path:
    (tmp_path / "chapters").mkdir()
    claim = {"place": "Sec. 1", "says": "it grows", "answers": answers} | changes
    (tmp_path / "chapters" / FILE).write_text(yaml.safe_dump({"C1": claim}), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("answers", "against", "verdict"),
    [
        *((answers, [], "open") for answers in ({}, None, {"lemma_01": None})),
        ({"fig_04": ["one", "size"]}, [], "holds"),
        ({"fig_04": ["one", "sign"]}, [], "holds under a condition"),
        ({"fig_04": ["one", "sign", "order"]}, [], "fails as printed"),
        ({"fig_04": None}, [], "fails as printed"),
        ({"fig_08": None}, [], "holds under a condition"),  # as the page says itself
        ({"fig_08": ["one", "remark"]}, [], "fails as printed"),
        ({"fig_04": ["one"]}, ["size"], "holds under a condition"),  # a check that speaks against it is no support
        ({"fig_04": ["one", "size"]}, ["size"], "holds under a condition"),
        ({"fig_04": ["one", "order"]}, ["size"], "fails as printed"),
        ({"fig_04": ["sign"]}, ["size"], "fails as printed"),
        ({}, ["size"], "fails as printed"),
    ],
)
def test_the_verdict_follows_from_the_entries_that_are_named(
    tmp_path: Path, answers: Any, against: list[str], verdict: str
) -> None:
    changes = {"against": {"fig_04": against}} if against else {}
    (claim,) = claims_in_words(written(tmp_path, answers, **changes), STORED)
    assert (claim.name, claim.place, claim.says, claim.verdict) == ("C1", "Sec. 1", "it grows", verdict)
    assert [entry.id for entry in claim.against] == against
    assert "size" not in [entry.id for entry in claim.entries if against]
    assert not against or claim.counts("numeric")["refutations"] == 1


def test_entries_are_counted_by_witness(tmp_path: Path) -> None:
    (claim,) = claims_in_words(written(tmp_path, {"fig_04": ["two", "size", "sign"]}), STORED)
    assert claim.pages == ("fig_04",)
    counts = [tuple(claim.counts(witness).values()) for witness in ("symbolic", "numeric", "empirical")]
    assert counts == [(1, 0), (1, 0), (0, 1)]


def test_what_speaks_against_a_claim_counts_for_its_witness_alone(tmp_path: Path) -> None:
    against = {"fig_04": ["one", "two"]}
    (claim,) = claims_in_words(written(tmp_path, {"fig_04": ["size"]}, against=against), STORED)
    refuted = [claim.counts(witness)["refutations"] for witness in ("empirical", "numeric", "proved", "symbolic")]
    assert refuted == [0, 1, 0, 1]
    with pytest.raises(FrozenInstanceError):
        claim.place = "Sec. 2"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("answers", "changes", "value", "rule"),
    [
        ({"fig_05": None}, {}, "claims_in_words.yaml: C1.answers.fig_05", "it is no page of the book"),
        ({"fig_04": ["speed"]}, {}, "claims_in_words.yaml: C1: fig_04:speed", "fig_04 stores no such claim"),
        (
            {"fig_04": ["size", "size"]},
            {},
            "claims_in_words.yaml: C1: fig_04",
            "it lists ids of the page's claims, each once",
        ),
        ({"fig_04": "size"}, {}, "claims_in_words.yaml: C1: fig_04", "it lists ids of the page's claims, each once"),
        ({"fig_04": [["size"]]}, {}, "claims_in_words.yaml: C1: fig_04:['size']", "fig_04 stores no such claim"),
        (["fig_04"], {}, "claims_in_words.yaml: C1.answers = ['fig_04']", "it maps pages to ids of their claims"),
        ({}, {"says": " "}, "claims_in_words.yaml: C1.says", "a reader must learn it"),
        ({}, {"place": 3}, "claims_in_words.yaml: C1.place = 3", TEXT.says),
        ({}, {"verdict": "holds"}, "claims_in_words.yaml: C1: key 'verdict'", "there is no such key"),
        (
            {},
            {"against": ["fig_04"]},
            "claims_in_words.yaml: C1.against = ['fig_04']",
            "it maps pages to ids of their claims",
        ),
        (
            {},
            {"against": {"fig_04": ["order"]}},
            "claims_in_words.yaml: C1.against",
            "a refutation contradicts by itself",
        ),
    ],
)
def test_what_the_file_says_wrongly_is_refused(
    tmp_path: Path, answers: Any, changes: Any, value: str, rule: str
) -> None:
    with refuses(value, rule):
        claims_in_words(written(tmp_path, answers, **changes), STORED)


@pytest.mark.parametrize(
    ("text", "value", "rule"),
    [
        ("[1", "file …/chapters/claims_in_words.yaml: while parsing …", "the file is valid YAML or JSON"),
        ("- a", "claims_in_words.yaml = ['a']", MAPPING.says),
    ],
)
def test_an_unreadable_file_is_refused(tmp_path: Path, text: str, value: str, rule: str) -> None:
    written(tmp_path, {})
    (tmp_path / "chapters" / FILE).write_text(text)
    with refuses(value, rule):
        claims_in_words(tmp_path, STORED)


def test_a_book_without_the_file_has_no_such_claims(tmp_path: Path) -> None:
    assert claims_in_words(tmp_path, STORED) == []


def test_the_papers_24_claims_stand_on_the_board() -> None:
    stored = read_stored(ROOT)
    claims = claims_in_words(ROOT, stored)
    assert [claim.name for claim in claims] == [f"C{number}" for number in range(1, 25)]
    board = board_html(ROOT, lambda page_id: f"pages/{page_id}.html")
    assert [page.id for page in stored.pages.values() if f'href="pages/{page.id}.html"' not in board] == [
        page.id for page in stored.pages.values() if page.kind in WITHOUT_CARD
    ]
    rows = re.findall(r'<tr class="([\w -]+)">\s*<th scope="row">\s*C(\d+) .*?</tr>', board, re.S)
    assert [int(number) for _, number in rows] == list(range(1, 25))
    assert board.index(">Claims in words<") < board.index(">Beyond the paper<")
    assert '<a href="pages/residual.html">A residual connection makes' in board
    for (css, _), claim in zip(rows, claims, strict=True):
        assert (css == "ss-open") == (claim.verdict == "open")


def test_a_card_on_the_board_is_its_claims_alone() -> None:
    claims = claims_in_words(ROOT, read_stored(ROOT))
    board = board_html(ROOT, lambda page_id: f"pages/{page_id}.html")
    cells = dict(re.findall(r'<tr class="[\w -]+">\s*<th scope="row">\s*(C\d+) (.*?)</tr>', board, re.S))
    shared = {c.name for c in claims for other in claims if c != other and set(c.pages) & set(other.pages)}
    assert {"C11", "C18"} <= shared
    for claim in claims:
        silent = len(re.findall(r'<td class="ss-under "[^>]*>–</td>', cells[claim.name]))
        assert silent == 2 if claim.name in shared or len(claim.pages) != 1 else silent < 2
