"""Events that repeat the last one but for their text: which are taken for such, and that it makes no difference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import dialects
from dragoman.canonical import events as e
from dragoman.streaming.encoder import StreamEncoder
from dragoman.streaming.repetition import Repetition, Said
from dragoman.translate import Exchange

DATA = b'{"n":7,"of":{"id":"x","text":" one"}}'
EVENT = b"event: more\ndata: " + DATA + b"\n\n"


def learned(data: bytes = DATA, text: str = " one", varying: Mapping[str, bool] | None = None) -> Repetition:
    repetition = Repetition(varying or {})
    assert repetition.learn(b"event: more\ndata: " + data + b"\n\n", data, text)
    return repetition


def like(text: str, n: str = "7") -> bytes:
    return EVENT.replace(b'" one"', text.encode()).replace(b"7", n.encode())


@pytest.mark.parametrize(
    ("text", "said"),
    [('" two"', " two"), (r'"\"\\\n"', '"\\\n'), (r'"\ud83d\ude00"', "😀"), ('"é"', "é"), ('" one"', " one")],
)
def test_another_text_is_read(text: str, said: str) -> None:
    assert learned().read(like(text)) == [(said,)]


def test_several_events_in_one_read() -> None:
    assert learned().read(like('"a"') + like('"b"') + like('"c"')) == [("a",), ("b",), ("c",)]
    assert learned(varying={"n": False}).read(like('"a"', "8") + like('"b"', "9")) == [("a",), ("b",)]


@pytest.mark.parametrize(
    "event",
    [
        like('""'),  # no text: most decoders have a rule for that
        like("null"),
        like('{"text":"a"}'),
        like(' "a"'),
        like('"a","more":"b"'),
        like('"a"').replace(b'"x"', b'"y"'),
        like('"a"', "8"),
        like('"a"')[:-1],
        like('"a"')[5:],
        like('"a"') + b": a comment\n\n",
        like('"a"') + like("7"),
        like('"\n"'),
        like(r'"\ud83d"'),  # half a character: the other half may follow
        EVENT.replace(b" one", b"\xff"),
        b"",
    ],
)
def test_anything_else_has_to_be_decoded(event: bytes) -> None:
    assert learned().read(event) == []


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"a":"m","text":"m"}', "m"),
        (b'{"text":"\\u006d","a":"m"}', "m"),
        (b'{"m":1,"text":"\\u006d"}', "m"),
        (b'{"a":"x\\"m","text":"\\u006d"}', "m"),
        (b'{"text":{"of":1}}', '{"of":1}'),
        (b'{"a":"b","text":"\\u002c"}', ","),
        (b'{"a":["b","c"],"text":"\\u003a","d":1}', ","),
        (b'{"text":"one"}', "another"),
    ],
)
def test_a_text_whose_place_is_not_certain_teaches_nothing(data: bytes, text: str) -> None:
    assert not Repetition({}).learn(b"data: " + data + b"\n\n", data, text)


def test_members_that_nobody_reads_may_differ() -> None:
    repetition = learned(varying={"n": False, "pad": False})
    assert repetition.read(like('"a"', "8")) == [("a",)]
    assert repetition.read(like('"a"', '"abc"')) == [("a",)]
    assert repetition.read(like('"a"', "08")) == []
    assert repetition.read(like('"a"', "8,9")) == []


COUNTS = b' {"i":4, "of":[{"kind":"TEXT","n":10}],"x":null,"share":0.5}'


def with_counts(value: bytes, text: bytes) -> bytes:
    return b"event: more\ndata: " + DATA[:-1].replace(b" one", text) + b',"counts":' + value + b"}\n\n"


@pytest.mark.parametrize(
    "value",
    [
        COUNTS,
        COUNTS.replace(b"4", b"0").replace(b"10", b"123456789"),
        COUNTS.replace(b"0.5", b"12.25"),
    ],
)
def test_members_that_are_told(value: bytes) -> None:
    repetition = learned(DATA[:-1] + b',"counts":' + COUNTS + b"}", varying={"counts": True})
    assert repetition.read(with_counts(value, b"a")) == [("a", value)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"4", b"04"),
        (b"4", b""),
        (b"4", b"-4"),
        (b"4", b"null"),
        (b"null", b"1"),
        (b'"of"', b'"if"'),
        (b"TEXT", b"SOUND"),
        (b',"share"', b',"y":1,"share"'),
        (b',"share":0.5', b""),
        (b"[", b"[{},"),
        (b"10", b"1234567890"),
        (b"}]", b"]"),
    ],
)
def test_members_that_are_told_as_they_never_were(old: bytes, new: bytes) -> None:
    """Whoever is told only the last of several may rely on it: their members are the same."""
    repetition = learned(DATA[:-1] + b',"counts":' + COUNTS + b"}", varying={"counts": True})
    assert repetition.read(with_counts(COUNTS.replace(old, new), b"a")) == []


@pytest.mark.parametrize("value", [b'{"i_o":4}', b'{"i":"}"}', b'{"i":{"j":{"k":1}}}'])
def test_what_is_not_learned_as_told(value: bytes) -> None:
    repetition = learned(DATA[:-1] + b',"counts":' + value + b"}", varying={"counts": True})
    assert repetition.read(with_counts(value, b"a")) == [("a",)]
    assert repetition.read(with_counts(value.replace(b"4", b"5").replace(b"1", b"2").replace(b'}"', b'{"'), b"a")) == []


def test_only_outermost_members_may_differ() -> None:
    repetition = learned(varying={"id": False})
    assert repetition.read(like('"a"').replace(b'"x"', b'"y"')) == []


def test_what_never_repeats_is_soon_given_up() -> None:
    repetition = Repetition({})
    tries = [repetition.learn(like('"a"', str(n)), like('"a"', str(n))[18:-2], "a") for n in range(20)]
    assert tries[0]
    assert not tries[-1]


# ---- of whole streams


def _chat(text: str, odd: Any) -> Any:
    delta = {"content": text} if odd != "call" else {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}
    finish = "stop" if odd == "finish" else None
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _messages(text: str, odd: Any) -> Any:
    delta = {"type": "text_delta", "text": text}
    if odd == "call":
        delta = {"type": "input_json_delta", "partial_json": text}
    return {"type": "content_block_delta", "index": 1 if odd == "finish" else 0, "delta": delta}


def _responses(text: str, odd: Any) -> Any:
    if odd == "call":
        return {"type": "response.function_call_arguments.delta", "item_id": "f", "output_index": 1, "delta": text}
    place = {"item_id": "i", "output_index": 0, "content_index": 1 if odd == "finish" else 0}
    return {"type": "response.output_text.delta", "sequence_number": len(text), **place, "delta": text, "logprobs": []}


def _gemini(text: str, odd: Any) -> Any:
    parts = [{"text": text}] if odd != "call" else [{"text": text}, {"text": text}]
    more = {"finishReason": "STOP"} if odd == "finish" else {}
    usage: dict[str, Any] = {
        "promptTokenCount": len(text),
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": len(text)}],
    }
    if text == "ab":
        usage["thoughtsTokenCount"] = 3
    candidate = {"content": {"parts": parts, "role": "model"}, "index": 0, **more}
    counts = {} if text == "é" else {"usageMetadata": usage}
    return {"candidates": [candidate], **counts, "modelVersion": "m"}


STREAMS = {"chat": _chat, "messages": _messages, "responses": _responses, "gemini": _gemini}
texts = st.sampled_from(
    ["a", "ab", " b", "m", "", "<think>", "</think>", '"', "\\", '{"', "{}", "é", "\ud83d", "\ude00"]
)
oddities = st.sampled_from(["", "", "", "", "", "", "call", "finish"])


def test_counts_outlive_chunks_without_them() -> None:
    said = [(text, "") for text in ("a", "ab", " b", "a b", "é", "é")] + [("é", "finish")]
    events = [b"data: " + json.dumps(_gemini(text, odd)).encode() + b"\n\n" for text, odd in said]
    assert b'"input_tokens":3,' in answered("gemini", "responses", events)[0]


@pytest.mark.parametrize("upstream", STREAMS)
@pytest.mark.parametrize("client", ["chat", "responses"])
@given(said=st.lists(st.tuples(texts, oddities, st.booleans()), max_size=12))
def test_it_makes_no_difference(upstream: str, client: str, said: list[tuple[str, str, bool]]) -> None:
    body = [
        b"data: "
        + json.dumps(STREAMS[upstream](text, odd), ensure_ascii=ascii or "\ud800" <= text <= "\udfff").encode()
        for text, odd, ascii in said
    ]
    events = [event + b"\n\n" for event in body]
    whole = b"".join(events)
    one_by_one = answered(upstream, client, events)
    assert one_by_one == answered(upstream, client, [whole[place : place + 5] for place in range(0, len(whole), 5)])
    assert one_by_one == answered(upstream, client, [b"".join(events[n : n + 2]) for n in range(0, len(events), 2)])


def answered(upstream: str, client: str, reads: list[bytes]) -> tuple[bytes, dict[str, int], dict[str, int]]:
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed="again", now=1_700_000_000)
    exchange.begin(streaming=True)
    exchange.receive_head(200, {})
    out = []
    for read in reads:
        exchange.receive_data(read)
        out.append(exchange.data_to_send())
    exchange.receive_eof()
    return b"".join((*out, exchange.data_to_send())), exchange.quirks, exchange.dropped


def words(upstream: str, number: int = 200) -> list[bytes]:
    """So many events, each with another word."""
    return [b"data: " + json.dumps(STREAMS[upstream](f" word{n}", "")).encode() + b"\n\n" for n in range(number)]


@pytest.mark.parametrize("upstream", STREAMS)
def test_it_is_used(upstream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long stream hardly an event is decoded."""
    found: list[Said] = []
    original = Repetition.read

    def read(self: Repetition, data: bytes) -> list[Said]:
        said = original(self, data)
        found.extend(said)
        return said

    monkeypatch.setattr(Repetition, "read", read)
    answered(upstream, "chat", words(upstream))
    assert len(found) > 190


@pytest.mark.parametrize("upstream", STREAMS)
@pytest.mark.parametrize("client", dialects.names())
def test_such_text_goes_to_the_client_without_events(
    upstream: str, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: list[type] = []
    original = StreamEncoder.write

    def write(self: StreamEncoder, events: list[e.Event]) -> None:
        kinds.extend(map(type, events))
        original(self, events)

    monkeypatch.setattr(StreamEncoder, "write", write)
    out, _, _ = answered(upstream, client, words(upstream))
    assert kinds.count(e.TextDelta) < 10
    assert out.count(b" word") >= 200


def test_what_follows_text_in_the_same_read_goes_out_at_once() -> None:
    """What repeats then are the arguments, and not the text, whose passage is over."""

    def event(delta: dict[str, Any]) -> bytes:
        return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"

    def more(arguments: str, **opening: str) -> bytes:
        function = {"arguments": arguments} | ({"name": "run"} if opening else {})
        return event({"tool_calls": [{"index": 0, "function": function, **opening}]})

    exchange = Exchange(dialects.get("messages"), dialects.get("chat"), seed="again", now=1_700_000_000)
    exchange.begin(streaming=True)
    exchange.receive_head(200, {})
    for read in (*words("chat", 4), words("chat", 1)[0] + more("", id="c") + more('{"of": "')):
        exchange.receive_data(read)
    exchange.data_to_send()
    for number in range(5):
        exchange.receive_data(more(f"part{number}"))
        assert b"part%d" % number in exchange.data_to_send()


def test_what_has_to_know_the_text_gets_it_in_events() -> None:
    """Not streamed: the whole answer is made of what was told."""
    exchange = Exchange(dialects.get("messages"), dialects.get("chat"), seed="again", now=1_700_000_000)
    exchange.begin(streaming=False)
    exchange.receive_head(200, {})
    end = b"data: " + json.dumps(STREAMS["chat"]("", "finish")).encode() + b"\n\n"
    for event in (*words("chat", 50), end):
        exchange.receive_data(event)
    exchange.receive_eof()
    assert exchange.data_to_send().count(b" word") == 50
