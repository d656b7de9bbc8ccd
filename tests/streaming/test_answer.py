"""One upstream answer: design/streams.md, 1, 5 to 7, 9. Blocks, choices, and what goes out when."""

from __future__ import annotations

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.opaque import Opaque
from dragoman.exceptions import RemoteProtocolError
from tests.streaming.building import assembler, calls_of, fragments, legal, texts_of
from tests.streaming.calling import PARIS, ROME, at
from tests.streaming.telling import Step, shorts, tell

F = e.FinishReason
PROOF = Opaque("messages", "signature", "c2ln")
OTHER = Opaque("messages", "redacted", "cmVk")
CITATION = e.Citation(url="https://example.com")
FAULT = Error(kind=ErrorKind.RATE_LIMIT, message="slow down", code="rate")

END: list[Step] = [("finish", F.STOP), ("close",)]

BLOCKS: dict[str, tuple[list[Step], str]] = {
    "text joins": ([("text", "a"), ("text", "b")], "text( a b )"),
    "no text, no block": ([("text", "")], ""),
    "keys are blocks": ([("text", "a", 1), ("text", "b", 2), ("text", "c", 2)], "text( a ) text( b c )"),
    "refusal": ([("text", "a"), ("text", "no", {"refusal": True}), ("text", "!", {"refusal": True})], "text( a ) refusal( no ! )"),
    "native without text": ([("text", "", {"native": {"logprobs": 1}})], "text(  )"),
    "channels alternate": (  # reasoning-after-text
        [("reasoning", "a"), ("text", "b"), ("reasoning", "c"), ("text", "d")], "think( a ) text( b ) think( c ) text( d )"
    ),
    "reasoning keys": ([("reasoning", "a", 1), ("reasoning", "b", 1), ("reasoning", "c", 2)], "think( a b ) think( c )"),
    "a summary": ([("reasoning", "a", {"summary": True}), ("reasoning", "b")], "summary( a b )"),
    "no reasoning, no block": ([("reasoning", "")], ""),
    "a proof": ([("reasoning", "a", 1), ("prove", PROOF, 1), ("prove", OTHER, 1), ("text", "b")], "think( a signed) text( b )"),
    "a proof alone": ([("prove", OTHER)], "think( signed)"),
    "an end by the upstream": ([("text", "a", 1), ("end_block", 1), ("text", "b", 1)], "text( a ) text( b )"),
    "an end of nothing": ([("end_block", 1), ("text", "a"), ("end_block", 2)], "text( a )"),
    "an end of reasoning": ([("reasoning", "a", 1), ("end_block", 1), ("reasoning", "b", 1)], "think( a ) think( b )"),
    "an end of a refusal": ([("text", "a", 1, {"refusal": True}), ("end_block", 1), ("text", "b", 1)], "refusal( a ) text( b )"),
    "a citation": ([("text", "a"), ("cite", CITATION), ("text", "b")], "text( a [1] b )"),
    "a citation by key": ([("text", "a", 1), ("cite", CITATION, 1)], "text( a [1] )"),
    "a citation first": ([("cite", CITATION), ("text", "a"), ("text", "b")], "text( [1] a b )"),
    "a citation first, by key": ([("cite", CITATION, 2), ("text", "a", 1), ("text", "b", 2)], "text( a ) text( [1] b )"),
    "a citation first, without key": ([("cite", CITATION), ("text", "a", 1)], "text( [1] a )"),
    "a citation of the latest text": ([("text", "a", 1), ("text", "b", 2), ("cite", CITATION)], "text( a ) text( b [1] )"),
    "a citation beside a refusal": ([("cite", CITATION), ("text", "no", {"refusal": True}), ("text", "a")], "refusal( no ) text( [1] a )"),
    "a citation of text that waits": (
        [("call", at(0, "a", "run", '{"city":')), ("text", "a"), ("cite", CITATION), ("call", at(0, arguments='"Paris"}'))],
        'run( {"city": "Paris"} ) text( a [1] )',
    ),
    "a citation of text that has ended, and waits": (
        [("call", at(0, "a", "run", '{"city":')), ("text", "a", 1), ("end_block", 1), ("text", "b", 2), ("cite", CITATION, 1), ("call", at(0, arguments='"Paris"}'))],
        'run( {"city": "Paris"} ) text( a [1] ) text( b )',
    ),
    "signed text": ([("text", "a"), ("sign_text", PROOF), ("text", "b")], "text( a signed) text( b )"),
    "a character cut by a signature": (
        [("text", "a\ud83d"), ("sign_text", PROOF), ("text", "\ude00b")],
        "text( a signed) text( 😀b )",
    ),
    "a signature alone": ([("sign_text", PROOF)], "text( signed)"),
    "a tool of the upstream": ([("text", "a"), ("server_tool", {"type": "x"}), ("text", "b")], "text( a ) tool text( b )"),
    "an image": ([("media", e.Media(media_type="image/png")), ("text", "a")], "media text( a )"),
    "a call": ([("call", at(0, "a", "run", PARIS)), ("text", "a")], f"run( {PARIS} ) text( a )"),
    "text in a call": (
        [("call", at(0, "a", "run", '{"city":')), ("text", "a"), ("call", at(0, arguments='"Paris"}')), ("text", "b")],
        'run( {"city": "Paris"} ) text( a b )',
    ),
    "text before the arguments": (
        [("call", at(0, "a", "run")), ("text", "a"), ("call", at(0, arguments=PARIS))], f"text( a ) run( {PARIS} )"
    ),
    "calls interleaved": (
        [("call", at(0, "a", "run", '{"a":')), ("call", at(1, "b", "get_weather", '{"b":')), ("call", at(0, arguments="1}")), ("call", at(1, arguments="2}"))],
        'run( {"a": 1} ) get_weather( {"b": 2} )',
    ),
    "interleaved snapshots": (
        [("call", at(n, str(n), name, '{"a":')) for n, name in enumerate(("run", "get_weather"))]
        + [("call", at(n, None, None, text)) for text in ('{"a":"x', '{"a":"xy"}') for n in (0, 1)],
        'run( {"a": "x y"} ) get_weather( {"a": "x y"} )',
    ),
    "an echo after the next call opened": (
        [("call", at(0, "a", "run", PARIS)), ("call", at(1, "b", "get_weather", ROME)), ("call", at(0, arguments=PARIS))], f"run( {PARIS} ) get_weather( {ROME} )"
    ),
    "whole calls": ([("whole_call", at(name="run", arguments=PARIS))] * 2, f"run( {PARIS} ) run( {PARIS} )"),
    "an ended call": ([("call", at(0, "a", "run")), ("end_call", at(0, arguments=PARIS)), ("text", "a")], f"run( {PARIS} ) text( a )"),
    "a call without arguments": ([("call", at(0, "a", "list_tasks")), ("end_call", at(0)), ("text", "a")], "list_tasks( {} ) text( a )"),
    "the same before a tool of the upstream": ([("call", at(0, "a", "list_tasks")), ("end_call", at(0)), ("server_tool", {})], "list_tasks( {} ) tool"),
    "the same before an image": ([("call", at(0, "a", "list_tasks")), ("end_call", at(0)), ("media", e.Media(media_type="image/png"))], "list_tasks( {} ) media"),
    "half a character": ([("text", "a\ud83d"), ("text", "\ude00")], "text( a 😀 )"),
    "half a character at the end": ([("text", "a\ud83d", 1)], "text( a \ufffd )"),
    "half a character at the end of a block": ([("text", "a\ud83d", 1), ("end_block", 1)], "text( a \ufffd )"),
    "half a character of reasoning": ([("reasoning", "a\ud83d")], "think( a \ufffd )"),
    "half a character alone": ([("text", "\ud83d")], "text( \ufffd )"),
    "halves in two blocks": ([("text", "a\ud83d"), ("reasoning", "b"), ("text", "\ude00")], "text( a ) think( b ) text( 😀 )"),
    "halves of thoughts": ([("reasoning", "a\ud83d", 1), ("text", "b"), ("reasoning", "\ude00", 2)], "think( a ) text( b ) think( 😀 )"),
    "halves of two kinds": ([("text", "a\ud83d"), ("reasoning", "b\ud83d"), ("text", "\ude00"), ("reasoning", "\ude00")], "text( a ) think( b ) text( 😀 ) think( 😀 )"),
    "halves in a call": (
        [("call", at(0, "a", "run", '{"city":')), ("text", "a\ud83d"), ("call", at(0, arguments='"Paris"}')), ("text", "\ude00")],
        'run( {"city": "Paris"} ) text( a 😀 )',
    ),
    "signed by key": ([("text", "a", 1), ("sign_text", PROOF)], "text( a signed)"),
    "proved by key": ([("reasoning", "a", 1), ("prove", PROOF)], "think( a signed)"),
}  # fmt: skip


@pytest.mark.parametrize("row", BLOCKS)
def test_blocks(row: str) -> None:
    steps, expected = BLOCKS[row]
    events = legal(tell(assembler(), *steps, *END))
    end = "tool_calls" if calls_of(events) else "stop"
    assert shorts(events) == " ".join(filter(None, ("^", expected, end)))


@pytest.mark.parametrize("row", BLOCKS)
def test_events_do_not_wait_for_who_takes_them(row: str) -> None:
    """What goes out is the same however often it is asked for, and comes as early as it can."""
    steps, expected = BLOCKS[row]
    answer = assembler()
    events = [event for step in steps for event in tell(answer, step)]
    assert shorts(legal([*events, *tell(answer, *END)])) == shorts(tell(assembler(), *steps, *END))
    if expected:
        assert type(events[0]) is e.ResponseStart


# ------------------------------------------------------------------ the envelope, and the beginning


def test_the_first_values_of_the_envelope_count() -> None:
    answer = assembler()
    answer.envelope(model="", native={"a": 1})
    answer.envelope(id="first", created=0, native={"a": 2, "b": 2})
    answer.envelope(id="second", model="m", created=7)
    (start, *_) = tell(answer, ("text", "a"))
    assert start == e.ResponseStart(id="first", model="m", created=7, origin="chat", native={"a": 1, "b": 2})


@pytest.mark.parametrize(
    "step",
    [
        ("envelope", {"id": "a"}),
        ("usage", e.Usage(input=1)),
        ("text", ""),
        ("call", at(0, "a")),
        ("call", at(0, "a", "run")),
        ("call", at(0, "a", None, PARIS)),
        ("finish", F.STOP),
        ("interrupt", "no"),
    ],
)
def test_nothing_goes_out_before_something_was_said(step: Step) -> None:
    """So an early failure can be told with its true status (design/streams.md, 7)."""
    assert tell(assembler(), step) == []
    answer = assembler()
    assert shorts(tell(answer, *[step] * (step[0] != "finish"), ("fail", FAULT))) == "error:rate"


def test_a_client_that_waited_long_enough_gets_the_beginning() -> None:
    answer = assembler()
    answer.open()
    assert shorts(tell(answer)) == "^"
    assert tell(answer) == []
    assert shorts(tell(answer, ("fail", FAULT))) == "error:rate"
    late = assembler()
    late.open()
    assert shorts(tell(late, ("fail", FAULT))) == "^ error:rate"


# ------------------------------------------------------------------ usage


def test_counts_are_totals() -> None:
    """The last known value of each is set, never added (design/streams.md, 9)."""
    answer = assembler()
    native = {"prompt_tokens": 5}
    tell(
        answer,
        ("usage", e.Usage(input=5, output=0, cached=2), {"native": {"x": 1}}),
        ("usage", e.Usage(output=3), {"native": native}),
    )
    events = tell(answer, ("usage", e.Usage()), ("text", "a"), *END)
    assert events[-2] == e.UsageUpdate(e.Usage(input=5, output=3, cached=2), native, "chat")


def test_without_counts_no_usage_is_told() -> None:
    assert shorts(tell(assembler(), ("usage", e.Usage()), ("text", "a"), *END)) == "^ text( a ) stop"


# ------------------------------------------------------------------ choices


def test_choices_that_were_asked_for_stay_apart() -> None:
    """n-two-choices."""
    answer = assembler(choices=3)
    events = tell(
        answer,
        ("choice", 0), ("text", "a"), ("choice", 1), ("text", "x"), ("choice", 0), ("text", "b"), ("finish", F.LENGTH),
        ("choice", 1), ("call", at(0, "a", "run", PARIS)), ("finish", F.STOP), ("choice", 9), ("text", "y"), ("usage", e.Usage(input=1)), ("close",),
    )  # fmt: skip
    assert shorts(legal(events)) == (
        f"^ text( a 1:text( 1:x b 1:) 1:run( 1:{PARIS} 1:) 1:text( 1:y ) 1:) 1:tool_calls usage length"
    )


def test_choices_that_were_not_asked_for_are_one_answer() -> None:
    """choices-split-stream."""
    steps: list[Step] = [("choice", 0), ("text", "a"), ("choice", 1), ("call", at(0, "a", "run", PARIS)), *END]
    assert shorts(tell(assembler(), *steps)) == f"^ text( a ) run( {PARIS} ) tool_calls"


def test_a_choice_that_did_not_finish_is_a_cut() -> None:
    steps: list[Step] = [("choice", 0), ("text", "a"), ("finish", F.STOP), ("choice", 1), ("text", "b")]
    assert shorts(legal(tell(assembler(choices=2), *steps, ("close",)))).endswith("error:truncated")
    assert shorts(legal(tell(assembler(choices=2), *steps, ("terminate",)))).endswith("1:stop stop")


# ------------------------------------------------------------------ after the end


@pytest.mark.parametrize("end", [("terminate",), ("close",), ("abort", FAULT), ("fail", FAULT)])
def test_nothing_counts_after_the_end(end: Step) -> None:
    """sse-events-after-done; one end goes out."""
    answer = assembler(choices=2)
    tell(answer, ("text", "a"), end)
    assert answer.closed
    more: list[Step] = [step for steps, _ in BLOCKS.values() for step in steps]
    more += [
        ("choice", 1),
        ("text", "b"),
        ("fail", FAULT),
        ("abort", FAULT),
        ("terminate",),
        ("usage", e.Usage(input=1)),
        *END,
    ]
    assert tell(answer, *more) == []


def test_what_is_told_after_the_end_is_not_slipped_in_before_it() -> None:
    events = tell(assembler(), ("text", "a"), ("fail", FAULT), ("text", "b"), ("call", at(0, "a", "run", PARIS)))
    assert shorts(events) == "^ text( a error:rate"


def test_the_number_of_open_calls_is_bounded() -> None:
    answer = assembler(open_calls=2)
    tell(answer, ("call", at(0, "a", "run")), ("call", at(1, "b", "run")))
    with pytest.raises(RemoteProtocolError, match="more than 2 tool calls"):
        answer.call(fragments(at(2, "c", "run"))[0])
    answer.abort(FAULT)
    assert shorts(answer.take()) == "error:rate"


# ------------------------------------------------------------------ losses


def test_losses_and_quirks_are_counted() -> None:
    answer = assembler()
    answer.lose("audio")
    tell(answer, ("lose", "audio"), ("quirk", "x"), ("call", at(arguments=PARIS)), ("text", "a"), *END)
    assert answer.losses == {"audio": 2, "arguments without a call": 1}
    assert answer.quirks == {"x": 1, "continuation-orphan": 1}


@pytest.mark.parametrize(
    ("steps", "expected", "loss"),
    [
        ([("cite", CITATION)], "stop", "a citation without text"),
        ([("cite", CITATION, 1), ("text", "a", 2)], "text( a ) stop", "a citation without text"),
        ([("cite", CITATION, 1), ("text", "a", 1, {"refusal": True})], "refusal( a ) stop", "a citation without text"),
        ([("text", "a"), ("reasoning", "b"), ("cite", CITATION)], "text( a ) think( b ) stop", "a citation of text that had ended"),
        ([("text", "a", 1), ("text", "b", 2), ("cite", CITATION, 1)], "text( a ) text( b ) stop", "a citation of text that had ended"),
        ([("text", "a", 1), ("end_block", 1), ("cite", CITATION)], "text( a ) stop", "a citation of text that had ended"),
        ([("text", "a\ud83d"), ("reasoning", "b")], "text( a ) think( b ) stop", "half a character"),
    ],
)  # fmt: skip
def test_what_has_no_text_to_go_with_makes_none(steps: list[Step], expected: str, loss: str) -> None:
    """Anthropic's servers refuse a text block without text."""
    answer = assembler()
    assert shorts(legal(tell(answer, *steps, *END))) == f"^ {expected}"
    assert answer.losses == {loss: 1}


def test_what_stands_behind_half_a_call_is_a_loss_that_is_told() -> None:
    answer = assembler()
    events = legal(tell(answer, ("call", at(0, "a", "run", '{"a')), ("text", "lost"), ("close",)))
    assert texts_of(events) == ""
    assert answer.losses == {"blocks behind a call that was cut": 1}
