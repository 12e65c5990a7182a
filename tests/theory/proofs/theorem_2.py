import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import cleared, decide, normal_form, vanishes
from scansnap_core.theory.certify.overlaps import E_prime_word, E_word

proved = Chapter("theorem_2").witness("proved")
# %% idea
low, high, kappa, v, w_n, Ew_n, s_n = sp.symbols("low high kappa v w_n Ew_n s_n", positive=True)
x_n, x_k, rest = sp.symbols("a_n a_k rest", positive=True)
# %% hide


def one_common_token(shares):
    """E' of diag(1 - a^2) + a a^T: positive off the diagonal, negative on it if class n shares something."""
    x = x_n**2 / (1 - x_n**2)
    own = 1 / (1 - x_n**2) - (x_n / (1 - x_n**2)) ** 2 / (1 + x + rest * shares) - 1  # -E'_nn
    return all_of(
        pair=sp.expand(x_n * (x_n * x_k * x_n - x_k) + (1 - x_n**2) * x_n * x_k) == 0,
        minus_the_diagonal=decide(cleared(own) > 0, x_n < 1),
    )


def small_spread(limit):
    """w = E phi has Ew <= kappa v w, so E' phi = w - Ew + E^2 w - ... >= (1 - kappa v) w > 0."""
    rows = s_n * low <= w_n, Ew_n <= v * high * s_n, high <= kappa * low
    return all_of(
        force_is_minus_E_prime_phi=vanishes(E_prime_word * E_word + E_prime_word - E_word),
        first_pair=decide(Ew_n < w_n, *rows, kappa * v < limit),
    )


def climbs(half):
    """Both on F: the derivative by f_n is 2 d_n, D = F(I - E'), less its part along f_n, where d_n^T f_n = 1."""
    climb = 2 * half * ((1 - E_prime_word) - normal_form((1 + E_word) * (1 - E_prime_word)))
    return all_of(
        f_n_in_the_sum_of_10_is_minus_E_prime_nn=vanishes(E_prime_word * E_word + E_prime_word - E_word),
        same_as_10=vanishes(climb + E_prime_word),
    )


# %% hide
def distinct(elsewhere):
    """A token's entry f in class n and `elsewhere` in n': its pair in (97) is f^2 E_nn' if the other is 0."""
    f, overlap = sp.symbols("f_nl E_nk", positive=True)
    return all_of(eqn_98=sp.expand(f * (overlap * f - elsewhere) - f**2 * overlap) == 0)


def together(own):
    """Class n's part of (97) over its common tokens: those of n' add up to E_nn', and f_nl^2 to s_n."""
    overlap, share, coefficient = sp.symbols("E_nk s_n beta_nk", real=True)
    summed = coefficient * (overlap * share - overlap)
    return all_of(each_class=sp.expand(summed + (own - share) * coefficient * overlap) == 0)


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(b), one common token: $\\dot z_l \\propto -\\sum_n(1-f_{nl}^2)\\,\\xi_n$ with every $\\xi_n > 0$",
        one_common_token,
        1,
        0,
        "a class that shares nothing",
        "every $K \\ge 2$, $M \\ge 2$, $\\psi$, $f_{nl} \\in (0,1)$, $\\theta_n > -1$, whatever the eigenvalues of $E$",
        "Sherman-Morrison, Theorem 1's repaired (88)",
    ),
    (
        "The repair: a common token of all classes with $\\kappa_l v < 1$ falls",
        small_spread,
        1,
        sp.Rational(101, 100),
        "$\\kappa_l v < 1.01$",
        "every $K$, $\\psi$, any number of common tokens, $M \\to \\infty$",
        "$E \\ge 0$, $\\beta = E'$",
    ),
    (
        "(10) climbs $\\frac12\\ln\\det(I+E)$: its sum is $\\sum_n f_n \\circ (d_n - f_n)$",
        climbs,
        sp.Rational(1, 2),
        sp.S.One,
        "$\\ln\\det$ without the half",
        "every $K$, every $E$ for which $I + E$ has an inverse, $M \\to \\infty$",
        "$d\\ln\\det A = \\mathrm{tr}(A^{-1}dA)$, $\\beta = E'$",
    ),
    (
        "(a): every distinct token rises, $\\dot z_l \\propto f_{nl}^2\\,\\xi_n$, the dominant one or not",
        distinct,
        0,
        sp.Rational(1, 100),
        "a token that the other class holds too",
        "every $K$, $M$, $\\psi$, $\\beta$ and $\\theta$ with $\\xi_n > 0$; one common token: all $f_{nl} \\in (0,1)$",
        "Theorem 1 (a), or (b) above, for $\\xi_n > 0$",
    ),
    (
        "Together the common tokens fall, in each class's part of (10): $\\propto -(1-\\sum_{CT}f_{nl}^2)\\,\\xi_n$",
        together,
        1,
        2,
        "$2 - \\sum_{CT}f_{nl}^2$",
        "every $K$, $M$, $\\beta$, any number of common tokens; a class with a distinct token, $\\xi_n > 0$",
        "only common tokens enter $f_n^\\top f_{n'}$; Theorem 1 (a) for $\\xi_n > 0$",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
