"""A chapter's file of claims and its notebook, as ``scansnap verify`` holds one against the other."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from scansnap_core.book.errata import ERRATA_FILE
from tests.book.books import CHAPTER, REPAIRED, claim, spoil
from tests.book.conftest import Run

JUDGED = REPAIRED | {"judges": "remark"}


def equations(claim_id: str) -> dict[str, Any]:
    one = {"number": 1, "kind": "step", "at": "lemma_08", "formula": "x = 1", "tries": {"lemma_08": [claim_id]}}
    return {"count": 1, "sections": [{"section": "Sec. 1", "equations": [one]}]}


@pytest.mark.parametrize(
    ("witness", "claim_id", "changes", "fault"),
    [
        ("numeric", "extra", JUDGED, "lemma_08.yaml claims what the notebook doesn't compute: extra"),
        ("numeric", "numeric_half", {"must": "≤ bound"}, "numeric_half: bound = None: lemma_08.yaml says"),
        ("numeric", "numeric_half", {"must": "≤ 0.4"}, "raised CheckFailed: Lemma 8, numeric witness, numeric_half ("),
    ],
)
def test_what_the_notebook_cannot_bear_out_fails_in_one_line(
    book: Path, verify: Run, witness: str, claim_id: str, changes: Any, fault: str
) -> None:
    claim(book, witness, claim_id, **changes)
    code, _, errors = verify()
    assert code == 1
    assert fault in next(line for line in errors.splitlines() if "scansnap: lemma_08: cell" in line)


@pytest.mark.parametrize(
    ("witness", "claim_id", "changes", "fault"),
    [
        ("numeric", "numeric_half", JUDGED, "Lemma 8: no check by the witness numeric"),
        ("numeric", "numeric_half", {"must": "≤ much"}, "lemma_08.yaml: numeric_half.must = '≤ much': it is one of"),
        ("card", "printed", {"by": "half"}, "lemma_08.yaml: card.printed.by = 'half': no check or refutation here"),
    ],
)
def test_what_the_file_alone_shows_is_said_before_anything_is_executed(
    book: Path, verify: Run, witness: str, claim_id: str, changes: Any, fault: str
) -> None:
    claim(book, witness, claim_id, **changes)
    executed = book / "executed"
    spoil(book, lambda cells: cells[0].update(source=f"open({str(executed)!r}, 'w')"))
    code, _, errors = verify()
    assert (code, errors.count("\n"), executed.exists()) == (1, 1, False)
    assert errors.startswith(f"scansnap: lemma_08: {fault}")


def test_an_id_that_the_file_lacks_fails_in_one_line(book: Path, verify: Run) -> None:
    path = (book / CHAPTER).with_suffix(".yaml")
    path.write_text(path.read_text().replace("numeric_half", "numeric_third"))
    code, _, errors = verify()
    assert (code, len(errors.splitlines())) == (1, 1)
    assert "cell 2 raised BadInput: claim 'numeric_half': lemma_08.yaml holds no such claim; did you" in errors
    path.unlink()
    code, _, errors = verify()
    assert (code, len(errors.splitlines())) == (1, 1)
    assert "lemma_08.yaml" in errors


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        *((("numeric", "numeric_half"), {key: "a half"}) for key in ("says", "control", "only_sampled")),
        (("numeric", "numeric_half"), {"must": "≤ 0.65"}),
        (("card", "sgd"), {"says": "It has no noise."}),
    ],
)
def test_a_changed_word_or_bound_is_another_output(book: Path, verify: Run, place: Any, changes: Any) -> None:
    claim(book, *place, **changes)
    code, _, errors = verify()
    assert code == 1
    assert "stores another" in errors


REFUTE = "for name in ('one', 'two'):\n    lemma.witness('numeric').refutes(name, 0.7, control=another(0.3))"


@pytest.fixture
def refuting(book: Path, verify: Run) -> Path:
    """The book with two errata, verified."""
    for number, claim_id in enumerate(("one", "two"), 1):
        claim(book, "numeric", claim_id, **JUDGED | {"says": claim_id, "erratum": f"E{number}"})
    spoil(book, lambda cells: cells[3].update(source=REFUTE))
    write_errata(book, "one", "two")
    assert verify("--store")[::2] == (0, "")
    return book


def write_errata(book: Path, *claim_ids: str) -> None:
    errata = [
        {"number": f"E{number}", "rank": "slip", "because": "small", "places": [f"lemma_08:{claim_id}"]}
        for number, claim_id in enumerate(claim_ids, 1)
    ]
    (book / ERRATA_FILE).write_text(yaml.safe_dump({"retired": {}, "errata": errata}))


def test_two_numbers_exchanged_in_one_of_two_files_are_named(refuting: Path, verify: Run) -> None:
    write_errata(refuting, "two", "one")
    said = "scansnap: chapters/errata.yaml: E1, 'lemma_08:two': its chapter says that it is E2; correct one of them\n"
    assert verify()[::2] == verify("--store")[::2] == (1, said)
    for number, claim_id in enumerate(("two", "one"), 1):
        claim(refuting, "numeric", claim_id, erratum=f"E{number}")
    assert verify()[0] == 1
    assert verify("--store")[::2] == (0, "")


def test_a_refutation_without_a_number_is_named(refuting: Path, verify: Run) -> None:
    claim(refuting, "numeric", "two", erratum=None)
    assert "E2, 'lemma_08:two': its chapter says that it is none" in verify("--store")[2]
    write_errata(refuting, "one")
    said = "chapters/errata.yaml: lemma_08:two: a refutation has a number; judge what follows from it, and add it"
    assert said in verify()[2]
    (refuting / ERRATA_FILE).unlink()  # a book that numbers none isn't asked for them
    assert verify()[::2] == (0, "")


@pytest.mark.parametrize(
    ("file", "contents"),
    [
        ("claims_in_words", {"C1": {"place": "1", "says": "it grows", "answers": {"lemma_08": ["numeric_third"]}}}),
        ("equations", equations("numeric_third")),
    ],
)
def test_a_claim_that_another_file_names_in_vain_is_named(book: Path, verify: Run, file: str, contents: Any) -> None:
    (book / "chapters" / f"{file}.yaml").write_text(yaml.safe_dump(contents))
    code, _, errors = verify()
    assert (code, errors.count("\n")) == (1, 1)
    assert f"{file}.yaml" in errors
    assert "lemma_08:numeric_third: lemma_08 stores no such claim" in errors


@pytest.mark.parametrize(("text", "faults"), [("x =\n1, ", 0), ("x = 2 ", 1), ("x ", 1)])
def test_a_formula_with_the_papers_number_is_the_papers(book: Path, verify: Run, text: str, faults: int) -> None:
    (book / "chapters" / "equations.yaml").write_text(yaml.safe_dump(equations("numeric_half")))
    (book / "chapters" / "index.md").write_text(f"$$ y = 3 $$ and\n$$ {text}\\tag{{1}} $$\n")
    said = f"scansnap: chapters/index.md: (1) isn't as chapters/equations.yaml prints it: {text.strip()}\n"
    assert verify()[::2] == (faults, said * faults)
