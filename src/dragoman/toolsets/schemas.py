"""JSON Schema of tools: whether it is one, and whether arguments fit it.

References are resolved within the schema only; nothing is fetched.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

_MOST = 5  # mistakes that are told
_LONGEST = 300  # characters of one


class ArgumentChecker:
    """Says what is wrong with arguments. Raises ``ValueError`` if the schema is none."""

    def __init__(self, schema: dict[str, Any]) -> None:
        kind = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            raise ValueError(f"no JSON Schema: {error.json_path}: {error.message}"[:_LONGEST]) from None
        registry: Registry[Any] = Registry()
        self._validator = kind(schema, registry=registry)

    def mistakes(self, arguments: dict[str, Any]) -> list[str]:
        """What does not fit, each with its place."""
        try:
            found = list(islice(self._validator.iter_errors(arguments), _MOST))
        except Unresolvable as error:
            return [f"the tool's schema refers to what it does not have: {error.ref}"[:_LONGEST]]
        except RecursionError:
            return ["the arguments, or the tool's schema, are nested too deeply"]
        return [_in_words(error.json_path, error.message) for error in found]


def _in_words(path: str, message: str) -> str:
    if len(message) > _LONGEST:
        message = message[: _LONGEST // 2] + " … " + message[-_LONGEST // 2 :]
    place = path.removeprefix("$").removeprefix(".")
    return f"{place}: {message}" if place else message
