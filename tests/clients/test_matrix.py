"""Which runs a full run has, and what is said of one that fails."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from dragoman import dialects
from tests.clients import table
from tests.clients.matrix import clients, controlled, scenarios
from tests.clients.stage import Case, Outcome, Stage, needed

BAD = Outcome(case=Case("py-one", "chat", "late-name"), ok=False, error="no call")


class Alone:
    """A stage on which every client, without the gateway, comes to this outcome."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def run(self, case: Case, *, direct: bool) -> Outcome:
        assert (case.scenario, direct) == ("clean", True)
        return self._outcome


def control(**without: Any) -> Outcome:
    alone = Alone(msgspec.structs.replace(BAD, **without))
    return controlled(cast(Stage, alone), BAD)


def test_a_failure_is_the_gateways_if_the_client_works_without_it() -> None:
    assert control(ok=True) == BAD


def test_a_failure_of_the_client_itself_is_told_as_such() -> None:
    assert control(error="no network").error == "fails without the gateway too (no network): no call"


def test_two_calls_are_expected_of_two() -> None:
    counts = {name: Case("py-one", "chat", name).calls for name in ("clean", "parallel", "interleaved", "late-name")}
    assert counts == {"clean": 1, "parallel": 2, "interleaved": 2, "late-name": 1}
    assert Case("py-one", "chat", "parallel-interleaved").calls == 2


@needed
def test_groups_of_clients() -> None:
    assert clients(["cli-gemini", "@messages"])[0] == "py-anthropic"
    assert "cli-gemini" in clients(["cli-gemini", "@messages"])
    assert len(clients(["@all"])) == len({*clients(["@all"])}) == 60


@needed
def test_every_scenario_has_its_words() -> None:
    for upstream in dialects.names():
        names = scenarios(upstream)
        assert names[0] == "clean"
        assert {*names} <= {*table.SCENARIOS}
