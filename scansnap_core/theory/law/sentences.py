"""What the answer says: the numbers that follow from others by formulas, and the sentences with their conditions.

Both are data, so that ``scansnap predict`` and the book's calculator, which is written in JavaScript, say the same.
"""

from typing import NamedTuple

import sympy as sp

from scansnap_core.data.audit import MUCH_GREATER
from scansnap_core.theory import formulas
from scansnap_core.theory.formulas import K, M, eta_Y, eta_Z, h_, t
from scansnap_core.theory.law.validity import LIKELY

# without assumptions: SymPy takes a real symbol to be finite
T, steps, snap, t_drift = sp.symbols("T steps snap t_drift")
largest, smallest, uniform, several = sp.symbols("largest smallest uniform several")
sampled_first, sampled_last, square = sp.symbols("sampled_first sampled_last square_first")
snap_ten, snap_true, end_ten, end_true = sp.symbols("snap_ten snap_true end_ten end_true")
lead, lead_true, half_ten, half_true, error = sp.symbols("lead lead_true half_ten half_true error")
hardest = sp.Max(sp.Abs(sampled_first), sp.Abs(sampled_last))
evidence = sp.sqrt(2 * eta_Y / (eta_Z * square)) / (M - 1)

DERIVED: dict[str, sp.Expr] = {
    "speedup": eta_Y / eta_Z,
    "high": 1 / K,
    "low": 6 / sp.sqrt(M),
    "spare": M / K**2,
    "push_first": sampled_first / (T - 1),
    "push_last": sampled_last / (T - 1),
    "push": hardest / (T - 1),
    "T_drift": 1 + hardest,
    "memory_snap": square * (formulas.Gamma / K).subs(h_, formulas.h.subs(t, snap / K)),
    "memory": square * (formulas.Gamma / K).subs(h_, formulas.h.subs(t, steps / K)),
    "t_memory": K * formulas.time_of_h.subs(h_, evidence),
    "overstated": snap_ten / snap_true,
    "after_ten": 1 - snap_ten / end_ten,
    "after_true": 1 - snap_true / end_true,
    "widened": lead_true / lead,
    "half_ten_snaps": half_ten / snap,
    "half_true_snaps": half_true / snap,
}
"""Numbers that follow from the others by formulas, in the registry's symbols and the answer's names."""
_D = {name: sp.Symbol(name) for name in DERIVED}


class Sentence(NamedTuple):
    """A sentence of the answer, and when it is said; ``{name}`` is a number, ``{name%}`` the same as a percentage."""

    topic: str
    when: sp.Basic
    text: str


_short = _D["push"] > 1
_held = sp.And(sp.Not(_short), _D["memory_snap"] > 1)
_fast = _D["speedup"] < MUCH_GREATER
_weak = sp.And(largest < _D["high"], smallest >= _D["low"], _D["spare"] >= MUCH_GREATER)
_moves = sp.And(snap_ten < 0, snap_true < 0)
_one_way = sp.And(_moves, end_true < snap_true, end_ten < snap_ten)
_finite = sp.Lt(T, sp.oo)
_plain = sp.And(sp.Not(_short), sp.Not(_held), _moves)
_met = sp.And(_weak, sp.Not(_fast))

SENTENCES = [
    Sentence(
        "In short",
        _short,
        "The paper’s picture doesn’t apply: it is of endless sequences, and yours are short. By t₀ sampling, a "
        "force that endless sequences don’t have, moves a distinct word up to {push} times as far as the overlap "
        "of the classes.",
    ),
    Sentence(
        "In short",
        sp.And(_held, _moves),
        "The paper’s picture applies in part: attention leaves {common}, but by t₀ the decoder’s memory already "
        "holds {first} back (memory number {memory_snap}). By t₀ the paper’s law (10) moves {common} {overstated}"
        " times as far as the true gradient flow (“the gradient”).",
    ),
    Sentence(
        "In short",
        sp.And(_plain, _met),
        "The paper’s assumptions on rates and overlaps hold, and its picture has the right direction: attention "
        "leaves {common}. By t₀ the paper’s law (10) moves {common} {overstated} times as far as the true "
        "gradient flow (“the gradient”).",
    ),
    Sentence(
        "In short",
        sp.And(_plain, sp.Not(_met)),
        "You are outside of the paper’s assumptions (below). Its picture still has the right direction: attention"
        " leaves {common}. By t₀ the paper’s law (10) moves {common} {overstated} times as far as the true "
        "gradient flow (“the gradient”).",
    ),
    Sentence(
        "In short",
        sp.And(sp.Not(_short), sp.Not(_moves)),
        "The paper’s picture doesn’t apply: {common} doesn’t lose attention by t₀ under both the paper’s law (10)"
        " and the true gradient flow (“the gradient”).",
    ),
    Sentence(
        "Assumptions",
        sp.Not(_finite),
        "Assumption 1(b), endless sequences, holds.",
    ),
    Sentence(
        "Assumptions",
        _finite,
        "Assumption 1(b), endless sequences, isn’t met: yours have {T} tokens.",
    ),
    Sentence(
        "Assumptions",
        sp.Not(_fast),
        "Assumption 1(c), a decoder much faster than attention, holds: η_Y is {speedup} times η_Z.",
    ),
    Sentence(
        "Assumptions",
        _fast,
        "Assumption 1(c), a decoder much faster than attention, isn’t met: η_Y is {speedup} times η_Z (we ask for"
        " 10 or more).",
    ),
    Sentence(
        "Assumptions",
        _weak,
        "Assumption 2, classes that overlap little, holds: the eigenvalues of E have moduli from {smallest} to "
        "{largest}, within 6/√M = {low} and 1/K = {high}.",
    ),
    Sentence(
        "Assumptions",
        largest >= _D["high"],
        "Assumption 2, classes that overlap little, isn’t met: the largest eigenvalue of E has modulus {largest},"
        " which must be below 1/K = {high}.",
    ),
    Sentence(
        "Assumptions",
        smallest < _D["low"],
        "Assumption 2 isn’t met at its lower end: the smallest eigenvalue of E has modulus {smallest}, which must"
        " be at least 6/√M = {low}.",
    ),
    Sentence(
        "Assumptions",
        _D["spare"] < MUCH_GREATER,
        "Assumption 2, a vocabulary M ≫ K², isn’t met: M is {spare} times K² (we ask for 10 or more).",
    ),
    Sentence(
        "Assumptions",
        uniform < 1,
        "The classes aren’t equally frequent, as the paper’s theorems take them.",
    ),
    Sentence(
        "The moment t₀",
        sp.true,
        "Attention scans up to t₀′ = {scan} and snaps from t₀ = {snap} on, by Theorem 4, in steps that show one "
        "sequence each.",
    ),
    Sentence(
        "The moment t₀",
        _one_way,
        "Of the way that the logit of {common} goes up to 40 t₀, {after_true%} comes after t₀ under the gradient,"
        " and {after_ten%} by the paper’s law (10).",
    ),
    Sentence(
        "The moment t₀",
        sp.Not(_one_way),
        "The logit of {common} turns round before 40 t₀, so no share of its way lies after t₀.",
    ),
    Sentence(
        "Which force",
        sp.Not(_finite),
        "Endless sequences have no force of sampling: overlap and memory move attention.",
    ),
    Sentence(
        "Which force",
        _finite,
        "By t₀ sampling has moved {first} {push_first} times as far as the overlap has, and {last} {push_last} "
        "times; a minus means that it lost attention.",
    ),
    Sentence(
        "Which force",
        sp.And(_finite, t_drift < sp.oo, t_drift > 0),
        "Sampling is the strongest force until t = {t_drift}; from then on the overlap is.",
    ),
    Sentence(
        "Which force",
        sp.And(_finite, sp.Eq(t_drift, sp.oo)),
        "Sampling stays the strongest force up to a million t₀.",
    ),
    Sentence(
        "Which force",
        sp.And(_finite, sp.Eq(t_drift, 0)),
        "The overlap is stronger than sampling from the start.",
    ),
    Sentence(
        "Which force",
        _short,
        "The overlap is the stronger one by t₀ in sequences of more than {T_drift} tokens.",
    ),
    Sentence(
        "Which force",
        sp.And(_D["memory"] <= 1, _D["t_memory"] < sp.Float(1e15)),
        "Memory doesn’t hold {first} at t = {steps} yet: its memory number is {memory}, and reaches 1 at t = "
        "{t_memory}.",
    ),
    Sentence(
        "Which force",
        sp.And(_D["memory"] <= 1, _D["t_memory"] >= sp.Float(1e15)),
        "Memory doesn’t hold {first} in any training: its memory number is {memory} at t = {steps}, and reaches 1"
        " only after 10¹⁵ steps.",
    ),
    Sentence(
        "Which force",
        _D["memory"] > 1,
        "Memory holds {first} from t = {t_memory} on: its memory number is {memory} at t = {steps}.",
    ),
    Sentence(
        "Who leads",
        sp.Eq(several, 1),
        "{first} has {lead} times the attention of {last} before training. At t = {steps} it has {lead_true} "
        "times under the gradient, and {lead_ten} times by the paper’s law (10).",
    ),
    Sentence(
        "Who leads",
        sp.And(sp.Eq(several, 1), _D["widened"] > 1.1),
        "So {first} pulls ahead: the gradient widens its lead {widened} times.",
    ),
    Sentence(
        "Who leads",
        sp.And(sp.Eq(several, 1), _D["widened"] <= 1.1, _D["widened"] >= 0.9),
        "So nobody pulls ahead under the gradient: the lead changes by less than 10 %.",
    ),
    Sentence(
        "Who leads",
        sp.And(sp.Eq(several, 1), _D["widened"] < 0.9),
        "So {last} catches up under the gradient.",
    ),
    Sentence(
        "Who leads",
        sp.Eq(several, 0),
        "{first} is the only distinct word of its class: nobody competes with it.",
    ),
    Sentence(
        "Who leads",
        _finite,
        "These sizes are of endless sequences; what sampling adds is said above.",
    ),
    Sentence(
        "The common word",
        sp.true,
        "At the start {common} has {share%} of the attention. At t = {steps} it has lost {lost_true%} of that "
        "under the gradient, and {lost_ten%} by the paper’s law (10).",
    ),
    Sentence(
        "The common word",
        half_ten < sp.oo,
        "By the paper’s law (10) half is lost at t = {half_ten}, which is {half_ten_snaps} t₀.",
    ),
    Sentence(
        "The common word",
        sp.Eq(half_ten, sp.oo),
        "By the paper’s law (10) half isn’t lost within a million t₀: by then {horizon_ten%} is.",
    ),
    Sentence(
        "The common word",
        half_true < sp.oo,
        "Under the gradient half is lost at t = {half_true}, which is {half_true_snaps} t₀.",
    ),
    Sentence(
        "The common word",
        sp.Eq(half_true, sp.oo),
        "Under the gradient half isn’t lost within a million t₀: by then {horizon_true%} is.",
    ),
    Sentence(
        "How sure",
        error <= LIKELY,
        "SGD’s mean should lie within {error%} of our law’s forecast of z at t = {steps}: nine in ten such "
        "forecasts did. Single runs scatter around the mean.",
    ),
    Sentence(
        "How sure",
        sp.And(error > LIKELY, error < 1),
        "Don’t trust these sizes for SGD: our law’s forecasts of this kind were off by up to {error%} of the whole z.",
    ),
    Sentence(
        "How sure",
        error >= 1,
        "Don’t trust these numbers for SGD: our law’s forecasts of this kind were off by 100 % of the whole z or more.",
    ),
]
"""What is said, in this order, by topic."""
