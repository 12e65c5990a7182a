"""The file of claims: what it may say, and each of its faults by file, id and key."""

import re
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from scansnap_core import BadInput
from scansnap_core.base.files import MAPPING, TEXT
from scansnap_core.ledger import Claims, claims, read_claims
from tests.book.books import REFUTATION, REPAIRED
from tests.ledger.conftest import BROKEN, LACKING, UPHELD, check
from tests.refusing import refuses

PROOF = {"says": "it rises", "control": "it falls", "region": "every $M > 1$", "assumptions": "none"}
GOOD = {
    "numeric": {"error": check("the error"), "printed_error": REPAIRED | {"erratum": "E7"}},
    "proved": {"rises": PROOF | {"sampled": "M below 3"}},
    "card": BROKEN,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lemma_06.yaml"


def read(path: Path, contents: Any) -> Claims:
    path.write_text(contents if isinstance(contents, str) else yaml.safe_dump(contents, allow_unicode=True))
    return read_claims(path)


def test_claims_stand_by_id_in_the_witnesses_order(path: Path) -> None:
    found = read(path, {"proved": GOOD["proved"], "numeric": GOOD["numeric"], "card": BROKEN})
    assert [(claim.id, claim.witness, claim.kind) for claim in found.claims.values()] == [
        ("error", "numeric", "check"),
        ("printed_error", "numeric", "refutation"),
        ("rises", "proved", "proof"),
    ]
    assert found.card == BROKEN
    assert (found.claims["printed_error"].erratum, found.claims["rises"].sampled) == ("E7", "M below 3")
    folded = read(path, "symbolic:\n  long:\n    says: a\n      b\n    must: = 0\n    control: c\n")
    assert folded.claims["long"].says == "a b"
    assert read(path, "").claims == {}


@pytest.mark.parametrize(
    ("must", "relation", "bound"),
    [
        ("≤ 1e-9", "≤", 1e-9),
        ("≥ -2", "≥", -2),
        ("= 1/3", "=", Fraction(1, 3)),
        ("≠ true", "≠", True),
        ("< 0.5", "<", 0.5),
        ("> bound", ">", None),
    ],
)
def test_a_bound_is_read_as_it_is_written(path: Path, must: str, relation: str, bound: Any) -> None:
    claim = read(path, {"numeric": {"error": check("the error", must=must)}}).claims["error"]
    assert (claim.relation, claim.bound, type(claim.bound)) == (relation, bound, type(bound))


CHECK = check("a")
NOTHING = "a reader must learn it"
NO_KEY = "there is no such key"
MUSTS = ["<= 1", "≤1", "≤", "≤ one", "≤ nan", "≤ inf", "≤ 1/0", "≤ 1 m", "≤ the bound"]


@pytest.mark.parametrize(
    ("witness", "claim_id", "entry", "value", "rule"),
    [
        ("numeric", "error", [], "error = []", MAPPING.says),
        ("numeric", "error", None, "error.says", NOTHING),
        *(("numeric", "error", CHECK | {key: " "}, f"error.{key}", NOTHING) for key in ("says", "must", "control")),
        ("numeric", "error", CHECK | {"control": 2}, "error.control = 2", TEXT.says),
        ("numeric", "error", CHECK | {"contrl": "a"}, "error: key 'contrl'", NO_KEY),
        *(("numeric", "error", CHECK | {key: "a"}, f"error: key {key!r}", NO_KEY) for key in ("region", "sampled")),
        *(
            (
                "numeric",
                "error",
                check("a", must=must),
                f"error.must = {must!r}",
                "it is one of = ≠ ≤ ≥ < > and a finite number, or the word bound",
            )
            for must in MUSTS
        ),
        *(("numeric", "error", {**REPAIRED, key: ""}, f"error.{key}", NOTHING) for key in REFUTATION),
        ("numeric", "error", CHECK | {"erratum": "E7"}, "error.judges", NOTHING),
        ("numeric", "error", REPAIRED | {"judges": "lemma"}, "error.judges = 'lemma'", "it hits one of five things"),
        (
            "numeric",
            "error",
            REPAIRED | {"judges": "scope"},
            "error.judges = 'scope'",
            "it has a condition and no erratum",
        ),
        ("numeric", "error", REPAIRED | {"only_sampled": "a"}, "error: key 'only_sampled'", NO_KEY),
        ("numeric", "error", REFUTATION, "error.repair and .condition", "a refutation names one remedy"),
        ("numeric", "error", REPAIRED | LACKING, "error.repair and .condition", "a refutation names one remedy"),
        *(("proved", "rises", {**PROOF, key: ""}, f"rises.{key}", NOTHING) for key in PROOF),
        *(("proved", "rises", PROOF | {key: "a"}, f"rises: key {key!r}", NO_KEY) for key in ("must", "judges")),
        *(
            ("numeric", name, CHECK, f"{name}", "an id is lower-case letters, digits and _, a letter first")
            for name in ("Error", "1st", "a-b", "é", 3)
        ),
        (
            "symbolic",
            "rises",
            CHECK,
            "rises of the proved witness",
            "the symbolic witness has a claim of this id",
        ),
        ("symbolic", "falls", check("it rises"), "rises.says", "falls says the same"),
    ],
)
def test_a_wrong_claim_is_named_by_file_id_and_key(
    path: Path, witness: str, claim_id: Any, entry: Any, value: str, rule: str
) -> None:
    with refuses(f"lemma_06.yaml: {value}", rule):
        read(path, {"proved": {"rises": PROOF}} | {witness: {claim_id: entry}})


@pytest.mark.parametrize(
    ("contents", "value", "rule"),
    [
        ("[1]", "lemma_06.yaml = [1]", MAPPING.says),
        ("numerical: {}", "lemma_06.yaml: key 'numerical'", "there is no such key"),
        ("numeric: [error]", "lemma_06.yaml: numeric = ['error']", MAPPING.says),
        ("card: none", "lemma_06.yaml: card = 'none'", MAPPING.says),
        (
            "numeric: {error: {}, error: {}}",
            "file …/lemma_06.yaml: key 'error' twice in line 1",
            "the keys of a mapping differ",
        ),
        ("a: [", "file …/lemma_06.yaml: while parsing …", "the file is valid YAML or JSON"),
    ],
)
def test_a_wrong_file_is_named(path: Path, contents: str, value: str, rule: str) -> None:
    with refuses("file …/lemma_06.yaml: No such file or directory", "the file must exist and be readable"):
        read_claims(path)
    with refuses(value, rule):
        read(path, contents)


@pytest.mark.parametrize(
    ("asked", "value", "rule", "remedy"),
    [
        (
            ("eror", "numeric", "check"),
            "claim 'eror'",
            "lemma_06.yaml holds no such claim",
            "did you mean error? Or write it there",
        ),
        (("z", "numeric", "check"), "claim 'z'", "lemma_06.yaml holds no such claim", "write it there"),
        (
            ("error", "numeric", "refutation"),
            "claim 'error' as a refutation of the numeric witness",
            "in lemma_06.yaml it is a check of the numeric witness",
            "…",
        ),
        (
            ("printed_error", "numeric", "check"),
            "claim 'printed_error' as a check of the numeric witness",
            "in lemma_06.yaml it is a refutation of the numeric witness",
            "…",
        ),
        (
            ("error", "symbolic", "check"),
            "claim 'error' as a check of the symbolic witness",
            "in lemma_06.yaml it is a check of the numeric witness",
            "correct one of them",
        ),
        (
            ("rises", "numeric", "check"),
            "claim 'rises' as a check of the numeric witness",
            "in lemma_06.yaml it is a proof of the proved witness",
            "…",
        ),
    ],
)
def test_a_claim_is_found_as_what_it_is(
    path: Path, asked: tuple[str, str, str], value: str, rule: str, remedy: str
) -> None:
    found = read(path, GOOD | {"card": UPHELD})
    assert found.find("error", "numeric", "check") is found.claims["error"]
    with refuses(value, rule, remedy):
        found.find(*asked)


def test_a_number_has_a_scope_and_belongs_to_a_claim_of_the_file(path: Path) -> None:
    numbers = {"drop": {"of": "error", "scope": "two classes\n  alike"}}
    found = read(path, GOOD | {"numbers": numbers}).numbers
    assert (found["drop"].of, found["drop"].scope) == ("error", "two classes alike")
    assert read(path, GOOD).numbers == {}
    with pytest.raises(BadInput) as refused:
        read(path, GOOD | {"numbers": {"drop": {"of": "errors", "scope": "two classes"}}})
    assert "numbers.drop.of = 'errors'" in refused.value.value
    with pytest.raises(BadInput) as refused:
        read(path, GOOD | {"numbers": {"drop": {"of": "error"}}})
    assert "numbers.drop.scope" in refused.value.value


def test_the_example_in_the_docstring_is_a_file_of_claims(path: Path) -> None:
    (block,) = re.findall(r"::\n\n((?:    .*\n|\n)+)", claims.__doc__ or "")
    found = read(path, textwrap.dedent(block)).claims
    assert [(claim.id, claim.kind) for claim in found.values()] == [
        ("dop853", "check"),
        ("late_clock", "refutation"),
        ("rises", "proof"),
    ]
