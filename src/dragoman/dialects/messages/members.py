"""Members of a client's body by their types; ``null`` and absent are the same.

Each raises ``InvalidRequest`` that names the member, for a value of another type; ``place`` is the path
of the object around it, with its last dot.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dragoman.canonical.errors import invalid_request
from dragoman.exceptions import InvalidRequest

JSON = dict[str, Any]


def refuse(path: str, expected: str) -> NoReturn:
    """Raises ``InvalidRequest`` for the member at this path."""
    raise InvalidRequest(invalid_request(f"{path}: expected {expected}", path))


def text_at(value: JSON, name: str, path: str) -> str:
    """The member of the object at ``path``, which must be a text."""
    found = value.get(name)
    if not isinstance(found, str):
        refuse(f"{path}.{name}", "a string")
    return found


def text(body: JSON, name: str, place: str = "", *, required: bool = False) -> str | None:
    value = body.get(name)
    if (value is None and not required) or (isinstance(value, str) and (value or not required)):
        return value
    refuse(place + name, "a non-empty string" if required else "a string")


def number(body: JSON, name: str) -> float | None:
    value = body.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        refuse(name, "a number")
    return value


def whole(body: JSON, name: str, place: str = "") -> int | None:
    value = body.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        refuse(place + name, "a non-negative integer")
    return value


def flag(body: JSON, name: str, place: str = "") -> bool | None:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        refuse(place + name, "true or false")
    return value


def object_of(body: JSON, name: str, place: str = "") -> JSON:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        refuse(place + name, "an object")
    return value


def is_over(messages: list[Any], place: int) -> bool:
    """Whether a system message was for one turn of the user, and that turn is over (``clear_at``)."""
    message = messages[place]
    if not isinstance(message, dict) or message.get("clear_at") != "next_user_message":
        return False
    return any(isinstance(later, dict) and later.get("role") == "user" for later in messages[place + 1 :])


def list_of(body: JSON, name: str) -> list[Any]:
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        refuse(name, "a list")
    return value
