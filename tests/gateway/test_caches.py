"""What is kept between requests, in this process and in a file that several share: the same rules."""

from __future__ import annotations

import logging
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from dragoman.cache import Cache, CacheLimits, LocalCache
from dragoman.canonical import request as q
from dragoman.canonical.opaque import Opaque
from dragoman.gateway.sharedcache import SharedCache
from dragoman.memory import ReasoningMemory, Remembered
from dragoman.toolloop.past import PastAnswer

Make = Callable[..., Cache[str]]


@pytest.fixture(params=["here", "shared"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    def here(*, latest: bool = False, **limits: Any) -> Cache[str]:
        return LocalCache(CacheLimits(**limits), latest=latest)

    def shared(*, latest: bool = False, **limits: Any) -> Cache[str]:
        return SharedCache(tmp_path / "cache.db", str, CacheLimits(**limits), latest=latest)

    return here if request.param == "here" else shared


def test_values_come_back_by_each_of_their_ids_for_their_client_only(make: Make) -> None:
    cache = make()
    cache.put("me", ["a", "b", "a"], "one", 3, 0)
    assert cache.get("me", ["a", "b", "c"], 0) == {"a": ["one"], "b": ["one"]}
    assert cache.get("you", ["a", "b"], 0) == {}
    cache.put("me", [], "nobody's", 3, 0)
    assert cache.get("me", ["nobody's"], 0) == {}


def test_of_several_the_youngest_comes_first(make: Make) -> None:
    cache = make()
    cache.put("me", ["a", "b"], "one", 3, 0)
    cache.put("me", ["b", "c"], "two", 3, 1)
    assert cache.get("me", "abc", 1) == {"a": ["one"], "b": ["two", "one"], "c": ["two"]}


def test_or_is_the_only_one(make: Make) -> None:
    cache = make(latest=True, bytes=3)
    cache.put("me", ["a"], "one", 3, 0)
    cache.put("me", ["a"], "two", 3, 1)
    assert cache.get("me", ["a"], 1) == {"a": ["two"]}


@pytest.mark.parametrize(
    ("limits", "left"),
    [({}, "abcd"), ({"entries": 2}, "cd"), ({"entries": 0}, ""), ({"bytes": 25}, "cd"), ({"bytes": 9}, "")],
)
def test_the_oldest_go_where_a_limit_is_passed(make: Make, limits: dict[str, int], left: str) -> None:
    cache = make(**limits)
    for now, id in enumerate("abcd"):
        cache.put("me", [id], id, 10, now)
    assert cache.get("me", "abcd", 3) == {id: [id] for id in left}


def test_what_is_at_a_limit_stays(make: Make) -> None:
    cache = make(entries=2, bytes=20, age=5)
    cache.put("me", ["a"], "a", 10, 0)
    cache.put("me", ["b"], "b", 10, 0)
    assert cache.get("me", "ab", 5) == {"a": ["a"], "b": ["b"]}
    assert cache.get("me", "ab", 5.1) == {}


def test_what_is_too_old_makes_room(make: Make) -> None:
    cache = make(age=5)
    cache.put("me", ["a"], "a", 10, 0)
    cache.put("me", ["b"], "b", 10, 6)
    cache.limits = CacheLimits(age=50)
    assert cache.get("me", "ab", 6) == {"b": ["b"]}


def test_other_limits_hold_from_the_next_value_on(make: Make) -> None:
    cache = make()
    for id in "abc":
        cache.put("me", [id], id, 10, 0)
    cache.limits = CacheLimits(entries=2)
    cache.put("me", ["d"], "d", 10, 0)
    assert list(cache.get("me", "abcd", 0)) == ["c", "d"]


# ---- the shared one


def test_what_one_process_keeps_another_finds(tmp_path: Path) -> None:
    one, other = (SharedCache(tmp_path / "cache.db", str, CacheLimits(entries=2)) for _ in range(2))
    one.put("me", ["a"], "from one", 1, 0)
    other.put("me", ["a"], "from the other", 1, 0)
    assert one.get("me", ["a"], 0) == other.get("me", ["a"], 0) == {"a": ["from the other", "from one"]}
    other.put("me", ["b"], "b", 1, 0)
    assert one.get("me", "ab", 0) == {"a": ["from the other"], "b": ["b"]}
    one.close()
    assert other.get("me", ["b"], 0) == {"b": ["b"]}


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    SharedCache(tmp_path / "cache.db", str, CacheLimits()).put("me", ["a"], "a", 1, 0)
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_another_writer_is_waited_for_only_so_long(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = SharedCache(tmp_path / "cache.db", str, CacheLimits())
    cache.put("me", ["a"], "a", 1, 0)
    with sqlite3.connect(tmp_path / "cache.db", isolation_level=None) as other, caplog.at_level(logging.WARNING):
        other.execute("BEGIN IMMEDIATE")
        cache.put("me", ["b"], "b", 1, 0)
        assert cache.get("me", "ab", 0) == {"a": ["a"]}
        other.execute("ROLLBACK")
    assert "could not be kept" in caplog.text
    cache.put("me", ["b"], "b", 1, 0)
    assert cache.get("me", "ab", 0) == {"a": ["a"], "b": ["b"]}


def test_a_file_that_fails_costs_what_it_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = SharedCache(tmp_path / "cache.db", str, CacheLimits())
    with sqlite3.connect(tmp_path / "cache.db") as other:
        other.execute("DROP TABLE keys")
    cache.put("me", ["a"], "a", 1, 0)
    assert cache.get("me", ["a"], 0) == {}
    assert "could not be kept" in caplog.text
    assert "could not be looked up" in caplog.text


def test_ids_may_be_anything(tmp_path: Path) -> None:
    cache = SharedCache(tmp_path / "cache.db", str, CacheLimits())
    ids = ["", "\0", "\ud800", "x" * 100_000, "', DROP", "call_1"]
    for id in ids:
        cache.put("me", [id], f"of {id[:9]!r}", 1, 0)
    assert cache.get("me", ids, 0) == {id: [f"of {id[:9]!r}"] for id in ids}
    cache.put("a", ["b:c"], "one", 1, 0)
    assert cache.get("a:b", ["c"], 0) == {}


PROOF = Opaque(origin="messages", kind="signature", data="c2ln", id="i", via="chat")
PARTS: tuple[q.Part, ...] = (
    q.Text(text="é\u2028", cache={"type": "ephemeral"}, signature=PROOF),
    q.Image(media_type="image/png", data="aWM="),
    q.Document(name="a.txt", text="words"),
    q.Audio(media_type="audio/wav", data="aWM="),
    q.Reasoning(text="Hm", summary=True, opaque=(PROOF,), item_id="rs_1"),
    q.Refusal(text="no"),
    q.ToolCall(id="c1", name="n", arguments='{"a": 1.0}', kind="custom", signature=PROOF, namespace="ns"),
    q.ToolResult(id="c1", parts=(q.Text(text="x"), q.Image(url="http://127.0.0.1/x")), error=True),
    q.Native(origin="responses", value={"type": "compaction", "n": [1, 2.5, None]}),
    q.ToolRun(id="r1"),
)


def test_turns_come_back_as_they_were(tmp_path: Path) -> None:
    assert {type(part) for part in PARTS} == set(get_args(q.Part))
    kept = PastAnswer(messages=(q.Message(q.Role.ASSISTANT, PARTS),), question=b"\0\xff", origin="chat")
    cache = SharedCache(tmp_path / "cache.db", PastAnswer, CacheLimits())
    cache.put("me", ["c1"], kept, 1, 0)
    assert cache.get("me", ["c1"], 0) == {"c1": [kept]}


def test_reasoning_comes_back_as_it_was(tmp_path: Path) -> None:
    memory = ReasoningMemory(SharedCache(tmp_path / "cache.db", Remembered, CacheLimits(), latest=True))
    kept = Remembered(
        origin="gemini", reasoning=(q.Reasoning(text="Hm"), q.Reasoning(opaque=(PROOF,))), signature=PROOF
    )
    memory.keep("me", "c1", "{}", kept, 0)
    (found,) = memory.recall("me", [("c1", ""), ("c2", "")], 0).values()
    assert (found.origin, found.reasoning, found.signature) == (kept.origin, kept.reasoning, kept.signature)


def test_half_a_character_costs_only_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = SharedCache(tmp_path / "cache.db", Remembered, CacheLimits())
    cache.put("me", ["c1"], Remembered(origin="chat", reasoning=(q.Reasoning(text="a\ud800b"),), signature=None), 1, 0)
    (found,) = cache.get("me", ["c1"], 0)["c1"]
    assert found.reasoning[0].text == "a\ufffdb"
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    native = q.Native(origin="chat", value={"deep": deep})
    past = SharedCache(tmp_path / "past.db", PastAnswer, CacheLimits())
    past.put("me", ["c1"], PastAnswer(messages=(q.Message(q.Role.USER, (native,)),), question=b"", origin="chat"), 1, 0)
    assert "could not be kept" in caplog.text
