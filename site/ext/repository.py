"""Where the sources lie, and where the site is read: a build on GitHub knows both, so that a fork
links to itself.
"""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config
from stored_once import citation_of


def use_own_repository(app: Sphinx, config: Config) -> None:
    """Set the repository's address, and the site's wherever an extension asks for it."""
    site = citation_of(Path(app.srcdir)).url
    if name := os.environ.get("GITHUB_REPOSITORY"):
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        own = f"{server}/{name}"
        if own != config.html_theme_options["repository_url"]:
            config.html_theme_options["repository_url"] = own
            site = pages_address(name)
    config.html_baseurl = site
    config.ogp_site_url = site
    config.notfound_urls_prefix = urlsplit(site).path


def pages_address(name: str) -> str:
    """Return where GitHub Pages shows a repository.

    Examples
    --------
    >>> pages_address("Reader/fork"), pages_address("reader/reader.github.io")
    ('https://reader.github.io/fork/', 'https://reader.github.io/')
    """
    owner, _, repository = name.partition("/")
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if repository.lower() == host else f"https://{host}/{repository}/"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", use_own_repository)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
