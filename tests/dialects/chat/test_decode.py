"""Chunks in, events out: what stands where in a chunk, and what counts."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import ErrorKind
from dragoman.canonical.events import FinishReason
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.chat.wire import QUIRKS

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
        {"choices": [{"index": odd, "delta": odd, "message": odd, "finish_reason": None}]},
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


def test_blanks_held_for_a_think_tag_come_before_the_call_that_follows() -> None:
    entry = {"index": 0, "id": "c", "function": {"name": "run", "arguments": "{}"}}
    events = events_of(chunk({"content": "\n\n"}), calls(entry), chunk({}, "tool_calls"))
    kinds = [type(event) for event in events if isinstance(event, e.TextStart | e.ToolCallStart)]
    assert kinds == [e.TextStart, e.ToolCallStart]
    assert text_of(events) == "\n\n"


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
    assert end.signature == Opaque("gemini", "signature", "c2ln")


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
    assert end.opaque == (Opaque("messages", "signature", "c2ln"),)


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
    assert first.opaque == (Opaque("responses", "encrypted", "ZW5j", "rs_1"),)
    assert second.opaque == ()


def test_redacted_thinking_is_a_block_of_its_own() -> None:
    format = {"format": "anthropic-claude-v1"}
    details = [
        {"type": "reasoning.text", "text": "A", **format},
        {"type": "reasoning.encrypted", "data": "R", **format},
    ]
    events = events_of_body(whole({"content": "x", "reasoning": "A", "reasoning_details": details}))
    assert [end.opaque for end in of_type(e.ReasoningEnd, events)] == [(), (Opaque("messages", "redacted", "R"),)]


def test_reasoning_of_a_whole_answer_keeps_its_blocks() -> None:
    kind = {"type": "reasoning.text", "format": "anthropic-claude-v1"}
    details = [{**kind, "text": "A.", "signature": "1"}, {**kind, "text": "B.", "signature": "2"}]
    events = events_of_body(whole({"content": "x", "reasoning": "A.B.", "reasoning_details": details}))
    assert thoughts_of(events) == "A.B."
    assert [end.opaque[0].data for end in of_type(e.ReasoningEnd, events)] == ["1", "2"]


# ------------------------------------------------------------------ calls


def test_a_call_in_fragments() -> None:
    events = events_of(
        calls({"index": 0, "id": "c", "type": "function", "function": {"name": "run", "arguments": ""}}),
        calls(None, {"index": 0, "function": {"arguments": '{"command":'}}),
        calls({"index": 0, "id": "", "function": {"name": None, "arguments": '"ls"}'}}),
        chunk({}, "tool_calls"),
    )
    assert calls_of(events) == [("c", "run", '{"command":"ls"}')]


def test_odd_types_and_flat_entries_are_functions() -> None:
    events = events_of(
        calls({"index": 0, "id": "a", "type": "builtin_function", "function": {"name": "$web", "arguments": "{}"}}),
        calls({"index": 1, "id": "b", "name": "run", "arguments": {"command": "ls"}}),
        chunk({}, "tool_calls"),
    )
    assert calls_of(events) == [("a", "$web", "{}"), ("b", "run", '{"command":"ls"}')]


def test_freeform_calls() -> None:
    events = events_of(
        calls({"index": 0, "id": "a", "type": "custom", "custom": {"name": "patch", "input": "***"}}),
        calls({"index": 0, "custom": {"input": " {"}}),
        chunk({}, "tool_calls"),
    )
    assert of_type(e.ToolCallStart, events)[0].kind == "custom"
    assert calls_of(events) == [("a", "patch", "*** {")]


@pytest.mark.parametrize(
    "members",
    [
        {"extra_content": {"google": {"thought_signature": "c2ln"}}},
        {"extra_content": {"vertex": {"thought_signature": "c2ln"}}},
        {"provider_specific_fields": {"thought_signature": "c2ln"}},
        {"thoughtSignature": "c2ln"},
    ],
)
def test_signatures_of_calls(members: dict[str, Any]) -> None:
    events = events_of(
        calls({"index": 0, "id": "c", "function": {"name": "run", "arguments": "{}"}, **members}), chunk({}, "stop")
    )
    assert of_type(e.ToolCallStart, events)[0].signature == Opaque("gemini", "signature", "c2ln")


def test_the_old_form_of_a_call() -> None:
    events = events_of(
        chunk({"function_call": {"name": "run", "arguments": ""}}),
        chunk({"function_call": {"name": "run", "arguments": '{"a":'}}),
        chunk({"function_call": {"arguments": "1}"}}, "function_call"),
    )
    ((id, name, arguments),) = calls_of(events)
    assert id
    assert (name, arguments) == ("run", '{"a":1}')
    assert isinstance(events[-1], e.ResponseEnd)
    assert events[-1].finish is FinishReason.TOOL_CALLS


def test_the_old_form_beside_the_new_one_only_repeats() -> None:
    call = {"name": "run", "arguments": "{}"}
    message = {
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": call}],
        "function_call": call,
    }
    assert calls_of(events_of_body(whole(message, "tool_calls"))) == [("c", "run", "{}")]


def test_calls_of_a_whole_answer_are_told_apart_by_their_places() -> None:
    call = {"type": "function", "function": {"name": "run", "arguments": "{}"}}
    events = events_of_body(whole({"content": None, "tool_calls": [call, call]}, "tool_calls"))
    first, second = calls_of(events)
    assert first[0] != second[0]
    assert first[1:] == second[1:] == ("run", "{}")


# ------------------------------------------------------------------ sources, images


def test_annotations() -> None:
    annotation = {
        "type": "url_citation",
        "url_citation": {"url": "https://e.org/a", "title": "A", "start_index": 0, "end_index": 6},
    }
    events = events_of(
        chunk({"content": "Hello."}), chunk({"annotations": [annotation]}), chunk({"annotations": [annotation]}, "stop")
    )
    (cited,) = of_type(e.CitationAdded, events)
    assert cited.citation == e.Citation(
        url="https://e.org/a", title="A", start=0, end=6, origin="chat", native=annotation
    )


def test_sources_of_the_whole_answer_come_once_and_after_text() -> None:
    sources: dict[str, Any] = {
        "citations": ["https://e.org/a", "https://e.org/b"],
        "search_results": [{"title": "A", "url": "https://e.org/a", "snippet": "about a"}],
    }
    events = events_of(chunk({}, **sources), chunk({"content": "Hi [1]."}, **sources), chunk({}, "stop", **sources))
    assert [event.citation for event in of_type(e.CitationAdded, events)] == [
        e.Citation(url="https://e.org/a", title="A", quote="about a"),
        e.Citation(url="https://e.org/b"),
    ]
    assert len(of_type(e.TextStart, events)) == 1


def test_images_come_once_and_sound_is_a_loss() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    upstream = Upstream().say(
        chunk({"content": "Look:", "images": [image], "audio": {"data": "AAAA"}}),
        chunk({"images": [image]}, "stop"),
        DONE,
    )
    assert of_type(e.Media, upstream.end()) == [e.Media(media_type="image/png", data="AAAA", origin="chat")]
    assert upstream.assembler.losses == {"audio": 1}


# ------------------------------------------------------------------ counts


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"usage": {"prompt_tokens": 10, "completion_tokens": 5}}, e.Usage(input=10, output=5)),
        ({"x_groq": {"usage": {"prompt_tokens": 10, "completion_tokens": 5}}}, e.Usage(input=10, output=5)),
        (
            {"choices": [{"delta": {}, "usage": {"prompt_tokens": 1, "completion_tokens": 2}}]},
            e.Usage(input=1, output=2),
        ),
    ],
)
def test_places_of_usage(members: dict[str, Any], expected: e.Usage) -> None:
    events = events_of(chunk({"content": "x"}, "stop"), chunk(**members))
    assert [event.usage for event in of_type(e.UsageUpdate, events)] == [expected]


def test_usage_is_set_never_added_and_unknown_is_unknown() -> None:
    totals = [{"prompt_tokens": 10, "completion_tokens": n} for n in (0, 3, 5)]
    events = events_of(
        chunk(usage={"prompt_tokens_details": {"cached_tokens": 4}}),
        *(chunk({"content": "x"}, usage=usage) for usage in totals),
        chunk({}, "stop", usage={"prompt_tokens": None, "completion_tokens": None}),
        chunk(usage={}),
    )
    (update,) = of_type(e.UsageUpdate, events)
    assert update.usage == e.Usage(input=10, output=5, cached=4)


# ------------------------------------------------------------------ finish


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("end_turn", FinishReason.STOP),
        ("STOP", FinishReason.STOP),
        ("no_such_word", FinishReason.STOP),
        ("MAX_TOKENS", FinishReason.LENGTH),
        ("length", FinishReason.LENGTH),
        ("sensitive", FinishReason.CONTENT_FILTER),
        ("SAFETY", FinishReason.CONTENT_FILTER),
    ],
)
def test_words_for_the_end(word: str, reason: FinishReason) -> None:
    end = events_of(chunk({"content": "x"}, word))[-1]
    assert end == e.ResponseEnd(finish=reason, raw=word, origin="chat")


@pytest.mark.parametrize("word", ["insufficient_system_resource", "network_error", "ABORT"])
def test_words_of_an_interruption_are_a_cut(word: str) -> None:
    end = events_of(chunk({"content": "x"}, word))[-1]
    assert isinstance(end, e.ResponseError)
    assert word in end.error.message


@pytest.mark.parametrize("word", ["error", "MALFORMED_FUNCTION_CALL"])
def test_words_of_a_failure_are_an_error(word: str) -> None:
    end = events_of(chunk({"content": "x"}, word))[-1]
    assert isinstance(end, e.ResponseError)
    assert end.error.kind is ErrorKind.BAD_UPSTREAM


def test_the_finish_in_camel_case() -> None:
    last = chunk({"content": "x"})
    last["choices"][0]["finishReason"] = "length"
    assert events_of(last)[-1] == e.ResponseEnd(finish=FinishReason.LENGTH, raw="length", origin="chat")


def test_a_stream_without_finish_and_done_is_cut() -> None:
    events = Upstream().say(chunk({"content": "Hel"})).end()
    assert text_of(events) == "Hel"
    assert isinstance(events[-1], e.ResponseError)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("value", "event"),
    [
        ({"error": {"message": "it broke", "code": 502}}, ""),
        ({"error": "it broke"}, ""),
        ({"error": {"message": "it broke"}, "choices": []}, ""),
        ([{"error": {"message": "it broke"}}], ""),
        ({"message": "it broke", "type": "server_error"}, "error"),
        ("it broke", "error"),
        (b"it broke", "error"),
        ({"object": "error", "message": "it broke", "code": 500}, ""),
        ({"type": "error", "message": "it broke"}, ""),
        ({"choices": [{"delta": {}, "finish_reason": "error", "error": {"message": "it broke"}}]}, ""),
        ({"choices": None, "base_resp": {"status_code": 1008, "status_msg": "it broke"}}, ""),
    ],
)
def test_errors_wherever_they_stand(value: Any, event: str) -> None:
    events = Upstream().say(value, event=event).say(DONE).end()
    assert len(events) == 1
    assert isinstance(events[0], e.ResponseError)
    assert events[0].error.message == "it broke"


@pytest.mark.parametrize("empty", [None, "", {}, False, {"message": None}, []])
def test_empty_errors_are_none(empty: Any) -> None:
    value = chunk({"content": "x"}, "stop", error=empty, base_resp={"status_code": 0, "status_msg": "success"})
    assert text_of(events_of(value)) == "x"


def test_an_error_after_the_finish_does_not_undo_the_answer() -> None:
    events = events_of(chunk({"content": "x"}, "stop"), {"error": {"message": "too late"}})
    assert isinstance(events[-1], e.ResponseEnd)


def test_corrupt_json_is_an_error_but_events_of_another_kind_are_not() -> None:
    assert isinstance(events_of(chunk({"content": "x"}), b'{"choices": [')[-1], e.ResponseError)
    upstream = Upstream().say(chunk({"content": "x"}, "stop")).say(b"tick", event="ping")
    upstream.say({"tool": "web", "status": "running"}, event="tool.progress").say(DONE)
    assert isinstance(upstream.end()[-1], e.ResponseEnd)


# ------------------------------------------------------------------ whole answers


def test_a_whole_answer() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": '{"a":1}'}}
    message = {
        "role": "assistant",
        "content": "Look.",
        "reasoning_content": "Hm.",
        "tool_calls": [call],
        "refusal": None,
    }
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    events = events_of_body(whole(message, "tool_calls", usage=usage))
    assert (text_of(events), thoughts_of(events)) == ("Look.", "Hm.")
    assert calls_of(events) == [("c", "run", '{"a":1}')]
    assert events[-1] == e.ResponseEnd(finish=FinishReason.TOOL_CALLS, raw="tool_calls", origin="chat")


def test_a_whole_answer_is_complete_by_itself() -> None:
    assert events_of_body(whole({"content": "x"}, None))[-1] == e.ResponseEnd(finish=FinishReason.STOP, origin="chat")


@pytest.mark.parametrize("name", ["data", "result"])
def test_a_known_envelope_is_opened(name: str) -> None:
    assert text_of(events_of_body({name: whole({"content": "x"}), "success": True})) == "x"


@pytest.mark.parametrize("body", [{"choices": []}, {"id": "x"}, {}, [], "text", None, {"choices": None}])
def test_no_choice_is_no_answer(body: Any) -> None:
    events = events_of_body(body)
    assert len(events) == 1
    assert isinstance(events[0], e.ResponseError)
    assert events[0].error.kind is ErrorKind.BAD_UPSTREAM


def test_an_error_as_a_whole_answer() -> None:
    (event,) = events_of_body({"error": {"message": "no quota", "type": "insufficient_quota"}})
    assert isinstance(event, e.ResponseError)
    assert event.error.kind is ErrorKind.BILLING


# ------------------------------------------------------------------ quirks


def _choice(**members: Any) -> dict[str, Any]:
    return chunk(choices=[{"index": 0, "delta": {"content": "x"}, "finish_reason": None, **members}])


QUIRKY: dict[str, Any] = {
    "answer-wrapped": {"data": chunk({"content": "x"})},
    "chunk-in-array": [chunk({"content": "x"})],
    "content-cumulative": [chunk({"content": "a long text" + "x" * n}) for n in range(4)],
    "content-parts": chunk({"content": [{"type": "text", "text": "x"}]}),
    "finish-camel-case-key": _choice(finishReason="stop"),
    "finish-foreign-word": _choice(finish_reason="end_turn"),
    "finish-unknown-word": _choice(finish_reason="weird"),
    "legacy-function-call": chunk({"function_call": {"name": "run", "arguments": "{}"}}),
    "message-instead-of-delta": _choice(delta=None, message={"content": "x"}),
    "thought-mark": chunk({"content": "x", "extra_content": {"google": {"thought": True}}}),
    "usage-in-choice": _choice(usage={"prompt_tokens": 1, "completion_tokens": 1}),
}


@pytest.mark.parametrize("slug", QUIRKS)
def test_each_quirk_is_noted(slug: str) -> None:
    value = QUIRKY[slug]
    upstream = Upstream().say(*(value if slug == "content-cumulative" else [value]), DONE)
    upstream.end()
    assert slug in upstream.assembler.quirks


def test_a_well_formed_stream_has_no_quirk() -> None:
    upstream = Upstream().say(
        chunk({"role": "assistant", "content": ""}), chunk({"content": "x"}), chunk({}, "stop"), DONE
    )
    upstream.end()
    assert upstream.assembler.quirks == {}


def test_plain_reasoning_after_a_proof_is_another_block() -> None:
    signed = {"type": "reasoning.text", "text": "A", "signature": "1", "format": "anthropic-claude-v1"}
    events = events_of(
        chunk({"reasoning_details": [signed]}), chunk({"reasoning_content": "B"}), chunk({"content": "x"}, "stop")
    )
    assert [end.opaque for end in of_type(e.ReasoningEnd, events)] == [(Opaque("messages", "signature", "1"),), ()]
