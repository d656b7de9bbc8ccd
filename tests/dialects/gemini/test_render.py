"""Histories from other dialects, as Google's contents."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical import request as q
from dragoman.canonical.opaque import Opaque
from dragoman.crossing import cross
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.gemini import DIALECT
from dragoman.exceptions import InvalidRequest

from .driving import asked

OWN = Opaque("gemini", "signature", "U0lHLTE=")
FOREIGN = Opaque("messages", "signature", "abc")
BYPASS = "skip_thought_signature_validator"
CACHE = {"type": "ephemeral"}


def user(*parts: q.Part) -> q.Message:
    return q.Message(q.Role.USER, parts)


def assistant(*parts: q.Part) -> q.Message:
    return q.Message(q.Role.ASSISTANT, parts)


def system(value: str) -> q.Message:
    return q.Message(q.Role.SYSTEM, (text(value),))


def text(value: str, **more: Any) -> q.Text:
    return q.Text(text=value, **more)


def call(id: str, name: str = "f", arguments: str = "{}", **more: Any) -> q.ToolCall:
    return q.ToolCall(id=id, name=name, arguments=arguments, **more)


def result(id: str, value: str, **more: Any) -> q.ToolResult:
    return q.ToolResult(id=id, parts=(text(value),), **more)


def rendered(*messages: q.Message, facts: Facts | None = None) -> UpstreamRequest:
    return asked(q.Request(model="m", messages=messages, origin="chat"), facts)


def contents(*messages: q.Message, facts: Facts | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rendered(*messages, facts=facts).body["contents"]
    return found


def test_the_frame() -> None:
    request = q.Request(model="m", messages=(system("S"), user(text("Hi"))), origin="chat", stream=True)
    made = asked(request)
    assert made.path == "/v1beta/models/m:streamGenerateContent?alt=sse"
    assert made.body == {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "systemInstruction": {"parts": [{"text": "S"}]},
    }
    assert made.losses == ()


# ---- calls and results


def test_results_stand_right_after_their_calls_in_their_order() -> None:
    found = contents(
        user(text("x")),
        assistant(text("Well."), call("a", "w", '{"n": 12345678901234567890}'), call("b", "r")),
        user(text("And?"), result("b", "text")),
        user(result("a", "18 C", error=True)),
        assistant(text("Done.")),
    )
    assert [content["role"] for content in found] == ["user", "model", "user", "model"]
    assert found[1]["parts"] == [
        {"text": "Well."},
        {"functionCall": {"id": "a", "name": "w", "args": {"n": 12345678901234567890}}, "thoughtSignature": BYPASS},
        {"functionCall": {"id": "b", "name": "r", "args": {}}},
    ]
    assert found[2]["parts"] == [
        {"functionResponse": {"id": "a", "name": "w", "response": {"error": "18 C"}}},
        {"functionResponse": {"id": "b", "name": "r", "response": {"output": "text"}}},
        {"text": "And?"},
    ]


@pytest.mark.parametrize(
    ("arguments", "kind", "args"),
    [
        ("", "function", {}),
        ('{"a": ', "function", {"INVALID_JSON": '{"a": '}),
        ("*** Begin", "custom", {"input": "*** Begin"}),
    ],
)
def test_arguments_of_any_kind_are_objects(arguments: str, kind: Any, args: Any) -> None:
    found = contents(user(text("x")), assistant(call("a", "f", arguments, kind=kind)), user(result("a", "")))
    assert found[1]["parts"][0]["functionCall"] == {"id": "a", "name": "f", "args": args}
    assert found[2]["parts"][0]["functionResponse"]["response"] == {"output": ""}


IMAGE = q.Image(media_type="image/png", data="AAAA")
DATA = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}


def test_media_in_results_stand_inside_or_follow() -> None:
    shown = q.ToolResult(id="a", parts=(text("x"), IMAGE, q.Document(text="plain")))
    history = (user(text("x")), assistant(call("a"), call("b")), user(shown, result("b", "y"), text("See?")))
    inside = rendered(*history)
    first, second, said = inside.body["contents"][2]["parts"]
    assert first["functionResponse"]["response"] == {"output": "x\nplain"}
    assert first["functionResponse"]["parts"] == [DATA]
    assert (second["functionResponse"]["id"], said) == ("b", {"text": "See?"})
    assert inside.losses == ()

    apart = rendered(*history, facts=Facts(gemini_thinking="budget"))
    first, second, mark, image, said = apart.body["contents"][2]["parts"]
    assert "parts" not in first["functionResponse"]
    assert second["functionResponse"]["id"] == "b"
    assert "call a" in mark["text"]
    assert (image, said) == (DATA, {"text": "See?"})
    assert [loss.path for loss in apart.losses] == ["messages[2].parts[0]"]


# ---- proofs


def test_own_signatures_go_back_byte_for_byte_and_foreign_ones_do_not() -> None:
    made = rendered(
        user(text("x")),
        assistant(
            q.Reasoning(text="P", opaque=(OWN, OWN)),
            q.Reasoning(text="Q", opaque=(FOREIGN,)),
            q.Reasoning(text="R"),
            q.Text(text="", signature=OWN),
            q.Text(text="t", signature=FOREIGN),
            call("a", signature=OWN),
            call("b"),
        ),
        user(result("a", "1"), result("b", "2")),
    )
    assert made.body["contents"][1]["parts"] == [
        {"text": "P", "thought": True, "thoughtSignature": OWN.data},
        {"text": "", "thought": True, "thoughtSignature": OWN.data},
        {"text": "", "thoughtSignature": OWN.data},
        {"text": "t"},
        {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": OWN.data},
        {"functionCall": {"id": "b", "name": "f", "args": {}}},
    ]
    assert [loss.path for loss in made.losses] == [f"messages[1].parts[{n}]" for n in (1, 2)] + [
        "messages[1].parts[4].signature"
    ]


def test_an_upstream_that_verifies_nothing_gets_the_thoughts_as_they_are() -> None:
    history = (user(text("x")), assistant(q.Reasoning(text="P"), call("a")), user(result("a", "1")))
    found = contents(*history, facts=Facts(signing_upstream=False))
    assert found[1]["parts"] == [
        {"text": "P", "thought": True},
        {"functionCall": {"id": "a", "name": "f", "args": {}}},
    ]


STEPS = (
    user(text("x")),
    assistant(call("old")),
    user(result("old", "1")),
    assistant(text("Done.")),
    user(text("y")),
    assistant(call("a", signature=FOREIGN), call("b")),
    user(result("a", "1"), result("b", "2")),
    assistant(call("c", signature=OWN), call("d")),
    user(result("c", "3"), result("d", "4")),
    assistant(text("Hm."), call("e")),
    user(result("e", "5")),
)


@pytest.mark.parametrize(
    ("facts", "signed"),
    [
        (Facts(), {"old": BYPASS, "a": BYPASS, "c": OWN.data, "e": BYPASS}),
        (Facts(gemini_thinking="budget"), {"c": OWN.data}),
        (Facts(signing_upstream=False), {"c": OWN.data}),
    ],
)
def test_the_stand_in_is_for_the_first_call_of_each_step(facts: Facts, signed: Any) -> None:
    calls = [part for content in contents(*STEPS, facts=facts) for part in content["parts"] if "functionCall" in part]
    assert len(calls) == 6
    found = {part["functionCall"]["id"]: part.get("thoughtSignature") for part in calls}
    assert {id: signature for id, signature in found.items() if signature} == signed


# ---- the other parts


@pytest.mark.parametrize(
    ("mid_system", "found"),
    [
        (None, [("user", 2), ("model", 1), ("user", 1)]),
        (True, [("user", 1), ("system", 1), ("model", 1), ("user", 1)]),
    ],
)
def test_system_text_in_the_middle(mid_system: bool | None, found: Any) -> None:
    made = rendered(
        user(text("x")),
        q.Message(q.Role.DEVELOPER, (text("Now French."),)),
        assistant(text("y")),
        user(text("z")),
        facts=Facts(mid_conversation_system=mid_system),
    )
    assert [(content["role"], len(content["parts"])) for content in made.body["contents"]] == found
    assert [loss.path for loss in made.losses] == ([] if mid_system else ["messages[1].parts[0]"])


def test_a_system_instruction_is_text() -> None:
    made = rendered(q.Message(q.Role.SYSTEM, (text("S"), IMAGE)), user(text("x")))
    assert made.body["systemInstruction"] == {"parts": [{"text": "S"}]}
    assert [loss.path for loss in made.losses] == ["messages[0].parts[1]"]


@pytest.mark.parametrize(("prefill", "roles"), [(True, ["user", "model"]), (False, ["user", "model", "user"])])
def test_a_last_turn_of_the_model(prefill: bool, roles: list[str]) -> None:
    found = contents(user(text("x")), assistant(text("The answer: ")), facts=Facts(assistant_prefill=prefill))
    assert [content["role"] for content in found] == roles


def test_native_parts_stay_at_home_and_leave_no_empty_turn() -> None:
    native = {"executableCode": {"language": "PYTHON", "code": "1"}}
    foreign = q.Native(origin="messages", value={"type": "server_tool_use"})
    made = rendered(
        user(text("x")),
        assistant(q.Native(origin="gemini", value=native), foreign, q.Refusal(text="No.")),
        user(text("y")),
        assistant(foreign),
        user(text("z")),
    )
    assert made.body["contents"] == [
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "parts": [native, {"text": "No."}]},
        {"role": "user", "parts": [{"text": "y"}, {"text": "z"}]},
    ]
    assert [loss.path for loss in made.losses] == ["messages[1].parts[1]", "messages[3].parts[0]"]


def test_the_user_begins_even_if_nothing_of_the_first_turn_is_left() -> None:
    made = rendered(user(q.Native(origin="messages", value={})), assistant(text("a")), user(text("b")))
    assert [content["role"] for content in made.body["contents"]] == ["user", "model", "user"]


def test_turns_that_follow_others_begin_as_they_are() -> None:
    messages = (assistant(call("a", signature=OWN), call("b")), user(result("a", "1"), result("b", "2")))
    request = q.Request(model="m", messages=messages, origin="gemini")
    crossing, _ = cross(request, DIALECT, Facts(), fragment=True)
    found = DIALECT.render_request(crossing, Facts()).body["contents"]
    assert [(content["role"], len(content["parts"])) for content in found] == [("model", 2), ("user", 2)]
    assert found[0]["parts"][0]["thoughtSignature"] == OWN.data


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (q.Image(url="data:image/gif;base64,AAAA"), {"inlineData": {"mimeType": "image/gif", "data": "AAAA"}}),
        (
            q.Image(url="https://x/a.webp?b=1"),
            {"fileData": {"mimeType": "image/webp", "fileUri": "https://x/a.webp?b=1"}},
        ),
        (q.Image(url="https://x/a"), {"fileData": {"mimeType": "image/png", "fileUri": "https://x/a"}}),
        (q.Document(data="AAAA"), {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}}),
        (q.Document(text="plain"), {"text": "plain"}),
        (q.Audio(media_type="audio/wav", data="AAAA"), {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}),
    ],
)
def test_media(part: Any, expected: Any) -> None:
    assert contents(user(part))[0]["parts"] == [expected]


def test_what_is_said_beside_the_content_is_lost_by_name() -> None:
    made = rendered(
        user(
            text("x", cache=CACHE),
            q.Image(data="AAAA", detail="high"),
            q.Image(data="AAAA", detail="auto"),
            q.Document(data="AAAA", name="a.pdf"),
        ),
        assistant(call("a", cache=CACHE)),
        user(result("a", "1", cache=CACHE)),
    )
    assert [loss.path for loss in made.losses] == [
        "messages[0].parts[0].cache",
        "messages[0].parts[1].detail",
        "messages[0].parts[3].name",
        "messages[1].parts[0].cache",
        "messages[2].parts[0].cache",
    ]


def test_a_foreign_file_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        rendered(user(q.Image(file_id="file-1", origin="responses")))
    assert caught.value.error.param == "messages[0].parts[0]"


def test_a_history_that_grows_keeps_its_bytes() -> None:
    history = [system("S"), *STEPS[:4]]
    before = contents(*history, user(text("y")))
    after = contents(*history, user(text("y")), assistant(text("z")), user(text("more")))
    assert after[: len(before)] == before
