"""The loop within one dialect: the client's own body goes on, with the gateway's tools and turns spliced in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.canonical.request import Message, Request
from dragoman.crossing import cross
from dragoman.dialects.contract import Dialect, Facts
from dragoman.toolloop.offer import Offer

JSON = dict[str, Any]


def spliced(
    body: Mapping[str, Any],
    request: Request,
    target: Dialect,
    facts: Facts,
    *,
    offer: Offer,
    turns: Sequence[Message] = (),
    rewritten: bool = False,
) -> JSON:
    """The client's body with the offered tools behind its own, and ``turns`` behind its history.

    ``request`` is the canonical one, with all tools and without the turns. ``rewritten``: its history is no
    longer the body's (``past.completed``), so the body's is written anew.
    """
    members = target.members
    out = dict(body)
    offered = offer.added_to(msgspec.structs.replace(request, tools=()))
    if tools := _rendered(offered, target, facts).get(members.tools):
        out[members.tools] = [*(body.get(members.tools) or []), *tools]
    if rewritten:
        out[members.history] = _rendered(request, target, facts)[members.history]
    if turns:
        fragment = msgspec.structs.replace(request, messages=tuple(turns))
        rendered = _rendered(fragment, target, facts, fragment=True)
        out[members.history] = [*_listed(out.get(members.history)), *rendered[members.history]]
        if members.choice in body:
            out.pop(members.choice)
            if members.choice in rendered:
                out[members.choice] = rendered[members.choice]
    return out


def _rendered(request: Request, target: Dialect, facts: Facts, *, fragment: bool = False) -> JSON:
    crossing, _ = cross(request, target, facts, fragment=fragment)
    return target.render_request(crossing, facts).body


def _listed(history: Any) -> list[Any]:
    """A history as a list: responses takes a lone text for the user's message."""
    return list(history) if isinstance(history, list) else [{"role": "user", "content": history}]
