"""An upstream of any dialect that gives one answer, streamed or whole as it is asked, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman import dialects, jsontext
from dragoman.canonical import events as e
from dragoman.canonical.opaque import Opaque
from dragoman.dialects.contract import UpstreamRequest
from dragoman.gateway.app import Gateway
from dragoman.streaming.accumulate import Accumulator
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids
from dragoman.testing import validate
from dragoman.upstreams.scripted import ScriptedAnswer
from tests.agents.sent import Sent
from tests.gateway.asgi import Call
from tests.gateway.conftest import Lab, Play
from tests.reading import Said, read

JSON = dict[str, Any]

_PROOFS = {"responses": "encrypted", "messages": "signature", "gemini": "signature"}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the model says. ``calls`` are a name and arguments; ``proof`` belongs to the reasoning."""

    reasoning: str = ""
    text: str = ""
    calls: tuple[tuple[str, JSON], ...] = ()
    proof: str = ""
    input: int = 1200
    output: int = 34

    def events(self, dialect: str) -> Iterator[e.Event]:
        proven: Any = Opaque(dialect, _PROOFS[dialect], self.proof, "rs_1") if self.proof else None  # type: ignore[arg-type]
        yield e.ResponseStart(id="answer_1", model="m", origin=dialect)
        if self.reasoning:
            yield e.ReasoningStart(summary=dialect == "responses")
            yield e.ReasoningDelta(self.reasoning)
            yield e.ReasoningEnd((proven,) if proven and dialect != "gemini" else ())
        if self.text:
            yield e.TextStart()
            yield e.TextDelta(self.text)
            yield e.TextEnd()
        for number, (name, arguments) in enumerate(self.calls):
            signature = proven if dialect == "gemini" and not number else None
            yield e.ToolCallStart(id=f"call_of_{dialect}_{number}", name=name, signature=signature)
            yield e.ToolCallDelta(json.dumps(arguments))
            yield e.ToolCallEnd()
        yield e.UsageUpdate(e.Usage(input=self.input, output=self.output))
        yield e.ResponseEnd(finish=e.FinishReason.TOOL_CALLS if self.calls else e.FinishReason.STOP)

    def written(self, dialect: str, *, streamed: bool) -> bytes:
        """In the words of a dialect."""
        spoken = dialects.get(dialect)
        context = EncodeContext(model="m", ids=Ids("agents"), now=1_700_000_000)
        events = list(self.events(dialect))
        if streamed:
            return spoken.encoder(context).encode(events)
        accumulator = Accumulator()
        accumulator.add(events)
        assert accumulator.response is not None
        return jsontext.render(spoken.render_response(accumulator.response, context))


class Outcome(msgspec.Struct, frozen=True, eq=False):
    """What the upstream was asked, and what the agent got."""

    asked: UpstreamRequest
    call: Call

    def said(self, client: str) -> Said:
        """The answer, as the agent reads it. It is in form, or this fails."""
        assert self.call.status == 200, self.call.body
        assert dialects.get(client).check(self.call.body) == []
        return read(client, self.call.body)


def playing(dialect: str, answer: Answer) -> Play:
    """A server of this dialect that always says this."""

    def play(asked: UpstreamRequest) -> ScriptedAnswer:
        streamed = asked.body.get("stream") is True or "stream" in asked.path
        kind = "text/event-stream" if streamed else "application/json"
        return ScriptedAnswer([answer.written(dialect, streamed=streamed)], headers={"content-type": kind})

    return play


async def ask(lab: Lab, request: Sent, upstream: str, answer: Answer) -> Outcome:
    """Sends a request through a gateway to an upstream that gives this answer."""
    return await ask_at(lab, lab.gateway(up=playing(upstream, answer), dialect=upstream), request, "up", upstream)


async def ask_at(lab: Lab, gateway: Gateway, request: Sent, name: str, dialect: str) -> Outcome:
    """The same, through a gateway that is there: to its upstream of this name and dialect."""
    call = Call("POST", request.path, request.body, request.headers, request.query)
    await call.answered(gateway)
    assert call.status == 200, call.body
    seen = lab.upstreams[name].seen[-1]
    if dialect != request.dialect:
        assert validate(dialect, seen.body, headers=seen.headers) == []
    return Outcome(seen, call)
