"""The history in the order that the Messages API accepts, and its content."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import jsontext
from dragoman.canonical import request as q
from dragoman.canonical.aliases import original
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.contract import Facts
from dragoman.exceptions import InvalidRequest

from .asking import GEMINI, OWN, assistant, body_of, call, losses_of, result, system, text, turns, user

# ---- turns


def test_equal_roles_join_and_blanks_go() -> None:
    assert turns(user("a"), assistant("\n\n"), user("b", " ")) == [("user", [text("a"), text("b")])]


@pytest.mark.parametrize("messages", [(), (assistant("Welcome!"),), (system("x"),)])
def test_a_user_begins(messages: tuple[q.Message, ...]) -> None:
    rendered = body_of(*(messages or (user(" "),)))["messages"]
    assert rendered[0]["role"] == "user"
    assert rendered[0]["content"][0]["text"].strip()


def test_a_system_message_in_the_middle_is_marked() -> None:
    found = turns(system("first"), user("a"), assistant("b"), system("reminder"), user("c"))
    assert found[2] == ("user", [text("<system>\nreminder\n</system>"), text("c")])


def test_a_system_turn_stays_where_the_upstream_takes_it() -> None:
    body = body_of(
        system("first"), user("a"), assistant("b"), user("c"), system("reminder"),
        facts=Facts(mid_conversation_system=True),
    )  # fmt: skip
    assert body["system"] == "first"
    assert body["messages"][-1] == {"role": "system", "content": [text("reminder")]}


def test_a_final_turn_of_the_assistant_is_kept_and_the_user_asks_to_continue() -> None:
    facts = Facts(assistant_prefill=False)
    found = turns(user("a"), assistant("The winner is"), facts=facts)
    assert [role for role, _ in found] == ["user", "assistant", "user"]
    assert found[1][1] == [text("The winner is")]
    assert losses_of(user("a"), assistant("b"), facts=facts) == ["messages"]


@pytest.mark.parametrize("parts", [(q.Reasoning(text="Hm.", opaque=(OWN,)),), (q.Native(origin="gemini", value={}),)])
def test_a_turn_has_something_and_does_not_end_in_thinking(parts: tuple[q.Part, ...]) -> None:
    found = turns(user("a"), assistant(*parts), user("b"))
    assert found[1][1][-1]["type"] == "text"
    assert found[1][1][-1]["text"].strip()


def test_pictures_of_the_assistant_stand_in_the_next_turn_of_the_user() -> None:
    picture = q.Image(media_type="image/jpg", data="/9j/")
    found = turns(user("a"), assistant("Here:", picture, call("c")), user(result("c"), "Bluer"))
    assert [block["type"] for block in found[1][1]] == ["text", "tool_use"]
    assert [block["type"] for block in found[2][1]] == ["tool_result", "text", "image", "text"]
    assert found[2][1][2]["source"]["media_type"] == "image/jpeg"
    assert losses_of(user("a"), assistant("Here:", picture)) == ["messages"]


@pytest.mark.parametrize("given", [6, 4, 1])
def test_the_last_four_cache_markers_stay(given: int) -> None:
    mark = {"type": "ephemeral"}
    parts = [q.Text(text=str(number), cache=mark) for number in range(given)]
    blocks = turns(user(*parts))[0][1]
    marked = [block["text"] for block in blocks if "cache_control" in block]
    assert marked == [str(number) for number in range(given)][-4:]
    assert losses_of(user(*parts)) == [f"messages[0].parts[{number}].cache" for number in range(given - 4)]


def test_the_same_history_gives_the_same_bytes() -> None:
    history = (
        system("s"), user("a"), assistant(call("call.0"), call("call.0")), user(result("call.0"), result("call.0", "2")),
        system("reminder"), user("b"),
    )  # fmt: skip
    before = body_of(*history)["messages"]
    after = body_of(*history, assistant("c", call("d")), user(result("d")))["messages"]
    assert after[: len(before)] == before
    assert jsontext.render(body_of(*history)) == jsontext.render(body_of(*history))


def test_system_texts_keep_their_markers() -> None:
    mark = {"type": "ephemeral"}
    marked = q.Message(q.Role.DEVELOPER, (q.Text(text="b", cache=mark),))
    assert body_of(system("a"), marked, user("Hi"))["system"] == [text("a"), {**text("b"), "cache_control": mark}]


def test_the_end_of_a_prefill_is_trimmed() -> None:
    assert turns(user("a"), assistant("The winner is \n"))[1] == ("assistant", [text("The winner is")])


def test_results_stand_in_call_order_before_text() -> None:
    found = turns(
        user("a"),
        assistant("b", call("c1"), call("c2")),
        user(result("c2", "2")),
        user("hurry"),
        user(result("c1", "1")),
    )
    ids = [block.get("tool_use_id") for block in found[2][1]]
    assert ids == ["c1", "c2", None]
    assert found[2][1][0] == {"type": "tool_result", "tool_use_id": "c1", "content": "1"}


def test_text_after_a_call_goes_before_it() -> None:
    found = turns(user("a"), assistant(call("c1"), "b"), user(result("c1")))
    assert [block["type"] for block in found[1][1]] == ["text", "tool_use"]


def test_reasoning_after_a_call_keeps_the_order() -> None:
    found = turns(user("a"), assistant(call("c1"), q.Reasoning(text="x", opaque=(OWN,)), "b"), user(result("c1")))
    assert [block["type"] for block in found[1][1]] == ["tool_use", "thinking", "text"]


@pytest.mark.parametrize("after", [(), (user("go on"),), (assistant("b"), user("go on"))])
def test_a_call_without_a_result_gets_one(after: tuple[q.Message, ...]) -> None:
    found = turns(user("a"), assistant(call("c1")), *after)
    calls = [
        n
        for n, (_, blocks) in enumerate(found)
        if blocks[-1]["type"] == "tool_use" or any(b["type"] == "tool_use" for b in blocks)
    ]
    answer = found[calls[0] + 1][1][0]
    assert (answer["type"], answer["tool_use_id"], answer["is_error"]) == ("tool_result", "c1", True)


def test_a_late_result_moves_to_its_call() -> None:
    found = turns(user("a"), assistant(call("c1")), user("b"), assistant("c"), user(result("c1", "late")))
    assert found[2][1] == [{"type": "tool_result", "tool_use_id": "c1", "content": "late"}, text("b")]
    assert found[3:] == [("assistant", [text("c")])]


def test_an_orphan_result_is_marked_text() -> None:
    found = turns(user(result("gone", "def hello(): ...")), assistant("b"), user("c"))
    assert found[0][1][0]["type"] == "text"
    assert found[0][1][1] == text("def hello(): ...")


def test_ids_are_legal_distinct_and_paired() -> None:
    found = turns(
        user("a"), assistant(call("call.0"), call("call:0")), user(result("call:0", "2"), result("call.0", "1"))
    )
    ids = [block["id"] for block in found[1][1]]
    assert [original(id) for id in ids] == ["call.0", "call:0"]
    assert [(block["tool_use_id"], block["content"]) for block in found[2][1]] == [(ids[0], "1"), (ids[1], "2")]


def test_an_id_that_is_used_again_gets_another() -> None:
    found = turns(user("a"), assistant(call("c")), user(result("c", "1")), assistant(call("c")), user(result("c", "2")))
    first, second = found[1][1][0]["id"], found[3][1][0]["id"]
    assert first == "c" != second
    assert (found[2][1][0]["tool_use_id"], found[2][1][0]["content"]) == (first, "1")
    assert (found[4][1][0]["tool_use_id"], found[4][1][0]["content"]) == (second, "2")


def test_a_call_does_not_take_the_result_of_a_later_one() -> None:
    found = turns(user("a"), assistant(call("c")), user("stop"), assistant(call("c")), user(result("c", "2")))
    assert found[2][1][0]["is_error"] is True
    assert found[4][1][0]["content"] == "2"


def test_results_without_ids_are_matched_by_name_and_order() -> None:
    results = [q.ToolResult(id="", name="run", parts=(q.Text(text=word),)) for word in ("1", "2")]
    found = turns(user("a"), assistant(call(""), call("")), user(*results))
    assert [block["content"] for block in found[2][1]] == ["1", "2"]
    assert len({block["id"] for block in found[1][1]}) == 2


@pytest.mark.parametrize(
    ("arguments", "kind", "given"),
    [
        ('{"a": 1}', "function", {"a": 1}),
        ("", "function", {}),
        ('{"path": "a.tx', "function", {"INVALID_JSON": '{"path": "a.tx'}),
        ('"text"', "function", {"INVALID_JSON": '"text"'}),
        ("*** Begin", "custom", {"input": "*** Begin"}),
    ],
)
def test_arguments_are_an_object(arguments: str, kind: Any, given: dict[str, Any]) -> None:
    found = turns(user("a"), assistant(call("c", arguments, kind=kind)), user(result("c")))
    assert found[1][1][0]["input"] == given


# ---- content


def test_results_with_images_and_nothing() -> None:
    image = q.Image(media_type="image/png", data="iVBOR")
    rich = q.ToolResult(id="c1", parts=(q.Text(text="x"), image), cache={"type": "ephemeral"})
    found = turns(user("a"), assistant(call("c1"), call("c2")), user(rich, q.ToolResult(id="c2", parts=())))
    assert found[2][1] == [
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "content": [
                text("x"),
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR"}},
            ],
            "cache_control": {"type": "ephemeral"},
        },
        {"type": "tool_result", "tool_use_id": "c2"},
    ]


def test_a_failed_result_holds_text_only() -> None:
    image = q.Image(media_type="image/png", data="iVBOR")
    rich = q.ToolResult(id="c1", parts=(q.Text(text="x"), image), error=True)
    history = (user("a"), assistant(call("c1"), call("c2")), user(rich, q.ToolResult(id="c2", parts=(), error=True)))
    first, second, aside, picture = turns(*history)[2][1]
    assert first == {"type": "tool_result", "tool_use_id": "c1", "content": "x", "is_error": True}
    assert second == {"type": "tool_result", "tool_use_id": "c2", "content": "Error", "is_error": True}
    assert "c1" in aside["text"]
    assert picture["type"] == "image"
    assert losses_of(*history) == ["messages[2].parts[0]"]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            q.Image(data="/9j/4AA="),
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AA="}},
        ),
        (q.Image(url="https://a.example"), {"type": "image", "source": {"type": "url", "url": "https://a.example"}}),
        (q.Image(file_id="f", origin="messages"), {"type": "image", "source": {"type": "file", "file_id": "f"}}),
        (
            q.Document(data="JVBE", name="a.pdf"),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
                "title": "a.pdf",
            },
        ),
        (
            q.Document(media_type="text/csv", data="YSxi"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}},
        ),
        (
            q.Document(url="https://a.example/a.pdf"),
            {"type": "document", "source": {"type": "url", "url": "https://a.example/a.pdf"}},
        ),
        (q.Refusal(text="No."), text("No.")),
        (q.Native(origin="messages", value={"type": "future"}), {"type": "future"}),
    ],
)
def test_parts(part: q.Part, block: dict[str, Any]) -> None:
    assert turns(user(part)) == [("user", [block])]


@pytest.mark.parametrize(
    ("part", "lost"),
    [
        (q.Audio(media_type="audio/wav", data="x"), ""),
        (q.Document(media_type="application/zip", data="UEs="), ""),
        (q.Document(media_type="text/plain", data="/w=="), ""),
        (q.Native(origin="gemini", value={}), ""),
        (q.Text(text="a", signature=GEMINI), ".signature"),
        (q.Image(data="iVBOR", detail="high"), ".detail"),
    ],
)
def test_parts_that_cannot_cross_are_losses(part: q.Part, lost: str) -> None:
    assert losses_of(user("a", part)) == [f"messages[0].parts[1]{lost}"]


@pytest.mark.parametrize(
    "part", [q.Audio(media_type="audio/wav", data="x"), q.Document(media_type="application/zip", data="UEs=", name="a")]
)
def test_the_model_is_told_what_was_left_out(part: q.Part) -> None:
    ((_, blocks),) = turns(user(part))
    assert "left out" in blocks[0]["text"]


def test_a_signature_on_a_call_is_a_loss() -> None:
    history = (user("a"), assistant(call("c", signature=GEMINI)), user(result("c")))
    assert losses_of(*history) == ["messages[1].parts[0].signature"]


def test_system_holds_text_only() -> None:
    told = q.Message(q.Role.SYSTEM, (q.Text(text="a"), q.Image(data="iVBOR")))
    assert body_of(told, user("Hi"))["system"] == "a"
    assert losses_of(told, user("Hi")) == ["messages[0].parts[1]"]


@pytest.mark.parametrize("part", [q.Image(file_id="f", origin="responses"), q.Document(file_id="f", origin="gemini")])
def test_foreign_files_are_refused(part: q.Part) -> None:
    with pytest.raises(InvalidRequest):
        body_of(user(part))


# ---- proofs


def test_own_proofs_go_back_byte_for_byte() -> None:
    parts = (
        q.Reasoning(text="Plan. ", opaque=(OWN,)),
        q.Reasoning(opaque=(Opaque("messages", "redacted", "UkVE"),)),
        call("c"),
    )
    found = turns(user("a"), assistant(*parts), user(result("c")))
    assert found[1][1][:2] == [
        {"type": "thinking", "thinking": "Plan. ", "signature": "U0lH"},
        {"type": "redacted_thinking", "data": "UkVE"},
    ]


@pytest.mark.parametrize(
    "reasoning", [q.Reasoning(text="Secret plan.", opaque=(GEMINI,)), q.Reasoning(text="Secret plan.")]
)
def test_foreign_and_unsigned_reasoning_is_dropped(reasoning: q.Reasoning) -> None:
    assert turns(user("a"), assistant(reasoning, "b"), user("c"))[1] == ("assistant", [text("b")])
    assert losses_of(user("a"), assistant(reasoning, "b"), user("c")) == ["messages[1].parts[0]"]


@pytest.mark.parametrize(
    ("reasoning", "lost"),
    [(q.Reasoning(text="Plan.", opaque=(GEMINI,)), ["messages[1].parts[0]"]), (q.Reasoning(text="Plan."), [])],
)
def test_unsigned_thinking_goes_to_a_server_that_asks_for_no_proof(reasoning: q.Reasoning, lost: list[str]) -> None:
    history = (user("a"), assistant(reasoning, "b"), user("c"))
    facts = Facts(signing_upstream=False)
    thinking = {"type": "thinking", "thinking": "Plan.", "signature": ""}
    assert turns(*history, facts=facts)[1] == ("assistant", [thinking, text("b")])
    assert losses_of(*history, facts=facts) == lost
