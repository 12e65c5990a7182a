"""What a proof says: a certificate of one claim, the entry that the ledger keeps of it, and what is only sampled."""

from dataclasses import dataclass

from scansnap_core.bad_input import BadInput

PROVED = "proved"
"""The fourth witness, of which no statement needs a word."""

KINDS = {
    "algebra": "algebra, for every size",
    "interval": "interval arithmetic, with a lemma where a region has no end",
    "decision": "a decision procedure",
    "steps": "a proof in prose, every step checked",
}
"""How a claim over all of its conditions can be proved."""


@dataclass(frozen=True)
class Certificate:
    """What a procedure of proof found of one claim.

    Attributes
    ----------
    kind
        One of `KINDS`.
    proved
        Whether the claim is certain over its whole region. What couldn't be decided isn't.
    how
        What was done, such as ``"941 boxes"``; the same on every machine.
    gap
        Where it stopped if it isn't proved: coordinates of a box, a coefficient, a step.
    false
        Whether the gap is a counterexample: a point, an exact sign, a model. A claim that is neither proved nor false
        is undecided.

    Raises
    ------
    BadInput
        If it is proved and has a gap, isn't proved and has none, or is both proved and false.
    """

    kind: str
    proved: bool
    how: str
    gap: str = ""
    false: bool = False

    def __post_init__(self) -> None:
        if self.proved is not True and self.proved is not False:
            raise BadInput(f"proved = {self.proved!r}", "a claim is proved or not", "pass True or False")
        if self.proved == bool(self.gap) or (self.proved and self.false):
            value = f"proved = {self.proved}, gap = {self.gap!r}, false = {self.false}"
            raise BadInput(value, "what is proved has no gap, and what isn't has one", "say where the proof stopped")

    def __bool__(self) -> bool:
        return self.proved


_TRUTHS = ("bool", "BooleanTrue", "BooleanFalse")  # Python's and NumPy's, and SymPy's, which the ledger doesn't import


def all_of(**parts: Certificate | bool) -> Certificate:
    """One proof of several steps, each certified by itself, or an identity of algebra that came out true or not.

    Its kind is that of its parts where they are all of one kind. It is proved if every one of them is; else its gap
    names the first that is false, or the first that is undecided if none is.

    Raises
    ------
    BadInput
        If there is no part, or one is neither a certificate nor True or False: an expression that should be 0 is
        none of them.

    Examples
    --------
    >>> all_of(rises=Certificate("interval", True, "3 boxes"), start=True).how
    'rises (3 boxes); start'
    """
    certificates = {name: part for name, part in parts.items() if isinstance(part, Certificate)}
    for name, part in parts.items():
        if name not in certificates and type(part).__name__ not in _TRUTHS:
            rule = "a step is a certificate, True or False"
            raise BadInput(f"step {_spaced(name)} = {part!r}", rule, "compare it, e.g. with == 0")
    if not parts:
        raise BadInput("no steps", "a proof has one at least", "pass e.g. all_of(rises=..., start=...)")
    kinds = {certificates[name].kind if name in certificates else "algebra" for name in parts}
    kind = kinds.pop() if len(kinds) == 1 else "steps"
    how = "; ".join(
        f"{_spaced(name)} ({certificates[name].how})" if name in certificates else _spaced(name) for name in parts
    )
    open_ = [name for name, part in parts.items() if not part]
    if not open_:
        return Certificate(kind, True, how)
    false = [name for name in open_ if name not in certificates or certificates[name].false]
    name = (false or open_)[0]
    where = certificates[name].gap if name in certificates else "it is false"
    return Certificate(kind, False, how, f"{_spaced(name)}: {where}", bool(false))


def _spaced(name: str) -> str:
    return name.replace("_", " ")


@dataclass(frozen=True)
class Proof:
    """A claim that is proved over its region, beside a nearby false one at which the same procedure stopped."""

    id: str
    witness: str
    what: str
    kind: str
    region: str
    assumptions: str
    how: str
    control: str
    control_is: str
    sampled: str = ""
    """The part of the region that is left to a sweep; empty if none is."""
    formula: str = ""
    """The object that was certified, where it is a formula or a number."""
    control_formula: str = ""


@dataclass(frozen=True)
class Sampled:
    """A check that stands for a claim over all of its conditions, and has only seen some of them."""

    id: str
    witness: str
    what: str
    why: str
