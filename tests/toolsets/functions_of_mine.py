"""Functions that the tests make tools of."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import sys
import threading
from collections.abc import Awaitable
from functools import partial
from typing import Annotated, Any, Literal, Optional

import msgspec

from dragoman.canonical.request import Image, Text
from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolsets.interface import failed


class Unit(enum.Enum):
    METRIC = "metric"
    IMPERIAL = "imperial"


@dataclasses.dataclass
class Place:
    city: str
    country: str = "NL"


class Trip(msgspec.Struct):
    stops: list[Place]
    unit: Unit = Unit.METRIC


def add(a: int, b: float = 1.5) -> float:
    """Adds.

    Two lines of it.

    Args:
        a: The first number,
            which is whole.
        b (float): The second: a number.

    Returns:
        The sum.
    """
    return a + b


def everything(
    text: str,
    on: bool,
    numbers: list[int],
    facts: dict[str, float],
    mode: Literal["fast", "slow"],
    unit: Unit,
    place: Place,
    trip: Trip,
    maybe: int | None = None,
    perhaps: Optional[str] = "x",  # noqa: UP045 - the form that is tested
    described: Annotated[int, msgspec.Meta(description="Between.", ge=0, le=9)] = 5,
    anything: Any = None,
) -> dict[str, Any]:
    """Takes everything.

    :param text: The text.
    :param str mode: How,
        and how fast.
    :returns: what it got
    """
    got = dict(locals())
    return {name: type(value).__name__ for name, value in got.items()}


def bare(what, how=(1, 2)):  # type: ignore[no-untyped-def]
    return [what, list(how)]


def positional(a: int, /, b: int) -> list[int]:
    return [a, b]


async def later(text: str) -> str:
    await asyncio.sleep(0)
    return f"{text}, later"


def awaited(text: str) -> Awaitable[str]:
    return later(text)


def thread() -> str:
    return threading.current_thread().name


def nothing() -> None:
    """Gives nothing."""


def picture() -> list[Text | Image]:
    return [Text(text="a pixel"), Image(media_type="image/png", data="iVBO")]


def place() -> Place:
    return Place("Utrecht")


def refuses() -> ToolOutcome:
    return failed("not today")


def breaks() -> None:
    raise KeyError("the drawer")


def stops() -> None:
    sys.exit(3)


async def stops_later() -> None:
    sys.exit(3)


def interrupts() -> None:
    raise KeyboardInterrupt("by hand")


hold = threading.Event()


def holds() -> str:
    hold.wait(60)
    return "let go"


def rest(*numbers: int) -> None: ...


def unknown(what: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037


def strange(what: threading.Thread) -> None: ...


class Weather:
    """An object with several tools."""

    def __init__(self, town: str) -> None:
        self._town = town

    @property
    def broken(self) -> str:
        raise RuntimeError("nobody asked")

    def now(self) -> str:
        """The weather now."""
        return f"sunny in {self._town}"

    async def tomorrow(self, hour: int = 12) -> str:
        return f"rain at {hour}"

    def _private(self) -> None: ...


weather = Weather("Utrecht")
several = [add, later]
named = {"plus": add, "plus_two": partial(add, b=2)}
empty: list[Any] = []
number = 5
