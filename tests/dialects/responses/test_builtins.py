"""Tools that the vendor defines and the client runs: functions for other upstreams, and items again for the client."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.canonical import request as q
from dragoman.crossing import cross
from dragoman.dialects.contract import Facts
from dragoman.dialects.responses.builtins import item_of
from dragoman.exceptions import InvalidRequest
from dragoman.names import BUILTIN
from dragoman.toolloop.native import Splicer

from .driving import DIALECT, JSON, rendered, whole

OTHERS = ("chat", "messages", "gemini")
LS: JSON = {"type": "exec", "command": ["ls", "-a"], "env": {"A": "b"}, "timeout_ms": 5}
LINES: JSON = {"commands": ["ls", "pwd"], "timeout_ms": 5, "max_output_length": 9}
CREATE: JSON = {"type": "create_file", "path": "a.md", "diff": "+x\n"}
DELETE: JSON = {"type": "delete_file", "path": "a.md"}
CALLS: list[tuple[str, str, JSON]] = [
    ("local_shell", "action", LS),
    ("shell", "action", LINES),
    ("apply_patch", "operation", CREATE),
    ("apply_patch", "operation", {**CREATE, "type": "update_file"}),
    ("apply_patch", "operation", DELETE),
]
PRINTED = [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
every_call = pytest.mark.parametrize(("name", "member", "held"), CALLS)


def call(name: str, member: str, held: JSON, **more: Any) -> JSON:
    return {"type": f"{name}_call", "call_id": "c1", "status": "completed", member: held, **more}


def asked(*items: JSON, tools: Sequence[JSON] = (), **members: Any) -> q.Request:
    body = {"model": "m", "input": [{"role": "user", "content": "Hi"}, *items], "tools": list(tools), **members}
    return DIALECT.parse_request(body, None, None)


def parts(*items: JSON) -> list[Any]:
    return [part for message in asked(*items).messages[1:] for part in message.parts]


# ---- declarations


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "local_shell"},
        {"type": "shell"},
        {"type": "shell", "environment": None},
        {"type": "shell", "environment": {"type": "local"}},
        {"type": "apply_patch", "allowed_callers": ["direct"]},
    ],
)
@pytest.mark.parametrize("upstream", OTHERS)
def test_a_tool_that_the_client_runs_is_a_function_elsewhere(raw: JSON, upstream: str) -> None:
    request = asked(tools=[raw])
    assert (request.hosted_tools, request.unknown) == ((), ())
    crossing, known = cross(request, dialects.get(upstream), Facts())
    made = dialects.get(upstream).render_request(crossing, Facts())
    (tool,) = crossing.request.tools
    assert (tool.name, tool.namespace, tool.native) == (raw["type"], None, None)
    assert known[raw["type"]].namespace == BUILTIN
    assert tool.schema is not None
    assert set(tool.schema["required"]) <= set(tool.schema["properties"])
    assert f'"{raw["type"]}"' in json.dumps(made.body["tools"])
    assert made.losses == ()


@every_call
def test_the_schema_is_that_of_the_item(name: str, member: str, held: JSON) -> None:
    (tool,) = asked(tools=[{"type": name}]).tools
    assert tool.schema is not None
    assert set(tool.schema["required"]) <= set(held) <= set(tool.schema["properties"])


@pytest.mark.parametrize("where", ["container_auto", "container_reference"])
def test_a_shell_in_the_vendors_container_is_its_servers(where: str) -> None:
    request = asked(tools=[{"type": "shell", "environment": {"type": where}}])
    assert request.tools == ()
    assert [tool.type for tool in request.hosted_tools] == ["shell"]


def test_what_a_declaration_says_besides_is_told_or_a_loss() -> None:
    skill = {"name": "pdf", "description": "Makes PDFs", "path": "/skills/pdf"}
    shell = {"type": "shell", "environment": {"type": "local", "skills": [skill], "new": 1}, "allowed_callers": ["x"]}
    request = asked(tools=[{"type": "function", "name": "f"}, shell, shell])
    assert request.unknown == ("tools[1].allowed_callers", "tools[1].environment.new")
    _, tool = request.tools
    assert tool.description is not None
    assert "- /skills/pdf: pdf, Makes PDFs" in tool.description


def test_the_answer_repeats_the_declaration_and_the_choice() -> None:
    shell = {"type": "shell", "environment": {"type": "local", "skills": []}}
    request = asked(tools=[shell, {"type": "apply_patch"}], tool_choice={"type": "shell"})
    head = whole([e.ResponseStart(), e.ResponseEnd(finish=e.FinishReason.STOP)], request)
    assert head["tools"] == [shell, {"type": "apply_patch"}]
    assert head["tool_choice"] == {"type": "shell"}


FUNCTION = {"type": "function", "name": "shell", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("tools", [[FUNCTION, {"type": "shell"}], [{"type": "shell"}, FUNCTION]])
def test_a_function_of_that_name_keeps_it(tools: list[JSON]) -> None:
    items = [call("shell", "action", LINES), {"type": "shell_call_output", "call_id": "c1", "output": []}]
    items += [{"type": "function_call", "call_id": "c2", "name": "shell", "arguments": "{}"}]
    for choice, picked in (({"type": "shell"}, 1), ({"type": "function", "name": "shell"}, 0)):
        crossing, known = cross(asked(*items, tools=tools, tool_choice=choice), dialects.get("chat"), Facts())
        by_place = {known[tool.name].namespace: tool.name for tool in crossing.request.tools}
        assert by_place[None] == "shell"
        assert by_place[BUILTIN] != "shell"
        assert known[by_place[BUILTIN]].name == "shell"
        called = [placed.part.name for turn in crossing.history.turns for placed in turn.calls]  # type: ignore[union-attr]
        assert called == [by_place[BUILTIN], "shell"]
        assert crossing.request.tool_choice is not None
        assert crossing.request.tool_choice.names == (["shell", by_place[BUILTIN]][picked],)


def test_a_call_that_its_item_could_not_hold_is_of_the_same_tool() -> None:
    item = {"type": "function_call", "call_id": "c2", "name": "shell", "arguments": '{"cmd":"ls"}'}
    crossing, _ = cross(asked(item, tools=[{"type": "shell"}]), dialects.get("chat"), Facts())
    assert [placed.part.name for turn in crossing.history.turns for placed in turn.calls] == ["shell"]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["local_shell", "shell", "apply_patch"])
def test_the_choice_of_such_a_tool(name: str) -> None:
    tools = [{"type": name}, {"type": "function", "name": "f"}]
    request = asked(tools=tools, tool_choice={"type": name})
    assert request.tool_choice == q.ToolChoice("required", (name,), (BUILTIN,))
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": name}, {"type": "function", "name": "f"}]}
    request = asked(tools=tools, tool_choice=allowed)
    assert request.tool_choice == q.ToolChoice("auto", (name, "f"), (BUILTIN, None))
    assert request.unknown == ()
    assert asked(tools=tools[1:], tool_choice={"type": name}).unknown == ("tool_choice",)


def test_no_namespace_of_a_clients_is_that_of_the_vendor() -> None:
    with pytest.raises(InvalidRequest, match="expected a name"):
        asked(tools=[{"type": "namespace", "name": BUILTIN, "tools": []}])


# ---- the history


@every_call
def test_a_call_in_the_history_is_one_of_a_function(name: str, member: str, held: JSON) -> None:
    (found,) = parts(call(name, member, held, id="x_1"))
    assert (found.id, found.name, found.namespace, found.kind) == ("c1", name, BUILTIN, "function")
    assert json.loads(found.arguments) == held
    assert item_of(found.name, found.namespace, found.arguments) == {"type": f"{name}_call", member: held}


def test_what_is_null_is_not_said() -> None:
    (found,) = parts(call("shell", "action", {**LINES, "timeout_ms": None}))
    assert json.loads(found.arguments) == {"commands": ["ls", "pwd"], "max_output_length": 9}


@pytest.mark.parametrize(
    ("item", "text", "error"),
    [
        ({"type": "local_shell_call_output", "output": "files"}, "files", False),
        ({"type": "local_shell_call_output", "output": {"code": 0}}, '{"code":0}', False),
        ({"type": "shell_call_output", "output": PRINTED, "max_output_length": 9}, PRINTED, False),
        ({"type": "apply_patch_call_output", "status": "completed", "output": "ok"}, "ok", False),
        ({"type": "apply_patch_call_output", "status": "completed"}, "completed", False),
        ({"type": "apply_patch_call_output", "status": "failed", "output": ""}, "failed", True),
    ],
)
def test_what_came_of_a_call(item: JSON, text: Any, error: bool) -> None:
    (found,) = parts({**item, "call_id": "c1"})
    (said,) = found.parts
    assert (found.id, found.error) == ("c1", error)
    assert said.text == text or json.loads(said.text) == text


@pytest.mark.parametrize("id", ["c1", "lsh_1"])
def test_the_output_of_a_local_shell_may_name_its_call_by_id(id: str) -> None:
    _, found = parts(
        call("local_shell", "action", LS, id="lsh_1"), {"type": "local_shell_call_output", "id": id, "output": "a"}
    )
    assert found.id == "c1"


def test_what_the_vendors_servers_ran_is_no_call_of_the_clients() -> None:
    where = {"type": "container_reference", "container_id": "cntr_1"}
    items = [call("shell", "action", LINES, environment=where), {"type": "shell_call_output", "call_id": "c1"}]
    assert parts(*items) == [q.Native(origin="responses", value=item) for item in items]


@pytest.mark.parametrize("item", [{"type": "shell_call", "action": LINES}, {"type": "shell_call_output", "output": []}])
def test_a_call_without_an_id_is_refused(item: JSON) -> None:
    with pytest.raises(InvalidRequest, match="expected a call_id"):
        asked(item)


@every_call
@pytest.mark.parametrize("upstream", OTHERS)
def test_calls_and_results_cross_without_a_loss(name: str, member: str, held: JSON, upstream: str) -> None:
    output = PRINTED if name == "shell" else "done"
    result = {"type": f"{name}_call_output", "call_id": "c1", "output": output, "status": "completed"}
    crossing, _ = cross(
        asked(call(name, member, held), result, tools=[{"type": name}]), dialects.get(upstream), Facts()
    )
    made = dialects.get(upstream).render_request(crossing, Facts())
    assert made.losses == ()
    (answer,) = [answer for turn in crossing.history.turns for answer in turn.answers]
    assert (answer.call.name, json.loads(answer.call.arguments)) == (name, held)


OUTPUTS: list[tuple[str, JSON]] = [
    ("local_shell", {"output": "files"}),
    ("shell", {"output": PRINTED}),
    ("apply_patch", {"output": "ok", "status": "completed"}),
    ("apply_patch", {"output": "no", "status": "failed"}),
]


@pytest.mark.parametrize(("name", "output"), OUTPUTS)
def test_for_an_upstream_of_this_dialect_they_are_items_again(name: str, output: JSON) -> None:
    member, held = next((member, held) for known, member, held in CALLS if known == name)
    items = [call(name, member, held), {"type": f"{name}_call_output", "call_id": "c1", **output}]
    written = rendered(*asked(*items).messages, origin="responses", tools=asked(tools=[{"type": name}]).tools)
    # the crossing renames; what is spliced into a client's own body is not renamed
    assert [item["type"] for item in written.body["input"][1:]] == ["function_call", "function_call_output"]
    assert spliced(*asked(*items).messages) == items


def spliced(*messages: q.Message) -> list[JSON]:
    """Turns as they are written into a client's own body, behind its first message."""
    request = q.Request(model="m", messages=messages[:1], origin="responses")
    body = Splicer(DIALECT, Facts()).with_turns({"input": []}, request, messages, choose=False)
    return list(body["input"][1:])


@pytest.mark.parametrize(
    ("error", "said"),
    [(False, {"stdout": "a", "stderr": ""}), (True, {"stdout": "", "stderr": "a"})],
)
def test_a_text_as_the_output_of_a_shell(error: bool, said: JSON) -> None:
    theirs = q.ToolCall(id="c1", name="shell", arguments='{"commands":["ls"]}', namespace=BUILTIN)
    result = q.ToolResult(id="c1", parts=(q.Text(text="a"),), error=error)
    _, output = spliced(
        q.Message(q.Role.USER, (q.Text(text="Hi"),)),
        q.Message(q.Role.ASSISTANT, (theirs,)),
        q.Message(q.Role.USER, (result,)),
    )
    assert output["output"] == [{**said, "outcome": {"type": "exit", "exit_code": int(error)}}]


def test_a_call_that_no_item_can_hold_is_written_as_one_of_a_function() -> None:
    theirs = q.ToolCall(id="c1", name="shell", arguments='{"cmd":1}', namespace=BUILTIN)
    result = q.ToolResult(id="c1", parts=(q.Text(text="no"),))
    first = q.Message(q.Role.USER, (q.Text(text="Hi"),))
    items = spliced(first, q.Message(q.Role.ASSISTANT, (theirs,)), q.Message(q.Role.USER, (result,)))
    assert items == [
        {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": '{"cmd":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "no"},
    ]


def test_an_output_is_given_to_its_upstream_with_the_id_of_the_call() -> None:
    id = "lsh_dgm" + "0" * 24
    items = [call("local_shell", "action", LS, id=id), {"type": "local_shell_call_output", "id": id, "output": "a"}]
    body: JSON = {"model": "m", "input": items}
    adapted = DIALECT.adapt_request(body, asked(*items), Facts()).body["input"]
    assert adapted == [call("local_shell", "action", LS), {**items[1], "id": "c1"}]
    items = [{**item, "id": "lsh_1"} for item in items]
    assert DIALECT.adapt_request({**body, "input": items}, asked(*items), Facts()).body["input"] == items
