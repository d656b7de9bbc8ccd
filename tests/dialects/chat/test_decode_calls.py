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
    text_of,
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


def test_images_come_once() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    upstream = Upstream().say(
        chunk({"content": "Look:", "images": [image]}),
        chunk({"images": [image]}, "stop"),
        DONE,
    )
    assert of_type(e.Media, upstream.end()) == [e.Media(media_type="image/png", data="AAAA", origin="chat")]


def _sound(data: str, kind: str, **beside: Any) -> e.Media:
    return e.Media(media_type=kind, data=data, origin="chat", native={"transcript": "Hi.", **beside})


@pytest.mark.parametrize(
    ("pieces", "data", "kind"),
    [
        (["UklGRg==", "AAAA"], "UklGRgAAAA==", "audio/wav"),  # each piece has an end of its own
        (["UklGR", "gAA"], "UklGRgAA", "audio/wav"),  # it is cut anywhere
        (["AAAA"], "AAAA", "audio/pcm;rate=24000"),
    ],
)
def test_sound_comes_whole_and_its_transcript_is_the_text(pieces: list[str], data: str, kind: str) -> None:
    deltas: list[dict[str, Any]] = [{"audio": {"id": "a_1"}}, *({"audio": {"data": piece}} for piece in pieces)]
    last: list[dict[str, Any]] = [
        {"audio": {"transcript": "Hi"}},
        {"audio": {"transcript": "."}},
        {"audio": {"expires_at": 9}},
    ]
    events = events_of(*[chunk(delta) for delta in (*deltas, *last)], chunk({}, "stop"))
    assert (text_of(events), of_type(e.Media, events)) == ("Hi.", [_sound(data, kind, id="a_1", expires_at=9)])
    beside = events_of(*[chunk(delta) for delta in (*deltas, *last)], chunk({"content": "Hello"}, "stop"))
    assert (text_of(beside), len(of_type(e.Media, beside))) == ("Hello", 1)


def test_half_a_sound_is_a_loss_and_its_transcript_is_not() -> None:
    upstream = Upstream().say(chunk({"audio": {"data": "AAAA", "transcript": "Hi."}}))
    events = upstream.end()
    assert (text_of(events), of_type(e.Media, events)) == ("Hi.", [])
    assert of_type(e.TextDelta, events)[0].native is None
    assert upstream.assembler.losses == {"audio": 1}


# ------------------------------------------------------------------ elsewhere than in the delta


@pytest.mark.parametrize(
    "item",
    [
        {"text": "Hi"},
        {"text": "Hi", "delta": {}},
        {"delta": "Hi"},
        {"message": "Hi"},
        {"delta": {"content": "Hi"}, "text": "Hi"},
    ],
)
def test_text_elsewhere_than_in_the_delta(item: Any) -> None:
    assert text_of(events_of(chunk(choices=[{"index": 0, **item}]), chunk({}, "stop"))) == "Hi"


CALL: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "run", "arguments": '{"a":'}}
REST: dict[str, Any] = {"index": 0, "function": {"arguments": "1}"}}


@pytest.mark.parametrize(
    "items",
    [
        ({"delta": {}, "tool_calls": [{"index": 0, **CALL}]}, {"tool_calls": [REST]}),
        ({"delta": {"content": ""}, "tool_calls": [{"index": 0, **CALL}]}, {"delta": {"tool_calls": [REST]}}),
        ({"delta": {"tool_calls": {"0": CALL}}}, {"delta": {"tool_calls": {"0": {"function": REST["function"]}}}}),
        ({"delta": {"tool_calls": {"index": 0, **CALL}}}, {"delta": {"tool_calls": REST}}),
    ],
)
def test_calls_elsewhere_than_in_the_delta(items: tuple[Any, ...]) -> None:
    events = events_of(*(chunk(choices=[{"index": 0, **item}]) for item in items), chunk({}, "tool_calls"))
    assert calls_of(events) == [("c", "run", '{"a":1}')]


def test_calls_that_the_choice_repeats_come_once() -> None:
    call = {"index": 0, **CALL, "function": {"name": "run", "arguments": "{}"}}
    events = events_of(
        chunk(choices=[{"index": 0, "delta": {"tool_calls": [call]}, "tool_calls": [call]}]), chunk({}, "stop")
    )
    assert calls_of(events) == [("c", "run", "{}")]


@pytest.mark.parametrize(
    ("value", "loss"),
    [
        (chunk({"tool_calls": ["run"]}), "a call that is no object"),
        (chunk(choices=[{"index": 0, "delta": ["Hi"]}]), "a delta that is no object"),
        ({"content": "Hi", "stop": False}, "content outside of choices"),
    ],
)
def test_what_cannot_be_read_is_a_loss(value: Any, loss: str) -> None:
    upstream = Upstream().say(value, chunk({"content": "x"}, "stop"), DONE)
    assert text_of(upstream.end()) == "x"
    assert upstream.assembler.losses == {loss: 1}


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
