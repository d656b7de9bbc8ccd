"""Aliases of call ids: design/streams.md, 2.6 ("gets a stable alias and is mapped back; a legal one stays")."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.canonical.aliases import alias, original

LEGAL = re.compile("[a-zA-Z0-9_-]{1,64}")


@given(st.text(st.characters(), min_size=1, max_size=12))
def test_an_alias_is_legal_stable_and_reversible(id: str) -> None:
    found = alias(id)
    assert LEGAL.fullmatch(found)
    assert alias(id) == found
    assert original(found) == id


@given(st.lists(st.text(min_size=1, max_size=80), unique=True, min_size=2, max_size=4))
def test_two_ids_never_share_an_alias(ids: list[str]) -> None:
    assert len({alias(id) for id in ids}) == len(ids)


@pytest.mark.parametrize("id", ["get_weather:0", "functions.run:17", "é", " ", "call_dgmx", "a/b+c", "\ud83d"])
def test_ids_of_real_servers(id: str) -> None:
    assert original(alias(id)) == id


def test_a_long_id_gets_a_digest_that_is_not_mapped_back() -> None:
    long = "x:" * 40
    found = alias(long)
    assert LEGAL.fullmatch(found)
    assert found == alias(long) != alias(long + "y")
    assert original(found) == found


@pytest.mark.parametrize(
    "id",
    [
        "",
        "call_1",
        "toolu_01A",
        "call_dgm",  # an alias of nothing
        "call_dgm!",
        "call_dgm" + "A",
        "call_dgm_w",  # no UTF-8
        "call_dgmYQ==",  # not as ``alias`` writes it
        "call_dgmé",
        "call_dghabc",
    ],
)
def test_an_id_that_is_no_alias_stays(id: str) -> None:
    assert original(id) == id
