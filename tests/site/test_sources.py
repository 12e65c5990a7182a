"""The book's sources: stored notebooks, table of contents, README."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from scansnap_core.book.equations import formula_faults
from scansnap_core.book.faults import card_faults, naming_faults, stored_faults
from scansnap_core.book.notebooks import contents, number_faults, read_notebook, verdicts_in
from scansnap_core.ledger import read_claims, read_pages
from scansnap_core.ledger.registry import WITHOUT_CARD, chapter_paths
from tests.site.book import ROOT, documents

CHAPTERS = ROOT / "chapters"
PAGES = read_pages(ROOT)


@pytest.mark.parametrize("path", chapter_paths(CHAPTERS), ids=lambda path: path.stem)
def test_stored_notebook_is_fit_to_show(path: Path) -> None:
    notebook = read_notebook(path)
    assert stored_faults(notebook) + naming_faults(notebook, PAGES[path.stem]) == []


@pytest.mark.parametrize("path", chapter_paths(CHAPTERS), ids=lambda path: path.stem)
def test_chapter_opens_with_its_card(path: Path) -> None:
    notebook = read_notebook(path)
    (verdict,) = verdicts_in(notebook)
    assert ("card" in verdict) is (PAGES[path.stem].kind not in WITHOUT_CARD)
    assert card_faults(notebook, verdict) == []


def test_numbers_and_formulas_in_prose_are_those_of_the_chapters() -> None:
    assert number_faults(ROOT) + formula_faults(ROOT) == []


@pytest.mark.parametrize("path", chapter_paths(CHAPTERS), ids=lambda path: path.stem)
def test_chapter_stores_the_claims_of_its_file(path: Path) -> None:
    (verdict,) = verdicts_in(read_notebook(path))
    stored = [entry for kind in ("checks", "refutations", "proofs") for entry in verdict.get(kind, [])]
    said = read_claims(path.with_suffix(".yaml")).claims
    assert {entry["id"]: (entry["witness"], entry["what"], entry["control_is"]) for entry in stored} == {
        claim.id: (claim.witness, claim.says, claim.control) for claim in said.values()
    }


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
    assert [zenodo[key] for key in ("title", "version", "license", "keywords")] == [
        cited[key] for key in ("title", "version", "license", "keywords")
    ]
    assert [person["name"] for person in zenodo["creators"]] == [author["name"] for author in cited["authors"]]


def test_build_on_github_links_to_its_own_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("repository", ROOT / "site/ext" / "repository.py")
    assert spec is not None
    assert spec.loader is not None
    repository = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(repository)
    config = SimpleNamespace(html_theme_options={"repository_url": "https://github.com/configured/book"})
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    repository.use_own_repository(None, config)
    assert config.html_theme_options["repository_url"] == "https://github.com/configured/book"
    monkeypatch.setenv("GITHUB_REPOSITORY", "reader/fork")
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    repository.use_own_repository(None, config)
    assert config.html_theme_options["repository_url"] == "https://github.com/reader/fork"
