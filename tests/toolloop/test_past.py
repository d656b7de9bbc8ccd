"""What a client's history cannot hold is put back."""

from __future__ import annotations

import msgspec

from dragoman.canonical import request as q
from dragoman.toolloop.past import PastAnswers, PastLimits, completed
from tests.toolloop.turns import asked

USER = q.Message(q.Role.USER, (q.Text(text="Hi"),))
OURS = q.ToolCall(id="c1", name="docs__search", arguments="{}")
THEIRS = q.ToolCall(id="c2", name="get_weather", arguments="{}")
KEPT = (
    q.Message(q.Role.ASSISTANT, (q.Text(text="Hm."), OURS, THEIRS)),
    q.Message(q.Role.USER, (q.ToolResult(id="c1", parts=(q.Text(text="found"),)),)),
)
RESULT = q.Message(q.Role.USER, (q.ToolResult(id="c2", parts=(q.Text(text="sunny"),)),))


def request(*messages: q.Message) -> q.Request:
    return msgspec.structs.replace(asked(), messages=messages)


def test_a_mixed_turn_is_completed() -> None:
    past = PastAnswers()
    past.keep("me", ["c2"], KEPT, 0)
    theirs = q.Message(q.Role.ASSISTANT, (q.Text(text="Hm."), THEIRS))
    assert completed(request(USER, theirs, RESULT), past, "me", 1).messages == (USER, *KEPT, RESULT)


def test_an_answer_in_several_messages_is_one() -> None:
    past = PastAnswers()
    past.keep("me", ["c2"], KEPT, 0)
    pieces = (q.Message(q.Role.ASSISTANT, (q.Text(text="Hm."),)), q.Message(q.Role.ASSISTANT, (THEIRS,)))
    assert completed(request(USER, *pieces, RESULT), past, "me", 1).messages == (USER, *KEPT, RESULT)


def test_what_was_only_shown_goes_where_nothing_is_kept() -> None:
    echoed = q.Message(q.Role.ASSISTANT, (q.ToolRun(id="c1"), q.Text(text="It is 21.")))
    answer = completed(request(USER, echoed), PastAnswers(), "me", 1)
    assert answer.messages == (USER, q.Message(q.Role.ASSISTANT, (q.Text(text="It is 21."),)))


def test_nothing_to_do_leaves_the_request_alone() -> None:
    plain = request(USER, q.Message(q.Role.ASSISTANT, (THEIRS,)), RESULT)
    assert completed(plain, PastAnswers(), "me", 1) is plain


def test_another_clients_answers_are_not_found() -> None:
    past = PastAnswers()
    past.keep("me", ["c2"], KEPT, 0)
    assert past.find("you", ["c2"], 1) is None


def test_answers_are_bounded_in_number_and_age() -> None:
    past = PastAnswers(PastLimits(answers=2, age=10))
    for number in range(3):
        past.keep("me", [f"c{number}"], KEPT, number)
    assert past.find("me", ["c0"], 3) is None
    assert past.find("me", ["c2"], 3) == KEPT
    assert past.find("me", ["c2"], 13) is None
