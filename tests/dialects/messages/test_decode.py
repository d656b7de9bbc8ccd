"""The decoder: every oddity of a messages upstream, and what the canonical stream makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.opaque import Opaque

from .driving import OVER, Upstream, answer, arguments, begin, delta, ending, of, start, stop, tool, whole

PARIS = '{"city": "Paris"}'


def end_of(events: list[e.Event]) -> e.ResponseEnd:
    assert isinstance(events[-1], e.ResponseEnd)
    return events[-1]


def error_of(events: list[e.Event]) -> e.ResponseError:
    assert isinstance(events[-1], e.ResponseError)
    return events[-1]


def said(events: list[e.Event]) -> str:
    return "".join(event.text for event in of(events, e.TextDelta))


def thought(events: list[e.Event]) -> str:
    return "".join(event.text for event in of(events, e.ReasoningDelta))


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
    upstream = Upstream().say(start(container={"id": "c"}, unheard_of=1), begin(0, "text", text="x"), ending("end_turn"))
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
@pytest.mark.parametrize("event", ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"])
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
    events = answer(begin(0, "thinking", thinking="", signature="U0lH"), stop(0), tool(1, "t", "run"), stop(1), ending("tool_use"))
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
    found = {"type": "web_search_result_location", "url": "https://a.example", "title": "A", "cited_text": "q", "encrypted_index": "E"}
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
    upstream = Upstream(legal_id="[a-zA-Z0-9_-]+").say(start(), tool(0, "get_weather:0", "get_weather"), stop(0), ending("tool_use"))
    assert of(upstream.end(), e.ToolCallStart)[0].id.startswith("call_dgm")


def test_a_caller_other_than_the_model_is_a_loss() -> None:
    upstream = Upstream().say(start(), tool(0, "a", "run", caller={"type": "code_execution_20260120", "tool_id": "s"}), stop(0), ending("tool_use"))
    assert len(of(upstream.end(), e.ToolCallStart)) == 1
    assert upstream.assembler.losses == {"tool_use.caller": 1}


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
    upstream = Upstream().say(start(), begin(0, "container_upload", file_id="f"), stop(0), begin(1, "mcp_tool_use", id="m", name="x"), stop(1))
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
    assert of(events, e.ServerTool)[0].items == ({"type": "compaction", "content": "Summary.", "encrypted_content": "E"},)
    assert (end_of(events).finish, end_of(events).raw) == (e.FinishReason.PAUSED, "compaction")


# ---- counts


def usage_of(*usages: dict[str, Any], first: dict[str, Any]) -> e.UsageUpdate:
    upstream = Upstream().say(start(usage=first), begin(0, "text", text="Hi"))
    upstream.say(*(ending(None, usage) for usage in usages[:-1]), ending("end_turn", usages[-1]))
    update: e.UsageUpdate = of(upstream.end(), e.UsageUpdate)[0]
    return update


def test_counts_are_totals_and_input_gets_its_cache() -> None:
    counted = {"input_tokens": 9, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 1}
    usage = usage_of({**counted, "output_tokens": 16}, first={**counted, "output_tokens": 2}).usage
    assert usage == e.Usage(input=14, output=16, cached=1, cache_write=4)


def test_the_last_object_with_an_input_count_gives_all_of_them() -> None:
    split = {"input_tokens": 18, "output_tokens": 426, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 8816}
    usage = usage_of(split, first={"input_tokens": 8834, "output_tokens": 0}).usage
    assert usage == e.Usage(input=8834, output=426, cached=8816, cache_write=0)


def test_cache_counts_do_not_outlive_another_input_count() -> None:
    first = {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 1}
    assert usage_of({"input_tokens": 95, "output_tokens": 3}, first=first).usage == e.Usage(input=95, output=3, cached=0)


def test_cache_counts_survive_an_equal_input_count() -> None:
    first = {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 1}
    assert usage_of({"input_tokens": 5, "output_tokens": 3}, first=first).usage == e.Usage(input=95, output=3, cached=90)


@pytest.mark.parametrize("nothing", [{}, {"input_tokens": None}, {"input_tokens": 0}, {"input_tokens": -1}, {"input_tokens": "9"}])
def test_an_input_that_is_not_counted_keeps_the_first_count(nothing: dict[str, Any]) -> None:
    usage = usage_of({**nothing, "output_tokens": 3}, first={"input_tokens": 25, "output_tokens": 1}).usage
    assert usage == e.Usage(input=25, output=3)


def test_zeros_at_the_start_are_unknown() -> None:
    assert usage_of({"output_tokens": 7}, first={"input_tokens": 0, "output_tokens": 0}).usage == e.Usage(output=7)


def test_a_refusal_takes_its_output_back() -> None:
    assert usage_of({"output_tokens": 0}, first={"input_tokens": 5, "output_tokens": 1}).usage == e.Usage(input=5, output=0)


def test_thinking_tokens_and_own_members() -> None:
    last = {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}, "server_tool_use": {"web_search_requests": 1}}
    update = usage_of(last, first={"input_tokens": 5, "output_tokens": 1, "service_tier": "standard", "iterations": None})
    assert update.usage.reasoning == 4
    assert update.native == {"service_tier": "standard", "server_tool_use": {"web_search_requests": 1}}


# ---- endings


@pytest.mark.parametrize(
    ("word", "finish", "raw"),
    [
        ("end_turn", e.FinishReason.STOP, "end_turn"),
        ("max_tokens", e.FinishReason.LENGTH, "max_tokens"),
        ("model_context_window_exceeded", e.FinishReason.LENGTH, "model_context_window_exceeded"),
        ("refusal", e.FinishReason.CONTENT_FILTER, "refusal"),
        ("pause_turn", e.FinishReason.PAUSED, "pause_turn"),
        ("END_TURN", e.FinishReason.STOP, "end_turn"),
        ("length", e.FinishReason.LENGTH, None),
        ("content_filter", e.FinishReason.CONTENT_FILTER, None),
        ("never_heard_of", e.FinishReason.STOP, None),
    ],
)
def test_stop_reasons(word: str, finish: e.FinishReason, raw: str | None) -> None:
    end = end_of(answer(begin(0, "text", text="Hi"), ending(word)))
    assert (end.finish, end.raw, end.origin) == (finish, raw, "messages")


def test_a_stop_sequence_is_named() -> None:
    end = end_of(answer(begin(0, "text", text="Hi"), ending("stop_sequence", stop_sequence="END")))
    assert (end.finish, end.stop_sequence) == (e.FinishReason.STOP, "END")


def test_stop_details_go_along() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": None}
    end = end_of(answer(begin(0, "text", text="I can"), ending("refusal", stop_details=details)))
    assert end.native == {"stop_details": details}


def test_a_null_reason_is_none() -> None:
    events = answer(begin(0, "text", text="Hi"), ending("end_turn"), ending(None))
    assert end_of(events).finish is e.FinishReason.STOP


def test_a_broken_off_answer_is_cut() -> None:
    assert "network_error" in error_of(answer(begin(0, "text", text="Hi"), ending("network_error"))).error.message


def test_calls_and_end_turn() -> None:
    events = answer(tool(0, "a", "list"), stop(0), ending("end_turn"))
    assert end_of(events).finish is e.FinishReason.TOOL_CALLS


# ---- failures


def test_an_error_event_in_the_middle_of_a_call() -> None:
    failure = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    events = answer(tool(0, "a", "get_weather"), delta(0, "input_json_delta", partial_json='{"city": "Pa'), failure)
    error = error_of(events).error
    assert (error.kind, error.type, error.message) == (ErrorKind.OVERLOADED, "overloaded_error", "Overloaded")
    assert of(events, e.ToolCallEnd) == []


@pytest.mark.parametrize("value", [{"error": {"message": "no room"}}, {"error": "no room"}, {"type": "odd", "error": {"message": "no room"}}])
def test_errors_without_their_type(value: dict[str, Any]) -> None:
    assert error_of(Upstream().say(value).end()).error.message == "no room"


def test_an_error_event_whose_data_is_no_json() -> None:
    assert error_of(Upstream().say(b"upstream is gone", name="error").end()).error.message == "upstream is gone"


def test_corrupt_json_is_an_error() -> None:
    events = answer(begin(0, "text", text="Hi"), b'{"type":"content_bl')
    assert "malformed" in error_of(events).error.message


def test_a_ping_says_nothing() -> None:
    assert "empty" in error_of(Upstream().say(start(), {"type": "ping"}, b"nothing", name="ping").end()).error.message


# ---- whole bodies


def test_a_whole_body() -> None:
    body = {
        **start()["message"],
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "U0lH"},
            {"type": "text", "text": "Hi."},
            {"type": "tool_use", "id": "toolu_a", "name": "get_weather", "input": {"city": "Paris"}},
            {"type": "tool_use", "id": "toolu_b", "name": "list", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 0, "output_tokens": 9},
    }
    events = whole(body)
    assert (thought(events), said(events)) == ("Hm.", "Hi.")
    assert arguments(events) == ['{"city":"Paris"}', "{}"]
    assert of(events, e.UsageUpdate)[0].usage == e.Usage(input=0, output=9)
    assert end_of(events).finish is e.FinishReason.TOOL_CALLS


def test_a_whole_body_without_a_reason_has_ended() -> None:
    assert end_of(whole({"type": "message", "content": "Hi"})).finish is e.FinishReason.STOP


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"type": "error", "error": {"type": "api_error", "message": "broken"}}, "broken"),
        ({"detail": "Not Found"}, "Not Found"),
        ({}, "not a message"),
        ([], "not a message"),
        (None, "not a message"),
        ([{"error": {"message": "wrapped"}}], "wrapped"),
    ],
)
def test_bodies_that_are_no_message(body: Any, message: str) -> None:
    assert message in error_of(whole(body)).error.message
