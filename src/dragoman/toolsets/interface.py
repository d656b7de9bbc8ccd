"""What a source of tools is to the gateway: it says which tools it has now, and runs them.

Whatever goes wrong with a tool is an outcome that the model is told, never an exception.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Literal, Protocol

import msgspec

from dragoman.canonical.request import Text
from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolloop.offer import GatewayTool

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64
"""Characters of a function name that every dialect takes."""
_DIGEST = 8  # hex digits


def offer(server: str, name: str, description: str | None, schema: dict[str, Any]) -> GatewayTool:
    """The tool under a name, and with a schema, that every dialect takes."""
    # OpenAI refuses an object schema without properties.
    whole = {"type": "object", "properties": {}, **schema}
    return GatewayTool(
        server=server, name=name, offered=offered_name(server, name), description=description or None, schema=whole
    )


def offered_name(server: str, name: str) -> str:
    """``server__name``; what no dialect takes is replaced, and a digest keeps such names apart.

    The name depends on nothing else, so that it means the same tool in a later request.
    """
    full = f"{server}__{name}"
    plain = _ILLEGAL.sub("_", full)
    if plain == full and len(full) <= _LONGEST:
        return full
    digest = hashlib.blake2b(full.encode("utf-8", "surrogatepass"), digest_size=_DIGEST // 2).hexdigest()
    return f"{plain[: _LONGEST - _DIGEST - 1]}_{digest}"


def failed(message: str) -> ToolOutcome:
    """An error outcome that says this."""
    return ToolOutcome(parts=(Text(text=message),), error=True)


Condition = Literal["starting", "ready", "down", "closed"]


class ToolsetState(msgspec.Struct, frozen=True):
    """How a toolset is, and a few words on it for people, without secrets."""

    condition: Condition
    detail: str = ""


class Toolset(Protocol):
    """A source of tools. Used by many requests at the same time, in one event loop."""

    @property
    def name(self) -> str:
        """Its name in the configuration."""

    @property
    def about(self) -> str:
        """What it is, in words for people, without secrets."""

    @property
    def tools(self) -> tuple[GatewayTool, ...]:
        """The tools that can be called now; none while it is not there."""

    @property
    def state(self) -> ToolsetState:
        """How it is now."""

    async def start(self) -> None:
        """Begins to come up; does not wait for that."""

    async def settled(self) -> None:
        """Returns once the first attempt to come up is over, well or not."""

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """What comes of a call of the tool with this name of its own. Cancelling ends the call."""

    async def aclose(self) -> None:
        """Ends calls, connections and processes; returns when they are gone."""
