"""What a page loads: MathJax from the installed package instead of a CDN, no script twice, and no
script for icons.

`layout.html` sends the page's head through `lighter`, and the whole page through `common_icons`.
"""

import re
import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# The pages load only these of the package's 24 MB. The extensions define \boldsymbol and others;
# MathJax loads them when a page uses them. safe.js drops an \href to javascript: from a formula.
MATHJAX_PARTS = ("tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions", "ui/safe.js")


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    source = Path(
        str(
            distribution("sphinx-mathjax-offline").locate_file(
                "sphinx-mathjax-offline/static/mathjax"
            )
        )
    )
    target = Path(app.outdir, "_static", "mathjax")
    for part in MATHJAX_PARTS:
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part, dirs_exist_ok=True)
        else:
            shutil.copy2(source / part, target / part)


def drop_what_no_page_loads(app: Sphinx, exception: Exception | None) -> None:
    """Remove the theme's script for icons and the maps of its scripts: 3.6 MB."""
    if exception or app.builder.format != "html":
        return
    scripts = Path(app.outdir, "_static/scripts")
    for file in {*scripts.glob("*.map"), *scripts.glob("fontawesome.js*")}:
        file.unlink()


def drop_repeated_scripts(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Keep the first of the scripts that two extensions each add; some declare constants and fail
    the second time.
    """
    seen = set()
    kept = []
    for script in context.get("script_files", []):
        name = getattr(script, "filename", None)
        body = getattr(script, "attributes", {}).get("body")
        key = re.sub(r"\?.*", "", str(name)) if name else body
        if key not in seen:
            seen.add(key)
            kept.append(script)
    context["script_files"] = kept


def lighter(head: str) -> str:
    """Return a page's head without the 1.5 MB script for icons, which the theme's style sheet draws
    too.
    """
    return re.sub(r"<script[^>]*/fontawesome\.js[^>]*></script>", "", head)


def common_icons(page: str) -> str:
    """Return a page with a branch as the repository's icon: GitHub's own would need a font of 118
    kB for itself.
    """
    return page.replace('class="fab fa-github"', 'class="fas fa-code-branch"')


def offer(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Give the template its functions."""
    context["lighter"] = lighter
    context["common_icons"] = common_icons


def setup(app: Sphinx) -> dict[str, Any]:
    # A page whose only mathematics stands in an output needs MathJax too.
    app.set_html_assets_policy("always")
    app.connect("html-page-context", drop_repeated_scripts, priority=900)
    app.connect("html-page-context", offer)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", drop_what_no_page_loads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
