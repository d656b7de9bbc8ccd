"""Two dialects joined: one client request and its whole answer, without IO.

``Exchange`` is what the gateway drives: it holds the head of the answer back until something real was
said, so that an early failure gets a true HTTP status (design/streams.md, 7).

    client body ─ request ─▶ upstream request
    upstream bytes ─ receive_* ─▶ decoder ▶ assembler ▶ encoder ─ data_to_send ─▶ client bytes
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.canonical.request import Loss, Request
from dragoman.crossing import cross, identities
from dragoman.dialects.contract import Dialect, Facts, UpstreamRequest
from dragoman.exceptions import LocalProtocolError, RemoteProtocolError
from dragoman.memory import AnswerRecorder, ReasoningMemory, reminded
from dragoman.names import ToolIdentity
from dragoman.scrub import scrubbed_error
from dragoman.streaming.accumulate import Accumulator
from dragoman.streaming.answer import AnswerAssembler, DecodeContext
from dragoman.streaming.body import BodyReader, Document, Record, StreamLimits, describe
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids

ERROR_BODY_BYTES = 64 << 10
"""How much of an upstream's error body is read (bytes)."""


class AnswerHead(msgspec.Struct, frozen=True):
    """The status and the headers with which the client's answer begins (names in lower case)."""

    status: int
    headers: dict[str, str]


class Exchange:
    """One client request and its answer, from bytes to bytes.

    ``seed`` makes ids (unique for each exchange), ``now`` is a Unix time in seconds. ``memory`` puts back the
    reasoning that clients forget, apart for each ``scope`` (a client). ``secrets`` are taken out of errors. First ``request``,
    then ``receive_head``, ``receive_data`` any number of times and ``receive_eof`` or ``receive_failure``;
    after each, ``head`` and ``data_to_send`` tell what the client gets.
    """

    def __init__(
        self,
        client: Dialect,
        upstream: Dialect,
        *,
        seed: str,
        now: int,
        request_id: str = "",
        facts: Facts | None = None,
        limits: StreamLimits | None = None,
        memory: ReasoningMemory | None = None,
        scope: str = "",
        secrets: Sequence[str] = (),
    ) -> None:
        self.client = client
        self.upstream = upstream
        self.head: AnswerHead | None = None
        """``None`` while it is held back."""
        self.streaming = False
        """Whether the client wants a stream."""
        self.error: Error | None = None
        """What the client was told of a failure."""
        self.finish: str | None = None
        self.usage: e.Usage | None = None
        self.losses: tuple[Loss, ...] = ()
        self._seed = seed
        self._now = now
        self._request_id = request_id
        self._facts = facts or Facts()
        self._limits = limits or StreamLimits()
        self._memory = memory
        self._scope = scope
        self._secrets = secrets
        self._recorder = AnswerRecorder(memory, scope, upstream.name, now) if memory is not None else None
        self._out: list[bytes] = []
        self._status = 0
        self._headers: Mapping[str, str] = {}
        self._error_body = b""
        self._over = False
        self._model = ""
        self._array = False

    # ---- the request

    def request(
        self,
        body: dict[str, Any],
        upstream_model: str,
        *,
        path_model: str | None = None,
        path_stream: bool | None = None,
        array: bool = False,
    ) -> UpstreamRequest:
        """The request for the upstream. Model and stream come from the path where the client's dialect has them there.

        Raises ``InvalidRequest``.
        """
        parsed = self.client.parse_request(body, path_model, path_stream)
        self._model = parsed.model
        self.streaming = parsed.stream
        self._array = array
        asked = msgspec.structs.replace(parsed, model=upstream_model)
        if self.client is self.upstream:
            made = self.upstream.adapt_request(body, asked, self._facts)
            tools = identities(asked)
        else:
            if self._memory is not None:
                asked = reminded(asked, self._memory, self._scope, self.upstream.name, self._now)
            crossing, tools = cross(asked, self.upstream, self._facts)
            made = self.upstream.render_request(crossing, self._facts)
        self.losses = made.losses
        self.begin(parsed, tools)
        return made

    def begin(self, request: Request | None, tools: Mapping[str, ToolIdentity] | None = None) -> None:
        """Sets up the way back; ``request`` calls it. Without a request nothing is known of tools and choices."""
        if request is not None and tools is None:
            tools = identities(request)
        pattern = self.client.traits.call_id
        native = request is None or self.client is self.upstream
        self._assembler = AnswerAssembler(
            DecodeContext(
                origin=self.upstream.name,
                ids=Ids(self._seed),
                tools=tools,
                choices=request.choices if request is not None else 1,
                legal_id=re.compile(pattern) if pattern else None,
                freeform_client=native and self.client.traits.custom_calls,
                open_calls=self._limits.open_calls,
            )
        )
        self._decoder = self.upstream.decoder(self._assembler)
        self._body = BodyReader(self._limits, self._assembler.quirk)
        self._context = EncodeContext(
            model=self._model,
            ids=Ids(self._seed + ":client"),
            now=self._now,
            request=request,
            stream_usage=request.stream_usage if request is not None else True,
            array=self._array,
        )
        self._encoder = self.client.encoder(self._context)
        self._whole = Accumulator()

    # ---- the answer

    @property
    def finished(self) -> bool:
        """The answer is over: nothing more is wanted from the upstream."""
        return self._over

    @property
    def failed(self) -> bool:
        """The answer is an error, or ends in one."""
        return self.error is not None

    @property
    def dropped(self) -> dict[str, int]:
        """Content of the upstream's answer that had no form on the way, and how often."""
        return self._assembler.losses

    @property
    def quirks(self) -> dict[str, int]:
        """How often each oddity of the upstream was repaired, by its slug."""
        return self._assembler.quirks

    def receive_head(self, status: int, headers: Mapping[str, str]) -> None:
        """The upstream's status and headers (names in lower case)."""
        self._status, self._headers = status, headers

    def receive_data(self, data: bytes) -> None:
        """Bytes of the upstream's body, in any cut."""
        if self._over:
            return
        if self._status >= 300:
            self._error_body = (self._error_body + data)[:ERROR_BODY_BYTES]
            return
        try:
            self._decode(self._body.feed(data))
        except RemoteProtocolError as fault:
            self._assembler.abort(Error(kind=ErrorKind.BAD_UPSTREAM, message=str(fault)))
        self._emit()

    def receive_eof(self) -> None:
        """The upstream's body is over."""
        if self._over:
            return
        if self._status >= 300:
            self._fail(scrubbed_error(self._error_of_status(), self._secrets))
            return
        try:
            self._decode(self._body.finish())
        except RemoteProtocolError as fault:
            self._assembler.abort(Error(kind=ErrorKind.BAD_UPSTREAM, message=str(fault)))
        if not self._body.records and (looks := self._body.rubbish):
            message = f"the upstream's answer is not a completion: {looks}"
            self._assembler.fail(Error(kind=ErrorKind.BAD_UPSTREAM, message=message))
        self._decoder.finish()
        self._assembler.close()
        self._emit()

    def receive_failure(self, error: Error) -> None:
        """The exchange with the upstream failed: no connection, a time-out, a broken transfer."""
        if self._over:
            return
        if self._status >= 300:
            self._fail(scrubbed_error(self._error_of_status(), self._secrets))
            return
        self._assembler.abort(error)
        self._emit()

    def open_head(self) -> None:
        """The head has been held long enough: the client gets a 200 now, and failures travel in the stream."""
        if self.head is None and not self._over and self.streaming:
            self._assembler.open()
            self._emit()

    def data_to_send(self) -> bytes:
        """The bytes for the client since the last call."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def _decode(self, records: list[Record]) -> None:
        for record in records:
            if self._assembler.closed:
                return
            if type(record) is Document:
                self._decode_document(record.data)
            else:
                self._decoder.decode(record)  # type: ignore[arg-type]

    def _decode_document(self, data: bytes) -> None:
        try:
            body = jsontext.parse(data)
        except ValueError as fault:
            self._assembler.fail(
                Error(kind=ErrorKind.BAD_UPSTREAM, message=f"the upstream's JSON is malformed: {fault}")
            )
            return
        self._decoder.decode_body(body)

    def _emit(self) -> None:
        events = self._assembler.take()
        if not events:
            return
        if self._recorder is not None:
            self._recorder.add(events)
        last = events[-1]
        if type(last) is e.ResponseError:
            last = events[-1] = e.ResponseError(scrubbed_error(last.error, self._secrets))
        if self.head is None and type(last) is e.ResponseError and (len(events) == 1 or not self.streaming):
            self._fail(last.error)
            return
        if self.streaming:
            self._send_stream(events)
        else:
            self._whole.add(events)
            if type(last) is e.ResponseEnd:
                self._send_whole()
        self._note(events)

    def _send_stream(self, events: list[e.Event]) -> None:
        if self.head is None:
            kind = "application/json" if self._array else "text/event-stream"
            self.head = AnswerHead(200, {"content-type": kind, "cache-control": "no-cache"})
        self._out.append(self._encoder.encode(events))

    def _send_whole(self) -> None:
        response = self._whole.response
        if response is None:
            raise LocalProtocolError("a stream ended without a whole response")
        self.head = AnswerHead(200, {"content-type": "application/json"})
        self._out.append(jsontext.render(self.client.render_response(response, self._context)))

    def _note(self, events: list[e.Event]) -> None:
        for event in events[-2:]:
            match event:
                case e.UsageUpdate(usage):
                    self.usage = usage
                case e.ResponseEnd(finish=finish):
                    self.finish, self._over = finish.value, True
                case e.ResponseError(error):
                    self.error, self._over = error, True

    # ---- failures

    def _error_of_status(self) -> Error:
        """The error in an upstream's answer with an error status."""
        try:
            body: Any = jsontext.parse(self._error_body)
        except ValueError:
            body = describe(self._error_body)
        error = self.upstream.parse_error(self._status, body)
        if self._status < 400:
            message = f"the upstream answered with the redirect {self._status}, which is not followed"
            error = Error(kind=ErrorKind.BAD_UPSTREAM, message=message)
        elif error.kind in (ErrorKind.AUTHENTICATION, ErrorKind.PERMISSION) or self._status in (401, 403):
            message = f"the upstream {self.upstream.name} server refused the gateway's own key: {error.message}"
            error = Error(kind=ErrorKind.BAD_UPSTREAM, message=message, code="upstream_refused_gateway")
        if error.retry_after is None and (seconds := _seconds(self._headers.get("retry-after", ""))) is not None:
            error = msgspec.structs.replace(error, retry_after=seconds)
        return error

    def _fail(self, error: Error) -> None:
        """Nothing went out yet: the client gets an HTTP status and an error body."""
        self.error, self._over = error, True
        body = self.client.render_error(error, self._request_id)
        headers = {"content-type": "application/json", **self.client.error_headers(error)}
        self.head = AnswerHead(self.client.status_of(error), headers)
        self._out.append(jsontext.render(body))


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
