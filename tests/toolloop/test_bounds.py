"""Bounds of the loop, and what a client sees of them: the answer so far, and never a clean stop."""

from __future__ import annotations

import pytest

from tests.toolloop import shelf
from tests.toolloop.lab import SHELF, every_client, opened
from tests.toolloop.model import DIALECTS, JSON, Says

QUERY = {"query": "wind"}


@every_client
async def test_rounds(client: str) -> None:
    async with opened(SHELF + "tool_loop: {rounds: 2}") as lab:
        for upstream in DIALECTS:
            for stream in (True, False):
                shelf.journal.clear()
                lab.model.play(*[Says(text="More. ", calls=(("shelf__count", {}),))] * 2)
                answer = await lab.ask(client, upstream, stream=stream)
                assert (answer.said.text.strip(), answer.said.calls) == ("More. More.", [])
                assert answer.said.finish == "length"
                assert shelf.journal == ["count"]
                assert len(lab.model.seen) == 2


@every_client
async def test_a_mixed_turn_in_the_last_round(client: str) -> None:
    """The client has something to do: the answer is no less than what it asked for."""
    async with opened(SHELF + "tool_loop: {rounds: 1}") as lab:
        lab.model.play(Says(calls=(("shelf__count", {}), ("get_weather", {"city": "Oslo"}))), Says(text="Done."))
        first = await lab.ask(client, "chat")
        assert first.said.finish == "tool_calls"
        assert (await lab.go_on(client, "chat", first, "rain")).said.text == "Done."
        assert [name for name, _, _ in lab.model.seen[1].calls] == ["shelf__count", "get_weather"]


@pytest.mark.parametrize("stream", [True, False])
async def test_rounds_of_errors(stream: bool) -> None:
    async with opened(SHELF + "tool_loop: {error_rounds: 2}") as lab:
        lab.model.play(*[Says(calls=(("shelf__fail", {}),))] * 2)
        answer = await lab.ask("chat", "messages", stream=stream)
        assert answer.said.finish == "length"
        assert shelf.journal == ["fail", "fail"]


@pytest.mark.parametrize("stream", [True, False])
async def test_the_time_of_a_call(stream: bool) -> None:
    async with opened(SHELF + "tool_loop: {per_tool: 0.05}") as lab:
        lab.model.play(Says(calls=(("shelf__wait", {}), ("shelf__count", {}))), Says(text="Too slow."))
        answer = await lab.ask("messages", "chat", stream=stream)
        assert answer.said.text == "Too slow."
        (_, _, slow), (_, _, quick) = lab.model.seen[1].calls
        assert "gave no result within 0.05 seconds" in slow
        assert quick == "Call number 1."
        assert shelf.journal == ["wait", "count", "wait cancelled"]


@every_client
async def test_the_time_of_all_calls(client: str) -> None:
    """The call that is under way is given up and told; the next one ends the answer, visibly."""
    async with opened(SHELF + "tool_loop: {total: 0.05}") as lab:
        for stream in (True, False):
            shelf.journal.clear()
            lab.model.play(
                Says(text="Looking. ", calls=(("shelf__wait", {}),)),
                Says(text="Again. ", calls=(("shelf__count", {}),)),
            )
            answer = await lab.ask(client, "responses", stream=stream)
            assert (answer.said.text.strip(), answer.said.finish) == ("Looking. Again.", "length")
            assert shelf.journal == ["wait", "wait cancelled"]


@every_client
async def test_the_time_of_an_answer_counts_over_its_rounds(client: str) -> None:
    """It ran out while a tool worked: the next round does not begin it anew."""
    async with opened(SHELF + "tool_loop: {per_tool: 0.3}\ntimeouts: {total: 0.2}") as lab:
        lab.model.play(Says(calls=(("shelf__wait", {}),)), Says(text="Too late."))
        answer = await lab.ask(client, "chat", stream=False)
        assert answer.status == 504
        assert "took more than 0.2 s" in answer.error


@every_client
async def test_an_answer_that_a_bound_ended_can_go_on(client: str) -> None:
    """The call that was not run has an error for its result."""
    async with opened(SHELF + "tool_loop: {rounds: 2}") as lab:
        lab.model.play(*[Says(text="More. ", calls=(("shelf__count", {}),))] * 2, Says(text="Fine."))
        first = await lab.ask(client, "messages")
        assert (await lab.go_on(client, "messages", first)).said.text == "Fine."
        calls = lab.model.seen[2].calls
        if client in ("messages", "responses"):
            assert [(name, result[:5]) for name, _, result in calls] == [
                ("shelf__count", "Call "),
                ("shelf__count", "Error"),
            ]


@every_client
async def test_a_cut_turn_runs_nothing(client: str) -> None:
    async with opened() as lab:
        for upstream in DIALECTS:
            for stream in (True, False):
                lab.model.play(Says(text="Well, ", calls=(("shelf__search", QUERY),), finish="length"))
                answer = await lab.ask(client, upstream, stream=stream)
                assert (answer.said.text.strip(), answer.said.calls, answer.said.finish) == ("Well,", [], "length")
        assert shelf.journal == []


@every_client
async def test_a_failure_of_the_first_round_keeps_its_status(client: str) -> None:
    async with opened() as lab:
        lab.model.play(Says(status=429, text="Slow down."))
        answer = await lab.ask(client, "chat")
        assert (answer.status, answer.error) == (429, "Slow down.")


@every_client
async def test_a_failure_of_a_later_round(client: str) -> None:
    async with opened() as lab:
        for upstream in DIALECTS:
            lab.model.play(
                Says(text="Look. ", calls=(("shelf__search", QUERY),)), Says(status=400, text="It is closed.")
            )
            whole = await lab.ask(client, upstream, stream=False)
            assert (whole.status, whole.error) == (400, "It is closed.")
            assert whole.headers["x-dragoman-tools"] == "1"
            lab.model.play(
                Says(text="Look. ", calls=(("shelf__search", QUERY),)), Says(status=400, text="It is closed.")
            )
            streamed = await lab.ask(client, upstream)
            assert streamed.status == 200
            assert b"It is closed." in streamed.body
            assert streamed.said.text.strip() == "Look."
        assert [line["error"] for line in lab.log] == ["invalid_request"] * 8


@pytest.mark.parametrize("stream", [True, False])
async def test_another_upstream_is_asked_in_the_first_round_only(stream: bool) -> None:
    """Later the calls that were run belong to the one that made them."""
    call = Says(calls=(("shelf__count", {}),))
    async with opened(SHELF + "models: {pair: [chat/m, messages/m]}") as lab:
        lab.model.play(Says(status=500, text="Broken."), call, Says(text="Done."))
        answer = await lab.ask("messages", "", stream=stream, more={"model": "pair"})
        assert answer.said.text == "Done."
        assert [seen.dialect for seen in lab.model.seen] == ["chat", "messages", "messages"]
        lab.model.play(call, Says(status=500, text="Broken."))
        answer = await lab.ask("messages", "", stream=stream, more={"model": "pair"})
        assert b"Broken." in answer.body
        assert [seen.dialect for seen in lab.model.seen] == ["chat", "chat"]


async def test_a_tool_that_the_operator_denies() -> None:
    async with opened(SHELF.replace("TOOLS'", "TOOLS', approval: {count: deny}")) as lab:
        lab.model.play(Says(calls=(("shelf__count", {}),)), Says(text="Pity."))
        assert (await lab.ask("chat", "gemini")).said.text == "Pity."
        assert "the operator of this gateway denies it" in lab.model.seen[1].calls[0][2]
        assert shelf.journal == []


@pytest.mark.parametrize(
    ("client", "several"), [("chat", {"n": 2}), ("gemini", {"generationConfig": {"candidateCount": 2}})]
)
async def test_a_client_of_several_answers_is_offered_no_tools(client: str, several: JSON) -> None:
    """Each of them would be a conversation of its own."""
    async with opened() as lab:
        lab.model.play(Says(text="One."))
        answer = await lab.ask(client, "chat", more=several)
        assert answer.status == 200
        assert set(lab.model.seen[0].tools) == {"get_weather", "read_file", "run", "list_tasks"}
