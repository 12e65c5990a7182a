"""What a page is about, in plain words: its first sentences, for search engines and previews of
shared links.
"""

import re
import unicodedata

from docutils import nodes
from tex_symbols import symbols

MOST = 300
"""The most characters of a description; search engines show about half as many."""
_GREEK = re.compile(r"\\(var)?(?P<letter>[A-Z]?[a-z]+)(?![A-Za-z])")
_COMMANDS = {
    **{
        "approx": "≈",
        "cdot": "·",
        "ge": "≥",
        "gg": "≫",
        "in": "∈",
        "infty": "∞",
        "le": "≤",
        "ll": "≪",
        "ne": "≠",
    },
    **{"lambda": "λ", "lceil": "⌈", "rceil": "⌉", "propto": "∝", "lesssim": "≲", "ln": " ln"},
    **{
        "pm": "±",
        "sum": "Σ",
        "times": "×",
        "to": "→",
        "top": "T",
        "quad": " ",
        "star": "*",
        "mid": "|",
    },
    **{
        "left": "",
        "right": "",
        "mathrm": "",
        "text": "",
        "mathbb": "",
        "big": "",
        "Big": "",
        "mathbf": "",
    },
}
_ACCENTS = {"dot": "\u0307", "tilde": "\u0303", "bar": "\u0304", "hat": "\u0302"}
_ACCENTED = re.compile(r"\\(dot|tilde|bar|hat)\s*\{?(\\[A-Za-z]+|[A-Za-z])\}?")
_ARGUMENT = r"\s*(\{[^{}]*\}|\w|\\[A-Za-z]+)"
_FRACTION = re.compile(rf"\\t?frac{_ARGUMENT}{_ARGUMENT}")
_ROOT = re.compile(r"\\sqrt\s*\{([^{}]*)\}")
_POWER = re.compile(r"\^(\{[^{}]*\})")
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z(])")
_CITED = "bibtex-citation"
_ELSEWHERE = (nodes.Admonition, nodes.block_quote, nodes.table, nodes.figure, nodes.sidebar)
"""What stands beside a page's text. A paragraph that ends with an element of its own has no last
word either.
"""


def description_of(document: nodes.document) -> str:
    """Return the first sentences of a page's first paragraph, in at most `MOST` characters; empty
    without one.
    """
    paragraph = next(filter(_is_text, document.findall(nodes.paragraph)), None)
    return "" if paragraph is None else shortened(words_of(paragraph).removeprefix("In short. "))


def _is_text(paragraph: nodes.paragraph) -> bool:
    above = paragraph.parent
    while above is not None and not isinstance(above, _ELSEWHERE):
        above = above.parent
    return above is None and words_of(paragraph).endswith((".", "?", "!", ":"))


def words_of(node: nodes.Node) -> str:
    """Return the text of an element in one line, its formulas in plain letters, without
    citations.
    """

    def parts(node: nodes.Node) -> list[str]:
        if isinstance(node, nodes.math):
            return [plain(node.astext())]
        if isinstance(node, nodes.Text):
            return [str(node)]
        if isinstance(node, nodes.raw) or (
            isinstance(node, nodes.Element) and _CITED in node["classes"]
        ):
            return []
        return [part for child in node.children for part in parts(child)]

    return " ".join("".join(parts(node)).split())


def ended(title: str) -> str:
    """End a title as a sentence: a title that asks has its mark already.

    Examples
    --------
    >>> ended("Who wins?"), ended("Theorem 4")
    ('Who wins?', 'Theorem 4.')
    """
    return title if title.endswith((".", "?", "!")) else f"{title}."


def plain(tex: str) -> str:
    r"""Write a formula without TeX, as far as letters can.

    Examples
    --------
    >>> plain(r"\eta_Z \approx \dot z_{ml}, M \to \infty")
    'η_Z ≈ ż_ml, M → ∞'
    >>> plain(r"\sqrt{\frac N2\ln\frac{2}{M\delta}}")
    '√((N/2) ln(2/(Mδ)))'
    """

    def letter(command: re.Match[str]) -> str:
        name = command["letter"]
        size = "CAPITAL" if name[0].isupper() else "SMALL"
        return _COMMANDS.get(name) or _greek(name, size) or ("" if name in _COMMANDS else name)

    tex = _ACCENTED.sub(lambda found: f"{found[2]}{{}}{_ACCENTS[found[1]]}", tex)
    tex = re.sub(r"\\[,;:! ]", " ", tex)
    tex = _FRACTION.sub(lambda found: f"({_grouped(found[1])}/{_grouped(found[2])})", tex)
    tex = _ROOT.sub(r"√(\1)", tex)
    tex = _POWER.sub(lambda found: f"^{_grouped(found[1])}", tex)
    tex = re.sub(r"[{}\\]", "", _GREEK.sub(letter, tex))
    return unicodedata.normalize("NFC", " ".join(tex.split()))


def _grouped(argument: str) -> str:
    """Put an argument of a fraction into parentheses, if it is more than a number or a symbol."""
    inside = argument.removeprefix("{").removesuffix("}")
    return (
        inside if len(symbols(inside)) <= 1 and not re.search("[-+()]", inside) else f"({inside})"
    )


def _greek(name: str, size: str) -> str:
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name}")
    except KeyError:
        return ""


def shortened(text: str) -> str:
    """Keep the first sentences of a text, or of one sentence that is too long the first words.

    Examples
    --------
    >>> shortened("It grows. " + "It grows again " * 30)
    'It grows.'
    >>> shortened("It grows " * 40)[-12:], len(shortened("It grows " * 40))
    ('ws It grows…', 297)
    """
    kept = ""
    for sentence in _SENTENCE.split(text):
        longer = f"{kept} {sentence}".strip()
        if len(longer) > MOST:
            break
        kept = longer
    return kept or text[: MOST - 1].rpartition(" ")[0].rstrip(" ,;:(") + "…"
