"""Checks, refutations and verdicts are drawn here: plain text for terminals, HTML from templates
for pages.

In a template every value is escaped, mathematics between dollar signs is marked for MathJax, and
line ends and indentation are there for its readers only.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scansnap_core.base.extras import needs
from scansnap_core.ledger import verdicts
from scansnap_core.ledger.cards import (
    AS_PRINTED,
    NONE_NEEDED,
    SCALE,
    SILENCE,
    UNPRINTED,
    rows_shown,
)
from scansnap_core.ledger.entries import (
    JUDGES,
    KINDS,
    VOICES,
    WITNESSES,
    Check,
    Proof,
    Refutation,
    Row,
    asked,
)
from scansnap_core.ledger.prose import NUMBERS_MIME
from scansnap_core.ledger.verdicts import Conclusion

if TYPE_CHECKING:
    from jinja2 import Environment

VERDICT_CLASS = {
    verdicts.HOLDS: "ss-holds",
    verdicts.HOLDS_UNDER_A_CONDITION: "ss-condition",
    verdicts.FAILS_AS_PRINTED: "ss-fails",
    verdicts.REPRODUCED: "ss-reproduced",
    verdicts.REPRODUCED_SMALLER: "ss-reproduced",
    verdicts.PARTLY_SMALLER: "ss-condition",
    verdicts.DIFFERS: "ss-differs",
    verdicts.OPEN: "ss-open",
}
WORD_CLASS = {
    **VERDICT_CLASS,
    **dict.fromkeys(UNPRINTED.values(), "ss-condition"),
    NONE_NEEDED: "ss-holds",
    AS_PRINTED: "ss-condition",
    **dict(zip(SCALE, ("ss-holds", "ss-condition", "ss-condition", "ss-fails"), strict=True)),
    **dict.fromkeys(SILENCE, "ss-open"),
}
_READING: dict[type, str] = {
    Check: (
        "**How to read a check.** `holds(name, measured, control=...)` prints ✓, a claim, what was "
        "measured of it, and the bound that this number must meet. The line below it is the "
        "control: a false version of the claim, or a case in which the claim must fail, measured "
        "in the same way. The control must *miss* the bound. If it met the bound too, the check "
        "would tell nothing, and the page would stop with an error."
    ),
    Proof: (
        "**How to read a proof.** ∎ marks a claim that is proved for all cases, not tried on some; "
        "unfold it to see for which cases, how, and what is assumed. The control is a nearby false "
        "claim, which the same procedure must refute. If it couldn't, the page would stop with an "
        "error."
    ),
    Refutation: (
        "**How to read a refutation.** ✗ marks a claim that doesn't hold as it stands: its number "
        "isn't what the claim needs. The box names the repair, or the condition that is missing, "
        "and what the same measurement gives with it. If that weren't what the claim needs, the "
        "page would stop with an error."
    ),
}
"""How a reader who sees the first of its kind reads it."""
_TEMPLATES = Path(__file__).with_name("templates")
_NOTHING = {"checks": 0, "refutations": 0}
_INLINE_MATH = re.compile(r"\$([^$]+)\$")
_LINE_END = re.compile(r"\s*\n\s*")


def show(output: Mapping[str, Any]) -> None:
    """Put an output, given in several formats, into the running cell."""
    # Only a notebook needs IPython; reading the ledger doesn't, and starts the faster without it.
    with needs("book"):
        from IPython.display import display

    display(dict(output), raw=True)


def show_reading(entry: Check | Refutation | Proof, more: str) -> None:
    """Display how an entry of this kind is read, with a link to more where there is one.

    A chapter shows it above its first check, its first proof and its first refutation, once each.
    """
    text = _READING[type(entry)]
    link = f" [More about checks and proofs]({more})" if more else ""
    show({"text/plain": text, "text/markdown": f'<small class="ss-reading">{text}{link}</small>'})


def show_check(check: Check, only_sampled: str = "") -> None:
    """Display a check that held, and why the claim that it stands for is only sampled, if it is."""
    control = ", ".join(filter(None, [check.control_formula, check.control]))
    values = {"tried": check.formula, check.control_says: control, "only sampled": only_sampled}
    _show(check, "✓", "holds", values, f"{check.control_says}: {check.control}")


def show_proof(proof: Proof) -> None:
    """Display a proof with what it covers, assumes and refuses."""
    values = {
        "certified": proof.formula,
        "proved for": proof.region,
        "by": f"{KINDS[proof.kind]}: {proof.how}",
        "assumes": proof.assumptions,
        "left to a sweep": proof.sampled,
        proof.control_says: ", ".join(filter(None, [proof.control_formula, proof.control])),
    }
    # A counterexample has up to a hundred letters: it stays in the fold.
    _show(proof, "∎", "proved", values, f"{proof.control_says}: refuted")


def show_refutation(refutation: Refutation) -> None:
    """Display what was refuted: as printed, then what is true instead.

    The rows come in this order, each with its label:

    - the sentence as printed, and the formula that was tried;
    - the condition that it lacks or, if none is named, its repair: ``remedy`` is that row's label;
    - the control: the repaired sentence, tried in the same way, which holds;
    - what the refutation judges (the statement, a proof's step, a remark), and its consequence.
    """
    values = {
        "printed": f"{refutation.printed} ({refutation.place})",
        "tried": refutation.formula,
        refutation.remedy: refutation.condition or refutation.repair,
        refutation.control_says: ", ".join(
            filter(None, [refutation.control_formula, refutation.control])
        ),
        "what fails": JUDGES[refutation.judges],
        "consequence": refutation.consequence,
    }
    _show(refutation, "✗", "refuted", values)


def _show(
    entry: Check | Refutation | Proof,
    mark: str,
    says: str,
    values: Mapping[str, str],
    control: str = "",
) -> None:
    """Display an entry: its claim and number, below them in grey its control, then all else.

    On a page `control` is seen at once, and what it doesn't say unfolds. Without it all is seen.
    """
    number = () if isinstance(entry, Proof) else (entry.measured, f", {asked(entry)}")
    claim = entry.what if isinstance(entry, Proof) else entry.claim_and_measure
    values = {term: text for term, text in values.items() if text}
    head = f"{mark} {entry.witness}: {claim}{': ' if number else ''}{''.join(number)}"
    template = _TEMPLATES / "entry.html"
    anchor = anchor_of(entry.id)
    # What the grey line says in full needs no second place.
    below = {term: text for term, text in values.items() if f"{term}: {text}" != control}
    markup = render(
        template,
        entry=entry,
        mark=mark,
        says=says,
        number=number,
        control=control,
        values=below,
        folded=bool(control and below),
        anchor=anchor,
    )
    plain = "\n".join([head, *(f"    {term}: {text}" for term, text in values.items())])
    show({"text/plain": plain, "text/html": markup})


def show_numbers(numbers: Mapping[str, str]) -> None:
    """Store the numbers of the chapter's prose in the running cell's outputs, where they aren't
    seen.
    """
    show({"text/plain": "", NUMBERS_MIME: dict(numbers)})


def anchor_of(claim_id: str) -> str:
    """Return the id that a claim has on its page.

    Examples
    --------
    >>> anchor_of("dop853")
    'claim-dop853'
    """
    return f"claim-{claim_id}"


def card_html(
    rows: Iterable[Row],
    kind: str,
    *,
    links: bool = False,
    cited: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """Draw a card's rows on a page of some kind.

    With ``links`` the claims are links to their places on the same page. ``cited`` has what is
    shown of the claims of other pages, each under its name in the row's ``cited``: the ``page``'s
    name, a ``link`` to the claim there, its number as `cards.number_of` gives it, and its
    ``scope``, which may be empty. Without it only their names are shown.
    """
    drawn = [
        {
            **asdict(row),
            "css": WORD_CLASS.get(row.word, ""),
            "link": f"#{anchor_of(row.by)}" if links else "",
            "cited": [{"name": name, **(cited or {}).get(name, {})} for name in row.cited.split()],
        }
        for row in rows_shown(rows, kind)
    ]
    return render(_TEMPLATES / "card.html", rows=drawn)


def show_conclusion(conclusion: Conclusion) -> None:
    """Display a page's verdict, its card, and how many checks and refutations each witness gave, as
    text and HTML; and store it as JSON, which other pages read back.
    """
    kind = conclusion.page.kind
    needed = WITNESSES if conclusion.page.is_statement else ()
    rows = [
        (w, conclusion.counts(w)) for w in VOICES if w in needed or conclusion.counts(w) != _NOTHING
    ]
    plain = [f"Verdict: {conclusion.verdict}"]
    plain += [f"    {w}: checks {c['checks']}, refutations {c['refutations']}" for w, c in rows]
    others = "; ".join(
        f"{n} claim{'s' * (n > 1)} about {JUDGES[what]}"
        for what, n in conclusion.other_refutations.items()
    )
    note = f"also refuted, though the verdict doesn't rest on it: {others}" if others else ""
    plain += [f"    {note}"] if note else []
    plain += [line for row in rows_shown(conclusion.card, kind) for line in _row_lines(row)]
    markup = render(
        _TEMPLATES / "verdict.html",
        verdict=conclusion.verdict,
        css=VERDICT_CLASS[conclusion.verdict],
        rows=rows,
        note=note,
        card=card_html(conclusion.card, kind) if conclusion.card else "",
    )
    show(
        {
            "text/plain": "\n".join(plain),
            "text/html": markup,
            verdicts.VERDICT_MIME: conclusion.stored.as_json(),
        }
    )


def _row_lines(row: Row) -> list[str]:
    """Write a row of a card as plain text: one line, one for its number if it has one, and one
    for each claim of another page.
    """
    texts = filter(None, (row.word, row.formula, row.says))
    lines = [f"    {row.of}: {'; '.join(texts)}"]
    if row.number:
        lines.append(f"        {row.what}: {row.number}, {row.required}")
    return lines + [f"        cited: {name}" for name in row.cited.split()]


def render(template: Path, **values: Any) -> str:
    """Fill a template in.

    Its filters are `rich`, and `px` for coordinates in whole pixels.
    """
    return _environment(template.parent).get_template(template.name).render(**values)


def rich(text: str) -> str:
    r"""Escape a text for HTML and mark what stands between dollar signs as mathematics.

    It becomes ``<span class="math notranslate nohighlight">\(...\)</span>``, which is what Sphinx
    writes for inline mathematics, so that MathJax sets it.
    """
    return _INLINE_MATH.sub(
        r'<span class="math notranslate nohighlight">\\(\1\\)</span>', html.escape(text)
    )


@cache
def _environment(folder: Path) -> Environment:
    """Make Jinja's environment for a folder of templates, once: it escapes what it fills in, and a
    name that isn't given is an error.
    """
    # Every chapter imports the ledger. A program that draws nothing needs no templates, and starts
    # faster without them.
    with needs("book"):
        from jinja2 import Environment, FunctionLoader, StrictUndefined
        from markupsafe import Markup

    def load(name: str) -> str:
        """Read a template without its line ends, which would stand in the middle of sentences."""
        return _LINE_END.sub("", (folder / name).read_text(encoding="utf-8"))

    environment = Environment(
        loader=FunctionLoader(load), autoescape=True, undefined=StrictUndefined
    )
    # rich escapes the text itself, and then adds tags.
    environment.filters["rich"] = lambda text: Markup(rich(text))
    environment.filters["px"] = lambda length: f"{length:.0f}"
    return environment
