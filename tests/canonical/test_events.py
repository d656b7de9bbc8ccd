"""What cannot be constructed, and what joins: design/streams.md, 1 and 9."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.canonical import events as e


@pytest.mark.parametrize(("id", "name"), [("", "run"), ("a", ""), ("", "")])
def test_a_call_without_name_or_id_cannot_be_built(id: str, name: str) -> None:
    """Founding text B."""
    with pytest.raises(ValueError, match="non-empty id and name"):
        e.ToolCallStart(id=id, name=name)
    start = e.ToolCallStart(id="a", name="run")
    with pytest.raises(ValueError, match="non-empty id and name"):
        msgspec.structs.replace(start, id=id, name=name)


@pytest.mark.parametrize("kind", get_args(e.Event), ids=lambda kind: kind.__name__)
def test_events_are_values(kind: type) -> None:
    """Frozen, and so equal and hashable by what they say."""
    assert issubclass(kind, msgspec.Struct)
    assert kind.__struct_config__.frozen


@pytest.mark.parametrize(
    ("earlier", "later", "merged"),
    [
        (e.Usage(), e.Usage(), e.Usage()),
        (e.Usage(input=1), e.Usage(), e.Usage(input=1)),
        (e.Usage(input=1), e.Usage(input=3), e.Usage(input=3)),  # totals, never sums
        (e.Usage(input=1, cached=1), e.Usage(output=2), e.Usage(input=1, cached=1, output=2)),
        (e.Usage(output=5), e.Usage(output=0), e.Usage(output=0)),
    ],
)
def test_later_counts_replace_earlier_ones(earlier: e.Usage, later: e.Usage, merged: e.Usage) -> None:
    assert earlier.merged(later) == merged


COUNTS = st.none() | st.integers(0, 9)
USAGES = st.builds(e.Usage, input=COUNTS, output=COUNTS, cached=COUNTS, cache_write=COUNTS, reasoning=COUNTS)


@given(USAGES, USAGES, USAGES)
def test_merging_is_associative(one: e.Usage, two: e.Usage, three: e.Usage) -> None:
    assert one.merged(two).merged(three) == one.merged(two.merged(three))
    assert one.merged(one) == one


@pytest.mark.parametrize(
    ("usage", "known"),
    [(e.Usage(), False), (e.Usage(input=0), False), (e.Usage(output=0), False), (e.Usage(input=0, output=0), True)],
)
def test_known_means_that_both_core_counts_are_there(usage: e.Usage, known: bool) -> None:
    """Unknown is unknown, and zero is known."""
    assert usage.known is known
