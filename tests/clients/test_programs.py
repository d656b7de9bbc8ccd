"""Real SDKs and agents on an upstream of another dialect: each calls its own tool and repeats what it said."""

from __future__ import annotations

import pytest

from dragoman import dialects
from tests.clients.stage import Case, Outcome, Stage

PROGRAMS = (
    *("py-openai-chat", "py-openai-responses", "py-anthropic", "py-google-genai"),
    *("node-ai5-compat", "node-ai-openai-chat", "node-ai-openai-responses", "node-ai-anthropic", "node-ai-google"),
    *("cli-claude-code", "cli-codex", "cli-codex-patch", "cli-gemini", "cli-opencode-compat", "cli-opencode-responses"),
)
SDKS = tuple(name for name in PROGRAMS if not name.startswith("cli-"))
ODD = ("late-name", "late-name-empty", "bare-continuation", "parallel-interleaved")
"""What chat servers do that many clients do not survive."""

every_program = pytest.mark.parametrize("program", PROGRAMS)


def passed(programs: Stage, case: Case) -> Outcome:
    outcome = programs.run(case)
    assert outcome.ok, f"{outcome.error}\n{outcome.text}\n{outcome.calls}\n{outcome.requests}"
    assert {request.split()[0] for request in outcome.requests} == {case.upstream}
    return outcome


@every_program
@pytest.mark.parametrize("upstream", dialects.names())
def test_every_program_works_on_every_upstream(programs: Stage, program: str, upstream: str) -> None:
    passed(programs, Case(program, upstream))


@every_program
@pytest.mark.parametrize("scenario", ODD)
def test_no_program_sees_what_a_chat_server_does(programs: Stage, program: str, scenario: str) -> None:
    passed(programs, Case(program, "chat", scenario))


@pytest.mark.parametrize("program", SDKS)
@pytest.mark.parametrize("upstream", dialects.names())
def test_sdks_that_do_not_stream(programs: Stage, program: str, upstream: str) -> None:
    passed(programs, Case(program, upstream, stream=False))


def test_claude_code_reads_a_file_on_a_chat_upstream(programs: Stage) -> None:
    outcome = passed(programs, Case("cli-claude-code", "chat"))
    ((call,), (asked, told)) = outcome.calls, outcome.requests
    assert "notes.txt" in str(call["args"])
    assert (asked, told) == (f"chat tool:{call['name']} streamed", "chat text streamed")


@pytest.mark.parametrize("upstream", ["chat", "messages"])
def test_codex_applies_a_patch(programs: Stage, upstream: str) -> None:
    """Its freeform tool is a function there; the file is compared byte for byte."""
    outcome = passed(programs, Case("cli-codex-patch", upstream))
    assert outcome.requests[0] == f"{upstream} tool:apply_patch streamed"


@pytest.mark.parametrize(
    ("program", "upstream"), [("cli-opencode-responses", "chat"), ("cli-opencode-compat", "responses")]
)
def test_opencode_and_a_name_that_comes_late(programs: Stage, program: str, upstream: str) -> None:
    passed(programs, Case(program, upstream, {"chat": "late-name", "responses": "bad-no-name-added"}[upstream]))


@pytest.mark.parametrize(
    ("program", "model"),
    [
        ("cli-claude-code", "claude-opus-4-6"),  # thinks adaptively
        ("cli-claude-code", "claude-sonnet-4-5"),  # thinks within a budget
        ("cli-codex", "gpt-5.5"),  # has freeform and hosted tools
        ("cli-gemini", "auto"),  # asks first which model is to be asked, with a schema for the answer
    ],
)
@pytest.mark.parametrize("upstream", ["chat", "messages"])
def test_agents_and_the_models_that_they_know(programs: Stage, program: str, model: str, upstream: str) -> None:
    """For the others they ask in another way: with fewer tools, with system turns in mid-conversation."""
    passed(programs, Case(program, upstream, model=model))


def test_claude_code_asks_again_for_the_whole_answer_when_its_stream_breaks_off(programs: Stage) -> None:
    programs.upstream.cut_after = 1250  # in the midst of the arguments
    try:
        outcome = passed(programs, Case("cli-claude-code", "chat"))
    finally:
        programs.upstream.cut_after = 0
    assert [request.partition(" tool:")[0] for request in outcome.requests] == ["chat", "chat", "chat text streamed"]
    assert outcome.requests[1].endswith(outcome.calls[0]["name"]), "not streamed"


@pytest.mark.parametrize("program", SDKS)
@pytest.mark.parametrize(
    ("upstream", "scenario"),
    [("gemini", "bad-no-finish"), ("responses", "bad-no-completed")],
)
def test_what_cannot_be_repaired_is_told(programs: Stage, program: str, upstream: str, scenario: str) -> None:
    outcome = programs.run(Case(program, upstream, scenario))
    assert outcome.told, f"{outcome.error}\n{outcome.calls}"


@pytest.mark.parametrize("program", SDKS)
@pytest.mark.parametrize(("upstream", "scenario"), [("messages", "bad-no-name"), ("gemini", "bad-empty-name")])
def test_a_call_without_a_name_is_none(programs: Stage, program: str, upstream: str, scenario: str) -> None:
    """What the model said before it is what its client gets (docs/decisions/0017-calls-without-a-name.md)."""
    outcome = programs.run(Case(program, upstream, scenario))
    assert (outcome.text, outcome.calls) == ("Let me look.", [])
