"""HTML from templates: every value is escaped, and mathematics between dollar signs is marked for MathJax.

In a template, line ends and indentation are there for its readers only.
"""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scansnap_core.extras import needs

if TYPE_CHECKING:
    from jinja2 import Environment

_INLINE_MATH = re.compile(r"\$([^$]+)\$")
_LINE_END = re.compile(r"\s*\n\s*")


def render(template: Path, **values: Any) -> str:
    """Fill a template in.

    Its filters are `rich`, and `px` for coordinates in whole pixels.
    """
    return _environment(template.parent).get_template(template.name).render(**values)


def rich(text: str) -> str:
    r"""Escape a text for HTML and mark what stands between dollar signs as mathematics.

    It becomes ``<span class="math notranslate nohighlight">\(...\)</span>``, which is what Sphinx writes for inline
    mathematics, so that MathJax sets it.
    """
    return _INLINE_MATH.sub(r'<span class="math notranslate nohighlight">\\(\1\\)</span>', html.escape(text))


@cache
def _environment(folder: Path) -> Environment:
    # Every chapter imports the ledger; what draws nothing starts the faster without templates.
    with needs("book"):
        from jinja2 import Environment, FunctionLoader, StrictUndefined
        from markupsafe import Markup

    def load(name: str) -> str:
        return _LINE_END.sub("", (folder / name).read_text(encoding="utf-8"))

    environment = Environment(loader=FunctionLoader(load), autoescape=True, undefined=StrictUndefined)
    environment.filters["rich"] = lambda text: Markup(rich(text))
    environment.filters["px"] = lambda length: f"{length:.0f}"
    return environment
