"""``dragoman check``: what a strict client would reject, and which quirks would be repaired."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.commands import pipes
from dragoman.commands.translate import carried
from dragoman.dialects.contract import Violation
from dragoman.streaming.answer import DecodeContext
from dragoman.streaming.body import StreamLimits
from dragoman.streaming.ids import Ids
from dragoman.streaming.quirks import QUIRKS
from dragoman.turn import UpstreamTurn

_TOLD = 3
"""Places that are shown of each rule."""
_FRAME = (e.ResponseStart, e.UsageUpdate, e.ResponseEnd, e.ResponseError)
"""Events that an answer has that says nothing."""


def check(dialect: str, file: str, request: str | None) -> int:
    """Prints what it finds; returns the exit status. Raises ``UsageError``.

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
    _name_violations(violations, dialects.get(dialect).rules)
    if other := _other_dialect(dialect, bytes(body)):
        print(f"this looks like {other}: dragoman check {other}")
    if exchange.error is not None:
        print(f"failure {exchange.error.kind}: {exchange.error.message}")
    if not (violations or exchange.failed or seen):
        print("clean")
    return pipes.VIOLATIONS if violations or exchange.failed else pipes.CLEAN


def _name_violations(found: list[Violation], rules: Mapping[str, str]) -> None:
    """Each rule that was broken and what goes wrong then, with the first places."""
    places: dict[str, list[Violation]] = {}
    for violation in found:
        places.setdefault(violation.rule, []).append(violation)
    for rule, broken in places.items():
        words = f": {rules[rule]}" if rule in rules else ""
        print(f"violation {rule}{words}")
        for one in broken[:_TOLD]:
            print(f"  {one.where}: {one.message}")
        if len(broken) > _TOLD:
            print(f"  … and {len(broken) - _TOLD} more")


def _other_dialect(dialect: str, body: bytes) -> str | None:
    """The one other dialect in which this body says something, if it says nothing in this one."""
    if _says_something(dialect, body):
        return None
    fitting = [name for name in dialects.names() if name != dialect and _says_something(name, body)]
    return fitting[0] if len(fitting) == 1 else None


def _says_something(dialect: str, body: bytes) -> bool:
    turn = UpstreamTurn(dialects.get(dialect), DecodeContext(origin=dialect, ids=Ids(dialect)), StreamLimits(), 0, ())
    events = [*turn.receive_data(body), *turn.receive_eof()]
    return any(not isinstance(event, _FRAME) for event in events)


def _name_quirks(found: dict[str, int], seen: set[str], catalogue: dict[str, str]) -> None:
    for slug in found:
        if slug not in seen:
            seen.add(slug)
            print(f"quirk {slug}: {catalogue[slug]}", flush=True)
