"""The gateway's tools beside the client's, under names that nobody else has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.canonical.request import Request, Tool, ToolChoice


class GatewayTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of one of the gateway's servers.

    ``name`` is the server's own, ``offered`` the one that models are told; ``schema`` is the JSON Schema of its
    arguments, an object's.
    """

    server: str
    name: str
    offered: str
    description: str | None = None
    schema: dict[str, Any] = {}


_LONGEST = 64
"""Characters of a name that every dialect takes."""


class Offer:
    """The tools of one exchange that the gateway runs, by the names under which they are offered.

    The client's tool wins its name; the gateway's then gets a number. Nothing is offered to a client that wants
    no tool called or several answers, and where the upstream holds a part of the conversation
    (``Request.bound``): what it holds cannot be told apart from the turns that a loop would add.
    """

    def __init__(self, request: Request, tools: Iterable[GatewayTool]) -> None:
        self.tools: dict[str, GatewayTool] = {}
        if not takes_tools(request):
            return
        taken = {tool.name for tool in request.tools}
        for tool in tools:
            name, number = tool.offered, 2
            while name in taken:
                name, number = _numbered(tool.offered, number), number + 1
            taken.add(name)
            self.tools[name] = tool

    def added_to(self, request: Request) -> Request:
        """The request with these tools behind the client's own."""
        offered = tuple(
            Tool(name=name, description=tool.description, schema=tool.schema) for name, tool in self.tools.items()
        )
        return msgspec.structs.replace(request, tools=request.tools + offered)


def takes_tools(request: Request) -> bool:
    """Whether the gateway's tools can go with this request."""
    choice = request.tool_choice
    return not request.bound and request.choices == 1 and (choice is None or choice.mode != "none")


def _numbered(name: str, number: int) -> str:
    tail = f"_{number}"
    return name[: _LONGEST - len(tail)] + tail


def relaxed(choice: ToolChoice | None) -> ToolChoice | None:
    """The choice of the rounds after the first: a forced call was made, now the model decides."""
    if choice is not None and choice.mode == "required":
        return ToolChoice("auto")
    return choice
