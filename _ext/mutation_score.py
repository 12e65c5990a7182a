"""``{mutation-score}``: how many mutants the checks kill, from the last run, and whether the sources changed since."""

import hashlib
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

RECORD = Path("results", "mutants.json")
COLUMNS = {
    "mutants": "mutants",
    "equivalent": "equivalent",
    "killed_by_tests": "killed by tests",
    "killed_by_chapters": "by chapters only",
    "timeouts": "by timeout",
    "survived": "survived",
}


def score_html(root: Path) -> str:
    """The score and its table, from the record in the tree at ``root``."""
    path = root / RECORD
    if not path.is_file():
        return "<p>Not measured yet: <code>make mutants</code> does it.</p>"
    record = json.loads(path.read_text(encoding="utf8"))
    counts = record["counts"]
    total = {name: sum(row[name] for row in counts.values()) for name in COLUMNS}
    changed = [name for name, digest in record["sha256"].items() if _digest(root, name) != digest]
    real = total["mutants"] - total["equivalent"]
    lines = [
        f'<p class="ss-score"><strong>{_percent(total)}</strong> of the mutants are killed: '
        f"{real - total['survived']} of {real}, besides {total['equivalent']} that change nothing.</p>",
        '<table class="table"><thead><tr><th scope="col">module</th>',
        *(f'<th scope="col">{title}</th>' for title in COLUMNS.values()),
        '<th scope="col">score</th></tr></thead><tbody>',
    ]
    for name, row in {**counts, "all": total}.items():
        cells = "".join(f"<td>{row[column]}</td>" for column in COLUMNS)
        lines.append(f'<tr><th scope="row">{name}</th>{cells}<td>{_percent(row)}</td></tr>')
    lines.append("</tbody></table>")
    if changed:
        files = ", ".join(f"<code>{name}.py</code>" for name in changed)
        lines.append(f'<p class="ss-stale">Changed since this was measured: {files}.</p>')
    return "".join(lines)


def _percent(row: dict[str, int]) -> str:
    """The share of the killed among those that change something, rounded down: 100 % is said of all only."""
    real = row["mutants"] - row["equivalent"]
    return f"{(real - row['survived']) * 1000 // real / 10:g} %" if real else "–"


def _digest(root: Path, module: str) -> str:
    path = root / "scansnap_core" / f"{module}.py"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


class MutationScore(SphinxDirective):
    """Puts the score of the last run into the page."""

    def run(self) -> list[nodes.Node]:
        """Read the record anew in every build."""
        self.env.note_reread()
        drawing = score_html(Path(self.env.srcdir))
        return [nodes.raw("", f'<div class="ss-scroll">{drawing}</div>', format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("mutation-score", MutationScore)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
