"""The file of claims: what it may say, and each of its faults by file, id and key."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from scansnap_core import BadInput
from scansnap_core.ledger import Claims, read_claims
from tests.book.books import REFUTATION, REPAIRED
from tests.ledger.conftest import BROKEN, LACKING, UPHELD, check

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
MUSTS = ["<= 1", "≤1", "≤", "≤ one", "≤ nan", "≤ inf", "≤ 1/0", "≤ 1 m", "≤ the bound"]


@pytest.mark.parametrize(
    ("witness", "claim_id", "entry", "said"),
    [
        ("numeric", "error", [], "error = []: it is a mapping"),
        ("numeric", "error", None, "error.says: a reader must learn it; say it in a few words"),
        *(("numeric", "error", CHECK | {key: " "}, f"error.{key}: a reader") for key in ("says", "must", "control")),
        ("numeric", "error", CHECK | {"control": 2}, "error.control = 2: it is a text; put it in quotes"),
        ("numeric", "error", CHECK | {"contrl": "a"}, "error: contrl: there is no such key; use says, measure, must"),
        *(("numeric", "error", CHECK | {key: "a"}, f"error: {key}: there is no such") for key in ("region", "sampled")),
        *(("numeric", "error", check("a", must=must), f"error.must = {must!r}: it is one of = ≠ ≤") for must in MUSTS),
        *(("numeric", "error", {**REPAIRED, key: ""}, f"error.{key}: a reader must learn it") for key in REFUTATION),
        ("numeric", "error", CHECK | {"erratum": "E7"}, "error.judges: a reader must learn it"),
        ("numeric", "error", REPAIRED | {"judges": "lemma"}, "error.judges = 'lemma': it hits one of five things; use"),
        (
            "numeric",
            "error",
            REPAIRED | {"judges": "scope"},
            "error.judges = 'scope': it has a condition and no erratum",
        ),
        ("numeric", "error", REPAIRED | {"only_sampled": "a"}, "error: only_sampled: there is no such key"),
        ("numeric", "error", REFUTATION, "error.repair and .condition: a refutation names one remedy"),
        ("numeric", "error", REPAIRED | LACKING, "error.repair and .condition: a refutation names one remedy"),
        *(("proved", "rises", {**PROOF, key: ""}, f"rises.{key}: a reader must learn it") for key in PROOF),
        *(("proved", "rises", PROOF | {key: "a"}, f"rises: {key}: there is no such key") for key in ("must", "judges")),
        *(("numeric", name, CHECK, f"{name}: an id is lower-case") for name in ("Error", "1st", "a-b", "é", 3)),
        ("symbolic", "rises", CHECK, "rises of the proved witness: the symbolic witness has a claim of this id"),
        ("symbolic", "falls", check("it rises"), "rises.says: falls says the same; reword one of them"),
    ],
)
def test_a_wrong_claim_is_named_by_file_id_and_key(
    path: Path, witness: str, claim_id: Any, entry: Any, said: str
) -> None:
    with pytest.raises(BadInput, match="^" + re.escape(f"lemma_06.yaml: {said}")):
        read(path, {"proved": {"rises": PROOF}} | {witness: {claim_id: entry}})


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ("[1]", "lemma_06.yaml = [1]: it is a mapping"),
        ("numerical: {}", "lemma_06.yaml: numerical: there is no such key; use symbolic, numeric, empirical"),
        ("numeric: [error]", "lemma_06.yaml: numeric = ['error']: it is a mapping"),
        ("card: none", "lemma_06.yaml: card = 'none': it is a mapping"),
        ("numeric: {error: {}, error: {}}", "key 'error' twice in line 1"),
        ("a: [", "is valid YAML"),
    ],
)
def test_a_wrong_file_is_named(path: Path, contents: str, said: str) -> None:
    with pytest.raises(BadInput, match=r"lemma_06\.yaml"):
        read_claims(path)
    with pytest.raises(BadInput, match=re.escape(said)):
        read(path, contents)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("eror", "numeric", "check"), "claim 'eror': lemma_06.yaml holds no such claim; did you mean error? Or write"),
        (("z", "numeric", "check"), "claim 'z': lemma_06.yaml holds no such claim; write it there"),
        (("error", "numeric", "refutation"), "claim 'error' as a refutation of the numeric witness: in lemma_06.yaml"),
        (("printed_error", "numeric", "check"), "in lemma_06.yaml it is a refutation of the numeric witness"),
        (("error", "symbolic", "check"), "in lemma_06.yaml it is a check of the numeric witness; correct one of them"),
        (("rises", "numeric", "check"), "in lemma_06.yaml it is a proof of the proved witness"),
    ],
)
def test_a_claim_is_found_as_what_it_is(path: Path, asked: tuple[str, str, str], said: str) -> None:
    found = read(path, GOOD | {"card": UPHELD})
    assert found.find("error", "numeric", "check") is found.claims["error"]
    with pytest.raises(BadInput, match=re.escape(said)):
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
