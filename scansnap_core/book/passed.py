"""What a run of the tests has verified already: ``make test book`` executes each chapter once."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

from scansnap_core.bad_input import BadInput
from scansnap_core.book.notebooks import code_cells, read_notebook

INPUTS = ("scansnap_core/**/*.py", "results/*", "requirements.txt", "pyproject.toml")
"""What any chapter's outputs may rest on besides its own notebook, within the book's folder."""

NOT_PASSED = {"failure", "error", "skipped"}


def passed(report: Path, book: Path, chapters: Iterable[Path]) -> set[Path]:
    """Those of the chapters each cell of which gave what it stores in a run of the tests, and would again.

    A chapter is left out if it, its claims, or anything in `INPUTS`, changed after that run began.

    Parameters
    ----------
    report
        The run's JUnit report, made by pytest with nbval in the book's folder.
    book
        The folder that holds ``chapters/``.
    chapters
        Notebooks that can be read.

    Raises
    ------
    BadInput
        If the report can't be read.

    Examples
    --------
    >>> passed(Path("reports/tests.xml"), Path(), find_chapters(Path(), []))  # doctest: +SKIP
    {PosixPath('chapters/statements/lemma_06.ipynb'), ...}
    """
    try:
        suite = next(ElementTree.parse(report).getroot().iter("testsuite"))
        began = datetime.fromisoformat(suite.attrib["timestamp"]).timestamp()
    except (OSError, ElementTree.ParseError, StopIteration, KeyError, ValueError) as error:
        raise BadInput(
            f"--passed {report}", f"it is no JUnit report of a run of the tests ({error})", "leave --passed out"
        ) from None
    cases = [case for case in suite.iter("testcase") if not NOT_PASSED & {part.tag for part in case}]
    good = Counter(case.get("classname") for case in cases)
    rest = [path for pattern in INPUTS for path in book.glob(pattern)]
    if any(path.stat().st_mtime > began for path in rest):
        return set()
    return {
        path
        for path in chapters
        if all(own.stat().st_mtime <= began for own in (path, path.with_suffix(".yaml")) if own.exists())
        and good[".".join(path.resolve().relative_to(book.resolve()).parts)] == len(code_cells(read_notebook(path)))
    }
