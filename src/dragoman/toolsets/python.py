"""Python functions as tools: ``module:function``, or ``module:object`` with several."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import importlib
import inspect
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolloop.offer import GatewayTool
from dragoman.toolsets.functions import Function, outcome_of
from dragoman.toolsets.interface import ToolsetState, failed
from dragoman.toolsets.settings import FunctionPath

_log = logging.getLogger(__name__)

_THREADS = 32
"""Calls of a toolset's plain functions that run at a time; one that hangs keeps its thread."""
_LONGEST = 2000  # characters of an error that the model is told


class PythonToolset:
    """``Toolset`` of functions. Raises ``ValueError`` if they cannot be found, or can be no tools.

    A module is looked for in the ``folder`` of the configuration and in the current one, behind what is installed.
    """

    def __init__(self, name: str, path: FunctionPath, folder: Path | None = None) -> None:
        self.name = name
        self.about = f"python {path}"
        self.state = ToolsetState("ready")
        self._functions: dict[str, Function] = {}
        for tool, function in _functions(path, folder).items():
            try:
                self._functions[tool] = Function(name, tool, function)
            except ValueError as error:
                raise ValueError(f"{path.module}: {tool}: {error}") from None
        self.tools: tuple[GatewayTool, ...] = tuple(one.spec for one in self._functions.values())
        self._threads = 0

    async def start(self) -> None:
        """See ``Toolset``."""

    async def settled(self) -> None:
        """See ``Toolset``."""

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """See ``Toolset``. A plain function runs in a thread, which a cancelled call leaves to itself."""
        found = self._functions.get(name)
        if found is None:
            return failed(f"There is no tool {name}.")
        try:
            bound = found.bound(arguments)
        except ValueError as error:
            return failed(f"The arguments do not fit: {error}")
        try:
            if inspect.iscoroutinefunction(found.function):
                return outcome_of(await bound())
            value = await self._in_thread(bound)
            return outcome_of(await value if inspect.isawaitable(value) else value)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            _log.info("the tool %s of %s failed: %s", name, self.name, type(error).__name__)
            return failed(f"The tool failed: {type(error).__name__}: {error}"[:_LONGEST])

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        """What the work gives. Not in a pool: its threads would keep the process from ending."""
        if self._threads >= _THREADS:
            raise RuntimeError(f"{_THREADS} calls are running already")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        context = contextvars.copy_context()

        def deliver(value: Any, error: BaseException | None) -> None:
            self._threads -= 1
            if not done.done():
                done.set_result((value, error))

        def run() -> None:
            value, error = None, None
            try:
                value = context.run(work)
            except BaseException as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(deliver, value, error)

        self._threads += 1
        threading.Thread(target=run, name=f"tools {self.name}", daemon=True).start()
        value, error = await done
        if error is not None:
            raise error
        return value

    async def aclose(self) -> None:
        """See ``Toolset``. Functions that run are left to themselves."""
        self.tools = ()
        self.state = ToolsetState("closed")


def _functions(path: FunctionPath, folder: Path | None) -> dict[str, Callable[..., Any]]:
    """The functions at this place, by name. Raises ``ValueError``."""
    for place in (os.getcwd(), *((str(folder.resolve()),) if folder is not None else ())):
        if place not in sys.path:
            sys.path.append(place)  # a program that is installed does not look there by itself
    try:
        found: Any = importlib.import_module(path.module)
    except Exception as error:
        raise ValueError(f"{path.module} cannot be imported: {type(error).__name__}: {error}") from None
    for name in path.attribute.split("."):
        if not hasattr(found, name):
            raise ValueError(f"{path.module} has no {path.attribute}")
        found = getattr(found, name)
    functions = _named(found)
    if not functions:
        raise ValueError(f"{path} holds no functions")
    return functions


def _named(found: Any) -> dict[str, Callable[..., Any]]:
    if inspect.isclass(found):
        raise ValueError(f"{found.__name__} is a class: give an object of it")
    if inspect.isroutine(found):
        return {found.__name__: found}
    if isinstance(found, Mapping):
        functions = {str(name): one for name, one in found.items()}
    elif isinstance(found, list | tuple):
        functions = {getattr(one, "__name__", ""): one for one in found}
    else:
        functions = {name: one for name in dir(found) if (one := _method(found, name)) is not None}
    for name, one in functions.items():
        if not name or not (inspect.isroutine(one) or isinstance(one, partial)):
            raise ValueError(f"{name or one!r} is no function with a name")
    return functions


def _method(found: Any, name: str) -> Any:
    """The public function of this name; properties are not looked into."""
    if name.startswith("_") or isinstance(inspect.getattr_static(found, name), property):
        return None
    one = getattr(found, name)
    return one if inspect.isroutine(one) else None
