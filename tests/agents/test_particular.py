"""What only one of the agents does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.compaction import INSTRUCTION
from tests.agents.answering import Answer, Outcome, ask, ask_at, playing
from tests.agents.sent import JSON, Sent, abroad, sent, tools
from tests.asking import CLIENTS
from tests.gateway.conftest import Lab
from tests.reading import events
from tests.roundtrips.flat import flat

DONE = Answer(text="Done.")
PROOF = "cHJvb2Ygb2YgYSB0aG91Z2h0"
PATCH = '*** Begin Patch\n*** Add File: new.txt\n+one "and" two ü\n*** End Patch\n'
SCORE = '{"complexity_reasoning": "One file is read.", "complexity_score": 7}'

both_forms = pytest.mark.parametrize("form", ["streamed", "whole"])


# ---- Claude Code


@pytest.mark.parametrize("upstream", CLIENTS)
@pytest.mark.parametrize("name", ["claude-budget", "claude-rounds"])
async def test_betas_of_claude_code_stay_in_its_dialect(lab: Lab, name: str, upstream: str) -> None:
    """``?beta=true`` is taken, and goes nowhere."""
    request = sent(name)
    assert request.query == "beta=true"
    seen = await ask(lab, request, upstream, DONE)
    wanted = request.headers["anthropic-beta"] if upstream == "messages" else None
    assert seen.asked.headers.get("anthropic-beta") == wanted
    assert "beta=" not in seen.asked.path
    assert seen.said("messages").text == "Done."


# ---- Codex


@both_forms
@abroad(sent("codex-patch"))
async def test_a_patch_of_codex(lab: Lab, request_: Sent, upstream: str, form: str) -> None:
    """A function with one text there, and a freeform call here, with every character of the patch."""
    asking = request_ if form == "streamed" else request_.whole
    seen = await ask(lab, asking, upstream, Answer(calls=(("apply_patch", {"input": PATCH}),)))
    (tool,) = (one for one in tools(upstream, seen.asked.body) if one.name == "apply_patch")
    assert (list(tool.schema["properties"]), tool.schema["properties"]["input"]["type"]) == (["input"], "string")
    (item,) = items(seen)
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "apply_patch", PATCH)
    assert seen.said("responses").error is None


@both_forms
@abroad(sent("codex-spaces"))
async def test_a_tool_in_a_namespace_of_codex(lab: Lab, request_: Sent, upstream: str, form: str) -> None:
    asking = request_ if form == "streamed" else request_.whole
    call = ("multi_agent_v1__spawn_agent", {"message": "Go on."})
    (item,) = items(await ask(lab, asking, upstream, Answer(calls=(call,))))
    assert (item["type"], item["namespace"], item["name"]) == ("function_call", "multi_agent_v1", "spawn_agent")
    assert json.loads(item["arguments"]) == {"message": "Go on."}


def test_codex_patches_with_the_shell_where_it_does_not_know_the_model() -> None:
    declared = {name: [tool["type"] for tool in sent(name).body["tools"]] for name in ("codex-patch", "codex-spaces")}
    assert {name: "custom" in types for name, types in declared.items()} == {"codex-patch": True, "codex-spaces": False}
    assert "exec_command" in [tool.name for tool in tools("responses", sent("codex-spaces").body)]


@pytest.mark.parametrize("maker", ["messages", "gemini"])
async def test_reasoning_of_codex_goes_back_to_its_maker(lab: Lab, maker: str) -> None:
    """As Codex keeps it, who has nothing stored at the server. Others do not get the proof."""
    answer = Answer(reasoning="Hm.", proof=PROOF, calls=(("exec_command", {"cmd": "true"}),))
    plays: dict[str, Any] = {name: playing(name, answer if name == maker else DONE) for name in CLIENTS}
    gateway = lab.gateway(dialect={name: name for name in CLIENTS}, **plays)
    request = sent("codex-spaces")
    kept = items(await ask_at(lab, gateway, request.with_members(model=f"{maker}/m"), maker, maker))
    result = {"type": "function_call_output", "call_id": kept[-1]["call_id"], "output": "done"}
    history = [*request.body["input"], *kept, result]
    for upstream in CLIENTS:
        later = request.with_members(model=f"{upstream}/m", input=history)
        asked = (await ask_at(lab, gateway, later, upstream, upstream)).asked
        assert (PROOF in json.dumps(asked.body)) is (upstream == maker), upstream


@abroad(sent("codex-summary"))
async def test_codex_sums_up_by_itself(lab: Lab, request_: Sent, upstream: str) -> None:
    """It asks for a summary as for anything else, and goes on from it: nothing is put in here."""
    seen = await ask(lab, request_, upstream, Answer(text="The notes are read."))
    asked = [entry.value for entry in flat(upstream, seen.asked.body) if entry.kind == "text"]
    assert asked[-1] == request_.body["input"][-1]["content"][0]["text"]
    assert INSTRUCTION not in asked
    assert seen.said("responses").text == "The notes are read."
    (item,) = items(seen)
    assert item["type"] == "message"


def items(seen: Outcome) -> list[JSON]:
    """What Codex takes of an answer: the items that are done."""
    body = seen.call.body
    if body.startswith(b"{"):
        return list(json.loads(body)["output"])
    return [event["item"] for event in events(body) if event["type"] == "response.output_item.done"]


# ---- Gemini CLI


@abroad(sent("gemini-rounds"))
@pytest.mark.parametrize("with_ids", [True, False])
async def test_ids_that_gemini_cli_makes(lab: Lab, request_: Sent, upstream: str, with_ids: bool) -> None:
    """Calls and results belong together by them, and without them by their order."""
    body: Any = json.loads(json.dumps(request_.body))
    parts = [part for content in body["contents"] for part in content["parts"]]
    ids = [part[name].get("id") for part in parts for name in ("functionCall", "functionResponse") if name in part]
    assert ids == ["run_shell_command_1700000000000_0"] * 2
    for part in parts:
        for name in ("functionCall", "functionResponse"):
            if name in part and not with_ids:
                del part[name]["id"]
    seen = await ask(lab, request_.with_members(**body), upstream, DONE)
    call, result = (one for one in flat(upstream, seen.asked.body) if one.kind in ("call", "result"))
    assert (call.kind, result.kind, call.name) == ("call", "result", "run_shell_command")
    assert call.id == result.id != ""


@abroad(sent("gemini-classifier"))
async def test_the_schema_of_gemini_cli(lab: Lab, request_: Sent, upstream: str) -> None:
    """Its classifier asks in one piece, in Google's upper-case words; the answer is the text that fits it."""
    seen = await ask(lab, request_, upstream, Answer(text=SCORE))
    schema = _schema(upstream, seen.asked.body)
    types = {name: member["type"] for name, member in schema["properties"].items()}
    assert (schema["type"], types) == ("object", {"complexity_reasoning": "string", "complexity_score": "integer"})
    assert schema["required"] == ["complexity_reasoning", "complexity_score"]
    assert seen.call.headers["content-type"] == "application/json"
    assert seen.said("gemini").text == SCORE


def _schema(upstream: str, body: JSON) -> JSON:
    if upstream == "chat":
        return dict(body["response_format"]["json_schema"]["schema"])
    place = body["text"] if upstream == "responses" else body["output_config"]
    return dict(place["format"]["schema"])


# ---- pi


@pytest.mark.parametrize("name", ["pi-chat", "pi-responses", "pi-messages", "pi-gemini"])
def test_pi_has_every_model_write_so_much_at_most(name: str) -> None:
    body = sent(name).body
    members = {**body, **body.get("generationConfig", {})}
    longest = {"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"}
    assert [value for member, value in members.items() if member in longest] == [16_384]
