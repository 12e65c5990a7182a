import itertools

import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import cleared, decide

proved = Chapter("equations_of_the_clock").witness("proved")
# %% idea
m_any, at_h, at_step = sp.symbols("m a b", positive=True)  # M - 1, e^(Mh(t)) and e^(Mh*(s)), s = floor(t)


def faster_below(power):
    """(47): both rates are eta_Y/(M - 1 + e^(Mh)), of h(t) and of h*(s)."""
    rates = 1 / (m_any + at_h**power), 1 / (m_any + at_step**power)
    return decide(at_h < at_step, cleared(rates[0] - rates[1]) > 0)


def lines_repaired(half):
    """(48) over eta_Y/M, with n = e^(Mh(s)), a = e^(Mh(s+1)), t = e^(Mh(t)), g = e^(M epsilon), more >= g the true gap.

    Late is where n g >= M - 1 and a <= n (1 + g)/2; (45) makes n <= M eta_Y s + 1.
    """
    n, a, t, g, more, steps = sp.symbols("n a t g more S", positive=True)  # S = M eta_Y (s + 1)
    known = m_any >= 1, n >= 1, g > 1, more >= g, n <= t, t <= a, a >= n
    late = n * g >= m_any, 2 * a <= n * (1 + g)
    size = n * g / (m_any + n * g) ** 2
    lines = [
        1 / (m_any + n * more) - 1 / (m_any + t),
        1 / (m_any + n * g) - 1 / (m_any + a),
        -half * size * (1 - 1 / g),
        -half * (1 - 1 / g) / (4 * n * g),
        -half * (1 - 1 / g) / (8 * g) / steps,
    ]
    return all_of(
        **{
            f"line_{k}": decide(cleared(after - before) >= 0, *known, *late, n <= steps + 1, steps >= 1)
            for k, (before, after) in enumerate(itertools.pairwise(lines), 1)
        }
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(47): where $h$ is faster than $h^\\circ$ it is below $h^*(\\lfloor t\\rfloor)$",
        faster_below,
        1,
        -1,
        "a rate that rises with $h$",
        "every $M > 1$, $\\eta_Y > 0$, $t$ and every solution of (44)",
        "none",
    ),
    (
        "(48) repaired, all four lines",
        lines_repaired,
        sp.Rational(1, 2),
        sp.S.One,
        "1 for $\\frac12$",
        "every real $M \\ge 2$, $\\eta_Y > 0$ and $\\varepsilon > 0$, $s$ so "
        "late that $e^{M(h(s)+\\varepsilon)} \\ge M - 1$, "
        "$2e^{M(h(s+1)-h(s))} \\le 1 + e^{M\\varepsilon}$ and $M\\eta_Ys \\ge 1$",
        "(45)",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
