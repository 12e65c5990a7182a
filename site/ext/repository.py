"""A build on GitHub links to the repository that it runs in, so that a fork's launch buttons open the fork."""

import os
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config


def use_own_repository(app: Sphinx, config: Config) -> None:
    if name := os.environ.get("GITHUB_REPOSITORY"):
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        config.html_theme_options["repository_url"] = f"{server}/{name}"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", use_own_repository)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
