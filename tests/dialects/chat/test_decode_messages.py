"""Messages after deltas are snapshots: they supply what is missing, and deltas win (design/streams.md, 4)."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.opaque import Opaque

from .driving import DONE, JSON, Upstream, calls, calls_of, chunk, events_of_body, of_type, text_of, thoughts_of, whole

ARGUMENTS = '{"city":"Paris"}'


def call(id: str | None = "c", arguments: Any = ARGUMENTS, name: str = "get_weather", **members: Any) -> JSON:
    own = {} if id is None else {"id": id}
    return {**own, "type": "function", "function": {"name": name, "arguments": arguments}, **members}


def closing(finish: str = "stop", delta: JSON | None = None, **message: Any) -> JSON:
    last = chunk(delta, finish)
    last["choices"][0]["message"] = {"role": "assistant", **message}
    return last


def told(*values: Any) -> tuple[str, str, list[tuple[str, str, str]], dict[str, int]]:
    upstream = Upstream().say(*values, DONE)
    events = upstream.end()
    assert isinstance(events[-1], e.ResponseEnd)
    assert upstream.assembler.losses == {}
    return thoughts_of(events), text_of(events), calls_of(events), upstream.assembler.quirks


SUPPLIED = {"message-instead-of-delta": 1}
THE_CALL = ("c", "get_weather", ARGUMENTS)

# ------------------------------------------------------------------ calls


@pytest.mark.parametrize("delta", [{"content": "Look."}, {"reasoning_content": "Hm."}, {"refusal": "No."}])
def test_a_call_that_only_the_message_has(delta: JSON) -> None:
    _, _, found, quirks = told(chunk(delta), closing("tool_calls", tool_calls=[call()]))
    assert found == [THE_CALL]
    assert quirks == SUPPLIED


@pytest.mark.parametrize(
    ("first", "listed"),
    [
        ({"index": 0, **call()}, [call()]),
        ({"index": 0, **call()}, [call(id=None)]),
        ({"index": 1, **call()}, [call(id="other")]),  # ids rotate, the arguments agree
        ({"index": 0, **call(id=None)}, [call(id=None)]),
        (call(id=None), [call(id=None)]),
        ({"index": 3, **call(id=None)}, [call(id=None, index=3)]),
        ({"index": 0, **call(name="functions.get_weather")}, [call(id=None)]),
        ({"index": 0, **call(arguments={"city": "Paris"})}, [call(arguments='{"city": "Paris"}')]),
        ({"index": 0, **call(arguments='"{\\"city\\":\\"Paris\\"}"')}, [call()]),
    ],
)
def test_a_call_that_the_message_repeats_comes_once(first: JSON, listed: list[JSON]) -> None:
    _, _, ((_, name, arguments),), quirks = told(calls(first), closing("tool_calls", tool_calls=listed))
    assert (name, arguments) == ("get_weather", ARGUMENTS)
    assert not quirks.keys() & {"snapshot-differs", "message-instead-of-delta", "call-echo"}


@pytest.mark.parametrize("id", ["c", None])
@pytest.mark.parametrize("index", [0, 1, None])
@pytest.mark.parametrize("cut", [0, 1, 5, len(ARGUMENTS)])
def test_the_rest_of_arguments(id: str | None, index: int | None, cut: int) -> None:
    first = calls({"index": index, **call(id, ARGUMENTS[:cut])})
    _, _, ((_, name, arguments),), quirks = told(first, closing("tool_calls", tool_calls=[call(id)]))
    assert (name, arguments) == ("get_weather", ARGUMENTS)
    assert ("message-instead-of-delta" in quirks) is (cut < len(ARGUMENTS))


@pytest.mark.parametrize("told_so_far", ['{"city": "Par', '{"city":"Par'])
def test_the_rest_of_arguments_where_the_message_has_an_object(told_so_far: str) -> None:
    first = calls({"index": 0, **call(arguments=told_so_far)})
    _, _, ((_, _, arguments),), quirks = told(
        first, closing("tool_calls", tool_calls=[call(arguments={"city": "Paris"})])
    )
    assert arguments == told_so_far + 'is"}'
    assert quirks == SUPPLIED


def test_the_name_and_the_signature_that_no_delta_had() -> None:
    signed = call(extra_content={"google": {"thought_signature": "c2ln"}})
    upstream = Upstream().say(calls({"index": 0, "id": "c", "function": {"arguments": ARGUMENTS}}))
    events = upstream.say(closing("tool_calls", tool_calls=[signed]), DONE).end()
    assert calls_of(events) == [THE_CALL]
    assert of_type(e.ToolCallEnd, events)[0].signature == Opaque("gemini", "signature", "c2ln", via="chat")


@pytest.mark.parametrize("ids", [("a", "b"), (None, None)])
def test_the_second_call_that_only_the_message_has(ids: tuple[str | None, str | None]) -> None:
    rome = '{"city":"Rome"}'
    listed = [call(ids[0]), call(ids[1], rome)]
    _, text, found, _ = told(
        chunk({"content": "Lo"}),
        calls({"index": 0, **call(ids[0])}),
        closing("tool_calls", content="Look.", tool_calls=listed),
    )
    assert text == "Look."
    assert [arguments for _, _, arguments in found] == [ARGUMENTS, rome]


def test_ids_come_before_places() -> None:
    listed = [call("b", "{}", name="run"), call("a")]
    _, _, found, _ = told(calls({"index": 0, **call("a")}), closing("tool_calls", tool_calls=listed))
    assert found == [("a", "get_weather", ARGUMENTS), ("b", "run", "{}")]


def test_another_id_with_other_arguments_is_another_call() -> None:
    _, _, found, _ = told(
        calls({"index": 0, **call("a")}), closing("tool_calls", tool_calls=[call("b", '{"city":"Rome"}')])
    )
    assert [id for id, _, _ in found] == ["a", "b"]


def test_arguments_that_contradict_the_deltas_are_counted_only() -> None:
    _, _, found, quirks = told(
        calls({"index": 0, **call()}), closing("tool_calls", tool_calls=[call(arguments='{"city":"Rome"}')])
    )
    assert found == [THE_CALL]
    assert quirks == {"snapshot-differs": 1}


@pytest.mark.parametrize("place", ["choice", "chunk"])
@pytest.mark.parametrize("streamed", [[], [call()]])
def test_calls_beside_the_deltas_are_read_and_never_twice(place: str, streamed: list[JSON]) -> None:
    first = chunk({"content": "Look."}) if not streamed else calls({"index": 0, **streamed[0]})
    last = chunk({}, "tool_calls")
    (last if place == "chunk" else last["choices"][0])["tool_calls"] = [call(), call("d", "{}", "run")]
    _, _, found, quirks = told(first, last)
    assert found == [THE_CALL, ("d", "run", "{}")]
    assert quirks == {"member-misplaced": 1}


def test_calls_beside_no_choices_are_read() -> None:
    _, text, found, _ = told(
        chunk({"content": "Look."}), chunk(choices=[], tool_calls=[call()]), chunk({}, "tool_calls")
    )
    assert (text, found) == ("Look.", [THE_CALL])


def test_the_old_form_in_a_message_repeats_the_new_one() -> None:
    old = {"name": "get_weather", "arguments": ARGUMENTS}
    assert told(calls({"index": 0, **call()}), closing("tool_calls", function_call=old))[2] == [THE_CALL]
    assert told(chunk({"content": "Look."}), closing("function_call", function_call=old))[2][0][1:] == THE_CALL[1:]


# ------------------------------------------------------------------ text and reasoning


@pytest.mark.parametrize(
    ("deltas", "message", "expected"),
    [
        ([{"content": "Hel"}], {"content": "Hello"}, ("", "Hello")),
        ([{"content": "Hello"}], {"content": "Hello"}, ("", "Hello")),
        ([{"content": "Hel"}], {"content": [{"type": "text", "text": "Hel"}, "lo"]}, ("", "Hello")),
        ([{"content": "ha"}, {"content": "haha"}], {"content": "hahaha!"}, ("", "hahaha!")),
        ([{"content": "Hel"}, {"content": "Hello"}], {"content": "Hello."}, ("", "Hello.")),  # cumulative
        ([{"content": "\ud83d"}], {"content": "\U0001f600!"}, ("", "\U0001f600!")),
        ([{"content": "\ud83d"}, {"content": "\ude00"}], {"content": "\U0001f600!"}, ("", "\U0001f600!")),
        ([{"reasoning_content": "Hm"}], {"reasoning_content": "Hmm.", "content": "Hi"}, ("Hmm.", "Hi")),
        ([{"content": "Hel"}], {"reasoning": "Hm.", "content": "Hello"}, ("Hm.", "Hello")),
        ([{"content": "<think>Hm"}], {"content": "<think>Hm.</think>\n\nHi"}, ("Hm.", "Hi")),
        ([{"content": "<think>Hm.</think>Hel"}], {"reasoning": "Hm.", "content": "Hello"}, ("Hm.", "Hello")),
        ([{"content": "<think>Hm.</think>\n\nHel"}], {"reasoning": "Hm.", "content": "\n\nHello"}, ("Hm.", "Hello")),
        ([{"reasoning": "Hm."}, {"content": "Hel"}], {"content": "<think>Hm.</think>Hello"}, ("Hm.", "Hello")),
        ([{"reasoning": "Hm."}, {"content": "<think>Hel"}], {"content": "<think>Hello"}, ("Hm.", "<think>Hello")),
        ([{"content": "<th"}], {"content": "<think>Hm.</think>Hi"}, ("Hm.", "Hi")),
        ([{"content": "Hel"}], {"content": "Hello", "refusal": None, "tool_calls": []}, ("", "Hello")),
    ],
)
def test_the_rest_of_text_and_reasoning(deltas: list[JSON], message: JSON, expected: tuple[str, str]) -> None:
    thought, text, found, quirks = told(*map(chunk, deltas), closing(**message))
    assert (thought, text, found) == (*expected, [])
    assert "snapshot-differs" not in quirks


def test_the_rest_of_a_refusal() -> None:
    upstream = Upstream().say(chunk({"refusal": "I can"}), closing(refusal="I cannot."), DONE)
    events = upstream.end()
    assert text_of(events) == "I cannot."
    assert [start.refusal for start in of_type(e.TextStart, events)] == [True]


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        ({"content": "Hello"}, {"content": "Goodbye"}),
        ({"reasoning": "Hm."}, {"reasoning": "So."}),
        ({"refusal": "No."}, {"refusal": "Never."}),
    ],
)
def test_what_contradicts_the_deltas_is_counted_only(delta: JSON, message: JSON) -> None:
    thought, text, _, quirks = told(chunk(delta), closing(**message))
    assert thought + text == next(iter(delta.values()))
    assert quirks == {"snapshot-differs": 1}


def test_a_message_may_repeat_each_delta_or_all_of_them_so_far() -> None:
    for so_far in (False, True):
        text, values = "", []
        for piece in ("Hel", "lo", " you"):
            text += piece
            values.append(closing("", {"content": piece}, content=text if so_far else piece))
        assert told(*values, chunk({}, "stop")) == ("", "Hello you", [], {})


def test_the_proof_that_only_the_message_has() -> None:
    detail = {"type": "reasoning.text", "text": "Hm.", "signature": "c2ln", "format": "anthropic-claude-v1", "index": 0}
    upstream = Upstream().say(chunk({"reasoning": "Hm."}), closing(reasoning="Hm.", reasoning_details=[detail]), DONE)
    events = upstream.end()
    assert thoughts_of(events) == "Hm."
    assert [end.opaque for end in of_type(e.ReasoningEnd, events)] == [
        (Opaque("messages", "signature", "c2ln", via="chat"),)
    ]


def test_proofs_that_deltas_had_come_once() -> None:
    detail = {"type": "reasoning.text", "text": "Hm.", "signature": "c2ln", "format": "anthropic-claude-v1", "index": 0}
    events = Upstream().say(chunk({"reasoning_details": [detail]}), closing(reasoning_details=[detail]), DONE).end()
    assert thoughts_of(events) == "Hm."
    assert [len(end.opaque) for end in of_type(e.ReasoningEnd, events)] == [1]


def test_what_stands_beside_the_text_comes_once() -> None:
    beside: JSON = {
        "images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}],
        "annotations": [{"type": "url_citation", "url_citation": {"url": "https://e.org"}}],
    }
    events = Upstream().say(chunk({"content": "Hi", **beside}), closing(content="Hi", **beside), DONE).end()
    assert len(of_type(e.Media, events)) == len(of_type(e.CitationAdded, events)) == 1


@pytest.mark.parametrize("streamed", [True, False])
def test_a_signature_of_the_text_comes_once(streamed: bool) -> None:
    signed: JSON = {"content": "Hi", "extra_content": {"google": {"thought_signature": "c2ln"}}}
    first = chunk(signed if streamed else {"content": "Hi"})
    events = Upstream().say(first, closing(**signed), DONE).end()
    assert [end.signature is not None for end in of_type(e.TextEnd, events)] == [True]


def test_sound_that_deltas_brought_is_not_doubled() -> None:
    audio = {"id": "a", "data": "UklGRgAA", "transcript": "Hi"}
    for first in ({"audio": audio}, {"content": "Hi"}):
        (media,) = of_type(e.Media, Upstream().say(chunk(first), closing(audio=audio), DONE).end())
        assert media.data == "UklGRgAA"


def test_a_delta_that_is_a_text_is_a_delta() -> None:
    bare = chunk(choices=[{"index": 0, "delta": "lo"}])
    assert told(chunk({"content": "Hel"}), bare, chunk({}, "stop")) == ("", "Hello", [], {"member-misplaced": 1})


def test_text_beside_the_deltas_is_a_snapshot() -> None:
    last = chunk({}, "stop")
    last["choices"][0]["text"] = "Hello"
    assert told(chunk({"content": "Hel"}), last) == ("", "Hello", [], {"member-misplaced": 1})


@pytest.mark.parametrize(
    ("beside", "losses"), [("lo", {}), ("Hello", {}), ("Other", {"response outside of choices": 1})]
)
def test_text_beside_the_choices_is_a_loss_unless_they_say_it(beside: str, losses: dict[str, int]) -> None:
    upstream = Upstream().say(chunk({"content": "Hel"}), chunk({"content": "lo"}, "stop", response=beside), DONE)
    assert text_of(upstream.end()) == "Hello"
    assert upstream.assembler.losses == losses


# ------------------------------------------------------------------ members of a call


FORMS: list[JSON] = [
    {"function": {"name": "get_weather", "parameters": {"city": "Paris"}}},
    {"function": {"name": "get_weather", "parameters": ARGUMENTS}},
    {"function": {"name": "get_weather", "arguments": "", "args": {"city": "Paris"}}},
    {"function": {"name": "get_weather", "arguments": "{}", "parameters": {"city": "Paris"}}},
    {"function": {"name": "get_weather", "input": {"city": "Paris"}}},
    {"function": {"name": "get_weather"}, "arguments": ARGUMENTS},
    {"name": "get_weather", "parameters": {"city": "Paris"}},
    {"name": "get_weather", "args": {"city": "Paris"}, "type": "tool_call"},
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("streamed", [True, False])
def test_arguments_in_another_member(form: JSON, streamed: bool) -> None:
    upstream = Upstream()
    if streamed:
        upstream.say(calls({"index": 0, "id": "c", **form}), chunk({}, "tool_calls"), DONE)
    else:
        upstream.decoder.decode_body(whole({"content": None, "tool_calls": [{"id": "c", **form}]}, "tool_calls"))
    assert calls_of(upstream.end()) == [THE_CALL]
    assert upstream.assembler.quirks == {"args-in-other-member": 1}
    assert upstream.assembler.losses == {}


def test_arguments_in_another_member_of_the_old_form() -> None:
    message = {"content": None, "function_call": {"name": "get_weather", "parameters": {"city": "Paris"}}}
    assert calls_of(events_of_body(whole(message, "function_call")))[0][1:] == THE_CALL[1:]


def test_arguments_in_another_member_in_fragments() -> None:
    header = {"index": 0, "id": "c", "function": {"name": "get_weather", "parameters": ARGUMENTS[:5]}}
    rest = {"index": 0, "function": {"parameters": ARGUMENTS[5:]}}
    assert told(calls(header), calls(rest), chunk({}, "tool_calls"))[2] == [THE_CALL]


@pytest.mark.parametrize(
    ("form", "arguments", "lost"),
    [
        ({"function": {"name": "run", "values": {"a": 1}}}, "{}", "values"),
        ({"function": {"name": "run", "arguments": "", "values": '{"a": 1}'}}, "{}", "values"),
        ({"function": {"name": "run"}, "values": {"a": 1}}, "{}", "values"),
        ({"function": {"name": "run", "arguments": '{"b":1}', "parameters": {"a": 1}}}, '{"b":1}', "parameters"),
    ],
)
def test_what_may_be_arguments_is_never_lost_in_silence(form: JSON, arguments: str, lost: str) -> None:
    upstream = Upstream().say(calls({"index": 0, "id": "c", **form}), chunk({}, "tool_calls"), DONE)
    assert calls_of(upstream.end()) == [("c", "run", arguments)]
    assert upstream.assembler.losses == {f"member {lost} of a call": 1}


def test_other_members_of_a_call_are_no_loss() -> None:
    form = {
        "function": {"name": "run", "arguments": '{"a":1}', "parameters": {"a": 1}, "strict": True},
        "status": "done",
    }
    assert told(calls({"index": 0, "id": "c", **form}), chunk({}, "tool_calls"))[2] == [("c", "run", '{"a":1}')]
    bare = {"function": {"name": "run", "description": "{}", "arguments": None}, "extra_content": {"google": {}}}
    assert told(calls({"index": 0, "id": "c", **bare}), chunk({}, "tool_calls"))[2] == [("c", "run", "{}")]
