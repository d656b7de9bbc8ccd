"""A request on its way from one dialect to another: what every crossing has to do, whatever the pair.

1. Freeform tools become functions with one text argument where the target has none.
2. Tool names and namespaces get aliases that the target takes.
3. The history is arranged (``history``).

Each step is undone in the answer by what ``cross`` gives back: the client's tools by the upstream's names.
Within a dialect nothing crosses: the client's own body goes on (``identities``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dragoman.canonical import request as q
from dragoman.canonical.errors import Error, invalid_request
from dragoman.dialects.contract import Crossing, Dialect, Facts, Traits
from dragoman.exceptions import InvalidRequest
from dragoman.history import HistoryRules, arrange
from dragoman.names import ToolIdentity, ToolNames
from dragoman.streaming import freeform

_TOLD = 20
"""Losses that a refusal names."""


def cross(
    request: q.Request, target: Dialect, facts: Facts, *, fragment: bool = False
) -> tuple[Crossing, Mapping[str, ToolIdentity]]:
    """The crossing, and the client's tools by their names over there.

    ``fragment``: the messages follow others, which are written already. Raises ``InvalidRequest`` for what rests on the client's own upstream (``Request.bound``).
    """
    for path in request.bound:
        message = f"{path} can be served by its own provider only: send in full what it stands for"
        raise InvalidRequest(invalid_request(message, path))
    losses = [q.Loss(path, "it has no canonical form") for path in request.unknown]
    identities = [ToolIdentity(tool.name, tool.kind, tool.namespace) for tool in request.tools]
    traits = target.traits
    names = ToolNames(re.compile(traits.tool_name), traits.tool_name_longest, identities)
    renamed = _Renamer(names, traits).request(request)
    history = arrange(renamed.messages, rules(target, facts, fragment=fragment))
    crossing = Crossing(request=renamed, history=history, losses=(*losses, *history.losses))
    return crossing, {**_bare(names.identities.values()), **names.identities}


def identities(request: q.Request) -> Mapping[str, ToolIdentity]:
    """The client's tools where its own names reach the upstream."""
    tools = [ToolIdentity(tool.name, tool.kind, tool.namespace) for tool in request.tools]
    return {**_bare(tools), **{tool.name: tool for tool in tools if tool.namespace is None}}


def _bare(tools: Iterable[ToolIdentity]) -> dict[str, ToolIdentity]:
    """The tools of namespaces by their bare names, which models use too, where no other tool has that name.

    (decolua/9router#3241.)
    """
    known = dict.fromkeys(tools)
    count = Counter(tool.name for tool in known)
    return {tool.name: tool for tool in known if tool.namespace is not None and count[tool.name] == 1}


def rules(target: Dialect, facts: Facts, *, fragment: bool = False) -> HistoryRules:
    """What a history must look like for this upstream."""
    traits = target.traits
    mid_system = facts.mid_conversation_system
    signing = facts.signing_upstream
    return HistoryRules(
        origin=target.name,
        fragment=fragment,
        call_id=re.compile(traits.call_id) if traits.call_id else None,
        call_id_longest=traits.call_id_longest,
        alternate=traits.alternate,
        system_turns=traits.system_turns if mid_system is None else mid_system,
        calls_last=traits.calls_last,
        result_parts=traits.result_parts,
        prefill=facts.assistant_prefill,
        proofs=traits.signing if signing is None else signing,
        reasoning_text=facts.wants_reasoning,
    )


class _Renamer:
    """Puts the target's names and forms of tools into a request, everywhere the same."""

    def __init__(self, names: ToolNames, traits: Traits) -> None:
        self._names = names
        self._traits = traits

    def request(self, request: q.Request) -> q.Request:
        choice = request.tool_choice
        if choice is not None and choice.names:
            spaces = choice.namespaces or (None,) * len(choice.names)
            known = [self._alias(name, space) for name, space in zip(choice.names, spaces, strict=True)]
            choice = q.ToolChoice(choice.mode, tuple(known))
        return msgspec.structs.replace(
            request,
            service_tier=None if request.service_tier == "auto" else request.service_tier,  # everywhere the default
            tools=tuple(self._tool(tool) for tool in request.tools),
            tool_choice=choice,
            messages=tuple(self._message(message) for message in request.messages),
        )

    def _alias(self, name: str, namespace: str | None) -> str:
        return self._names.alias(ToolIdentity(name, namespace=namespace))

    def _tool(self, tool: q.Tool) -> q.Tool:
        name = self._alias(tool.name, tool.namespace)
        if tool.about:
            text = f"{tool.about}\n\n{tool.description or ''}".strip()
            tool = msgspec.structs.replace(tool, description=text, about=None)
        tool = msgspec.structs.replace(tool, name=name, namespace=None, native=None)
        if tool.kind == "function" or self._traits.custom_tools:
            return tool
        return msgspec.structs.replace(
            tool, kind="function", schema=freeform.SCHEMA, description=_described(tool), format=None
        )

    def _message(self, message: q.Message) -> q.Message:
        if not any(isinstance(part, q.ToolCall | q.ToolResult) for part in message.parts):
            return message
        return q.Message(message.role, tuple(self._part(part) for part in message.parts))

    def _part(self, part: q.Part) -> q.Part:
        if isinstance(part, q.ToolCall):
            name = self._alias(part.name, part.namespace)
            part = msgspec.structs.replace(part, name=name, namespace=None)
            if part.kind == "custom" and not self._traits.custom_tools:
                part = msgspec.structs.replace(part, kind="function", arguments=freeform.wrapped(part.arguments))
        elif isinstance(part, q.ToolResult):
            kind = part.kind if self._traits.custom_tools else "function"
            part = msgspec.structs.replace(part, name=self._alias(part.name, None) if part.name else None, kind=kind)
        return part


def _described(tool: q.Tool) -> str | None:
    """The description, with the grammar of the input where there is one: the model should still see it."""
    grammar = (tool.format or {}).get("definition")
    if not grammar:
        return tool.description
    syntax = (tool.format or {}).get("syntax", "grammar")
    return f"{tool.description or ''}\n\nThe input must match this {syntax} grammar:\n{grammar}".strip()


def lossy(losses: Sequence[q.Loss]) -> Error:
    """The refusal of a request that could not cross whole, with the paths of what would be lost."""
    told = [f"{loss.path} ({loss.reason})" for loss in losses[:_TOLD]]
    if len(losses) > _TOLD:
        told.append(f"{len(losses) - _TOLD} more")
    path = losses[0].path
    param = None if path.startswith("messages[") else path  # the client's own may be counted otherwise
    return invalid_request(f"strict: the upstream cannot be given {'; '.join(told)}", param)
