"""A history made legal for its target: design/requests.md, 2. One table row for each rule."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

from dragoman.canonical import request as q
from dragoman.canonical.aliases import original
from dragoman.canonical.opaque import Opaque
from dragoman.history import (
    ASIDE,
    BEGINNING,
    CONTINUE,
    NO_RESULT,
    ORPHAN,
    SYSTEM,
    History,
    HistoryRules,
    arrange,
    mended_arguments,
)

PROOF = Opaque("here", "signature", "c2ln")
FOREIGN = Opaque("there", "encrypted", "ZW5j")
IMAGE = q.Image(media_type="image/png", data="AA==")
NATIVE = q.Native(origin="here", value={})

FOLLOWS = "[The result follows in the next message.]"


def text(text: str, **more: Any) -> q.Text:
    return q.Text(text=text, **more)


def message(role: q.Role, *parts: q.Part | str) -> q.Message:
    return q.Message(role, tuple(text(part) if isinstance(part, str) else part for part in parts))


def user(*parts: q.Part | str) -> q.Message:
    return message(q.Role.USER, *parts)


def assistant(*parts: q.Part | str) -> q.Message:
    return message(q.Role.ASSISTANT, *parts)


def system(*parts: q.Part | str) -> q.Message:
    return message(q.Role.SYSTEM, *parts)


def developer(*parts: q.Part | str) -> q.Message:
    return message(q.Role.DEVELOPER, *parts)


def call(id: str, name: str = "run", arguments: str = "{}", **more: Any) -> q.ToolCall:
    return q.ToolCall(id=id, name=name, arguments=arguments, **more)


def result(id: str, *parts: Any, name: str | None = None, error: bool = False) -> q.ToolResult:
    return q.ToolResult(
        id=id, parts=tuple(text(part) if isinstance(part, str) else part for part in parts), name=name, error=error
    )


def thought(words: str, *proofs: Opaque) -> q.Reasoning:
    return q.Reasoning(text=words, opaque=proofs)


def told(history: History) -> list[str]:
    """The turns in short: ``a=text`` is the answer to call ``a``, ``<a>`` the call."""
    found = []
    for turn in history.turns:
        answers = [f"{answer.id}{'!' * answer.error}={'+'.join(map(short, answer.parts))}" for answer in turn.answers]
        assert all(answer.call.id == answer.id for answer in turn.answers)
        found.append(f"{turn.role.value}: {' '.join([*answers, *(short(placed.part) for placed in turn.parts)])}")
    return found


def short(part: q.Part) -> str:
    match part:
        case q.Text(text=words, signature=signature):
            return words + " signed" * (signature is not None)
        case q.Image():
            return "IMAGE"
        case q.Reasoning(text=words, opaque=proofs):
            return f"({words}{''.join(f' {proof.data}' for proof in proofs)})"
        case q.Refusal(text=words):
            return f"refusal: {words}"
        case q.ToolCall(id=id):
            return f"<{id}>"
    return type(part).__name__


class Row(NamedTuple):
    messages: list[q.Message]
    turns: list[str]
    rules: dict[str, Any] = {}  # noqa: RUF012 - never changed
    losses: list[str] = []  # noqa: RUF012
    """Their paths."""


ALTERNATE = {"alternate": True, "system_turns": False}
HI = user("hi")
ASKED = assistant(call("a"))

ROWS: dict[str, Row] = {
    "turns as they are": Row([HI, assistant("yes"), user("more")], ["user: hi", "assistant: yes", "user: more"]),
    # ---- system text keeps its rank
    "later system text is a turn of its own": Row(
        [HI, system("s"), developer("d"), HI], ["user: hi", "system: s", "developer: d", "user: hi"]
    ),
    "later system text is marked text of the user's": Row(
        [HI, assistant("yes"), system("s", "t"), user("more")],
        ["user: hi", "assistant: yes", f"user: {SYSTEM.format(text='s')} {SYSTEM.format(text='t')} more"],
        ALTERNATE,
        ["messages[2].parts[0]", "messages[2].parts[1]"],
    ),
    "an image in later system text": Row([HI, system(IMAGE)], ["user: hi IMAGE"], ALTERNATE),
    # ---- blank text goes, equal roles are one turn
    "blank text": Row([user("hi", " \n"), assistant(""), user("more")], ["user: hi", "user: more"]),
    "blank text that is signed": Row(
        [HI, assistant(text("", signature=PROOF)), HI], ["user: hi", "assistant:  signed", "user: hi"]
    ),
    "blank text that another API signed": Row(
        [HI, assistant("yes", text("", signature=FOREIGN)), HI],
        ["user: hi", "assistant: yes", "user: hi"],
        losses=["messages[1].parts[1].signature"],
    ),
    "blank refusals": Row([HI, assistant(q.Refusal(text=" "), q.Refusal(text="no")), HI], ["user: hi", "assistant: refusal: no", "user: hi"]),
    "users' turns stay apart": Row([HI, HI], ["user: hi", "user: hi"]),
    "where turns alternate they are one": Row([HI, HI], ["user: hi hi"], ALTERNATE),
    "the assistant's turns are one everywhere": Row([HI, assistant("a"), assistant("b"), HI], ["user: hi", "assistant: a b", "user: hi"]),
    # ---- calls and results
    "results in the order of the calls": Row(
        [HI, assistant(call("a"), call("b")), user(result("b", "B"), result("a", "A"))],
        ["user: hi", "assistant: <a> <b>", "user: a=A b=B"],
    ),
    "results before anything else": Row([HI, ASKED, user("by the way", result("a", "A"))], ["user: hi", "assistant: <a>", "user: a=A by the way"]),
    "results of several messages": Row(
        [HI, assistant(call("a"), call("b")), user(result("a", "A")), user("and", result("b", "B"))],
        ["user: hi", "assistant: <a> <b>", "user: a=A b=B", "user: and"],
    ),
    "results behind a system turn": Row(
        [HI, ASKED, system("s"), user(result("a", "A"))], ["user: hi", "assistant: <a>", "user: a=A", "system: s"]
    ),
    "a result that failed": Row([HI, ASKED, user(result("a", "no", error=True))], ["user: hi", "assistant: <a>", "user: a!=no"]),
    "a late result": Row(
        [HI, ASKED, user("wait"), assistant("yes"), user(result("a", "A"))],
        ["user: hi", "assistant: <a>", "user: a=A wait", "assistant: yes"],
    ),
    "a call without a result": Row(
        [HI, ASKED, user("stop")], ["user: hi", "assistant: <a>", f"user: a!={NO_RESULT} stop"], losses=["messages[1].parts[0]"]
    ),
    "a call at the end": Row([HI, ASKED], ["user: hi", "assistant: <a>", f"user: a!={NO_RESULT}"], losses=["messages[1].parts[0]"]),
    "a result without a call": Row(
        [user(result("z", "Z", IMAGE), "more")], [f"user: {ORPHAN} Z IMAGE more"], losses=["messages[0].parts[0]"]
    ),
    "a result before its call": Row(
        [user(result("a", "A")), ASKED, HI],
        [f"user: {ORPHAN} A", "assistant: <a>", f"user: a!={NO_RESULT} hi"],
        losses=["messages[1].parts[0]", "messages[0].parts[0]"],
    ),
    "a second result": Row(
        [HI, ASKED, user(result("a", "A"), result("a", "again"))],
        ["user: hi", "assistant: <a>", f"user: a=A {ORPHAN} again"],
        losses=["messages[2].parts[1]"],
    ),
    "results without ids, by name and order": Row(  # gemini
        [HI, assistant(call("", "f"), call("", "g"), call("", "f")), user(result("", "1", name="f"), result("", "2", name="f"), result("", "3", name="g"))],
        ["user: hi", "assistant: <call#0> <call#1> <call#2>", "user: call#0=1 call#1=3 call#2=2"],
    ),
    "a result without an id is the latest call's": Row(
        [HI, assistant(call("", "f")), user("stop"), assistant(call("", "f")), user(result("", "1", name="f"))],
        ["user: hi", "assistant: <call#0>", f"user: call#0!={NO_RESULT} stop", "assistant: <call#1>", "user: call#1=1"],
        losses=["messages[1].parts[0]"],
    ),
    "results without ids, of another turn": Row(
        [HI, assistant(call("", "f")), user("stop"), assistant("yes"), user(result("z", "1"))],
        ["user: hi", "assistant: <call#0>", f"user: call#0!={NO_RESULT} stop", "assistant: yes", f"user: {ORPHAN} 1"],
        losses=["messages[1].parts[0]", "messages[4].parts[0]"],
    ),
    "an id that only the result has": Row(
        [HI, assistant(call("", "f"), call("", "g")), user(result("1", "G", name="g"), result("2", "F", name="f"))],
        ["user: hi", "assistant: <call#0> <call#1>", "user: call#0=F call#1=G"],
    ),
    "the same id in two turns": Row(
        [HI, ASKED, user("stop"), ASKED, user(result("a", "A"))],
        ["user: hi", "assistant: <a>", f"user: a!={NO_RESULT} stop", "assistant: <a#1>", "user: a#1=A"],
        losses=["messages[1].parts[0]"],
    ),
    "the same id in one turn": Row(
        [HI, assistant(call("a"), call("a")), user(result("a", "1"), result("a", "2"))],
        ["user: hi", "assistant: <a> <a#1>", "user: a=1 a#1=2"],
    ),
    "text after calls goes before them": Row(
        [HI, assistant("one", call("a"), "two"), user(result("a", "A"))], ["user: hi", "assistant: one two <a>", "user: a=A"]
    ),
    "where it may stay, it does": Row(
        [HI, assistant(call("a"), "two"), user(result("a", "A"))], ["user: hi", "assistant: <a> two", "user: a=A"], {"calls_last": False}
    ),
    "it stays beside what was ordered by its maker": Row(
        [HI, assistant(call("a"), NATIVE, "two"), user(result("a", "A"))], ["user: hi", "assistant: <a> Native two", "user: a=A"]
    ),
    # ---- what a result cannot hold there
    "an image in a result": Row(
        [HI, ASKED, user(result("a", "A", IMAGE), "see")],
        ["user: hi", "assistant: <a>", f"user: a=A {ASIDE.format(id='a')} IMAGE see"],
        losses=["messages[2].parts[0]"],
    ),
    "an image alone in a result": Row(
        [HI, ASKED, user(result("a", IMAGE))],
        ["user: hi", "assistant: <a>", f"user: a={FOLLOWS} {ASIDE.format(id='a')} IMAGE"],
        losses=["messages[2].parts[0]"],
    ),
    "an image where results hold images": Row(
        [HI, ASKED, user(result("a", "A", IMAGE))], ["user: hi", "assistant: <a>", "user: a=A+IMAGE"], {"result_parts": (q.Text, q.Image)}
    ),
    # ---- reasoning
    "proven reasoning goes back": Row([HI, assistant(thought("hm", PROOF), "yes"), HI], ["user: hi", "assistant: (hm c2ln) yes", "user: hi"]),
    "unproven reasoning does not": Row([HI, assistant(thought("hm"), "yes"), HI], ["user: hi", "assistant: yes", "user: hi"], losses=["messages[1].parts[0]"]),
    "nor does another's": Row([HI, assistant(thought("hm", FOREIGN), "yes"), HI], ["user: hi", "assistant: yes", "user: hi"], losses=["messages[1].parts[0]"]),
    "a proof goes to its origin only": Row(
        [HI, assistant(thought("hm", FOREIGN, PROOF)), HI], ["user: hi", "assistant: (hm c2ln)", "user: hi"], losses=["messages[1].parts[0]"]
    ),
    "a proof goes back to who passed it on": Row(
        [HI, assistant(thought("hm", Opaque("there", "encrypted", "ZW5j", via="here"))), HI], ["user: hi", "assistant: (hm ZW5j)", "user: hi"]
    ),
    "reasoning where it is wanted as text": Row([HI, assistant(thought("hm")), HI], ["user: hi", "assistant: (hm)", "user: hi"], {"reasoning_text": True}),
    "reasoning where nothing is proven": Row(
        [HI, assistant(thought("hm", FOREIGN)), HI], ["user: hi", "assistant: (hm)", "user: hi"], {"proofs": False}, ["messages[1].parts[0]"]
    ),
    "a call that another API signed": Row(
        [HI, assistant(call("a", signature=FOREIGN)), user(result("a", "A"))],
        ["user: hi", "assistant: <a>", "user: a=A"],
        losses=["messages[1].parts[0].signature"],
    ),
    # ---- beginning and end
    "the user begins": Row([assistant("yes"), HI], [f"user: {BEGINNING}", "assistant: yes", "user: hi"], ALTERNATE),
    "where anyone may, nothing is put before": Row([assistant("yes"), HI], ["assistant: yes", "user: hi"]),
    "nothing at all": Row([], [f"user: {BEGINNING}"], ALTERNATE),
    "a prefill is kept, without blanks at its end": Row([HI, assistant("yes, \n")], ["user: hi", "assistant: yes,"]),
    "where there is no prefill, the user asks to continue": Row(
        [HI, assistant("yes, ")], ["user: hi", "assistant: yes, ", f"user: {CONTINUE}"], {"prefill": False}, ["messages"]
    ),
    "a fragment has neither beginning nor end": Row([assistant("yes ")], ["assistant: yes "], {**ALTERNATE, "fragment": True, "prefill": False}),
}  # fmt: skip


def arranged(messages: list[q.Message], **rules: Any) -> History:
    return arrange(messages, HistoryRules(origin="here", **rules))


@pytest.mark.parametrize("row", ROWS)
def test_turns(row: str) -> None:
    messages, turns, rules, losses = ROWS[row]
    history = arranged(messages, **rules)
    assert told(history) == turns
    assert [loss.path for loss in history.losses] == losses
    assert history.system == []


@pytest.mark.parametrize("row", ROWS)
def test_the_same_history_gives_the_same_turns(row: str) -> None:
    messages, _, rules, _ = ROWS[row]
    before = list(messages)
    assert arranged(messages, **rules) == arranged(messages, **rules)
    assert messages == before, "what the client said is left alone"


@pytest.mark.parametrize("alternate", [True, False])
def test_where_nothing_is_said_the_user_says_so(alternate: bool) -> None:
    history = arrange([user(" "), assistant("")], HistoryRules(origin="here", alternate=alternate))
    assert [(turn.role, turn.parts[0].part) for turn in history.turns] == [(q.Role.USER, text(BEGINNING))]


def test_system_text_that_stands_first_is_apart() -> None:
    messages = [system("a", " "), developer("b"), HI, system("c")]
    history = arranged(messages, **ALTERNATE)
    assert [(placed.part, placed.path) for placed in history.system] == [
        (text("a"), "messages[0].parts[0]"),
        (text("b"), "messages[1].parts[0]"),
    ]
    assert told(history) == [f"user: hi {SYSTEM.format(text='c')}"]


def test_every_part_tells_where_it_stood() -> None:
    history = arranged([HI, assistant("yes", call("a")), user("more", result("a", "A"))])
    _, second, third = history.turns
    assert [placed.path for placed in second.parts] == ["messages[1].parts[0]", "messages[1].parts[1]"]
    assert [placed.path for placed in second.calls] == ["messages[1].parts[1]"]
    assert [answer.path for answer in third.answers] == ["messages[2].parts[1]"]
    assert [placed.path for placed in third.parts] == ["messages[2].parts[0]"]


@pytest.mark.parametrize(
    ("arguments", "mended"),
    [
        ("", "{}"),
        (" \n", "{}"),
        ("null", "{}"),
        ('{"a": 1}', '{"a": 1}'),
        ('{"a":', '{"INVALID_JSON":"{\\"a\\":"}'),
        ("[1]", '{"INVALID_JSON":"[1]"}'),
        ("rm -rf", '{"INVALID_JSON":"rm -rf"}'),
        ('{"a":NaN}', '{"INVALID_JSON":"{\\"a\\":NaN}"}'),
    ],
)
def test_arguments_are_the_text_of_an_object(arguments: str, mended: str) -> None:
    assert mended_arguments(arguments) == mended
    _, turn, _ = arranged([HI, assistant(call("a", arguments=arguments)), user(result("a", "A"))]).turns
    assert [placed.part for placed in turn.parts] == [call("a", arguments=mended)]


def test_the_input_of_a_custom_tool_is_any_text() -> None:
    _, turn, _ = arranged([HI, assistant(call("a", arguments="ls", kind="custom")), user(result("a", "A"))]).turns
    assert [placed.part for placed in turn.parts] == [call("a", arguments="ls", kind="custom")]


# ------------------------------------------------------------------ ids

PATTERN = re.compile("[a-z_A-Z0-9-]+")


def ids(*given: str, **rules: Any) -> list[str]:
    messages = [HI, assistant(*map(call, given)), user(*(result(id, id) for id in given))]
    _, turn, answers = arranged(messages, **rules).turns
    assert [answer.id for answer in answers.answers] == [placed.part.id for placed in turn.calls]  # type: ignore[union-attr]
    return [answer.id for answer in answers.answers]


def test_legal_ids_stay() -> None:
    assert ids("a", "call_b", call_id=PATTERN) == ["a", "call_b"]
    assert ids("get_weather:0") == ["get_weather:0"]


def test_illegal_ids_get_an_alias_that_is_mapped_back() -> None:
    (alias,) = ids("get_weather:0", call_id=PATTERN)
    assert PATTERN.fullmatch(alias)
    assert original(alias) == "get_weather:0"


def test_long_ids_get_a_digest() -> None:
    given = ["a" * 41, "a" * 40, "get_weather:" + "0" * 40]
    one, other, third = ids(*given, call_id=PATTERN, call_id_longest=40)
    assert other == given[1]
    assert len({one, other, third}) == 3
    assert all(len(id) <= 40 and PATTERN.fullmatch(id) for id in (one, third))


@pytest.mark.parametrize("rules", [{}, {"call_id": PATTERN}, {"call_id": PATTERN, "call_id_longest": 40}])
def test_ids_are_unique_in_a_history(rules: dict[str, Any]) -> None:
    found = ids("a", "a", "", "", "a#1", "a", "call#0", **rules)
    assert len(set(found)) == 7
    assert found == ids("a", "a", "", "", "a#1", "a", "call#0", **rules)
    assert found[:5] == ids("a", "a", "", "", "a#1", **rules), "what comes later changes nothing"


def test_many_calls_without_ids_are_numbered() -> None:
    found = ids(*[""] * 3000)
    assert found == [f"call#{number}" for number in range(3000)]
