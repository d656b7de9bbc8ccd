"""Reads a configuration and reports every mistake in it at once, each with its place.

YAML → ``$NAME`` from the environment → the types of ``settings`` → what must fit together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import yaml

from dragoman.dialects.contract import Facts
from dragoman.exceptions import ConfigurationError
from dragoman.gateway.routing import target_mistake
from dragoman.gateway.settings import Accepts, Settings
from dragoman.gateway.spelling import nearest
from dragoman.toolsets import settings as toolsets

_WHOLE = re.compile(r"\A\$([A-Za-z_]\w*)\Z")
_INSIDE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_UPSTREAM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_ABSENT = object()
"""Stands where a variable is missing: that is one mistake already."""


def load(text: str, environment: Mapping[str, str]) -> Settings:
    """The settings in a YAML (or JSON) text. Raises ``ConfigurationError`` with every mistake."""
    raw = parse(text)
    mistakes: list[str] = []
    try:
        raw = expand({} if raw is None else raw, "", environment, mistakes)
    except RecursionError:
        raise ConfigurationError(["the file: an alias that holds itself"]) from None
    settings = read(Settings, raw, "", mistakes)
    if isinstance(raw, dict):
        _check(raw, mistakes)
        mistakes.extend(toolsets.check(raw))
    if mistakes:
        raise ConfigurationError(mistakes)
    assert isinstance(settings, Settings)
    return settings


# ---- YAML


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, which YAML forbids and PyYAML takes in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {name!r} stands twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def parse(text: str) -> Any:
    """The value of a YAML text. Raises ``ConfigurationError`` with the place of the mistake."""
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        # Not str(error): it quotes the file, and a key may stand there.
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the file"
        raise ConfigurationError([f"{place}: not YAML: {error.problem or error.context}"]) from None
    except (yaml.YAMLError, RecursionError, ValueError, AttributeError, TypeError):
        # PyYAML builds a value that does not fit its tag (!!timestamp x) without looking at it first.
        raise ConfigurationError(["the file: line 1: not YAML"]) from None


# ---- the environment


def expand(value: Any, place: str, environment: Mapping[str, str], mistakes: list[str]) -> Any:
    """The value with each ``$NAME``, and each ``${NAME}`` in a text, from the environment.

    Variables that are missing go to ``mistakes``.
    """
    if isinstance(value, dict):
        return {key: expand(item, _join(place, key), environment, mistakes) for key, item in value.items()}
    if isinstance(value, list):
        return [expand(item, f"{place}[{index}]", environment, mistakes) for index, item in enumerate(value)]
    if not isinstance(value, str):
        return value
    text = _WHOLE.sub(r"${\1}", value)
    missing = [name for name in _INSIDE.findall(text) if name not in environment]
    mistakes += [f"{place}: the environment has no variable {name}" for name in missing]
    return _ABSENT if missing else _INSIDE.sub(lambda found: environment[found[1]], text)


# ---- types


def read(kind: Any, value: Any, place: str, mistakes: list[str]) -> Any:
    """The value as this type; what is wrong goes to ``mistakes``."""
    if value is _ABSENT:
        return None
    if get_origin(kind) is UnionType and type(None) in get_args(kind):
        if value is None:
            return None
        (kind,) = (one for one in get_args(kind) if one is not type(None))
    if hasattr(kind, "read"):
        try:
            return kind.read(value)
        except ValueError as error:
            mistakes.append(f"{place}: {error}")
            return None
    if kind is Accepts:
        return Accepts(_read_members(Facts, value, place, mistakes))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        before = len(mistakes)
        found = _read_members(kind, value, place, mistakes)
        return kind(**found) if len(mistakes) == before else None
    if get_origin(kind) is dict:
        return _read_mapping(get_args(kind)[1], value, place, mistakes)
    if get_origin(kind) is list:
        return _read_list(get_args(kind)[0], value, place, mistakes)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        words = _words_of(kind)
        wrong = f"expected {_either(words)}{nearest(value, words)}" if words else _in_words(str(error))
        mistakes.append(f"{place}: {wrong}")
        return None


def _words_of(kind: Any) -> list[str]:
    """What a type takes that takes certain words."""
    kinds = get_args(kind) if get_origin(kind) in (UnionType, Union) else (kind,)
    words = [str(word).lower() if isinstance(word, bool) else str(word) for one in kinds for word in _literals(one)]
    return [*words, "a list of texts"] if words and any(get_origin(one) is list for one in kinds) else words


def _either(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _literals(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _in_words(message: str) -> str:
    """What msgspec says, for somebody who does not know Python's types."""
    for name, words in _WORDS.items():
        message = message.replace(name, words)
    for sign, words in _BOUNDS.items():
        message = message.replace(sign, words)
    message = re.sub(r"\.0\b", "", message)
    return message[:1].lower() + message[1:]


_BOUNDS = {" >= ": " from ", " > ": " above ", " <= ": " up to "}

_WORDS = {
    "`int | null`": "a whole number",
    "`float`": "a number",
    "`int`": "a whole number",
    "`str`": "a text",
    "`bool`": "true or false",
    "`null`": "nothing",
}


def _read_members(kind: type[msgspec.Struct], value: Any, place: str, mistakes: list[str]) -> dict[str, Any]:
    """The members of a struct that are there, each as its type."""
    if not isinstance(value, dict):
        mistakes.append(f"{place or 'the file'}: expected keys with values")
        return {}
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    found = {}
    for key, item in value.items():
        if key in fields:
            found[key] = read(fields[key].type, item, _join(place, key), mistakes)
        else:
            mistakes.append(f"{_join(place, key)}: unknown key{nearest(key, fields)}")
    missing = [name for name, field in fields.items() if field.required and name not in value]
    mistakes.extend(f"{_join(place, name)}: missing" for name in missing)
    return found


def _read_mapping(kind: Any, value: Any, place: str, mistakes: list[str]) -> Any:
    if not isinstance(value, dict):
        mistakes.append(f"{place}: expected keys with values")
        return {}
    for key in value:
        if not isinstance(key, str) or not key:
            mistakes.append(f"{_join(place, key)}: a name must be a text (put it in quotes)")
    return {key: read(kind, item, _join(place, key), mistakes) for key, item in value.items()}


def _read_list(kind: Any, value: Any, place: str, mistakes: list[str]) -> Any:
    if not isinstance(value, list):
        mistakes.append(f"{place}: expected a list")
        return []
    return [read(kind, item, f"{place}[{index}]", mistakes) for index, item in enumerate(value)]


def _join(place: str, key: Any) -> str:
    return f"{place}.{key}" if place else str(key)


# ---- what must fit together


def _check(raw: dict[Any, Any], mistakes: list[str]) -> None:
    """What no type says. Works on the raw values, so that it reports beside other mistakes."""
    upstreams, models = raw.get("upstreams", {}), raw.get("models", {})
    known = [str(name) for name in upstreams] if isinstance(upstreams, dict) else []
    for name in known:
        if not _UPSTREAM_NAME.match(name):
            mistakes.append(f"upstreams.{name}: a name has letters, digits, dots, dashes and underscores")
    for name, upstream in upstreams.items() if isinstance(upstreams, dict) else ():
        headers = upstream.get("headers") if isinstance(upstream, dict) else None
        for header in headers if isinstance(headers, dict) else ():
            if not toolsets.HEADER_NAME.match(str(header)):
                mistakes.append(f"upstreams.{name}.headers.{header}: not the name of a header")
    check_models(models, known, "models", mistakes)


def check_models(models: Any, upstreams: Sequence[str], place: str, mistakes: list[str]) -> None:
    """Whether the targets of names are such of these upstreams; works on raw values."""
    for name, targets in models.items() if isinstance(models, dict) else ():
        if isinstance(targets, list) and not targets:
            mistakes.append(f"{place}.{name}: expected at least one target")
        for index, target in enumerate(targets if isinstance(targets, list) else ()):
            if isinstance(target, str) and (wrong := target_mistake(str(name), target, upstreams)):
                mistakes.append(f"{place}.{name}[{index}]: {wrong}")
