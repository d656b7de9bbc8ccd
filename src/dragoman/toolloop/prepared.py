"""A client's request on its way to an upstream, with the gateway's tools and with what it did in earlier answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.canonical.request import Loss, Request
from dragoman.dialects.contract import Dialect, Facts
from dragoman.toolloop.native import Splicer, listed
from dragoman.toolloop.offer import GatewayTool, Offer
from dragoman.toolloop.past import PastAnswers, completed, stretches

JSON = dict[str, Any]

_TOOL = re.compile(r"tools\[(\d+)\]")


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """``request`` has all tools and the whole history; ``body`` too, where the upstream speaks the client's dialect.

    ``offer``: the tools that the gateway runs, ``None`` if there are none. ``losses``: of making the body.
    """

    request: Request
    body: JSON
    offer: Offer | None
    losses: tuple[Loss, ...]
    own_tools: int
    """How many entries of the request's, or the body's, list of tools are the client's."""

    def of_client(self, losses: Iterable[Loss]) -> tuple[Loss, ...]:
        """Those that the client's request has: what the gateway's own tools lose is not its business."""
        return tuple(loss for loss in losses if not ((at := _TOOL.match(loss.path)) and int(at[1]) >= self.own_tools))


def prepared(
    body: JSON,
    request: Request,
    target: Dialect,
    facts: Facts,
    *,
    tools: Iterable[GatewayTool],
    past: PastAnswers,
    scope: str,
    now: float,
) -> Prepared:
    """What an upstream of ``target`` is asked. ``request`` is the client's ``body``, read."""
    offer = Offer(request, tools)
    found = stretches(request.messages, past, scope, target.name, now)
    whole = offer.added_to(completed(request, found))
    splicer = Splicer(target, facts)
    own_tools = len(request.tools)
    if request.origin == target.name:
        if found:
            body = splicer.with_past(body, request, past, scope, now)
        own_tools = len(listed(body.get(target.members.tools)))
        body = splicer.with_tools(body, request, offer)
    return Prepared(
        request=whole,
        body=body,
        offer=offer if offer.tools else None,
        losses=tuple(splicer.losses),
        own_tools=own_tools,
    )
