"""What every crossing does, whatever the pair: design/requests.md, 2 and 3."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import dialects, jsontext
from dragoman.canonical import request as q
from dragoman.canonical.opaque import Opaque
from dragoman.crossing import cross, identities, lossy, rules
from dragoman.dialects.contract import Crossing, Dialect, Facts
from dragoman.exceptions import InvalidRequest
from dragoman.names import ToolIdentity
from dragoman.streaming import freeform
from tests.test_history import HI, IMAGE, assistant, call, result, system, text, user

TARGETS = dialects.names()
CHAT, GEMINI, MESSAGES, RESPONSES = (dialects.get(name) for name in ("chat", "gemini", "messages", "responses"))

every_target = pytest.mark.parametrize("target", [dialects.get(name) for name in TARGETS], ids=TARGETS)


def asked(*messages: q.Message, **members: Any) -> q.Request:
    return q.Request(model="m", messages=messages or (HI,), origin="another", max_output_tokens=100, **members)


def crossed(request: q.Request, target: Dialect) -> Crossing:
    return cross(request, target, Facts())[0]


# ------------------------------------------------------------------ what cannot cross


@every_target
def test_the_default_tier_asks_for_nothing(target: Dialect) -> None:
    made = target.render_request(crossed(asked(service_tier="auto"), target), Facts())
    assert made.losses == ()
    assert "auto" not in jsontext.render(made.body).decode()


def test_a_refusal_names_no_place_that_the_client_may_count_otherwise() -> None:
    assert lossy([q.Loss("messages[3].parts[0].cache", "r")]).param is None
    assert lossy([q.Loss("seed", "r"), q.Loss("messages[0].name", "r")]).param == "seed"


@every_target
def test_what_rests_on_the_clients_own_upstream_is_refused(target: Dialect) -> None:
    with pytest.raises(InvalidRequest) as caught:
        cross(asked(bound=("previous_response_id",)), target, Facts())
    assert caught.value.error.param == "previous_response_id"
    assert "previous_response_id" in caught.value.error.message


@every_target
def test_what_was_not_understood_is_a_loss(target: Dialect) -> None:
    request = asked(HI, assistant(call("a")), HI, unknown=("verbosity", "tools[1].x"))
    assert [loss.path for loss in crossed(request, target).losses] == [
        "verbosity",
        "tools[1].x",
        "messages[1].parts[0]",
    ]


# ------------------------------------------------------------------ names


TOOLS = (
    q.Tool(name="run"),
    q.Tool(name="read file"),
    q.Tool(name="find", namespace="mcp", about="Finds things.", description="Finds."),
)


@every_target
def test_a_tool_has_one_name_everywhere(target: Dialect) -> None:
    """In the declarations, the choice, the history; and what ``cross`` gives back undoes it."""
    history = assistant(call("a", "read file"), call("b", "find", namespace="mcp"), call("c", "old/one"))
    results = user(result("a", "A", name="read file"), result("b", "B"), result("c", "C"))
    choice = q.ToolChoice("auto", ("run", "find"), (None, "mcp"))
    crossing, known = cross(asked(HI, history, results, tools=TOOLS, tool_choice=choice), target, Facts())
    request = crossing.request
    assert [(tool.name, tool.namespace) for tool in request.tools] == [
        ("run", None),
        ("read_file", None),
        ("mcp__find", None),
    ]
    assert request.tool_choice == q.ToolChoice("auto", ("run", "mcp__find"))
    calls = [placed.part for placed in crossing.history.turns[1].calls]
    assert calls == [call("a", "read_file"), call("b", "mcp__find"), call("c", "old_one")]
    assert [answer.call for answer in crossing.history.turns[2].answers] == calls
    assert known == {
        "run": ToolIdentity("run"),
        "read_file": ToolIdentity("read file"),
        "mcp__find": ToolIdentity("find", namespace="mcp"),
        "old_one": ToolIdentity("old/one"),
        "find": ToolIdentity("find", namespace="mcp"),  # models call it by its bare name too
    }


def test_each_target_has_its_own_limits_of_names() -> None:
    name = "a.b-" + "c" * 80
    (gemini,), (messages,), (chat,) = (
        crossed(asked(tools=(q.Tool(name=name),)), target).request.tools for target in (GEMINI, MESSAGES, CHAT)
    )
    assert gemini.name == name
    assert messages.name == name.replace(".", "_")
    assert len(chat.name) == 64


def test_a_bare_name_that_is_not_unique_is_nobodys() -> None:
    tools = tuple(q.Tool(name="find", namespace=namespace) for namespace in ("a", "b"))
    _, known = cross(asked(tools=tools), CHAT, Facts())
    assert set(known) == {"a__find", "b__find"}
    _, known = cross(asked(tools=(*tools[:1], q.Tool(name="find"))), CHAT, Facts())
    assert known["find"] == ToolIdentity("find")


def test_what_a_namespace_is_for_goes_to_its_first_tool() -> None:
    *_, tool = crossed(asked(tools=TOOLS), CHAT).request.tools
    assert (tool.description, tool.about) == ("Finds things.\n\nFinds.", None)


def test_within_a_dialect_names_stay() -> None:
    tools = (*TOOLS, q.Tool(name="patch", kind="custom"))
    assert identities(asked(tools=tools)) == {
        "run": ToolIdentity("run"),
        "read file": ToolIdentity("read file"),
        "find": ToolIdentity("find", namespace="mcp"),
        "patch": ToolIdentity("patch", "custom"),
    }


# ------------------------------------------------------------------ freeform tools


PATCH = q.Tool(
    name="patch",
    kind="custom",
    description="Patches.",
    format={"type": "grammar", "syntax": "lark", "definition": "start: A"},
)
PATCHED = (
    HI,
    assistant(call("a", "patch", "*** Begin", kind="custom")),
    user(q.ToolResult(id="a", parts=(text("ok"),), kind="custom")),
)


@pytest.mark.parametrize("target", [CHAT, GEMINI, MESSAGES], ids=["chat", "gemini", "messages"])
def test_freeform_tools_become_functions_with_one_text(target: Dialect) -> None:
    crossing, known = cross(asked(*PATCHED, tools=(PATCH,)), target, Facts())
    (tool,) = crossing.request.tools
    assert (tool.kind, tool.schema, tool.format) == ("function", freeform.SCHEMA, None)
    assert tool.description == "Patches.\n\nThe input must match this lark grammar:\nstart: A"
    (placed,) = crossing.history.turns[1].calls
    assert placed.part == call("a", "patch", '{"input":"*** Begin"}')
    assert known == {"patch": ToolIdentity("patch", "custom")}
    assert crossing.losses == ()


def test_a_freeform_tool_without_a_grammar_is_described_as_it_was() -> None:
    for description in (None, "Patches."):
        (tool,) = crossed(
            asked(tools=(q.Tool(name="patch", kind="custom", description=description),)), CHAT
        ).request.tools
        assert tool.description == description


def test_where_there_are_freeform_tools_they_stay() -> None:
    crossing = crossed(asked(*PATCHED, tools=(PATCH,)), RESPONSES)
    assert crossing.request.tools == (PATCH,)
    assert [placed.part for placed in crossing.history.turns[1].calls] == [PATCHED[1].parts[0]]


# ------------------------------------------------------------------ the history's rules


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (Facts(), {"system_turns": False, "proofs": True, "prefill": True, "reasoning_text": False}),
        (Facts(mid_conversation_system=True), {"system_turns": True}),
        (Facts(signing_upstream=False), {"proofs": False}),
        (Facts(assistant_prefill=False), {"prefill": False}),
        (Facts(wants_reasoning=True), {"reasoning_text": True}),
    ],
)
def test_facts_beat_the_traits_of_a_dialect(facts: Facts, expected: dict[str, bool]) -> None:
    found = rules(MESSAGES, facts)
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_fragment_has_neither_beginning_nor_end() -> None:
    crossing, _ = cross(asked(assistant("yes ")), MESSAGES, Facts(assistant_prefill=False), fragment=True)
    assert [turn.role for turn in crossing.history.turns] == [q.Role.ASSISTANT]


# ------------------------------------------------------------------ bytes, for prompt caches

PROOF = Opaque("messages", "signature", "c2ln")
CONVERSATION = [
    [system("Be brief."), user("hi", IMAGE)],
    [
        assistant("Let me see.", call("a"), call("get:0", "read file")),
        user(result("get:0", "2", IMAGE), result("a", "1"), "go on"),
    ],
    [assistant(q.Reasoning(text="hm", opaque=(PROOF,)), "Well.", call("a")), user("stop")],
    [
        assistant(call("", arguments="not JSON"), "after it"),
        user(result("", "ok", name="run")),
        user(" ", result("z", "orphan")),
    ],
    [assistant("yes "), system("Now in Dutch."), user("more")],
    [assistant(q.Refusal(text="no")), user("why?")],
]
"""What each exchange adds."""


def rendered(messages: list[q.Message], target: Dialect, facts: Facts | None = None) -> tuple[list[bytes], bytes]:
    """The entries of the history, and the rest of the body."""
    request, facts = asked(*messages, tools=TOOLS), facts or Facts()
    body = dict(target.render_request(crossed_with(request, target, facts), facts).body)
    history = body.pop(target.members.history)
    return [jsontext.render(entry) for entry in history], jsontext.render(body)


def crossed_with(request: q.Request, target: Dialect, facts: Facts) -> Crossing:
    return cross(request, target, facts)[0]


def check_prefixes(exchanges: list[list[q.Message]], target: Dialect, facts: Facts | None = None) -> None:
    """What was said before is written as before, whatever comes later."""
    messages: list[q.Message] = []
    before: tuple[list[bytes], bytes] | None = None
    for exchange in exchanges:
        messages = [*messages, *exchange]
        history, rest = now = rendered(messages, target, facts)
        assert now == rendered(messages, target, facts), "the same history gives the same bytes"
        if before is not None:
            assert rest == before[1]
            assert history[: len(before[0])] == before[0]
            assert len(history) > len(before[0])
        before = now


@every_target
@pytest.mark.parametrize(
    "facts",
    [Facts(), Facts(mid_conversation_system=True, wants_reasoning=True, signing_upstream=False)],
    ids=["plain", "rich"],
)
def test_a_further_turn_changes_nothing_before_it(target: Dialect, facts: Facts) -> None:
    check_prefixes(CONVERSATION, target, facts)


def test_bytes_do_not_depend_on_the_process() -> None:
    """Nor on the order of sets in it."""
    code = "from tests.test_crossing import *; print(hash('seed'), [rendered(sum(CONVERSATION, []), dialects.get(name)) for name in TARGETS])"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], cwd=Path(__file__).parents[1], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout.partition(" ")
        for seed in ("1", "2")
    ]  # fmt: skip
    assert runs[0][0] != runs[1][0]
    assert runs[0][2] == runs[1][2]


PHRASES = st.sampled_from(("a", "b ", "c\nd")).map(text)
CALLS = st.builds(
    call,
    st.sampled_from(("", "a", "b:0", "c")),
    st.sampled_from(("run", "read file", "old/one")),
    st.sampled_from(("{}", "", "oops")),
)
ASIDES: st.SearchStrategy[q.Text | q.Image | q.ToolResult] = st.sampled_from(
    (text(" "), IMAGE, result("z", "orphan"), result("z", IMAGE))
)


@st.composite
def exchanges(draw: st.DrawFn) -> list[q.Message]:
    """An assistant's turn, and what a client answers: results of some of its calls, in any order, and more."""
    thoughts = st.builds(
        q.Reasoning,
        text=st.just("hm"),
        opaque=st.sampled_from(((), (PROOF,), (Opaque("gemini", "signature", "R0VN"),))),
    )
    parts = draw(st.lists(st.one_of(PHRASES, CALLS, CALLS, thoughts), max_size=4))
    said = [assistant(*parts[:2]), assistant(*parts[2:], draw(PHRASES | CALLS))]
    calls = [part for turn in said for part in turn.parts if isinstance(part, q.ToolCall)]
    answered = draw(st.permutations(calls))[: draw(st.integers(0, len(calls)))]
    results = [result(one.id, "done", *draw(st.sampled_from(((), (IMAGE,)))), name=one.name) for one in answered]
    aside = draw(st.lists(ASIDES, max_size=2))
    between = draw(st.sampled_from(([], [system("later")], [user(*aside)])))
    return [*said, *between, user(*results, *aside, draw(PHRASES))]


@given(st.lists(exchanges(), max_size=4), st.sampled_from(TARGETS), st.booleans())
def test_in_any_conversation(further: list[list[q.Message]], target: str, rich: bool) -> None:
    facts = Facts(mid_conversation_system=True, wants_reasoning=True, signing_upstream=False) if rich else Facts()
    check_prefixes([[system("s"), HI], *further], dialects.get(target), facts)
