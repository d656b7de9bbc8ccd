"""Writes ``docs/losses.md``: ``python -m tests.docs.generate_losses``.

Each probe is really sent from each client dialect to each upstream dialect, and compared with what the
plain request gives there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

from dragoman import dialects
from dragoman.canonical.request import Loss
from dragoman.dialects.contract import UpstreamRequest
from dragoman.exceptions import InvalidRequest
from dragoman.translate import Exchange
from tests.asking import CLIENTS
from tests.docs.pages import ROOT
from tests.docs.probes import Change, Probe, asked, called, said, settings, tools

PAGE = ROOT / "docs" / "losses.md"

CARRIED, CHANGED, LOST, REFUSED, DEFAULT, SILENT = "carried", "changed", "lost", "refused", "default", "silent"
"""``SILENT``: nothing of it is in the request, and nobody is told. There is none of that."""
DEFAULTS = {
    ("thinking: the model's choice", "chat"),
    ("thinking: the model's choice", "gemini"),
    ("thinking is shown", "chat"),
}
"""What upstreams of a dialect do by themselves, so that nothing has to be said."""

HEAD = """# What becomes of each thing that a client asks for

Written by `python -m tests.docs.generate_losses`, which sends a request for every line through every pair of dialects
and looks at what reaches the upstream. An upstream with other [facts](configuration.md#facts-about-an-upstream)
than the defaults may take more or less.

- **carried**: it is in the upstream's request, in the words of its dialect.
- **changed**: something stands for it, and the change is reported.
- **lost**: it is left out, which is reported.
- **default**: nothing has to be said, upstreams of that dialect do it by themselves.
- **refused**: a request that wants it is a 400.

What is reported is in `x-dragoman-loss`, in the access log, and with `strict` a 400: see
[requests](requests.md#what-does-not-cross). Upstreams of the client's own dialect get the client's own body.
"""


GROUPS: dict[str, list[Probe]] = {
    "What is said": said.TURNS,
    "Calls and reasoning of earlier turns": called.CALLS,
    "Tools": tools.TOOLS,
    "Settings": settings.SETTINGS,
}
_PLACE = re.compile(r"^[\w.\[\]]+: ")
"""A refusal names the member first."""


class Fate(msgspec.Struct, frozen=True):
    """What becomes of a probe, and why."""

    word: str
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.word}: {'; '.join(self.reasons)}" if self.reasons else self.word


def fate(probe: Probe, client: str, upstream: str) -> Fate:
    """What becomes of it on the way from this client to this upstream."""
    plain = sent(client, upstream, probe.without.get(client))
    try:
        made = sent(client, upstream, probe.forms[client])
    except InvalidRequest as refusal:
        return Fate(REFUSED, (_PLACE.sub("", refusal.error.message).rstrip("."),))
    reasons = dict.fromkeys(_reason(loss) for loss in made.losses if loss not in plain.losses)
    same = (made.body, made.path) == (plain.body, plain.path)
    if reasons:
        return Fate(LOST if same else CHANGED, tuple(reasons))
    if same:
        return Fate(DEFAULT if (probe.name, upstream) in DEFAULTS else SILENT)
    return Fate(CARRIED)


def _reason(loss: Loss) -> str:
    """The reason, and the member of a part or a tool that it is about."""
    place, _, name = loss.path.rpartition(".")
    return f"`{name}`: {loss.reason}" if place.endswith("]") and name.isidentifier() else loss.reason


def sent(client: str, upstream: str, change: Change | None) -> UpstreamRequest:
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed="probe", now=0)
    body = json.loads(json.dumps(asked(client, change)))
    if client != "gemini":
        return exchange.request(body, "m")
    return exchange.request(body, "m", path_model="m", path_stream=False)


def fates() -> Iterator[tuple[Probe, str, str, Fate]]:
    """Every probe, through every pair of dialects."""
    for probe in (probe for probes in GROUPS.values() for probe in probes):
        for client in probe.forms:
            for upstream in CLIENTS:
                yield probe, client, upstream, fate(probe, client, upstream)


def page() -> str:
    """The whole page."""
    return HEAD + "".join(line for client in CLIENTS for line in _chapter(client))


def _chapter(client: str) -> Iterator[str]:
    others = [upstream for upstream in CLIENTS if upstream != client]
    yield f"\n## {client} clients\n"
    for title, probes in GROUPS.items():
        yield "\n"
        yield _row(title, *(f"to {upstream}" for upstream in others))
        yield _row(*["---"] * (len(others) + 1))
        for probe in probes:
            if client in probe.forms:
                yield _row(probe.name, *(str(fate(probe, client, upstream)) for upstream in others))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


def main() -> None:
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
