import re
from collections import Counter
from graphlib import TopologicalSorter
from textwrap import wrap

import pytest

from scansnap_core import BadInput
from scansnap_core.book.graph import TITLE_CHARACTERS, drawn_edges
from scansnap_core.ledger import PAGES, STATEMENTS, page


def test_there_are_25_statements_10_figures_and_pages_of_the_books_own() -> None:
    kinds = Counter(entry.kind for entry in PAGES.values())
    assert kinds == {"lemma": 18, "theorem": 5, "corollary": 2, "figure": 10, "notation": 1, "beyond": 4}
    assert len(STATEMENTS) == 25
    assert [PAGES[f"fig_{number:02d}"].number for number in range(3, 13)] == list(range(3, 13))


def test_ids_are_well_formed() -> None:
    for page_id, entry in PAGES.items():
        assert page_id == entry.id
        papers = re.fullmatch(r"lemma_\d\d|theorem_[1-5]|corollary_[12]|fig_\d\d", page_id)
        assert bool(papers) == bool(entry.number) == (entry.kind not in ("notation", "beyond"))
    for kind, last in (("lemma", 18), ("theorem", 5), ("corollary", 2)):
        assert sorted(s.number for s in STATEMENTS.values() if s.kind == kind) == list(range(1, last + 1))


def test_edges_lead_to_statements_and_never_around() -> None:
    edges = {s.id: {*s.uses, *s.proof_uses} for s in STATEMENTS.values()}
    assert set().union(*edges.values()) <= STATEMENTS.keys()
    assert len(list(TopologicalSorter(edges).static_order())) == 25


def test_no_edge_is_listed_twice() -> None:
    for statement in STATEMENTS.values():
        assert len(set(statement.uses)) == len(statement.uses)
        assert len(set(statement.proof_uses)) == len(statement.proof_uses)


def test_titles_fit_the_graph() -> None:
    for statement in STATEMENTS.values():
        assert len(wrap(statement.title, TITLE_CHARACTERS)) <= 2


def test_equation_numbers_are_the_papers_and_belong_to_one_statement() -> None:
    numbers = [number for s in STATEMENTS.values() for number in s.equations]
    assert all(1 <= number <= 138 for number in numbers)
    assert len(set(numbers)) == len(numbers)


def test_a_drawn_edge_is_implied_by_no_path() -> None:
    drawn = drawn_edges()
    assert len(set(drawn)) == len(drawn)
    below: dict[str, set[str]] = {s: {b for a, b in drawn if a == s} for s in STATEMENTS}

    def reach(start: str) -> set[str]:
        return below[start].union(*(reach(b) for b in below[start]))

    for ground, follower in drawn:
        assert not any(follower in reach(other) for other in below[ground] - {follower})
    for statement in STATEMENTS.values():
        assert all(statement.id in reach(ground) for ground in {*statement.uses, *statement.proof_uses})


@pytest.mark.parametrize(
    ("asked", "suggested"), [("lemma_6", "lemma_06"), ("Theorem 03", "theorem_3"), ("lema_11", "lemma_11")]
)
def test_an_unknown_id_suggests_the_nearest(asked: str, suggested: str) -> None:
    with pytest.raises(BadInput, match=f"did you mean .*{suggested}"):
        page(asked)


def test_names() -> None:
    assert (page("lemma_06").name, page("lemma_06").label) == ("Lemma 6", "L6")
    others = ("corollary_1", "fig_04", "notation", "one_path")
    assert [page(page_id).name for page_id in others] == ["Corollary 1", "Figure 4", "Notation", "One path"]
