"""``{lab} K=3&rho=0.1``: a training in the reader's hands, from the setting that the argument
names.

The argument is written like the lab's own address; what it leaves out is as in
``site/lab/fields.json``. The option ``show`` names the few fields of a small lab with one chart,
and ``words`` its tokens: the common one and those of each class, with a slash between classes. Its
``chart`` shows z, on a scale that holds ``span``, or distinct tokens' gain. The option ``play``
lets the lab play of its own accord, where the reader's machine doesn't ask for less motion. Script
and style are loaded only by pages that hold a lab, and are classic files: they work from the disk.
"""

import json
import math
import shutil
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from docutils import nodes
from docutils.parsers.rst import directives
from lab_script import lab_script
from lab_still import Setting, still_svg
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from scansnap_core.base.bad_input import BadInput

FOLDER = "lab"
FIELDS = "site/lab/fields.json"
VENDORED = ("uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE")


def setting_of(preset: str, root: Path) -> Setting:
    """Return the setting that a preset means, or raise BadInput: no chapter can hold a preset that
    the lab refuses.
    """
    fields = json.loads((root / FIELDS).read_text(encoding="utf8"))
    given = dict(parse_qsl(preset, strict_parsing=True)) if preset else {}
    for key in given.keys() - fields.keys():
        raise BadInput(
            value=key, rule="a preset names fields of the lab", remedy=f"use {', '.join(fields)}"
        )
    texts = {key: given.get(key, field["default"]) for key, field in fields.items()}
    for key, field in fields.items():
        allowed = list(field.get("choices", ()))
        if allowed and texts[key] not in allowed:
            raise BadInput(
                value=f"{key}={texts[key]}", rule="a choice", remedy=f"use {', '.join(allowed)}"
            )
        numbers = (
            [] if allowed or texts[key] == "" else [float(part) for part in texts[key].split(",")]
        )
        low = field.get("low", field.get("min", 0))
        high = field.get("high", field.get("max", math.inf))
        if not all(
            low <= number <= high or (key == "T" and math.isinf(number)) for number in numbers
        ):
            raise BadInput(
                value=f"{key}={texts[key]}",
                rule=f"{low} to {high}",
                remedy="choose within the lab's range",
            )
    setting = Setting(
        K=int(texts["K"]),
        M=int(texts["M"]),
        weights=tuple(float(weight) for weight in texts["w"].split(",")),
        rho=float(texts["rho"]),
        lr_y=float(texts["etaY"]),
        lr_z=float(texts["etaZ"]),
        model=texts["model"],
    )
    if setting.model != "plain" and texts["dyn"] in ("law", "sgd"):
        raise BadInput(
            value=f"model={setting.model}",
            rule="it has flows alone in the lab",
            remedy="choose a flow as dyn",
        )
    setting.classes()  # refuses an M that is too small
    if texts["beyond"] == "0" and not setting.rho * setting.K * (setting.K - 1) < 1:
        raise BadInput(
            value=f"rho={setting.rho}",
            rule="without beyond=1 an overlap keeps to Assumption 2",
            remedy="add beyond=1",
        )
    return setting


def lab_html(
    preset: str,
    still: str,
    words: str,
    *,
    play: bool,
    show: str = "",
    names: str = "",
    chart: str = "z",
    span: Sequence[float] = (),
    lens: bool = False,
) -> str:
    """Write the element that the script fills; without scripts the picture at the address ``still``
    is shown.
    """
    small = f' data-show="{escape(show)}" data-words="{escape(names)}"' if show else ""
    if chart != "z":
        small += f' data-chart="{chart}"'
    if span:
        small += f' data-span="{",".join(f"{end:g}" for end in span)}"'
    small += " data-lens" * lens
    return (
        f'<div class="ss-lab" data-preset="{escape(preset)}"{small}'
        f"{' data-play' if play else ''}></div>"
        f'<noscript><figure><img class="ss-lab-still" src="{escape(still)}" alt="{escape(words)}">'
        f"<figcaption>{escape(words)} "
        "With JavaScript, this is a lab in which you choose the setting.</figcaption>"
        "</figure></noscript>"
    )


class Lab(SphinxDirective):
    """Puts a lab into the page."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {
        "play": directives.flag,
        "show": directives.unchanged,
        "words": directives.unchanged,
        "chart": lambda text: directives.choice(text, ("z", "gain")),
        "lens": directives.flag,
        "span": lambda text: tuple(float(end) for end in text.split(",")),
    }

    def run(self) -> list[nodes.Node]:
        """Check the preset and draw its still picture."""
        preset = self.arguments[0] if self.arguments else ""
        root = Path(self.env.srcdir)
        try:
            setting = setting_of(preset, root)
        except (BadInput, ValueError) as fault:
            raise self.error(f"the preset {preset}: {fault}") from None
        for source in (*root.glob("site/lab/**/*"), *root.glob("site/ext/lab*.py")):
            self.env.note_dependency(str(source))
        show = "".join(self.options.get("show", "").split())
        if unknown := set(filter(None, show.split(","))) - set(
            json.loads((root / FIELDS).read_text(encoding="utf8"))
        ):
            raise self.error(f"the lab has no field {', '.join(sorted(unknown))} to show")
        words_of = [
            [word.strip() for word in part.split(",") if word.strip()]
            for part in self.options.get("words", "").split("/")
        ]
        names = "/".join(",".join(words) for words in words_of)
        lengths = [len(setting.weights) + (number == 0) for number in range(setting.K)]
        if names and [len(words) for words in words_of] != lengths:
            raise self.error(
                f"words name the common and {len(setting.weights)} distinct tokens of "
                f"{setting.K} classes"
            )
        svg, words = still_svg(setting)
        name = f"still-{setting.digest()}.svg"
        target = Path(self.env.app.outdir, "_static", FOLDER, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(svg, encoding="utf8")
        up = "../" * self.env.docname.count("/")
        html = lab_html(
            preset,
            f"{up}_static/{FOLDER}/{name}",
            words,
            play="play" in self.options,
            show=show,
            names=names,
            chart=self.options.get("chart", "z"),
            span=self.options.get("span", ()),
            lens="lens" in self.options,
        )
        return [nodes.raw("", html, format="html")]


def write_lab(root: Path, target: Path) -> None:
    """Write the lab's files into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    for name in VENDORED:
        shutil.copy2(root / "site/lab/vendor" / name, target / name)
    shutil.copy2(root / "site/lab/lab.css", target / "lab.css")
    (target / "lab.js").write_text(lab_script(root), encoding="utf8")


def build_lab(app: Sphinx) -> None:
    if app.builder.format == "html":
        write_lab(Path(app.srcdir), Path(app.outdir, "_static", FOLDER))


def load_lab(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    if doctree and any('class="ss-lab"' in node.astext() for node in doctree.findall(nodes.raw)):
        for sheet in ("uPlot.min.css", "lab.css"):
            app.add_css_file(f"{FOLDER}/{sheet}")
        for script in ("uPlot.iife.min.js", "lab.js"):
            app.add_js_file(f"{FOLDER}/{script}", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("lab", Lab)
    app.connect("builder-inited", build_lab)
    app.connect("html-page-context", load_lab)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
