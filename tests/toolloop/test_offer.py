"""Names of the gateway's tools, and when they are offered."""

from __future__ import annotations

import msgspec

from dragoman.canonical import request as q
from dragoman.toolloop.offer import GatewayTool, Offer, relaxed
from tests.toolloop.turns import CLIENT_TOOL, SEARCH, asked


def test_tools_stand_behind_the_clients() -> None:
    offer = Offer(asked(CLIENT_TOOL), [SEARCH])
    assert [tool.name for tool in offer.added_to(asked(CLIENT_TOOL)).tools] == ["get_weather", "docs__search"]
    assert offer.tools["docs__search"] is SEARCH


def test_the_clients_tool_wins_its_name() -> None:
    own = [q.Tool(name="docs__search"), q.Tool(name="docs__search_2")]
    assert list(Offer(asked(*own), [SEARCH]).tools) == ["docs__search_3"]


def test_two_servers_whose_names_meet() -> None:
    tools = [
        GatewayTool(server="a", name="b__c", offered="a__b__c"),
        GatewayTool(server="a__b", name="c", offered="a__b__c"),
    ]
    assert list(Offer(asked(), tools).tools) == ["a__b__c", "a__b__c_2"]


def test_a_number_fits_into_the_longest_name() -> None:
    name = "docs__" + "x" * 58
    tool = GatewayTool(server="docs", name="x", offered=name)
    assert list(Offer(asked(q.Tool(name=name)), [tool]).tools) == ["docs__" + "x" * 56 + "_2"]


def test_several_answers_are_offered_nothing() -> None:
    assert Offer(msgspec.structs.replace(asked(), choices=2), [SEARCH]).tools == {}


def test_where_the_upstream_holds_the_conversation_nothing_is_offered() -> None:
    assert Offer(msgspec.structs.replace(asked(), bound=("previous_response_id",)), [SEARCH]).tools == {}


def test_none_offers_nothing() -> None:
    assert Offer(asked(choice=q.ToolChoice("none")), [SEARCH]).tools == {}


def test_a_forced_choice_holds_for_one_round() -> None:
    assert relaxed(q.ToolChoice("required", ("docs__search",))) == q.ToolChoice("auto")
    assert relaxed(q.ToolChoice("auto", ("get_weather",))) == q.ToolChoice("auto", ("get_weather",))
    assert relaxed(None) is None
