"""The loop through a real gateway: every client's dialect over every upstream's, streamed and whole."""

from __future__ import annotations

from collections.abc import Iterator

from tests.toolloop import shelf
from tests.toolloop.lab import Answer, every_client, opened
from tests.toolloop.model import DIALECTS, JSON, Says

CITY = {"city": "Utrecht"}
QUERY = {"query": "wind"}
FOUND = "Found for wind: 21 degrees."


def ways() -> Iterator[tuple[str, bool]]:
    for upstream in DIALECTS:
        yield upstream, True
        yield upstream, False


def calls_of(answer: Answer) -> list[str]:
    return [name for _, name, _ in answer.said.calls]


@every_client
async def test_a_call_then_text(client: str) -> None:
    async with opened() as lab:
        for upstream, stream in ways():
            lab.model.play(
                Says(text="Let me look. ", calls=(("shelf__search", QUERY),), usage=(100, 20)),
                Says(text="It is 21.", usage=(140, 7)),
            )
            answer = await lab.ask(client, upstream, stream=stream)
            assert (answer.said.text, answer.said.calls, answer.said.finish) == ("Let me look. It is 21.", [], "stop")
            assert answer.said.usage
            assert (answer.said.usage["input"], answer.said.usage["output"]) == (240, 27)
            assert answer.headers.get("x-dragoman-tools") == (None if stream else "1")
            if client in ("messages", "responses"):
                assert answer.shown == [("shelf", "search", FOUND, False)]
            first, second = lab.model.seen
            assert {"shelf__search", "get_weather"} <= first.tools.keys() == second.tools.keys()
            assert second.calls == [("shelf__search", QUERY, FOUND)]
            assert ("assistant", "Let me look.") in second.texts
        assert shelf.journal == ["search wind"] * 8
        assert [(line["tools"], line["rounds"]) for line in lab.log] == [({"shelf__search": 1}, 2)] * 8


@every_client
async def test_a_mixed_turn_and_what_follows(client: str) -> None:
    """The gateway's call is run once, the client's handed over; its next request holds both, in order."""
    async with opened() as lab:
        for upstream, stream in ways():
            shelf.journal.clear()
            lab.model.play(
                Says(text="Looking. ", calls=(("shelf__count", {}), ("get_weather", CITY)), usage=(50, 9)),
                Says(calls=(("shelf__search", QUERY),)),
                Says(text="Twenty-one."),
                Says(text="You are welcome."),
            )
            first = await lab.ask(client, upstream, stream=stream)
            assert (first.said.text, calls_of(first), first.said.finish) == ("Looking. ", ["get_weather"], "tool_calls")
            second = await lab.go_on(client, upstream, first, "sunny", stream=stream)
            assert (second.said.text, second.said.finish) == ("Twenty-one.", "stop")
            both = [("shelf__count", {}, "Call number 1."), ("get_weather", CITY, "sunny")]
            assert lab.model.seen[1].calls == both
            assert lab.model.seen[2].calls == [*both, ("shelf__search", QUERY, FOUND)]
            assert shelf.journal == ["count", "search wind"]


@every_client
async def test_the_next_prompt(client: str) -> None:
    """What clients were shown comes back, and stands for the calls and results again."""
    async with opened() as lab:
        for upstream, stream in ways():
            lab.model.play(
                Says(text="One. ", calls=(("shelf__search", QUERY),)),
                Says(text="Two. ", calls=(("shelf__count", {}), ("shelf__fail", {}))),
                Says(text="Three."),
                Says(text="You are welcome."),
            )
            shelf.journal.clear()
            first = await lab.ask(client, upstream, stream=stream)
            assert (await lab.go_on(client, upstream, first, stream=stream)).said.text == "You are welcome."
            last = lab.model.seen[3]
            said = "".join(text for role, text in last.texts if role == "assistant").replace(" ", "")
            assert said == "One.Two.Three."
            assert last.texts[-1] == ("user", "Thank you!")
            if client in ("messages", "responses"):
                assert [name for name, _, _ in last.calls] == ["shelf__search", "shelf__count", "shelf__fail"]
                assert [result for _, _, result in last.calls][:2] == [FOUND, "Call number 1."]
                assert "the drawer is jammed" in last.calls[2][2]
            else:
                assert last.calls == []
            assert shelf.journal == ["search wind", "count", "fail"]


@every_client
async def test_names_that_meet(client: str) -> None:
    """The client's tool keeps its name, and its calls go to the client."""
    declared = {"type": "object", "properties": {"words": {"type": "string"}}}
    own = {
        "chat": [{"type": "function", "function": {"name": "shelf__search", "parameters": declared}}],
        "responses": [{"type": "function", "name": "shelf__search", "parameters": declared}],
        "messages": [{"name": "shelf__search", "input_schema": declared}],
        "gemini": [{"functionDeclarations": [{"name": "shelf__search", "parametersJsonSchema": declared}]}],
    }[client]
    async with opened() as lab:
        for upstream, stream in ways():
            lab.model.play(
                Says(calls=(("shelf__search_2", QUERY),)),
                Says(calls=(("shelf__search", {"words": "attic"}), ("shelf__search_2", QUERY))),
                Says(text="Done."),
            )
            first = await lab.ask(client, upstream, stream=stream, more={"tools": own})
            assert calls_of(first) == ["shelf__search"]
            assert {"shelf__search", "shelf__search_2"} <= lab.model.seen[0].tools.keys()
            assert lab.model.seen[0].tools["shelf__search_2"]["description"] == "Looks things up."
            second = await lab.go_on(client, upstream, first, "dust", stream=stream, more={"tools": own})
            assert second.said.text == "Done."
            ours, theirs = ("shelf__search_2", QUERY, FOUND), ("shelf__search", {"words": "attic"}, "dust")
            assert lab.model.seen[2].calls == [ours, theirs, ours]


@every_client
async def test_a_forced_choice_holds_for_one_round(client: str) -> None:
    calling = {"mode": "ANY"}
    forces: dict[str, JSON] = {
        "chat": {"tool_choice": "required"},
        "responses": {"tool_choice": "required"},
        "messages": {"tool_choice": {"type": "any"}},
        "gemini": {"toolConfig": {"functionCallingConfig": calling}},
    }
    async with opened() as lab:
        for upstream, stream in ways():
            lab.model.play(Says(calls=(("shelf__search", QUERY),)), Says(text="Done."))
            answer = await lab.ask(client, upstream, stream=stream, more=forces[client])
            assert answer.said.text == "Done."
            assert [seen.choice for seen in lab.model.seen] == ["required", "auto"]


@every_client
async def test_a_choice_of_one_of_the_gateways_tools(client: str) -> None:
    name = "shelf__search"
    forces: dict[str, JSON] = {
        "chat": {"tool_choice": {"type": "function", "function": {"name": name}}},
        "responses": {"tool_choice": {"type": "function", "name": name}},
        "messages": {"tool_choice": {"type": "tool", "name": name}},
        "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [name]}}},
    }
    async with opened() as lab:
        for upstream, stream in ways():
            lab.model.play(Says(calls=((name, QUERY),)), Says(text="Done."))
            assert (await lab.ask(client, upstream, stream=stream, more=forces[client])).said.text == "Done."
            assert [seen.choice for seen in lab.model.seen] == ["required", "auto"]
            assert name in str(lab.model.seen[0].body.get("tool_choice") or lab.model.seen[0].body.get("toolConfig"))


@every_client
async def test_no_choice_is_no_offer(client: str) -> None:
    refusals: dict[str, JSON] = {
        "chat": {"tool_choice": "none"},
        "responses": {"tool_choice": "none"},
        "messages": {"tool_choice": {"type": "none"}},
        "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
    }
    async with opened() as lab:
        for upstream in DIALECTS:
            lab.model.play(Says(text="As you like."))
            answer = await lab.ask(client, upstream, more=refusals[client])
            assert answer.said.text == "As you like."
            assert not any(name.startswith("shelf__") for name in lab.model.seen[0].tools)


@every_client
async def test_mistakes_are_told_to_the_model(client: str) -> None:
    """A tool that fails, arguments that do not fit, arguments that are no JSON: the request goes on."""
    async with opened() as lab:
        for upstream, stream in ways():
            shelf.journal.clear()
            broken: tuple[tuple[str, str], ...] = () if upstream == "gemini" else (("shelf__search", '{"query": win'),)
            if upstream == "messages" and not stream:
                broken = ()  # there arguments are an object in any case
            lab.model.play(
                Says(
                    calls=(("shelf__fail", {}), ("shelf__search", {"words": "wind"}), *broken, ("shelf__search", QUERY))
                ),
                Says(text="Found it."),
            )
            answer = await lab.ask(client, upstream, stream=stream)
            assert answer.said.text == "Found it."
            results = [result for _, _, result in lab.model.seen[1].calls]
            assert "the drawer is jammed" in results[0]
            assert "'query' is a required property" in results[1]
            assert all("no JSON" in result for result in results[2:-1])
            assert results[-1] == FOUND
            assert shelf.journal == ["fail", "search wind"]
            if client in ("messages", "responses"):
                assert [failed for _, _, _, failed in answer.shown] == [True] * (len(results) - 1) + [False]


@every_client
async def test_reasoning_of_each_round_goes_back_once(client: str) -> None:
    async with opened() as lab:
        for upstream, stream in ways():
            lab.model.play(
                Says(reasoning="I should look.", calls=(("shelf__search", QUERY),)),
                Says(calls=(("shelf__count", {}),)),
                Says(text="Done."),
            )
            answer = await lab.ask(client, upstream, stream=stream)
            assert answer.said.text == "Done."
            for number, seen in enumerate(lab.model.seen[1:], 1):
                others = [entry.value for entry in seen.history if entry.kind == "other"]
                if upstream == "gemini":  # where a thought has no proof of its own: the calls have
                    assert others == ['"c2ln"'] * number
                else:
                    assert len(others) == 1
                    assert "I should look." in others[0]
