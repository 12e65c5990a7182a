"""Splits a built page into its sections, rows and definitions, each with its anchor, title and
text, for the search.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "track",
    "wbr",
}
INLINE = {"a", "b", "code", "data", "em", "i", "span", "strong", "sub", "sup"}
UNREAD = {"script", "style", "svg", "noscript"}
UNREAD_CLASSES = {
    "above-input",
    "cell_input",
    "headerlink",
    "highlight",
    "ss-reading",
    "ss-symbols",
    "toctree-wrapper",
    "viewcode-link",
}
"""Code, and what stands on many pages."""
_HIGHLIGHTED = re.compile(r'(<div class="highlight"><pre>).*?(?=</pre>)', re.DOTALL)
"""Two thirds of all elements, each of them a word of code."""
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
TITLE_CLASS = "ss-what"
"""The words of a check or refutation, which has no heading."""


@dataclass
class Part:
    """A part of a page; formulas stand in its title and text as TeX. It ends where its element at
    ``depth`` does.
    """

    anchor: str
    tag: str
    depth: int
    title: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


class PageText(HTMLParser):
    """Reads a page's body into its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self.unread_from: int | None = None
        self.title_from: int | None = None
        self.open = [Part("", "", 0)]
        self.parts = [*self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a part where an element with an id may be found on its own."""
        attributes = dict(attrs)
        if tag in VOID:
            self.handle_data(f" {attributes.get('alt') or ''} " if tag == "img" else "")
            return
        self.depth += 1
        if self.unread_from is not None:
            return
        classes = set((attributes.get("class") or "").split())
        if tag in UNREAD or classes & UNREAD_CLASSES:
            self.unread_from = self.depth
        elif tag in ("section", "details", "tr", "dt") and (anchor := attributes.get("id")):
            self._begin(anchor, tag)
        if self.title_from is None and self._is_title(tag, classes):
            self.title_from = self.depth

    def _begin(self, anchor: str, tag: str) -> None:
        # What is said of a term stands beside it in the list, up to the next one.
        depth = self.depth - (tag == "dt")
        if tag == "dt" and (self.open[-1].tag, self.open[-1].depth) == ("dt", depth):
            self.open.pop()
        self.open.append(Part(anchor, tag, depth))
        self.parts.append(self.open[-1])

    def _is_title(self, tag: str, classes: set[str]) -> bool:
        part = self.open[-1]
        first_cell = part.tag == "tr" and tag in ("td", "th") and self.depth == part.depth + 1
        term = part.tag == "dt" and tag == "dt" and self.depth == part.depth + 1
        return tag in HEADINGS or (
            not part.title and (first_cell or term or TITLE_CLASS in classes)
        )

    def handle_endtag(self, tag: str) -> None:
        """Close what ends here."""
        if tag in VOID:
            return
        if tag not in INLINE:
            self.handle_data(" ")
        if self.depth == self.unread_from:
            self.unread_from = None
        if self.depth == self.title_from:
            self.title_from = None
        self.depth -= 1
        while self.open[-1].depth > self.depth:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        """Add text to the innermost part."""
        if self.unread_from is None:
            (self.open[-1].text if self.title_from is None else self.open[-1].title).append(data)


def parts_of(body: str) -> list[tuple[str, str, str]]:
    """Anchor, title and text of each part of a page's body that has words."""
    reader = PageText()
    reader.feed(_HIGHLIGHTED.sub(r"\1", body))
    clean = [
        (part.anchor, *(" ".join("".join(words).split()) for words in (part.title, part.text)))
        for part in reader.parts
    ]
    return [(anchor, title, text) for anchor, title, text in clean if title or text]
