"""The answer's sentences with their conditions, and the numbers that follow from other numbers by
formulas.

Both are data, so that ``scansnap predict`` and the book's calculator, which is written in
JavaScript, say the same.
"""

import sympy as sp

from scansnap_core.data.audit import MUCH_GREATER
from scansnap_core.law.expected_error import LIKELY
from scansnap_core.theory import formulas
from scansnap_core.theory.formulas import K, M, eta_Y, eta_Z, h_, t

# These symbols have no assumptions, because SymPy takes a real symbol to be finite.
T, steps, snap, t_drift, t_memory = sp.symbols("T steps snap t_drift t_memory")
likely, error = sp.symbols("likely error")
batch, order, flow, rho, mu, one_by_one = sp.symbols("batch order flow rho mu one_by_one")
whole = sp.symbols("whole")  # 1 where all of Y and Z were followed, and no law was needed
largest, smallest, uniform, several, square = sp.symbols(
    "largest smallest uniform several square_first"
)
num_common, num_tied, num_first, num_last = sp.symbols("num_common num_tied num_first num_last")
sampled_first, sampled_last, push, memory, memory_snap = sp.symbols(
    "sampled_first sampled_last push memory memory_snap"
)
snap_ten, snap_true, end_ten, end_true = sp.symbols("snap_ten snap_true end_ten end_true")
lead, lead_true, widened, half_ten, half_true = sp.symbols(
    "lead lead_true widened half_ten half_true"
)
losses = sp.symbols("lost_ten lost_true horizon_ten horizon_true")
speedup, high, low, spare = sp.symbols("speedup high low spare")

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
    "one_by_one": rho * (1 - 1 / K) * eta_Y,
}
"""Numbers that follow from the others by formulas, in the registry's symbols and the answer's
names.
"""

always = sp.true
finite = sp.Lt(T, sp.oo)
weak = sp.And(largest < high, smallest >= low, spare >= MUCH_GREATER)
assumed = sp.And(weak, speedup >= MUCH_GREATER)
leaves = sp.And(snap_ten < 0, snap_true < 0)
goes_on = sp.And(leaves, end_true < snap_true, end_ten < snap_ten)
until = sp.And(finite, t_drift < sp.oo)
at_once = sp.And(finite, sp.Eq(t_drift, 0))
ever = sp.And(finite, sp.Eq(t_drift, sp.oo))
unequal = sp.Eq(several, 1)
ahead = sp.And(sp.Eq(several, 1), widened > 1.1)
behind = sp.And(sp.Eq(several, 1), widened < 0.9)
never = sp.Float(1e15)
trusted = likely <= LIKELY
sure = error <= LIKELY
full = sp.Eq(batch, sp.oo)
is_flow = sp.Eq(flow, 1)
is_whole = sp.Eq(whole, 1)

SENTENCES: dict[str, list[dict[sp.Basic, str]]] = {
    "In short": [
        {
            push > 1: (
                "The paper’s picture doesn’t apply, because it assumes endless sequences and "
                "yours are short. By t₀ sampling, a force that endless sequences don’t have, "
                "moves a distinct word up to {push} times as far as drift (the push of "
                "overlapping classes) does."
            ),
            sp.Not(leaves): (
                "The paper’s picture doesn’t apply: by t₀ the logit{common:|s} of {common} "
                "{common:falls|fall} under at most one of the paper’s law (10) and the true "
                "gradient flow (“the gradient”)."
            ),
            sp.And(memory_snap > 1, assumed): (
                "The paper’s picture applies in part: the logit{common:|s} of {common} "
                "{common:falls|fall}, but by t₀ the decoder’s memory already holds {first} "
                "back (memory number {memory_snap}). By t₀ the paper’s law (10) moves "
                "{common} {overstated} times as far as the true gradient flow (“the "
                "gradient”)."
            ),
            memory_snap > 1: (
                "You are outside of the paper’s assumptions (below), and its picture applies "
                "in part: the logit{common:|s} of {common} {common:falls|fall}, but by t₀ "
                "the decoder’s memory already holds {first} back (memory number "
                "{memory_snap}). By t₀ the paper’s law (10) moves {common} {overstated} "
                "times as far as the true gradient flow (“the gradient”)."
            ),
            assumed: (
                "The paper’s assumptions on rates and overlaps hold, and its picture has the "
                "right direction: the logit{common:|s} of {common} {common:falls|fall}. By "
                "t₀ the paper’s law (10) moves {common} {overstated} times as far as the "
                "true gradient flow (“the gradient”)."
            ),
            always: (
                "You are outside of the paper’s assumptions (below). Its picture still has "
                "the right direction: the logit{common:|s} of {common} {common:falls|fall}. "
                "By t₀ the paper’s law (10) moves {common} {overstated} times as far as the "
                "true gradient flow (“the gradient”)."
            ),
        },
    ],
    "Assumptions": [
        {
            finite: "Assumption 1(b), endless sequences, isn’t met: yours have {T} tokens.",
            always: "Assumption 1(b), endless sequences, holds.",
        },
        {
            speedup < MUCH_GREATER: (
                "Assumption 1(c), a decoder much faster than attention, isn’t met: η_Y is "
                "{speedup} times η_Z (we ask for 10 or more)."
            ),
            always: (
                "Assumption 1(c), a decoder much faster than attention, holds: η_Y is "
                "{speedup} times η_Z."
            ),
        },
        {
            sp.And(
                weak, largest < 1.000001 * smallest
            ): "Assumption 2, classes that overlap little, holds: the "
            "eigenvalues of E have modulus {largest}, between 6/√M = {low} and 1/K = {high}.",
            weak: (
                "Assumption 2, classes that overlap little, holds: the eigenvalues of E have "
                "moduli from {smallest} to {largest}, within 6/√M = {low} and 1/K = {high}."
            ),
        },
        {
            largest >= high: (
                "Assumption 2, classes that overlap little, isn’t met: the largest "
                "eigenvalue of E has modulus {largest}, which must be below 1/K = {high}."
            ),
        },
        {
            smallest < low: (
                "Assumption 2 isn’t met at its lower end: the smallest eigenvalue of E has "
                "modulus {smallest}, which must be at least 6/√M = {low}."
            ),
        },
        {
            spare < MUCH_GREATER: (
                "Assumption 2, a vocabulary M ≫ K², isn’t met: M is {spare} times K² (we ask "
                "for 10 or more)."
            ),
        },
        {
            uniform
            < 1: "The classes aren’t equally frequent; the paper’s theorems assume that they are."
        },
    ],
    "The moment t₀": [
        {
            always: (
                "Attention scans up to t₀′ = {scan} and snaps from t₀ = {snap} on, by "
                "Theorem 4, in steps that show one sequence each."
            ),
        },
        {
            goes_on: (
                "Under the gradient {after_true%} of the movement of the logit{common:|s} of "
                "{common} up to 40 t₀ comes after t₀; by the paper’s law (10) {after_ten%} "
                "does."
            ),
            always: (
                "The logit{common:|s} of {common} {common:turns|turn} round before 40 t₀, so "
                "no share of {common:its|their} movement comes after t₀."
            ),
        },
    ],
    "Which force": [
        {
            sp.And(finite, unequal): (
                "By t₀ sampling has moved {first} {push_first} times as far as drift (the "
                "push of overlapping classes) has, and {last} {push_last} times. A minus "
                "means that the word lost attention."
            ),
            finite: (
                "By t₀ sampling has moved {first} {push_first} times as far as drift (the "
                "push of overlapping classes) has. A minus means that the word lost "
                "attention."
            ),
            always: (
                "Endless sequences have no force of sampling: drift, the push of overlapping "
                "classes, and memory move attention."
            ),
        },
        {
            at_once: (
                "Drift, the push of overlapping classes, is stronger than sampling from the start."
            ),
            until: "Sampling is the strongest force until t = {t_drift}; from then on drift is.",
            ever: "Sampling stays the strongest force up to a million t₀.",
        },
        {
            push
            > 1: "In sequences of more than {T_drift} tokens drift is stronger than sampling by t₀."
        },
        {
            memory > 1: (
                "Memory holds {first} from t = {t_memory} on: its memory number is {memory} "
                "at t = {steps}."
            ),
            t_memory < never: (
                "Memory doesn’t hold {first} at t = {steps} yet: its memory number is "
                "{memory}, and reaches 1 at t = {t_memory}."
            ),
            always: (
                "Memory doesn’t hold {first} in any training: its memory number is {memory} "
                "at t = {steps}, and reaches 1 only after 10¹⁵ steps."
            ),
        },
    ],
    "Who leads": [
        {
            unequal: (
                "Before training {first} {first:has|each have} {lead} times the attention of "
                "{last:|each of }{last}. At t = {steps} {first} {first:has|each have} "
                "{lead_true} times as much under the gradient, and {lead_ten} times by the "
                "paper’s law (10)."
            ),
            num_first > 1: (
                "{first} share the lead: no distinct word of the class is more frequent than "
                "another, so they keep equal attention, under the gradient and by the "
                "paper’s law (10)."
            ),
            always: "{first} is the only distinct word of its class: nobody competes with it.",
        },
        {
            ahead: (
                "So {first} {first:pulls|pull} ahead: the gradient widens {first:its|their} "
                "lead {widened} times."
            ),
            behind: "So {last} {last:catches|catch} up under the gradient.",
            unequal: (
                "So nobody pulls ahead under the gradient: the lead changes by less than 10 %."
            ),
        },
        {
            sp.And(
                unequal, num_first > 1
            ): "{first} share the lead: equally frequent distinct words of a class keep "
            "equal attention.",
        },
        {
            sp.And(
                unequal, num_last > 1
            ): "{last} share the last place: equally frequent distinct words of a class "
            "keep equal attention.",
        },
        {finite: "These sizes are for endless sequences; “Which force” says what sampling adds."},
    ],
    "The common word": [
        {
            num_tied > num_common: (
                "In this class {num_tied} common words are equally frequent, and none is "
                "more so. What is said of the common word here is said of {common}, whose "
                "logit{common: is|s are} lowest at t₀ under the gradient."
            ),
        },
        {
            always: (
                "At the start {common} {common:has|each have} {share%} of the attention. At "
                "t = {steps} {common} {common:has|each have} lost {lost_true%} of this "
                "attention under the gradient, and {lost_ten%} by the paper’s law (10)."
            ),
        },
        {
            half_ten < sp.oo: (
                "By the paper’s law (10) {common} {common:has|have} lost half of "
                "{common:its|their} attention at t = {half_ten}, which is {half_ten_snaps} "
                "t₀."
            ),
            always: (
                "By the paper’s law (10) {common} {common:doesn’t|don’t} lose half of "
                "{common:its|their} attention within a million t₀: by then {common} "
                "{common:has|have} lost {horizon_ten%}."
            ),
        },
        {
            half_true < sp.oo: (
                "Under the gradient {common} {common:has|have} lost half of "
                "{common:its|their} attention at t = {half_true}, which is {half_true_snaps} "
                "t₀."
            ),
            always: (
                "Under the gradient {common} {common:doesn’t|don’t} lose half of "
                "{common:its|their} attention within a million t₀: by then {common} "
                "{common:has|have} lost {horizon_true%}."
            ),
        },
        {sp.Or(*(loss < 0 for loss in losses)): "A minus means that {common} gained attention."},
        {finite: "These sizes too are for endless sequences."},
    ],
    "How sure": [
        {
            sp.And(is_whole, is_flow): (
                "The gradient flow's z at t = {steps} comes from all of Y and Z, without our law, "
                "and is right within {error%}."
            ),
            is_whole: (
                "For full batches, which show all classes at once, z at t = {steps} comes from all "
                "of Y and Z, without our law, and is right within {error%}."
            ),
            sp.And(
                sure, is_flow
            ): "The gradient flow's z at t = {steps} should lie within {error%} of the "
            "forecast: in nine of ten such forecasts it did.",
            sp.And(
                sure, full
            ): "For full batches, which show all classes at once, z at t = {steps} should lie "
            "within {error%} of the forecast: in nine of ten such forecasts it did.",
            sure: (
                "In batches of {batch} SGD’s mean of z at t = {steps} should lie within "
                "{error%} of the forecast: in nine of ten such forecasts it did. "
                "Single runs scatter around the mean."
            ),
            sp.And(trusted, error < 1): (
                "Of forecasts like this one, of z at t = {steps}, nine in ten were off by less "
                "than {error%} of the whole z."
            ),
            trusted: (
                "Of forecasts like this one, of z at t = {steps}, one in ten was off by 100 % of "
                "the whole z or more."
            ),
            error < 1: (
                "Don’t trust these sizes: of forecasts like this one, of z at t = {steps}, seven "
                "in ten were off by more than {likely%} of the whole z, and one in ten by more "
                "than {error%}."
            ),
            always: (
                "Don’t trust these sizes: of forecasts like this one, of z at t = {steps}, seven "
                "in ten were off by more than {likely%} of the whole z, and one in ten by 100 % or "
                "more."
            ),
        },
        {
            sp.Or(is_flow, sp.And(full, one_by_one < 0.005)): "",
            sp.And(
                full, finite
            ): "In small batches the classes come in random order, which moves z’s mean further; "
            "“scansnap predict --batch-size” says how far.",
            sp.And(
                full, sp.Or(mu > 0, one_by_one > 0.5)
            ): "In small batches the classes come in random order, which moves z’s mean further. "
            "Give a batch size, and this says how far.",
            full: (
                "In small batches the classes come in random order, which moves z’s mean "
                "further: at first by about {one_by_one%} in batches of 1, and by a B-th "
                "part of that in batches of B. Give a batch size, and this says how far later."
            ),
            order < 0.005: (
                "By then the random order in which the classes come has moved z’s mean by "
                "less than 0.5 %; the sizes above leave this out."
            ),
            order > 1: (
                "By then the random order in which the classes come moves z’s mean by more than "
                "full batches do, too far for our law; the sizes above leave this out."
            ),
            always: (
                "By then the random order in which the classes come has moved z’s mean by "
                "{order%}; the sizes above leave this out."
            ),
        },
    ],
}
"""The sentences by topic, in this order. Each dict lists alternatives: the first one whose
condition is true is written, if any is.

``{name}`` is a number, ``{name%}`` the same as a percentage; ``{common}``, ``{first}`` and
``{last}`` are words, one or, if they are equally frequent, several, and ``{first:has|have}`` is the
verb of the one or of the several.
"""

total, learned, common_sign, first_sign, last_sign = sp.symbols(
    "total learned common_sign first_sign last_sign"
)
# Whether some distinct word of the class is more frequent than another.
both = sp.Eq(several, 1)
alone = sp.Eq(several, 0)
ADAM_DERIVED: dict[str, sp.Expr] = {
    "early": sp.sqrt(3) / 2 * eta_Z,
    "later": sp.sqrt(3) * eta_Z,
    "learned": sp.log(M) / (2 * total * eta_Y),
}
ADAM: dict[str, list[dict[sp.Basic, str]]] = {
    "In short": [
        {
            always: (
                "The paper’s picture is of gradient descent, and Adam isn’t gradient "
                "descent. For Adam there is a law of the first updates, and no law of who "
                "wins."
            ),
        },
    ],
    "Adam’s first updates": [
        {
            always: (
                "These updates carry signs alone, however often a word occurs (the page "
                "“Adam: signs first”). Of the {held} words of the class {rising} rise and "
                "the others fall, all at one speed."
            ),
        },
        {
            num_tied > num_common: (
                "In this class {num_tied} common words are equally frequent, and none is "
                "more so. What is said of the common word here is said of {common}."
            ),
        },
        {common_sign < 0: "{common} {common:falls|fall}.", always: "{common} {common:rises|rise}."},
        {
            sp.And(
                both, first_sign < 0, last_sign > 0
            ): "{last} {last:rises|rise} and {first} {first:falls|fall}: the "
            "{last:rare word gains|rare words gain} on the frequent {first:one|ones}.",
            sp.And(
                both, first_sign > 0, last_sign > 0
            ): "{first} {first:rises|rise} as fast as {last}, so nobody pulls ahead.",
            sp.And(
                both, first_sign < 0, last_sign < 0
            ): "{first} {first:falls|fall} as fast as {last}, so nobody pulls ahead.",
            sp.And(
                alone, num_first > 1, first_sign > 0
            ): "{first} rise alike, so nobody pulls ahead.",
            sp.And(alone, num_first > 1): "{first} fall alike, so nobody pulls ahead.",
            sp.And(alone, first_sign > 0): "{first} rises.",
            alone: "{first} falls.",
        },
        {
            always: (
                "An update moves a logit by √3/2 η_Z = {early} at first, and by up to √3 η_Z "
                "= {later} after some tens of updates, until the class has learned its next "
                "word."
            ),
        },
        {
            learned < 2: "At these rates the class has learned this word after an update or two.",
            always: "The class has learned this word after some {learned} updates.",
        },
    ],
    "How sure": [
        {
            always: (
                "Signs and speeds are derived for endless sequences, the mean gradient and "
                "small rates; on Syn-Small all 20 words of a class moved as the signs say. "
                "Who wins later was only tried: without the memory β₁ the rarest word won on "
                "four systems; with β₁ a more frequent word won on Syn-Small."
            ),
        },
        {finite: "Your sequences have {T} tokens; these formulas leave the length out."},
    ],
}
"""The same for Adam, of whose first updates alone there is a law."""
