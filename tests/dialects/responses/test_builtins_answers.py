"""Calls of tools that the vendor defines and the client runs: items of their own, streamed and whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.responses.check import check
from dragoman.names import BUILTIN
from dragoman.translate import Exchange

from .driving import DIALECT, JSON, checked, encoded, read, whole
from .test_builtins import CREATE, DELETE, LINES, LS, call, every_call
from .test_sdk import client

START = e.ResponseStart(id="chat_1", model="m", created=5, origin="chat")
END = e.ResponseEnd(finish=e.FinishReason.TOOL_CALLS, origin="chat")
SAID: list[e.Event] = [e.TextStart(), e.TextDelta("Now."), e.TextEnd()]


def calls(name: str, *texts: str, complete: bool = True) -> list[e.Event]:
    start = e.ToolCallStart(id="c1", name=name, namespace=BUILTIN)
    return [start, *(e.ToolCallDelta(text) for text in texts), e.ToolCallEnd(complete)]


def given(*events: e.Event) -> list[JSON]:
    """The items that a client gets, which are the same streamed and whole."""
    stream = checked(START, *events, END)
    assert whole([START, *events, END]) == stream[-1]["response"]
    return list(stream[-1]["response"]["output"])


@every_call
def test_a_call_is_given_in_its_own_item(name: str, member: str, held: JSON) -> None:
    text = json.dumps(held)
    for pieces in ((text,), tuple(text), (text[:7], text[7:])):
        said, item = given(*SAID, *calls(name, *pieces))
        assert said["type"] == "message"
        prefix = {"local_shell": "lsh_", "shell": "sh_", "apply_patch": "apc_"}[name]
        assert item.pop("id").startswith(prefix)
        assert item == call(name, member, held)


def test_an_item_is_added_before_it_is_full() -> None:
    for name, text, member, empty in (
        ("local_shell", '{"command":["ls"]}', "action", {"type": "exec", "env": {}, "command": []}),
        ("shell", '{"commands":["ls"]}', "action", {"timeout_ms": None, "max_output_length": None, "commands": []}),
        ("apply_patch", json.dumps(CREATE), "operation", {**CREATE, "diff": ""}),
        ("apply_patch", json.dumps(DELETE), "operation", DELETE),
    ):
        events = checked(START, *calls(name, text), END)
        kinds = [event["type"].removeprefix("response.") for event in events]
        assert kinds == ["created", "in_progress", "output_item.added", "output_item.done", "completed"]
        added, done = events[2]["item"], events[3]["item"]
        assert (added["status"], added[member]) == ("in_progress", empty)
        assert done["id"] == added["id"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("local_shell", ""),
        ("local_shell", "{}"),
        ("local_shell", '["ls"]'),
        ("local_shell", '{"command":["ls"'),
        ("local_shell", '{"command":"ls"}'),
        ("local_shell", '{"command":["ls",1]}'),
        ("local_shell", '{"command":["ls"],"type":"run"}'),
        ("local_shell", '{"command":["ls"],"env":{"A":1}}'),
        ("local_shell", '{"command":["ls"],"timeout_ms":"5"}'),
        ("local_shell", '{"command":["ls"],"user":true}'),
        ("shell", '{"commands":"ls"}'),
        ("shell", '{"commands":["ls"],"timeout_ms":true}'),
        ("apply_patch", '{"type":"create_file","path":"a"}'),
        ("apply_patch", '{"type":"update_file","path":"a","diff":null}'),
        ("apply_patch", '{"type":"move_file","path":"a","diff":""}'),
        ("apply_patch", '{"type":"delete_file"}'),
    ],
)
def test_arguments_that_no_item_can_hold_stay_visible(name: str, text: str) -> None:
    events = [START, *calls(name, text), END]
    stream = encoded(events)
    assert {violation.rule for violation in check(stream)} <= {"responses.call.arguments"}
    (item,) = read(stream)[-1]["response"]["output"]
    assert whole(events)["output"] == [item]
    assert (item["type"], item["name"], item["arguments"]) == ("function_call", name, text)
    assert "namespace" not in item


def test_further_members_are_no_harm() -> None:
    (item,) = given(*calls("shell", '{"commands":["ls"],"why":"to see","timeout_ms":null}'))
    assert item["action"] == {"commands": ["ls"], "why": "to see", "timeout_ms": None, "max_output_length": None}


def test_half_a_call_is_not_given_to_be_run() -> None:
    (item,) = given(*calls("shell", '{"commands":["rm"]}', complete=False))
    assert (item["type"], item["status"]) == ("function_call", "incomplete")


def test_of_a_call_in_a_failed_answer_all_is_shown_and_nothing_run() -> None:
    failure = e.ResponseError(Error(kind=ErrorKind.OVERLOADED, message="Later."))
    events = checked(START, *calls("shell", '{"comm', 'ands":[')[:-1], failure)
    kinds = [event["type"].removeprefix("response.") for event in events[2:]]
    assert kinds == ["output_item.added", "function_call_arguments.delta", "error", "failed"]
    assert events[3]["delta"] == '{"commands":['


def test_calls_after_each_other() -> None:
    first, second = calls("shell", '{"commands":["ls"]}'), calls("apply_patch", json.dumps(DELETE))
    second[0] = e.ToolCallStart(id="c2", name="apply_patch", namespace=BUILTIN)
    third: list[e.Event] = [e.ToolCallStart(id="c3", name="run"), e.ToolCallDelta("{}"), e.ToolCallEnd()]
    items = given(*first, *SAID, *second, *third)
    assert [item["type"] for item in items] == ["shell_call", "message", "apply_patch_call", "function_call"]


def test_the_sdk_reads_the_items() -> None:
    events = [
        START,
        *calls("local_shell", json.dumps(LS)),
        *again("c2", "shell", LINES),
        *again("c3", "apply_patch", CREATE),
        END,
    ]
    with client(200, "text/event-stream", encoded(events)).responses.stream(model="m", input="Hi") as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    local, shell, patch = final.output
    assert local.type == "local_shell_call"
    assert local.action.command == LS["command"]
    assert shell.type == "shell_call"
    assert shell.action.commands == LINES["commands"]
    assert patch.type == "apply_patch_call"
    assert patch.operation.type == "create_file"
    assert patch.operation.diff == CREATE["diff"]


def again(id: str, name: str, held: JSON) -> list[e.Event]:
    _, *rest = calls(name, json.dumps(held))
    return [e.ToolCallStart(id=id, name=name, namespace=BUILTIN), *rest]


# ---- all the way

STREAM = [
    {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "local_shell", "arguments": ""}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": '{"type":"exec","comm'}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": 'and":["ls"],"env":{}}'}}]},
]


def chat_stream() -> bytes:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choices: list[JSON] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in STREAM]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    lines = [b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n" for choice in choices]
    return b"".join([*lines, b"data: [DONE]\n\n"])


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_a_model_of_another_vendor_uses_the_shell(stream: bool, step: int) -> None:
    exchange = Exchange(DIALECT, dialects.get("chat"), seed="s", now=7)
    body: JSON = {"model": "m", "input": "List", "tools": [{"type": "local_shell"}], "stream": stream}
    made = exchange.request(body, "m")
    assert [tool["function"]["name"] for tool in made.body["tools"]] == ["local_shell"]
    exchange.receive_head(200, {"content-type": "text/event-stream"})
    data = chat_stream()
    out = b""
    for place in range(0, len(data), step):
        exchange.receive_data(data[place : place + step])
        out += exchange.data_to_send()
    exchange.receive_eof()
    out += exchange.data_to_send()
    assert check(out) == []
    (item,) = read(out)[-1]["response"]["output"] if stream else json.loads(out)["output"]
    assert (item["type"], item["call_id"]) == ("local_shell_call", "call_1")
    assert item["action"] == {"type": "exec", "command": ["ls"], "env": {}}


# ---- the checker


def wrong(item: JSON, **added: Any) -> set[str]:
    """The rules that a stream with this item breaks."""
    events: list[Any] = checked(START, *calls("shell", '{"commands":["ls"]}'), END)
    events[2]["item"] = {**item, "status": "in_progress", **added}
    events[3]["item"] = item
    events[4]["response"]["output"] = [item]
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    body = json.dumps(events[4]["response"]).encode()
    return {found.rule for data in ("".join(lines).encode(), body) for found in check(data)}


LOCAL = {"type": "exec", "command": [], "env": {}}


@every_call
def test_a_good_item_breaks_no_rule(name: str, member: str, held: JSON) -> None:
    grows = {"local_shell": "command", "shell": "commands", "apply_patch": "diff"}[name]
    empty = {**held, grows: held[grows][:0]} if grows in held else held
    assert wrong(call(name, member, held, id="x_1"), **{member: empty}) == set()


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        (call("local_shell", "action", {**LOCAL, "command": "ls"}), "responses.item.shape"),
        (call("local_shell", "action", {**LOCAL, "env": None}), "responses.item.shape"),
        (call("local_shell", "action", {**LOCAL, "type": "run"}), "responses.item.shape"),
        (call("shell", "action", {"commands": [1]}), "responses.item.shape"),
        (call("shell", "action", []), "responses.item.shape"),  # type: ignore[arg-type]
        (call("apply_patch", "operation", {"type": "create_file", "path": "a"}), "responses.item.shape"),
        (call("apply_patch", "operation", {"type": "delete_file"}), "responses.item.shape"),
        (call("shell", "action", {"commands": []}, call_id=""), "responses.call.identity"),
        (call("shell", "action", {"commands": []}, status="failed"), "responses.item.status"),
        (call("apply_patch", "operation", DELETE, status="incomplete"), "responses.item.status"),
        (call("shell", "action", {"commands": ["ls"]}), "responses.item.empty"),
    ],
)
def test_what_is_wrong_with_an_item_is_found(item: JSON, rule: str) -> None:
    assert rule in wrong({**item, "id": "x_1"})


def test_two_calls_may_not_share_an_id() -> None:
    body = whole([START, *calls("shell", '{"commands":["ls"]}'), END])
    body["output"].append({**body["output"][0], "id": "sh_2"})
    assert {found.rule for found in check(json.dumps(body).encode())} == {"responses.call.identity"}
