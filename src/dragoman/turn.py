"""One upstream turn, without IO: the bytes of one answer to canonical events.

A failure before the answer, in whatever form, is a lone ``ResponseError``; so are an error status and
a body that is no answer.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.canonical.errors import Error, ErrorKind
from dragoman.dialects.contract import Dialect
from dragoman.exceptions import RemoteProtocolError
from dragoman.failures import accounted
from dragoman.scrub import scrubbed_error
from dragoman.streaming.answer import AnswerAssembler, DecodeContext
from dragoman.streaming.body import BodyReader, Document, Record, StreamLimits, describe
from dragoman.streaming.repetition import Repetition
from dragoman.streaming.sse import ServerSentEvent

_DATE = re.compile(
    r"[A-Z][a-z]{2}, (?P<day>\d\d) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4})"
    r" (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d) GMT",
    re.ASCII,
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


class UpstreamTurn:
    """Bytes in, events out.

    ``now`` is a Unix time in seconds. ``secrets`` are taken out of what the upstream says of its failures.
    """

    def __init__(
        self, upstream: Dialect, context: DecodeContext, limits: StreamLimits, now: float, secrets: Sequence[str] = ()
    ) -> None:
        self.upstream = upstream
        self.finished = False
        """Nothing more is wanted from the upstream."""
        self._now = now
        self._secrets = secrets
        self._assembler = AnswerAssembler(context)
        self._decoder = upstream.decoder(self._assembler)
        self._body = BodyReader(limits, self._assembler.quirk)
        self._repetition = Repetition(self._decoder.varying)
        self._go_on: Callable[..., object] | None = None  # with the text of an event like the last one
        self._status = 0
        self._headers: Mapping[str, str] = {}
        self._error_body = b""
        self._error_limit = limits.error

    @property
    def quirks(self) -> dict[str, int]:
        """How often each oddity of the upstream was repaired, by its slug."""
        return self._assembler.quirks

    @property
    def dropped(self) -> dict[str, int]:
        """Content of the answer that had no form on the way, and how often."""
        return self._assembler.losses

    def receive_head(self, status: int, headers: Mapping[str, str]) -> None:
        """The status and the headers (names in lower case)."""
        self._status, self._headers = status, headers

    def receive_data(self, data: bytes) -> list[e.Event]:
        """Bytes of the body, in any cut."""
        if self._status >= 300:
            return self._receive_error(data)
        try:
            go_on = self._go_on
            if go_on is not None and (found := self._repetition.read(data)) and self._body.pass_over(len(data)):
                for said in found:
                    go_on(*said)
                return self._assembler.take()
            self._read(data)
        except RemoteProtocolError as fault:
            self._break_off(_bad(str(fault)))
        return self._take()

    def _receive_error(self, data: bytes) -> list[e.Event]:
        """More of an error's body; beyond the limit it is not waited for."""
        self._error_body += data
        if len(self._error_body) <= self._error_limit:
            return []
        self._error_body = self._error_body[: self._error_limit]
        return self.receive_eof()

    def receive_eof(self) -> list[e.Event]:
        """The body is over."""
        if self._status >= 300:
            self._assembler.abort(self._error_of_status())
            return self._take()
        try:
            self._decode(self._body.finish())
            if not self._body.records:
                self._without_records()
            self._decoder.finish()
        except RemoteProtocolError as fault:
            self._assembler.abort(_bad(str(fault)))
        self._assembler.close()
        return self._take()

    def receive_failure(self, error: Error) -> list[e.Event]:
        """No connection, a time-out, a broken transfer: the answer ends here."""
        self._break_off(self._error_of_status() if self._status >= 300 else error)
        return self._take()

    def _break_off(self, error: Error) -> None:
        """Ends the answer in an error, behind what the decoder still held of it."""
        if not self._assembler.closed and self._status < 300:
            with contextlib.suppress(RemoteProtocolError):
                self._decoder.finish()
        self._assembler.abort(error)

    def open(self) -> list[e.Event]:
        """Begins the answer before anything was said."""
        self._assembler.open()
        return self._take()

    def _take(self) -> list[e.Event]:
        events = self._assembler.take()
        self.finished = self._assembler.closed
        if events and type(last := events[-1]) is e.ResponseError:
            error = accounted(last.error, self.upstream.name)
            events[-1] = e.ResponseError(scrubbed_error(error, self._secrets))
        return events

    def pour(self, push: Callable[[str], object]) -> None:
        """The texts of events like the last one go there and make no events, if it is known how they look."""
        if self._go_on is not None and (tap := self._assembler.tap) is not None:
            tap.push = push

    def _read(self, data: bytes) -> None:
        self._go_on = self._assembler.tap = None
        begins, noted = self._body.between, self._assembler.notes.count
        records = self._body.feed(data)
        self._decode(records)
        if self._body.fault is not None:
            raise self._body.fault
        plain = self._decoder.plain
        if plain is None or not records or self._assembler.closed or self._assembler.notes.count != noted:
            return
        begin = data.rfind(b"\n\n", 0, -2)  # of the last event
        if self._body.between and (begin >= 0 or begins) and isinstance(record := records[-1], ServerSentEvent):
            text, go_on = plain
            if self._repetition.learn(data[begin + 2 :] if begin >= 0 else data, record.data, text):
                self._go_on = go_on

    def _decode(self, records: list[Record]) -> None:
        for record in records:
            if self._assembler.closed:
                return
            if isinstance(record, Document):
                self._decode_document(record.data)
            else:
                self._decoder.decode(record)

    def _decode_document(self, data: bytes) -> None:
        try:
            body = jsontext.parse(data)
        except ValueError as fault:
            self._assembler.fail(_bad(f"the upstream's JSON is malformed: {fault}"))
            return
        self._decoder.decode_body(body)

    def _without_records(self) -> None:
        if self._body.cut:
            self._assembler.fail(_bad("the upstream's answer was cut off: it ended inside its JSON", "truncated"))
        elif looks := self._body.rubbish:
            self._assembler.fail(_bad(f"the upstream's answer is not a completion: {looks}"))

    def _error_of_status(self) -> Error:
        """The error in an answer with an error status."""
        try:
            body: Any = jsontext.parse(self._error_body)
        except ValueError:
            body = describe(self._error_body)
        error = self.upstream.parse_error(self._status, body)
        if self._status < 400:
            error = _bad(f"the upstream answered with the redirect {self._status}, which is not followed")
        if (seconds := retry_after(self._headers, self._now)) is not None:
            error = msgspec.structs.replace(error, retry_after=seconds)
        return error


def _bad(message: str, code: str | None = None) -> Error:
    return Error(kind=ErrorKind.BAD_UPSTREAM, message=message, code=code)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds until the upstream may be asked again, if its headers say so: a number, or a date (RFC 9110, 10.2.3)."""
    if _NUMBER.fullmatch(milliseconds := headers.get("retry-after-ms", "")):
        return float(milliseconds) / 1000
    text = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    date = _DATE.fullmatch(text)
    if date is None or date["month"] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(date[name]) for name in ("day", "year", "hour", "minute", "second"))
    try:
        then = datetime(year, _MONTHS.index(date["month"]) + 1, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return max(0.0, then.timestamp() - now)
