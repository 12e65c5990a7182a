"""The book's sources: its pages, and the settings of its site."""

from __future__ import annotations

from pathlib import Path

import yaml
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).parents[2]
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))["sphinx"]["config"]
PDF = SETTINGS["book_pdf"]


def documents() -> list[str]:
    """The pages of the table of contents, in its order, without suffix."""
    return list(parse_toc_yaml(ROOT / "_toc.yml"))
