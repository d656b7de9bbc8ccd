"""Calls of any kind, cut and interleaved in any way: what must hold whatever comes (design/streams.md, 2 and 3)."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.streaming.building import JSON_OBJECTS, cut, written
from tests.streaming.calling import Bench, Wire, at

NAMES = st.sampled_from(("run", "get_weather", "other"))
CALLS = st.lists(st.tuples(NAMES, written(JSON_OBJECTS)), min_size=1, max_size=4)


def sent(bench: Bench) -> list[tuple[str, str, str]]:
    return [(s.id, s.name, text) for s, text in zip(bench.sink.starts, bench.sink.texts.values(), strict=True)]


@given(CALLS, st.sampled_from(("index", "id", "both", "zero and id")), st.data())
def test_calls_with_keys_may_interleave(calls: list[tuple[str, str]], keys: str, data: st.DataObject) -> None:
    # at one index, an equal name is a continuation while the JSON is open
    assume(keys != "zero and id" or len({name for name, _ in calls}) == len(calls))
    queues: list[list[Wire]] = []
    for place, (name, text) in enumerate(calls):
        id = f"call-{place}"
        index = {"index": place, "id": None, "both": place, "zero and id": 0}[keys]
        header = at(index, id, name)
        queues.append(
            [header, *(at(index, None if keys == "index" else id, None, piece) for piece in data.draw(cut(text)))]
        )
    bench, opened = Bench(), 0
    while any(queues):
        ready = [n for n, queue in enumerate(queues) if queue and n <= opened] or [opened + 1]
        n = data.draw(st.sampled_from(ready))
        opened = max(opened, n)
        bench.feed(queues[n].pop(0))
        while opened + 1 < len(queues) and data.draw(st.booleans()):
            opened += 1
            bench.feed(queues[opened].pop(0))
    bench.finish()
    assert sent(bench) == [(f"call-{n}", name, text) for n, (name, text) in enumerate(calls)]


@given(CALLS, st.sampled_from((None, 0, -1)), st.booleans(), st.data())
def test_calls_without_keys_follow_each_other(
    calls: list[tuple[str, str]], index: int | None, ids: bool, data: st.DataObject
) -> None:
    """Founding text A: what has no key belongs to the call that was opened last."""
    bench = Bench()
    for place, (name, text) in enumerate(calls):
        first, *rest = data.draw(cut(text))
        # at one index and without ids, only a name with arguments tells that another call begins
        pieces = rest if index == 0 and not ids else [first, *rest]
        bench.feed(at(index, f"call-{place}" if ids else None, name, first if pieces is rest else None))
        bench.feed(*(at(data.draw(st.sampled_from((index, None))), None, None, piece) for piece in pieces))
    bench.finish()
    assert [found[1:] for found in sent(bench)] == calls
    if ids:
        assert [found[0] for found in sent(bench)] == [f"call-{n}" for n in range(len(calls))]


@given(CALLS, st.data())
def test_names_may_come_at_any_time(calls: list[tuple[str, str]], data: st.DataObject) -> None:
    """Founding text B, with the index as the key."""
    bench = Bench()
    for place, (name, text) in enumerate(calls):
        wire = [at(place, f"call-{place}"), *(at(place, None, None, piece) for piece in data.draw(cut(text)))]
        wire[data.draw(st.integers(0, len(wire) - 1))]["name"] = name
        bench.feed(*wire)
    bench.finish()
    assert sent(bench) == [(f"call-{n}", name, text) for n, (name, text) in enumerate(calls)]


WIRE = st.fixed_dictionaries(
    {
        "index": st.sampled_from((None, None, 0, 1, 2)),
        "id": st.sampled_from((None, None, "a", "b")),
        "name": st.sampled_from((None, None, "run", "get_", "weather", "functions.run", "other")),
        "arguments": st.sampled_from((None, "", "{", "}", "{}", '{"a":', "1", "1}", '{"a":1}', '{"a":1', '"', "x", "null", "\n")),
        "kind": st.sampled_from(("function",) * 5 + ("custom",)),
    }
)  # fmt: skip


@given(
    st.lists(st.tuples(st.sampled_from(("feed",) * 5 + ("end", "whole", "settle")), WIRE), max_size=12),
    st.sampled_from((True, False, None)),
)
def test_any_fragments_make_sound_calls(steps: list[tuple[str, Wire]], normal: bool | None) -> None:
    """Whatever comes: named, with ids that are unique, each opened once, then fed, then ended once."""
    bench = Bench()
    for step, wire in steps:
        if step == "settle":
            bench.calls.settle()
        else:
            getattr(bench, step)(wire)
    if normal is None:
        bench.calls.break_off()
    else:
        bench.finish(normal=normal)
        assert set(bench.sink.state.values()) <= {"ended"}
        assert not bench.calls.open
    ids = [start.id for start in bench.sink.starts]
    assert len(set(ids)) == len(ids) == bench.calls.announced
    assert all(start.name and start.id for start in bench.sink.starts)
