"""Links of the documentation lead to files and headings; pages name no private source."""

import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.docs.pages import ROOT, pages

PAGES = [*pages(), ROOT / "ARCHITECTURE.md", ROOT / "docs" / "operations.md"]
PRIVATE = re.compile(r"api-semantics|\.\./shared")
"""What only a checkout with the folder `shared` has; CONTRIBUTING.md explains it."""
INTERNAL = ("ARCHITECTURE", "CONTRIBUTING")


def links(page: Path) -> Iterator[str]:
    """Targets of the links and pictures of a page."""
    for token in MarkdownIt().enable("table").parse(page.read_text()):
        for child in token.children or ():
            target = child.attrs.get("href") or child.attrs.get("src")
            if target:
                yield str(target)


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page."""
    tokens = MarkdownIt().parse(page.read_text())
    titles = [b.content for a, b in itertools.pairwise(tokens) if a.type == "heading_open"]
    words = [re.sub(r"[^\w\- ]", "", title.lower()) for title in titles]
    return {title.replace(" ", "-") for title in words}


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links(page: Path) -> None:
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target), link


def test_links_are_found() -> None:
    assert sum(len(list(links(page))) for page in PAGES) > 200


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in INTERNAL], ids=named)
def test_pages_for_users_name_public_sources(page: Path) -> None:
    assert not PRIVATE.search(page.read_text())


def test_readme_fits_on_one_screen() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 90
