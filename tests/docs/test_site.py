"""The site builds without a warning, and every link leads somewhere; no network is asked."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.docs.pages import DOCS, ROOT


class Page(HTMLParser):
    """What a page links to, the anchors it has, and what a browser would load from elsewhere."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Take note of a tag."""
        found = dict(attributes)
        self.anchors |= {value for key, value in found.items() if key == "id" and value}
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if tag in {"script", "img", "link"}:
            self.loaded += [value for key, value in found.items() if key in {"src", "href"} and value]


def test_links_lead_to_pages_and_anchors(site: Path) -> None:
    """Every link inside of the site, on every page, the anchor included."""
    pages = {path: Page(path) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_there = to in pages and (not parts.fragment or unquote(parts.fragment) in pages[to].anchors)
            if not is_there and not (to.is_file() and not parts.fragment):
                broken.append((str(path.relative_to(site)), link))
    assert len(pages) > 50
    assert not broken


def test_it_needs_no_network(site: Path) -> None:
    """Scripts, styles and pictures are the site's own."""
    for path in site.rglob("*.html"):
        assert not [url for url in Page(path).loaded if urlsplit(url).netloc], path


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_links_to_files_lead_somewhere(page: Path) -> None:
    """Of the repository, as its readers there follow them; the reference is written with the site."""
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
    written = [link for link in links if "reference" not in (page.parent / link).resolve().parts]
    assert [link for link in written if not (page.parent / link).exists()] == []


def test_files_named_in_pages_are_there() -> None:
    """Paths in code, from the root of the repository, on the pages that are written by hand."""
    named = re.compile(r"`((?:docs|examples|fast|oracles|reference|spec|tests|tools)/[\w./-]+?/?)`")
    for page in DOCS.glob("**/*.md"):
        if page.parent.name != "reference":
            missing = [path for path in named.findall(page.read_text()) if not (ROOT / path).exists()]
            assert missing == [], page
