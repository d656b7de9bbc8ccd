"""The table of losses is what the code does, and nothing is lost without a word."""

from __future__ import annotations

import pytest

from dragoman.exceptions import InvalidRequest
from dragoman.testing import validate
from tests.asking import CLIENTS
from tests.docs.generate_losses import CARRIED, GROUPS, PAGE, SILENT, Fate, fate, page, sent
from tests.docs.probes import Probe

PROBES = [probe for probes in GROUPS.values() for probe in probes]
WAYS = [pytest.param(probe, client, id=f"{probe.name} from {client}") for probe in PROBES for client in probe.forms]
CHANGED_WITHIN = {
    ("reasoning without a proof", "messages"): "thinking without a signature",
    ("system text in mid-conversation", "messages"): (
        "the upstream takes no system turns in mid-conversation: marked text of the user's turn"
    ),
}
"""What goes out of a client's own body, since no upstream takes it."""

every_way = pytest.mark.parametrize(("probe", "client"), WAYS)


def test_the_page_is_up_to_date() -> None:
    """``python -m tests.docs.generate_losses`` writes it anew."""
    assert PAGE.read_text("utf-8") == page()


@every_way
def test_nothing_is_lost_in_silence(probe: Probe, client: str) -> None:
    for upstream in CLIENTS:
        assert fate(probe, client, upstream).word != SILENT, upstream


@every_way
def test_within_a_dialect_everything_is_carried(probe: Probe, client: str) -> None:
    reason = CHANGED_WITHIN.get((probe.name, client))
    found = fate(probe, client, client)
    assert found == Fate(CARRIED) if reason is None else reason in found.reasons


@every_way
def test_a_strict_upstream_takes_what_crosses(probe: Probe, client: str) -> None:
    for upstream in CLIENTS:
        try:
            made = sent(client, upstream, probe.forms[client])
        except InvalidRequest:
            continue
        if upstream != client:
            assert validate(upstream, made.body, headers=made.headers) == [], upstream


def test_a_line_for_each_probe() -> None:
    lines = [line for line in page().splitlines() if line.startswith("| ")]
    assert len([line for line in lines if not line.startswith("| ---")]) == len(WAYS) + len(GROUPS) * len(CLIENTS)
    assert len({probe.name for probe in PROBES}) == len(PROBES)
