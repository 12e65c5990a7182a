"""A fold below a printed formula shows what was tried: formulas as SymPy prints the objects that
the checks were given.

Nobody reads the printed TeX back, so a reader compares the two. Each formula stands beside its
claim's id, which leads to the check.
"""

from collections.abc import Iterable, Sequence
from html import escape

from scansnap_core.ledger.display import rich
from scansnap_core.ledger.entries import Finding, Proof

READING = (
    "Each line names a check and shows what it was given, as SymPy writes it. "
    "A number alone is a constant for which the claim was proved."
)
"""How the fold is read; where mathematics isn't drawn, the lines below it are TeX."""


def fold(
    trials: Iterable[tuple[str, Finding]],
    code: Sequence[tuple[str, str]] = (),
    reading: str = "",
) -> str:
    """Return the fold as HTML; empty where no formula was tried.

    Parameters
    ----------
    trials
        Addresses of claims, and what was found of them.
    code
        Names in the package, and TeX of what they stand for.
    reading
        What stands above the lines.
    """
    rows = [(f"<code>{escape(name)}</code>, in the code", f"${formula}$") for name, formula in code]
    for address, entry in trials:
        if not entry.formula:
            continue
        claim = f"<code>{escape(entry.id)}</code>"
        named = f'<a class="ss-claim" href="{address}">{claim}</a>, {entry.witness}'
        formula = entry.formula
        if not isinstance(entry, Proof) and " = " not in formula:
            formula += f" must be {entry.required}"
        rows.append((named, formula))
        if entry.control_formula:
            rows.append(("its control, which fails", entry.control_formula))
    if not rows:
        return ""
    drawn = "".join(
        f"<div><dt>{named}</dt><dd>{rich(formula)}</dd></div>" for named, formula in rows
    )
    head = "<summary>What is tried</summary>" + (f"<p>{reading}</p>" if reading else "")
    return f'<details class="ss-fold">{head}<dl class="ss-values">{drawn}</dl></details>'
