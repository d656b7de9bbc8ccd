"""The library's front door: two dialects by name, bytes in, bytes out, no IO.

translator = Translator(client="messages", upstream="chat")
call = translator.request(client_body)          # method, path, headers, body for the upstream
translator.receive_head(200, {"content-type": "text/event-stream"})
for chunk in upstream_bytes:                    # in any cut
    translator.receive_data(chunk)
    send(translator.data_to_send())
translator.receive_eof()
send(translator.data_to_send())
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from dragoman import dialects, jsontext
from dragoman.canonical.errors import invalid_request
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.exceptions import InvalidRequest
from dragoman.streaming.body import StreamLimits
from dragoman.translate import Exchange


class Translator(Exchange):
    """One exchange between a client and an upstream of the named dialects.

    ``accepts`` are facts about the upstream (design/requests.md, 7). ``ids`` is the seed of the ids
    that have to be made; by default it comes from the client's body, so that the same exchange
    gives the same bytes, and two turns of one history never share an id. ``now`` is a Unix time
    in seconds, for dialects that date their answers. ``strict``: a request of which something would be lost is
    refused.

    Raises ``KeyError`` for an unknown dialect and ``ValueError`` for unknown facts.
    """

    def __init__(
        self,
        *,
        client: str,
        upstream: str,
        accepts: Mapping[str, Any] | None = None,
        ids: str | None = None,
        now: int = 0,
        limits: StreamLimits | None = None,
        strict: bool = False,
    ) -> None:
        try:
            facts = msgspec.convert(dict(accepts or {}), Facts)
        except msgspec.ValidationError as fault:
            raise ValueError(f"accepts: {fault}") from None
        super().__init__(
            dialects.get(client),
            dialects.get(upstream),
            seed=ids or "",
            now=now,
            facts=facts,
            limits=limits,
            strict=strict,
        )
        self._seeded = ids is not None

    def request(
        self,
        body: bytes | str | dict[str, Any],
        upstream_model: str | None = None,
        *,
        path_model: str | None = None,
        path_stream: bool | None = None,
        array: bool = False,
        echo: Mapping[str, Any] | None = None,
    ) -> UpstreamRequest:
        """The client's request for the upstream; ``upstream_model`` is another name of the model there.

        ``path_model`` and ``path_stream`` are what a gemini client says in its path. Raises
        ``InvalidRequest``, whose ``error`` the client dialect's ``render_error`` writes down.
        """
        raw = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else jsontext.render(body)
        if not self._seeded:
            self._seed = blake2b(raw, digest_size=12).hexdigest()
        if not isinstance(body, dict):
            try:
                body = jsontext.parse(raw)
            except ValueError as fault:
                raise InvalidRequest(invalid_request(f"the body is no JSON: {fault}")) from None
        if not isinstance(body, dict):
            raise InvalidRequest(invalid_request("the body must be a JSON object"))
        model = upstream_model or path_model or body.get("model") or ""
        return super().request(body, str(model), path_model=path_model, path_stream=path_stream, array=array, echo=echo)
