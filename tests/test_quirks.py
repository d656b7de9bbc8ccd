"""One slug ties together the place in the source that notes it, the catalogue, its row in the docs, and a fixture."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import dialects
from dragoman.streaming.quirks import QUIRKS
from dragoman.translate import Exchange
from dragoman.upstreams.demo import MODELS
from dragoman.upstreams.demo.answer import answer
from tests.asking import CLIENTS
from tests.corpus.crossing import whole_read
from tests.fixtures import fixtures
from tests.sources import sources

PAGE = Path(__file__).parents[1] / "docs" / "quirks.md"
OWN = {name: dialects.get(name).quirks for name in dialects.names()}
ALL = sorted({*QUIRKS, *(slug for quirks in OWN.values() for slug in quirks)})
NOTING = {"quirk", "_quirk", "_note", "note"}
"""The names of what is called with a slug."""


def noted() -> Iterator[tuple[str, str]]:
    """Each slug that the source notes, and where."""
    for source in sources():
        if not source.module.startswith(("dragoman.streaming", "dragoman.dialects")):
            continue
        for node in ast.walk(source.tree):
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and name in NOTING and node.args:
                for inner in _outcomes(node.args[0]):
                    yield inner, f"{source}:{node.lineno}"


def _outcomes(node: ast.expr) -> list[str]:
    """The texts that an expression can be."""
    if isinstance(node, ast.IfExp):
        return _outcomes(node.body) + _outcomes(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def test_no_slug_stands_in_two_tables() -> None:
    tables = [*QUIRKS, *(slug for quirks in OWN.values() for slug in quirks)]
    assert sorted(tables) == ALL
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug) for slug in ALL)


def test_every_slug_that_is_noted_is_in_a_table() -> None:
    assert sorted({f"{slug} at {where}" for slug, where in noted() if slug not in ALL}) == []


def test_a_dialect_notes_its_own_slugs_and_those_of_all() -> None:
    for slug, where in noted():
        owners = [name for name, quirks in OWN.items() if slug in quirks]
        assert all(f"/dialects/{name}/" in where for name in owners), f"{slug} at {where} is of {owners}"


@pytest.mark.parametrize("slug", ALL)
def test_every_slug_in_a_table_is_noted(slug: str) -> None:
    assert [where for one, where in noted() if one == slug]


@pytest.mark.parametrize("slug", ALL)
def test_every_slug_has_a_row_in_the_docs(slug: str) -> None:
    assert PAGE.is_file()
    assert f"| `{slug}` |" in PAGE.read_text("utf-8")


def test_the_docs_have_no_row_for_what_is_gone() -> None:
    assert PAGE.is_file()
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted({*rows} - {*ALL}) == []


@pytest.fixture(scope="module")
def provoked() -> dict[str, list[str]]:
    """Which recorded and demo answers bring each slug out."""
    found: dict[str, list[str]] = {}
    for upstream in CLIENTS:
        for fixture in fixtures(upstream):
            client = upstream if fixture.fits(upstream) else "chat"
            for slug in whole_read(fixture, client).exchange.quirks:
                found.setdefault(slug, []).append(str(fixture))
    for model in MODELS:
        for slug in _quirks_of_demo(model):
            found.setdefault(slug, []).append(f"demo/{model}")
    return found


def _quirks_of_demo(model: str) -> dict[str, int]:
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    exchange = Exchange(dialects.get("chat"), dialects.get("chat"), seed="demo", now=0)
    exchange.request(body, model)
    exchange.receive_head(200, {})
    for piece in answer(body, token="demo", now=0).pieces:
        exchange.receive_data(piece)
    exchange.receive_eof()
    return exchange.quirks


@pytest.mark.parametrize("slug", ALL)
def test_every_slug_is_provoked_by_a_recorded_answer(slug: str, provoked: dict[str, list[str]]) -> None:
    assert provoked.get(slug), f"no answer in tests/fixtures/streams and no demo model brings {slug} out"


def test_a_plain_answer_provokes_none(provoked: dict[str, list[str]]) -> None:
    everything = {name for names in provoked.values() for name in names}
    assert everything.isdisjoint({"demo/chat", "demo/agent", "demo/parallel", "demo/reasoning", "demo/usage"})
    assert len([fixture for upstream in CLIENTS for fixture in fixtures(upstream)]) > len(everything)
