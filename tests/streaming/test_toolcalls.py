"""Which call a fragment belongs to, and what the call is: design/streams.md, 2 and 3.

``A`` and ``B`` are the two founding texts: a bare continuation belongs to the call that was opened last,
and a call is held back until its name comes; a call never named is dropped. Rows named after a case
are in ``cases/streams/chat``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from dragoman.canonical import events as e
from tests.streaming.building import CallRecord, assembler, awkward, calls_of, fragments, legal
from tests.streaming.calling import PARIS, ROME, Wire, at


class Row(NamedTuple):
    wire: list[Wire]
    calls: list[tuple[str | None, str, str]]
    """Id (``None``: a minted one), name and arguments."""
    slug: str | None = None
    cut: bool = True
    """The arguments may be cut into further fragments that repeat the keys, but not the name."""


ROWS: dict[str, Row] = {
    # ---- A: fragments without a key
    "cont-bare": Row(
        [at(0, "a", "run", ""), at(arguments='{"a"'), at(arguments=":1}")], [("a", "run", '{"a":1}')], "continuation-bare"
    ),
    "cont-bare-two-sequential": Row(
        [at(0, "a", "run"), at(arguments=PARIS), at(1, "b", "run"), at(arguments=ROME)],
        [("a", "run", PARIS), ("b", "run", ROME)],
        "continuation-bare",
    ),
    "cont-no-index-after-explicit-index": Row(
        [at(0, "a", "run"), at(0, arguments='{"city":'), at(1, "b", "run", '{"city":"R'), at(arguments='ome"}'), at(0, arguments='"Paris"}')],
        [("a", "run", PARIS), ("b", "run", ROME)],
    ),
    "cont-orphan-dropped": Row([at(arguments='{"lost"'), at(arguments=":1}")], [], "continuation-orphan"),
    "orphan, then a call": Row([at(arguments="{"), at(0, "a", "run", PARIS)], [("a", "run", PARIS)], "continuation-orphan"),
    "no keys at all": Row([at(name="run"), at(arguments=PARIS), at(name="run"), at(arguments=ROME)], [(None, "run", PARIS), (None, "run", ROME)]),
    "a header is no continuation": Row(  # name-late-two-calls-no-index
        [at(id="a"), at(id="a", arguments=PARIS), at(id="b"), at(arguments=ROME), at(id="a", name="run"), at(id="b", name="list_tasks")],
        [("a", "run", PARIS), ("b", "list_tasks", ROME)],
        "name-late",
    ),
    "index-drift-on-last-fragment": Row(
        [at(0, "a", "run", '{"city":'), at(1, arguments='"Paris"}')], [("a", "run", PARIS)], "index-drift"
    ),
    "drift with a rotated index each time": Row(
        [at(0, "a", "run", "{"), at(1, arguments='"city":'), at(2, arguments='"Paris"}')], [("a", "run", PARIS)], "index-drift"
    ),
    "anon-entry-opens-after-complete-call": Row(
        [at(0, "a", "run", PARIS), at(1, arguments='{"city":'), at(1, "b", "run", '"Rome"}')],
        [("a", "run", PARIS), ("b", "run", ROME)],
        cut=False,
    ),
    "anonymous, identity never comes": Row([at(0, "a", "run", PARIS), at(1, arguments=ROME)], [("a", "run", PARIS)], "name-never"),
    # ---- exact keys
    "args-interleaved": Row(
        [at(0, "a", "run", '{"city":'), at(1, "b", "run", '{"city":'), at(0, arguments='"Paris"}'), at(1, arguments='"Rome"}')],
        [("a", "run", PARIS), ("b", "run", ROME)],
    ),
    "three interleaved, the first waits": Row(
        [at(n, str(n), "run", "{") for n in range(3)] + [at(n, arguments=f'"n":{n}}}') for n in (2, 1, 0)],
        [("0", "run", '{"n":0}'), ("1", "run", '{"n":1}'), ("2", "run", '{"n":2}')],
    ),
    "index-missing-id-on-every-fragment": Row(
        [at(id="a", name="run", arguments='{"city":'), at(id="b", name="run", arguments='{"city":'), at(id="a", arguments='"Paris"}'), at(id="b", arguments='"Rome"}')],
        [("a", "run", PARIS), ("b", "run", ROME)],
    ),
    "index-string, index-float": Row([at("0", "a", "run"), at(0.0, arguments=PARIS), at("1", "b", "run"), at(1, arguments=ROME)], [("a", "run", PARIS), ("b", "run", ROME)]),
    "index-negative": Row([at(-1, "a", "run"), at(-1, arguments=PARIS), at(-1, "b", "run"), at(-1, arguments=ROME)], [("a", "run", PARIS), ("b", "run", ROME)]),
    "index-starts-at-one, with gaps": Row([at(5, "a", "run"), at(9, "b", "run"), at(5, arguments=PARIS), at(9, arguments=ROME)], [("a", "run", PARIS), ("b", "run", ROME)]),
    "an index that only the header has": Row([at(3, "a", "run"), at(id="a", arguments=PARIS)], [("a", "run", PARIS)]),
    "a known id at an unknown index": Row(
        [at(0, "a", "run"), at(1, "b", "run"), at(7, "a", arguments=PARIS), at(8, "b", arguments=ROME)], [("a", "run", PARIS), ("b", "run", ROME)]
    ),
    "dup-index-in-one-chunk": Row([at(0, "a", "run", ""), at(0, arguments='{"city":'), at(0, arguments='"Paris"}')], [("a", "run", PARIS)]),
    "phantom-entry": Row([at(0, "a", "run", PARIS), at(id="", name=""), at(), at(arguments="")], [("a", "run", PARIS)]),
    # ---- one index for all
    "index-zero-id-on-every-delta": Row(
        [at(0, "a", "run"), at(0, "a", arguments=PARIS), at(0, "b", "run"), at(0, "b", arguments=ROME)],
        [("a", "run", PARIS), ("b", "run", ROME)],
        "index-reused",
    ),
    "index-zero-interleaved-with-ids": Row(
        [at(0, "a", "run", '{"city":'), at(0, "b", "list_tasks", '{"city":'), at(0, "a", arguments='"Paris"}'), at(0, "b", arguments='"Rome"}')],
        [("a", "run", PARIS), ("b", "list_tasks", ROME)],
    ),
    "index-zero-fragmented-empty-ids": Row(
        [at(0, "a", "run", ""), at(0, "", arguments=PARIS), at(0, "b", "read_file", ""), at(0, "", "", arguments=ROME)],
        [("a", "run", PARIS), ("b", "read_file", ROME)],
    ),
    "index-zero-fragmented-no-ids": Row(
        [at(0, name="run"), at(0, arguments=PARIS), at(0, name="read_file"), at(0, arguments=ROME)], [(None, "run", PARIS), (None, "read_file", ROME)]
    ),
    "index-zero-no-ids-whole-calls": Row(
        [at(0, name="run", arguments=PARIS), at(0, name="run", arguments=ROME), at(0, name="run", arguments=PARIS)],
        [(None, "run", PARIS), (None, "run", ROME), (None, "run", PARIS)],
    ),
    "index-zero-same-tool-distinct-ids": Row(
        [at(0, "a", "run", PARIS), at(0, "b", "run", ROME), at(0, "c", "run", PARIS)], [("a", "run", PARIS), ("b", "run", ROME), ("c", "run", PARIS)]
    ),
    "index-zero-same-id-different-name": Row(
        [at(0, "a", "run", PARIS), at(0, "a", "read_file", ROME)], [("a", "run", PARIS), (None, "read_file", ROME)], "id-duplicate"
    ),
    "same id, whole, other arguments": Row([at(0, "a", "run", PARIS), at(0, "a", "run", ROME)], [("a", "run", PARIS), (None, "run", ROME)], "id-duplicate", cut=False),
    "a new call while the name grew apart": Row(  # neither has arguments, both are declared
        [at(0, name="run"), at(0, name="read_file"), at(0, arguments=ROME)], [(None, "run", "{}"), (None, "read_file", ROME)]
    ),
    # ---- ids
    "id-churn-name-first-only": Row(
        [at(0, "a", "run", "{"), at(0, "b", arguments='"city":'), at(0, "c", arguments='"Paris"}')], [("a", "run", PARIS)], "id-rotated"
    ),
    "id-churn-name-repeated": Row(
        [at(0, "a", "run", '{"city":'), at(0, "b", "run", '"Par'), at(0, "c", "run", 'is"}')], [("a", "run", PARIS)], "id-rotated"
    ),
    "id-after-name": Row([at(0, name="run", arguments=""), at(0, "a"), at(0, arguments=PARIS)], [("a", "run", PARIS)], "id-late"),
    "id with the first arguments": Row([at(0, name="run"), at(0, "a", arguments=PARIS)], [("a", "run", PARIS)], "id-late"),
    "id too late": Row([at(0, name="run", arguments='{"city":'), at(0, "a", arguments='"Paris"}')], [(None, "run", PARIS)]),
    "a late id is a key": Row([at(0, name="run"), at(0, "a"), at(1, "b", "run"), at(id="a", arguments=PARIS), at(id="b", arguments=ROME)], [("a", "run", PARIS), ("b", "run", ROME)]),
    "id-never": Row([at(0, name="run"), at(0, arguments=PARIS)], [(None, "run", PARIS)], "id-missing"),
    "id-missing-on-second-call": Row([at(0, "a", "run", PARIS), at(1, name="run", arguments=ROME)], [("a", "run", PARIS), (None, "run", ROME)]),
    "id-duplicate-parallel": Row(
        [at(0, "a", "run"), at(0, arguments=PARIS), at(1, "a", "run"), at(1, arguments=ROME)], [("a", "run", PARIS), (None, "run", ROME)], "id-duplicate"
    ),
    "numeric ids": Row([at(0, 17, "run", PARIS), at(1, 18, "run", ROME)], [("17", "run", PARIS), ("18", "run", ROME)]),
    # ---- repeats and echoes
    "id-repeated-every-delta": Row([at(0, "a", "run", '{"city":'), at(0, "a", "run", '"Paris"}')], [("a", "run", PARIS)]),
    "header-twice": Row([at(0, "a", "run", ""), at(0, "a", "run", ""), at(0, arguments=PARIS)], [("a", "run", PARIS)]),
    "header after the arguments": Row([at(0, "a", "run", PARIS), at(0, "a", "run")], [("a", "run", PARIS)]),
    "name-repeated-every-delta": Row(
        [at(0, name="run", arguments='{"city":'), at(0, name="run", arguments='"Paris"}'), at(0, name="run", arguments="\n"), at(0, name="run", arguments="")],
        [(None, "run", PARIS)],
    ),
    "args-full-sent-twice": Row([at(0, "a", "run", PARIS), at(0, "a", "run", PARIS)], [("a", "run", PARIS)], "args-echo"),
    "args-streamed-then-full": Row([at(0, "a", "run"), at(0, arguments=PARIS), at(0, arguments=PARIS)], [("a", "run", PARIS)], "args-echo"),
    "call-repeated-at-new-index": Row([at(0, "a", "run", PARIS), at(1, "a", "run", PARIS)], [("a", "run", PARIS)], "call-echo"),
    "call repeated in pieces": Row(
        [at(0, "a", "run", PARIS), at(1, "a", "run", ""), at(1, arguments='{"city":'), at(1, arguments='"Paris"}')], [("a", "run", PARIS)], "call-echo"
    ),
    "begins like an echo": Row([at(0, "a", "run", PARIS), at(1, "a", "run", '{"city":'), at(1, arguments='"Rome"}')], [("a", "run", PARIS), (None, "run", ROME)]),
    "two calls repeated": Row(
        [at(0, "a", "run", PARIS), at(1, "b", "run", ROME), at(2, "a", "run", PARIS), at(3, "b", "run", ROME)], [("a", "run", PARIS), ("b", "run", ROME)], "call-echo"
    ),
    "all-calls-snapshot-array": Row(
        [at(0, "a", "run", PARIS), at(1, "b", "run", '{"city":'), at(0, "a", "run", PARIS), at(1, "b", "run", ROME)],
        [("a", "run", PARIS), ("b", "run", ROME)],
        cut=False,
    ),
    "control-two-identical-calls": Row([at(0, "a", "run", PARIS), at(1, "b", "run", PARIS)], [("a", "run", PARIS), ("b", "run", PARIS)]),
    "two identical calls without ids": Row([at(0, name="run", arguments=PARIS), at(1, name="run", arguments=PARIS)], [(None, "run", PARIS), (None, "run", PARIS)]),
    # ---- B: names
    "name-late": Row([at(0, "a"), at(0, arguments='{"city":'), at(0, name="run", arguments='"Paris"}')], [("a", "run", PARIS)], "name-late"),
    "name-late, last": Row([at(0, "a", None, PARIS), at(0, name="run")], [("a", "run", PARIS)], "name-late"),
    "name-empty-first": Row([at(0, "a", "", ""), at(0, "", "run", ""), at(0, "", "", PARIS)], [("a", "run", PARIS)]),
    "name-late-header-at-new-index": Row(
        [at(0, "a", "run", PARIS), at(1, "b"), at(1, arguments=ROME), at(1, name="list_tasks")], [("a", "run", PARIS), ("b", "list_tasks", ROME)]
    ),
    "name without a key while a call waits": Row([at(0, "a"), at(name="run"), at(0, arguments=PARIS)], [("a", "run", PARIS)]),
    "name-never": Row([at(0, "a", None, PARIS)], [], "name-never"),
    "name-never-with-sibling": Row([at(0, "a", "", PARIS), at(1, "b", "run", ROME)], [("b", "run", ROME)], "name-never"),
    "a blank name is none": Row([at(0, "a", " \n", PARIS)], [], "name-never"),
    "name-null-on-continuation": Row([at(0, "a", "run", "{"), at(0, None, None, '"city":'), at(0, "", "", '"Paris"}')], [("a", "run", PARIS)]),
    "args-missing-first, args-null-first": Row([at(0, "a", "run"), at(0, arguments=None), at(0, arguments=PARIS)], [("a", "run", PARIS)]),
    # ---- arguments that are no fragments
    "args-empty-zero-arg": Row([at(0, "a", "list_tasks", "")], [("a", "list_tasks", "{}")]),
    "args-null-with-sibling": Row([at(0, "a", "run", None), at(1, "b", "run", ROME)], [("a", "run", "{}"), ("b", "run", ROME)]),
    "args-object": Row([at(0, "a", "run", {"city": "Paris"})], [("a", "run", PARIS)]),
    "args-object-empty": Row([at(0, "a", "run", {}), at(1, "b", "run", {})], [("a", "run", "{}"), ("b", "run", "{}")]),
    "args-empty-object-prefix": Row([at(0, "a", "run", "{}"), at(0, arguments=PARIS)], [("a", "run", PARIS)]),
    "args-several-calls-one-chunk": Row([at(n, str(n), "run", PARIS) for n in range(4)], [(str(n), "run", PARIS) for n in range(4)]),
}  # fmt: skip


def answered(wire: list[Wire], **context: Any) -> tuple[list[CallRecord], dict[str, int]]:
    """The calls of an answer that ends normally, and its quirks."""
    answer = assembler(**context)
    for fragment in fragments(*wire):
        answer.call(fragment)
    answer.text("end")  # an answer of nothing is another matter
    answer.finish(e.FinishReason.TOOL_CALLS)
    answer.terminate()
    return calls_of(legal(answer.take())), answer.quirks


def matches(calls: list[CallRecord], expected: list[tuple[str | None, str, str]]) -> None:
    found = [(call.name, call.arguments.strip(), call.complete) for call in calls]
    assert found == [(name, arguments, True) for _, name, arguments in expected]
    minted = [id is None for id, _, _ in expected]
    assert [call.id.startswith("call_") for call in calls] == minted
    assert [call.id for call, (id, _, _) in zip(calls, expected, strict=True) if id] == [
        id for id, _, _ in expected if id
    ]
    assert len({call.id for call in calls}) == len(calls)


@pytest.mark.parametrize("row", ROWS)
def test_calls(row: str) -> None:
    wire, expected, slug, _ = ROWS[row]
    calls, quirks = answered(wire)
    matches(calls, expected)
    assert slug is None or slug in quirks, quirks


@pytest.mark.parametrize("row", [name for name, row in ROWS.items() if row.cut])
def test_calls_whose_arguments_are_cut_further(row: str) -> None:
    wire, expected, _, _ = ROWS[row]
    for number, fragment in enumerate(wire):
        text = fragment["arguments"]
        for parts in awkward(text) if isinstance(text, str) and text else ():
            pieces = [{**fragment, "arguments": parts[0]}]
            pieces += [{**fragment, "name": None, "arguments": part} for part in parts[1:]]
            matches(answered([*wire[:number], *pieces, *wire[number + 1 :]])[0], expected)


@pytest.mark.parametrize("row", ROWS)
def test_text_and_noise_between_fragments_change_nothing(row: str) -> None:
    """Text between argument fragments does not split a call (design/streams.md, 5)."""
    wire, expected, _, _ = ROWS[row]
    answer = assembler()
    for fragment in fragments(*wire):
        answer.text("-")
        answer.call(fragment)
        answer.call(fragments({"id": "", "name": None, "arguments": ""})[0])
        answer.reasoning("+")
    answer.finish(e.FinishReason.STOP)
    answer.close()
    matches(calls_of(legal(answer.take())), expected)


@pytest.mark.parametrize(
    ("pieces", "name"),
    [
        (["run"], "run"),
        (["run", "run"], "run"),  # equal: a repeat
        (["get", "get_weather"], "get_weather"),  # name-cumulative: an extension replaces
        (["get_", "weather"], "get_weather"),  # name-fragmented
        (["get_", "wea", "ther"], "get_weather"),
        (["run\n"], "run"),  # name-trailing-newline
        ([" run ", "run\n"], "run"),
        (["functions.run"], "run"),  # name-functions-prefix
        (["functions.run", "run"], "run"),
        (["run<|channel|>commentary"], "run"),  # name-harmony-suffix
        (["functions.run<|channel|>"], "run"),
        (["functions.", "run"], "run"),
        (["default_api:run"], "run"),
        (["default_api.run", "run"], "run"),
        (["default_api:other"], "default_api:other"),
        # only if the result is declared and the whole is not
        (["functions.other"], "functions.other"),
        (["other<|channel|>x"], "other<|channel|>x"),
        (["functions.run:0"], "run"),  # a number that belongs to the call's id
        (["run:12"], "run"),
        (["other:0"], "other:0"),
        (["other"], "other"),
        (["mcp__files__read-all"], "mcp__files__read-all"),
        (["runner"], "runner"),
    ],
)
def test_names(pieces: list[str], name: str) -> None:
    calls, _ = answered([at(0, "a", piece) for piece in pieces] + [at(0, arguments=PARIS)])
    assert [call.name for call in calls] == [name]


def test_a_declared_name_is_never_repaired() -> None:
    tools = {name: assembler().context.tools["run"] for name in ("functions.run", "run")}  # type: ignore[index]
    answer = assembler(tools=tools)
    answer.whole_call(fragments(at(0, "a", "functions.run", PARIS))[0])
    assert "name-repaired" not in answer.quirks
    assert answered([at(0, "a", "functions.run", PARIS)], tools=None)[0][0].name == "functions.run"
