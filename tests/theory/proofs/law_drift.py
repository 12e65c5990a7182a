import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import decide, positive_on_ray
from scansnap_core.theory.formulas import K, M, rho
from scansnap_core.theory.law import closed
from scansnap_core.theory.law.closed import X, s

proved = Chapter("law_drift").witness("proved")
a_, b_, c_ = closed.a_, closed.b_, closed.c_
# %% idea
u_ = sp.Symbol("u", positive=True)
evidence_of = (K - 1) * b_ + (M - K) * c_


def one_formula(pull):
    """Scanning and drift, step by step; pull: what b - c takes off the logarithm of the odds, over rho, but for 1."""
    log_odds = rho * evidence_of - (1 + rho * (K - 2)) * b_ + (1 + rho * (K - 1)) * c_  # v - w
    own_logit = evidence_of - rho * (K - 1) * b_ + (1 + rho * (K - 1)) * c_  # u - w
    R, E, near, first = sp.symbols("R E near first", positive=True)
    Lambda_of = evidence_of * (b_ - c_ / 2) - (K - 2) * b_**2 / 2 + (K - 1) * b_ * c_ / 2
    known = b_ <= E * near, near <= E * b_, E >= 1, near >= first
    return all_of(
        odds=sp.expand(log_odds - (rho * evidence_of + rho * c_ - (1 + pull * rho) * (b_ - c_))) == 0,
        odds_above_1=sp.expand(sp.exp(s) * X - (X - 1 + sp.exp(s)) - (sp.exp(s) - 1) * (X - 1)) == 0,
        c_below=decide((M - K) * c_ <= a_, a_ >= evidence_of, K >= 2),
        slope=sp.simplify(R / (M - K) / (1 + (K - 1) * R / (M - K)) - R / evidence_of.subs({b_: R, c_: 1})) == 0,
        exponential=positive_on_ray(sp.exp(u_) - 1 - u_, u_, 0),
        its_slope=sp.expand((1 + u_) * (sp.exp(u_) - 1) - u_ * sp.exp(u_) - (sp.exp(u_) - 1 - u_)) == 0,
        clock=sp.expand(own_logit - evidence_of - (1 + (K - 1) * rho) * c_ + (K - 1) * rho * b_) == 0,
        drift=sp.expand(closed.Lambda - Lambda_of) == 0,
        b=decide(sp.And(b_ - near <= (E - 1) * near, near - b_ <= (E - 1) * near), *known),
        weight=decide(near <= 2 * (near - first / 2), *known),
        c=sp.simplify(c_ - evidence_of / M - (K * evidence_of / M - (K - 1) * b_) / (M - K)) == 0,
    )


# %% hide
def last_sum(taken):
    """Lambda over the one formula, less 1, as four terms with a bound each; taken: how often Lambda lacks b²/2."""
    E, near, beta = sp.symbols("E near beta", positive=True)  # near: b with a tilde; beta = E near/a
    formula, c = a_ * (near - a_ / (2 * M)), (a_ - (K - 1) * b_) / (M - K)
    q, push = a_ * near / formula, (K - 1) * M * b_
    error = (a_ * (b_ - c / 2) - taken * b_**2 / 2 + (K - 1) * b_ * c / 2) / formula - 1
    in_b, in_c = q * (b_ - near) / near, (q - 1) * (K - push / a_) / (M - K)
    in_squares = q * b_ / (2 * a_ * near) * ((K - 1) * c - (K - 2) * b_)
    above, most = (b_ <= E * near, b_ <= beta * a_, K >= 2, M > K), a_ * (K + (K - 1) * M * beta)
    return all_of(
        four_terms=sp.simplify(error - (in_b - in_c + in_squares)) == 0,
        b=decide(sp.And(b_ - near <= (E - 1) * near, near - b_ <= (E - 1) * near), near <= E * b_, E >= 1, *above),
        c=decide(sp.And(K * a_ - push <= most, push - K * a_ <= most), *above),
        b_squared=decide((K - 2) * b_**2 <= (K - 2) * beta * a_ * E * near, *above),
        b_c=decide((K - 1) * b_ * c_ * (M - K) <= (K - 1) * E * near * a_, (M - K) * c_ <= a_, *above),
    )


def regimes(half):
    """The bounds of the three regimes; with eta = e^u - 1, (1 - rho) b = u. half: of eta² in eta - ln(1 + eta)."""
    (b, c), eta, base = sp.symbols("b c", positive=True), sp.exp(u_) - 1, closed.Lambda
    leading = (M - K) * c_ * (sp.Symbol("h") - c_ / 2)  # h = eta/(1 - rho)
    return all_of(
        before=sp.expand(base - leading - K * b_**2 / 2 + (M - K) * c_ * (sp.Symbol("h") - b_)) == 0,
        eta_above=positive_on_ray(eta - u_, u_, 0),
        eta_below=positive_on_ray(sp.expand(half * eta**2 - eta + u_), u_, 0),
        after=sp.simplify(1 + (sp.exp(s) - 1) / X - sp.exp(s) / X * (1 + (X - 1) * sp.exp(-s))) == 0,
        least=sp.expand(base - M * c_**2 / 2 - K * (b_**2 - c_**2) / 2 - (M - K) * c_ * (b_ - c_)) == 0,
        most=sp.expand(M * b_**2 / 2 - base - (M - K) * (b_ - c_) ** 2 / 2) == 0,
        signs=decide(K * (b**2 - c**2) / 2 + (M - K) * c * (b - c) >= 0, b >= c, M > K, K >= 1),
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "Scanning and drift are one formula in $a$, with the stated error",
        one_formula,
        K - 2,
        K - 1,
        "$1 + (K-1)\\rho$, one class too many",
        "every $K \\ge 2$, $M > K$, $\\rho \\in (0, 1)$ and time",
        "the solution above; comparison of integrals, as on this page; the last sum, which is proved next",
    ),
    (
        "The last sum: $\\Lambda/\\tilde\\Lambda - 1$ is four terms, each within its part of the stated error",
        last_sum,
        K - 2,
        K - 1,
        "$\\Lambda$ with $\\frac{K-1}2 b^2$ taken off, one class too many",
        "every $K \\ge 2$, $M > K$, $a > 0$, $b$ within the factor $E$ of $\\tilde b$, and $c \\le a/(M-K)$",
        "$\\Lambda$ in $a$, $b$ and $c$, as proved above; the triangle inequality",
    ),
    (
        "The bounds of the three regimes",
        regimes,
        sp.Rational(1, 2),
        sp.Rational(1, 3),
        "$\\eta - \\ln(1+\\eta) \\le \\eta^2/3$",
        "every $K \\ge 1$, $M \\ge K$, $\\rho \\in [0, 1)$ and time",
        "the solution above; $x/(1+x) \\le \\ln(1+x) \\le x$; an integral of a larger function is larger",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
