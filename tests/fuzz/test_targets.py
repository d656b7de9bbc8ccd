"""Each target with its kept inputs, its seeds, and a few mutations that are the same in every run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.streaming.answer import AnswerAssembler
from tests.fuzz import search
from tests.fuzz.targets import CORPUS, TARGETS, Target

ENOUGH = {"answer": 250, "request": 500, "framing": 250, "configuration": 200}
"""Executions for each kind of target; the others are quick, and have ``USUAL``."""
USUAL = 3000

KEPT = [(target, path) for target in TARGETS.values() for path in target.kept]


@pytest.mark.parametrize(("target", "path"), KEPT, ids=lambda value: getattr(value, "name", ""))
def test_what_broke_it_once_holds(target: Target, path: Path) -> None:
    target.hold(path.read_bytes())


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_it_holds(target: Target) -> None:
    executions = ENOUGH.get(target.name.partition("-")[0], USUAL)
    outcome = search.search(target, seed=0, executions=executions)
    assert outcome.broken is None, f"{outcome.reason}: {outcome.broken!r}"
    assert outcome.executions == executions


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_the_promise_stands_in_the_first_line(target: Target) -> None:
    assert target.promise.startswith("Whatever ")
    assert target.promise.endswith(".")
    assert list(target.inputs()), "there is nothing to begin with"


def test_the_corpus_has_no_folder_without_a_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} <= set(TARGETS)


def test_a_cut_that_looks_finished_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnswerAssembler, "_cut", lambda self, proven: None)
    outcome = search.search(TARGETS["answer-chat"], seed=0, executions=400)
    assert outcome.broken is not None
    assert "nothing said that this is the end" in outcome.reason


def test_a_finding_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "CORPUS", tmp_path)
    target = Target("planted", _planted, lambda: [b'{"a": 1}\n'])
    outcome = search.search(target, seed=0, executions=5000)
    assert outcome.broken is not None
    assert outcome.reason == "AssertionError: a planted fault"
    path = search.keep(target, outcome.broken)
    assert path == search.keep(target, outcome.broken)
    assert path.read_bytes() == outcome.broken
    again = search.search(target, seed=0, executions=5000)
    assert again == outcome, "the same seed gives the same inputs"


def _planted(data: bytes) -> None:
    """Whatever comes: no NUL."""
    assert b"null" not in data, "a planted fault"
