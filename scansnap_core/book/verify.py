"""Verifying chapters: execute them, compare what they store with what they give, and hold the book
to its rules.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scansnap_core.base.bad_input import BadInput
from scansnap_core.book import faults, notebooks, prose
from scansnap_core.book.cited import cited_faults
from scansnap_core.book.claims_in_words import claims_in_words
from scansnap_core.book.compare import differences
from scansnap_core.book.equations import EQUATIONS_FILE, formula_faults
from scansnap_core.book.errata import ERRATA_FILE, errata_of
from scansnap_core.book.execute import Execution, execute_all, other_environment, store
from scansnap_core.book.notebooks import code_cells
from scansnap_core.ledger.checks import check_file
from scansnap_core.ledger.claims import read_claims
from scansnap_core.ledger.contents import chapter_paths, read_contents
from scansnap_core.ledger.entries import WITNESSES
from scansnap_core.ledger.papers import TABLE_OF_CONTENTS, papers_of
from scansnap_core.ledger.registry import check_id, page_faults, read_page
from scansnap_core.ledger.values import NoEvidence
from scansnap_core.ledger.verdicts import Verdict


@dataclass
class Report:
    """A report says what the verification of one chapter found."""

    path: Path
    title: str = ""
    """Empty where the notebook registers no page."""
    verdict: Verdict | None = None
    """The fresh verdict, or None where there is none."""
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    """Why the chapter isn't verified, or isn't even executed; empty if it is."""
    stored: bool = False
    """Whether its fresh outputs were stored."""

    @property
    def id(self) -> str:
        """Return the stem of the notebook's file name."""
        return self.path.stem

    def as_json(self) -> dict[str, Any]:
        """Return what ``scansnap verify --json`` writes; the verdict's keys are None or empty where
        there is none.
        """
        none: dict[str, Any] = {"verdict": None, "witnesses": None, "refutations": []}
        verdict = self.verdict.as_json() if self.verdict else none
        return {
            "id": self.id,
            "title": self.title,
            "verified": not self.failures,
            **{key: verdict[key] for key in ("verdict", "witnesses", "refutations")},
            "card": verdict.get("card", []),
            "seconds": round(self.seconds, 1),
            "failures": self.failures,
        }

    def counts(self) -> str:
        """Write the number of checks and refutations of each witness, such as ``"4 6 2"``."""
        counts = self.verdict.witnesses if self.verdict else {}
        return " ".join(str(sum(counts[witness].values())) for witness in WITNESSES if counts)


def find_chapters(book: Path, ids: list[str]) -> list[Path]:
    """Return the notebooks of a book's folder that the ids name, or all of them if there are no
    ids.

    An unknown id, or a book without chapters, raises `BadInput`.
    """
    paths = chapter_paths(book / "chapters")
    if not paths:
        rule = "it holds no notebook, so nothing would be verified"
        raise BadInput(f"{book / 'chapters'}", rule, "name another --book")
    for page_id in ids:
        check_id(page_id, [path.stem for path in paths])
    return [path for path in paths if path.stem in ids or not ids]


def cell_count(paths: list[Path]) -> int:
    """Count the code cells of these notebooks, as far as they can be read."""
    total = 0
    for path in paths:
        with suppress(BadInput):
            total += len(code_cells(notebooks.read_notebook(path)))
    return total


def verify(
    book: Path, paths: list[Path], *, jobs: int, rewrite: bool, on_cell: Callable[[], object]
) -> tuple[list[Report], list[str]]:
    """Verify the chapters with these paths, as `find_chapters` gives them, several at a time.

    Before anything is executed, each notebook is read, and its file of claims with its card is
    checked; a chapter with a fault there isn't executed. With ``rewrite`` the fresh outputs of
    every chapter that executes without a fault are stored instead of compared; those that aren't
    the stored ones only if a second execution, in other surroundings, gives them too. ``on_cell``
    is called after each executed cell.

    It returns a report for each chapter, and what is wrong with the book rather than with a
    chapter. Whatever is wrong with one chapter or file, the others are judged; only a table of
    contents that can't be read raises `BadInput`.
    """
    listed, failures = notebooks.contents(book)
    papers = papers_of(read_contents(book))
    reports = {}
    pages = {}
    stored: dict[Path, Any] = {}
    for path in chapter_paths(book / "chapters"):
        report = Report(path)
        with _kept_to(report.failures):
            notebook = notebooks.read_notebook(path)
            pages[path] = read_page(path, papers)
            report.title = pages[path].title
            if path in paths:
                check_file(pages[path], read_claims(path.with_suffix(".yaml")))
                stored[path] = notebook
        if path in paths:
            reports[path] = report
        else:
            failures += report.failures
    failures += map(str, page_faults(pages.values()))
    executions = execute_all(list(stored), jobs, on_cell)
    new = []
    for path, run in executions.items():
        with _kept_to(reports[path].failures):
            if rewrite and _is_new(stored[path], run):
                new.append(path)
    again = execute_all(new, jobs, on_cell, other_environment())
    for path, report in reports.items():
        if path.resolve() not in listed:
            report.failures.append(f"it is missing from {TABLE_OF_CONTENTS}")
        if path in executions:
            with _kept_to(report.failures):
                _judge(report, stored[path], executions[path], again.get(path), rewrite)
                report.failures += faults.naming_faults(stored[path], pages[path])
    with _kept_to(failures):
        if rewrite:
            prose.write_numbers(book)
        failures += prose.number_faults(book)
    failures += _review_faults(book)
    return list(reports.values()), failures


@contextmanager
def _kept_to(failures: list[str]) -> Iterator[None]:
    """Put what goes wrong with one chapter or file into its list of failures, so that the others
    are judged.
    """
    try:
        yield
    except (BadInput, NoEvidence) as error:
        failures.append(str(error))
    # Files of people and of other programs can hold anything.
    except Exception as error:
        failures.append(
            f"it can't be judged: {type(error).__name__}: {' '.join(str(error).split())}"
        )


def _review_faults(book: Path) -> list[str]:
    """Find where the book's files of claims, errata and equations, and the claims that cards cite,
    disagree with its chapters.

    Each of them is read in its turn, and what it raises becomes a fault in the list, so that
    one file's fault doesn't hide another's. Results of the readings aren't needed here.
    """
    found: list[str] = []
    try:
        stored = notebooks.read_stored(book)
    except BadInput:  # a chapter that can't be read is a fault of its own, and reported as such
        return []
    with _kept_to(found):
        claims_in_words(book, stored)
    with _kept_to(found):
        found += cited_faults(book, stored)
    with _kept_to(found):
        if (book / ERRATA_FILE).exists():
            errata_of(stored, book)
    with _kept_to(found):
        if (book / EQUATIONS_FILE).exists():
            found += formula_faults(book)
    return found


def _judge(
    report: Report, stored: Any, execution: Execution, again: Execution | None, rewrite: bool
) -> None:
    """Put into a chapter's report what its execution showed: its verdict and its failures.

    ``stored`` is the notebook as it was read, and ``again`` the second execution, if there was one.
    With ``rewrite`` the fresh outputs are stored unless they have a fault; without it they are
    compared with the stored ones.
    """
    report.seconds = execution.seconds
    fresh = list(enumerate(code_cells(execution.notebook), 1))
    found = [
        f"cell {n} gives {fault}"
        for n, cell in fresh
        for fault in faults.output_faults(cell.outputs)
    ]
    if execution.failure:
        found = [execution.failure]
    else:
        found += _verdict_faults(report, notebooks.verdicts_in(execution.notebook))
        found += faults.card_faults(execution.notebook, report.verdict) if report.verdict else []
    # What two executions give differently depends on hash seed, time zone or language.
    if again is not None:
        report.seconds += again.seconds
        unlike = [again.failure] if again.failure else _changes(execution.notebook, again.notebook)
        found += [f"executed again, {line}" for line in unlike]
    if rewrite and not found:
        # Outputs are fresh, so only faults of the source and of what it shows are left to be found.
        report.failures += faults.source_faults(stored)
        report.failures += faults.picture_faults(execution.notebook) + faults.hidden_claims(
            execution.notebook
        )
        _keep_equal_outputs(stored, execution.notebook)
        try:
            store(execution, report.path)
            report.stored = True
        except BadInput as error:  # the other chapters are stored all the same
            report.failures.append(f"not stored: {error}")
        return
    report.failures += [*found, *faults.stored_faults(stored)]
    if not execution.failure and not rewrite:
        changes = _changes(stored, execution.notebook)
        remedy = (
            [f"if what it gives now is right, scansnap verify --store {report.id} keeps it"]
            if changes
            else []
        )
        report.failures += [*changes, *remedy]


def _is_new(stored: Any, run: Execution) -> bool:
    """Tell whether an execution gave other outputs than the stored ones, so that it has to be
    repeated.
    """
    return not run.failure and bool(faults.stored_faults(stored) or _changes(stored, run.notebook))


def _keep_equal_outputs(stored: Any, fresh: Any) -> None:
    """Give a fresh notebook the stored outputs that compare as equal: a picture of other bits isn't
    written again.
    """
    for before, after in zip(code_cells(stored), code_cells(fresh), strict=True):
        if before.execution_count and not differences(before.outputs, after.outputs):
            after.outputs = before.outputs


def _changes(stored: Any, fresh: Any) -> list[str]:
    """List where stored outputs differ from those of a fresh execution; cells that never ran are
    left out.
    """
    cells = enumerate(zip(code_cells(stored), code_cells(fresh), strict=True), 1)
    return [
        f"cell {n} {line}"
        for n, (before, after) in cells
        if before.execution_count
        for line in differences(before.outputs, after.outputs)
    ]


def _verdict_faults(report: Report, verdicts: list[Verdict]) -> list[str]:
    """Give the report its verdict, or say why the outputs don't hold exactly one of its own."""
    if len(verdicts) != 1:
        return [f"its outputs hold {len(verdicts) or 'no'} verdicts instead of one"]
    if verdicts[0].id != report.id:
        return [f"its verdict is that of {verdicts[0].id}"]
    report.verdict = verdicts[0]
    return []
