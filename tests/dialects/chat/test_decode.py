"""Chunks in, events out: what stands where in a chunk, text and reasoning."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.events import FinishReason
from dragoman.canonical.opaque import Opaque

from .driving import (
    DONE,
    Upstream,
    calls,
    calls_of,
    chunk,
    events_of,
    events_of_body,
    of_type,
    text_of,
    thoughts_of,
    whole,
)


def test_a_plain_stream() -> None:
    events = events_of(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}),
        chunk({}, "stop"),
        chunk(choices=[], usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}),
    )
    assert events == [
        e.ResponseStart(id="chatcmpl-1", model="m-1", created=17, origin="chat"),
        e.TextStart(),
        e.TextDelta("Hel"),
        e.TextDelta("lo"),
        e.TextEnd(),
        e.UsageUpdate(
            e.Usage(input=10, output=5), {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, "chat"
        ),
        e.ResponseEnd(finish=FinishReason.STOP, raw="stop", origin="chat"),
    ]


def test_nothing_counts_after_done() -> None:
    upstream = Upstream().say(chunk({"content": "a"}, "stop"), b"[DONE]  ", chunk({"content": "b"}))
    assert text_of(upstream.end()) == "a"


def test_the_envelope_comes_from_the_first_chunk_that_has_it() -> None:
    events = events_of(
        chunk(id="", model="", choices=[], prompt_filter_results=[]),
        chunk({"content": "a"}, system_fingerprint="fp_1", obfuscation="xx"),
        chunk({"content": "b"}, id="other", model="other"),
        chunk({}, "stop"),
    )
    start = events[0]
    assert start == e.ResponseStart(
        id="chatcmpl-1", model="m-1", created=17, origin="chat", native={"system_fingerprint": "fp_1"}
    )


@pytest.mark.parametrize("odd", [None, 7, "text", {"a": 1}, [], [None, 3]])
def test_odd_values_are_no_exception_and_no_text(odd: Any) -> None:
    members = ("tool_calls", "function_call", "reasoning_details", "annotations", "images", "logprobs", "extra_content")
    values = [
        {"choices": odd},
        {"choices": [{"index": odd, "delta": odd, "message": odd, "finish_reason": None}]}
        if odd != "text"
        else {},  # a text is one
        *(chunk({name: odd, "content": None}) for name in members),
        chunk({"tool_calls": [{"index": odd, "id": None, "function": odd, "custom": None, "extra_content": odd}]}),
        chunk(usage=odd, x_groq=odd, citations=odd, search_results=odd),
        {"id": odd, "model": odd, "created": odd, "choices": []},
    ]
    events = events_of(*values, chunk({"content": "fine"}, "stop"))
    assert text_of(events) == "fine"
    assert calls_of(events) == []
    assert isinstance(events[-1], e.ResponseEnd)


# ------------------------------------------------------------------ delta, message, choices


def test_a_message_stands_for_a_delta_that_never_came() -> None:
    choices = [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]
    upstream = Upstream().say(chunk(choices=choices), DONE)
    assert text_of(upstream.end()) == "Hi"
    assert upstream.assembler.quirks == {"message-instead-of-delta": 1}


def test_a_message_beside_deltas_only_repeats() -> None:
    first = chunk({"content": "Hel"})
    first["choices"][0]["message"] = {"content": "Hel"}
    last = chunk({}, "stop")
    last["choices"][0]["message"] = {"role": "assistant", "content": "Hello"}
    assert text_of(events_of(first, chunk({"content": "lo"}), last)) == "Hello"


def test_a_message_at_the_end_counts_if_no_delta_said_anything() -> None:
    last = chunk({}, "stop")
    last["choices"][0]["message"] = {"role": "assistant", "content": "Hello"}
    assert text_of(events_of(chunk({"role": "assistant", "content": ""}), last)) == "Hello"


def test_several_choices_stay_apart_where_they_were_asked_for() -> None:
    events = events_of(
        chunk({"content": "A"}),
        chunk({"content": "B"}, index=1),
        chunk({}, "stop"),
        chunk({}, "length", index=1),
        choices=2,
    )
    assert text_of(events) == "A"
    further = [event.event for event in events if isinstance(event, e.InChoice)]
    assert text_of(further) == "B"
    assert further[-1] == e.ResponseEnd(finish=FinishReason.LENGTH, raw="length", origin="chat")


def test_one_choice_was_asked_for_so_all_indexes_are_one_answer() -> None:
    events = events_of(
        chunk({"content": "Look."}),
        chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "run", "arguments": "{}"}}]}, index=1),
        chunk({}, "tool_calls", index=1),
    )
    assert text_of(events) == "Look."
    assert calls_of(events) == [("c", "run", "{}")]


# ------------------------------------------------------------------ content


def test_content_parts() -> None:
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "So."}]},
        {"type": "reference", "reference_ids": [1]},
        {"type": "text", "text": "Hel"},
        "lo",
    ]
    upstream = Upstream().say(chunk({"content": content}, "stop"), DONE)
    events = upstream.end()
    assert text_of(events) == "Hello"
    assert thoughts_of(events) == "Hm.So."
    assert upstream.assembler.losses == {"content part reference": 1}


def test_cumulative_content() -> None:
    upstream = Upstream().say(
        *(chunk({"content": text}) for text in ("The quick", "The quick brown", "The quick brown fox")),
        chunk({}, "stop"),
        DONE,
    )
    assert text_of(upstream.end()) == "The quick brown fox"
    assert upstream.assembler.quirks == {"content-cumulative": 1}


def test_a_leading_think_block_is_reasoning() -> None:
    pieces = ("<th", "ink>Hm", ".</thi", "nk>\n\nHello <think>")
    events = events_of(*(chunk({"content": piece}) for piece in pieces), chunk({}, "stop"))
    assert thoughts_of(events) == "Hm."
    assert text_of(events) == "Hello <think>"


def test_think_tags_are_text_once_reasoning_came_by_its_own_channel() -> None:
    events = events_of(chunk({"reasoning_content": "Hm."}), chunk({"content": "<think>x</think>"}), chunk({}, "stop"))
    assert thoughts_of(events) == "Hm."
    assert text_of(events) == "<think>x</think>"


@pytest.mark.parametrize("held", [["\n\n"], ["Let", "Let me look"], ["<", "<thin"]])
def test_text_that_is_held_comes_before_the_call_that_follows(held: list[str]) -> None:
    entry = {"index": 0, "id": "c", "function": {"name": "run", "arguments": "{}"}}
    said = [chunk({"content": text}) for text in held]
    events = events_of(*said, calls(entry), chunk({}, "tool_calls"))
    call = next(place for place, event in enumerate(events) if isinstance(event, e.ToolCallStart))
    assert text_of(events[:call]) == "".join(held)


def test_googles_marked_thoughts() -> None:
    mark = {"google": {"thought": True}}
    events = events_of(
        chunk({"content": "<thought>Plan", "extra_content": mark}),
        chunk({"content": " it.", "extra_content": mark}),
        chunk({"content": "</thought>Done"}),
        chunk({"content": "."}, "stop"),
    )
    assert thoughts_of(events) == "Plan it."
    assert text_of(events) == "Done."


def test_googles_marked_thought_of_a_whole_answer() -> None:
    message = {"content": "<thought>Plan.</thought>Done.", "extra_content": {"google": {"thought": True}}}
    events = events_of_body(whole(message))
    assert (thoughts_of(events), text_of(events)) == ("Plan.", "Done.")


def test_a_signature_of_text() -> None:
    message = {"content": "Done.", "extra_content": {"google": {"thought_signature": "c2ln"}}}
    (end,) = of_type(e.TextEnd, events_of_body(whole(message)))
    assert end.signature == Opaque("gemini", "signature", "c2ln", via="chat")


def test_refusals_are_text_of_their_own_kind() -> None:
    events = events_of(chunk({"refusal": "I will"}), chunk({"refusal": " not."}), chunk({}, "stop"))
    assert of_type(e.TextStart, events) == [e.TextStart(refusal=True)]
    assert text_of(events) == "I will not."


def test_log_probabilities_go_with_their_text() -> None:
    def with_logprobs(text: str, token: str) -> dict[str, Any]:
        made = chunk({"content": text})
        made["choices"][0]["logprobs"] = {"content": [{"token": token, "logprob": -1}]}
        return made

    events = events_of(with_logprobs("<", "<"), with_logprobs("b", "b"), chunk({}, "stop"))
    (delta,) = of_type(e.TextDelta, events)
    assert delta.text == "<b"
    assert [item["token"] for item in delta.native["logprobs"]["content"]] == ["<", "b"]


# ------------------------------------------------------------------ reasoning


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text", "thinking"])
def test_fields_of_reasoning(name: str) -> None:
    assert thoughts_of(events_of(chunk({name: "Hm."}), chunk({"content": "x"}, "stop"))) == "Hm."


def test_one_source_of_reasoning_for_each_delta() -> None:
    detail = {"type": "reasoning.text", "text": "Hm", "format": "anthropic-claude-v1"}
    signed = {"type": "reasoning.text", "signature": "c2ln", "format": "anthropic-claude-v1"}
    events = events_of(
        chunk({"reasoning": "Hm", "reasoning_content": "Hm", "reasoning_details": [detail]}),
        chunk({"reasoning_details": [signed]}),
        chunk({"content": "x"}, "stop"),
    )
    assert thoughts_of(events) == "Hm"
    (end,) = of_type(e.ReasoningEnd, events)
    assert end.opaque == (Opaque("messages", "signature", "c2ln", via="chat"),)


def test_a_proof_ends_its_block() -> None:
    def thought(text: str, proof: str) -> list[Any]:
        kind = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
        return [
            chunk({"reasoning_details": [{**kind, "text": text}]}),
            chunk({"reasoning_details": [{**kind, "signature": proof}]}),
        ]

    events = events_of(*thought("A", "1"), *thought("B", "2"), chunk({"content": "x"}, "stop"))
    assert [end.opaque[0].data for end in of_type(e.ReasoningEnd, events)] == ["1", "2"]
    assert len(of_type(e.ReasoningStart, events)) == 2


def test_a_change_of_type_begins_a_block_but_a_ciphertext_belongs_to_its_summary() -> None:
    format = {"format": "openai-responses-v1", "index": 0}
    details = [
        {"type": "reasoning.summary", "summary": "Hm", **format},
        {"type": "reasoning.summary", "summary": "m.", **format},
        {"type": "reasoning.encrypted", "data": "ZW5j", "id": "rs_1", **format},
        {"type": "reasoning.text", "text": "Own.", **format},
    ]
    events = events_of(*(chunk({"reasoning_details": [detail]}) for detail in details), chunk({"content": "x"}, "stop"))
    assert of_type(e.ReasoningStart, events) == [e.ReasoningStart(summary=True), e.ReasoningStart()]
    first, second = of_type(e.ReasoningEnd, events)
    assert first.opaque == (Opaque("responses", "encrypted", "ZW5j", "rs_1", via="chat"),)
    assert second.opaque == ()


def test_redacted_thinking_is_a_block_of_its_own() -> None:
    format = {"format": "anthropic-claude-v1"}
    details = [
        {"type": "reasoning.text", "text": "A", **format},
        {"type": "reasoning.encrypted", "data": "R", **format},
    ]
    events = events_of_body(whole({"content": "x", "reasoning": "A", "reasoning_details": details}))
    redacted = Opaque("messages", "redacted", "R", via="chat")
    assert [end.opaque for end in of_type(e.ReasoningEnd, events)] == [(), (redacted,)]


def test_reasoning_of_a_whole_answer_keeps_its_blocks() -> None:
    kind = {"type": "reasoning.text", "format": "anthropic-claude-v1"}
    details = [{**kind, "text": "A.", "signature": "1"}, {**kind, "text": "B.", "signature": "2"}]
    events = events_of_body(whole({"content": "x", "reasoning": "A.B.", "reasoning_details": details}))
    assert thoughts_of(events) == "A.B."
    assert [end.opaque[0].data for end in of_type(e.ReasoningEnd, events)] == ["1", "2"]
