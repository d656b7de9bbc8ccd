"""What a client's history cannot hold is put back into its next request, or is missing visibly, and never wrongly."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest

from dragoman import dialects
from dragoman.streaming.encoder import EncodeContext, StreamEncoder
from dragoman.streaming.ids import Ids
from tests.roundtrips.echo import follow
from tests.toolloop import shelf
from tests.toolloop.lab import SHELF, Answer, every_client, opened
from tests.toolloop.model import DIALECTS, Says

CITY = {"city": "Utrecht"}
QUERY = {"query": "wind"}
FOUND = "Found for wind: 21 degrees."
MIXED = Says(text="Looking. ", calls=(("shelf__search", QUERY), ("get_weather", CITY)))
DONE = Says(text="Done.")
BOTH = [("shelf__search", QUERY, FOUND), ("get_weather", CITY, "sunny")]
THEIRS = [("get_weather", CITY, "sunny")]


@every_client
async def test_after_a_restart_the_clients_own_version_stays(client: str) -> None:
    async with opened() as before, opened() as after:
        for upstream in DIALECTS:
            shelf.journal.clear()
            before.model.play(Says(text="One. ", calls=(("shelf__count", {}),)), MIXED)
            first = await before.ask(client, upstream)
            after.model.play(DONE)
            second = await after.go_on(client, upstream, first, "sunny", stream=False)
            assert second.said.text == "Done."
            seen = after.model.seen[0]
            assert seen.calls == THEIRS
            assert "".join(text for role, text in seen.texts if role == "assistant").replace(" ", "") == "One.Looking."
            if client in ("messages", "responses"):
                assert second.headers["x-dragoman-loss"]
                assert "no longer known" in str(after.log[-1]["losses"])
                strict = await after.go_on(client, upstream, first, "sunny", headers={"x-dragoman-strict": "1"})
                assert strict.status == 400
                assert "no longer known" in strict.error
            assert shelf.journal == ["count", "search wind"]


@every_client
async def test_it_may_go_on_at_another_upstream(client: str) -> None:
    async with opened() as lab:
        for upstream, other in product(DIALECTS, DIALECTS):
            lab.model.play(msgspec.structs.replace(MIXED, reasoning="I should look."), DONE)
            first = await lab.ask(client, upstream)
            assert (await lab.go_on(client, other, first, "sunny")).said.text == "Done."
            assert lab.model.seen[1].calls == BOTH
            if other == "chat" != upstream:
                assert all(message.keys() <= KNOWN for message in lab.model.seen[1].body["messages"])


KNOWN = {"role", "content", "tool_calls", "tool_call_id", "reasoning_content", "reasoning_details", "extra_content"}


async def test_what_is_kept_for_one_client_is_not_for_another() -> None:
    one, two = {"authorization": "Bearer sk-one"}, {"authorization": "Bearer sk-two"}
    async with opened(SHELF + "keys: [sk-one, sk-two]") as lab:
        lab.model.play(MIXED, DONE, DONE)
        first = await lab.ask("chat", "chat", headers=one)
        await lab.go_on("chat", "chat", first, "sunny", headers=two)
        await lab.go_on("chat", "chat", first, "sunny", headers=one)
        assert [seen.calls for seen in lab.model.seen[1:]] == [THEIRS, BOTH]


@every_client
async def test_servers_that_give_the_same_ids_again(client: str) -> None:
    """In every conversation and in every turn: an id alone proves nothing."""
    ids = ("shelf__search:0", "get_weather:1")
    async with opened() as lab:
        answers: list[tuple[str, Answer]] = []
        for word in ("wind", "rain"):
            lab.model.play(
                Says(calls=(("shelf__search", {"query": word}),), ids=ids[:1]),
                Says(text=word, calls=(("shelf__search", {"query": f"{word}!"}), ("get_weather", CITY)), ids=ids),
            )
            answers.append((word, await lab.ask(client, "chat")))
        for word, answer in answers:
            lab.model.play(DONE)
            await lab.go_on(client, "chat", answer, "sunny")
            expected = [
                ({"query": word}, f"Found for {word}: 21 degrees."),
                ({"query": f"{word}!"}, f"Found for {word}!: 21 degrees."),
            ]
            assert [(given, result) for _, given, result in lab.model.seen[0].calls[:2]] == expected
            assert lab.model.seen[0].calls[2:] == THEIRS


async def test_another_question_with_the_same_ids_gets_nothing() -> None:
    """As two people behind one key may ask at a server that numbers calls from 0."""
    says = msgspec.structs.replace(MIXED, ids=("search:0", "get_weather:1"))
    async with opened() as lab:
        lab.model.play(says, DONE)
        first = await lab.ask("chat", "chat")
        history = [*first.kept.turn, *follow(first.kept, ["sunny"])]
        other = {"messages": [{"role": "user", "content": "A question of somebody else."}, *history]}
        await lab.ask("chat", "chat", more=other)
        assert lab.model.seen[1].calls == THEIRS


@every_client
async def test_an_answer_that_its_user_edited_stays_edited(client: str) -> None:
    async with opened() as lab:
        lab.model.play(MIXED, DONE)
        first = await lab.ask(client, "messages", stream=False)
        edited = msgspec.structs.replace(first, body=first.body.replace(b"Looking. ", b"Gazing. "))
        await lab.go_on(client, "messages", edited, "sunny")
        assert lab.model.seen[1].calls == THEIRS
        assert ("assistant", "Gazing.") in lab.model.seen[1].texts


async def test_a_client_that_keeps_no_words() -> None:
    async with opened() as lab:
        lab.model.play(MIXED, DONE)
        first = await lab.ask("chat", "chat")
        turn = [{name: value for name, value in first.kept.turn[0].items() if name != "content"}]
        await lab.ask("chat", "chat", history=[*turn, *follow(first.kept, ["sunny"])])
        assert lab.model.seen[1].calls == BOTH


@every_client
async def test_two_answers_to_one_question(client: str) -> None:
    """A user who asks again goes on from the one that was liked."""
    async with opened() as lab:
        answers = []
        for city in ("Oslo", "Bergen"):
            calls = (("shelf__search", {"query": city}), ("get_weather", {"city": city}))
            lab.model.play(Says(calls=calls, ids=("a", "b")))
            answers.append(await lab.ask(client, "chat"))
        for city, answer in zip(("Oslo", "Bergen"), answers, strict=True):
            lab.model.play(DONE)
            await lab.go_on(client, "chat", answer, "rain")
            assert [given for _, given, _ in lab.model.seen[0].calls] == [{"query": city}, {"city": city}]


@pytest.mark.parametrize("limits", ["answers: 1", "mib: 0.002"])
async def test_it_is_bounded(limits: str) -> None:
    async with opened(SHELF + f"limits: {{turns: {{{limits}}}}}") as lab:
        answers = []
        for word in ("wind", "rain"):
            calls = (("shelf__search", {"query": word * 100}), ("get_weather", CITY))
            lab.model.play(Says(text=word, calls=calls))
            answers.append(await lab.ask("chat", "chat"))
        lab.model.play(DONE, DONE)
        await lab.go_on("chat", "chat", answers[0], "sunny")
        await lab.go_on("chat", "chat", answers[1], "sunny")
        assert lab.model.seen[0].calls == THEIRS
        assert len(lab.model.seen[1].calls) == 2


def test_the_dialects_that_show_calls_say_so() -> None:
    context = EncodeContext(model="m", ids=Ids("seed"), now=0)
    for name in DIALECTS:
        dialect = dialects.get(name)
        shows = type(dialect.encoder(context)).tool_run is not StreamEncoder.tool_run
        assert shows is dialect.traits.runs_shown
