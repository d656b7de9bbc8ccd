"""What the project's own decoders make of an answer to a client: what dragoman writes, it can read."""

from __future__ import annotations

from dragoman import dialects, jsontext
from dragoman.canonical import events as e
from dragoman.streaming.answer import AnswerAssembler, DecodeContext
from dragoman.streaming.body import BodyReader, Document, StreamLimits
from dragoman.streaming.ids import Ids
from tests.fixtures import pieces
from tests.reading import Said


def events_in(dialect: str, body: bytes, *, cut: int = 0, choices: int = 1) -> list[e.Event]:
    """The canonical events of a body, streamed or whole, read in pieces of ``cut`` bytes."""
    assembler = AnswerAssembler(DecodeContext(origin=dialect, ids=Ids("read again"), choices=choices))
    decoder = dialects.get(dialect).decoder(assembler)
    reader = BodyReader(StreamLimits(), assembler.quirk)
    for record in [record for piece in pieces(body, cut) for record in reader.feed(piece)] + reader.finish():
        if isinstance(record, Document):
            decoder.decode_body(jsontext.parse(record.data))
        else:
            decoder.decode(record)
    decoder.finish()
    assembler.close()
    return assembler.take()


def decoded(dialect: str, body: bytes, choices: int = 1) -> Said:
    """What the events of a body say."""
    all_of_them = [Said() for _ in range(choices)]
    for event in events_in(dialect, body, choices=choices):
        if isinstance(event, e.InChoice):
            _note(all_of_them[event.index], event.event)
        else:
            _note(all_of_them[0], event)
    first, *first.further = all_of_them
    return first


def _note(said: Said, event: e.Event) -> None:
    match event:
        case e.TextDelta(text):
            said.text += text
        case e.ReasoningDelta(text):
            said.reasoning += text
        case e.ToolCallStart(id=id, name=name):
            said.calls.append((id, name, ""))
        case e.ToolCallDelta(text):
            id, name, before = said.calls[-1]
            said.calls[-1] = (id, name, before + text)
        case e.UsageUpdate(usage):
            counts = {name: getattr(usage, name) for name in usage.__struct_fields__}
            said.usage = {name: count for name, count in counts.items() if count is not None}
        case e.ResponseEnd(finish=finish):
            said.finish = finish.value
        case e.ResponseError(error):
            said.error = error.message
