"""Statements under the paper's numbers, in boxes and in references, instead of numbers in the order of the site."""

from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def number_as_the_paper(app: Sphinx, env: BuildEnvironment) -> None:
    # A label ends in its number, such as theorem_4; Sphinx has just numbered the boxes as they come.
    for label, box in env.proof_list.items():  # type: ignore[attr-defined]
        if not box["nonumber"]:  # this book's own statements have none
            number = int(label.rpartition("_")[2])
            env.toc_fignumbers[box["docname"]][box["countertype"]][label] = (number,)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("env-check-consistency", number_as_the_paper)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
