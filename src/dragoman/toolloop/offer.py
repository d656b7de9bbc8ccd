"""The gateway's tools beside the client's, under names that nobody else has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.canonical.request import Request, Tool, ToolChoice


class GatewayTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of one of the gateway's servers; ``offered`` is the name for models. ``schema`` is JSON Schema."""

    server: str
    name: str
    offered: str
    description: str | None = None
    schema: dict[str, Any] = {}


class Offer:
    """The tools of one exchange that the gateway runs, by the names under which they are offered.

    The client's tool wins its name; the gateway's then gets a number. ``none`` as tool choice offers nothing.
    """

    def __init__(self, request: Request, tools: Iterable[GatewayTool]) -> None:
        self.tools: dict[str, GatewayTool] = {}
        choice = request.tool_choice
        if choice is not None and choice.mode == "none":
            return
        taken = {tool.name for tool in request.tools}
        for tool in tools:
            name, number = tool.offered, 2
            while name in taken:
                name, number = f"{tool.offered}_{number}", number + 1
            taken.add(name)
            self.tools[name] = tool

    def added_to(self, request: Request) -> Request:
        """The request with these tools behind the client's own."""
        offered = tuple(
            Tool(name=name, description=tool.description, schema=tool.schema) for name, tool in self.tools.items()
        )
        return msgspec.structs.replace(request, tools=request.tools + offered)


def relaxed(choice: ToolChoice | None) -> ToolChoice | None:
    """The choice of the rounds after the first: a forced call was made, now the model decides."""
    if choice is not None and choice.mode == "required":
        return ToolChoice("auto")
    return choice
