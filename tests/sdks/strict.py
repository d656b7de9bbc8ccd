"""A gateway before a strict upstream of each dialect, which plays five turns and refuses what a real API would.

Each turn but those that end the work thinks, proves it and calls tools; the next request has to bring the
proofs of all turns before, byte for byte.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from aiohttp import web

from dragoman import dialects, jsontext
from dragoman.canonical import events as e
from dragoman.canonical.errors import invalid_request
from dragoman.canonical.opaque import Opaque
from dragoman.gateway.app import Gateway
from dragoman.gateway.connect import connect
from dragoman.gateway.settings import BaseUrl, DialectName, Secret, Settings, UpstreamSettings
from dragoman.streaming.accumulate import Accumulator
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids
from dragoman.testing import validate
from tests.asking import CLIENTS
from tests.roundtrips.flat import flat
from tests.sdks.chain import KEY, in_thread, listening, silence

JSON = dict[str, Any]

QUESTIONS = ("What is the weather in Utrecht?", "And the rest?")
ANSWERS = ("It is 18 C there.", "There is no rest.")
CITIES = (("Utrecht",), ("Delft", "Gouda"), (), ("Leiden",), ())
"""The cities that each turn asks the weather of; a turn that asks nothing gives an answer."""


def thought(turn: int) -> str:
    return f"Thought {turn}: " + ("let me see. " if CITIES[turn] else "that is it. ")


def proof(dialect: str, turn: int) -> str:
    """The proof that an upstream of this dialect gives in a turn: base64 with all its letters, as they all are."""
    return base64.b64encode(f"{dialect} {turn} \xff\xfe >>>???".encode("latin-1")).decode()


class StrictUpstream:
    """The four APIs on one port. ``refusals`` is what they refused; ``requests`` counts what each was asked."""

    def __init__(self) -> None:
        self.refusals: list[str] = []
        self.requests = dict.fromkeys(CLIENTS, 0)

    async def answer(self, request: web.Request) -> web.Response:
        dialect = _dialect(request.path)
        body = json.loads(await request.read())
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests[dialect] += 1
        turn = _turn(dialect, body)
        found = validate(dialect, body, headers=headers, proofs=[proof(dialect, number) for number in range(turn)])
        found += [f"the proof of turn {number} is missing" for number in _unproven(dialect, body, turn)]
        if found:
            self.refusals.append(f"{dialect}, turn {turn}: {'; '.join(found)}")
            refusal = dialects.get(dialect).render_error(invalid_request("; ".join(found)), "req_1")
            return web.json_response(refusal, status=400)
        streamed = body.get("stream") is True or "stream" in request.path
        kind = "text/event-stream" if streamed else "application/json"
        return web.Response(body=_written(dialect, turn, streamed=streamed), content_type=kind)


def _dialect(path: str) -> str:
    ends = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
    return next((dialect for end, dialect in ends.items() if path.endswith(end)), "gemini")


def _turn(dialect: str, body: JSON) -> int:
    """The number of the turn that is asked for, by the results and the questions in the history."""
    entries = flat(dialect, body)
    results = sum(1 for entry in entries if entry.kind == "result")
    questions = sum(1 for entry in entries if entry.role == "user" and entry.value in QUESTIONS)
    return {(0, 1): 0, (1, 1): 1, (3, 1): 2, (3, 2): 3, (4, 2): 4}[results, questions]


def _unproven(dialect: str, body: JSON, turn: int) -> list[int]:
    """The turns with calls whose proofs did not come back."""
    text = jsontext.render(body).decode()
    if dialect == "gemini":  # google-genai writes the URL-safe alphabet
        text = text.translate({ord("-"): "+", ord("_"): "/"})
    return [number for number in range(turn) if CITIES[number] and proof(dialect, number) not in text]


# ---- what it says


def _written(dialect: str, turn: int, *, streamed: bool) -> bytes:
    """A turn in the words of a dialect."""
    spoken = dialects.get(dialect)
    context = EncodeContext(model="m", ids=Ids(f"strict {turn}"), now=1_700_000_000)
    events = list(_events(dialect, turn))
    if streamed:
        return spoken.encoder(context).encode(events)
    accumulator = Accumulator()
    accumulator.add(events)
    assert accumulator.response is not None
    return jsontext.render(spoken.render_response(accumulator.response, context))


def _events(dialect: str, turn: int) -> Iterator[e.Event]:
    kind = {"messages": "signature", "gemini": "signature"}.get(dialect, "encrypted")
    proven = Opaque(dialect, kind, proof(dialect, turn), f"rs_{turn}" if dialect == "responses" else None)  # type: ignore[arg-type]
    on_call = dialect == "gemini"
    yield e.ResponseStart(id=f"answer_{turn}", model="m", origin=dialect)
    yield e.ReasoningStart(summary=dialect == "responses")
    yield e.ReasoningDelta(thought(turn))
    yield e.ReasoningEnd(() if on_call else (proven,))
    for number, city in enumerate(CITIES[turn]):
        signature = proven if on_call and not number else None
        yield e.ToolCallStart(id=f"call_{turn}_{number}", name="get_weather", signature=signature)
        yield e.ToolCallDelta(json.dumps({"city": city}))
        yield e.ToolCallEnd()
    if not CITIES[turn]:
        yield e.TextStart()
        yield e.TextDelta(ANSWERS[turn > 2])
        yield e.TextEnd()
    yield e.UsageUpdate(e.Usage(input=10, output=5))
    yield e.ResponseEnd(finish=e.FinishReason.TOOL_CALLS if CITIES[turn] else e.FinishReason.STOP)


# ---- serving


@contextlib.contextmanager
def strict() -> Iterator[tuple[str, StrictUpstream]]:
    """The URL of the gateway, and the upstream behind it."""
    upstream = StrictUpstream()

    @contextlib.asynccontextmanager
    async def serving() -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/{path:.*}", upstream.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        there = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with listening(_gateway(there)) as here:
            yield here
        await runner.cleanup()

    with in_thread(serving) as url:
        yield url, upstream


def _gateway(there: str) -> Gateway:
    upstreams = {
        name: UpstreamSettings(
            dialect=DialectName(name), base_url=BaseUrl(there + dialects.get(name).base_path), api_key=Secret("strict")
        )
        for name in CLIENTS
    }
    settings = Settings(keys=[Secret(KEY)], upstreams=upstreams)
    return Gateway(settings, connect(settings), silence())
