"""``{measured}`` quotes a number from a chapter's stored verdict, so that a page without code types none.

The role's text is ``page: the beginning of a claim``, with ``|control`` behind it for the control's number.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole
from stored_once import stored_in

from scansnap_core.bad_input import BadInput
from scansnap_core.book.stored import Stored


def quoted(stored: Stored, text: str) -> str:
    """The number of the one claim that the text names.

    Raises
    ------
    BadInput
        The page has no such claim, or several.
    """
    named, _, which = text.partition("|")
    page_id, _, start = named.partition(": ")
    verdict = stored.verdicts.get(page_id, {})
    claims = [*verdict.get("checks", []), *verdict.get("refutations", [])]
    found = [claim for claim in claims if claim["what"].startswith(start)]
    if len(found) != 1 or not start:
        raise BadInput(f"{text!r}", f"{len(found)} claims of {page_id} begin so", "quote the beginning of one of them")
    return str(found[0][which or "measured"])


class Measured(SphinxRole):
    """The number, as it stands in the chapter."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Read the stored verdicts anew in every build."""
        self.env.note_reread()
        return [nodes.strong("", quoted(stored_in(self.env.app), self.text), classes=["ss-measured"])], []


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("measured", Measured())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
