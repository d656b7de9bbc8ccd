"""Made ids: design/streams.md, 2.6 ("missing ids are minted, unique within the answer")."""

from __future__ import annotations

import re

import pytest

from dragoman.streaming.ids import Ids


def test_the_same_seed_gives_the_same_ids() -> None:
    one, other = Ids("seed"), Ids(b"seed")
    first = [one("call_"), one("msg_"), one("call_")]
    assert [other("call_"), other("msg_"), other("call_")] == first
    assert len(set(first)) == 3


@pytest.mark.parametrize("seed", ["", "seed ", "seed:1", b"\xff", "\ud83d", "é"])
def test_another_seed_gives_others(seed: str | bytes) -> None:
    known = {made for ids in [Ids("seed")] for made in (ids("call_"), ids("call_"))}
    ids = Ids(seed)
    assert not known & {ids("call_"), ids("call_")}


def test_ids_are_unique_and_legal_everywhere() -> None:
    ids = Ids("seed")
    made = [ids("call_") for _ in range(1000)]
    assert len(set(made)) == 1000
    assert all(re.fullmatch("call_[0-9a-f]{24}", id) for id in made)
