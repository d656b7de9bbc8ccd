"""The table of compatibility, and the results that it is made of."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.clients import install, table
from tests.clients.results import Results, Row, load, read, save, summed_up
from tests.clients.stage import Case, Outcome
from tests.clients.table import PAGE, SCENARIOS, rendered
from tests.clients.test_programs import PROGRAMS

PLACES = "".join(f"<!-- results: {name} -->\n<!-- end -->\n" for name in ("clients", "scenarios", "failures"))
ORDER = ["py-one", "cli-two", "cli-three"]


def outcome(
    client: str, upstream: str = "chat", scenario: str = "clean", *, ok: bool = True, **more: object
) -> Outcome:
    case = Case(client, upstream, scenario, more.pop("stream", True) is True)
    return Outcome(case=case, ok=ok, version="1.0", **more)  # type: ignore[arg-type]


def test_the_page_is_that_of_the_last_results() -> None:
    """``python -m tests.clients.table`` writes it anew."""
    page = PAGE.read_text("utf-8")
    assert rendered(load(), page) == page


def test_the_last_results_are_those_of_a_full_run() -> None:
    results = load()
    assert len(results.versions) == 60
    for upstream in ("chat", "responses", "messages", "gemini"):
        row = results.row(upstream, "clean")
        assert row is not None
        assert row.clients == set(results.versions)
    assert set(PROGRAMS) <= set(results.versions)


def test_the_last_results_are_kept_as_they_are_written(tmp_path: Path) -> None:
    save(load(), tmp_path / "again.json")
    assert load(tmp_path / "again.json") == load()


def test_of_two_runs_the_last_counts() -> None:
    early, late = outcome("py-one", ok=False, error="timed out"), outcome("py-one")
    lines = [msgspec.json.encode(one) for one in (early, outcome("cli-two"), late)]
    assert summed_up(read(lines), ORDER).rows == [Row(upstream="chat", scenario="clean", ok=["py-one", "cli-two"])]


def test_what_became_of_a_broken_answer() -> None:
    words = "502: the upstream sent a call without a name"
    results = summed_up(
        [
            outcome("py-one", scenario="bad-no-name", ok=False, error=words),
            outcome("cli-two", scenario="bad-no-name", ok=False, error=words, calls=[{}, {}]),
            outcome("cli-three", scenario="bad-no-name", ok=False, error="no error\nraised"),
        ],
        ORDER,
    )
    (row,) = results.rows
    assert (row.ok, row.told) == ([], ["py-one"])
    assert row.failed == {"cli-two": words, "cli-three": "no error raised"}


def test_the_words_of_the_gateway_are_no_excuse_for_a_good_answer() -> None:
    (row,) = summed_up([outcome("py-one", ok=False, error="the upstream did it")], ORDER).rows
    assert row.failed == {"py-one": "the upstream did it"}


def test_rows_and_cells() -> None:
    results = summed_up(
        [
            outcome("py-one"),
            outcome("py-one", stream=False),
            outcome("py-one", scenario="late-name", ok=False, error="late"),
            outcome("cli-two", "gemini", ok=False, error="bad"),
        ],
        ORDER,
    )
    page = rendered(results, PLACES)
    assert "| `py-one` | 1.0 | ok, 2 of 3 | – | – | – |" in page
    assert "| `cli-two` | 1.0 | – | fails, 0 of 1 | – | – |" in page
    assert f"| chat | `clean`, not streamed | {SCENARIOS['clean']} | 1 | 1 |  |  |" in page
    assert f"| chat | `late-name` | {SCENARIOS['late-name']} | 1 | 0 |  | 1 |" in page
    assert "- chat, `late-name`, `py-one`, not explained: late" in page
    assert rendered(results, page) == page


def test_reasons_that_are_known() -> None:
    names = ["a", "b", "c", "d"]
    failed = [outcome(name, "gemini", "bad-no-args", ok=False, error="no city") for name in names]
    one = outcome("py-instructor-chat", scenario="parallel", ok=False, error="one of two")
    page = rendered(summed_up([*failed, one], [*names, "py-instructor-chat"]), PLACES)
    assert "- gemini, `bad-no-args`, 4 clients: the call goes on as it came" in page
    assert "- chat, `parallel`, `py-instructor-chat`: takes one call" in page


def test_every_failure_is_explained() -> None:
    failures = [(row.scenario, client) for row in load().rows for client in row.failed]
    assert [failure for failure in failures if table.reason(*failure) is None] == []


def test_nothing_fails() -> None:
    assert "\nNothing.\n" in rendered(Results(), PLACES)


def test_a_page_needs_its_places() -> None:
    with pytest.raises(ValueError, match="no place for clients"):
        rendered(Results(), "")


def test_pins_name_versions_and_no_place() -> None:
    for folder in install.PINS.iterdir():
        lock = (folder / "package-lock.json").read_text()
        assert '"resolved"' not in lock
        wanted = msgspec.json.decode((folder / "package.json").read_bytes())["dependencies"]
        locked = msgspec.json.decode(lock.encode())["packages"]
        for name, version in wanted.items():
            found = locked[f"node_modules/{name}"]
            assert found["version"] == version
            assert found["integrity"].startswith("sha512-")
