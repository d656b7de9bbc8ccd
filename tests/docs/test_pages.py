"""Links lead somewhere, what is generated is up to date, and nothing in the pages belongs to one machine."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dragoman.gateway.discovery import WELL_KNOWN
from tests.docs import generate
from tests.docs.pages import PAGES, ROOT, anchors, links, name_of

HOSTS = {
    *(urlsplit(url).hostname for _, _, url in WELL_KNOWN.values()),
    *("127.0.0.1", "localhost", "llm.example"),
}
"""Where addresses in the pages may point: the APIs that are known by name, this machine, and nobody."""

pages = pytest.mark.parametrize("page", PAGES, ids=name_of)


@pages
def test_links(page: Path) -> None:
    for target in links(page):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert file.is_relative_to(ROOT), target
        if anchor:
            assert anchor in anchors(file), target


@pages
def test_every_page_is_linked(page: Path) -> None:
    """From the README, in one or more steps."""
    reached, new = set[Path](), {ROOT / "README.md"}
    while new:
        reached |= new
        new = {
            (one.parent / target.partition("#")[0]).resolve()
            for one in new
            for target in links(one)
            if target.partition("#")[0].endswith(".md")
        } - reached
    assert page in reached


@pages
def test_addresses(page: Path) -> None:
    for url in re.findall(r"https?://[^\s`'\"<>)\]},]+", page.read_text("utf-8")):
        assert urlsplit(url).hostname in HOSTS, url


@pages
def test_nothing_of_one_machine(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not re.search(r"(?<![\w.$])/(?:work|tmp|root|home|Users)/", text)
    assert not re.search(r"\bsub-?agents?\b|\bhelper agents?\b", text, re.IGNORECASE)


@pytest.mark.parametrize("section", generate.SECTIONS, ids=lambda section: section.name)
def test_generated(section: generate.Section) -> None:
    """``python -m tests.docs.generate`` writes them anew."""
    page = section.page.read_text("utf-8")
    assert section.put_into(page) == page


@pytest.mark.parametrize("section", generate.SECTIONS, ids=lambda section: section.name)
def test_no_row_waits_for_its_words(section: generate.Section) -> None:
    """What the code does not know of a new key, fact or quirk has to be written by hand."""
    written = section.by_hand(section.page.read_text("utf-8"))
    for row in section.rows():
        assert all(written[row[0]][len(row) :]), row[0]
