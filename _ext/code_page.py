"""``{modules}`` on the code page: a section for every module of the package, so that none is forgotten."""

import pkgutil
from typing import Any

from sphinx.application import Sphinx

import scansnap_core

PLACEHOLDER = "{modules}"
SECTION = """## `{name}`

```{{eval-rst}}
.. automodule:: {name}
   :members:
   :no-value:
```
"""


def list_modules(app: Sphinx, document: str, source: list[str]) -> None:
    if PLACEHOLDER in source[0]:
        modules = pkgutil.walk_packages(scansnap_core.__path__, f"{scansnap_core.__name__}.")
        names = [scansnap_core.__name__, *(module.name for module in modules)]
        source[0] = source[0].replace(PLACEHOLDER, "\n".join(SECTION.format(name=name) for name in names))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", list_modules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
