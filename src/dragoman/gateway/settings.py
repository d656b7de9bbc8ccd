"""The schema of the configuration: its keys, their types, their defaults (design/product.md, configuration).

A class with ``read`` is a leaf of its own: it takes the value as it stands in the file and raises
``ValueError`` with words for the operator. Everything else is checked by its type.
"""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any

import msgspec

from dragoman import dialects
from dragoman.gateway.spelling import nearest
from dragoman.toolsets.settings import MOST, Count, LoopBounds, Positive, ToolsetSettings, header_value, url_parts


class Secret:
    """A text that is never shown: it prints as ``***``. ``reveal`` is called where it goes on the wire."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def read(cls, value: Any) -> Secret:
        if not isinstance(value, str):
            raise ValueError("expected a text (put it in quotes)")
        if not value.strip():
            raise ValueError("the key is empty")
        if value != value.strip() or not value.isprintable() or not value.isascii():
            raise ValueError("a key has printable ASCII characters only, and no blank at its ends")
        return cls(value)

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "***"


class Address(msgspec.Struct, frozen=True):
    """Where the gateway listens."""

    host: str
    port: int

    @classmethod
    def read(cls, value: Any) -> Address:
        host, colon, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ValueError("expected HOST:PORT, such as 127.0.0.1:4180")
        return cls(host, int(port))

    @property
    def loopback(self) -> bool:
        return is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether a host, as a name or an address without port, can only be this machine."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class BaseUrl(str):
    """What the dialect's official SDK takes as its base URL; without a slash at its end."""

    @classmethod
    def read(cls, value: Any) -> BaseUrl:
        parts = url_parts(value, "http://127.0.0.1:8000/v1")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("expected a URL without user, query and fragment; the key belongs in api_key")
        return cls(value.rstrip("/"))


class DialectName(str):
    """The name of a known dialect."""

    @classmethod
    def read(cls, value: Any) -> DialectName:
        known = dialects.names()
        if value not in known:
            raise ValueError(f"no such dialect; known are {', '.join(known)}{nearest(value, known)}")
        return cls(value)


class HeaderValue(str):
    """The value of a header for an upstream."""

    @classmethod
    def read(cls, value: Any) -> HeaderValue:
        return cls(header_value(value))

    def __repr__(self) -> str:
        """Nothing of it: it may hold a key."""
        return "***"


NotNegative = Annotated[float, msgspec.Meta(ge=0, le=MOST)]


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. ``first_event`` bounds the wait for a whole answer too; ``total`` is unbounded if not given.

    ``request_head``, ``request_body``: what a client has for its request; ``send``: for any of its answer.
    """

    connect: Positive = 10.0
    first_event: Positive = 300.0
    idle: Positive = 120.0
    head: Positive = 15.0
    heartbeat: Positive = 15.0
    drain: Positive = 30.0
    total: Positive | None = None
    request_head: Positive = 30.0
    request_body: Positive = 300.0
    send: Positive = 300.0


class UpstreamTimeouts(msgspec.Struct, frozen=True, kw_only=True):
    """What differs from the gateway's own for one upstream."""

    connect: Positive | None = None
    first_event: Positive | None = None
    idle: Positive | None = None
    head: Positive | None = None
    heartbeat: Positive | None = None
    total: Positive | None = None

    def over(self, general: Timeouts) -> Timeouts:
        own = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}
        return msgspec.structs.replace(general, **own)


class MemorySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of the reasoning that clients forget; ``calls: 0`` keeps nothing."""

    calls: Annotated[int, msgspec.Meta(ge=0, le=MOST)] = 20_000
    mib: Positive = 64.0
    hours: Positive = 24.0


class TurnSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of answers in which the gateway ran tools, since clients cannot hold all of it."""

    answers: Count = 10_000
    mib: Positive = 64.0
    hours: Positive = 24.0


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """``body_mib``, ``header_kib``, ``streams``: of a client; the others, up to ``connections``: of an upstream."""

    body_mib: Positive = 32.0
    header_kib: Positive = 64.0
    streams: Count = 10_000
    event_mib: Positive = 4.0
    answer_mib: Positive = 64.0
    open_calls: Count = 128
    arguments_mib: Positive = 16.0
    error_kib: Positive = 64.0
    response_header_kib: Positive = 64.0
    connections: Count = 10_000
    memory: MemorySettings = MemorySettings()
    turns: TurnSettings = TurnSettings()


class FailoverSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When a target is passed over: after so many ``failures`` in a row, for ``cool_down`` seconds.

    ``longest``: seconds that count of a Retry-After.
    """

    failures: Count = 3
    cool_down: NotNegative = 30.0
    longest: NotNegative = 600.0


class Accepts(msgspec.Struct, frozen=True):
    """The facts that somebody gave (``dialects.contract.Facts``), by name: what was left out is not among them."""

    given: dict[str, Any] = {}


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What differs for the models of an upstream that fit a pattern."""

    accepts: Accepts = Accepts()


class UpstreamSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One upstream: what it speaks, where it is, and what it takes.

    ``models``: what differs for some of its models, by their names there, in which ``*`` stands for anything.
    """

    dialect: DialectName
    base_url: BaseUrl
    api_key: Secret | None = None
    headers: dict[str, HeaderValue] = {}
    accepts: Accepts = Accepts()
    models: dict[str, ModelSettings] = {}
    timeouts: UpstreamTimeouts = UpstreamTimeouts()
    strict: bool | None = None


class StateUrl(str):
    """Where answers are kept: ``memory``, or ``sqlite:///`` and a file."""

    @classmethod
    def read(cls, value: Any) -> StateUrl:
        file = value.removeprefix("sqlite:///") if isinstance(value, str) else ""
        if value != "memory" and (file in ("", value, ":memory:") or not file.isprintable()):
            raise ValueError("expected memory, or sqlite:///FILE (sqlite:////srv/state.db for an absolute path)")
        return cls(value)

    @property
    def file(self) -> str | None:
        """The path of the file; ``None``: none."""
        return self.removeprefix("sqlite:///") if self != "memory" else None


class StateSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Answers that clients may go on from, where the upstream keeps none. The limits hold for each client key."""

    url: StateUrl = StateUrl("memory")
    answers: Count = 10_000
    mib: Positive = 128.0
    days: Positive = 30.0


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration. ``strict``: a request of which something would be lost is refused.

    ``workers``: processes that serve.
    """

    listen: Address = Address("127.0.0.1", 4180)
    workers: Annotated[int, msgspec.Meta(gt=0, le=256)] = 1
    keys: list[Secret] = []
    upstreams: dict[str, UpstreamSettings] = {}
    models: dict[str, list[str]] = {}
    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()
    failover: FailoverSettings = FailoverSettings()
    state: StateSettings = StateSettings()
    strict: bool = False
    tools: dict[str, ToolsetSettings] = {}
    tool_loop: LoopBounds = LoopBounds()
