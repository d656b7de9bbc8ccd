"""Requests of other dialects' clients, built for an upstream of this one: the history."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical.opaque import Opaque
from dragoman.canonical.request import (
    Audio,
    Document,
    Image,
    Message,
    Native,
    Part,
    Reasoning,
    Refusal,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.dialects.contract import Facts
from dragoman.exceptions import InvalidRequest
from dragoman.history import LEFT_OUT

from .driving import HI, JSON, rendered


def items(*messages: Message, facts: Facts | None = None) -> list[JSON]:
    return list(rendered(*messages, facts=facts or Facts()).body["input"])


def user(*parts: Part) -> Message:
    return Message(Role.USER, parts)


def assistant(*parts: Part) -> Message:
    return Message(Role.ASSISTANT, parts)


def said(role: str, text: str) -> JSON:
    kind = "output_text" if role == "assistant" else "input_text"
    more: JSON = {"annotations": []} if role == "assistant" else {}
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text, **more}]}


def test_a_plain_request() -> None:
    made = rendered()
    assert (made.path, made.losses) == ("/responses", ())
    assert made.body == {
        "model": "m",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
        "store": False,
    }


def test_system_text_leads_as_instructions_and_stays_in_its_place_later() -> None:
    first, rules = Message(Role.SYSTEM, (Text(text="A"),)), Message(Role.DEVELOPER, (Text(text="B"),))
    late = Message(Role.SYSTEM, (Text(text="C"),))
    body = rendered(first, rules, HI, late, assistant(Text(text="D"))).body
    assert body["instructions"] == "A\n\nB"
    assert body["input"] == [said("user", "Hi"), said("developer", "C"), said("assistant", "D")]


def test_an_upstream_without_system_turns_gets_them_as_marked_text() -> None:
    late = Message(Role.SYSTEM, (Text(text="C"),))
    made = rendered(HI, late, facts=Facts(mid_conversation_system=False))
    assert made.body["input"] == [said("user", "Hi"), said("user", "<system>\nC\n</system>")]
    assert [loss.path for loss in made.losses] == ["messages[1].parts[0]"]


def test_what_cannot_be_an_instruction_is_a_loss() -> None:
    made = rendered(Message(Role.SYSTEM, (Text(text="A"), Image(url="https://a"))), HI)
    assert (made.body["instructions"], [loss.path for loss in made.losses]) == ("A", ["messages[0].parts[1]"])


def test_the_turns_of_a_tool_loop() -> None:
    result = ToolResult(id="c1", parts=(Text(text="18 C"),))
    found = items(
        HI,
        assistant(Text(text="Checking."), ToolCall(id="c1", name="run", arguments='{"a": 1}')),
        user(result, Text(text="Thanks")),
        assistant(Refusal(text="No.")),
    )
    assert found[1:] == [
        said("assistant", "Checking."),
        {"type": "function_call", "call_id": "c1", "name": "run", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "18 C"},
        said("user", "Thanks"),
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ]


def test_a_call_without_a_result_has_an_error() -> None:
    made = rendered(HI, assistant(ToolCall(id="c1", name="run", arguments="{}")))
    assert made.body["input"][-1]["type"] == "function_call_output"
    assert made.body["input"][-1]["output"].startswith("Error")
    assert [loss.path for loss in made.losses] == ["messages[1].parts[0]"]


def test_the_last_turn_of_the_assistant_is_continued_where_there_is_no_prefill() -> None:
    found = items(HI, assistant(Text(text="So ")), facts=Facts(assistant_prefill=False))
    assert found[1:] == [said("assistant", "So "), said("user", "Continue.")]


@pytest.mark.parametrize(
    ("arguments", "sent"), [("", "{}"), ("{a", '{"INVALID_JSON":"{a"}'), ("[]", '{"INVALID_JSON":"[]"}')]
)
def test_arguments_of_the_history_are_objects(arguments: str, sent: str) -> None:
    assert items(assistant(ToolCall(id="c", name="run", arguments=arguments)))[0]["arguments"] == sent


def test_freeform_calls_keep_their_text() -> None:
    call = ToolCall(id="c", name="patch", arguments="*** {", kind="custom")
    result = ToolResult(id="c", parts=(Text(text="ok"),), kind="custom")
    assert items(assistant(call), user(result)) == [
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** {"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
    ]


@pytest.mark.parametrize(
    ("parts", "error", "output"),
    [
        ((), False, ""),
        ((Text(text="a"),), True, "Error: a"),
        ((Text(text="Error 7"),), True, "Error 7"),
        ((), True, "Error"),
        (
            (Text(text="a"), Text(text="b")),
            False,
            [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
        ),
        (
            (Image(media_type="image/png", data="aGk="),),
            False,
            [{"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="}],
        ),
    ],
)
def test_results(parts: Any, error: bool, output: Any) -> None:
    call = ToolCall(id="c", name="run", arguments="{}")
    assert items(assistant(call), user(ToolResult(id="c", parts=parts, error=error)))[1]["output"] == output


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        (Image(url="https://a", detail="low"), {"type": "input_image", "detail": "low", "image_url": "https://a"}),
        (Image(file_id="f", origin="chat"), {"type": "input_image", "detail": "auto", "file_id": "f"}),
        (
            Document(media_type="application/pdf", name="a.pdf", data="aGk="),
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
        ),
        (
            Document(media_type="text/csv", data="aGk="),
            {"type": "input_file", "filename": "document.csv", "file_data": "data:text/csv;base64,aGk="},
        ),
        (Document(url="https://a"), {"type": "input_file", "file_url": "https://a"}),
        (Document(file_id="f", origin="responses"), {"type": "input_file", "file_id": "f"}),
        (Document(name="a.txt", text="hello"), {"type": "input_text", "text": "a.txt:\nhello"}),
        (
            Audio(media_type="audio/wav", data="aGk="),
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        ),
    ],
)
def test_contents(part: Part, sent: JSON) -> None:
    assert items(user(part))[0]["content"] == [sent]


def test_contents_without_a_form_are_losses() -> None:
    foreign = Native(origin="gemini", value={"x": 1})
    made = rendered(user(foreign, Audio(media_type="audio/ogg", data="x")), assistant(foreign))
    (left,) = made.body["input"]  # the user's turn was a turn all the same: the API refuses an empty conversation
    assert left["content"] == [{"type": "input_text", "text": LEFT_OUT}]
    assert [loss.path for loss in made.losses] == [
        "messages[0].parts[0]",
        "messages[0].parts[1]",
        "messages[1].parts[0]",
    ]


def test_a_file_of_another_provider_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="another provider"):
        rendered(user(Image(file_id="f", origin="messages")))


def test_sounds_of_a_result_follow_it() -> None:
    call, sound = ToolCall(id="c", name="run", arguments="{}"), Audio(media_type="audio/wav", data="aGk=")
    made = rendered(assistant(call), user(ToolResult(id="c", parts=(Text(text="ok"), sound))))
    assert made.body["input"][1]["output"] == "ok"
    assert [part["type"] for part in made.body["input"][2]["content"]] == ["input_text", "input_audio"]
    assert [loss.path for loss in made.losses] == ["messages[1].parts[0]"]


def test_cache_markers_are_losses_at_their_places() -> None:
    mark = {"type": "ephemeral"}
    call = ToolCall(id="c", name="run", arguments="{}")
    made = rendered(
        Message(Role.SYSTEM, (Text(text="A", cache=mark),)),
        user(Text(text="Hi", cache=mark)),
        assistant(call),
        user(ToolResult(id="c", parts=(Text(text="ok"),), cache=mark)),
    )
    assert [loss.path for loss in made.losses] == [
        "messages[0].parts[0].cache",
        "messages[1].parts[0].cache",
        "messages[3].parts[0].cache",
    ]


def test_more_turns_leave_the_items_before_them_as_they_were() -> None:
    call = ToolCall(id="", name="run", arguments="{}")
    turns = [HI, assistant(Reasoning(text="Hm."), call), user(ToolResult(id="", parts=(Text(text="ok"),)))]
    plain = Facts(signing_upstream=False)
    before, after = items(*turns, facts=plain), items(*turns, assistant(call), HI, facts=plain)
    assert after[: len(before)] == before


# ---- reasoning


def test_only_own_proofs_go_back() -> None:
    own = Opaque("responses", "encrypted", "RU5D", "rs_1")
    made = rendered(
        assistant(
            Reasoning(text="Plan.", summary=True, opaque=(own, Opaque("responses", "encrypted", "RU5E"))),
            Reasoning(text="Secret.", opaque=(Opaque("messages", "signature", "c2ln"),)),
            Reasoning(text="Unsigned."),
        )
    )
    assert made.body["input"] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Plan."}],
            "encrypted_content": "RU5D",
        },
        {"type": "reasoning", "summary": [], "encrypted_content": "RU5E"},
    ]
    assert made.body["include"] == ["reasoning.encrypted_content"]
    assert [loss.path for loss in made.losses] == ["messages[0].parts[1]", "messages[0].parts[2]"]


@pytest.mark.parametrize("facts", [Facts(signing_upstream=False), Facts(wants_reasoning=True)])
def test_reasoning_goes_back_as_text_to_who_takes_it(facts: Facts) -> None:
    foreign = Reasoning(text="Secret.", opaque=(Opaque("messages", "signature", "c2ln"),))
    summary = Reasoning(text="Plan.", summary=True)
    made = rendered(assistant(foreign, summary, Reasoning()), facts=facts)
    first, second = made.body["input"]
    assert (first["summary"], first["content"]) == ([], [{"type": "reasoning_text", "text": "Secret."}])
    assert (second["summary"], second["content"]) == ([{"type": "summary_text", "text": "Plan."}], [])
    assert first["id"].startswith("rs_")
    assert first["id"] != second["id"]
    assert [loss.path for loss in made.losses] == ["messages[0].parts[0]"]
