"""The board of verdicts and the table of errata, as HTML.

CSS classes
-----------
``ss-scroll``
    A wrapper (``div``) around a table, which may be wider than a phone.
``ss-summary``
    The paragraph above the board that counts verdicts.
``ss-board``
    The board (``table``); a row (``tr``) has its verdict's class (``ss-holds``, ``ss-condition``, ``ss-fails``,
    ``ss-reproduced``, ``ss-differs``, ``ss-open``) and ``ss-full`` if it is fully verified.
``ss-title``, ``ss-said``, ``ss-verdict-word``, ``ss-waits``
    In its cells: the title, what a witness said, the verdict, and what a full verification still waits for.
``ss-errata``
    The table of errata; ``ss-none`` is the paragraph that stands in its place while there are none.
"""

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scansnap_core.book.stored import fully_verified, stored_verdicts, unverified_grounds, verdict_of
from scansnap_core.ledger.display import VERDICT_CLASS, refutation_anchor, rich
from scansnap_core.ledger.entries import JUDGES, OPEN, WITNESSES
from scansnap_core.ledger.statements import PAGES, STATEMENTS, Page

_NAMED_GROUNDS = 4


def board_html(chapters_dir: Path, page_url: Callable[[str], str]) -> str:
    """Draw the board: every statement, figure and page beyond the paper with its three witnesses and its verdict.

    Parameters
    ----------
    chapters_dir : Path
        The folder with the notebooks.
    page_url : callable
        From an id to its page's address. Pages without a chapter are no links.

    Returns
    -------
    str

    Raises
    ------
    BadInput
        If the folder or a notebook can't be read.
    """
    verdicts = stored_verdicts(chapters_dir)
    full = fully_verified(verdicts)
    done = sum(verdict_of(verdicts, s) != OPEN for s in STATEMENTS)
    figures, beyond = ([page for page in PAGES.values() if page.kind == kind] for kind in ("figure", "beyond"))
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("", *WITNESSES, "verdict"))
    bodies = "".join(
        f'<tbody><tr><th scope="rowgroup" colspan="{2 + len(WITNESSES)}">{name}</th></tr>'
        f"{''.join(_row(page, verdicts, page.id in full, page_url) for page in pages)}</tbody>"
        for name, pages in (
            ("Statements", list(STATEMENTS.values())),
            ("Figures", figures),
            ("Beyond the paper", beyond),
        )
    )
    return (
        f'<p class="ss-summary">{done} of {len(STATEMENTS)} statements have a verdict; {len(full)} fully verified.</p>'
        f'<div class="ss-scroll"><table class="ss-board"><thead><tr>{heads}</tr></thead>{bodies}</table></div>'
    )


def errata_html(chapters_dir: Path, page_url: Callable[[str], str]) -> str:
    """Draw the table of errata: every refutation that a chapter stores, linked to the cell that shows it.

    Parameters
    ----------
    chapters_dir : Path
        The folder with the notebooks.
    page_url : callable
        From an id to its page's address.

    Returns
    -------
    str

    Raises
    ------
    BadInput
        If the folder or a notebook can't be read.
    """
    verdicts = stored_verdicts(chapters_dir)
    rows = [
        _erratum(refutation, f"{page_url(page_id)}#{refutation_anchor(number)}")
        for page_id, verdict in verdicts.items()
        for number, refutation in enumerate(verdict.get("refutations", []), start=1)
    ]
    if not rows:
        return '<p class="ss-none">No chapter has refuted anything that is printed.</p>'
    names = ("place", "judges", "printed", "should read, or lacks", "counterexample", "with the repair", "consequence")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        f'<div class="ss-scroll"><table class="ss-errata"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(page: Page, verdicts: dict[str, Any], full: bool, page_url: Callable[[str], str]) -> str:
    verdict = verdict_of(verdicts, page.id)
    name = page.name
    if page.id in verdicts:
        name = f'<a href="{html.escape(page_url(page.id))}">{name}</a>'
    said = "".join(f"<td>{_said(verdicts, page.id, witness)}</td>" for witness in WITNESSES)
    return (
        f'<tr class="{VERDICT_CLASS[verdict]}{" ss-full" if full else ""}">'
        f'<th scope="row">{name} <span class="ss-title">{rich(page.title)}</span></th>{said}'
        f'<td><span class="ss-verdict-word">{verdict}</span>{_standing(page, verdicts, full)}</td></tr>'
    )


def _said(verdicts: dict[str, Any], page_id: str, witness: str) -> str:
    counts = verdicts.get(page_id, {}).get("witnesses", {}).get(witness, {"checks": 0, "refutations": 0})
    parts = [
        f'<span class="ss-said" title="{counts[what]} {what}">{mark} {counts[what]}</span>'
        for what, mark in (("checks", "✓"), ("refutations", "✗"))
        if counts[what]
    ]
    return " ".join(parts) or "–"


def _standing(page: Page, verdicts: dict[str, Any], full: bool) -> str:
    """Beside the verdict of a statement: whether it is fully verified, or what stands in the way."""
    if full:
        return ' <span class="ss-waits">fully verified</span>'
    if not page.is_statement or verdict_of(verdicts, page.id) == OPEN:
        return ""
    grounds = [STATEMENTS[ground].name for ground in unverified_grounds(verdicts, page.id)]
    if not grounds:
        return ""
    waits = ", ".join(grounds) if len(grounds) <= _NAMED_GROUNDS else f"{len(grounds)} statements"
    return f' <span class="ss-waits">rests on {waits}, not verified</span>'


def _erratum(refutation: dict[str, str], cell_url: str) -> str:
    place = f'<a href="{html.escape(cell_url)}">{rich(refutation["place"])}</a>'
    remedy = f"lacks: {refutation['condition']}" if refutation["condition"] else refutation["repair"]
    counterexample = f"{refutation['what']}: {refutation['measured']}, required {refutation['required']}"
    repaired = f"{refutation['control']} ({refutation['control_is']})"
    cells = (
        JUDGES[refutation["judges"]],
        refutation["printed"],
        remedy,
        counterexample,
        repaired,
        refutation["consequence"],
    )
    return f'<tr><th scope="row">{place}</th>{"".join(f"<td>{rich(cell)}</td>" for cell in cells)}</tr>'
