"""Calls, sources, images and counts in chunks."""

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
    whole,
)

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
    assert of_type(e.ToolCallStart, events)[0].signature == Opaque("gemini", "signature", "c2ln", via="chat")


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
