"""The pages of this project, and what in them can be tested.

A comment in front of a fenced block says what the block is: ``<!-- runs -->`` (Python, or a console
with its output), ``<!-- prints -->`` (what the Python block before it prints), ``<!-- configuration -->``,
``<!-- file NAME -->`` (a file that the next block that runs finds there), ``<!-- given NAME -->`` (the lines
that start this agent by hand).
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
DOCS_OF_AGENTS = ROOT / "docs" / "agents"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_FENCE = re.compile(
    r"^(?:<!-- (?P<mark>[a-z]+)(?: (?P<name>[\w.-]+))? -->\n)?```(?P<language>[a-z]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (?P<title>.+)$", re.MULTILINE)
_TABLE = re.compile(r"^\|.*\n\|(?: -+ \|)+\n(?:\|.*\n)*", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")


class Table(msgspec.Struct, frozen=True):
    """A table: its head, and its rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Block(msgspec.Struct, frozen=True, eq=False):
    """A fenced block: its mark and language ("" if it has none), its text, the line where it begins."""

    page: Path
    line: int
    mark: str
    language: str
    text: str
    name: str = ""
    """What the mark adds."""
    prints: str | None = None
    """The text of the block after it, if that is marked as what it prints."""
    files: tuple[tuple[str, str], ...] = ()
    """The names and texts of the files before it."""

    def __repr__(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    """The page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(mark: str, language: str) -> list[Block]:
    """All blocks of this mark and language."""
    return [block for page in PAGES for block in _blocks(page) if (block.mark, block.language) == (mark, language)]


def _blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    found: list[Block] = []
    files: list[tuple[str, str]] = []
    for fence in _FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("language")) + 1
        block = Block(page, line, fence["mark"] or "", fence["language"], fence["text"], fence["name"] or "")
        if block.mark == "file":
            files.append((fence["name"], block.text))
        elif block.mark == "runs":
            block = msgspec.structs.replace(block, files=tuple(files))
            files = []
        if block.mark == "prints":
            found[-1] = msgspec.structs.replace(found[-1], prints=block.text)
        else:
            found.append(block)
    return found


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))


def links(page: Path) -> list[str]:
    """The targets of the page's links."""
    return [link["target"] for link in _LINK.finditer(_CODE.sub("``", prose(page)))]


def tables(text: str) -> list[Table]:
    """The tables in a text, cell by cell."""
    found = (list(map(_cells, match[0].splitlines())) for match in _TABLE.finditer(text))
    return [Table(head, tuple(rows)) for head, _, *rows in found]


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def sections(page: Path, title: str) -> list[str]:
    """What stands under the headings with this title, up to the next heading."""
    _, *rest = re.split(rf"^#+ {re.escape(title)}\n", page.read_text("utf-8"), flags=re.MULTILINE)
    return [re.split(r"^#", text, maxsplit=1, flags=re.MULTILINE)[0] for text in rest]


def anchors(page: Path) -> set[str]:
    """The names under which the page's headings can be linked, spelled as GitHub does it."""
    titles = (heading["title"].lower() for heading in _HEADING.finditer(prose(page)))
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in titles}


def matches(shown: str, real: str) -> bool:
    """Whether a page shows this output: ``…`` stands for anything, alone in a line for any lines.

    Ids and times that differ from run to run are not compared.
    """
    pattern = "".join(
        "(?:[^\n]*\n)*?" if line.strip() == "…" else _pattern(line) for line in _plain(shown).splitlines()
    )
    return re.fullmatch(pattern, _plain(real)) is not None


def _pattern(line: str) -> str:
    return "[^\n]*?".join(map(re.escape, line.split("…"))) + "\n"


def _plain(text: str) -> str:
    text = re.sub("[0-9a-f]{16,}", "ID", text)
    text = re.sub(r'("created(?:_at)?":)\d+', r"\1 0", text)
    return text.rstrip("\n") + "\n"
