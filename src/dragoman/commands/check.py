"""``dragoman check``: what a strict client would reject, and which quirks would be repaired."""

from __future__ import annotations

from dragoman import dialects
from dragoman.commands import pipes
from dragoman.commands.translate import carried
from dragoman.streaming.quirks import QUIRKS


def check(dialect: str, file: str, request: str | None) -> int:
    """Prints one line for each finding; returns the exit status. Raises ``UsageError``.

    Quirks are named as they appear, violations once the whole body was seen.
    """
    catalogue = QUIRKS | dialects.get(dialect).quirks
    seen: set[str] = set()
    body = bytearray()
    for exchange, data in carried(dialect, dialect, file, request):
        body += data
        exchange.data_to_send()
        _name_quirks(exchange.quirks, seen, catalogue)
    for what, count in exchange.dropped.items():
        print(f"loss {what} ({count})")
    violations = dialects.get(dialect).check(bytes(body))
    for violation in violations:
        print(f"violation {violation}")
    if exchange.error is not None:
        print(f"failure {exchange.error.kind}: {exchange.error.message}")
    if not (violations or exchange.failed or seen):
        print("clean")
    return pipes.VIOLATIONS if violations or exchange.failed else pipes.CLEAN


def _name_quirks(found: dict[str, int], seen: set[str], catalogue: dict[str, str]) -> None:
    for slug in found:
        if slug not in seen:
            seen.add(slug)
            print(f"quirk {slug}: {catalogue[slug]}", flush=True)
