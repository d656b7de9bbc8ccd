"""The wire dialects, found by their folders.

A new dialect is a new folder here that exports ``DIALECT``, or a call of ``register``.
"""

from __future__ import annotations

import importlib
import pkgutil

from dragoman.dialects.contract import Dialect

_registered: dict[str, Dialect] = {}


def register(dialect: Dialect) -> None:
    """Adds a dialect from outside this package; raises ``ValueError`` for a name that is taken."""
    if dialect.name in names():
        raise ValueError(f"there is a dialect {dialect.name!r} already")
    _registered[dialect.name] = dialect


def names() -> tuple[str, ...]:
    """The names of all dialects, in the order of the alphabet."""
    folders = {module.name for module in pkgutil.iter_modules(__path__) if module.ispkg}
    return tuple(sorted(folders | set(_registered)))


def get(name: str) -> Dialect:
    """The dialect of that name; raises ``KeyError`` if there is none."""
    if name not in _registered:
        if name not in names():
            raise KeyError(name)
        _registered[name] = importlib.import_module(f"{__name__}.{name}").DIALECT
    return _registered[name]
