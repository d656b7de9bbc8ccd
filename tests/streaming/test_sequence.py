"""One block at a time: design/streams.md, 5."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from dragoman.canonical import events as e
from dragoman.canonical.opaque import Opaque
from dragoman.streaming.blocks import Passage, PassageKind
from dragoman.streaming.fragments import Call, read_fragment
from dragoman.streaming.sequence import Sequencer
from tests.streaming.building import Notes, legal
from tests.streaming.calling import PARIS, ROME

START = e.ToolCallStart(id="a", name="run")
PROOF = Opaque("messages", "signature", "c2ln")
OTHER = Opaque("messages", "redacted", "cmVk")


class Bench:
    """A sequencer, and calls that it may end."""

    def __init__(self) -> None:
        self.sequence = Sequencer(self._finish)
        self.finished: list[Call] = []

    def _finish(self, call: Call) -> None:
        self.finished.append(call)
        call.arguments.finish(normal=True)
        self._flush(call)
        self.sequence.close(call, e.ToolCallEnd())

    def _flush(self, call: Call) -> None:
        deltas, call.arguments.out = call.arguments.out, []
        self.sequence.feed(call, deltas)

    def call(self, id: str, arguments: str = "") -> Call:
        call = Call(read_fragment(id=id, name="run"), Notes())
        self.sequence.open(call, e.ToolCallStart(id=id, name="run"))
        self.feed(call, arguments)
        return call

    def feed(self, call: Call, arguments: str) -> None:
        call.arguments.feed(arguments)
        self._flush(call)

    def text(self, text: str, key: Hashable = None, kind: PassageKind = "text") -> Passage:
        passage = self.sequence.begin(kind, key, e.ReasoningStart() if kind == "reasoning" else e.TextStart())
        if said := passage.join.feed(text):
            self.sequence.push(passage, passage.delta(said))
        return passage

    def take(self) -> str:
        """The events since the last call, in short."""
        events, self.sequence.out = self.sequence.out, []
        return " ".join(map(short, events))


def short(event: e.Event) -> str:
    match event:
        case e.TextDelta(text) | e.ReasoningDelta(text) | e.ToolCallDelta(text):
            return text
        case e.TextStart():
            return "T("
        case e.ReasoningStart():
            return "R("
        case e.ToolCallStart(id=id):
            return f"{id}("
        case e.TextEnd() | e.ReasoningEnd() | e.ToolCallEnd():
            return ")"
    return type(event).__name__


def test_the_first_block_is_live() -> None:
    bench = Bench()
    block = bench.text("x")
    assert bench.take() == "T( x"
    bench.sequence.push(block, e.TextDelta("y"))
    assert bench.take() == "y"


@pytest.mark.parametrize("kind", ["text", "refusal", "reasoning"])
def test_text_and_reasoning_end_when_anything_follows(kind: PassageKind) -> None:
    bench = Bench()
    bench.text("x", kind=kind)
    bench.take()
    bench.text("y")
    assert bench.take() == ") T( y"
    bench.call("a")
    assert bench.take() == ") a("


def test_a_call_that_is_not_whole_holds_what_follows() -> None:
    bench = Bench()
    call = bench.call("a", '{"city":')
    bench.text("x")
    other = bench.call("b", ROME)
    assert bench.take() == 'a( {"city":'
    assert bench.sequence.stuck == 2
    bench.feed(call, '"Paris"}')
    assert bench.take() == f'"Paris"}} ) T( x ) b( {ROME}'
    assert bench.finished == [call]
    assert not other.finished
    assert bench.sequence.stuck == 0


def test_whole_arguments_alone_do_not_end_a_call() -> None:
    """Never end a call because its arguments parse; parsing and a later block does (design/streams.md, 4)."""
    bench = Bench()
    call = bench.call("a", PARIS)
    assert not bench.finished
    bench.feed(call, "\n")
    assert bench.take() == f"a( {PARIS} \n"
    bench.call("b")
    assert bench.take() == ") b("


@pytest.mark.parametrize("arguments", ["", "{}", "null", '{"city"'])
def test_a_placeholder_does_not_end_a_call(arguments: str) -> None:
    bench = Bench()
    bench.call("a", arguments)
    bench.call("b", PARIS)
    assert not bench.finished
    assert "b(" not in bench.take()


def test_several_deltas_of_which_the_last_completes_the_call() -> None:
    """A fragment that was held may come out together with the one that decided how to read it."""
    bench = Bench()
    call = bench.call("a", '{"city":')
    bench.feed(call, '{"city":"Par')  # a snapshot, or nested: held
    bench.call("b", ROME)
    bench.take()
    bench.feed(call, PARIS)
    assert bench.take() == f'"Par is"}} ) b( {ROME}'


def test_an_echo_under_way_keeps_the_call_open() -> None:
    bench = Bench()
    call = bench.call("a", PARIS)
    bench.feed(call, '{"city"')
    bench.text("x")
    assert bench.take() == f"a( {PARIS}"
    bench.feed(call, ':"Paris"}')
    assert bench.take() == ") T( x"  # nothing of the echo goes out, but it is over


def test_a_call_that_its_upstream_ended_makes_room() -> None:
    bench = Bench()
    call = bench.call("a", '{"city"')
    bench.text("x")
    bench.sequence.close(call, e.ToolCallEnd(complete=False))
    assert bench.take() == 'a( {"city" ) T( x'


def test_whole_blocks_wait_their_turn() -> None:
    bench = Bench()
    tool = e.ServerTool("messages", ())
    bench.sequence.add(tool)
    bench.text("x")
    bench.sequence.add(e.Media(media_type="image/png"))
    call = bench.call("a", "{")
    bench.sequence.add(tool)
    assert bench.take() == "ServerTool T( x ) Media a("
    bench.sequence.close(call, e.ToolCallEnd())
    assert bench.take() == ") ServerTool"


def test_passages_are_found_by_kind_and_key_while_they_are_open() -> None:
    bench = Bench()
    call = bench.call("a", '{"city"')
    text, other = bench.text("x", 1), bench.text("y", 2)
    refusal = bench.text("no", 1, "refusal")
    thought = bench.text("z", 1, "reasoning")
    sequence = bench.sequence
    assert sequence.find("text", 1) is text
    assert sequence.find("text", 2) is sequence.find("text", None) is other
    assert sequence.find("refusal", 1) is refusal
    assert sequence.find("reasoning", 1) is sequence.last is thought
    assert sequence.find("reasoning", 2) is None
    sequence.push(text, e.TextDelta("X"))
    sequence.end(other)
    assert sequence.find("text", 2) is None
    assert sequence.latest("text", 2) is other
    bench.take()
    sequence.close(call, e.ToolCallEnd())
    assert bench.take() == ") T( x X ) T( y ) T( no ) R( z"
    assert sequence.find("text", 1) is None
    sequence.add(e.ServerTool("messages", ()))
    assert sequence.last is None


def test_events_slip_into_what_has_ended_while_it_waits() -> None:
    bench = Bench()
    call = bench.call("a", '{"city"')
    text, citation = bench.text("x"), e.CitationAdded(e.Citation())
    assert bench.sequence.slip_in(text, citation)
    bench.sequence.end(text)
    assert bench.sequence.slip_in(text, citation)
    bench.take()
    bench.sequence.close(call, e.ToolCallEnd())
    assert bench.take() == ") T( x CitationAdded CitationAdded )"
    assert not bench.sequence.slip_in(text, citation)
    assert bench.take() == ""


def test_a_queue_of_any_length_is_let_out() -> None:
    bench = Bench()
    call = bench.call("a", '{"city"')
    for number in range(2000):
        bench.text("x", number)
    bench.sequence.close(call, e.ToolCallEnd())
    assert bench.take().count("x") == 2000


def test_the_end_of_the_answer_ends_the_last_block() -> None:
    bench = Bench()
    bench.sequence.drain()
    bench.text("x")
    bench.sequence.drain()
    bench.sequence.drain()
    assert bench.take() == "T( x )"
    bench.call("a")
    bench.sequence.drain()  # its arguments decide, not the queue
    assert bench.take() == "a("


@pytest.mark.parametrize(
    ("kind", "proofs", "end"),
    [
        ("text", [], e.TextEnd()),
        ("refusal", [], e.TextEnd()),
        ("text", [PROOF, OTHER], e.TextEnd(OTHER)),
        ("reasoning", [], e.ReasoningEnd()),
        ("reasoning", [PROOF, OTHER], e.ReasoningEnd((PROOF, OTHER))),
    ],
)
def test_proofs_go_with_the_end(kind: PassageKind, proofs: list[Opaque], end: e.Event) -> None:
    bench = Bench()
    passage = bench.text("x", kind=kind)
    passage.proofs += proofs
    bench.text("y")
    legal([e.ResponseStart(), *bench.sequence.out])
    assert end in bench.sequence.out


@pytest.mark.parametrize(("kind", "opening"), [("text", "T("), ("refusal", "T("), ("reasoning", "R(")])
def test_half_a_character_waits_for_the_next_passage_of_its_kind(kind: PassageKind, opening: str) -> None:
    bench = Bench()
    bench.text("x\ud83d", kind=kind)
    bench.sequence.add(e.ServerTool("messages", ()))
    assert bench.sequence.halves == 1
    bench.text("\ude00", kind=kind)
    assert bench.take() == f"{opening} x ) ServerTool {opening} 😀"
    assert bench.sequence.halves == 0


@pytest.mark.parametrize(("kind", "opening"), [("text", "T("), ("refusal", "T("), ("reasoning", "R(")])
def test_half_a_character_waits_until_its_upstream_ends_the_passage(kind: PassageKind, opening: str) -> None:
    bench = Bench()
    bench.sequence.end(bench.text("x\ud83d", kind=kind))
    bench.text("\ude00", kind=kind)
    assert bench.take() == f"{opening} x \ufffd ) {opening} \ufffd"


def test_an_ended_passage_ends_once() -> None:
    bench = Bench()
    passage = bench.text("x")
    bench.sequence.end(passage)
    bench.sequence.end(passage)
    assert bench.take() == "T( x )"
    bench.text("y")
    assert bench.take() == "T( y"
