import sympy as sp

from scansnap_core.ledger import Chapter, all_of
from scansnap_core.theory.certify import decide

proved = Chapter("lemma_01").witness("proved")
# %% idea
many, places = sp.symbols("M n", integer=True, positive=True)  # tokens, and positions, T - 1
Y_any, Z_any, P_any = (sp.MatrixSymbol(name, many, many) for name in ("Y", "Z", "P"))  # P: the projector over |v|
X_any, D_any = sp.MatrixSymbol("X", places, many), sp.MatrixSymbol("D", places, places)  # D: diag(b)
f_any, e_any, q_any = (sp.MatrixSymbol(name, many, 1) for name in ("f", "e", "q"))  # e: x_(T+1) - alpha; q: x_T
b_any = sp.MatrixSymbol("b", places, 1)


def of_Z_printed(Y_part):
    return q_any * e_any.T * Y_part * P_any * X_any.T * D_any * X_any


def chain_rule(Y_part):
    """(15) to (19) are dJ = e^T (dY^T f + Y^T P X^T L X dZ^T q) with L = D - b b^T; differentiated as it stands."""
    L = D_any - b_any * b_any.T
    of_Y = (e_any.T * Y_any.T * f_any).diff(Y_any)
    of_Z = (e_any.T * Y_any.T * P_any * X_any.T * L * X_any * Z_any.T * q_any).diff(Z_any)
    with_P_v = q_any * e_any.T * Y_any.T * (P_any * X_any.T * b_any) * b_any.T * X_any  # v = X^T b, so that P v = 0
    return all_of(Y=of_Y == f_any * e_any.T, Z=sp.expand(of_Z) == sp.expand(of_Z_printed(Y_part) - with_P_v))


# %% hide
token, other, held = sp.symbols("l k x", integer=True)  # rows, columns; the token that a position holds


def one_position(weight_of):
    """A position adds its weight times e_x to X^T b and times e_x e_x^T to the matrix, and 1 times e_x to the counts.

    So X^T b is the counts times e^z over their sum, and the matrix has it on its diagonal.
    """
    at_l, at_k, weight = sp.KroneckerDelta(token, held), sp.KroneckerDelta(other, held), sp.Function("w")
    counted = at_l * (weight_of(weight, held) - weight(token))
    matrix = (at_l * at_k - sp.KroneckerDelta(token, other) * at_l) * weight(held)
    cases = {held: token}, {held: token, other: token}, {at_l: 0}
    return all_of(
        vector=all(sp.simplify(counted.subs(case)) == 0 for case in cases),
        matrix=all(sp.simplify(matrix.subs(case)) == 0 for case in cases),
    )


def never_falls(direction):
    """dJ/dt adds up, entry by entry, a derivative times the motion that it makes."""
    of_Y, of_Z, rate_Y, rate_Z = sp.symbols("dJ_dY dJ_dZ eta_Y eta_Z", real=True)
    gain = of_Y * (rate_Y * of_Y) + of_Z * (direction * rate_Z * of_Z)
    return decide(gain >= 0, rate_Y >= 0, rate_Z >= 0)


# %% hide
for what, procedure, claim, control, control_is, region, assumptions in (
    (
        "(3): the derivatives of $J$ by $Y$ and $Z$",
        chain_rule,
        Y_any.T,
        Y_any,
        "$Y$ for $Y^\\top$",
        "every $M$, $T$, $X$, $Y$ and $Z$",
        "the differentials of log-softmax, norm and softmax and $P^\\perp_v v = 0$, above for any size",
    ),
    (
        "The count form: $X^\\top b$ and $X^\\top\\mathrm{diag}(b)X$ depend on the counts of the tokens alone",
        one_position,
        lambda weight, x: weight(x),
        lambda weight, x: weight(x + 1),
        "the weight of the next token",
        "every $M$, $T$, $z_m$ and sequence",
        "one-hot rows; $b_t \\propto e^{z_{x_t}}$",
    ),
    (
        "$J$ never falls along the flow",
        never_falls,
        1,
        -1,
        "descent in $Z$",
        "every $M$, $T$, data, start and $\\eta_Y, \\eta_Z \\ge 0$",
        "(3), whose mean over the data is the gradient of (2)",
    ),
):
    proved.prove(what, procedure, claim, control=control, control_is=control_is, region=region, assumptions=assumptions)
