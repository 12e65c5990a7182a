"""What the chapters prove over all of their conditions and what they only sample, as HTML.

A check says in its chapter's file of claims why it isn't proved (``only_sampled``).

CSS classes
-----------
``ss-summary``
    The paragraph that counts proved and sampled claims.
``ss-proofs``
    The tables (``table``) of the proved claims and of those that are only sampled.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from scansnap_core.book.stored import read_stored
from scansnap_core.ledger.certificates import KINDS
from scansnap_core.ledger.markup import render

_TEMPLATES = Path(__file__).with_name("templates")


def proofs_html(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw the list of claims over all of their conditions: how many are proved, and by what; which are only sampled.

    Parameters
    ----------
    book : Path
        The folder with the table of contents and the chapters.
    page_url : callable
        From an id to its page's address.

    Returns
    -------
    str

    Raises
    ------
    BadInput
        If the folder, the table of contents or a notebook can't be read, or a page is registered wrongly.
    """
    stored = read_stored(book)

    def listed(entries: str) -> list[tuple[str, str, dict[str, str]]]:
        return [
            (page.name, page_url(page_id), entry)
            for page_id, page in stored.pages.items()
            for entry in stored.verdicts[page_id].get(entries, [])
        ]

    proofs = listed("proofs")
    by_kind = Counter(proof["kind"] for _, _, proof in proofs)
    return render(
        _TEMPLATES / "proofs.html",
        proofs=proofs,
        sampled=listed("sampled"),
        kinds=[(by_kind[kind], KINDS[kind]) for kind in KINDS if by_kind[kind]],
        name_of=KINDS,
    )
