"""The book's own YAML files, each as its reader reads it, with a key said once more at its end."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import symbols

from scansnap_core import BadInput
from scansnap_core.book.claims_in_words import FILE, claims_in_words
from scansnap_core.book.equations import EQUATIONS_FILE, read_equations
from scansnap_core.book.errata import CITATION_FILE, ERRATA_FILE, bibtex, errata_of
from scansnap_core.book.notebooks import Stored
from scansnap_core.ledger import read_claims
from scansnap_core.ledger.registry import TABLE_OF_CONTENTS, read_contents

ROOT = Path(__file__).parents[2]
NOTHING = Stored({}, {})
READERS: dict[Path, Callable[[Path], Any]] = {
    ERRATA_FILE: lambda root: errata_of(NOTHING, root),
    symbols.OWN: lambda root: symbols.read_own(SimpleNamespace(srcdir=root, env=SimpleNamespace())),  # type: ignore[arg-type]
    Path("chapters", FILE): lambda root: claims_in_words(root, NOTHING),
    Path("chapters", "notation.yaml"): lambda root: read_claims(root / "chapters" / "notation.yaml"),
    EQUATIONS_FILE: read_equations,
    Path(TABLE_OF_CONTENTS): read_contents,
    CITATION_FILE: lambda root: bibtex(root, "2026", "https://example.org"),
}


def test_every_yaml_file_of_the_book_is_among_them() -> None:
    kept = {path.relative_to(ROOT) for path in ROOT.glob("chapters/*.yaml")}
    assert {path for path in kept if not (ROOT / path).with_suffix(".ipynb").exists()} <= set(READERS)


@pytest.mark.parametrize("file", READERS, ids=str)
def test_a_key_that_stands_there_twice_is_named_with_its_line(file: Path, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / file, tmp_path / file)
    text = (tmp_path / file).read_text("utf8")
    listed = re.search(r"^- (\w+):", text, re.MULTILINE)
    key = listed or re.search(r"""^['"]?([^\s#'"][^:'"]*)['"]?:""", text, re.MULTILINE)
    assert key is not None
    (tmp_path / file).write_text(f"{text.rstrip()}\n{'  ' if listed else ''}{key[1]}: again\n", "utf8")
    line = len(text.rstrip().splitlines()) + 1
    with pytest.raises(BadInput) as refused:
        READERS[file](tmp_path)
    assert str(refused.value).startswith(f"file {tmp_path / file}: key {key[1]!r} twice in line {line}: the keys")
