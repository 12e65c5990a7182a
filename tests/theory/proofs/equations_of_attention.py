import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import at, decide

proved = Chapter("equations_of_attention").witness("proved")
# %% idea
f_first, f_next, pull_n, z_common = sp.symbols("f_first f_next xi_n z_common", real=True)


def leads_grow(common_falls):
    """ln(f_l^2/f_k^2) changes at 2(z_l' - z_k'); a distinct token has z' = f^2 xi_n by (98), a common one z' < 0.

    So the ratios of (112) and (113) rise, and with them f_l0^2 = 1/sum of their inverses, (114).
    """
    known = pull_n > 0, f_first > f_next, f_next > 0
    return all_of(
        eqn_112=decide(2 * (f_first**2 - f_next**2) * pull_n > 0, *known),
        eqn_113=decide(2 * (f_first**2 * pull_n - z_common) > 0, *known, *([z_common < 0] if common_falls else [])),
    )


# %% hide
def before_the_end(c):
    """(130): u at eta_Y t/K = ln M has e^u + (M-1)u = M ln M + 1; the left side at ln M, and at ln M - c."""
    size, log, shrunk = sp.symbols("M L q", positive=True)  # q = e^-c
    return all_of(
        at_ln_M=decide(size + (size - 1) * log >= size * log + 1, log <= size - 1),
        c_before_it=decide(shrunk * size + (size - 1) * (log - c) <= size * log + 1, shrunk <= c, size >= 1),
        q=at(c - sp.exp(-c), {}),
    )


def after_it(c):
    """(131): u at eta_Y t/K = 2 u_1, e^(u_1) = (M-1) u_1, has e^u + (M-1)u = 2 M u_1 + 1; wanted is W = ln(2 M u_1).

    The left side at W(1 - c/ln M) is at most 2 M u_1 e^-c + (M-1) W, and W = u_1 + ln 2 + ln(M/(M-1)); u_1 > 3.
    """
    M_, u_1, W = sp.symbols("M u_1 W", positive=True)
    gained = 2 * (1 - sp.exp(-c))  # of u_1
    return all_of(
        at_W=decide(2 * M_ * u_1 + (M_ - 1) * W >= 2 * M_ * u_1 + 1, M_ >= 100, W >= 1),
        u_1_above_3=at(99 - sp.exp(3) / 3, {}),
        at_3=at(3 * gained - 3 - sp.log(2) - sp.log(sp.Rational(100, 99)), {}),
        beyond=at(gained - 1, {}),
    )


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(112) to (114): the dominant token gains on every other token of its class",
        leads_grow,
        True,
        False,
        "a common token that may rise",
        "every $K$, $M$, $t$, $\\eta_Z$, any number of distinct tokens, every falling common token",
        "(98); $\\xi_n > 0$ (Theorem 1)",
    ),
    (
        "(130): $h(t_0'/K)$ over $\\eta_Yt_0'/(MK)$ is within $1/\\ln M$ of 1",
        before_the_end,
        sp.S.One,
        sp.Rational(1, 2),
        "$\\frac12/\\ln M$",
        "every real $M > 1$, every $\\eta_Y$ and $K$",
        "(45); $\\ln M \\le M - 1$",
    ),
    (
        "(131): $h(t_0/K)$ over $\\ln(M\\eta_Yt_0/K)/M$ is within $1/\\ln M$ of 1",
        after_it,
        sp.S.One,
        sp.Rational(1, 2),
        "$\\frac12/\\ln M$",
        "every real $M \\ge 100$, every $\\eta_Y$ and $K$",
        "(45); Lemma 8; $e^u/u$ rises from $u = 1$ on",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
