"""The book's sources: stored notebooks, table of contents, README."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from repository import use_own_repository

from scansnap_core.book.equations import formula_faults
from scansnap_core.book.faults import card_faults, naming_faults, stored_faults
from scansnap_core.book.notebooks import contents, number_faults, read_notebook, verdicts_in
from scansnap_core.ledger import read_claims, read_pages
from scansnap_core.ledger.registry import WITHOUT_CARD, chapter_paths
from tests.site.book import ROOT, documents

CHAPTERS = ROOT / "chapters"
PAGES = read_pages(ROOT)


@pytest.mark.parametrize("path", chapter_paths(CHAPTERS), ids=lambda path: path.stem)
def test_stored_notebook_is_fit_to_show_with_its_card_and_the_claims_of_its_file(path: Path) -> None:
    notebook, page = read_notebook(path), PAGES[path.stem]
    (verdict,) = verdicts_in(notebook)
    assert stored_faults(notebook) + naming_faults(notebook, page) + card_faults(notebook, verdict) == []
    assert ("card" in verdict) is (page.kind not in WITHOUT_CARD)
    stored = [entry for kind in ("checks", "refutations", "proofs") for entry in verdict.get(kind, [])]
    said = read_claims(path.with_suffix(".yaml")).claims
    assert {entry["id"]: (entry["witness"], entry["what"], entry["control_is"]) for entry in stored} == {
        claim.id: (claim.witness, claim.says, claim.control) for claim in said.values()
    }


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


def test_zenodo_says_what_the_citation_file_says() -> None:
    zenodo, cited = (yaml.safe_load((ROOT / name).read_text("utf8")) for name in (".zenodo.json", "CITATION.cff"))
    for key in ("title", "version", "license", "keywords"):
        assert zenodo[key] == cited[key]
    assert [person["name"] for person in zenodo["creators"]] == [author["name"] for author in cited["authors"]]


def test_build_on_github_links_to_its_own_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    config: Any = SimpleNamespace(html_theme_options={"repository_url": "https://github.com/configured/book"})
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    for name, address in (("", "configured/book"), ("reader/fork", "reader/fork")):
        monkeypatch.setenv("GITHUB_REPOSITORY", name)
        use_own_repository(config, config)
        assert config.html_theme_options["repository_url"] == f"https://github.com/{address}"
