"""What the chapters prove over all of their conditions and what they only sample, as HTML.

A chapter says of its own checks what is only sampled; ``chapters/sampled.yaml`` says it for all that a review of every
page's checks found besides::

    theorem_1:
      "Beyond Assumption 2": "random matrices; the proof needs eigenvalues below 1/K"

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

from scansnap_core.bad_input import BadInput
from scansnap_core.book.stored import Stored, read_stored
from scansnap_core.ledger.certificates import KINDS
from scansnap_core.ledger.markup import render

SAMPLED_FILE = Path("chapters", "sampled.yaml")

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
        If the folder, the table of contents or a notebook can't be read, a page is registered wrongly, or the list of
        what is only sampled names no check, or one twice.
    """
    stored = read_stored(book)

    def listed(entries: str) -> list[tuple[str, str, dict[str, str]]]:
        return [
            (page.name, page_url(page_id), entry)
            for page_id, page in stored.pages.items()
            for entry in stored.verdicts[page_id].get(entries, [])
        ]

    proofs = listed("proofs")
    reviewed = [(stored.pages[at].name, page_url(at), entry) for at, entry in reviewed_samples(book, stored)]
    sampled = listed("sampled") + reviewed
    by_kind = Counter(proof["kind"] for _, _, proof in proofs)
    return render(
        _TEMPLATES / "proofs.html",
        proofs=proofs,
        sampled=sampled,
        kinds=[(by_kind[kind], KINDS[kind]) for kind in KINDS if by_kind[kind]],
        name_of=KINDS,
    )


def reviewed_samples(book: Path, stored: Stored) -> list[tuple[str, dict[str, str]]]:
    """What the book's file lists as only sampled: a page's id, and a check of it with the reason; none without a file.

    Raises
    ------
    BadInput
        If the file is unreadable, or an entry isn't the beginning of exactly one check of its page, or is said twice.
    """
    from scansnap_core import files

    path = book / SAMPLED_FILE
    if not path.is_file():
        return []
    listed = files.read(path, example="correct it")
    try:
        entries = [(page, start, why) for page, starts in listed.items() for start, why in starts.items()]
    except (ValueError, AttributeError) as error:
        rule = f"it is no map of pages to checks to reasons ({type(error).__name__})"
        raise BadInput(str(path), rule, "correct it") from None
    found: list[tuple[str, dict[str, str]]] = []
    for page, start, why in entries:
        verdict = stored.verdicts.get(page, {})
        begun = [check["what"] for check in verdict.get("checks", []) if check["what"].startswith(start)]
        said = {entry["what"] for entry in verdict.get("sampled", [])} | {entry["what"] for _, entry in found}
        if len(begun) != 1 or begun[0] in said or not str(why).strip():
            rule = "each entry begins one check of its page, which nothing else calls sampled, and has its reason"
            raise BadInput(f"{path.name}: {page}: {start!r}", rule, f"{len(begun)} checks begin so: correct it")
        found.append((page, {"what": begun[0], "why": str(why)}))
    return found
