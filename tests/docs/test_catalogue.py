"""The catalogue of quirks names for each one a recorded answer that brings it out."""

from __future__ import annotations

import pytest

from tests.corpus.crossing import whole_read
from tests.docs import generate
from tests.fixtures import fixtures

ROWS = [
    row
    for section in generate.SECTIONS
    if section.head == generate.QUIRK_COLUMNS
    for row in section.by_hand(section.page.read_text("utf-8")).values()
    if row[0].startswith("`")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0]))
def test_it_is_seen_where_the_page_says(row: generate.Row) -> None:
    slug, place = row[0].strip("`"), row[-1].strip("`")
    dialect, _, name = place.partition("/")
    (fixture,) = (one for one in fixtures(dialect) if one.slug == name)
    client = dialect if fixture.fits(dialect) else "chat"
    assert slug in whole_read(fixture, client).exchange.quirks
