import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import cleared, decide

proved = Chapter("lemma_02").witness("proved")
# %% idea
P_l, P_j, w_l, w_j, rest, scale = sp.symbols("P_l P_j w_l w_j R t", positive=True)  # w = e^z; R: all other tokens
up_l, up_j = P_l * w_l, P_j * w_j
c_of_two = up_l / (up_l + up_j + rest)  # R enters a sum, or a sum of squares
f_of_two = up_l / sp.sqrt(up_l**2 + up_j**2 + rest**2)
c_other, f_other = (up_j * part / up_l for part in (c_of_two, f_of_two))


def by_token(quantity, own, other):
    """Half the trace of Hessian times covariance, token by token; P P^T drops out, for scale changes nothing."""
    scaled = quantity.subs({P_l: scale * P_l, P_j: scale * P_j, rest: scale * rest}, simultaneous=True)
    return all_of(
        scale_changes_nothing=sp.factor(scaled - quantity) == 0,
        another_token=sp.factor(P_j * sp.diff(quantity, P_j, 2) / 2 - other) == 0,
        the_token_itself=sp.factor(P_l * sp.diff(quantity, P_l, 2) / 2 - own) == 0,
    )


def bias_of_c(factor):
    """c_l (S - c_l/P_l) with S the sum of c_k^2/P_k."""
    return by_token(
        c_of_two,
        c_of_two * (c_of_two**2 / P_l - factor * c_of_two / P_l),
        c_of_two * c_other**2 / P_j,
    )


def bias_of_f(factor):
    """f_l (3/2 S_4 - 1/2 S_2 - f_l^2/P_l) with S_j the sum of f_k^j/P_k."""

    def part(f, P):
        return sp.Rational(3, 2) * f**4 / P - f**2 / P / 2

    own = f_of_two * (part(f_of_two, P_l) - factor * f_of_two**2 / P_l)
    return by_token(f_of_two, own, f_of_two * part(f_other, P_j))


# %% hide
def force_of_sampling(three):
    """f_l^2 ((3 f_l^2 - 1)/P_l + S_2 - 3 S_4): the force is of scale 0 in q too; g = f_n, held at P."""
    q_l, q_j, q_r = sp.symbols("q_l q_j q_R", positive=True)
    at_P = {q_l: P_l, q_j: P_j, q_r: rest}
    length = sp.sqrt((q_l * w_l) ** 2 + (q_j * w_j) ** 2 + q_r**2)
    f_l, f_j, f_r = q_l * w_l / length, q_j * w_j / length, q_r / length
    g_l, g_j, g_r = (f.subs(at_P) for f in (f_l, f_j, f_r))
    force = f_l * (g_l - f_l * (f_l * g_l + f_j * g_j + f_r * g_r))

    def part(f, P):
        return f**2 / P - three * f**4 / P

    own = g_l**2 * ((three * g_l**2 - 1) / P_l + part(g_l, P_l))
    of_l, of_j = (P * force.diff(q).diff(q).subs(at_P) / 2 for P, q in ((P_l, q_l), (P_j, q_j)))
    scaled = force.subs({q: scale * q for q in (q_l, q_j, q_r)}, simultaneous=True)
    return all_of(
        scale_changes_nothing=sp.factor(scaled - force) == 0,
        another_token=sp.factor(of_j - g_l**2 * part(g_j, P_j)) == 0,
        the_token_itself=sp.factor(of_l - own) == 0,
    )


def farthest_move(power):
    """Ratios q_l/P_l between low and R low move a share c to R c/(1 + (R-1) c) at most; here R = r^4."""
    share, r, ratio, others, low = sp.symbols("c r rho others low", positive=True)
    moved = share * ratio / (share * ratio + (1 - share) * others)
    R, bound = sp.Symbol("R", positive=True), (r**power - 1) / (r**power + 1)  # tanh(power/8 ln R)
    most = R * share / (1 + (R - 1) * share)
    known = share < 1, R >= 1, ratio <= R * low, ratio >= low, others <= R * low, others >= low
    return all_of(
        one_token_against_the_rest=decide(cleared(most - moved) >= 0, *known),
        at_most=decide(cleared(bound - (most - share).subs(R, r**4)) >= 0, share < 1, r > 1),
    )


def share_rises(power):
    """q e^s/(q e^s + 1 - q) rises with q: what (136) says of q_l it says of c_l, between the ends' shares."""
    low, high, raised = sp.symbols("q_1 q_2 e_s", positive=True)

    def share(q):
        return q * raised / (q * raised + (1 - q) ** power)

    return decide(cleared(share(high) - share(low)) >= 0, low <= high, high < 1)


# %% hide
any_size = "every number of tokens, $\\mathbb P$ and $z$"
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "$(T-1)$ times the bias of $c_l$ tends to $c_l(S - c_l/\\mathbb P(l))$",
        bias_of_c,
        1,
        sp.Rational(1, 2),
        "$\\frac12 c_l/\\mathbb P(l)$",
        any_size,
        "expansion to second order; the covariance $(\\mathrm{diag}\\,\\mathbb P - \\mathbb P\\mathbb P^\\top)/(T-1)$",
    ),
    (
        "and that of $f_l$ to $f_l(\\frac32 S_4 - \\frac12 S_2 - f_l^2/\\mathbb P(l))$",
        bias_of_f,
        1,
        sp.Rational(1, 2),
        "$\\frac12 f_l^2/\\mathbb P(l)$",
        any_size,
        "the same",
    ),
    (
        "The force of sampling at $g = f_n$: $f_{nl}^2[(3f_{nl}^2-1)/\\mathbb P(l) + S_2 - 3S_4]$",
        force_of_sampling,
        3,
        2,
        "2 in place of 3",
        any_size,
        "the same",
    ),
    (
        "$|c_l(q) - c_l(P)| \\le \\tanh(\\frac14\\ln R)$, $R$ the largest $q_l/\\mathbb P(l)$ over the least",
        farthest_move,
        2,
        1,
        "$\\tanh(\\frac18\\ln R)$",
        any_size + ", every $q > 0$",
        "a mean of ratios lies between the least and the largest",
    ),
    (
        "One token raised by $s$: its share misses the ends that (136) implies as rarely as $q_l$ misses (136)",
        share_rises,
        1,
        -1,
        "$1/(1-q)$ for $1-q$",
        "every $T \\ge 2$, $\\mathbb P(l)$, $s$ and $\\delta$; all other tokens have one $z$",
        "Lemma 18 (136) for one token",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
