"""What the site tells machines: search engines, citation managers, and programs that preview a
shared link.

Each page gets a description, a picture, Highwire's ``citation_`` tags and JSON-LD. The first page
is cited as the book, with its PDF; any other page as a part of the book. Extensions add the rest:
Open Graph's tags, the canonical address, the sitemap, the page for addresses that don't exist.
`CITATION.cff` is the source of all facts. The setting ``book_pdf`` names the file under which the
published site has the book as a PDF; without it no link leads to one.

A build also writes ``robots.txt`` and the root page, which leads to the first page and repeats its
tags. (GitHub Pages shows the site of a project below a host whose own ``robots.txt`` is elsewhere;
a copy of the site on a host of its own needs this one.)
"""

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin

from babel.dates import format_date
from docutils import nodes
from page_description import description_of, ended, words_of
from sphinx.application import Sphinx
from sphinx.config import Config
from stored_once import citation_of, key_in

from scansnap_core.base import files
from scansnap_core.book.citation import Citation, name_of

_PICTURE = re.compile(r'<img [^>]*src="[^"]*\.png"[^>]*>')
_REPEATED = re.compile(
    r'<title>.*?</title>|<meta (?:property|name)=[^>]*>|<link rel="canonical"[^>]*>'
    r'|<script type="application/ld\+json">.*?</script>',
    re.DOTALL,
)
_ROOT_PAGE = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8" />
<meta http-equiv="Refresh" content="0; url={home}" />
{tags}
</head>
<body><p><a href="{home}">{title}</a></p></body>
</html>
"""


def set_names(app: Sphinx, config: Config) -> None:
    """Give Sphinx the book's name and version, which the citation has."""
    cited = citation_of(Path(app.srcdir))
    config.project = cited.title
    config.version = config.release = cited.version


def add_tags(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Put a page's tags into its context: Open Graph's by way of ``meta``, which its extension
    reads.
    """
    cited = citation_of(Path(app.srcdir))
    context["edition"] = {
        "version": cited.version,
        "date": cited.released.isoformat(),
        "day": format_date(cited.released, "d MMMM y", locale="en"),
        "pdf": pdf_address(app.config),
    }
    if doctree is None:  # the search, the index, and the page for addresses that don't exist
        context["metatags"] = tag("robots", "noindex")
        return
    is_home = pagename == app.config.master_doc
    address = urljoin(app.config.html_baseurl, app.builder.get_target_uri(pagename))
    title = cited.title if is_home else words_of(app.env.titles[pagename])
    context["edition"] |= page_links(cited, title, address, pagename, app)
    description = description_of(doctree) or cited.abstract
    meta = context["meta"] = dict(context["meta"] or {})
    meta["og:title"] = escape(title)
    meta["og:description"] = escape(description)
    if found := _PICTURE.search(context["body"]):
        source = re.search(r'src="([^"]*)"', found[0])
        words = re.search(r'alt="([^"]*)"', found[0])
        assert source is not None  # the pattern asks for it
        meta["og:image"] = urljoin(address, source[1])
        meta["og:image:alt"] = words[1] if words else escape(title)
    tags = [tag("description", description), tag("twitter:card", "summary")]
    tags += [
        tag(name, value) for name, value in highwire(cited, title, address, app.config, is_home)
    ]
    tags.append(json_ld(described(cited, title, description, address, app.config, is_home)))
    context["metatags"] += "\n".join(["", *tags, ""])


def page_links(
    cited: Citation, title: str, address: str, pagename: str, app: Sphinx
) -> dict[str, str]:
    """Say how a page is cited, and where a fault in it is reported and its source is edited."""
    who = " and ".join(name_of(author) for author in cited.authors)
    is_home = pagename == app.config.master_doc
    what = title if is_home else f"{ended(title)} In: {cited.title}"
    repository = app.config.html_theme_options["repository_url"]
    branch = app.config.html_theme_options["repository_branch"]
    source = Path(app.env.doc2path(pagename)).relative_to(app.srcdir).as_posix()
    question = urlencode(
        {"title": f"A fault on the page {title}", "body": f"The page: {address}\n\nWhat is wrong: "}
    )
    return {
        "cite": f"{who}: {what}, version {cited.version}, {cited.released.year}. {address}",
        "report": f"{repository}/issues/new?{question}",
        "edit": f"{repository}/edit/{branch}/{source}",
        "bibtex": "../" * pagename.count("/") + f"{key_in(Path(app.srcdir))}.bib",
    }


def pdf_address(config: Config) -> str:
    """Return where the published site has the book as a PDF; empty where it has none."""
    return f"{config.html_baseurl}{config.book_pdf}" if config.book_pdf else ""


def tag(name: str, value: str) -> str:
    """Write a tag of a page's head.

    Examples
    --------
    >>> tag("citation_title", 'The "law"')
    '<meta name="citation_title" content="The &quot;law&quot;" />'
    """
    return f'<meta name="{name}" content="{escape(value)}" />'


def highwire(
    cited: Citation, title: str, address: str, config: Config, is_home: bool
) -> Iterator[tuple[str, str]]:
    """Yield the tags by which Google Scholar, Zotero and others read what a page is and how it
    is cited.
    """
    yield "citation_title", title
    if not is_home:
        yield "citation_inbook_title", cited.title
    for author in cited.authors:
        yield "citation_author", name_of(author)
    yield "citation_publication_date", cited.released.strftime("%Y/%m/%d")
    yield "citation_language", config.language
    yield "citation_public_url", address
    yield "citation_fulltext_html_url", address
    if is_home:
        if pdf := pdf_address(config):
            yield "citation_pdf_url", pdf
        yield "citation_keywords", "; ".join(cited.keywords)


def described(
    cited: Citation, title: str, description: str, address: str, config: Config, is_home: bool
) -> dict[str, Any]:
    """Describe a page in the words of schema.org: the first page is the book, any other is a
    chapter of it.
    """
    facts = {
        "@context": "https://schema.org",
        "@type": "Book" if is_home else "Chapter",
        "name": title,
        "description": description,
        "url": address,
        "author": [person(author) for author in cited.authors],
        "datePublished": cited.released.isoformat(),
        "version": cited.version,
        "inLanguage": config.language,
        "license": f"https://spdx.org/licenses/{cited.license}.html",
    }
    if not is_home:
        home = urljoin(config.html_baseurl, f"{config.master_doc}.html")
        return facts | {"isPartOf": {"@type": "Book", "name": cited.title, "url": home}}
    file = {
        "encoding": {
            "@type": "MediaObject",
            "encodingFormat": "application/pdf",
            "contentUrl": pdf_address(config),
        }
    }
    return facts | {
        "keywords": list(cited.keywords),
        "isBasedOn": cited.repository,
        **(file if config.book_pdf else {}),
        "about": [
            {
                "@type": "ScholarlyArticle",
                "name": work["title"],
                "author": [person(author) for author in work.get("authors", [])],
                "datePublished": str(work.get("year", "")),
                "url": work.get("url", ""),
            }
            for work in cited.references
        ],
    }


def person(author: Mapping[str, str]) -> dict[str, str]:
    """Describe an author.

    Examples
    --------
    >>> person({"family-names": "Du", "given-names": "Simon S."})
    {'@type': 'Person', 'name': 'Simon S. Du'}
    """
    if "name" in author:
        return {"@type": "Organization", "name": author["name"]}
    return {
        "@type": "Person",
        "name": f"{author.get('given-names', '')} {author['family-names']}".strip(),
    }


def json_ld(facts: dict[str, Any]) -> str:
    r"""Write facts as a script that isn't run; no text in it can end it.

    Examples
    --------
    >>> json_ld({"name": "</script>"})
    '<script type="application/ld+json">{"name": "<\\/script>"}</script>'
    """
    text = json.dumps(facts, ensure_ascii=False).replace("</", "<\\/")
    return f'<script type="application/ld+json">{text}</script>'


def write_files(app: Sphinx, exception: Exception | None) -> None:
    """Write the root page, before an extension writes one without a title, and the file for
    crawlers.
    """
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    files.save(
        out / "robots.txt",
        f"User-agent: *\nAllow: /\nSitemap: {app.config.html_baseurl}sitemap.xml\n",
    )
    home = f"{app.config.master_doc}.html"
    head = (out / home).read_text(encoding="utf8").partition("</head>")[0]
    tags = _REPEATED.findall(head)
    title = escape(citation_of(Path(app.srcdir)).title)
    page = _ROOT_PAGE.format(
        language=app.config.language, home=home, tags="\n".join(tags), title=title
    )
    files.save(out / "index.html", page)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("book_pdf", "", "html")
    app.connect("config-inited", set_names)
    app.connect("html-page-context", add_tags, priority=400)  # before Open Graph's tags are written
    app.connect("build-finished", write_files, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
