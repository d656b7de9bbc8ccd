"""The decoder: what each of Google's chunks says."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.events import FinishReason
from dragoman.canonical.opaque import Opaque, seal

from .driving import Upstream, answer, call, calls, chunk, end, error, of, reasoning, text

# ---- the envelope and the text


def test_text_flows_chunk_by_chunk() -> None:
    upstream = Upstream()
    first = upstream.says({**chunk({"text": "Hel"}), "responseId": "r", "modelVersion": "m"})
    assert first == [e.ResponseStart(id="r", model="m", origin="gemini"), e.TextStart(), e.TextDelta("Hel")]
    assert upstream.says(chunk({"text": "lo"})) == [e.TextDelta("lo")]
    events = [*upstream.says(chunk(finishReason="STOP")), *upstream.ends()]
    assert events == [e.TextEnd(), e.ResponseEnd(finish=FinishReason.STOP, raw="STOP", origin="gemini")]


def test_envelope_members_of_this_dialect_alone_are_kept() -> None:
    events = answer({**chunk({"text": "x"}, finishReason="STOP"), "modelStatus": {"stage": "LEGACY"}})
    assert events[0] == e.ResponseStart(origin="gemini", native={"modelStatus": {"stage": "LEGACY"}})


def test_empty_parts_and_chunks_open_nothing() -> None:
    events = answer(
        chunk({"text": ""}),
        {},
        None,
        [],
        "x",
        chunk(),
        {"candidates": None},
        {"candidates": [None]},
        chunk({"text": None}),
    )
    assert error(events).error.kind is ErrorKind.BAD_UPSTREAM
    assert len(events) == 1


@pytest.mark.parametrize(
    "candidate",
    [
        {"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"},
        {"content": {"parts": {"text": "Hi."}}, "finishReason": "stop", "index": 7},
        {"content": [{"text": "Hi."}], "finishReason": "STOP", "futureMember": 1},
    ],
)
def test_role_index_and_list_may_be_missing(candidate: Any) -> None:
    events = answer({"candidates": [candidate]})
    assert text(events) == "Hi."
    assert end(events).finish is FinishReason.STOP


def test_snake_case_is_understood_but_not_inside_arguments() -> None:
    upstream = Upstream()
    part = {"function_call": {"name": "f", "args": {"some_key": {"deep_key": 1}}}, "thought_signature": "U0lH"}
    events = upstream.says(
        {
            "candidates": [{"content": {"parts": [part]}, "finish_reason": "MAX_TOKENS"}],
            "usage_metadata": {"prompt_token_count": 3},
        }
    )
    events += upstream.ends()
    assert calls(events) == [("f", '{"some_key":{"deep_key":1}}')]
    assert of(events, e.ToolCallStart)[0].signature == Opaque("gemini", "signature", "U0lH")
    assert end(events).finish is FinishReason.LENGTH
    assert of(events, e.UsageUpdate)[0].usage.input == 3
    assert upstream.assembler.quirks["gemini-snake-case"] == 1


def test_arguments_in_snake_case_are_no_oddity() -> None:
    upstream = Upstream()
    upstream.says(chunk(call("f", {"file_path": "a"}, id="c"), finishReason="STOP"))
    assert "gemini-snake-case" not in upstream.assembler.quirks


def test_responses_in_a_wrapper_are_understood() -> None:
    events = answer({"response": chunk({"text": "Hi."}, finishReason="STOP")})
    assert text(events) == "Hi."


def test_several_chunks_in_one_record() -> None:
    assert text(answer([chunk({"text": "a"}), chunk({"text": "b"}, finishReason="STOP")])) == "ab"


# ---- thoughts and signatures


def test_only_the_flag_makes_a_thought() -> None:
    events = answer(
        chunk(
            {"text": "Plan. ", "thought": True},
            {"text": "More.", "thought": True},
            {"text": "Hi.", "thoughtSignature": "U0lH"},
        ),
        chunk({"text": " There."}, finishReason="STOP"),
    )
    assert reasoning(events) == "Plan. More."
    assert text(events) == "Hi. There."
    assert [ending.signature for ending in of(events, e.TextEnd)] == [Opaque("gemini", "signature", "U0lH"), None]


def test_a_signed_thought_ends_with_its_proof() -> None:
    events = answer(
        chunk({"text": "One.", "thought": True, "thoughtSignature": "MQ=="}),
        chunk(
            {"text": "Two.", "thought": True},
            {"text": "", "thought": True, "thoughtSignature": "Mg=="},
            finishReason="STOP",
        ),
    )
    assert [ending.opaque for ending in of(events, e.ReasoningEnd)] == [
        (Opaque("gemini", "signature", "MQ=="),),
        (Opaque("gemini", "signature", "Mg=="),),
    ]


def test_an_empty_signed_part_belongs_to_the_text_before_it_else_it_stands_alone() -> None:
    after_text = answer(chunk({"text": "Hi."}), chunk({"text": "", "thoughtSignature": "U0lH"}, finishReason="STOP"))
    assert of(after_text, e.TextEnd) == [e.TextEnd(Opaque("gemini", "signature", "U0lH"))]
    alone = answer(chunk({"thoughtSignature": "U0lH"}, call("f"), finishReason="STOP"))
    assert of(alone, e.ReasoningEnd) == [e.ReasoningEnd((Opaque("gemini", "signature", "U0lH"),))]
    assert of(alone, e.ToolCallStart)[0].signature is None


def test_a_sealed_signature_is_told_for_what_it_is_and_the_stand_in_for_nothing() -> None:
    foreign = Opaque("messages", "signature", "abc")
    events = answer(chunk({"text": "T.", "thought": True, "thoughtSignature": seal(foreign)}, finishReason="STOP"))
    assert of(events, e.ReasoningEnd) == [e.ReasoningEnd((foreign,))]
    bypass = {**call("f"), "thoughtSignature": "skip_thought_signature_validator"}
    assert of(answer(chunk(bypass, finishReason="STOP")), e.ToolCallStart)[0].signature is None


def test_thoughts_apart_are_blocks_of_their_own() -> None:
    events = answer(
        chunk({"text": "A", "thought": True}, {"text": "x"}, {"text": "B", "thought": True}, finishReason="STOP")
    )
    assert len(of(events, e.ReasoningStart)) == 2


# ---- calls


def test_each_part_is_a_call_of_its_own_in_the_order_of_the_parts() -> None:
    same = call("roll", {"sides": 6})
    events = answer(
        chunk({"text": "First."}, same, {"text": "Second."}, same, call("add", {"a": 1}, id="x1"), finishReason="STOP")
    )
    assert calls(events) == [("roll", '{"sides":6}'), ("roll", '{"sides":6}'), ("add", '{"a":1}')]
    starts = of(events, e.ToolCallStart)
    assert len({start.id for start in starts}) == 3
    assert starts[2].id == "x1"
    kinds = [type(event) for event in events if isinstance(event, e.TextStart | e.ToolCallStart)]
    assert kinds == [e.TextStart, e.ToolCallStart, e.TextStart, e.ToolCallStart, e.ToolCallStart]
    assert end(events).finish is FinishReason.TOOL_CALLS


def test_a_call_without_arguments_keeps_its_place_too() -> None:
    events = answer(chunk({"text": "First."}, call("roll"), {"text": "Second."}, finishReason="STOP"))
    kinds = [type(event) for event in events if isinstance(event, e.TextStart | e.ToolCallStart)]
    assert kinds == [e.TextStart, e.ToolCallStart, e.TextStart]


@pytest.mark.parametrize("part", [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f", "args": None}}])
def test_no_args_are_an_empty_object(part: Any) -> None:
    assert calls(answer(chunk(part, finishReason="STOP"))) == [("f", "{}")]


def test_whole_numbers_stay_exact() -> None:
    raw = b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":123456789012345678901234567890,"x":1.5}}}]},"finishReason":"STOP"}]}'
    assert calls(answer(raw)) == [("f", '{"n":123456789012345678901234567890,"x":1.5}')]


def test_args_as_text_are_passed_on() -> None:
    assert calls(answer(chunk(call("f", '{"a": 1}'), finishReason="STOP"))) == [("f", '{"a": 1}')]


def test_odd_calls_are_reported_not_raised() -> None:
    upstream = Upstream()
    upstream.says(
        chunk({"functionCall": "f"}, {"functionCall": {"args": {"a": 1}}}, {"text": "x"}, finishReason="STOP")
    )
    events = upstream.ends()
    assert calls(events) == []
    assert "a functionCall that is not an object" in upstream.assembler.losses


def test_text_and_call_in_one_part_are_both_told_and_the_call_is_signed() -> None:
    events = answer(chunk({"text": "Now.", **call("f"), "thoughtSignature": "U0lH"}, finishReason="STOP"))
    assert text(events) == "Now."
    assert of(events, e.ToolCallStart)[0].signature == Opaque("gemini", "signature", "U0lH")


# ---- other parts


def test_server_tools_are_no_calls() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "U0lH"}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    events = answer(chunk({"text": "a"}, code, result, {"text": "b"}, finishReason="STOP"))
    assert of(events, e.ServerTool) == [e.ServerTool("gemini", (code,)), e.ServerTool("gemini", (result,))]
    assert end(events).finish is FinishReason.STOP
    assert len(of(events, e.TextStart)) == 2


def test_media() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "U0lH"}
    file = {"fileData": {"mimeType": "video/mp4", "fileUri": "https://x/v"}}
    events = answer(chunk(image, file, finishReason="STOP"))
    assert of(events, e.Media) == [
        e.Media(media_type="image/png", data="AAAA", signature=Opaque("gemini", "signature", "U0lH"), origin="gemini"),
        e.Media(media_type="video/mp4", url="https://x/v", origin="gemini"),
    ]


def test_a_picture_of_a_thought_is_not_part_of_the_answer() -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thought": True}
    events = answer(chunk(part, {"text": "x"}, finishReason="STOP"))
    assert of(events, e.Media) == []
    assert of(events, e.ServerTool) == [e.ServerTool("gemini", (part,))]


def test_what_has_no_form_is_reported() -> None:
    upstream = Upstream()
    upstream.says(
        chunk(
            {"futurePart": {"a": 1}},
            {"functionResponse": {"name": "f"}},
            {"inlineData": {"mimeType": "image/png"}},
            {"text": "x"},
        )
    )
    assert set(upstream.assembler.losses) == {"a part with futurePart", "a functionResponse part", "a inlineData part"}
