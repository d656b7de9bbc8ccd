"""The gateway as an ASGI application: ``await Gateway(…)(scope, receive, send)``.

Key → route → exchange; every refusal is an error in the client dialect's own shape. It needs no
lifespan, so it can be mounted into another application; ``aclose`` gives back its connections.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import Operation
from dragoman.exceptions import InvalidRequest
from dragoman.gateway import exchange, kept
from dragoman.gateway.accesslog import CLIENT_CLOSED, AccessLog, Record
from dragoman.gateway.auth import ClientKeys
from dragoman.gateway.client import ClientGone, ClientRequest, Receive, Refusal, Reply, Scope, Send
from dragoman.gateway.routes import MODEL_LISTS, Match, RouteTable
from dragoman.gateway.routing import Router
from dragoman.gateway.settings import Settings
from dragoman.gateway.state import AnswerStore
from dragoman.gateway.tools import GatewayTools
from dragoman.gateway.turn import OpenTurns, Service
from dragoman.memory import MemoryLimits, ReasoningMemory
from dragoman.streaming.body import StreamLimits
from dragoman.toolloop.loop import LoopLimits
from dragoman.toolloop.past import PastAnswers, PastLimits
from dragoman.toolsets.registry import Toolbox

_MIB = 1 << 20
_ANSWERING = (Operation.GENERATE, Operation.COUNT_TOKENS)
HEADER_BYTES = 64 << 10
"""What the names and values of a request's headers may have in all."""


class Gateway:
    """Answers clients of every dialect from the services of one configuration.

    Raises ``ConfigurationError`` if answers cannot be kept where ``settings.state`` says.
    """

    def __init__(
        self,
        settings: Settings,
        services: Mapping[str, Service],
        log: AccessLog | None = None,
        toolbox: Toolbox | None = None,
    ) -> None:
        self.open_turns = OpenTurns()
        self._services = services
        self._router = Router(services, settings.models)
        self._routes = RouteTable()
        self._keys = ClientKeys(settings.keys)
        self._log = log or AccessLog()
        self._started = int(time.time())
        self._store = AnswerStore(settings.state)
        limits, memory = settings.limits, settings.limits.memory
        self._exchanges = exchange.Services(
            services=services,
            router=self._router,
            body_bytes=int(limits.body_mib * _MIB),
            limits=StreamLimits(
                event=int(limits.event_mib * _MIB),
                answer=int(limits.answer_mib * _MIB),
                open_calls=limits.open_calls,
            ),
            open_turns=self.open_turns,
            memory=ReasoningMemory(
                MemoryLimits(entries=memory.calls, bytes=int(memory.mib * _MIB), age=memory.hours * 3600)
            ),
            store=self._store,
            tools=_tools(toolbox or Toolbox(), settings),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(ClientRequest(scope, receive), send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self._live(receive, send)

    async def start(self) -> None:
        """Begins to bring up the tool servers; nothing waits for them."""
        await self._exchanges.tools.toolbox.start()

    async def aclose(self) -> None:
        """Gives back the connections to upstreams and tool servers, and closes the store of answers."""
        await self._exchanges.tools.toolbox.aclose()
        for service in self._services.values():
            await service.upstream.aclose()
        self._store.close()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            kind = (await receive())["type"]
            if kind == "lifespan.startup":
                await self.start()
            if kind == "lifespan.shutdown":
                await self.aclose()
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return

    async def _answer(self, client: ClientRequest, send: Send) -> None:
        match = self._routes.find(client.method, client.path)
        dialect = match.dialect if match else self._routes.guess(client.path, client.headers, client.query)
        reply = Reply(send, dialect, f"req_{secrets.token_hex(12)}", client.write_now)
        record = Record(reply.request_id, client.method, client.path)
        record.client = dialect.name
        try:
            await self._route(match, client, reply, record)
        except InvalidRequest as refusal:
            record.error = refusal.error.kind.value
            await reply.error(refusal.error, refusal.headers if isinstance(refusal, Refusal) else None)
        except ClientGone:
            record.leave(CLIENT_CLOSED)
        except Exception as bug:
            record.error = "internal"
            self._log.note({"request_id": reply.request_id, "internal": _where(bug)})
            if not reply.begun:
                await reply.error(Error(kind=ErrorKind.SERVER, message="the gateway failed to answer this request"))
        finally:
            record.status = record.status or reply.status
            if client.path != "/health":
                self._log.write(record)

    async def _route(self, match: Match | None, client: ClientRequest, reply: Reply, record: Record) -> None:
        """Finds who answers. Raises ``InvalidRequest`` with the refusal."""
        if sum(len(name) + len(value) for name, value in client.raw_headers) > HEADER_BYTES:
            message = f"the request's headers have more than {HEADER_BYTES:,} bytes"
            raise InvalidRequest(Error(kind=ErrorKind.TOO_LARGE, message=message, status=431))
        scope = self._keys.demand(client)
        if match:
            _demand_method(client, *self._routes.methods(match))
            if match.route.operation in _ANSWERING:
                await exchange.run(self._exchanges, match, client, reply, record, scope)
            else:
                await kept.serve(self._store, match, scope, client, reply)
        elif client.path in ("/", "/health"):
            _demand_method(client, "GET", "HEAD")
            await reply.whole(200, {"status": "ok", "name": "dragoman"})
        else:
            await self._models(client, reply)

    async def _models(self, client: ClientRequest, reply: Reply) -> None:
        dialect, now = reply.dialect, self._started
        if client.path in MODEL_LISTS:
            _demand_method(client, "GET", "HEAD")
            await reply.whole(200, dialect.render_models(self._listed(), now))
            return
        for prefix in MODEL_LISTS:
            name = client.path.removeprefix(f"{prefix}/")
            if name != client.path and client.method in ("GET", "HEAD"):
                if not self._known(name):
                    raise InvalidRequest(exchange.no_model(name))
                await reply.whole(200, dialect.render_model(name, now))
                return
        message = f"there is nothing at {client.method} {client.path[:200]}"
        raise InvalidRequest(Error(kind=ErrorKind.NOT_FOUND, message=message))

    def _listed(self) -> list[str]:
        """The names that are configured, and those of upstreams that know their models."""
        own = [f"{name}/{model}" for name, service in self._services.items() for model in service.upstream.models]
        return [*self._router.names, *own]

    def _known(self, name: str) -> bool:
        if name in self._router.names:
            return True
        targets = self._router.targets(name)
        known = [self._services[target.upstream].upstream.models for target in targets]
        return any(not models or target.model in models for target, models in zip(targets, known, strict=True))


def _demand_method(client: ClientRequest, *methods: str) -> None:
    if client.method not in methods:
        message = f"{client.method} is not allowed here, only {' or '.join(methods)}"
        raise Refusal(Error(kind=ErrorKind.METHOD_NOT_ALLOWED, message=message), {"allow": ", ".join(methods)})


def _where(bug: BaseException) -> str:
    """An exception for the log: its type and the place, not its text, which may hold anything."""
    frame = bug.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    place = f" at {Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else ""
    return type(bug).__name__ + place


def _tools(toolbox: Toolbox, settings: Settings) -> GatewayTools:
    bounds, turns = settings.tool_loop, settings.limits.turns
    return GatewayTools(
        toolbox=toolbox,
        limits=LoopLimits(rounds=bounds.rounds, error_rounds=bounds.error_rounds),
        total=bounds.total,
        past=PastAnswers(PastLimits(answers=turns.answers, bytes=int(turns.mib * _MIB), age=turns.hours * 3600)),
    )
