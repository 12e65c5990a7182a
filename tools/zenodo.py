"""Write `.zenodo.json`, which Zenodo reads when a release is archived: ``python -m tools.zenodo``.

All of it comes from `CITATION.cff`.
"""

import json
from pathlib import Path

from scansnap_core.base import files
from scansnap_core.book.citation import ZENODO_FILE, zenodo

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Write the file."""
    files.save(ROOT / ZENODO_FILE, json.dumps(zenodo(ROOT), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
