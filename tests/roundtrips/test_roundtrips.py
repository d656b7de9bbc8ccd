"""Every recorded answer, kept by every client, in the next request to every upstream."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest

from dragoman import dialects
from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.contract import UpstreamRequest
from dragoman.dialects.messages.turns import LEFT_OUT, NOTHING
from tests.asking import CLIENTS, PROMPT
from tests.fixtures import Call, Fixture
from tests.roundtrips.echo import forgetful
from tests.roundtrips.flat import Entry, flat
from tests.roundtrips.turns import (
    COMPLETE,
    LAST,
    MORE,
    THANKS,
    asked_again,
    going_on,
    refused,
    sent,
    spoken,
    strings,
)

PROVEN = [(fixture, client) for fixture, client in COMPLETE if fixture.expected.opaque]

OWN_WORDS = {
    ("chat/type-builtin-function", "chat"): "'$web_search' does not match",
    ("chat/type-builtin-function", "responses"): "'$web_search' does not match",
    ("responses/item-id-rotates-every-event", "responses"): "'FC-added' does not begin with fc",
    ("responses/reasoning-text-raw", "responses"): "input[1]",
    ("responses/reasoning-begins-in-item-added", "responses"): "input[1].encrypted_content",
}
"""What servers wrote that are laxer than the strictest, and get back within the dialect: a name, an id, reasoning without a proof."""
PUT_IN = (NOTHING, LEFT_OUT.format(what="A sound"))
"""What a messages history says where something had no form."""
FORGOTTEN = {("gemini/signed-text-is-visible-text", "responses")}
"""A responses client has no place for the signature of a text, and what is remembered belongs to calls."""
SEAL = seal(Opaque("", "signature", ""))[:12]


def _each(pairs: list[tuple[Fixture, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("fixture", "client"), pairs, ids=[f"{fixture}-to-{to}" for fixture, to in pairs])


every_answer = _each(COMPLETE)
every_proof = _each(PROVEN)


def test_the_corpus_is_there() -> None:
    assert len(COMPLETE) > 800
    assert len(PROVEN) > 30


@every_answer
def test_a_strict_upstream_takes_it(fixture: Fixture, client: str) -> None:
    answer = spoken(fixture, client)
    for upstream in CLIENTS:
        for stage in (1, 2):
            made = asked_again(answer, upstream, stage)
            proofs = fixture.expected.opaque if upstream in _homes(fixture, client) else ()
            excused = OWN_WORDS.get((str(fixture), upstream)) if client == upstream else None
            found = refused(client, upstream, made, proofs)
            assert [fault for fault in found if excused is None or excused not in fault] == [], upstream


@every_answer
def test_calls_and_results_pair_in_their_order(fixture: Fixture, client: str) -> None:
    answer = spoken(fixture, client)
    expected = [call for call in fixture.expected.calls if client != "gemini" or _is_whole(fixture, call)]
    for upstream in CLIENTS:
        made = asked_again(answer, upstream, 1)
        entries = flat(upstream, made.body)
        calls, results = _of(entries, "call"), _of(entries, "result")
        assert [call.id for call in calls] == [result.id for result in results], upstream
        assert len({call.id for call in calls}) == len(calls), upstream
        assert [result.value for result in results] == answer.results, upstream
        assert len(calls) == len(expected), upstream
        for call, want in zip(calls, expected, strict=True):
            assert _is_same(call, want, upstream), (upstream, call)
        if upstream == fixture.dialect:
            _assert_own_ids(calls, expected, upstream)


def _of(entries: list[Entry], kind: str) -> list[Entry]:
    return [entry for entry in entries if entry.kind == kind]


def _is_whole(fixture: Fixture, call: Call) -> bool:
    """Half a call has no form for a gemini client."""
    return call.sound or fixture.expected.finish != "length"


def _is_same(call: Entry, want: Call, upstream: str) -> bool:
    """Whether it is the call that the upstream once made; a name may have an alias, broken arguments are wrapped."""
    if _is_legal(want.name, upstream) and call.name != want.name:
        return False
    if want.raw is None:
        return bool(json.loads(call.value) == want.arguments)
    return (
        want.raw in (call.value, *json.loads(call.value).values()) if call.value[:1] == "{" else call.value == want.raw
    )


def _is_legal(name: str, upstream: str) -> bool:
    return re.fullmatch(dialects.get(upstream).traits.tool_name, name) is not None


def _assert_own_ids(calls: list[Entry], expected: list[Call], upstream: str) -> None:
    """An upstream knows its calls again by the ids that it gave, unless it gave one twice or one that is too long."""
    given = [want.id for want in expected]
    longest = dialects.get(upstream).traits.call_id_longest or 1000
    for call, id in zip(calls, given, strict=True):
        if id and given.count(id) == 1 and len(id) <= longest and re.fullmatch("[A-Za-z0-9_-]+", id):
            assert call.id == id


# ---- proofs


@every_proof
def test_proofs_go_back_to_where_they_came_from(fixture: Fixture, client: str) -> None:
    answer = spoken(fixture, client)
    for stage in (1, 2):
        made = asked_again(answer, fixture.dialect, stage)
        assert _missing(fixture, client, made) == []


@every_proof
def test_proofs_that_a_client_forgets_are_put_back(fixture: Fixture, client: str) -> None:
    """Where they stand with a call: without one no upstream asks for them."""
    answer = spoken(fixture, client)
    if not answer.results or client == fixture.dialect:
        pytest.skip("nothing of it is kept in memory")
    history = going_on(forgetful(answer.kept), answer.results)
    assert not any(proof in text for text in strings(history) for proof in fixture.expected.opaque)
    made = sent(client, fixture.dialect, history, memory=answer.memory)
    assert _missing(fixture, client, made) == []
    assert refused(client, fixture.dialect, made, fixture.expected.opaque) == []
    without = sent(client, fixture.dialect, history)
    assert not set(fixture.expected.opaque) & set(strings(without.body))


@every_proof
def test_proofs_go_nowhere_else(fixture: Fixture, client: str) -> None:
    answer = spoken(fixture, client)
    for stranger in sorted(set(CLIENTS) - _homes(fixture, client)):
        for kept in (answer.kept, forgetful(answer.kept)):
            made = sent(client, stranger, going_on(kept, answer.results), memory=answer.memory)
            texts = strings(made.body)
            assert [text for text in texts for proof in fixture.expected.opaque if proof in text] == [], stranger
            assert [text for text in texts if text.startswith(SEAL)] == [], stranger


def _homes(fixture: Fixture, client: str) -> set[str]:
    """Where the proofs may go: to whom they came from. A chat client says itself whose they are."""
    return {fixture.dialect} | ({fixture.expected.maker or "chat", "chat"} if client == "chat" else set())


def _missing(fixture: Fixture, client: str, made: UpstreamRequest) -> list[str]:
    if (str(fixture), client) in FORGOTTEN:
        return []
    texts = strings(made.body)
    return [proof for proof in fixture.expected.opaque if proof not in texts]


# ---- prompt caches


@every_answer
def test_the_same_history_gives_the_same_bytes(fixture: Fixture, client: str) -> None:
    answer = spoken(fixture, client)
    for upstream in CLIENTS:
        first = asked_again(answer, upstream, 1)
        again = sent(client, upstream, going_on(answer.kept, answer.results), memory=answer.memory, seed="another")
        assert json.dumps(first.body) == json.dumps(again.body), upstream
        assert first.losses == again.losses


@every_answer
def test_a_longer_history_begins_with_the_shorter_one(fixture: Fixture, client: str) -> None:
    answer = spoken(fixture, client)
    for upstream in CLIENTS:
        bodies = [asked_again(answer, upstream, stage).body for stage in range(3)]
        for shorter, longer in pairwise(bodies):
            before, after = flat(upstream, shorter), flat(upstream, longer)
            assert after[: len(before)] == before, upstream
            assert len(after) > len(before)
            assert _ahead(upstream, shorter) == _ahead(upstream, longer), upstream


def _ahead(upstream: str, body: dict[str, Any]) -> dict[str, Any]:
    """All that stands before the history in a prompt. ``include`` is about the answer."""
    apart = (dialects.get(upstream).members.history, "include")
    return {name: value for name, value in body.items() if name not in apart}


@every_answer
def test_the_texts_arrive(fixture: Fixture, client: str) -> None:
    """The histories that are compared hold what they should."""
    answer = spoken(fixture, client)
    for upstream in CLIENTS:
        entries = flat(upstream, asked_again(answer, upstream, 2).body)
        texts = [entry.value for entry in entries if entry.role == "user" and entry.kind == "text"]
        assert texts == [PROMPT, *([] if answer.results else [THANKS]), MORE], upstream
        spoken_texts = [entry.value for entry in entries if entry.role == "assistant" and entry.kind == "text"]
        said = "".join(text for text in spoken_texts if text not in PUT_IN)
        assert "".join(said.split()) == "".join(f"{fixture.expected.text}{LAST}".split()), upstream
