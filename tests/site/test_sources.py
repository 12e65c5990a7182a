"""The book's sources: stored notebooks, table of contents, README."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from downloads import CELL_ID, with_book
from repository import use_own_repository

from scansnap_core.book.citation import read_citation
from scansnap_core.book.equations import formula_faults
from scansnap_core.book.faults import card_faults, naming_faults, stored_faults
from scansnap_core.book.notebooks import contents, read_notebook, verdicts_in
from scansnap_core.book.prose import Prose, number_faults
from scansnap_core.ledger import read_claims, read_pages
from scansnap_core.ledger.contents import chapter_paths
from scansnap_core.ledger.display import rich
from scansnap_core.ledger.entries import Check, Proof
from scansnap_core.ledger.registry import WITHOUT_CARD, notebook_of
from tests.site.book import PDF, ROOT, documents

CHAPTERS = ROOT / "chapters"
PAGES = read_pages(ROOT)
CLAIM = 'id="claim-'
CITED = read_citation(ROOT)


@pytest.mark.parametrize("path", chapter_paths(CHAPTERS), ids=lambda path: path.stem)
def test_stored_notebook_is_fit_to_show_with_its_card_and_the_claims_of_its_file(path: Path) -> None:
    notebook, page = read_notebook(path), PAGES[path.stem]
    (verdict,) = verdicts_in(notebook)
    assert stored_faults(notebook) + naming_faults(notebook, page) + card_faults(notebook, verdict) == []
    assert bool(verdict.card) is (page.kind not in WITHOUT_CARD)
    said = read_claims(path.with_suffix(".yaml")).claims
    assert {entry.id: (entry.witness, entry.what, entry.control_is) for entry in verdict.findings} == {
        claim.id: (claim.witness, claim.says, claim.control) for claim in said.values()
    }


@pytest.mark.parametrize("path", chapter_paths(CHAPTERS), ids=lambda path: path.stem)
def test_each_control_is_seen_without_a_click_and_the_first_check_says_how_to_read_it(path: Path) -> None:
    notebook = read_notebook(path)
    (verdict,) = verdicts_in(notebook)
    shown = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    claims = [BeautifulSoup(data["text/html"], "html.parser") for data in shown if CLAIM in data.get("text/html", "")]
    boxes = [box for claim in claims for box in claim.select(".ss-check, .ss-refutation")]
    seen = {box["id"]: box.select_one(".ss-head > .ss-control") for box in boxes}
    entries: list[Check | Proof] = [*verdict.checks, *verdict.proofs]
    assert {f"claim-{entry.id}" for entry in entries} <= seen.keys()
    for entry in entries:
        control = seen[f"claim-{entry.id}"]
        assert control is not None
        gave = entry.control if isinstance(entry, Check) else "refuted"
        said = BeautifulSoup(rich(f"control: {entry.control_is}: {gave}"), "html.parser")
        assert control.get_text() == said.get_text()
    # Each kind's first one stands below how it's read, with a link to more.
    marks = [data["text/plain"][0] for data in shown if CLAIM in data.get("text/html", "")]
    readings = [data["text/markdown"] for data in shown if "ss-reading" in data.get("text/markdown", "")]
    assert [re.findall("[✓∎✗]", text)[0] for text in readings] == list(dict.fromkeys(marks))
    trust = [re.findall(r"\]\((.*)\)", text)[0] for text in readings]
    assert {(path.parent / link).resolve() for link in trust} == {CHAPTERS / "trust.md"}


def test_numbers_and_formulas_in_prose_are_those_of_the_chapters() -> None:
    assert number_faults(ROOT) + formula_faults(ROOT) == []


def test_every_chapter_is_in_the_contents_once() -> None:
    assert contents(ROOT)[1] == []
    chapters = [*chapter_paths(CHAPTERS), *CHAPTERS.rglob("*.md")]
    assert {str(path.relative_to(ROOT).with_suffix("")) for path in chapters} == set(documents())


def test_readme_commands_are_make_targets() -> None:
    fences = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf8"), re.DOTALL)
    commands = set(re.findall(r"^make (\w+)", "\n".join(fences), re.MULTILINE))
    commands |= set(re.findall(r"`make ([\w-]+)`", (CHAPTERS / "using.md").read_text(encoding="utf8")))
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf8"), re.MULTILINE))
    assert {"book", "test", "pdf"} <= commands <= targets


@pytest.mark.parametrize(
    ("name", "repository", "site"),
    [
        ("", CITED.repository, CITED.url),
        (CITED.repository.removeprefix("https://github.com/"), CITED.repository, CITED.url),
        ("Reader/fork", "https://github.com/Reader/fork", "https://reader.github.io/fork/"),
        ("reader/reader.github.io", "https://github.com/reader/reader.github.io", "https://reader.github.io/"),
    ],
)
def test_build_on_github_links_to_its_own_repository_and_site(
    name: str, repository: str, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config: Any = SimpleNamespace(html_theme_options={"repository_url": CITED.repository})
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", name)
    app: Any = SimpleNamespace(srcdir=str(ROOT))
    use_own_repository(app, config)
    assert config.html_theme_options["repository_url"] == repository
    assert config.html_baseurl == config.ogp_site_url == site
    assert config.notfound_urls_prefix == urlsplit(site).path


def test_a_downloaded_chapter_begins_with_the_lines_that_bring_its_book() -> None:
    notebook = json.loads((CHAPTERS / "statements/lemma_06.ipynb").read_text(encoding="utf8"))
    first, *rest = with_book(notebook, CITED.repository, "chapters/statements")["cells"]
    assert rest == notebook["cells"]
    lines = [line for line in "".join(first["source"]).splitlines() if not line.startswith("#")]
    assert lines == [
        f"!git clone --quiet --depth 1 {CITED.repository}",
        "%cd scan-and-snap-executable",
        "%pip install --quiet '.[book]'",
        "%cd chapters/statements",
    ]
    nbformat.validate({**notebook, "cells": [first, *rest]})


def test_each_chapter_that_the_site_gives_away_has_these_lines(site: Path) -> None:
    for path in chapter_paths(CHAPTERS):
        document = path.relative_to(ROOT)
        given = json.loads((site / "_sources" / document).read_text(encoding="utf8"))
        assert [cell["id"] for cell in given["cells"]].count(CELL_ID) == 1
        assert "".join(given["cells"][0]["source"]).endswith(f"\n%cd {document.parent}")
        assert "scansnap" in given["metadata"]


@pytest.mark.parametrize(
    ("torch", "commands"),
    [
        (
            "cpu",
            [
                "x/bin/python -m pip install --quiet --disable-pip-version-check \"$(grep '^uv==' requirements.txt)\"",
                "x/bin/uv pip install --quiet --python x/bin/python --torch-backend cpu -r requirements.txt",
            ],
        ),
        ("", ["x/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt"]),
    ],
)
def test_where_no_gpu_is_torchs_build_for_a_cpu_is_installed(torch: str, commands: list[str]) -> None:
    done = subprocess.run(
        ["make", "-n", "install", "VENV=x", f"TORCH={torch}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [line for line in done.stdout.splitlines() if "requirements.txt" in line] == commands
    pinned = (ROOT / "requirements.txt").read_text(encoding="utf8")
    assert len(re.findall(r"^uv==", pinned, re.MULTILINE)) == 1
    workflow = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text(encoding="utf8"))
    assert workflow["env"] == {"TORCH": "cpu"}
    binder = (ROOT / ".binder/postBuild").read_text(encoding="utf8")
    assert "--torch-backend cpu --requirement requirements.txt" in binder


def test_the_workflow_publishes_the_pdf_that_the_pages_name() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/book.yml").read_text(encoding="utf8"))
    runs = [step["run"] for step in workflow["jobs"]["publish"]["steps"] if "run" in step]
    assert runs == ["make book", f"make pdf && cp _build/{PDF} _build/html/"]
    assert f"-m printing _build/{PDF}\n" in (ROOT / "Makefile").read_text(encoding="utf8")


def claim_of(name: str) -> str:
    """The page and the claim that a quoted number belongs to."""
    page, _, key = name.rpartition(":")
    numbers = read_claims(notebook_of(page, ROOT).with_suffix(".yaml")).numbers
    return f"{page}:{numbers[key].of if key in numbers else key}"


def test_two_quoted_numbers_of_different_claims_cant_change_places() -> None:
    prose = Prose(ROOT)
    exchangeable = [
        (path.name, one, other)
        for path, text in prose.texts.items()
        for (one, words, around), (other, other_words, other_around) in combinations(prose.quotes(text), 2)
        if claim_of(one) != claim_of(other)
        and any(each in other_around for each in words)
        and any(each in around for each in other_words)
    ]
    assert exchangeable == []
