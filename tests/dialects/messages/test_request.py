"""A client's body to the canonical request, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.canonical import request as q
from dragoman.canonical.aliases import alias
from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.messages.request import parse_request
from dragoman.exceptions import InvalidRequest

HI: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}


def parse(**members: Any) -> q.Request:
    return parse_request({**HI, **members})


def parts(*blocks: dict[str, Any], role: str = "user") -> tuple[q.Part, ...]:
    return parse(messages=[{"role": role, "content": list(blocks)}]).messages[0].parts


# ---- members


def test_a_small_request() -> None:
    assert parse() == q.Request(
        model="m",
        messages=(q.Message(q.Role.USER, (q.Text(text="Hi"),)),),
        origin="messages",
        max_output_tokens=100,
        stream_usage=True,
    )


def test_sampling_limits_and_the_rest() -> None:
    request = parse(
        stream=True,
        temperature=0.5,
        top_p=0.9,
        top_k=20,
        stop_sequences=["END"],
        metadata={"user_id": "u", "more": 1},
        service_tier="auto",
        future_member=1,
        container=None,
    )
    assert (request.stream, request.temperature, request.top_p, request.top_k) == (True, 0.5, 0.9, 20)
    assert (request.stop, request.user, request.service_tier) == (("END",), "u", "auto")
    assert set(request.unknown) == {"future_member", "metadata.more"}


def test_null_is_absent() -> None:
    names = (
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "stop_sequences",
        "temperature",
        "metadata",
        "output_config",
        "stream",
        "max_tokens",
    )
    assert parse(**dict.fromkeys(names)) == parse_request(
        {key: value for key, value in HI.items() if key != "max_tokens"}
    )


def test_system_texts_and_turns() -> None:
    mark = {"type": "ephemeral"}
    request = parse(
        system=[{"type": "text", "text": "Be brief.", "cache_control": mark}],
        messages=[{"role": "user", "content": "Hi"}, {"role": "system", "content": "Plan mode."}],
    )
    assert request.messages[0] == q.Message(q.Role.SYSTEM, (q.Text(text="Be brief.", cache=mark),))
    assert request.messages[2] == q.Message(q.Role.SYSTEM, (q.Text(text="Plan mode."),))


@pytest.mark.parametrize(
    ("thinking", "config", "expected"),
    [
        ({"type": "enabled", "budget_tokens": 2000}, {}, q.ReasoningRequest(budget=2000, visible=True)),
        (
            {"type": "adaptive", "display": "omitted"},
            {"effort": "max"},
            q.ReasoningRequest(effort="max", adaptive=True, visible=False),
        ),
        ({"type": "adaptive"}, {}, q.ReasoningRequest(adaptive=True)),
        ({"type": "adaptive", "display": "updates"}, {}, q.ReasoningRequest(adaptive=True, visible=True)),
        ({"type": "between_tools"}, {}, q.ReasoningRequest(adaptive=True)),
        ({"type": "disabled"}, {"effort": "low"}, q.ReasoningRequest(effort="none")),
        (None, {"effort": "low"}, q.ReasoningRequest(effort="low")),
        (None, {"effort": "odd"}, None),
    ],
)
def test_reasoning(thinking: Any, config: Any, expected: Any) -> None:
    assert parse(thinking=thinking, output_config=config).reasoning == expected


@pytest.mark.parametrize(
    "members",
    [
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        {"output_format": {"type": "json_schema", "schema": {"type": "object"}}},
    ],
)
def test_structured_output(members: dict[str, Any]) -> None:
    assert parse(**members).output == q.OutputFormat(type="schema", schema={"type": "object"})


# ---- tools


def test_tools_of_each_sort() -> None:
    schema = {"type": "object", "properties": {}}
    search = {"type": "web_search_20250305", "name": "web_search"}
    request = parse(
        tools=[
            {
                "name": "run",
                "description": "d",
                "input_schema": schema,
                "strict": True,
                "cache_control": {"type": "ephemeral"},
            },
            {"type": "custom", "name": "plain", "input_schema": schema},
            {"type": "bash_20250124", "name": "bash"},
            search,
        ]
    )
    run, plain, bash = request.tools
    assert run == q.Tool(name="run", description="d", schema=schema, strict=True, cache={"type": "ephemeral"})
    assert (plain.kind, plain.schema) == ("function", schema)
    assert bash.schema is not None
    assert "command" in bash.schema["properties"]


@pytest.mark.parametrize(
    ("kind", "members", "action"),
    [
        ("computer_20241022", {}, "cursor_position"),
        ("computer_20250124", {}, "scroll"),
        ("computer_20251124", {"enable_zoom": True}, "zoom"),
    ],
)
def test_a_computer_is_a_tool_of_the_client(kind: str, members: dict[str, Any], action: str) -> None:
    declared = {"type": kind, "name": "computer", "display_width_px": 1024, "display_height_px": 768}
    (tool,) = parse(tools=[{**declared, **members}]).tools
    assert tool.schema is not None
    assert action in tool.schema["properties"]["action"]["enum"]
    assert "1024 x 768" in (tool.description or "")
    (plain,) = parse(tools=[declared]).tools
    assert "zoom" not in (plain.schema or {})["properties"]["action"]["enum"]


def test_hosted_tools_are_kept_apart() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    request = parse(tools=[search])
    assert request.hosted_tools == (q.HostedTool(origin="messages", type="web_search_20250305", value=search),)


@pytest.mark.parametrize(
    ("choice", "expected", "parallel"),
    [
        ({"type": "auto"}, q.ToolChoice("auto"), None),
        ({"type": "any", "disable_parallel_tool_use": True}, q.ToolChoice("required"), False),
        ({"type": "tool", "name": "run"}, q.ToolChoice("required", ("run",)), None),
        ({"type": "none"}, q.ToolChoice("none"), None),
    ],
)
def test_tool_choice(choice: dict[str, Any], expected: q.ToolChoice, parallel: bool | None) -> None:
    request = parse(tool_choice=choice)
    assert (request.tool_choice, request.parallel_tool_calls) == (expected, parallel)


# ---- content


def test_images_and_documents() -> None:
    base64 = {"type": "base64", "media_type": "image/png", "data": "iVBOR"}
    found = parts(
        {"type": "image", "source": base64},
        {"type": "image", "source": {"type": "url", "url": "https://a.example/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
            "title": "A",
        },
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "t"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "c"}]}},
        {
            "type": "search_result",
            "source": "https://b.example",
            "title": "B",
            "content": [{"type": "text", "text": "s"}],
        },
    )
    assert found == (
        q.Image(media_type="image/png", data="iVBOR"),
        q.Image(url="https://a.example/a.png"),
        q.Image(file_id="f", origin="messages"),
        q.Document(media_type="application/pdf", data="JVBE", name="A"),
        q.Document(media_type="text/plain", text="t"),
        q.Document(media_type="text/plain", text="c"),
        q.Document(media_type="text/plain", text="s", name="B – https://b.example"),
    )


def test_documents_elsewhere() -> None:
    found = parts(
        {"type": "document", "source": {"type": "url", "url": "https://a.example/a.pdf"}},
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "image"}]}},
        {"type": "search_result", "source": "b", "title": "B", "content": [{"type": "image"}]},
    )
    assert found[:2] == (q.Document(url="https://a.example/a.pdf"), q.Document(file_id="f", origin="messages"))
    assert [type(part) for part in found[2:]] == [q.Native, q.Native]


def test_calls_and_results() -> None:
    request = parse(
        messages=[
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "run", "input": {"a": 1}}]},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "is_error": True,
                        "content": [
                            {"type": "text", "text": "x"},
                            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR"}},
                            {"type": "tool_reference", "tool_name": "read"},
                        ],
                    }
                ],
            },
        ]
    )
    assert request.messages[0].parts == (q.ToolCall(id="t1", name="run", arguments='{"a":1}'),)
    (result,) = request.messages[1].parts
    assert isinstance(result, q.ToolResult)
    assert (result.id, result.name, result.error) == ("t1", "run", True)
    assert result.parts[:2] == (q.Text(text="x"), q.Image(media_type="image/png", data="iVBOR"))
    assert isinstance(result.parts[2], q.Text)
    assert "read" in result.parts[2].text


@pytest.mark.parametrize("content", [None, [], ""])
def test_results_without_content_stay(content: Any) -> None:
    (result,) = parts({"type": "tool_result", "tool_use_id": "t", "content": content})
    assert isinstance(result, q.ToolResult)


def test_aliased_ids_are_mapped_back() -> None:
    id = alias("get_weather:0")
    (call,) = parts({"type": "tool_use", "id": id, "name": "run", "input": {}}, role="assistant")
    (result,) = parts({"type": "tool_result", "tool_use_id": id})
    assert isinstance(call, q.ToolCall)
    assert isinstance(result, q.ToolResult)
    assert call.id == result.id == "get_weather:0"


def test_proofs_are_told_from_sealed_ones() -> None:
    foreign = Opaque("responses", "encrypted", "ENC", "rs_1")
    found = parts(
        {"type": "thinking", "thinking": "a", "signature": "U0lH"},
        {"type": "thinking", "thinking": "b", "signature": ""},
        {"type": "thinking", "thinking": "c", "signature": seal(foreign)},
        {"type": "redacted_thinking", "data": "UkVE"},
        {"type": "redacted_thinking", "data": seal(foreign)},
        role="assistant",
    )
    assert found == (
        q.Reasoning(text="a", opaque=(Opaque("messages", "signature", "U0lH"),)),
        q.Reasoning(text="b"),
        q.Reasoning(text="c", summary=True, opaque=(foreign,)),
        q.Reasoning(opaque=(Opaque("messages", "redacted", "UkVE"),)),
        q.Reasoning(opaque=(foreign,)),
    )


@pytest.mark.parametrize("before", [True, False])
def test_a_proof_beside_its_call_is_put_on_it(before: bool) -> None:
    proof = {"type": "redacted_thinking", "data": seal(Opaque("gemini", "signature", "R0VN", "of:c1"))}
    call = {"type": "tool_use", "id": "c1", "name": "run", "input": {}}
    found = parts(*((proof, call) if before else (call, proof)), role="assistant")
    assert found == (q.ToolCall(id="c1", name="run", arguments="{}", signature=Opaque("gemini", "signature", "R0VN")),)


def test_a_proof_after_its_text_is_put_on_it() -> None:
    proof = {"type": "redacted_thinking", "data": seal(Opaque("gemini", "signature", "R0VN", "of:"))}
    signature = Opaque("gemini", "signature", "R0VN")
    assert parts({"type": "text", "text": "a"}, proof, role="assistant") == (q.Text(text="a", signature=signature),)
    assert parts(proof, role="assistant") == (q.Text(text="", signature=signature),)


def test_what_is_not_known_stays_whole() -> None:
    block = {"type": "future_block", "a": 1}
    odd = {"type": "image", "source": {"type": "telegraph"}}
    assert parts(block, odd) == (q.Native(origin="messages", value=block), q.Native(origin="messages", value=odd))


def test_citations_in_the_history_are_told() -> None:
    request = parse(
        messages=[
            {"role": "assistant", "content": [{"type": "text", "text": "a", "citations": [{"type": "page_location"}]}]}
        ]
    )
    assert request.unknown == ("messages[0].parts[0].citations",)


@pytest.mark.parametrize(
    ("block", "lost"),
    [
        ({"type": "document", "source": {"type": "text", "data": "t"}, "context": "c"}, ["context"]),
        ({"type": "document", "source": {"type": "text", "data": "t"}, "citations": {"enabled": True}}, ["citations"]),
        ({"type": "document", "source": {"type": "text", "data": "t"}, "citations": {"enabled": False}}, []),
        ({"type": "tool_use", "id": "a", "name": "b", "caller": {"type": "code_execution_20260521"}}, ["caller"]),
        ({"type": "tool_use", "id": "a", "name": "b", "caller": {"type": "direct"}, "toolset_name": None}, []),
        ({"type": "tool_result", "tool_use_id": "a", "toolset_name": "t"}, ["toolset_name"]),
        ({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}, "citations": []}, []),
    ],
)
def test_members_without_a_place_are_told(block: dict[str, Any], lost: list[str]) -> None:
    request = parse(system="s", messages=[{"role": "user", "content": [{"type": "text", "text": "a"}, block]}])
    assert request.unknown == tuple(f"messages[1].parts[1].{name}" for name in lost)


def test_members_of_tools_and_turns_without_a_place_are_told() -> None:
    schema = {"type": "object"}
    request = parse(
        tools=[
            {"type": "web_search_20250305", "name": "web_search"},
            {
                "name": "run",
                "input_schema": schema,
                "defer_loading": True,
                "eager_input_streaming": True,
                "allowed_callers": ["direct"],
            },
        ],
        messages=[
            {"role": "user", "content": "a"},
            {"role": "system", "output_config": {"effort": "low"}},
            {"role": "system", "content": "b", "clear_at": "next_user_message"},
        ],
        thinking={"type": "adaptive", "block_binding": {}},
        output_config={"format": {"type": "future"}, "task_budget": {"total": 5}},
    )
    assert set(request.unknown) == {
        "tools[0].defer_loading",
        "messages[1].output_config",
        "messages[2].clear_at",
        "thinking.block_binding",
        "output_config.format",
        "output_config.task_budget",
    }


def test_a_system_turn_that_is_over_is_not_said_again() -> None:
    over = {"role": "system", "content": "Once.", "clear_at": "next_user_message"}
    said = {"role": "user", "content": "a"}
    assert [message.role for message in parse(messages=[said, over, said]).messages] == ["user", "user"]
    assert [message.role for message in parse(messages=[said, over]).messages] == ["user", "system"]


def test_attribution_is_no_instruction() -> None:
    line = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=1a2b3;"}
    request = parse(system=[line, {"type": "text", "text": "Be brief."}])
    assert request.messages[0].parts == (q.Text(text="Be brief."),)
    assert request.unknown == ("x-anthropic-billing-header",)
    assert parse(system=[line]).messages[0].role == q.Role.USER


def test_a_thread_that_goes_on_is_bound_to_its_server() -> None:
    assert parse(thread={"type": "create"}).bound == ()
    assert parse(thread={"type": "continue", "previous_message_id": "msg_1"}).bound == ("thread.previous_message_id",)


# ---- refusals


def block(**members: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [members]}]}


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
        ({"model": 5}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": 5}, "messages"),
        ({"messages": [5]}, "messages.0"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": [], "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": [5]}]}, "messages.0.content.0"),
        (block(type="text", text=None), "messages.0.content.0.text"),
        (block(type="image"), "messages.0.content.0.source"),
        (block(type="image", source={"type": "base64"}), "messages.0.content.0.source.data"),
        (block(type="tool_use", id="a", name="b", input="{}"), "messages.0.content.0.input"),
        (block(type="tool_use", name="b"), "messages.0.content.0.id"),
        (block(type="tool_result", tool_use_id="a", content=5), "messages.0.content.0.content"),
        (block(type="tool_result", tool_use_id="a", content=[{"type": "thinking"}]), "messages.0.content.0.content"),
        ({"system": 5}, "system"),
        ({"max_tokens": "5"}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"stream": "yes"}, "stream"),
        ({"tools": {}}, "tools"),
        ({"tools": [5]}, "tools.0"),
        ({"tools": [{"input_schema": {}}]}, "tools.0.name"),
        ({"tools": [{"name": "a", "input_schema": []}]}, "tools.0.input_schema"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"tool_choice": {"type": "tool"}}, "tool_choice.name"),
        ({"stop_sequences": "END"}, "stop_sequences"),
        ({"stop_sequences": [5]}, "stop_sequences.0"),
        ({"metadata": [[]]}, "metadata"),
        ({"metadata": {"user_id": 5}}, "metadata.user_id"),
        ({"thinking": {"type": "enabled", "budget_tokens": "many"}}, "thinking.budget_tokens"),
    ],
)
def test_bad_bodies_are_refused_by_name(members: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(**members)
    error = caught.value.error
    assert (error.status, error.param) == (400, param)
    assert param in error.message
    assert "expected" in error.message


def test_a_body_read_twice_gives_the_same() -> None:
    body = {**HI, "tools": [{"type": "bash_20250124", "name": "bash"}], "thinking": {"type": "adaptive"}}
    copy = json.loads(json.dumps(body))
    assert parse_request(body) == parse_request(copy)
    assert body == copy
