"""Writes what the pages take from the code: ``python -m tests.docs.generate``.

A section stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``. In a table some columns are
the code's, the others are written by hand and stay, row by row; a new row has them empty, which a test
reports.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec

from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.dialects.contract import Facts
from dragoman.gateway import settings
from dragoman.gateway.discovery import WELL_KNOWN
from dragoman.streaming.order import TRANSITIONS, StreamState
from dragoman.streaming.quirks import QUIRKS
from tests.docs.pages import ROOT

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
        before, found, rest = page.partition(f"<!-- generated: {self.name} -->\n")
        old, ended, after = rest.partition("<!-- end -->")
        if not found or not ended:
            raise ValueError(f"{self.page}: there is no place for {self.name}")
        return before + found + self._table(by_hand(old)) + ended + after

    def _table(self, known: dict[str, Row]) -> str:
        lines = [_line(self.head), _line(("---",) * len(self.head))]
        for row in self.rows():
            kept = known.get(row[0], ())[len(row) :]
            empty = ("",) * (len(self.head) - len(row) - len(kept))
            lines.append(_line((*row, *kept, *empty)))
        return "\n" + "".join(lines) + "\n"


def by_hand(table: str) -> dict[str, Row]:
    """The rows of a table by their first cell."""
    rows = (tuple(cell.strip() for cell in _CELLS.split(line)[1:-1]) for line in table.splitlines() if line[:1] == "|")
    return {row[0]: row for row in rows}


def _line(cells: Row) -> str:
    return "| " + " | ".join(cells) + " |\n"


def code(text: object) -> str:
    return f"`{text}`"


# ---- events


def events() -> Iterator[Row]:
    for kind in get_args(e.Event):
        said = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].replace("``", "`").split())
        members = ", ".join(code(name) for name in kind.__struct_fields__)
        yield code(kind.__name__), members, said


def transitions() -> Iterator[Row]:
    kinds = dict.fromkeys(kind for _, kind in TRANSITIONS)
    for kind in kinds:
        following = (TRANSITIONS.get((state, kind)) for state in StreamState)
        yield code(kind.__name__), *(after.value if after else "" for after in following)


# ---- quirks


def quirks(catalogue: dict[str, str]) -> Callable[[], Iterator[Row]]:
    return lambda: ((code(slug), sentence) for slug, sentence in sorted(catalogue.items()))


# ---- configuration


def keys(kind: type[msgspec.Struct], prefix: str = "") -> Iterator[Row]:
    """The keys of a part of the configuration, and their defaults."""
    for field in msgspec.structs.fields(kind):
        yield code(prefix + field.name), "required" if field.required else default(field.default)


def default(value: Any) -> str:
    if value is None or value is msgspec.NODEFAULT:
        return "–"
    if isinstance(value, bool):
        return code(str(value).lower())
    return code(f"{value:g}" if isinstance(value, float) else value)


def top_keys() -> Iterator[Row]:
    for field in msgspec.structs.fields(settings.Settings):
        plain = isinstance(field.default, settings.Address | bool)
        yield code(field.name), default(field.default) if plain else "–"


def upstream_keys() -> Iterator[Row]:
    for field in msgspec.structs.fields(settings.UpstreamSettings):
        yield code(field.name), "required" if field.required else "–"


def variables() -> Iterator[Row]:
    for variable, (name, dialect, url) in WELL_KNOWN.items():
        yield code(variable), code(name), dialect, code(url)


CONFIGURATION = DOCS / "configuration.md"

SECTIONS = [
    Section("events", DOCS / "events.md", ("event", "members", "meaning"), events),
    Section("transitions", DOCS / "events.md", ("", *(state.value for state in StreamState)), transitions),
    *(
        Section(f"quirks of {name}", DOCS / "quirks.md", ("slug", "what servers do", "what dragoman does", "seen in"), quirks(found))
        for name, found in {"streams": QUIRKS, **{name: dialects.get(name).quirks for name in dialects.names()}}.items()
    ),
    Section("keys", CONFIGURATION, ("key", "default", "meaning"), top_keys),
    Section("upstream keys", CONFIGURATION, ("key", "default", "meaning"), upstream_keys),
    Section("timeouts", CONFIGURATION, ("key", "default", "meaning"), lambda: keys(settings.Timeouts, "timeouts.")),
    Section("limits", CONFIGURATION, ("key", "default", "meaning"), lambda: keys(settings.Limits, "limits.")),
    Section("facts", CONFIGURATION, ("fact", "default", "values", "effect"), lambda: keys(Facts)),
    Section("variables", CONFIGURATION, ("variable", "upstream", "dialect", "base URL"), variables),
]


def main() -> None:
    for section in SECTIONS:
        page = section.page.read_text("utf-8")
        section.page.write_text(section.put_into(page), "utf-8")


if __name__ == "__main__":
    main()
