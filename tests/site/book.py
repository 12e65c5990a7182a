"""The book's sources: its pages."""

from __future__ import annotations

from pathlib import Path

from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).parents[2]


def documents() -> list[str]:
    """The pages of the table of contents, in its order, without suffix."""
    return list(parse_toc_yaml(ROOT / "_toc.yml"))
