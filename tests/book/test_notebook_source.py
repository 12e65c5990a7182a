"""What a chapter says in plain Markdown, as the site shows it."""

from dataclasses import replace
from typing import Any

import pytest
from notebook_source import for_the_site

from scansnap_core.ledger import VERDICT_MIME
from scansnap_core.ledger.entries import WITNESSES, Row
from scansnap_core.ledger.prose import NUMBERS_MIME
from scansnap_core.ledger.verdicts import HOLDS, Verdict
from tests.book.books import registered
from tests.findings import a_check

SENTENCE = "**In short.** It grows."
QUOTE = "> **Lemma 8, as printed.** One\n> is one.\n"
CARD = "```{verdict-card}\n```"
LINKS = "```{statement-links} lemma_08\n```"
END = "```{check-yourself}\n```"


VERDICT = Verdict(
    "lemma_08",
    HOLDS,
    {witness: {"checks": 1, "refutations": 0} for witness in WITNESSES},
    card=(Row("as printed", HOLDS, "It holds."),),
)


def shown(text: str, page_id: str = "lemma_08", verdict: Verdict = VERDICT) -> str:
    output = {"data": {VERDICT_MIME: verdict.as_json()}}
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "source": text.splitlines(keepends=True)}]
    cells.append({"cell_type": "code", "source": "[E7](errata.md#e7)", "outputs": [output]})
    notebook = for_the_site({"cells": cells, "metadata": registered(page_id)}, page_id)
    assert notebook["cells"][1] == cells[1]
    assert [cell["source"] for cell in notebook["cells"][2:]] == ([END] if verdict.card else [])
    return str(notebook["cells"][0]["source"])


def test_the_card_stands_below_the_heading_and_its_sentence() -> None:
    assert shown(f"# A\n\n{SENTENCE}\n\nMore.") == f"# A\n\n{SENTENCE}\n\n{CARD}\n\nMore."
    assert shown("# A\n\nMore.") == f"# A\n\n{CARD}\n\nMore."
    assert shown("# A") == f"# A\n\n{CARD}"
    assert shown("# A\n\nMore.", verdict=replace(VERDICT, card=())) == "# A\n\nMore."


@pytest.mark.parametrize(
    ("page_id", "links"), [("lemma_08", LINKS), ("fig_04", ""), ("one_path", ""), ("li2023_lemma_08", LINKS)]
)
def test_a_statement_has_its_links_below_the_quotation(page_id: str, links: str) -> None:
    text = shown(f"# A\n\nB.\n\n{QUOTE}\nMore.", page_id)
    below = links.replace("lemma_08", page_id)
    assert text == f"# A\n\n{CARD}\n\nB.\n\n{QUOTE}" + (f"\n\n{below}\n" if below else "") + "\nMore."


@pytest.mark.parametrize(
    ("text", "site"),
    [
        (
            "[Try it](../lab.md#preset-1)",
            "```{raw} html\n<details><summary>Try it</summary>\n```\n"
            "```{lab} preset-1\n```\n```{raw} html\n</details>\n```",
        ),
        ("[Try it](../lab.md#preset-1) now", "[Try it](../lab.md#preset-1) now"),
        ("as [E7](../errata.md#e7) says", "as {erratum}`E7` says"),
        ("as [errata](../errata.md) say", "as [errata](../errata.md) say"),
        ("by [Tian et al. (2023)](../references.md#tian2023)", "by {cite}`tian2023`"),
    ],
)
def test_links_become_the_sites_own(text: str, site: str) -> None:
    assert shown(f"# A\n\n{text}") == f"# A\n\n{CARD}\n\n{site}"


def test_numbers_of_the_prose_are_no_output() -> None:
    kept = {"data": {"text/plain": "1"}}
    cells = [{"cell_type": "code", "source": "", "outputs": [{"data": {"text/plain": "", NUMBERS_MIME: {}}}, kept]}]
    assert for_the_site({"cells": cells, "metadata": {}}, "lemma_08")["cells"][0]["outputs"] == [kept]


def test_what_was_tried_stands_in_a_fold_below_the_quotation() -> None:
    zero = a_check("zero", "symbolic", required="= 0", formula="$u - v$", control_formula="$u < v$")
    text = shown(f"# A\n\nB.\n\n{QUOTE}\nMore.", verdict=replace(VERDICT, checks=(zero, a_check("size"))))
    fold = text[text.index(QUOTE) + len(QUOTE) : text.index(LINKS)]
    assert "Each line names a check and shows what it was given" in fold
    assert '<a class="ss-claim" href="#claim-zero"><code>zero</code></a>, symbolic' in fold
    assert r"\(u - v\)</span> must be = 0" in fold
    assert r"\(u &lt; v\)" in fold
    assert "size" not in fold
