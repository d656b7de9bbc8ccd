"""The same answers before judges who know nothing of this project, and streams that nobody has recorded."""

from __future__ import annotations

from typing import Any

import pytest

from tests import neighbour
from tests.asking import CLIENTS
from tests.corpus.crossing import cross
from tests.fixtures import fixtures

pytestmark = neighbour.needed

SEEDS = "0:200"
"""One composed stream for each seed and upstream, asked for by every client."""


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("upstream", CLIENTS)
def test_the_judges_find_nothing(upstream: str, client: str) -> None:
    judge = neighbour.judge("run_gateway")
    cases: dict[tuple[str, str], Any] = judge.load(neighbour.PLACE / "cases" / "streams")
    found = []
    for fixture in fixtures(upstream):
        case = cases.get((upstream, fixture.slug))
        if case is None or not fixture.fits(client):
            continue
        assert case.body == fixture.body, f"{fixture} is no longer what was recorded"
        answer = cross(fixture, client)
        kind = "text/event-stream" if answer.streamed else "application/json"
        wrong, violations = judge.weigh(case, client, answer.status, kind, answer.body, "")
        found += [f"{fixture}: {what}" for what in (*wrong, *violations, *judge.lost(case, client, answer.body))]
    assert found == []


@pytest.mark.parametrize("upstream", CLIENTS)
def test_composed_streams(upstream: str, capsys: pytest.CaptureFixture[str]) -> None:
    composer = neighbour.judge("run_compose")
    status = composer.main(
        ["--seeds", SEEDS, "--dialect", upstream, "--translate", "tests.corpus.composed:translate", "--per-kind", "1"]
    )
    assert status == 0, capsys.readouterr().out
