"""The decoder: every oddity of a messages upstream, and what the canonical stream makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.messages.check import check

from .driving import (
    OVER,
    Upstream,
    answer,
    arguments,
    begin,
    delta,
    encode,
    end_of,
    ending,
    error_of,
    of,
    said,
    start,
    stop,
    thought,
    tool,
)

PARIS = '{"city": "Paris"}'


# ---- the envelope


def test_a_plain_answer() -> None:
    events = answer(begin(0, "text", text=""), delta(0, "text_delta", text="Hi."), stop(0), ending("end_turn"), OVER)
    assert events == [
        e.ResponseStart(id="msg_1", model="claude-x", origin="messages"),
        e.TextStart(),
        e.TextDelta("Hi."),
        e.TextEnd(),
        e.UsageUpdate(e.Usage(input=25, output=15), None, "messages"),
        e.ResponseEnd(finish=e.FinishReason.STOP, raw="end_turn", origin="messages"),
    ]


def test_members_of_the_envelope_that_only_this_dialect_knows() -> None:
    upstream = Upstream().say(
        start(container={"id": "c"}, unheard_of=1), begin(0, "text", text="x"), ending("end_turn")
    )
    assert of(upstream.end(), e.ResponseStart)[0].native == {"container": {"id": "c"}}


def test_event_names_may_be_missing() -> None:
    upstream = Upstream().say(start(), begin(0, "text", text="Hi"), stop(0), ending("end_turn"), OVER, name="")
    assert said(upstream.end()) == "Hi"
    assert upstream.assembler.quirks == {"event-name-missing": 1}


def test_the_event_name_stands_in_for_a_missing_type() -> None:
    upstream = Upstream().say(start(), begin(0, "text", text=""))
    upstream.say({"index": 0, "delta": {"text": "Hi"}}, name="content_block_delta").say(ending("end_turn"))
    assert said(upstream.end()) == "Hi"


def test_unknown_events_blocks_and_deltas_are_losses_and_shift_nothing() -> None:
    upstream = Upstream().say(
        start(),
        {"type": "future_event"},
        begin(0, "future_block", payload=1),
        delta(0, "future_delta", v="?"),
        stop(0),
        begin(1, "text", text=""),
        delta(1, "text_delta", text="Fine."),
        stop(1),
        ending("end_turn"),
    )
    assert said(upstream.end()) == "Fine."
    assert set(upstream.assembler.losses) == {"event future_event", "content block future_block", "delta future_delta"}


def test_a_done_marker_ends_the_answer() -> None:
    events = Upstream().say(start(), begin(0, "text", text="Hi"), b"[DONE]").end()
    assert end_of(events).finish is e.FinishReason.STOP


@pytest.mark.parametrize("value", [None, 1, "text", [], [None], {"type": None}, {"type": ["x"]}])
def test_events_of_any_json_are_survived(value: Any) -> None:
    events = Upstream().say(start(), value, begin(0, "text", text="Hi"), ending("end_turn")).end()
    assert said(events) == "Hi"


@pytest.mark.parametrize("member", [None, 1, "x", [], {"type": 5}, {"type": None, "text": 3}])
@pytest.mark.parametrize(
    "event", ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"]
)
def test_members_of_any_json_are_survived(event: str, member: Any) -> None:
    odd = {"type": event, "message": member, "content_block": member, "delta": member, "index": member, "usage": member}
    events = Upstream().say(start(), odd, begin(7, "text", text="Hi"), stop(7), ending("end_turn")).end()
    assert said(events) == "Hi"
    assert end_of(events).finish is e.FinishReason.STOP


# ---- text and reasoning


def test_text_in_the_start_of_a_block_counts() -> None:
    assert said(answer(begin(0, "text", text="Hel"), delta(0, "text_delta", text="lo"), ending("end_turn"))) == "Hello"


def test_text_blocks_stay_distinct() -> None:
    events = answer(begin(0, "text", text="a"), stop(0), begin(1, "text", text="b"), stop(1), ending("end_turn"))
    assert len(of(events, e.TextStart)) == 2


def test_a_delta_without_a_start_opens_its_block() -> None:
    assert said(answer(delta(3, "text_delta", text="Hi"), ending("end_turn"))) == "Hi"


def test_thinking_with_its_signature() -> None:
    events = answer(
        begin(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="Hm."),
        delta(0, "signature_delta", signature="U0lH"),
        stop(0),
        begin(1, "text", text="Hi"),
        ending("end_turn"),
    )
    assert thought(events) == "Hm."
    assert of(events, e.ReasoningEnd) == [e.ReasoningEnd((Opaque("messages", "signature", "U0lH"),))]


def test_a_signature_without_text_is_kept() -> None:
    events = answer(
        begin(0, "thinking", thinking="", signature="U0lH"), stop(0), tool(1, "t", "run"), stop(1), ending("tool_use")
    )
    assert of(events, e.ReasoningEnd) == [e.ReasoningEnd((Opaque("messages", "signature", "U0lH"),))]
    assert len(of(events, e.ToolCallStart)) == 1


def test_of_several_signatures_the_last_one_counts() -> None:
    signatures = [delta(0, "signature_delta", signature=text) for text in ("old", "new")]
    events = answer(begin(0, "thinking", thinking="a"), *signatures, begin(1, "text", text="b"), ending("end_turn"))
    assert of(events, e.ReasoningEnd)[0].opaque == (Opaque("messages", "signature", "new"),)


def test_redacted_thinking_is_a_block_of_its_own() -> None:
    events = answer(
        begin(0, "thinking", thinking="a"),
        begin(1, "redacted_thinking", data="UkVE"),
        stop(1),
        begin(2, "text", text="b"),
        ending("end_turn"),
    )
    assert [end.opaque for end in of(events, e.ReasoningEnd)] == [(), (Opaque("messages", "redacted", "UkVE"),)]


def test_citations_of_a_start_and_of_deltas() -> None:
    found = {
        "type": "web_search_result_location",
        "url": "https://a.example",
        "title": "A",
        "cited_text": "q",
        "encrypted_index": "E",
    }
    page = {"type": "page_location", "document_title": "Doc", "cited_text": "p", "document_index": 0}
    events = answer(
        begin(0, "text", text="", citations=[found]),
        delta(0, "citations_delta", citation=page),
        delta(0, "text_delta", text="Hi"),
        ending("end_turn"),
    )
    first, second = (event.citation for event in of(events, e.CitationAdded))
    assert (first.url, first.title, first.quote, first.native) == ("https://a.example", "A", "q", found)
    assert (second.url, second.title, second.origin) == (None, "Doc", "messages")


# ---- client calls


def test_arguments_stream() -> None:
    pieces = [delta(0, "input_json_delta", partial_json=piece) for piece in ('{"city"', ': "Paris"}')]
    events = answer(tool(0, "toolu_a", "get_weather"), *pieces, stop(0), ending("tool_use"), OVER)
    assert of(events, e.ToolCallStart) == [e.ToolCallStart(id="toolu_a", name="get_weather")]
    assert arguments(events) == [PARIS]
    assert of(events, e.ToolCallEnd) == [e.ToolCallEnd(complete=True)]
    assert end_of(events).raw == "tool_use"


@pytest.mark.parametrize("streamed", [(), ('{"city":', ' "Paris"}')])
def test_input_in_the_start_is_used_where_no_delta_comes(streamed: tuple[str, ...]) -> None:
    pieces = [delta(0, "input_json_delta", partial_json=piece) for piece in streamed]
    events = answer(tool(0, "a", "get_weather", input={"city": "Paris"}), *pieces, stop(0), ending("tool_use"))
    assert [text.replace(" ", "") for text in arguments(events)] == ['{"city":"Paris"}']


@pytest.mark.parametrize("pieces", [[], [""]])
def test_a_call_without_arguments(pieces: list[str]) -> None:
    deltas = [delta(0, "input_json_delta", partial_json=piece) for piece in pieces]
    events = answer(tool(0, "a", "list"), *deltas, stop(0), ending("tool_use"))
    assert arguments(events) == ["{}"]
    assert of(events, e.ToolCallEnd) == [e.ToolCallEnd(complete=True)]


def test_a_stop_of_the_block_does_not_make_arguments_whole() -> None:
    piece = delta(0, "input_json_delta", partial_json='{"city": "Par')
    events = answer(tool(0, "a", "get_weather"), piece, stop(0), ending("max_tokens"))
    assert arguments(events) == ['{"city": "Par']
    assert of(events, e.ToolCallEnd) == [e.ToolCallEnd(complete=False)]
    assert end_of(events).finish is e.FinishReason.LENGTH


def test_a_missing_stop_of_the_block() -> None:
    events = answer(tool(0, "a", "get_weather"), delta(0, "input_json_delta", partial_json=PARIS), ending("tool_use"))
    assert arguments(events) == [PARIS]
    assert end_of(events).finish is e.FinishReason.TOOL_CALLS


def test_a_cut_stream_does_not_end_its_call() -> None:
    events = answer(tool(0, "a", "get_weather"), delta(0, "input_json_delta", partial_json='{"city": '))
    assert of(events, e.ToolCallEnd) == []
    assert error_of(events).error.kind is ErrorKind.BAD_UPSTREAM


def test_text_on_a_tool_block_is_text() -> None:
    upstream = Upstream().say(
        start(),
        tool(0, "a", "get_weather"),
        delta(0, "input_json_delta", partial_json=PARIS),
        delta(0, "text_delta", text="\n"),
        stop(0),
        tool(1, "b", "get_weather"),
        delta(1, "input_json_delta", partial_json=PARIS),
        stop(1),
        ending("tool_use"),
    )
    events = upstream.end()
    assert said(events) == "\n"
    assert arguments(events) == [PARIS, PARIS]
    assert upstream.assembler.quirks["delta-type-mismatch"] == 1


def test_a_piece_of_input_on_a_text_block_goes_to_the_open_call() -> None:
    events = answer(
        tool(0, "a", "get_weather"),
        delta(0, "input_json_delta", partial_json='{"city":'),
        begin(1, "text", text=""),
        delta(1, "input_json_delta", partial_json='"Paris"}'),
        ending("tool_use"),
    )
    assert arguments(events) == ['{"city":"Paris"}']


@pytest.mark.parametrize("indexes", [(0, 5), (1, 2), (0, 0), ("0", "1"), (0.0, 1.0), (None, None)])
def test_indexes_of_any_sort(indexes: tuple[Any, Any]) -> None:
    events: list[Any] = []
    for index, id, city in zip(indexes, "ab", ("Paris", "Oslo"), strict=True):
        piece = delta(index, "input_json_delta", partial_json=f'{{"city": "{city}"}}')
        events += [tool(index, id, "get_weather"), piece, stop(index)]
    assert arguments(answer(*events, ending("tool_use"))) == [PARIS, '{"city": "Oslo"}']


def test_a_header_that_is_repeated_opens_no_second_call() -> None:
    header = tool(0, "a", "get_weather")
    events = answer(header, header, delta(0, "input_json_delta", partial_json=PARIS), stop(0), ending("tool_use"))
    assert arguments(events) == [PARIS]


def test_an_id_that_the_client_refuses_gets_an_alias() -> None:
    upstream = Upstream(legal_id="[a-zA-Z0-9_-]+").say(
        start(), tool(0, "get_weather:0", "get_weather"), stop(0), ending("tool_use")
    )
    assert of(upstream.end(), e.ToolCallStart)[0].id.startswith("call_dgm")


@pytest.mark.parametrize(
    ("members", "native"),
    [
        ({"caller": {"type": "code_execution_20260120", "tool_id": "s"}, "toolset_name": "t"}, ...),
        ({"caller": {"type": "direct"}}, ...),
        ({"caller": "me", "toolset_name": 5}, None),
        ({"caller": {}, "toolset_name": ""}, None),
        ({}, None),
    ],
)
def test_who_made_a_call_is_native(members: dict[str, Any], native: Any) -> None:
    upstream = Upstream().say(start(), tool(0, "a", "run", **members), stop(0), ending("tool_use"))
    (call,) = of(upstream.end(), e.ToolCallStart)
    assert call.native == (members if native is ... else None)
    assert upstream.assembler.losses == {}


# ---- tools that the upstream runs


def test_server_tools_pass_whole_and_are_no_calls() -> None:
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    events = answer(
        begin(0, "server_tool_use", id="srvtoolu_1", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"query":'),
        delta(0, "input_json_delta", partial_json=' "x"}'),
        stop(0),
        {"type": "content_block_start", "index": 1, "content_block": result},
        stop(1),
        begin(2, "text", text="It is 18 C."),
        ending("end_turn"),
    )
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    assert of(events, e.ServerTool) == [e.ServerTool("messages", (call,)), e.ServerTool("messages", (result,))]
    assert of(events, e.ToolCallStart) == []
    assert end_of(events).finish is e.FinishReason.STOP


def test_a_server_tool_without_its_stop_is_told_before_the_next_block() -> None:
    events = answer(
        begin(0, "mcp_tool_use", id="m1", name="search", server_name="docs", input={"q": 1}),
        begin(1, "text", text="Done."),
        ending("end_turn"),
    )
    kinds = [type(event) for event in events]
    assert kinds.index(e.ServerTool) < kinds.index(e.TextStart)
    assert of(events, e.ServerTool)[0].items[0]["input"] == {"q": 1}


def test_a_server_tool_whose_input_is_broken_says_so() -> None:
    events = answer(
        begin(0, "server_tool_use", id="s", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"q'),
        stop(0),
        ending("pause_turn"),
    )
    assert of(events, e.ServerTool)[0].items[0]["input"] == {"INVALID_JSON": '{"q'}
    assert end_of(events).finish is e.FinishReason.PAUSED


def test_what_strict_clients_refuse_is_a_loss() -> None:
    upstream = Upstream().say(
        start(), begin(0, "container_upload", file_id="f"), stop(0), begin(1, "mcp_tool_use", id="m", name="x"), stop(1)
    )
    upstream.say(begin(2, "text", text="Hi"), ending("end_turn"))
    assert of(upstream.end(), e.ServerTool) == []
    assert set(upstream.assembler.losses) == {"content block container_upload", "content block mcp_tool_use"}


def test_compaction_collects_its_delta() -> None:
    events = answer(
        begin(0, "compaction", content=None),
        delta(0, "compaction_delta", content="Summary.", encrypted_content="E"),
        stop(0),
        ending("compaction"),
    )
    assert of(events, e.ServerTool)[0].items == (
        {"type": "compaction", "content": "Summary.", "encrypted_content": "E"},
    )
    assert (end_of(events).finish, end_of(events).raw) == (e.FinishReason.PAUSED, "compaction")


# ---- anything at all

values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "id", "name"]), inner),
    max_leaves=4,
)
kinds = st.sampled_from(
    ["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_result", "x"]
)
deltas = st.sampled_from(
    ["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta", "compaction_delta", "x"]
)
blocks = st.fixed_dictionaries(
    {"type": kinds | values},
    optional=dict.fromkeys(
        ["text", "thinking", "signature", "data", "id", "name", "input", "citations", "caller"], values
    ),
)
pieces = st.fixed_dictionaries(
    {"type": deltas | values},
    optional=dict.fromkeys(["text", "thinking", "signature", "partial_json", "citation", "stop_reason"], values),
)
odd_events = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "x"]
        ),
        "index": st.integers(-1, 2) | values,
    },
    optional={"content_block": blocks | values, "delta": pieces | values, "message": values, "usage": values},
)


@given(st.lists(odd_events, max_size=8))
def test_no_stream_of_any_events_raises(drawn: list[dict[str, Any]]) -> None:
    events = Upstream().say(*drawn).end()
    assert isinstance(events[-1], e.ResponseEnd | e.ResponseError)
    data = encode(*events)
    assert {violation.rule for violation in check(data)} <= {"messages.tool.name"}
