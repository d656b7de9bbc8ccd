"""The store of answers: what is kept, for whom, and how much of it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.exceptions import ConfigurationError
from dragoman.gateway.settings import StateSettings, StateUrl
from dragoman.gateway.state import AnswerStore, KeptAnswer, StateError

DAY = 86_400.0


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory" if request.param == "memory" else f"sqlite:///{tmp_path}/state.db"


@pytest.fixture
def store(url: str) -> Iterator[AnswerStore]:
    made = AnswerStore(StateSettings(url=StateUrl(url), answers=3, mib=0.01, days=2))
    yield made
    made.close()


def item(id: str, text: str = "") -> dict[str, Any]:
    return {"id": id, "text": text}


def answer(id: str, *items: dict[str, Any], given: int = 1, since: float = 0.0) -> KeptAnswer:
    return KeptAnswer(id=id, target="up/m", since=since, body={"id": id}, items=items, given=given)


async def test_an_answer_comes_back_as_it_was_for_its_client_only(store: AnswerStore) -> None:
    one = answer("a", item("q"), item("r"), item("q"))
    await store.keep("me", one)
    assert await store.find("me", "a", 0.0) == one
    assert await store.find("you", "a", 0.0) is None
    assert await store.find("me", "b", 0.0) is None
    assert await store.find_items("you", ["q"]) == {}


async def test_one_that_its_upstream_keeps_is_a_name_only(store: AnswerStore) -> None:
    bound = KeptAnswer(id="n", target="up/m", since=0.0)
    await store.keep("me", bound)
    assert await store.find("me", "n", 0.0) == bound
    assert await store.delete("me", "n") is False


async def test_the_same_id_again_replaces_it(store: AnswerStore) -> None:
    await store.keep("me", answer("a", item("q"), item("old")))
    await store.keep("me", answer("a", item("q"), item("new")))
    found = await store.find("me", "a", 0.0)
    assert found is not None
    assert [entry["id"] for entry in found.items] == ["q", "new"]
    assert set(await store.find_items("me", ["q", "old", "new"])) == {"q", "new"}


async def test_items_are_found_by_id_the_newest_first(store: AnswerStore) -> None:
    await store.keep("me", answer("a", item("q", "one")))
    await store.keep("me", answer("b", item("q", "two")))
    assert await store.find_items("me", ["q", "x"]) == {"q": item("q", "two")}
    await store.delete("me", "b")
    assert await store.find_items("me", ["q"]) == {"q": item("q", "one")}


async def test_an_item_lives_as_long_as_an_answer_holds_it(store: AnswerStore) -> None:
    await store.keep("me", answer("a", item("q")))
    await store.keep("me", answer("b", item("q"), item("r")))
    assert await store.delete("me", "a") is True
    assert await store.delete("me", "a") is False
    found = await store.find("me", "b", 0.0)
    assert found is not None
    assert found.items == (item("q"), item("r"))
    await store.delete("me", "b")
    assert await store.find_items("me", ["q", "r"]) == {}


async def test_the_oldest_goes_where_there_are_too_many_but_not_anothers(store: AnswerStore) -> None:
    await store.keep("you", answer("z", item("z")))
    for number in range(5):
        await store.keep("me", answer(f"a{number}", item(f"i{number}"), since=float(number)))
    held = [number for number in range(5) if await store.find("me", f"a{number}", 0.0)]
    assert held == [2, 3, 4]
    assert set(await store.find_items("me", ["i1", "i2"])) == {"i2"}
    assert await store.find("you", "z", 0.0)


async def test_bytes_are_bounded_and_shared_items_count_once(store: AnswerStore) -> None:
    long = item("q", "x" * 6_000)
    await store.keep("me", answer("a", long))
    await store.keep("me", answer("b", long, since=1.0))
    assert await store.find("me", "a", 0.0)
    await store.keep("me", answer("c", item("r", "y" * 6_000), since=2.0))
    assert [id for id in "abc" if await store.find("me", id, 0.0)] == ["c"]
    await store.keep("me", answer("d", item("s", "z" * 60_000), since=3.0))
    assert [id for id in "abcd" if await store.find("me", id, 0.0)] == []


async def test_what_is_too_old_is_gone_whoever_asks(store: AnswerStore) -> None:
    await store.keep("you", answer("z", item("z"), since=0.0))
    await store.keep("me", answer("a", item("q"), since=DAY))
    assert await store.find("you", "z", 2 * DAY)
    assert await store.find("you", "z", 2 * DAY + 1) is None
    await store.keep("me", answer("b", item("r"), since=2 * DAY + 1))
    assert await store.find_items("you", ["z"]) == {}
    assert await store.find("me", "a", 2 * DAY + 1)


async def test_a_file_outlives_the_process_and_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    settings = StateSettings(url=StateUrl(f"sqlite:///{file}"))
    first = AnswerStore(settings)
    await first.keep("me", answer("a", item("q")))
    first.close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    second, beside = AnswerStore(settings), AnswerStore(settings)
    await beside.keep("me", answer("b", item("r")))
    assert await second.find("me", "a", 0.0)
    assert await second.find("me", "b", 0.0)
    second.close()
    beside.close()


def test_a_file_that_cannot_be_used_is_a_mistake_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database, and it is long enough to be seen as none of them")
    for name in ("text", "no/such/folder"):
        with pytest.raises(ConfigurationError, match=r"state\.url: the file cannot be used"):
            AnswerStore(StateSettings(url=StateUrl(f"sqlite:///{tmp_path}/{name}")))


async def test_a_newer_schema_is_not_touched(tmp_path: Path) -> None:
    settings = StateSettings(url=StateUrl(f"sqlite:///{tmp_path}/state.db"))
    store = AnswerStore(settings)
    store._database.execute("PRAGMA user_version = 9")
    store.close()
    with pytest.raises(ConfigurationError, match="another version"):
        AnswerStore(settings)


async def test_a_database_that_fails_says_so(store: AnswerStore) -> None:
    store._database.execute("DROP TABLE answers")
    with pytest.raises(StateError):
        await store.find("me", "a", 0.0)
