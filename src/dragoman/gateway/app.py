"""The gateway as an ASGI application: ``await Gateway(…)(scope, receive, send)``.

Key → route → exchange; every refusal is an error in the client dialect's own shape. It needs no
lifespan, so it can be mounted into another application; ``aclose`` gives back its connections.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import Operation
from dragoman.exceptions import InvalidRequest
from dragoman.gateway import exchange, kept
from dragoman.gateway.accesslog import CLIENT_CLOSED, AccessLog, Record
from dragoman.gateway.admission import Admission
from dragoman.gateway.auth import OPEN_PATHS, ClientKeys
from dragoman.gateway.client import ClientGone, ClientRequest, Receive, Refusal, Reply, Scope, Send
from dragoman.gateway.health import Health
from dragoman.gateway.routes import MODEL_LISTS, Match, RouteTable
from dragoman.gateway.routing import Router
from dragoman.gateway.settings import Settings, Timeouts
from dragoman.gateway.setup import Setup, Setups
from dragoman.gateway.stores import Stores
from dragoman.gateway.tools import GatewayTools
from dragoman.gateway.turn import OpenTurns, Service
from dragoman.streaming.body import StreamLimits
from dragoman.toolloop.loop import LoopLimits
from dragoman.toolsets.registry import Toolbox

_KIB, _MIB = 1 << 10, 1 << 20
_ANSWERING = (Operation.GENERATE, Operation.COUNT_TOKENS)


class Gateway:
    """Answers clients of every dialect from the services of one configuration, which ``reload`` replaces.

    ``stores``: what is kept between requests, if it is shared with other processes. ``since``: the Unix time that
    lists of models name. ``clock``: seconds, for targets that cool down. Raises ``ConfigurationError`` if answers
    cannot be kept where ``settings.state`` says.
    """

    def __init__(
        self,
        settings: Settings,
        services: Mapping[str, Service],
        log: AccessLog | None = None,
        toolbox: Toolbox | None = None,
        stores: Stores | None = None,
        since: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.open_turns = OpenTurns()
        self._admission = Admission()
        self._clock = clock
        self.draining = False
        """Whether the gateway is about to end: it is not to be sent anything more."""
        self._routes = RouteTable()
        self._log = log or AccessLog()
        self._started = int(time.time()) if since is None else since
        self._stores = stores or Stores(settings)
        self._setups = Setups(self._set_up(settings, services, toolbox or Toolbox()))
        self._up = False

    def _set_up(self, settings: Settings, services: Mapping[str, Service], toolbox: Toolbox) -> Setup:
        limits = settings.limits
        exchanges = exchange.Services(
            services=services,
            router=Router({name: one.upstream.models for name, one in services.items()}, settings.models),
            body_bytes=int(limits.body_mib * _MIB),
            body_seconds=settings.timeouts.request_body,
            streams=limits.streams,
            limits=StreamLimits(
                event=int(limits.event_mib * _MIB),
                answer=int(limits.answer_mib * _MIB),
                error=int(limits.error_kib * _KIB),
                open_calls=limits.open_calls,
                arguments=int(limits.arguments_mib * _MIB),
            ),
            admission=self._admission,
            health=Health(settings.failover, self._clock),
            open_turns=self.open_turns,
            memory=self._stores.memory,
            store=self._stores.answers,
            tools=GatewayTools(
                toolbox=toolbox,
                limits=LoopLimits(rounds=settings.tool_loop.rounds, error_rounds=settings.tool_loop.error_rounds),
                total=settings.tool_loop.total,
                past=self._stores.past,
            ),
        )
        return Setup(ClientKeys(settings.keys), exchanges, settings.timeouts, int(limits.header_kib * _KIB))

    @property
    def timeouts(self) -> Timeouts:
        """Those in force."""
        return self._setups.current.timeouts

    @property
    def header_bytes(self) -> int:
        """What the names and values of a request's headers may have in all."""
        return self._setups.current.header_bytes

    @property
    def head_seconds(self) -> float:
        """What a client has to send the head of a request."""
        return self.timeouts.request_head

    @property
    def send_seconds(self) -> float:
        """How long a client that takes nothing of its answer is waited for."""
        return self.timeouts.send

    @property
    def toolbox(self) -> Toolbox:
        """The tools in force."""
        return self._setups.current.exchanges.tools.toolbox

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(ClientRequest(scope, receive), send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self._live(receive, send)

    async def start(self) -> None:
        """Begins to bring up the tool servers; nothing waits for them."""
        await self.toolbox.start()

    async def reload(self, settings: Settings, services: Mapping[str, Service], toolbox: Toolbox) -> None:
        """Another configuration for the requests from now on; those under way go on as they began.

        Tool servers that both toolboxes hold go on too. The places where answers are kept stay.
        """
        self._stores.limit(settings)
        self._setups.replace(self._set_up(settings, services, toolbox))
        await self.start()

    async def aclose(self) -> None:
        """Gives back the connections to upstreams and tool servers, and closes what is kept."""
        await self._setups.aclose()
        self._stores.close()

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
            with self._setups.used() as setup:
                await self._route(setup, match, client, reply, record)
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
            if client.path not in OPEN_PATHS:
                self._log.write(record)

    async def _route(
        self, setup: Setup, match: Match | None, client: ClientRequest, reply: Reply, record: Record
    ) -> None:
        """Finds who answers. Raises ``InvalidRequest`` with the refusal."""
        if sum(len(name) + len(value) for name, value in client.raw_headers) > setup.header_bytes:
            message = f"the request's headers have more than {setup.header_bytes:,} bytes"
            raise InvalidRequest(Error(kind=ErrorKind.TOO_LARGE, message=message, status=431))
        if client.headers.get("upgrade", "").lower() == "websocket":
            raise _no_websocket()
        scope = setup.keys.demand(client)
        if match:
            _demand_method(client, *self._routes.methods(match))
            if match.route.operation in _ANSWERING:
                await exchange.run(setup.exchanges, match, client, reply, record, scope)
            else:
                await kept.serve(self._stores.answers, match, scope, client, reply)
        elif client.path in ("/", "/health"):
            _demand_method(client, "GET", "HEAD")
            await reply.whole(200, {"status": "ok", "name": "dragoman"})
        elif client.path == "/ready":
            _demand_method(client, "GET", "HEAD")
            await self._tell_readiness(reply)
        else:
            await self._models(setup.exchanges, client, reply)

    async def _tell_readiness(self, reply: Reply) -> None:
        """Whether requests are to be sent here: not before the tool servers had their time, nor at the end."""
        await self.start()
        self._up = self._up or not self._setups.current.exchanges.tools.toolbox.coming_up
        status = "stopping" if self.draining else "ready" if self._up else "starting"
        await reply.whole(200 if status == "ready" else 503, {"status": status})

    async def _models(self, exchanges: exchange.Services, client: ClientRequest, reply: Reply) -> None:
        dialect, now = reply.dialect, self._started
        if client.path in MODEL_LISTS:
            _demand_method(client, "GET", "HEAD")
            await reply.whole(200, dialect.render_models(list(exchanges.router.names), now))
            return
        for prefix in MODEL_LISTS:
            name = client.path.removeprefix(f"{prefix}/")
            if name != client.path and client.method in ("GET", "HEAD"):
                if not exchanges.router.knows(name):
                    raise InvalidRequest(exchange.no_model(name))
                await reply.whole(200, dialect.render_model(name, now))
                return
        message = f"there is nothing at {client.method} {client.path[:200]}"
        raise InvalidRequest(Error(kind=ErrorKind.NOT_FOUND, message=message))


def _demand_method(client: ClientRequest, *methods: str) -> None:
    if client.method not in methods:
        message = f"{client.method} is not allowed here, only {' or '.join(methods)}"
        raise Refusal(Error(kind=ErrorKind.METHOD_NOT_ALLOWED, message=message), {"allow": ", ".join(methods)})


def _no_websocket() -> Refusal:
    """Codex asks over HTTP at once after a 426, and tries a few times more after any other status."""
    message = "there is no WebSocket here: send the request over HTTP, the answer streams as server-sent events"
    error = Error(kind=ErrorKind.METHOD_NOT_ALLOWED, message=message, status=426)
    return Refusal(error, {"upgrade": "HTTP/1.1", "connection": "close"})


def _where(bug: BaseException) -> str:
    """An exception for the log: its type and the place, not its text, which may hold anything."""
    frame = bug.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    place = f" at {Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else ""
    return type(bug).__name__ + place
