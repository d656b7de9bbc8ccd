"""The recorded requests of real agents, on their way to every upstream, and what each loses.

    python -m tests.roundtrips.captures

writes ``losses.json`` anew: one line for each capture and upstream. A line that changes has to be right: what
it names really has no form there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman import dialects
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.translate import Exchange
from tests.asking import CLIENTS
from tests.corpus.crossing import NOW
from tests.neighbour import PLACE

JSON = dict[str, Any]

FOLDER = PLACE / "clients" / "captures"
LOSSES = Path(__file__).parent / "losses.json"


class Capture(msgspec.Struct, frozen=True, eq=False):
    """A request as an agent sent it."""

    name: str
    dialect: str
    path: str
    headers: dict[str, str]
    body: JSON

    def __repr__(self) -> str:
        return self.name

    def sent(self, upstream: str, facts: Facts | None = None) -> UpstreamRequest:
        """What an upstream of this dialect gets. Raises ``InvalidRequest``."""
        exchange = Exchange(dialects.get(self.dialect), dialects.get(upstream), seed="capture", now=NOW, facts=facts)
        if "/models/" not in self.path:
            return exchange.request(self.body, "m")
        model, _, verb = self.path.partition("/models/")[2].partition(":")
        return exchange.request(self.body, "m", path_model=model, path_stream="stream" in verb)

    def losses(self, upstream: str) -> list[str]:
        """What it loses on its way there."""
        return [f"{loss.path}: {loss.reason}" for loss in self.sent(upstream).losses]


def captures() -> list[Capture]:
    """All of them; none where their folder is missing."""
    return [_read(path) for path in sorted(FOLDER.glob("*.json"))]


def _read(path: Path) -> Capture:
    found = json.loads(path.read_text("utf-8"))
    return Capture(path.stem, found["dialect"], found["path"], found["headers"], found["body"])


def listed() -> dict[str, list[str]]:
    """The losses by capture and upstream, as they are now."""
    return {f"{capture} to {upstream}": capture.losses(upstream) for capture in captures() for upstream in CLIENTS}


def _lines() -> Iterator[str]:
    for name, losses in listed().items():
        yield f"{json.dumps(name)}: {json.dumps(losses, ensure_ascii=False)}"


def main() -> None:
    LOSSES.write_text("{\n" + ",\n".join(_lines()) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
