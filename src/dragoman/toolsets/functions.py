"""A Python function as a tool: its schema from its signature and docstring, its result as an outcome."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec

from dragoman.canonical.request import ResultPart, Text
from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolloop.offer import GatewayTool
from dragoman.toolsets.docstrings import described
from dragoman.toolsets.interface import offer

_NAMELESS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_PLAIN = str | int | float | bool | None
"""Defaults that are told to the model."""


class Function:
    """One function of a toolset. Raises ``ValueError`` if it can be no tool."""

    def __init__(self, server: str, name: str, function: Callable[..., Any]) -> None:
        self.function = function
        self._parameters = list(_signature(function).parameters.values())
        self._struct = _struct(name, function, self._parameters)
        about, texts = described(inspect.getdoc(function))
        self.spec: GatewayTool = offer(server, name, about, self._schema(texts))

    def _schema(self, texts: dict[str, str]) -> dict[str, Any]:
        try:
            (found,), parts = msgspec.json.schema_components([self._struct], ref_template="#/$defs/{name}")
        except (TypeError, NotImplementedError) as error:
            raise ValueError(f"a parameter's type has no JSON Schema: {error}".partition("\n")[0]) from None
        schema: dict[str, Any] = parts.pop(found["$ref"].rpartition("/")[2])
        del schema["title"]
        if parts:
            schema["$defs"] = parts
        for parameter in self._parameters:
            member = schema["properties"][parameter.name]
            if parameter.name in texts:
                member.setdefault("description", texts[parameter.name])
            if parameter.default is not parameter.empty and isinstance(parameter.default, _PLAIN):
                member["default"] = parameter.default
        return schema

    def bound(self, arguments: dict[str, Any]) -> Callable[[], Any]:
        """The call with these arguments, in the types of the signature. Raises ``ValueError``."""
        values = msgspec.convert(arguments, self._struct)
        positional, named = [], {}
        for parameter in self._parameters:
            value = getattr(values, parameter.name)
            if value is msgspec.UNSET:
                value = parameter.default
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[parameter.name] = value
        return lambda: self.function(*positional, **named)


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise ValueError("its signature is not known") from None


def _struct(name: str, function: Callable[..., Any], parameters: list[inspect.Parameter]) -> type[msgspec.Struct]:
    """A type with the parameters as its fields; what may be left out is unset then."""
    target = getattr(function, "func", function)  # of a partial
    try:
        hints = get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise ValueError(f"its annotations cannot be read: {error}") from None
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in parameters:
        kind = hints.get(parameter.name, Any)
        if parameter.kind in _NAMELESS:
            raise ValueError(f"it takes {parameter}: a tool's parameters have names")
        if parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            fields.append((parameter.name, kind | msgspec.UnsetType, msgspec.UNSET))
    try:
        return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"its parameters make no schema: {error}") from None


def outcome_of(value: Any) -> ToolOutcome:
    """What a function gave, for the model: text and media as they are, anything else as JSON."""
    if isinstance(value, ToolOutcome):
        return value
    if value is None:
        return ToolOutcome()
    if isinstance(value, str):
        return ToolOutcome(parts=(Text(text=value),))
    several = value if isinstance(value, list | tuple) and value else (value,)
    if all(isinstance(one, ResultPart) for one in several):
        return ToolOutcome(parts=tuple(several))
    return ToolOutcome(parts=(Text(text=msgspec.json.encode(value, enc_hook=str).decode()),))
