"""Lambert's W on both real branches, up to the point where they meet."""

from __future__ import annotations

from flint import arb

from scansnap_core.bad_input import BadInput


def lambert(argument: arb, branch: int = 0) -> arb:
    """A ball of Lambert's W on a real branch.

    W is monotone on either branch, so that a ball's ends give it. Near the branch point -1/e, where Arb's ball grows
    without bound, -1 and Chatzigeorgiou's bound -1 - sqrt(2 v) - v < W_-1(-e^(-v - 1)), v > 0, take over, and for W_0
    the bound -1 + sqrt(2 (1 + e x)).

    Parameters
    ----------
    argument
        At least -1/e; below 0 for the branch -1.
    branch
        0 (W >= -1) or -1 (W <= -1).

    Returns
    -------
    flint.arb
        Not finite for a ball that reaches outside: below -1/e, or on the branch -1 to 0.

    Raises
    ------
    BadInput
        For any other branch.

    Examples
    --------
    >>> lambert(arb(-0.25), -1).overlaps(arb("-2.153292364110349649"))
    True
    """
    if branch not in (0, -1):
        raise BadInput(value=f"branch = {branch}", rule="W has two real branches", remedy="pass 0 or -1")
    if not argument.is_finite() or not argument >= -(arb(-1).exp()) or (branch == -1 and not argument < 0):
        return arb.nan()
    first, last = _lambert_at(argument.lower(), branch), _lambert_at(argument.upper(), branch)
    return first.union(last)


def _lambert_at(point: arb, branch: int) -> arb:
    """W at an exact number, by Arb or by the bounds near the branch point, whichever is narrower."""
    found = point.lambertw(branch)
    if branch == 0:
        over = (1 + point * arb.const_e()).upper().max(arb(0))
        bounds = arb(-1).union(-1 + (2 * over).sqrt())
    else:
        v = (-1 - (-point).log()).upper().max(arb(0))
        bounds = arb(-1).union(-1 - (2 * v).sqrt() - v)
    return found if found.is_finite() and found.rad() < bounds.rad() else bounds
