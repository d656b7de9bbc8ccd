"""A client's body to a canonical request."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.canonical.aliases import alias
from dragoman.canonical.opaque import Opaque, seal
from dragoman.canonical.request import (
    Audio,
    Document,
    HostedTool,
    Image,
    Message,
    Native,
    OutputFormat,
    Reasoning,
    ReasoningRequest,
    Refusal,
    Request,
    Role,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from dragoman.dialects.responses.wire import mint
from dragoman.exceptions import InvalidRequest
from dragoman.streaming.ids import Ids

from .driving import DIALECT, JSON


def parsed(**members: Any) -> Request:
    return DIALECT.parse_request({"model": "m", "input": "Hi", **members}, None, None)


def history(*items: Any) -> tuple[Message, ...]:
    return parsed(input=list(items)).messages


def part(item: JSON) -> Any:
    """The only part that an item becomes."""
    (message,) = history(item)
    (found,) = message.parts
    return found


def user(*content: JSON) -> JSON:
    return {"role": "user", "content": list(content)}


# ---- messages


def test_a_string_is_a_user_message() -> None:
    assert parsed().messages == (Message(Role.USER, (Text(text="Hi"),)),)


def test_instructions_are_system_text_before_all() -> None:
    messages = parsed(instructions="Be brief.", input=[{"role": "developer", "content": "Rules."}, user()]).messages
    assert messages[0] == Message(Role.SYSTEM, (Text(text="Be brief."),))
    assert messages[1] == Message(Role.DEVELOPER, (Text(text="Rules."),))


def test_messages_with_and_without_a_type() -> None:
    first, second = history({"role": "user", "content": "A"}, {"type": "message", "role": "user", "content": "B"})
    assert [first.parts, second.parts] == [(Text(text="A"),), (Text(text="B"),)]


CONTENTS: list[tuple[JSON, Any]] = [
    ({"type": "input_text", "text": "A"}, Text(text="A")),
    ({"type": "input_image", "image_url": "https://a.example/a.png"}, Image(url="https://a.example/a.png")),
    (
        {"type": "input_image", "image_url": "data:image/PNG;base64,aGk=", "detail": "low"},
        Image(media_type="image/png", data="aGk=", detail="low"),
    ),
    ({"type": "input_image", "image_url": {"url": "https://a.example"}}, Image(url="https://a.example")),
    ({"type": "input_image", "file_id": "file_1"}, Image(file_id="file_1", origin="responses")),
    (
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
        Document(media_type="application/pdf", name="a.pdf", data="aGk="),
    ),
    ({"type": "input_file", "file_data": "aGk="}, Document(data="aGk=")),
    ({"type": "input_file", "file_url": "https://a.example"}, Document(url="https://a.example")),
    ({"type": "input_file", "file_id": "file_1"}, Document(file_id="file_1", origin="responses")),
    (
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
        Audio(media_type="audio/mpeg", data="aGk="),
    ),
    ({"type": "future_part", "x": 1}, Native(origin="responses", value={"type": "future_part", "x": 1})),
]


@pytest.mark.parametrize(("raw", "canonical"), CONTENTS)
def test_content_parts(raw: JSON, canonical: Any) -> None:
    assert part(user(raw)) == canonical


def test_items_of_the_assistant_are_one_message() -> None:
    messages = history(
        user({"type": "input_text", "text": "Both?"}),
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Plan."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"type": "function_call", "call_id": "c1", "name": "run", "arguments": '{"a": 1}'},
        {"type": "function_call", "call_id": "c2", "name": "run", "arguments": ""},
        {"type": "function_call_output", "call_id": "c2", "output": "two"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        user({"type": "input_text", "text": "Thanks"}),
    )
    assert [message.role for message in messages] == [Role.USER, Role.ASSISTANT, Role.USER, Role.USER]
    assert messages[1].parts == (
        Reasoning(text="Plan.", summary=True),
        Text(text="Yes."),
        Refusal(text="No."),
        ToolCall(id="c1", name="run", arguments='{"a": 1}'),
        ToolCall(id="c2", name="run", arguments=""),
    )
    assert [result.id for result in messages[2].parts if isinstance(result, ToolResult)] == ["c2", "c1"]


@pytest.mark.parametrize(("raw", "text"), [('{"path": ', '{"path": '), ({"a": 1}, '{"a":1}'), (None, "")])
def test_arguments_are_text(raw: Any, text: str) -> None:
    call = part({"type": "function_call", "call_id": "c1", "name": "run", "arguments": raw})
    assert call.arguments == text


def test_freeform_calls_and_their_results() -> None:
    call = part({"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin"})
    assert call == ToolCall(id="c1", name="apply_patch", arguments="*** Begin", kind="custom")
    result = part({"type": "custom_tool_call_output", "call_id": "c1", "output": "Done"})
    assert result == ToolResult(id="c1", parts=(Text(text="Done"),), kind="custom")


def test_a_result_with_an_image() -> None:
    output = [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:image/png;base64,aGk="}]
    result = part({"type": "function_call_output", "call_id": "c1", "output": output})
    assert result.parts == (Text(text="a"), Image(media_type="image/png", data="aGk="))


@pytest.mark.parametrize(("output", "text"), [({"a": 1}, '{"a":1}'), (7, "7"), (True, "true")])
def test_a_result_that_is_a_json_value(output: Any, text: str) -> None:
    assert part({"type": "function_call_output", "call_id": "c1", "output": output}).parts == (Text(text=text),)


def test_aliases_of_call_ids_are_mapped_back() -> None:
    odd = "get_weather:0"
    call = part({"type": "function_call", "call_id": alias(odd), "name": "run", "arguments": "{}"})
    result = part({"type": "function_call_output", "call_id": alias(odd), "output": ""})
    assert (call.id, result.id) == (odd, odd)


# ---- reasoning


def test_own_proofs_keep_their_item_id() -> None:
    found = part({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "RU5D"})
    assert found == Reasoning(summary=True, opaque=(Opaque("responses", "encrypted", "RU5D", "rs_1"),))


def test_ids_that_the_gateway_made_are_forgotten() -> None:
    id = mint(Ids("x"), "rs_")
    found = part({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "RU5D"})
    assert found.opaque[0].id is None


def test_sealed_proofs_are_foreign_again() -> None:
    proof = Opaque("messages", "signature", "c2ln")
    summary = [{"type": "summary_text", "text": "Thought."}]
    found = part({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": seal(proof)})
    assert found == Reasoning(text="Thought.", summary=False, opaque=(proof,))


def test_raw_reasoning_counts_before_its_summary() -> None:
    raw = {
        "type": "reasoning",
        "summary": [{"text": "Short."}],
        "content": [{"type": "reasoning_text", "text": "Long."}],
    }
    assert part(raw) == Reasoning(text="Long.", summary=False)


# ---- items of the upstream's own


def test_hosted_items_are_native() -> None:
    call, output = {"type": "mcp_call", "id": "mcp_1"}, {"type": "computer_call_output", "call_id": "c1"}
    messages = history(call, output, {"type": "reasoning", "id": "rs_1", "summary": []})
    assert [message.role for message in messages] == [Role.ASSISTANT, Role.USER, Role.ASSISTANT]
    assert messages[0].parts == (Native(origin="responses", value=call),)


def test_a_compacted_history_is_bound_to_who_can_read_it() -> None:
    request = parsed(input=[{"type": "compaction", "encrypted_content": "x"}, {"type": "compaction_trigger"}])
    assert (request.bound, request.compact) == (("input[0]",), True)


def test_tools_that_come_later_are_tools() -> None:
    found = {"type": "tool_search_output", "call_id": "s", "tools": [{"type": "function", "name": "deep"}]}
    more = {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "patch"}]}
    request = parsed(input=[found, more], tools=[{"type": "function", "name": "deep"}, {"type": "tool_search"}])
    assert [tool.name for tool in request.tools] == ["deep", "patch"]
    assert [message.parts for message in request.messages] == [(Native(origin="responses", value=found),)]


def test_results_may_name_their_tool_alone() -> None:
    result = part({"type": "function_call_output", "name": "run", "output": "x"})
    assert (result.id, result.name) == ("", "run")


def test_cache_markers() -> None:
    marked = {"type": "input_text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}
    picture = {"type": "input_image", "image_url": "https://a", "cache_control": {"type": "ephemeral"}}
    (message,) = history(user(marked, picture))
    assert message.parts == (
        Text(text="a", cache={"type": "ephemeral", "ttl": "1h"}),
        Image(url="https://a", cache={"type": "ephemeral"}),
    )


def test_what_only_its_own_upstream_can_resolve_is_bound() -> None:
    assert parsed(input=[{"type": "item_reference", "id": "msg_1"}, {"id": "rs_1"}]).bound == ("input[0]", "input[1]")
    assert parsed(previous_response_id="resp_1", background=True).bound == ("previous_response_id", "background")
    assert parsed(input=None, conversation={"id": "conv_1"}).bound == ("conversation",)
    assert parsed(background=False, previous_response_id="").bound == ()


# ---- tools


def test_tools() -> None:
    schema = {"type": "object", "properties": {}}
    request = parsed(
        tools=[
            {"type": "function", "name": "run", "description": "Runs.", "parameters": schema, "strict": False},
            {"type": "function", "function": {"name": "nested", "parameters": schema}},
            {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "lark", "definition": "s: x"}},
            {
                "type": "namespace",
                "name": "mcp__a",
                "tools": [{"type": "function", "name": "run", "defer_loading": True}],
            },
            {"type": "web_search", "search_context_size": "low"},
        ]
    )
    assert request.tools == (
        Tool(name="run", description="Runs.", schema=schema, strict=False),
        Tool(name="nested", schema=schema),
        Tool(name="patch", kind="custom", format={"type": "grammar", "syntax": "lark", "definition": "s: x"}),
        Tool(name="run", namespace="mcp__a"),
    )
    value = {"type": "web_search", "search_context_size": "low"}
    assert request.hosted_tools == (HostedTool(origin="responses", type="web_search", value=value),)
    assert request.unknown == ("tools[3].defer_loading",)


@pytest.mark.parametrize(
    ("raw", "choice"),
    [
        (None, None),
        ("auto", ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ({"type": "function", "name": "run"}, ToolChoice("required", ("run",))),
        ({"type": "function", "function": {"name": "run"}}, ToolChoice("required", ("run",))),
        ({"type": "custom", "name": "patch"}, ToolChoice("required", ("patch",))),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "run"}]},
            ToolChoice("auto", ("run",)),
        ),
        (
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"name": "run"}, {"type": "custom", "name": "patch"}],
            },
            ToolChoice("required", ("run", "patch")),
        ),
    ],
)
def test_tool_choices(raw: Any, choice: ToolChoice | None) -> None:
    request = parsed(tool_choice=raw)
    assert (request.tool_choice, request.unknown) == (choice, ())


SPACES: list[JSON] = [
    {
        "type": "namespace",
        "name": space,
        "description": f"About {space}.",
        "tools": [{"type": "function", "name": name} for name in ("run", "stop")],
    }
    for space in ("a", "b")
]


@pytest.mark.parametrize(
    ("raw", "names", "spaces", "unknown"),
    [
        ({"type": "function", "name": "run", "namespace": "b"}, ("run",), ("b",), ()),
        ({"type": "function", "name": "run"}, ("run",), ("a",), ()),
        ({"type": "allowed_tools", "tools": [{"type": "namespace", "name": "b"}]}, ("run", "stop"), ("b", "b"), ()),
        (
            {"type": "allowed_tools", "tools": [{"type": "web_search"}, {"type": "function", "name": "stop"}]},
            ("stop",),
            ("a",),
            ("tool_choice.tools[0]",),
        ),
        ({"type": "allowed_tools", "tools": [{"type": "web_search"}]}, (), (), ("tool_choice.tools[0]",)),
    ],
)
def test_choices_among_namespaces(raw: JSON, names: Any, spaces: Any, unknown: Any) -> None:
    request = parsed(tools=SPACES, tool_choice=raw)
    choice = request.tool_choice
    assert choice is not None
    assert (choice.names, choice.namespaces, request.unknown) == (names, spaces, unknown)
    assert choice.mode == ("required" if raw["type"] == "function" else "auto" if names else "none")


def test_the_first_tool_of_a_namespace_tells_what_it_is_for() -> None:
    assert [tool.about for tool in parsed(tools=SPACES).tools] == ["About a.", None, "About b.", None]


def test_a_forced_hosted_tool_is_unknown_elsewhere() -> None:
    request = parsed(tool_choice={"type": "web_search"})
    assert (request.tool_choice, request.unknown) == (None, ("tool_choice",))


# ---- parameters


def test_parameters() -> None:
    request = parsed(
        stream=True,
        parallel_tool_calls=False,
        max_output_tokens=200.0,
        temperature=0,
        top_p=0.5,
        top_logprobs=3,
        include=["message.output_text.logprobs", "reasoning.encrypted_content"],
        service_tier="flex",
        user="u",
        metadata={"a": "b"},
        prompt_cache_key="k",
        store=False,
        truncation="disabled",
    )
    assert (request.stream, request.parallel_tool_calls, request.max_output_tokens) == (True, False, 200)
    assert (request.temperature, request.top_p, request.top_logprobs, request.logprobs) == (0, 0.5, 3, True)
    assert (request.service_tier, request.user, request.metadata, request.cache_key) == ("flex", "u", {"a": "b"}, "k")
    assert (request.unknown, request.stream_usage, request.origin) == ((), True, "responses")


@pytest.mark.parametrize(
    ("members", "unknown"),
    [
        ({"reasoning": {"effort": "huge", "mode": "pro", "context": None}}, ("reasoning.mode", "reasoning.effort")),
        ({"text": {"format": {"type": "xml"}, "style": "x"}}, ("text.style", "text.format")),
        ({"include": ["reasoning.encrypted_content", "file_search_call.results"]}, ("include[1]",)),
        ({"client_metadata": {"a": "b"}}, ("client_metadata",)),
        (
            {"input": [{"type": "function_call_output", "call_id": "c", "output": [{"type": "encrypted"}]}]},
            ("input[0].output[0]",),
        ),
    ],
)
def test_new_words_are_named_and_nothing_is_refused(members: JSON, unknown: tuple[str, ...]) -> None:
    assert parsed(**members).unknown == unknown


def test_members_without_a_canonical_form_are_named() -> None:
    assert parsed(store=True, truncation="auto", max_tool_calls=3, moderation=None).unknown == (
        "max_tool_calls",
        "store",
        "truncation",
    )


@pytest.mark.parametrize(
    ("raw", "asked"),
    [
        (None, None),
        ({}, None),
        ({"effort": "low"}, ReasoningRequest(effort="low")),
        ({"effort": None, "summary": "auto"}, ReasoningRequest(summary="auto", visible=True)),
        (
            {"effort": "max", "generate_summary": "concise"},
            ReasoningRequest(effort="max", summary="concise", visible=True),
        ),
    ],
)
def test_reasoning(raw: Any, asked: ReasoningRequest | None) -> None:
    assert parsed(reasoning=raw).reasoning == asked


def test_text_formats() -> None:
    schema = {"type": "object"}
    assert parsed(text={"format": {"type": "text"}, "verbosity": "low"}).output is None
    assert parsed(text={"verbosity": "low"}).verbosity == "low"
    assert parsed(text={"format": {"type": "json_object"}}).output == OutputFormat(type="json")
    form = {"type": "json_schema", "name": "x", "schema": schema, "strict": True}
    assert parsed(text={"format": form}).output == OutputFormat(type="schema", name="x", schema=schema, strict=True)


def test_the_path_may_name_the_model_and_the_stream() -> None:
    request = DIALECT.parse_request({"input": "Hi"}, "of-the-path", True)
    assert (request.model, request.stream) == ("of-the-path", True)


# ---- refusals


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 7}, "model"),
        ({"input": None}, "input"),
        ({"input": 7}, "input"),
        ({"input": [7]}, "input[0]"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user", "content": 7}]}, "input[0].content"),
        ({"input": [user({"type": "input_text"})]}, "input[0].content[0].text"),
        ({"input": [user({"text": "x"})]}, "input[0].content[0].type"),
        ({"input": [user({"type": "input_image"})]}, "input[0].content[0].image_url"),
        ({"input": [user({"type": "input_file"})]}, "input[0].content[0]"),
        ({"input": [{"type": 7}]}, "input[0].type"),
        ({"input": [{"type": "function_call", "call_id": "c1", "arguments": "{}"}]}, "input[0].name"),
        ({"input": [{"type": "function_call", "name": "run", "arguments": "{}"}]}, "input[0].call_id"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "input[0].call_id"),
        ({"instructions": ["x"]}, "instructions"),
        ({"stream": "yes"}, "stream"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_output_tokens": 1.5}, "max_output_tokens"),
        ({"tools": {}}, "tools"),
        ({"tools": [{"name": "run"}]}, "tools[0]"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "name": "x", "parameters": "{}"}]}, "tools[0].parameters"),
        ({"tools": [{"type": "namespace", "tools": []}]}, "tools[0].name"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"tool_choice": {"type": "function"}}, "tool_choice.name"),
        ({"tool_choice": 7}, "tool_choice"),
        ({"reasoning": "high"}, "reasoning"),
        ({"text": {"format": "json"}}, "text.format"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"metadata": []}, "metadata"),
    ],
)
def test_bad_bodies_name_the_field(members: JSON, param: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        parsed(**members)
    assert (raised.value.error.param, raised.value.error.status) == (param, 400)
