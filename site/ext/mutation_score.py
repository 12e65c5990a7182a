"""``{mutation-score}`` shows how many mutants the unit tests caught when last measured, and what that doesn't cover.

It doesn't cover the sources that changed since, nor the modules of the list that were never judged.
"""

import ast
import hashlib
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from scansnap_core.bad_input import BadInput
from scansnap_core.ledger.display import render

RECORD = Path("results", "mutants.json")
CATALOGUE = Path("tools", "mutants", "catalogue.py")
"""Its ``MODULES`` are the modules to be judged. It is read and not imported: a site is built without Cosmic Ray."""
COLUMNS = ("mutants", "equivalent", "killed", "timeouts", "survived")


def score_html(root: Path) -> str:
    """Draw the score, its table and the survivors, from the record in the tree at ``root``.

    The score is a count, not a percentage: nothing is rounded.
    """
    path = root / RECORD
    if not path.is_file():
        return "<p>Not measured yet: <code>make mutants</code> does it.</p>"
    record = json.loads(path.read_text(encoding="utf8"))
    rows = {module: part["counts"] for module, part in record.items()}
    survivors = [survivor for part in record.values() for survivor in part["survivors"]]
    lowest = min(
        rows, key=lambda module: rows[module]["killed"] / (rows[module]["mutants"] - rows[module]["equivalent"])
    )
    rows["all"] = {name: sum(row[name] for row in rows.values()) for name in COLUMNS}
    return render(
        Path(__file__).with_name("templates") / "mutation_score.html",
        columns=COLUMNS,
        thousands="{:,}".format,
        rows={name: row | {"score": _score(row)} for name, row in rows.items()},
        survivors=survivors,
        lowest=lowest if survivors else None,
        listed=len(listed := _listed(root)),
        unjudged=[_path(module) for module in listed if module not in record],
        changed=[_path(module) for module, part in record.items() if _digest(root, module) != part["sha256"]],
    )


def _listed(root: Path) -> tuple[str, ...]:
    for node in ast.parse((root / CATALOGUE).read_text(encoding="utf8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MODULES":
            return ast.literal_eval(node.value)
    raise BadInput(f"{root / CATALOGUE}", "it lists the modules to be judged, as MODULES", "restore it")


def _score(row: dict[str, int]) -> str:
    return f"{row['killed']:,} of {row['mutants'] - row['equivalent']:,}"


def _path(module: str) -> str:
    return module.replace(".", "/") + ".py"


def _digest(root: Path, module: str) -> str:
    path = root / "scansnap_core" / _path(module)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


class MutationScore(SphinxDirective):
    """Puts the score of the last run into the page."""

    def run(self) -> list[nodes.Node]:
        """Read the record in every build."""
        self.env.note_reread()
        drawing = score_html(Path(self.env.srcdir))
        return [nodes.raw("", f'<div class="ss-scroll">{drawing}</div>', format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("mutation-score", MutationScore)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
