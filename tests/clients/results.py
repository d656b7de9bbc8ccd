"""What came of the last full run, as it is kept in ``docs/compatibility.json``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from dragoman import dialects
from tests.clients.stage import MODEL, Case, Outcome
from tests.docs.pages import ROOT

FILE = ROOT / "docs" / "compatibility.json"


class Row(msgspec.Struct, kw_only=True, order=True, omit_defaults=True):
    """All clients on one upstream in one scenario: those that ended well, those that were told what the upstream
    did, and those that failed, with their words."""

    upstream: str
    scenario: str
    stream: bool = True
    ok: list[str] = []
    told: list[str] = []
    failed: dict[str, str] = {}

    @property
    def clients(self) -> set[str]:
        return {*self.ok, *self.told, *self.failed}


class Results(msgspec.Struct, kw_only=True):
    """Versions of the clients, and the rows."""

    versions: dict[str, str] = {}
    rows: list[Row] = []

    def row(self, upstream: str, scenario: str, stream: bool = True) -> Row | None:
        for row in self.rows:
            if (row.upstream, row.scenario, row.stream) == (upstream, scenario, stream):
                return row
        return None


def read(lines: Iterable[bytes]) -> list[Outcome]:
    """The outcomes in JSON lines; of several runs of a case the last counts."""
    found: dict[Case, Outcome] = {}
    for line in lines:
        outcome = msgspec.json.decode(line, type=Outcome)
        found[outcome.case] = outcome
    return [outcome for case, outcome in found.items() if case.model == MODEL]


def summed_up(outcomes: Iterable[Outcome], order: list[str]) -> Results:
    """The outcomes in the form in which they are kept; ``order`` is that of the clients."""
    results = Results()
    rows: dict[tuple[str, str, bool], Row] = {}
    for outcome in sorted(outcomes, key=lambda outcome: order.index(outcome.case.client)):
        case = outcome.case
        key = (case.upstream, case.scenario, case.stream)
        row = rows.setdefault(key, Row(upstream=case.upstream, scenario=case.scenario, stream=case.stream))
        results.versions[case.client] = outcome.version
        if outcome.ok:
            row.ok.append(case.client)
        elif outcome.told:
            row.told.append(case.client)
        else:
            row.failed[case.client] = " ".join(outcome.error.split())[:200]
    results.rows = sorted(
        rows.values(),
        key=lambda row: (dialects.names().index(row.upstream), row.scenario != "clean", not row.stream, row.scenario),
    )
    return results


def load(file: Path = FILE) -> Results:
    return msgspec.json.decode(file.read_bytes(), type=Results)


def save(results: Results, file: Path = FILE) -> None:
    """One line for each row, so that a change can be seen."""
    rows = b",\n".join(msgspec.json.encode(row) for row in results.rows)
    file.write_bytes(b'{"versions":%b,\n"rows":[\n%b\n]}\n' % (msgspec.json.encode(results.versions), rows))
