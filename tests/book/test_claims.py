import re
from pathlib import Path
from typing import Any

import pytest

from scansnap_core.book.claims import CLAIMS_FILE, claim_faults, claims_of
from scansnap_core.ledger import page
from scansnap_core.ledger.entries import Check, Conclusion, Refutation, Row
from tests.book.books import change_code, clear, spoil
from tests.book.conftest import Run

CHECKS = tuple(Check(w, what, "0.1", "≤ 0.5", "0.7", "no") for w, what in (("numeric", "b"), ("symbolic", "a")))
SLIP = Refutation("numeric", "c", "0.7", "≤ 0.5", "0.1", "so", "Lemma 8", "1", "2", "", "none", "remark")


def claim_more(cells: list[Any]) -> None:
    cells[3]["source"] = cells[1]["source"][1].strip().replace("{name} half", "whole")


def reword(cells: list[Any]) -> None:
    cells[1]["source"][1] = cells[1]["source"][1].replace("{name} half", "{name} half or so")


def loosen(cells: list[Any]) -> None:
    cells[1]["source"][1] = cells[1]["source"][1].replace("0.6,", "0.65,")


def change_control(cells: list[Any]) -> None:
    cells[1]["source"][1] = cells[1]["source"][1].replace("another half", "a half")


def test_claims_are_all_that_a_reader_relies_on_by_witness() -> None:
    verdict = Conclusion(page("lemma_08"), CHECKS, (SLIP,)).as_json()
    refuted = "✗ remark: c: ≤ 0.5; place: Lemma 8; printed: 1; repair: 2; consequence: none; control: so"
    assert claims_of(verdict) == {
        "symbolic": ["✓ a: ≤ 0.5; control: no"],
        "numeric": ["✓ b: ≤ 0.5; control: no", refuted],
    }


def test_a_cards_rows_are_claims() -> None:
    rows = (
        Row("repaired", "", "For all h.", "$2$", "0.1", "≤ 0.5", "c", "so"),
        Row("under SGD", "not concerned", "No noise."),
    )
    verdict = Conclusion(page("lemma_08"), CHECKS, (SLIP,), rows, "cell-01").as_json()
    cards = ["repaired: $2$; For all h.; by c", "under SGD: not concerned; No noise."]
    assert claims_of(verdict)["card"] == cards
    fault = "a reviewed claim of the card vanished: 'under SGD: not concerned; No noise.'"
    assert claim_faults({"card": cards}, {"card": cards[:1]}) == [fault]


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (["✓ the rise: = 0"], "a reviewed claim of the symbolic witness vanished: '✓ the fall: = 0'"),
        (
            ["✓ the rise: = 0", "✓ the fall: = 0", "✓ a sum: = 0"],
            "a new claim of the symbolic witness isn't reviewed: '✓ a sum: = 0'",
        ),
        (
            ["✓ the rise: = 0", "✓ the falls: = 0"],
            "a reviewed claim of the symbolic witness was reworded: '✓ the fall: = 0' is now '✓ the falls: = 0'",
        ),
        (
            ["✓ the fall: = 0", "✓ the rise: = 0"],
            "the symbolic witness's claims stand in another order than the reviewed ones",
        ),
    ],
)
def test_each_difference_is_named(found: list[str], fault: str) -> None:
    reviewed = {"symbolic": ["✓ the rise: = 0", "✓ the fall: = 0"]}
    assert claim_faults(reviewed, {"symbolic": found}) == [fault]
    assert claim_faults(reviewed, reviewed) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (claim_more, "a new claim of the empirical witness isn't reviewed: '✓ whole: ≤ 0.6; control: another half'"),
        (
            reword,
            "control: another half' is now '✓ numeric half or so: ≤ 0.6; control: another half'",
        ),
        (
            change_control,
            "'✓ numeric half: ≤ 0.6; control: another half' is now '✓ numeric half: ≤ 0.6; control: a half'",
        ),
        (
            loosen,
            "'✓ numeric half: ≤ 0.6; control: another half' is now '✓ numeric half: ≤ 0.65; control: another half'",
        ),
    ],
)
@pytest.mark.parametrize("store", [[], ["--store"]])
def test_a_changed_claim_fails_a_chapter_even_when_it_is_stored(
    book: Path, verify: Run, change: Any, fault: str, store: list[str]
) -> None:
    reviewed = (book / CLAIMS_FILE).read_text()
    spoil(book, change)
    code, _, errors = verify(*store)
    assert code == 1
    assert fault in errors
    assert (book / CLAIMS_FILE).read_text() == reviewed


def test_a_check_that_is_deleted_and_stored_again_is_missed(book: Path, scansnap: Run) -> None:
    spoil(book, claim_more)
    scansnap("verify", "--store")
    scansnap("claims", "--write")
    spoil(book, lambda cells: cells[3].update(source="1 + 1"))
    claim = "'✓ whole: ≤ 0.6; control: another half'"
    vanished = f"scansnap: lemma_08: a reviewed claim of the empirical witness vanished: {claim}\n"
    assert scansnap("verify", "--store")[::2] == (1, vanished)
    assert scansnap("verify")[::2] == (1, vanished)


def test_the_command_prints_the_differences_and_writes_them_on_purpose(book: Path, scansnap: Run) -> None:
    spoil(book, reword)
    scansnap("verify", "--store")
    reworded = "lemma_08: a reviewed claim of the numeric witness was reworded"
    code, printed, _ = scansnap("claims")
    assert code == 1
    assert [line.startswith("lemma_08: a reviewed claim") for line in printed.splitlines()] == [True] * 4
    assert reworded in printed
    code, printed, _ = scansnap("claims", "--write")
    assert code == 0
    assert reworded in printed
    assert scansnap("claims") == (0, "", "")
    assert scansnap("verify")[0] == 0


def test_other_changes_need_no_review(book: Path, scansnap: Run) -> None:
    spoil(book, change_code)
    assert scansnap("verify", "--store")[0] == 0
    assert scansnap("claims") == (0, "", "")


def test_the_file_is_made_for_reading(book: Path) -> None:
    head, _, claims = (book / CLAIMS_FILE).read_text().partition("lemma_08:\n")
    assert "scansnap claims --write" in head
    assert claims.splitlines()[:2] == ["  symbolic:", "  - '✓ symbolic half: ≤ 0.6; control: another half'"]


def test_a_chapter_that_vanished_with_its_claims_is_named(book: Path, scansnap: Run) -> None:
    with (book / CLAIMS_FILE).open("a") as file:
        file.write("lemma_09:\n  numeric: ['✓ rise: ≤ 1']\n")
    code, _, errors = scansnap("verify")
    assert code == 1
    assert errors == "scansnap: chapters/claims.yaml holds claims of lemma_09, which has no chapter\n"
    assert scansnap("claims")[:2] == (1, "lemma_09: a reviewed claim of the numeric witness vanished: '✓ rise: ≤ 1'\n")


def test_without_the_file_nothing_is_reviewed(book: Path, scansnap: Run) -> None:
    (book / CLAIMS_FILE).unlink()
    code, printed, _ = scansnap("claims")
    assert code == 1
    assert printed.count("isn't reviewed") == 3 + 4
    assert scansnap("verify")[0] == 1


@pytest.mark.parametrize("text", ["a: [", "[1]", "lemma_08: [a]", "lemma_08: {numeric: a}", "lemma_08: {numeric: [1]}"])
@pytest.mark.parametrize("command", ["claims", "verify"])
def test_an_unreadable_file_is_refused(book: Path, scansnap: Run, text: str, command: str) -> None:
    (book / CLAIMS_FILE).write_text(text)
    code, _, errors = scansnap(command)
    assert code == 2
    assert re.search(r"claims\.yaml: (it is no readable file of claims|.*the file is valid YAML)", errors)


def test_what_a_cleared_chapter_claims_is_unknown(book: Path, scansnap: Run) -> None:
    reviewed = (book / CLAIMS_FILE).read_text()
    spoil(book, clear)
    code, _, errors = scansnap("claims", "--write")
    assert code == 2
    assert "lemma_08: it stores no verdict" in errors
    assert (book / CLAIMS_FILE).read_text() == reviewed
