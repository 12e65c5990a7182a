"""How checks, refutations and verdicts look in a notebook: plain text for terminals, semantic HTML for pages.

CSS classes
-----------
``ss-check``, ``ss-refutation``
    A check or a refutation (``section``), with ``ss-symbolic``, ``ss-numeric`` or ``ss-empirical`` beside it. A proof
    is an ``ss-check`` with ``ss-proved``, and a claim that is only sampled one with ``ss-sampled``.
``ss-head``
    Its first line (``p``), with ``ss-mark`` (the sign), ``ss-witness`` (the witness's name) and ``ss-what`` inside.
``ss-values``
    The list of values (``dl``); each pair stands in a ``div``. ``ss-note`` is what a control is (in a ``dd``).
``ss-verdict``
    The verdict (``section``), beside one of ``ss-holds``, ``ss-condition``, ``ss-fails``, ``ss-reproduced``,
    ``ss-differs``; ``ss-verdict-head`` and ``ss-verdict-word`` are in its first line. It names no page: the heading
    does, which can change without the verdict.
``ss-card``
    The card's rows (``dl``); a row (``div``) has a verdict's class where it has a word, which is in ``ss-word``.
    ``ss-formula`` is the repair, and ``ss-number`` holds the number, what it is of, and what was required of it.
``ss-witnesses``
    The verdict's table of witnesses; ``ss-beside`` (``p``) says what was refuted beside the page's own claim.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scansnap_core.extras import needs
from scansnap_core.ledger.cards import AS_PRINTED, NONE_NEEDED, SCALE, SILENCE, UNPRINTED, rows_shown
from scansnap_core.ledger.entries import (
    DIFFERS,
    FAILS_AS_PRINTED,
    HOLDS,
    HOLDS_UNDER_A_CONDITION,
    JUDGES,
    OPEN,
    REPRODUCED,
    VERDICT_MIME,
    VOICES,
    WITNESSES,
    Check,
    Conclusion,
    Refutation,
)
from scansnap_core.ledger.markup import render

VERDICT_CLASS = {
    HOLDS: "ss-holds",
    HOLDS_UNDER_A_CONDITION: "ss-condition",
    FAILS_AS_PRINTED: "ss-fails",
    REPRODUCED: "ss-reproduced",
    DIFFERS: "ss-differs",
    OPEN: "ss-open",
}
WORD_CLASS = {
    **VERDICT_CLASS,
    **dict.fromkeys(UNPRINTED.values(), "ss-condition"),
    NONE_NEEDED: "ss-holds",
    AS_PRINTED: "ss-condition",
    **dict(zip(SCALE, ("ss-holds", "ss-condition", "ss-condition", "ss-fails"), strict=True)),
    **dict.fromkeys(SILENCE, "ss-open"),
}
_TEMPLATES = Path(__file__).with_name("templates")


class Shown:
    """An output in several formats, for `IPython.display.display`."""

    def __init__(self, plain: str, markup: str, verdict: dict[str, Any] | None = None) -> None:
        self._plain = plain
        self._bundle: dict[str, Any] = {"text/plain": plain, "text/html": markup}
        if verdict is not None:
            self._bundle[VERDICT_MIME] = verdict

    def __repr__(self) -> str:
        return self._plain

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self._bundle


def show(shown: Shown) -> None:
    """Put an output into the running cell."""
    # Only a notebook needs IPython; reading the ledger doesn't, and starts the faster without it.
    with needs("book"):
        from IPython.display import display

    display(shown)


def show_check(check: Check) -> None:
    """Display a check that held."""
    show(_shown(check, "✓", "ss-check", [("control, which must fail", f"{check.control} ({check.control_is})")]))


def check_anchor(number: int) -> str:
    """The id that the chapter's check with that number, from 1, gets on its page when the site is drawn."""
    return f"check-{number}"


def refutation_anchor(number: int) -> str:
    """Where the errata link to: the id that the chapter's refutation with that number, from 1, has on its page."""
    return f"refutation-{number}"


def show_refutation(refutation: Refutation, number: int) -> None:
    """Display a counterexample with its repair or missing condition, as the chapter's refutation with that number."""
    remedy = ("condition", refutation.condition) if refutation.condition else ("repair", refutation.repair)
    rest = [
        (f"with the {remedy[0]}", f"{refutation.control} ({refutation.control_is})"),
        ("place", refutation.place),
        ("judges", JUDGES[refutation.judges]),
        ("printed", refutation.printed),
        remedy,
        ("consequence", refutation.consequence),
    ]
    show(_shown(refutation, "✗", "ss-refutation", rest, refutation_anchor(number)))


def _shown(
    entry: Check | Refutation, mark: str, css: str, rest: list[tuple[str, str]], anchor: str | None = None
) -> Shown:
    required = "required" if css == "ss-check" else "printed claim requires"
    values = [("measured", entry.measured), (required, entry.required), *rest]
    plain = "\n".join([f"{mark} {entry.witness}: {entry.what}", *(f"    {term}: {text}" for term, text in values)])
    says = "holds" if mark == "✓" else "refuted"
    markup = render(_TEMPLATES / "entry.html", entry=entry, mark=mark, says=says, css=css, values=values, anchor=anchor)
    return Shown(plain, markup)


def card_html(rows: Iterable[Mapping[str, str]], kind: str, link: Callable[[str], str] | None = None) -> str:
    """Draw a card's rows.

    Parameters
    ----------
    rows : iterable of mappings
        As `Conclusion.as_json` gives them.
    kind : str
        The page's.
    link : callable, optional
        From an entry's `what` to the address of the cell that shows it.
    """
    drawn = [{**row, "css": WORD_CLASS.get(row["word"], "")} for row in rows_shown(rows, kind)]
    return render(_TEMPLATES / "card.html", rows=drawn, link=link)


def show_conclusion(conclusion: Conclusion) -> None:
    """Display a verdict as text, as HTML and as JSON."""
    kind = conclusion.page.kind
    needed = WITNESSES if conclusion.page.is_statement else ()
    rows = [(w, conclusion.counts(w)) for w in VOICES if w in needed or conclusion.counts(w) != _NOTHING]
    plain = [f"Verdict: {conclusion.verdict}"]
    plain += [f"    {w}: checks {c['checks']}, refutations {c['refutations']}" for w, c in rows]
    beside = "; ".join(f"{number} of {JUDGES[what]}" for what, number in conclusion.beside.items())
    note = f"refuted beside it, which doesn't decide the verdict: {beside}" if beside else ""
    plain += [f"    {note}"] if note else []
    plain += [line for row in rows_shown(map(asdict, conclusion.card), kind) for line in _row_lines(row)]
    markup = render(
        _TEMPLATES / "verdict.html",
        verdict=conclusion.verdict,
        css=VERDICT_CLASS[conclusion.verdict],
        rows=rows,
        note=note,
        card=card_html(map(asdict, conclusion.card), kind) if conclusion.card else "",
    )
    show(Shown("\n".join(plain), markup, conclusion.as_json()))


def _row_lines(row: Mapping[str, str]) -> list[str]:
    lines = [f"    {row['of']}: {'; '.join(row[key] for key in ('word', 'formula', 'says') if row[key])}"]
    if row["number"]:
        required = "as required" if row["number"] == row["required"] else f"required {row['required']}"
        on = f" (this number: {row['on']})" if row["on"] else ""
        lines.append(f"        {row['number']}, {required}: {row['what']}{on}")
    return lines


_NOTHING = {"checks": 0, "refutations": 0}
