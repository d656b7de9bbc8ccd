"""What a client's history cannot hold is put back, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from dragoman.cache import CacheLimits, LocalCache
from dragoman.canonical import request as q
from dragoman.toolloop.past import PastAnswer, PastAnswers, completed, question_of, stretches
from tests.toolloop.turns import asked

USER = q.Message(q.Role.USER, (q.Text(text="Hi"),))
OURS = q.ToolCall(id="c1", name="docs__search", arguments="{}")
THEIRS = q.ToolCall(id="c2", name="get_weather", arguments='{"a": 1, "b": [2]}')
SAID = q.Text(text="Hm.\n\nWell.")
KEPT = (
    q.Message(q.Role.ASSISTANT, (SAID, OURS, THEIRS)),
    q.Message(q.Role.USER, (q.ToolResult(id="c1", parts=(q.Text(text="found"),)),)),
)
RESULT = q.Message(q.Role.USER, (q.ToolResult(id="c2", parts=(q.Text(text="sunny"),)),))
RUN = q.ToolRun(id="r1")


def kept(messages: Sequence[q.Message] = KEPT, *asked: q.Message) -> PastAnswer:
    return PastAnswer(messages=tuple(messages), question=question_of(asked or (USER,)), origin="chat")


def past(*answers: PastAnswer, limits: CacheLimits | None = None) -> PastAnswers:
    answers_of = PastAnswers(LocalCache(limits or CacheLimits()))
    for now, answer in enumerate(answers or (kept(),)):
        answers_of.keep("me", ["c2", "r1"], answer, now)
    return answers_of


def whole(known: PastAnswers, *messages: q.Message, origin: str = "chat", now: float = 1) -> tuple[q.Message, ...]:
    request = msgspec.structs.replace(asked(), messages=messages)
    return completed(request, stretches(messages, known, "me", origin, now)).messages


def by_assistant(*parts: q.Part) -> q.Message:
    return q.Message(q.Role.ASSISTANT, parts)


def test_a_mixed_turn_is_completed() -> None:
    assert whole(past(), USER, by_assistant(SAID, THEIRS), RESULT) == (USER, *KEPT, RESULT)


def test_an_answer_in_several_messages_is_one() -> None:
    assert whole(past(), USER, by_assistant(SAID), by_assistant(THEIRS), RESULT) == (USER, *KEPT, RESULT)


def test_what_was_shown_is_completed() -> None:
    assert whole(past(), USER, by_assistant(RUN, SAID), USER) == (USER, *KEPT, USER)


@pytest.mark.parametrize(
    "version",
    [
        (THEIRS,),
        (q.Text(text=" Hm. Well. "), THEIRS),
        (q.Text(text="Hm."), q.Text(text="Well."), THEIRS),
        (SAID, msgspec.structs.replace(THEIRS, arguments='{"b":[2.0],"a":1.0}')),
        (q.Reasoning(text="What?"), SAID, THEIRS),
    ],
)
def test_versions_of_the_same_answer(version: tuple[q.Part, ...]) -> None:
    assert whole(past(), USER, by_assistant(*version), RESULT) == (USER, *KEPT, RESULT)


@pytest.mark.parametrize(
    "version",
    [
        (q.Text(text="Oh."), THEIRS),
        (SAID, msgspec.structs.replace(THEIRS, arguments='{"a": 2, "b": [2]}')),
        (SAID, msgspec.structs.replace(THEIRS, name="read_file")),
        (SAID, THEIRS, msgspec.structs.replace(THEIRS, id="c3")),
        (SAID, msgspec.structs.replace(THEIRS, arguments="{")),
        (SAID, msgspec.structs.replace(THEIRS, kind="custom")),
    ],
)
def test_other_answers_with_the_same_ids(version: tuple[q.Part, ...]) -> None:
    messages = (USER, by_assistant(*version), RESULT)
    assert whole(past(), *messages) == messages


@pytest.mark.parametrize(
    "question",
    [
        q.Message(q.Role.USER, (q.Text(text="Hello"),)),
        q.Message(q.Role.USER, (q.ToolResult(id="c0", parts=(q.Text(text="Hi"),)),)),
    ],
)
def test_answers_to_other_questions(question: q.Message) -> None:
    messages = (question, by_assistant(SAID, THEIRS), RESULT)
    assert whole(past(), *messages) == messages


def test_a_question_is_what_the_user_said_last() -> None:
    system = q.Message(q.Role.SYSTEM, (q.Text(text="Be brief."),))
    dated = q.Message(q.Role.SYSTEM, (q.Text(text="It is Monday."),))
    earlier = (q.Message(q.Role.USER, (q.Text(text="Before"),)), by_assistant(q.Text(text="Yes.")))
    assert question_of((USER,)) == question_of((system, *earlier, dated, USER))
    assert question_of((USER,)) != question_of((USER, USER))
    assert question_of((USER, by_assistant(SAID), RESULT), 1) == question_of((USER,))


def test_the_latest_of_several_that_fit() -> None:
    later = (KEPT[0], q.Message(q.Role.USER, (q.ToolResult(id="c1", parts=(q.Text(text="later"),)),)))
    assert whole(past(kept(), kept(later)), USER, by_assistant(SAID, THEIRS), RESULT)[1:3] == later


def test_what_was_only_shown_stays_for_the_history_to_tell() -> None:
    messages = (USER, by_assistant(q.ToolRun(id="r9"), q.Text(text="It is 21.")))
    assert whole(PastAnswers(), *messages) == messages
    assert len(stretches(messages, PastAnswers(), "me", "chat", 1)) == 1


def test_nothing_to_do_leaves_the_request_alone() -> None:
    plain = msgspec.structs.replace(asked(), messages=(USER, by_assistant(THEIRS), RESULT))
    assert completed(plain, stretches(plain.messages, PastAnswers(), "me", "chat", 1)) is plain


def test_another_clients_answers_are_not_found() -> None:
    messages = (USER, by_assistant(SAID, THEIRS), RESULT)
    assert stretches(messages, past(), "you", "chat", 1) == []


@pytest.mark.parametrize(
    ("origin", "after", "item"),
    [
        ("chat", (RESULT,), "reasoning_content"),
        ("chat", (RESULT, by_assistant(q.Text(text="So.")), USER), None),
        ("responses", (RESULT,), None),
    ],
)
def test_reasoning_is_of_its_origins_item_while_the_answer_is_under_way(
    origin: str, after: tuple[q.Message, ...], item: str | None
) -> None:
    thought = q.Reasoning(text="What?", item_id="reasoning_content")
    known = past(kept((by_assistant(thought, *KEPT[0].parts), KEPT[1])))
    messages = whole(known, USER, by_assistant(SAID, THEIRS), *after, origin=origin)
    assert messages[1].parts[0] == q.Reasoning(text="What?", item_id=item)


# ---- bounds


def numbered(number: int) -> tuple[q.Message, ...]:
    return (by_assistant(q.Text(text="x" * 1000), msgspec.structs.replace(THEIRS, id=f"c{number}")), KEPT[1])


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        (CacheLimits(), 4),
        (CacheLimits(entries=2), 2),
        (CacheLimits(bytes=5000), 2),
        (CacheLimits(bytes=100), 0),
        (CacheLimits(age=1.5), 2),
    ],
)
def test_it_is_bounded(limits: CacheLimits, left: int) -> None:
    known = PastAnswers(LocalCache(limits))
    for number in range(4):
        known.keep("me", [f"c{number}", f"r{number}"], kept(numbered(number)), number)
    found = [stretches((USER, numbered(number)[0]), known, "me", "chat", 3) for number in range(4)]
    assert list(map(bool, found)) == [number >= 4 - left for number in range(4)]


def test_what_is_too_old_is_not_found() -> None:
    known = past(limits=CacheLimits(age=10))
    messages = (USER, by_assistant(SAID, THEIRS))
    assert stretches(messages, known, "me", "chat", 10)
    assert not stretches(messages, known, "me", "chat", 11)


def test_an_id_of_many_answers_lets_go_of_each() -> None:
    known = PastAnswers(LocalCache(CacheLimits(entries=1)))
    for _ in range(3):
        known.keep("me", ["same"], kept(), 0)
    assert not stretches((USER, by_assistant(msgspec.structs.replace(THEIRS, id="same"))), known, "me", "chat", 0)
    assert whole(known, USER, by_assistant(SAID, THEIRS), RESULT) == (USER, by_assistant(SAID, THEIRS), RESULT)
    known.keep("me", [], kept(), 0)
    known.keep("me", ["c2"], kept(), 0)
    assert whole(known, USER, by_assistant(SAID, THEIRS), RESULT) == (USER, *KEPT, RESULT)
