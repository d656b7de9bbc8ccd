"""The encoder: what each event looks like on the wire, and what strict clients never get to see."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.opaque import Opaque, unseal
from dragoman.dialects.messages.check import check
from dragoman.exceptions import LocalProtocolError

from .driving import answered, begin, context, delta, encode, frames, stop

OWN = Opaque("messages", "signature", "U0lH")
FOREIGN = Opaque("responses", "encrypted", "ENC==", "rs_1")
GEMINI = Opaque("gemini", "signature", "R0VN")


def call(*pieces: str, sound: bool = True, complete: bool = True) -> list[e.Event]:
    deltas = [e.ToolCallDelta(piece, sound) for piece in pieces]
    return [e.ToolCallStart(id="c1", name="run"), *deltas, e.ToolCallEnd(complete)]


def inputs(*events: e.Event, **members: Any) -> list[str]:
    """The texts of the input deltas of a finished answer with these events."""
    found = answered(*events, finish=e.FinishReason.TOOL_CALLS, **members)
    return [frame["delta"]["partial_json"] for frame in found if frame["type"] == "content_block_delta"]


# ---- the envelope


def test_bytes_of_a_plain_answer() -> None:
    data = encode(
        e.ResponseStart(id="msg_1", model="m", origin="messages"),
        e.TextStart(),
        e.TextDelta('a "b"\n'),
        e.TextEnd(),
        e.UsageUpdate(e.Usage(input=3, output=1)),
        e.ResponseEnd(finish=e.FinishReason.STOP),
    )
    assert data.decode() == (
        'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",'
        '"model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}\n\n'
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a \\"b\\"\\n"}}\n\n'
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},'
        '"usage":{"input_tokens":3,"output_tokens":1}}\n\n'
        'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    )
    assert check(data) == []


@pytest.mark.parametrize(
    ("id", "origin", "kept"), [("msg_9", "messages", True), ("chatcmpl-9", "chat", False), ("", "messages", False)]
)
def test_ids_are_kept_within_the_dialect(id: str, origin: str, kept: bool) -> None:
    message = frames(encode(e.ResponseStart(id=id, origin=origin), context=context()))[0]["message"]
    assert (message["id"] == id) is kept
    assert message["id"].startswith("msg_")


def test_the_model_is_the_upstreams_or_the_requests() -> None:
    assert frames(encode(e.ResponseStart(model="real")))[0]["message"]["model"] == "real"
    assert frames(encode(e.ResponseStart()))[0]["message"]["model"] == "asked-model"


def test_own_members_of_the_envelope_stay_in_the_dialect() -> None:
    native = {"container": {"id": "c"}}
    assert frames(encode(e.ResponseStart(native=native, origin="messages")))[0]["message"]["container"] == {"id": "c"}
    assert "container" not in frames(encode(e.ResponseStart(native=native, origin="chat")))[0]["message"]


def test_an_illegal_order_raises() -> None:
    with pytest.raises(LocalProtocolError):
        encode(e.TextStart())


# ---- text


def test_text_without_text_opens_no_block() -> None:
    assert [frame["type"] for frame in answered(e.TextStart(), e.TextDelta(""), e.TextEnd())] == ["message_delta"]


def test_blanks_are_text() -> None:
    assert answered(e.TextStart(), e.TextDelta("\n"), e.TextEnd())[1] == delta(0, "text_delta", text="\n")


def test_a_citation_waits_for_the_text() -> None:
    native = {"type": "page_location", "cited_text": "q"}
    cited = e.CitationAdded(e.Citation(origin="messages", native=native))
    found = answered(e.TextStart(), cited, e.TextDelta("a"), cited, e.TextEnd())
    kinds = [frame["delta"]["type"] for frame in found if frame["type"] == "content_block_delta"]
    assert kinds == ["citations_delta", "text_delta", "citations_delta"]
    assert found[1]["delta"]["citation"] == native


def test_a_foreign_citation_needs_a_url() -> None:
    known = e.CitationAdded(e.Citation(url="https://a.example", title="A", origin="chat", native={"x": 1}))
    found = answered(e.TextStart(), e.TextDelta("a"), known, e.CitationAdded(e.Citation(title="B")), e.TextEnd())
    citations = [
        frame["delta"]["citation"] for frame in found if frame.get("delta", {}).get("type") == "citations_delta"
    ]
    assert citations == [
        {
            "type": "web_search_result_location",
            "url": "https://a.example",
            "title": "A",
            "cited_text": "",
            "encrypted_index": "",
        }
    ]


# ---- reasoning


def test_unsigned_reasoning_streams_without_a_signature() -> None:
    found = answered(e.ReasoningStart(), e.ReasoningDelta("a"), e.ReasoningDelta("b"), e.ReasoningEnd())
    assert found[:4] == [
        begin(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="a"),
        delta(0, "thinking_delta", thinking="b"),
        stop(0),
    ]


def test_own_signatures_are_byte_exact() -> None:
    found = answered(e.ReasoningStart(), e.ReasoningDelta("a"), e.ReasoningEnd((OWN,)))
    assert found[2] == delta(0, "signature_delta", signature="U0lH")


def test_a_signature_without_text_has_its_block() -> None:
    found = answered(e.ReasoningStart(), e.ReasoningEnd((OWN,)))
    assert found[:3] == [
        begin(0, "thinking", thinking="", signature=""),
        delta(0, "signature_delta", signature="U0lH"),
        stop(0),
    ]


def test_own_redacted_thinking() -> None:
    redacted = Opaque("messages", "redacted", "UkVE")
    found = answered(e.ReasoningStart(), e.ReasoningEnd((redacted,)))
    assert found[:2] == [begin(0, "redacted_thinking", data="UkVE"), stop(0)]


def test_reasoning_without_anything_opens_no_block() -> None:
    assert [frame["type"] for frame in answered(e.ReasoningStart(), e.ReasoningEnd())] == ["message_delta"]


def test_foreign_proofs_travel_sealed() -> None:
    found = answered(
        e.ReasoningStart(),
        e.ReasoningDelta("a"),
        e.ReasoningEnd((FOREIGN, GEMINI)),
        e.ReasoningStart(),
        e.ReasoningEnd((FOREIGN,)),
    )
    assert unseal(found[2]["delta"]["signature"]) == FOREIGN
    assert [
        unseal(frame["content_block"]["data"]) for frame in found if frame.get("content_block", {}).get("data")
    ] == [GEMINI, FOREIGN]


def test_foreign_proofs_of_a_call_and_of_a_text_stand_beside_them() -> None:
    found = answered(
        e.TextStart(),
        e.TextDelta("a"),
        e.TextEnd(GEMINI),
        e.ToolCallStart(id="c1", name="run", signature=GEMINI),
        e.ToolCallEnd(),
        finish=e.FinishReason.TOOL_CALLS,
    )
    blocks = [frame["content_block"] for frame in found if frame["type"] == "content_block_start"]
    assert [block["type"] for block in blocks] == ["text", "redacted_thinking", "redacted_thinking", "tool_use"]
    assert [unseal(block["data"]) for block in blocks[1:3]] == [
        Opaque("gemini", "signature", "R0VN", "of:"),
        Opaque("gemini", "signature", "R0VN", "of:c1"),
    ]


# ---- calls


def test_arguments_go_out_as_they_come() -> None:
    assert inputs(*call('{"a"', ":1}")) == ['{"a"', ":1}"]


@pytest.mark.parametrize("pieces", [(), ("",), ("{}",), (" ", "{}"), ("{}", "\n")])
def test_no_arguments_make_no_delta(pieces: tuple[str, ...]) -> None:
    found = answered(*call(*pieces), finish=e.FinishReason.TOOL_CALLS)
    assert found[:2] == [begin(0, "tool_use", id="c1", name="run", input={}), stop(0)]


def test_blanks_before_the_object_are_kept() -> None:
    assert inputs(*call(" ", '\n{"a":', "1}")) == [' \n{"a":', "1}"]


@pytest.mark.parametrize("pieces", [('{city:"Paris"}',), ("Par", "is"), ('"text"',), ("[1,", "2]"), (" ", "x{}")])
def test_what_is_wrong_from_the_start_is_wrapped(pieces: tuple[str, ...]) -> None:
    (text,) = inputs(*call(*pieces, sound=False))
    assert json.loads(text) == {"INVALID_JSON": "".join(pieces)}


def test_an_array_is_told_by_its_first_character() -> None:
    (text,) = inputs(*call("[1,", "2]"))
    assert json.loads(text) == {"INVALID_JSON": "[1,2]"}


def test_what_breaks_later_goes_on_raw() -> None:
    events: list[e.Event] = [
        e.ToolCallStart(id="c1", name="run"),
        e.ToolCallDelta('{"a":'),
        e.ToolCallDelta(" oops", sound=False),
        e.ToolCallEnd(complete=False),
    ]
    assert inputs(*events) == ['{"a":', " oops"]


@pytest.mark.parametrize(("origin", "passes"), [("messages", True), ("chat", False)])
def test_native_members_of_a_call_pass_within_the_dialect(origin: str, passes: bool) -> None:
    native = {"caller": {"type": "code_execution_20260120", "tool_id": "s"}}
    data = encode(
        e.ResponseStart(origin=origin),
        e.ToolCallStart(id="c1", name="run", native=native),
        e.ToolCallEnd(),
        e.ResponseEnd(finish=e.FinishReason.TOOL_CALLS),
    )
    (opened,) = (frame["content_block"] for frame in frames(data) if frame["type"] == "content_block_start")
    assert opened == {"type": "tool_use", "id": "c1", "name": "run", "input": {}, **(native if passes else {})}
    assert check(data) == []


def test_indexes_are_dense_over_blocks_that_have_no_form() -> None:
    found = answered(
        e.TextStart(),
        e.TextEnd(),
        e.Media(media_type="image/png", data="x"),
        e.ServerTool("responses", ({"type": "web_search_call"},)),
        *call("{}"),
        e.TextStart(),
        e.TextDelta("a"),
        e.TextEnd(),
        finish=e.FinishReason.TOOL_CALLS,
    )
    assert [frame["index"] for frame in found if frame["type"] == "content_block_start"] == [0, 1]


# ---- tools that the upstream ran


def test_server_tools_of_this_dialect_are_native() -> None:
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    found = answered(e.ServerTool("messages", (use, result)), e.ServerTool("messages", ({"type": "future_block"},)))
    assert found[:5] == [
        begin(0, "server_tool_use", id="s1", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"query":"x"}'),
        stop(0),
        begin(1, "web_search_tool_result", tool_use_id="s1", content=[]),
        stop(1),
    ]
    assert found[5]["type"] == "message_delta"


def test_compaction_streams_its_content() -> None:
    found = answered(e.ServerTool("messages", ({"type": "compaction", "content": "Sum."},)))
    assert found[:3] == [begin(0, "compaction", content=None), delta(0, "compaction_delta", content="Sum."), stop(0)]


# ---- counts and endings


def ending(*blocks: e.Event, **members: Any) -> dict[str, Any]:
    return answered(*blocks, **members)[-1]


def test_unknown_counts_are_zero() -> None:
    assert ending()["usage"] == {"output_tokens": 0}


@pytest.mark.parametrize(
    ("usage", "wire"),
    [
        (
            e.Usage(input=14, output=16, cached=1, cache_write=4),
            {"input_tokens": 9, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 1, "output_tokens": 16},
        ),
        (e.Usage(input=5, output=2, cached=9), {"input_tokens": 0, "cache_read_input_tokens": 9, "output_tokens": 2}),
        (e.Usage(output=2, reasoning=1), {"output_tokens": 2, "output_tokens_details": {"thinking_tokens": 1}}),
    ],
)
def test_counts(usage: e.Usage, wire: dict[str, Any]) -> None:
    assert ending(e.UsageUpdate(usage))["usage"] == wire


def test_own_members_of_usage_stay_in_the_dialect() -> None:
    native = {"service_tier": "standard", "input_tokens": 99}
    own = ending(e.UsageUpdate(e.Usage(input=1, output=2), native, "messages"))["usage"]
    assert own == {"service_tier": "standard", "input_tokens": 1, "output_tokens": 2}
    assert "service_tier" not in ending(e.UsageUpdate(e.Usage(input=1, output=2), native, "chat"))["usage"]


F = e.FinishReason


@pytest.mark.parametrize(
    ("finish", "raw", "origin", "calls", "word"),
    [
        (F.STOP, None, "chat", False, "end_turn"),
        (F.STOP, "stop", "chat", False, "end_turn"),
        (F.STOP, None, "chat", True, "tool_use"),
        (F.TOOL_CALLS, "tool_calls", "chat", False, "end_turn"),
        (F.TOOL_CALLS, "end_turn", "messages", True, "tool_use"),
        (F.LENGTH, "length", "chat", True, "max_tokens"),
        (F.LENGTH, "model_context_window_exceeded", "messages", False, "model_context_window_exceeded"),
        (F.CONTENT_FILTER, "SAFETY", "gemini", False, "refusal"),
        (F.PAUSED, "pause_turn", "messages", False, "pause_turn"),
        (F.PAUSED, "CONTINUATION", "gemini", False, "max_tokens"),
        (F.PAUSED, "pause_turn", "other", False, "max_tokens"),
        (F.STOP, "stop_sequence", "messages", False, "end_turn"),
    ],
)
def test_stop_reasons(finish: e.FinishReason, raw: str | None, origin: str, calls: bool, word: str) -> None:
    blocks = call("{}") if calls else []
    assert ending(*blocks, finish=finish, raw=raw, origin=origin)["delta"] == {
        "stop_reason": word,
        "stop_sequence": None,
    }


def test_a_stop_sequence_is_named() -> None:
    end = ending(raw="stop_sequence", origin="messages", stop_sequence="END")
    assert end["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": "END"}


def test_stop_details_stay_in_the_dialect() -> None:
    details = {"type": "refusal", "category": "bio"}
    own = ending(finish=F.CONTENT_FILTER, raw="refusal", origin="messages", native={"stop_details": details, "x": 1})
    assert own["delta"] == {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details}
    assert (
        "stop_details" not in ending(finish=F.CONTENT_FILTER, origin="chat", native={"stop_details": details})["delta"]
    )


# ---- failures


ERROR = Error(kind=ErrorKind.OVERLOADED, message="no room")


def test_an_error_leaves_its_block_open() -> None:
    data = encode(
        e.ResponseStart(), e.ToolCallStart(id="c", name="run"), e.ToolCallDelta('{"a'), e.ResponseError(ERROR)
    )
    found = frames(data)
    assert found[-1] == {"type": "error", "error": {"type": "overloaded_error", "message": "no room"}}
    assert [frame["type"] for frame in found[1:-1]] == ["content_block_start", "content_block_delta"]
    assert check(data) == []


def test_an_error_may_come_first() -> None:
    data = encode(e.ResponseError(ERROR))
    assert [frame["type"] for frame in frames(data)] == ["error"]
    assert check(data) == []
