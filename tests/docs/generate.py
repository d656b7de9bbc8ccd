"""Writes what the pages take from the code: ``python -m tests.docs.generate``.

A section stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``. In a table some columns are
the code's, the others are written by hand and stay, row by row; a new row has them empty, which a test
reports.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec

from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.dialects.contract import Facts
from dragoman.gateway import settings
from dragoman.gateway.discovery import WELL_KNOWN
from dragoman.streaming.order import TRANSITIONS, StreamState
from dragoman.streaming.quirks import QUIRKS
from tests.docs import schema
from tests.docs.pages import ROOT
from tests.fuzz.targets import TARGETS

DOCS = ROOT / "docs"
_CELLS = re.compile(r"(?<!\\)\|")

Row = tuple[str, ...]


class Section(msgspec.Struct, frozen=True):
    """A table in a page: its head, its rows from the code, and how many of their columns are the code's."""

    name: str
    page: Path
    head: Row
    rows: Callable[[], Iterator[Row]]

    def put_into(self, page: str) -> str:
        """The page with this section as the code has it now."""
        before, _, after = self._parted(page)
        known = self.by_hand(page)
        lines = [_line(self.head), _line(("---",) * len(self.head))]
        for row in self.rows():
            kept = known.get(row[0], ())[len(row) :]
            empty = ("",) * (len(self.head) - len(row) - len(kept))
            lines.append(_line((*row, *kept, *empty)))
        return before + "\n" + "".join(lines) + "\n" + after

    def by_hand(self, page: str) -> dict[str, Row]:
        """The rows as they stand in the page, by their first cell."""
        lines = [line for line in self._parted(page)[1].splitlines() if line[:1] == "|"]
        rows = [tuple(cell.strip() for cell in _CELLS.split(line)[1:-1]) for line in lines]
        return {row[0]: row for row in rows}

    def _parted(self, page: str) -> tuple[str, str, str]:
        """The page up to this section's table, the table, and the rest."""
        head, found, rest = page.partition(f"<!-- generated: {self.name} -->\n")
        table, ended, after = rest.partition("<!-- end -->")
        if not found or not ended:
            raise ValueError(f"{self.page}: there is no place for {self.name}")
        return head + found, table, ended + after


def _line(cells: Row) -> str:
    return "| " + " | ".join(cells) + " |\n"


def code(text: object) -> str:
    return f"`{text}`"


# ---- events


def events() -> Iterator[Row]:
    for kind in get_args(e.Event):
        said = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].replace("``", "`").split())
        said = re.sub(r" \(design/[^)]*\)", "", said)
        members = ", ".join(code(name) for name in kind.__struct_fields__)
        yield code(kind.__name__), members, said


def transitions() -> Iterator[Row]:
    kinds = dict.fromkeys(kind for _, kind in TRANSITIONS)
    for kind in kinds:
        following = (TRANSITIONS.get((state, kind)) for state in StreamState)
        yield code(kind.__name__), *(after.value if after else "" for after in following)


# ---- quirks

QUIRK_COLUMNS = ("slug", "what servers do", "what dragoman does", "seen in")


def quirks(catalogue: dict[str, str]) -> Callable[[], Iterator[Row]]:
    return lambda: ((code(slug), sentence) for slug, sentence in sorted(catalogue.items()))


# ---- rules

RULE_COLUMNS = ("rule", "what it says, or what goes wrong")


def rules(dialect: str) -> Callable[[], Iterator[Row]]:
    return lambda: ((code(name), words) for name, words in dialects.get(dialect).rules.items())


# ---- configuration

_WHOLE = (settings.UpstreamTimeouts, settings.Accepts)
"""Parts whose keys have rows elsewhere."""


def keys(part: str) -> Callable[[], Iterator[Row]]:
    """The keys of one part of the configuration, and their defaults; of "", those that are in no part."""
    fields = msgspec.structs.fields(settings.Settings)
    own = [field for field in fields if (field.name == part if part else not _inner(field))]
    return lambda: (row for field in own for row in _keys(field.name, field))


def parts() -> list[str]:
    """The keys that hold further keys."""
    return [field.name for field in msgspec.structs.fields(settings.Settings) if _inner(field)]


def _inner(field: Any) -> tuple[type[msgspec.Struct], str] | None:
    """The kind of what a key holds, if that has keys of its own, and what stands between."""
    kind, between = field.type, "."
    if get_origin(kind) is dict:
        kind, between = get_args(kind)[1], ".NAME."
    elif get_origin(kind) is UnionType:
        kind = get_args(kind)[0]
    is_part = isinstance(kind, type) and issubclass(kind, msgspec.Struct) and not hasattr(kind, "read")
    return (kind, between) if is_part and kind not in _WHOLE else None


def _keys(place: str, field: Any) -> Iterator[Row]:
    if inner := _inner(field):
        for below in msgspec.structs.fields(inner[0]):
            yield from _keys(f"{place}{inner[1]}{below.name}", below)
    elif field.required:
        yield code(place), "required"
    else:
        yield (
            code(place),
            default(field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()),
        )


def facts() -> Iterator[Row]:
    for field in msgspec.structs.fields(Facts):
        yield code(field.name), default(field.default)


def default(value: Any) -> str:
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, list) and value:
        return code(json.dumps(value))
    shown = isinstance(value, str | int | float | settings.Address)
    return code(f"{value:g}" if isinstance(value, float) else value) if shown else "–"


def variables() -> Iterator[Row]:
    for variable, (name, dialect, url) in WELL_KNOWN.items():
        yield code(variable), code(name), dialect, code(url)


CONFIGURATION = DOCS / "configuration.md"


def targets() -> Iterator[Row]:
    for target in TARGETS.values():
        yield f"`{target.name}`", target.promise


SECTIONS = [
    Section("events", DOCS / "events.md", ("event", "members", "meaning"), events),
    Section("transitions", DOCS / "events.md", ("", *(state.value for state in StreamState)), transitions),
    *(
        Section(f"quirks of {name}", DOCS / "quirks.md", QUIRK_COLUMNS, quirks(found))
        for name, found in {"streams": QUIRKS, **{name: dialects.get(name).quirks for name in dialects.names()}}.items()
    ),
    *(Section(f"rules of {name}", DOCS / "check.md", RULE_COLUMNS, rules(name)) for name in dialects.names()),
    *(Section(part or "keys", CONFIGURATION, ("key", "default", "meaning"), keys(part)) for part in ("", *parts())),
    Section("facts", CONFIGURATION, ("fact", "default", "values", "effect"), facts),
    Section("fuzz", DOCS / "guarantees.md", ("target", "promise"), targets),
    Section("variables", CONFIGURATION, ("variable", "upstream", "dialect", "base URL"), variables),
]


def words_of_keys() -> dict[str, str]:
    """What the page of the configuration says of each key, and of each fact."""
    page = CONFIGURATION.read_text("utf-8")
    rows = [row for section in SECTIONS if section.page == CONFIGURATION for row in section.by_hand(page).values()]
    return {row[0].strip("`"): row[-1] for row in rows}


def main() -> None:
    for section in SECTIONS:
        page = section.page.read_text("utf-8")
        section.page.write_text(section.put_into(page), "utf-8")
    schema.FILE.write_text(schema.written(words_of_keys()), "utf-8")


if __name__ == "__main__":
    main()
