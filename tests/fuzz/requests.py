"""Any request of a client, on its way to an upstream of any dialect."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

from dragoman import dialects, jsontext
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.exceptions import InvalidRequest
from dragoman.testing import validate
from dragoman.translate import Exchange
from tests import neighbour
from tests.asking import CLIENTS, ask
from tests.roundtrips.captures import captures
from tests.roundtrips.turns import VERSION
from tests.testing import test_chat, test_gemini, test_messages, test_responses

OPTIONS = 2
_PATH = re.compile(r"(?:/[A-Za-z0-9_:-]+(?:\.[A-Za-z0-9_:-]+)*)+(?:\?alt=sse)?")
FACTS = (
    Facts(),
    Facts(stream_usage=False, reasoning_model=True, assistant_prefill=False),
    Facts(thinking="budget", gemini_thinking="budget", max_thinking_budget=2000, mid_conversation_system=False),
    Facts(gemini_schema="openapi-subset", structured_output=False, exclusive_sampling=True, stateless_upstream=True),
    Facts(thinking=False, betas="passthrough", max_output_tokens=100),
)
SOUND: dict[str, Any] = {
    "chat": test_chat.BODY,
    "responses": test_responses.BODY,
    "messages": test_messages.BODY,
    "gemini": test_gemini.BODY,
}


def request(client: str, data: bytes) -> None:
    """Whatever body comes: translated, always to the same request, or refused in words that name a field; what is sound stays sound."""
    options = (data + bytes(OPTIONS))[:OPTIONS]
    try:
        body = jsontext.parse(data[OPTIONS:])
    except ValueError:
        return
    if not isinstance(body, dict):
        return
    upstream, facts = CLIENTS[options[0] % 4], FACTS[options[1] % len(FACTS)]
    before = jsontext.render(body)
    made = _sent(client, upstream, body, facts)
    assert jsontext.render(body) == before, "the client's own body was changed"
    assert made == _sent(client, upstream, copy.deepcopy(body), facts), "the same request gives another one"
    if made is None:
        return
    written = jsontext.render(made.body)
    assert isinstance(jsontext.parse(written), dict)
    assert all(name.isascii() and value.isascii() and value.isprintable() for name, value in made.headers.items())
    assert _PATH.fullmatch(made.path)
    if client != upstream and not validate(client, body, headers=VERSION if client == "messages" else None):
        found = validate(upstream, jsontext.parse(written), headers={**VERSION, **made.headers})
        if facts.gemini_thinking == "budget":  # models of that time take calls without a signature
            found = [fault for fault in found if "must be signed" not in fault]
        assert not found, f"refused there: {found[0]}"


def _sent(client: str, upstream: str, body: dict[str, Any], facts: Facts) -> UpstreamRequest | None:
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed="fuzz", now=1_700_000_000, facts=facts)
    in_path: dict[str, Any] = {"path_model": "m", "path_stream": True} if client == "gemini" else {}
    try:
        return exchange.request(body, "m", **in_path)
    except InvalidRequest as refusal:
        error = refusal.error
    assert 400 <= error.status < 500
    assert error.param, f"no field is named: {error.message}"
    assert dialects.get(client).check(jsontext.render(dialects.get(client).render_error(error, ""))) == []
    return None


def seeds(client: str) -> Iterator[bytes]:
    """Requests with a bit of everything, and those of agents and of the judges where their folder is."""
    folder = neighbour.PLACE / "cases" / "requests"
    bodies = [SOUND[client], ask(client, "m").body]
    bodies += [json.loads(path.read_bytes()) for path in sorted(folder.glob(f"{client}-to-*/request.json"))]
    bodies += [capture.body for capture in captures() if capture.dialect == client]
    for number, body in enumerate(bodies):
        for upstream in range(4):
            yield bytes([upstream, (number + upstream) % len(FACTS)]) + json.dumps(body).encode()
