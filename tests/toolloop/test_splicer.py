"""What is written into a client's own body, and what is left as it was."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import dialects
from dragoman.canonical import request as q
from dragoman.dialects.contract import Facts
from dragoman.toolloop.native import Splicer
from dragoman.toolloop.offer import GatewayTool
from dragoman.toolloop.past import PastAnswer, PastAnswers, question_of
from dragoman.toolloop.prepared import Prepared, prepared
from dragoman.translate import Exchange
from tests.asking import ask

JSON = dict[str, Any]

OURS = q.ToolCall(id="c1", name="docs__search", arguments="{}")
FOUND = q.Message(q.Role.USER, (q.ToolResult(id="c1", parts=(q.Text(text="found"),)),))


def said(*parts: q.Part) -> q.Message:
    return q.Message(q.Role.ASSISTANT, parts)


def past(question: str, *messages: q.Message, ids: tuple[str, ...] = ("c2", "r1")) -> PastAnswers:
    known = PastAnswers()
    asked = (q.Message(q.Role.USER, (q.Text(text=question),)),)
    known.keep("me", ids, PastAnswer(messages=messages, question=question_of(asked), origin="responses"), 0)
    return known


def prepare(name: str, body: JSON, known: PastAnswers, *tools: GatewayTool, facts: Facts | None = None) -> Prepared:
    dialect = dialects.get(name)
    request = dialect.parse_request(body, "m", False)
    return prepared(body, request, dialect, facts or Facts(), tools=tools, past=known, scope="me", now=1)


def chat_call(id: str, name: str) -> JSON:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def test_only_the_entries_of_the_answer_are_written_anew() -> None:
    before = [{"role": "system", "content": "Be brief.", "name": "a"}, {"role": "user", "content": "Hi", "name": "b"}]
    answer = {"role": "assistant", "content": None, "tool_calls": [chat_call("c2", "get_weather")], "x": 1}
    result = {"role": "tool", "tool_call_id": "c2", "content": "sunny", "x": 2}
    after = [{"role": "assistant", "content": "Fine.", "x": 3}, {"role": "user", "content": "Bye", "name": "c"}]
    theirs = q.ToolCall(id="c2", name="get_weather", arguments="{}")
    body = {"model": "m", "messages": [*before, answer, result, *after]}
    made = prepare("chat", body, past("Hi", said(OURS, theirs), FOUND))
    assert made.body["messages"] == [
        *before,
        {"role": "assistant", "content": None, "tool_calls": [chat_call("c1", "docs__search"), chat_call("c2", "get_weather")]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "tool", "tool_call_id": "c2", "content": "sunny"},
        *after,
    ]  # fmt: skip
    assert made.losses == ()


def test_several_answers_in_one_history() -> None:
    known = past("One", said(OURS), FOUND, said(q.Text(text="1")), ids=("r1",))
    asked = (q.Message(q.Role.USER, (q.Text(text="Two"),)),)
    second = PastAnswer(
        messages=(said(OURS), FOUND, said(q.Text(text="2"))), question=question_of(asked), origin="messages"
    )
    known.keep("me", ["r2"], second, 0)
    shown = [
        [{"type": "mcp_tool_use", "id": f"mcptoolu_dgm_r{number}", "name": "search", "server_name": "docs", "input": {}},
         {"type": "mcp_tool_result", "tool_use_id": f"mcptoolu_dgm_r{number}", "is_error": False, "content": []},
         {"type": "text", "text": str(number)}]
        for number in (1, 2)
    ]  # fmt: skip
    messages = [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": shown[0]},
        {"role": "user", "content": "Two"},
        {"role": "assistant", "content": shown[1]},
        {"role": "user", "content": "Three"},
    ]
    body = prepare("messages", {"model": "m", "max_tokens": 9, "messages": messages}, known).body
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "user", "assistant"] * 2 + ["user"]
    assert str(body).count("docs__search") == 2
    assert "mcp_tool" not in str(body)


def test_what_is_not_known_any_more_is_named_and_nothing_is_doubled() -> None:
    """Beside a call of the client's own, whose result follows."""
    items: list[JSON] = [
        {"role": "user", "content": "Hi"},
        {"type": "mcp_call", "id": "mcp_dgmrun_r9", "server_label": "docs", "name": "search", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "get_weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "sunny"},
        {"role": "user", "content": "Bye"},
    ]
    made = prepare("responses", {"model": "m", "input": items}, PastAnswers())
    assert made.body["input"] == [items[0], items[2], items[3], items[4]]
    assert [(loss.path, loss.reason) for loss in made.losses] == [
        ("input[1]", "a call of the gateway's that is no longer known here")
    ]


@pytest.mark.parametrize(
    "call",
    [
        {"type": "function_call", "call_id": "c2", "name": "open", "namespace": "files", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "shell", "input": "ls"},
    ],
)
def test_calls_keep_the_forms_of_their_dialect(call: JSON) -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    theirs = q.ToolCall(
        id="c2",
        name=call["name"],
        arguments=call["input"] if "input" in call else call["arguments"],
        kind="custom" if "input" in call else "function",
        namespace=call.get("namespace"),
    )
    kept = (said(q.Native(origin="responses", value=search), OURS, theirs), FOUND)
    output = {"type": call["type"] + "_output", "call_id": "c2", "output": "done"}
    body = {"model": "m", "input": [{"role": "user", "content": "Hi"}, search, call, output]}
    written = prepare("responses", body, past("Hi", *kept)).body["input"]
    assert [item for item in written if item in (search, call, output)] == [search, call, output]
    assert {"type": "function_call", "call_id": "c1", "name": "docs__search", "arguments": "{}"} in written


def test_custom_calls_of_chat_clients() -> None:
    call = {"id": "c2", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    theirs = q.ToolCall(id="c2", name="shell", arguments="ls", kind="custom")
    messages: list[JSON] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c2", "content": "done"},
    ]
    made = prepare("chat", {"model": "m", "messages": messages}, past("Hi", said(OURS, theirs), FOUND))
    assert made.body["messages"][1]["tool_calls"] == [chat_call("c1", "docs__search"), call]


def test_losses_of_turns_are_placed_behind_the_clients_history() -> None:
    dialect = dialects.get("chat")
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    request = dialect.parse_request(body, "m", False)
    picture = q.Image(media_type="image/png", data="iVBORw0KGgo=")
    turns = (said(OURS), q.Message(q.Role.USER, (q.ToolResult(id="c1", parts=(picture,)),)))
    splicer = Splicer(dialect, Facts())
    made = splicer.with_turns(body, request, turns, choose=False)
    assert [message["role"] for message in made["messages"]] == ["user", "assistant", "tool", "user"]
    assert [loss.path for loss in splicer.losses] == ["messages[2].parts[0]"]


@pytest.mark.parametrize("client", ["chat", "gemini"])
def test_what_the_gateways_tools_lose_is_not_the_clients_loss(client: str) -> None:
    """Else a strict gateway would refuse every request."""
    odd = GatewayTool(server="s", name="t", offered="s__t", schema={"type": "object", "not": {}, "properties": {}})
    exchange = Exchange(
        dialects.get(client),
        dialects.get("gemini"),
        seed="x",
        now=1,
        facts=Facts(gemini_schema="openapi-subset"),
        strict=True,
        tools=[odd],
    )
    asked = ask(client, "m")
    made = exchange.request(asked.body, "m", path_model=asked.model, path_stream=asked.stream)
    assert "s__t" in str(made.body["tools"])
    assert exchange.losses == ()


def test_a_request_without_tools_and_past_is_not_touched() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    assert prepare("chat", body, PastAnswers()).body is body
