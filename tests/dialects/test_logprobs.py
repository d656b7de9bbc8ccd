"""Log probabilities cross: every client that has a place for them gets those of every upstream that gives them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import Translator, dialects
from dragoman.canonical.logprobs import Token, token

JSON = dict[str, Any]

THREE = ("chat", "responses", "gemini")
ASKS: dict[str, JSON] = {
    "chat": {"messages": [{"role": "user", "content": "?"}], "logprobs": True, "top_logprobs": 2},
    "responses": {"input": "?", "include": ["message.output_text.logprobs"], "top_logprobs": 2},
    "messages": {"messages": [{"role": "user", "content": "?"}], "max_tokens": 9},
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "?"}]}],
        "generationConfig": {"responseLogprobs": True, "logprobs": 2},
    },
}
SAID = [("Grüß", -0.25, [("Grüß", -0.25), ("Hi", -2.0)]), (" Gott", -0.5, [(" Gott", -0.5), (" you", -3.0)])]
"""Each token with its logarithm, and with the likeliest ones."""


def entry(token: str, logprob: float, top: list[tuple[str, float]]) -> JSON:
    def told(token: str, logprob: float) -> JSON:
        return {"token": token, "logprob": logprob, "bytes": list(token.encode())}

    return {**told(token, logprob), "top_logprobs": [told(*one) for one in top]}


def result(said: list[Any]) -> JSON:
    def told(token: str, logprob: float) -> JSON:
        return {"token": token, "logProbability": logprob}

    return {
        "chosenCandidates": [told(token, logprob) for token, logprob, _ in said],
        "topCandidates": [{"candidates": [told(*one) for one in top]} for _, _, top in said],
    }


def frames(upstream: str) -> bytes:
    """The answer as a stream, a token in each delta."""
    events: list[JSON]
    if upstream == "chat":
        events = [
            {"choices": [{"index": 0, "delta": {"content": one[0]}, "logprobs": {"content": [entry(*one)]}}]}
            for one in SAID
        ]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    elif upstream == "responses":
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        events = [
            {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            *(
                {"type": "response.output_text.delta", **place, "delta": one[0], "logprobs": [entry(*one)]}
                for one in SAID
            ),
            {"type": "response.completed", "response": body("responses")},
        ]
    else:
        events = [
            {"candidates": [{"content": {"parts": [{"text": one[0]}]}, "logprobsResult": result([one])}]}
            for one in SAID
        ]
        events.append({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]})
    return b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)


def body(upstream: str) -> JSON:
    """The answer as a whole."""
    text, entries = "".join(token for token, _, _ in SAID), [entry(*one) for one in SAID]
    if upstream == "chat":
        message = {"role": "assistant", "content": text}
        return {
            "choices": [{"index": 0, "message": message, "logprobs": {"content": entries}, "finish_reason": "stop"}]
        }
    if upstream == "responses":
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": entries}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        return {"id": "resp_1", "object": "response", "status": "completed", "output": [item]}
    return {
        "candidates": [{"content": {"parts": [{"text": text}]}, "logprobsResult": result(SAID), "finishReason": "STOP"}]
    }


def answer(client: str, upstream: str, *, stream: bool) -> list[JSON]:
    """What the client gets: events, or one body. A strict client finds nothing to reject."""
    translator = Translator(client=client, upstream=upstream)
    streamed = {} if client == "gemini" else {"model": "m", "stream": stream}
    translator.request({**ASKS[client], **streamed}, path_model="m", path_stream=stream)
    kind = "text/event-stream" if stream else "application/json"
    translator.receive_head(200, {"content-type": kind})
    translator.receive_data(frames(upstream) if stream else json.dumps(body(upstream)).encode())
    translator.receive_eof()
    data = translator.data_to_send()
    assert dialects.get(client).check(data) == []
    if not stream:
        return [json.loads(data)]
    lines = [line[6:] for line in data.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def probabilities(client: str, events: list[JSON]) -> list[Any]:
    """What the events say, or the body; joined, in the client's form."""
    if client == "chat":
        choices = [choice for event in events for choice in event["choices"]]
        held = [choice["logprobs"]["content"] for choice in choices if choice.get("logprobs")]
        return [one for list_ in held for one in list_]
    if client == "responses":
        deltas = [one for event in events for one in event.get("logprobs") or [] if event["type"].endswith(".delta")]
        last = events[-1].get("response", events[-1])
        whole = [one for item in last["output"] for part in item["content"] for one in part["logprobs"]]
        assert len(events) == 1 or deltas == whole
        return whole
    results = [candidate.get("logprobsResult") or {} for event in events for candidate in event["candidates"]]
    chosen = [one for result in results for one in result.get("chosenCandidates", [])]
    tops = [one["candidates"] for result in results for one in result.get("topCandidates", [])]
    return list(zip(chosen, tops, strict=True))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("upstream", THREE)
@pytest.mark.parametrize("client", THREE)
def test_they_arrive_in_the_clients_form(client: str, upstream: str, stream: bool) -> None:
    found = probabilities(client, answer(client, upstream, stream=stream))
    if client == "gemini":
        wanted = result(SAID)
        tops = [top["candidates"] for top in wanted["topCandidates"]]
        assert found == list(zip(wanted["chosenCandidates"], tops, strict=True))
    else:
        assert found == [entry(*one) for one in SAID]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("upstream", THREE)
def test_a_client_without_a_place_for_them_gets_the_text(upstream: str, stream: bool) -> None:
    assert "logprob" not in json.dumps(answer("messages", upstream, stream=stream))


@pytest.mark.parametrize(
    "odd",
    [{}, {"token": 1, "logprob": -1}, {"token": "x", "logprob": True}, {"token": "x", "logprob": None}, "x", None],
)
def test_what_is_no_token_is_left_out(odd: Any) -> None:
    translator = Translator(client="gemini", upstream="chat")
    translator.request(ASKS["gemini"], path_model="m", path_stream=False)
    translator.receive_head(200, {"content-type": "application/json"})
    held = {**body("chat")["choices"][0], "logprobs": {"content": [odd, {"token": "y", "logprob": -1, "bytes": "?"}]}}
    translator.receive_data(json.dumps({"choices": [held]}).encode())
    translator.receive_eof()
    (candidate,) = json.loads(translator.data_to_send())["candidates"]
    assert candidate["logprobsResult"] == {"chosenCandidates": [{"token": "y", "logProbability": -1.0}]}


@pytest.mark.parametrize("client", [*THREE, "messages"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_logarithm_beyond_all_floats_is_left_out(client: str, sign: str) -> None:
    translator = Translator(client=client, upstream="chat")
    named = {} if client == "gemini" else {"model": "m"}
    translator.request({**ASKS[client], **named}, path_model="m", path_stream=False)
    translator.receive_head(200, {"content-type": "application/json"})
    held = json.dumps({"choices": [{**body("chat")["choices"][0], "logprobs": {"content": ["odd"]}}]})
    translator.receive_data(held.replace('"odd"', f'{{"token":"x","logprob":{sign}1{"0" * 400}}}').encode())
    translator.receive_eof()
    data = translator.data_to_send()
    assert "Grüß Gott".encode() in data
    assert client == "chat" or b'"token":"x"' not in data


def test_bytes_that_are_none_are_those_of_the_token() -> None:
    assert token("é", -1, [999, -4]) == token("é", -1, None) == Token("é", -1.0, (195, 169))
