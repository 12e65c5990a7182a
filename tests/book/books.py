"""Small books to verify: one good chapter, which each test spoils in its own way."""

import json
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
import yaml
from PIL import Image

from scansnap_core.ledger import VERDICT_MIME, WITNESSES

GOOD_CELLS = (
    "import numpy as np\nfrom PIL import Image\n\nfrom scansnap_core.ledger import Chapter\n\n"
    "another = np.linspace(0, 0.2, 2)[1].__add__\nlemma = Chapter('lemma_08')",
    "for name in ('symbolic', 'numeric', 'empirical'):\n"
    "    lemma.witness(name).holds(f'{name}_half', 0.5, control=another(0.5))",
    "display(Image.new('RGBA', (64, 64), 'navy'))\n"
    "display({'text/markdown': 'Navy.', 'text/plain': 'Navy.'}, raw=True)",
    "print('a number:', 1 + 1)",
    "lemma.conclude()",
)
QUIET = {"word": "not concerned", "says": "It has no noise in it."}
CLAIMS: dict[str, Any] = {
    **{n: {f"{n}_half": {"says": f"{n} half", "must": "≤ 0.6", "control": "another half"}} for n in WITNESSES},
    "card": {
        "printed": {"by": "numeric_half", "says": "It holds."},
        "figure": "picture",
        "gradient": QUIET,
        "sgd": QUIET,
    },
}
REFUTATION = {
    "says": "printed error",
    "must": "≤ 0.5",
    "control": "with exp(2Mh)",
    "judges": "claim",
    "place": "Lemma 6, Eqn 45",
    "printed": "$e^{Mh}$",
    "consequence": "none",
}
REPAIRED = REFUTATION | {"repair": "the other"}
CHAPTER = Path("chapters", "statements", "lemma_08.ipynb")
PAPERS = """\
meta:
  papers:
    tian2023:
      {title: Scan and Snap, authors: [Yuandong Tian, Yiping Wang, Beidi Chen, Simon S. Du], year: 2023,
       statements: [lemma, theorem, corollary],
       dynamics: {gradient: {row: under the true gradient, named: the true gradient flow}, sgd: {row: under SGD}}}
"""


SETTINGS = "import matplotlib, numpy\nprint(matplotlib.rcParams['axes.xmargin'], numpy.array([2 / 3]))"
PRINTED = "0.05 [0.66666667]"
"""What it prints where nobody changed a setting."""


def registered(page_id: str, **other: Any) -> dict[str, Any]:
    """The metadata of a notebook of such a name."""
    kind, _, number = page_id.rpartition("_")
    page: dict[str, Any] = {"paper": "tian2023", "kind": "beyond"}
    if number.isdigit():
        page |= {"kind": "figure" if kind == "fig" else kind, "number": int(number)}
    return {"scansnap": page | other}


def code_cell(source: str) -> nbformat.NotebookNode:
    """A cell, with alternative text if it shows a picture, and with an id if the card shows it."""
    shows = source.startswith(("display", "draw"))
    cell = nbformat.v4.new_code_cell(source, metadata={"mystnb": {"image": {"alt": "Navy."}}} if shows else {})
    if source.startswith(("display", "draw(2.0)")):
        cell.id = "picture"
    return cell


def write_notebook(path: Path, sources: tuple[str, ...], claims: Any, heading: str = "", **registers: Any) -> None:
    """A notebook that isn't executed yet, and its file of claims."""
    metadata = registered(path.stem, **registers)
    kind, number = metadata["scansnap"]["kind"], metadata["scansnap"].get("number")
    first = heading or (f"{kind.capitalize()} {number}: a heading" if number else path.stem)
    cells = [nbformat.v4.new_markdown_cell(f"# {first}\n\nWords."), *map(code_cell, sources)]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)
    path.with_suffix(".yaml").write_text(yaml.safe_dump(claims, allow_unicode=True, sort_keys=False))


def write_book(book: Path, *chapters: tuple[Path, tuple[str, ...]], claims: Any = CLAIMS, **registers: Any) -> None:
    """A book whose chapters aren't executed yet."""
    for path, sources in chapters:
        write_notebook(book / path, sources, claims, **registers)
    (book / "chapters" / "index.md").write_text("# Home\n")
    entries = "".join(f"- file: {path.with_suffix('')}\n" for path, _ in chapters)
    (book / "_toc.yml").write_text(f"format: jb-book\nroot: chapters/index\n{PAPERS}chapters:\n{entries}")


def users_settings(folder: Path) -> dict[str, str]:
    """Environment variables of a user whose startup files and Matplotlib's settings change what `SETTINGS` prints."""
    profile = folder / "ipython" / "profile_default"
    (profile / "startup").mkdir(parents=True)
    (profile / "startup" / "mine.py").write_text("print = lambda *_: 7 / 0\n")
    (profile / "ipython_kernel_config.py").write_text("c.InteractiveShellApp.exec_lines = ['%precision 3']\n")
    (folder / "startup.py").write_text("import numpy\n\nnumpy.set_printoptions(precision=2)\n")
    (folder / "matplotlibrc").write_text("axes.xmargin: 0.5\n")
    return {
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONSTARTUP": str(folder / "startup.py"),
        "MPLCONFIGDIR": str(folder),
        "MATPLOTLIBRC": str(folder),
    }


def register(path: Path, **other: Any) -> None:
    """Change how a notebook registers its page; None removes a key."""
    notebook = json.loads(path.read_text())
    page = notebook["metadata"]["scansnap"] | other
    notebook["metadata"]["scansnap"] = {key: value for key, value in page.items() if value is not None}
    path.write_text(json.dumps(notebook))


def png(colour: str) -> str:
    """A picture as a notebook stores it."""
    file = BytesIO()
    Image.new("RGB", (64, 64), colour).save(file, "png")
    return b64encode(file.getvalue()).decode()


def spoil(book: Path, change: Callable[[list[Any]], None]) -> None:
    """Change the good chapter's stored code cells."""
    path = book / CHAPTER
    notebook = json.loads(path.read_text())
    heading, *cells = notebook["cells"]
    change(cells)
    notebook["cells"] = [heading, *cells]
    path.write_text(json.dumps(notebook))


def claim(book: Path, witness: str, claim_id: str, **changes: Any) -> None:
    """Change or add a claim of the good chapter's file; None removes a key."""
    path = (book / CHAPTER).with_suffix(".yaml")
    claims = yaml.safe_load(path.read_text())
    entry = claims[witness].get(claim_id, {}) | changes
    claims[witness][claim_id] = {key: value for key, value in entry.items() if value is not None}
    path.write_text(yaml.safe_dump(claims, allow_unicode=True, sort_keys=False))


def put(number: int, **changes: Any) -> Callable[[list[Any]], None]:
    """Replace a cell's source, outputs, metadata or count, for `spoil`."""
    return lambda cells: cells[number].update(changes)


change_code = put(3, source="print('a number:', 1 + 2)")
claim_falsely = put(1, source=GOOD_CELLS[1].replace(", 0.5,", ", 0.61,"))
claim_another = put(
    4, source="import dataclasses; lemma.page = dataclasses.replace(lemma.page, id='lemma_09'); lemma.conclude()"
)
to_stderr = put(
    3,
    source="import sys; print('careful', file=sys.stderr)",
    outputs=[{"output_type": "stream", "name": "stderr", "text": ["careful\n"]}],
)


def replace_verdict(cells: list[Any]) -> None:
    cells[4]["outputs"][0]["data"][VERDICT_MIME]["verdict"] = "fails as printed"


def clear(cells: list[Any]) -> None:
    for cell in cells:
        cell["outputs"], cell["execution_count"] = [], None
