"""What survives unchanged: the statements that hold as printed, by what is left of them under the true gradient.

CSS classes
-----------
``ss-survivors``
    The list (``dl``); each group is a ``div``.
"""

from collections.abc import Callable
from pathlib import Path

from scansnap_core.book.cards import words_under
from scansnap_core.book.stored import Stored, read_stored
from scansnap_core.ledger.cards import SCALE, SILENCE, TRUE_GRADIENT
from scansnap_core.ledger.entries import HOLDS
from scansnap_core.ledger.markup import render
from scansnap_core.ledger.pages import Page

_TEMPLATE = Path(__file__).with_name("templates") / "survivors.html"
_AS_STATED, *_LESS = SCALE
_UNCONCERNED, _UNTRIED = SILENCE
GROUPS = {
    "under the true gradient too": (_AS_STATED,),
    "whatever the dynamics, of which they say nothing": (_UNCONCERNED,),
    "under the paper's own dynamics; under the true gradient less is left": tuple(_LESS),
    "under the paper's own dynamics; nobody has tried it under the true gradient": (_UNTRIED, ""),
}


def survivors(stored: Stored) -> dict[str, list[Page]]:
    """The statements whose verdict is that they hold as printed, in groups by their card's word; no empty group."""
    found: dict[str, list[Page]] = {name: [] for name in GROUPS}
    for page in stored.statements.values():
        if stored.verdict_of(page.id) == HOLDS:
            (word,) = words_under(stored.verdicts[page.id], (TRUE_GRADIENT,))
            found[next(name for name, words in GROUPS.items() if word in words)].append(page)
    return {name: pages for name, pages in found.items() if pages}


def survivors_html(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw the groups, each statement with a link and its title.

    Parameters
    ----------
    book : Path
        The folder with the table of contents and the chapters.
    page_url : callable
        From an id to its page's address.

    Raises
    ------
    BadInput
        If the folder, the table of contents or a notebook can't be read.
    """
    stored = read_stored(book)
    return render(_TEMPLATE, groups=survivors(stored), total=len(stored.statements), page_url=page_url)
