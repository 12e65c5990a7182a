import sympy as sp

from scansnap_core.ledger import Chapter, all_of

proved = Chapter("lemma_04").witness("proved")
# %% idea
f_own, f_far, own_iota, pair_beta = sp.symbols("f_nl f_kl iota_n beta_nk", real=True)  # entries of token l
square, overlap, speed_any = sp.symbols("s E_nk gamma", real=True)  # f_n^T f_n and f_n^T f_k


def projected(entry, along):
    """An entry of diag(f_n)(I - f_n f_n^T) v, v^T f_n = along."""
    return f_own * (entry - along * f_own)


def one_pair(sign):
    """What (9) has of f_n and of one f_k goes through (94) by itself; the sums over k and n are both sides'."""
    of_own = projected(speed_any * own_iota * f_own, speed_any * own_iota * square)
    of_other = projected(-speed_any * pair_beta * f_far, -speed_any * pair_beta * overlap)
    eqn_10 = sign * f_own * speed_any * pair_beta * (f_own * overlap - f_far)
    return all_of(
        iota_leaves_no_trace=sp.expand(of_own.subs(square, 1)) == 0,
        eqn_10=sp.expand(of_other - eqn_10) == 0,
    )


# %% hide
def batch_mean(weight):
    """Each of B draws has the mean of one step, sum P(n) s_n."""
    draw, size = sp.symbols("i B", integer=True, positive=True)
    step = sp.Symbol("step")
    return all_of(same_mean=sp.simplify(sp.Sum(weight(size) * step, (draw, 1, size)).doit() - step) == 0)


for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(94) with (9) inserted is (10), class by class, with the weight that the sum over classes has",
        one_pair,
        1,
        -1,
        "$(I - f_nf_n^\\top)$ in (10)",
        "every $K$, $M$, $\\psi$, $\\beta$, $\\iota$ and weights; unit vectors $f_n$",
        "(9); (94) weighs class $n$ with $P(n)$ as the expectation of (4) does",
    ),
    (
        "The expected step of a batch mean is that of one sequence",
        batch_mean,
        lambda size: 1 / size,
        lambda size: sp.S.One,
        "a batch sum",
        "every $B$, every $P(n)$",
        "linearity of the expectation",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
