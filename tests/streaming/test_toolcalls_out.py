"""When a call is announced and ended, and with which id: design/streams.md, 2.5 to 3."""

from __future__ import annotations

import re

import pytest

from dragoman.canonical import aliases
from dragoman.canonical.opaque import Opaque
from dragoman.names import ToolIdentity
from tests.streaming.calling import PARIS, ROME, Bench, Wire, at

# ------------------------------------------------------------------ announcing


def test_nothing_goes_out_before_the_name() -> None:
    """Founding text B: held back, then one named opening and the rest streams."""
    bench = Bench()
    assert bench.feed(at(0, "a"), at(0, arguments='{"city":'), at(0, arguments='"Par')) == []
    assert bench.feed(at(0, name="run")) == ["a:run", '{"city":"Par']
    assert bench.feed(at(0, arguments='is"}')) == ['is"}']
    assert bench.finish() == ["."]


def test_calls_are_announced_in_the_order_of_their_opening() -> None:
    bench = Bench()
    assert bench.feed(at(0, "a", None, PARIS), at(1, "b", "run", ROME)) == []
    assert bench.feed(at(0, name="run")) == ["a:run", PARIS, "b:run", ROME]


def test_a_header_waits_for_its_first_argument_text() -> None:
    """Until then the id may come, and the name may grow (design/streams.md, 2.6)."""
    bench = Bench()
    assert bench.feed(at(0, name="get")) == []
    assert bench.feed(at(0, "a", "get_weather")) == []
    assert bench.feed(at(0, arguments="{")) == []  # may be a placeholder
    assert bench.feed(at(0, arguments='"city"')) == ["a:get_weather", '{"city"']
    assert bench.feed(at(0, "b", "run")) == []  # what was told does not change
    assert bench.feed(at(0, "b")) == []


def test_a_call_that_may_be_an_echo_waits_until_it_differs() -> None:
    bench = Bench()
    bench.feed(at(0, "a", "run", PARIS))
    assert bench.feed(at(1, "a", "run"), at(1, arguments='{"city":')) == []
    assert bench.feed(at(2, "c", "run", ROME)) == []
    opening, text, *rest = bench.feed(at(1, arguments='"Rome"}'))
    assert opening.startswith("call_")
    assert text == ROME
    assert rest == ["c:run", ROME]


@pytest.mark.parametrize(
    ("wire", "dropped", "losses"),
    [
        ([at(0, "a", None, PARIS)], 1, {"a call without a name": 1}),
        ([at(0, "a"), at(1, "b"), at(2, "c", "run")], 2, {"a call without a name": 2}),
        ([at(arguments="{}")], 0, {"arguments without a call": 1}),
        ([at(0, "a", "run", PARIS), at(1, "a", "run", PARIS)], 0, {}),  # an echo is no loss
        ([at()], 0, {}),
    ],
)
def test_what_is_dropped_is_told(wire: list[Wire], dropped: int, losses: dict[str, int]) -> None:
    bench = Bench()
    bench.feed(*wire)
    bench.finish()
    assert (bench.calls.dropped, bench.losses) == (dropped, losses)


# ------------------------------------------------------------------ ids

LEGAL = re.compile("[a-zA-Z0-9_-]+")


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["get_weather:0", "b"], [aliases.alias("get_weather:0"), "b"]),
        (["a", "b"], ["a", "b"]),
        ([aliases.alias("x:0"), "x:0"], [aliases.alias("x:0"), None]),  # unique within the answer
        (["é", "a b"], [aliases.alias("é"), aliases.alias("a b")]),
        (["a", " "], ["a", None]),  # a blank id is none
    ],
)
def test_an_illegal_id_gets_an_alias(ids: list[str], expected: list[str | None]) -> None:
    bench = Bench(legal_id=LEGAL)
    for place, id in enumerate(ids):
        bench.feed(at(place, id, "run", PARIS))
    found = [start.id for start in bench.sink.starts]
    assert [id for id, known in zip(found, expected, strict=True) if known] == [id for id in expected if id]
    assert len(set(found)) == len(found)
    assert all(LEGAL.fullmatch(id) for id in found)
    assert [aliases.original(id) for id, known in zip(found, expected, strict=True) if known] == [
        aliases.original(id) for id, known in zip(ids, expected, strict=True) if known
    ]


def test_any_id_stays_where_the_client_takes_it() -> None:
    bench = Bench()
    assert bench.feed(at(0, "get_weather:0", "run", PARIS))[0] == "get_weather:0:run"


def test_a_late_id_that_another_call_has_is_not_used_twice() -> None:
    bench = Bench()
    bench.feed(at(0, "a", "run", PARIS), at(1, name="run"), at(1, "a"), at(1, arguments=ROME))
    bench.finish()
    first, second = bench.sink.starts
    assert first.id == "a"
    assert second.id not in ("", "a")


# ------------------------------------------------------------------ the upstream's word for an end


def test_an_ended_call_goes_out_at_once() -> None:
    bench = Bench()
    bench.feed(at(0, "a", "run", '{"city":'))
    assert bench.end(at(0, arguments=PARIS)) == ['"Paris"}', "."]  # the snapshot supplies the rest
    assert bench.end(at(0, arguments=PARIS)) == []
    assert bench.finish() == []


def test_a_snapshot_alone_is_a_call() -> None:
    bench = Bench()
    assert bench.end(at(3, "a", "run", PARIS)) == ["a:run", PARIS, "."]


def test_a_call_that_ended_without_arguments_waits_for_what_follows() -> None:
    """Its answer may still turn out to be cut; then it is no call with empty arguments."""
    bench = Bench()
    bench.feed(at(0, "a", "list_tasks"))
    assert bench.end(at(0)) == []
    assert bench.feed(at(1, "b", "run", PARIS)) == ["a:list_tasks", "{}", ".", "b:run", PARIS]
    assert bench.end(at(1)) == ["."]
    bench.feed(at(2, "c", "list_tasks"))
    assert bench.end(at(2)) == []
    bench.calls.settle()
    assert bench.sink.take() == ["c:list_tasks", "{}", "."]
    bench.feed(at(3, "d", "list_tasks"))
    assert bench.end(at(3)) == []
    assert bench.finish(normal=False) == ["d:list_tasks", "?"]


def test_an_index_is_free_again_after_its_call() -> None:
    bench = Bench()
    bench.feed(at(0, "a", "run", PARIS))
    bench.end(at(0))
    assert bench.feed(at(0, "b", "run", ROME)) == ["b:run", ROME]
    assert bench.end(at(0, "c", "read_file", PARIS)) == ["c:read_file", PARIS, "."]


@pytest.mark.parametrize(
    ("late", "lost"),
    [
        ([PARIS], False),
        (['{"ci', 'ty":"Paris"}'], False),  # an echo in pieces
        ([PARIS, "\n", PARIS], False),
        ([ROME], True),
        (["oops"], True),
        ([PARIS, "oops"], True),
        ([""], False),
    ],
)
def test_what_comes_for_a_call_that_is_over(late: list[str], lost: bool) -> None:
    """An echo is dropped; anything else is a loss that is told (design/streams.md, 5)."""
    bench = Bench()
    bench.feed(at(0, "a", "run", PARIS))
    bench.end(at(0))
    bench.sink.take()
    assert bench.feed(*(at(0, arguments=text) for text in late)) == []
    assert bench.finish() == []
    assert ("args-after-end" in bench.notes) is lost
    assert bench.losses == ({"arguments of a call that was over": 1} if lost else {})


def test_every_whole_part_is_a_call_of_its_own() -> None:
    """Gemini: never de-duplicated by content (design/streams.md, 2.5)."""
    bench = Bench()
    for _ in range(2):
        opening, text, end = bench.whole(at(name="run", arguments=PARIS))
        assert opening.startswith("call_")
        assert (text, end) == (PARIS, ".")
    assert bench.whole(at(id="x", name="list_tasks", arguments={})) == ["x:list_tasks", "{}", "."]
    assert bench.whole(at(id="x", name="run", arguments=PARIS))[1:] == [PARIS, "."]
    assert len({start.id for start in bench.sink.starts}) == 4
    assert bench.whole(at(arguments=PARIS)) == []
    assert bench.calls.dropped == 1


# ------------------------------------------------------------------ the end of the answer


@pytest.mark.parametrize(
    ("wire", "normal", "seen", "incomplete"),
    [
        ([at(0, "a", "run")], True, ["a:run", "{}", "."], False),
        ([at(0, "a", "run")], False, ["a:run", "?"], True),  # no call with empty arguments
        ([at(0, "a", "run"), at(1, "b", "run")], False, ["a:run", "{}", ".", "b:run", "?"], True),
        ([at(0, "a", "run", '{"a"')], True, ["a:run", '{"a"', "?"], True),
        ([at(0, "a", "run", '{"a"')], False, ["a:run", '{"a"', "?"], True),
        ([at(0, "a", "run", PARIS)], False, ["a:run", PARIS, "."], False),
        ([at(0, "a", "run", "{'a'")], True, ["a:run", "{'a'", "."], False),
        ([at(0, "a", "run", "{'a'")], False, ["a:run", "{'a'", "?"], True),
        ([at(0, "a", "run", '{"a"'), at(1, "b", "run", PARIS)], True, ["a:run", '{"a"', "b:run", PARIS, "?", "."], True),
    ],
)  # fmt: skip
def test_the_end_ends_all_calls(wire: list[Wire], normal: bool, seen: list[str], incomplete: bool) -> None:
    bench = Bench()
    assert bench.feed(*wire) + bench.finish(normal=normal) == seen
    assert bench.calls.incomplete is incomplete
    assert bench.calls.announced == len(bench.sink.starts)


@pytest.mark.parametrize(
    ("wire", "seen"),
    [
        ([at(0, "a", "run", PARIS)], ["a:run", PARIS, "."]),
        ([at(0, "a", "run", '{"a"')], ["a:run", '{"a"']),  # error-mid-tool-call
        ([at(0, "a", "run", "{}")], ["a:run", "{}", "."]),
        ([at(0, "a", "run")], []),
        ([at(0, "a", None, PARIS)], []),
        ([at(0, "a", "run"), at(1, "b", "run", PARIS)], ["b:run", PARIS, "."]),
    ],
)
def test_a_failure_lets_whole_calls_out_and_ends_no_half(wire: list[Wire], seen: list[str]) -> None:
    bench = Bench()
    found = bench.feed(*wire)
    bench.calls.break_off()
    assert found + bench.sink.take() == seen


def test_open_means_that_arguments_are_under_way() -> None:
    bench = Bench()
    for wire, expected in [
        (at(0, "a", "run"), False),
        (at(0, arguments='{"a":'), True),
        (at(0, arguments="1}"), False),
        (at(1, "b", "run", '{"a":'), True),
        (at(1, arguments='{"a":1}'), False),  # a snapshot, if nothing more comes
        (at(2, "c", "run", "{}"), False),
        (at(3, "d", "run", "{"), True),
    ]:
        bench.feed(wire)
        assert bench.calls.open is expected, wire
    bench.finish()
    assert not bench.calls.open


# ------------------------------------------------------------------ signatures, namespaces, kinds

PROOF, LATER = Opaque("gemini", "signature", "c2ln"), Opaque("gemini", "signature", "bGF0ZQ==")


def test_a_signature_goes_with_its_call() -> None:
    """gemini-thought-signature; gemini-signature-late: after the opening it goes with the end."""
    bench = Bench()
    bench.feed(
        {**at(0, "a", "run"), "signature": PROOF}, at(0, arguments=PARIS), {**at(0), "signature": LATER},
        at(1, "b", "run", ROME), {"signature": PROOF},
    )  # fmt: skip
    bench.finish()
    assert [start.signature for start in bench.sink.starts] == [PROOF, None]
    assert [end.signature for end in bench.sink.ends] == [LATER, PROOF]


def test_the_client_gets_its_own_name_of_a_tool() -> None:
    bench = Bench(
        tools={"fs__read": ToolIdentity("read", namespace="fs"), "patch": ToolIdentity("apply.patch", "custom")}
    )
    bench.feed(at(0, "a", "fs__read", PARIS), at(1, "b", "functions.patch", '{"input":"x\\ny"}'))
    bench.finish()
    first, second = bench.sink.starts
    assert (first.name, first.namespace, first.kind) == ("read", "fs", "function")
    assert (second.name, second.namespace, second.kind) == ("apply.patch", None, "custom")
    assert list(bench.sink.texts.values()) == [PARIS, "x\ny"]


@pytest.mark.parametrize(
    ("client", "kind", "text"),
    [(True, "custom", "a\"b"), (False, "function", '{"input":"a\\"b"}')],
)  # fmt: skip
def test_a_custom_call_where_the_client_has_none(client: bool, kind: str, text: str) -> None:
    bench = Bench(freeform_client=client)
    bench.feed({**at(0, "a", "other", 'a"'), "kind": "custom"}, at(0, arguments="b"))
    bench.finish()
    assert [start.kind for start in bench.sink.starts] == [kind]
    assert list(bench.sink.texts.values()) == [text]
