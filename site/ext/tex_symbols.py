"""The symbols in a formula's TeX: a letter with its accent, prime and label, without the indices
that it carries.
"""

import re
from dataclasses import dataclass

_GREEK = (
    "alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho"
    "|sigma|tau|phi|varphi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega"
)
_IGNORED = re.compile(
    r"\\(?:text|mathrm|operatorname|begin|end|label|ref|eqref|tag)\*?\{[^{}]*\}|\^\{?(?:\\top|T)\}?(?![A-Za-z])"
    # A mean, an indicator, the reals (not the paper's probabilities), and a projection.
    r"|\\mathbb\s*(?:\{[A-OQ-Z]\}|[A-OQ-Z])|P\^\{?\\perp\}?"
)
_LETTER = rf"\\(?:{_GREEK})(?![A-Za-z])|[A-Za-z]"
_BRACED = r"\{(?:[^{}]|\{[^{}]*\})*\}"
_SYMBOL = re.compile(
    rf"\\(?P<accent>tilde|dot|bar|hat)(?:\s*(?P<under>{_LETTER})|\{{(?P<inside>{_LETTER})\}})|(?P<letter>{_LETTER})|\\[A-Za-z]+"
)
_SUFFIXES = re.compile(
    rf"(?P<before>'*)(?:_(?P<label>{_BRACED}|\\[A-Za-z]+|\w))?(?P<star>\^(?:\*|\{{\*\}}))?(?P<after>'*)"
)
_INDEX = re.compile(r"(?:[lmnijk',/| ]|\\mid)*")


@dataclass(frozen=True)
class Symbol:
    r"""A symbol as it stands in a formula, such as ``\eta_Z``, ``E'`` or ``f`` of
    :math:`f_{nl}`.
    """

    name: str
    accent: str = ""
    indexed: bool = False
    applied: bool = False
    """True if an argument in parentheses follows."""

    @property
    def words(self) -> str:
        """Spell the symbol as a reader without TeX types it: ``eta_z``, ``e'``, ``gamma``."""
        return self.name.lstrip("\\").lower()


def symbols(tex: str) -> list[Symbol]:
    """List the symbols of a formula, in its order, each once."""
    plain = re.sub(r"\^(\\prime|\{\\prime\})", "'", _IGNORED.sub(" ", tex))
    found: dict[Symbol, None] = {}
    place = 0
    while match := _SYMBOL.search(plain, place):
        place = match.end()
        if letter := match["under"] or match["inside"] or match["letter"]:
            marks = _SUFFIXES.match(plain, place)
            assert marks is not None  # it may be empty
            place = marks.end()
            label = (marks["label"] or "").strip("{} ")
            kept = "" if _INDEX.fullmatch(label) else f"_{label}"
            name = (
                letter + kept + marks["before"] + marks["after"] + ("^*" if marks["star"] else "")
            )
            applied = plain[place:].lstrip().startswith("(")
            found[Symbol(name, match["accent"] or "", bool(label), applied)] = None
    return list(found)
