"""Tables, for the terminal and for ``docs/performance.md``."""

from __future__ import annotations

MISSED = " (!)"
"""Behind a figure that misses its target."""


class Table:
    """Rows of cells; the first column names the row."""

    def __init__(self, title: str, head: list[str]) -> None:
        self.title = title
        self.rows = [head]

    def add(self, *cells: str) -> None:
        self.rows.append(list(cells))

    @staticmethod
    def mark(figure: float, met: bool, form: str) -> str:
        return f"{figure:{form}}{'' if met else MISSED}"

    def plain(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        lines = (
            "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in enumerate(row))
            for row in (list(zip(cells, widths, strict=True)) for cells in self.rows)
        )
        return "\n".join((self.title, *lines))

    def markdown(self) -> str:
        head, *rows = (f"| {' | '.join(cells)} |" for cells in self.rows)
        rule = "| --- |" + " ---: |" * (len(self.rows[0]) - 1)
        return "\n".join((f"### {self.title}", "", head, rule, *rows))
