"""What kind of body is it? The bytes tell, not the header (design/streams.md, 10).

An event stream gives its events; a JSON array and lines of JSON objects give their elements, as if
each were an event; a single JSON object is a whole answer (``Document``), whatever server-sent
trailer follows it. Anything else is no answer: ``BodyReader.rubbish`` says what it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum

import msgspec

from dragoman.exceptions import RemoteProtocolError
from dragoman.streaming.sse import ServerSentEvent, ServerSentEventReader

_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_STRUCTURE = re.compile(rb'["{}\[\]]')
_IN_STRING = re.compile(rb'["\\]')
_GAP = re.compile(rb"[\s,\[\]]*")
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_SAMPLE = 4096  # bytes of a body that is no answer, kept to describe it


class StreamLimits(msgspec.Struct, frozen=True):
    """Bounds on what an upstream may make us hold.

    Bytes of one event, of a whole answer and of an error's body; calls that are open at the same time, and
    characters of the arguments of one.
    """

    event: int = 4 << 20
    answer: int = 64 << 20
    error: int = 64 << 10
    open_calls: int = 128
    arguments: int = 16 << 20


class Document(msgspec.Struct, frozen=True):
    """A body that is one JSON object: the whole answer."""

    data: bytes


Record = ServerSentEvent | Document


class _Kind(Enum):
    UNKNOWN = "unknown"
    EVENTS = "events"
    ARRAY = "array"
    OBJECTS = "objects"
    RUBBISH = "rubbish"


class JSONObjectReader:
    """Cuts JSON objects out of bytes in any cut: those of one array, or those that follow each other.

    Objects are found by their brackets, unread; anything but blanks and commas between them ends the
    reading (``stopped``).
    """

    def __init__(self) -> None:
        self.stopped = False
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._parts: list[bytes] = []  # of the object that has begun

    @property
    def inside(self) -> bool:
        """Whether an object has begun and not ended."""
        return self._depth > 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The objects that these bytes complete; to be iterated to its end."""
        begin = position = 0
        while not self.stopped:
            if self._depth == 0:
                gap = _GAP.match(data, begin)
                begin = gap.end() if gap else begin
                if begin == len(data):
                    return
                if data[begin : begin + 1] != b"{":
                    self.stopped = True
                    return
                self._depth, position = 1, begin + 1
            position = self._end_of_object(data, position)
            self._parts.append(data[begin:position])
            if self._depth:
                return
            item = b"".join(self._parts)
            self._parts, begin = [], position
            yield item

    def _end_of_object(self, data: bytes, position: int) -> int:
        """The place after the bracket that closes the object (depth 0), or the end of the data."""
        if self._escaped and position < len(data):
            self._escaped = False
            position += 1
        while True:
            match = (_IN_STRING if self._in_string else _STRUCTURE).search(data, position)
            if match is None:
                return len(data)
            position = match.end()
            byte = match[0]
            if byte == b"\\":
                self._escaped = position == len(data)
                position += 1
            elif byte == b'"':
                self._in_string = not self._in_string
            elif byte in b"{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == 0:
                    return position


class BodyReader:
    """An upstream's bytes, in any cut, to records.

    ``note`` gets the slug of each oddity.
    """

    def __init__(self, limits: StreamLimits, note: Callable[[str], None] = lambda slug: None) -> None:
        self.records = 0
        self.cut = False
        """After ``finish``: the last record was not whole."""
        self.fault: RemoteProtocolError | None = None
        """The bytes after the records so far go beyond a limit: nothing more is read."""
        self._limits = limits
        self._kind = _Kind.UNKNOWN
        self._head = b""
        self._note = note
        self._events = ServerSentEventReader(limits.event, note)
        self._objects = JSONObjectReader()
        self._first: bytes | None = None  # the first object, until it is known whether others follow
        self._several = False
        self._total = 0

    def feed(self, data: bytes) -> list[Record]:
        """The records that these bytes complete, as far as the limits go (``fault``)."""
        found: list[Record] = []
        if self.fault is not None:
            return found
        room = self._limits.answer - self._total
        self._total += len(data)
        try:
            for record in self._read(data if len(data) <= room else data[:room]):
                found.append(record)
            if len(data) > room:
                raise RemoteProtocolError(f"the upstream's answer has more than {self._limits.answer} bytes")
        except RemoteProtocolError as fault:
            self.fault = fault
        self.records += len(found)
        return found

    def _read(self, data: bytes) -> Iterable[Record]:
        match self._kind:
            case _Kind.EVENTS:
                if not self.records and len(self._head) < _SAMPLE:
                    self._head += data[:_SAMPLE]
                return self._events.feed(data)
            case _Kind.ARRAY:
                return (ServerSentEvent("", item) for item in self._objects.feed(data))
            case _Kind.OBJECTS:
                return self._feed_objects(data)
            case _Kind.RUBBISH:
                self._head = (self._head + data)[:_SAMPLE]
            case _Kind.UNKNOWN if data := self._sniff(data):
                return self._read(data)
        return ()

    @property
    def between(self) -> bool:
        """Whether the body is a stream of events, and none has begun."""
        return self._kind is _Kind.EVENTS and self.fault is None and self._events.between

    def pass_over(self, size: int) -> bool:
        """Counts so many bytes of whole events that need not be read; false if they go beyond a limit."""
        if size > self._limits.event or self._total + size > self._limits.answer:
            return False
        self._total += size
        return True

    def finish(self) -> list[Record]:
        """The end of the bytes."""
        if self.fault is not None:
            return []
        last: list[Record] = []
        if self._kind is _Kind.UNKNOWN:
            self._sniff(b"", final=True)
        if self._kind is _Kind.EVENTS:
            last += self._events.finish()
        elif self._first is not None:
            last.append(Document(self._first))
        self.cut = self._events.cut or self._objects.inside
        self.records += len(last)
        return last

    @property
    def rubbish(self) -> str:
        """What a body without any record looks like: "" for one that is empty or holds comments only."""
        if self._kind is _Kind.UNKNOWN:
            return ""
        lines = [line for line in self._head.splitlines() if line.strip() and not line.startswith(b":")]
        return describe(b"\n".join(lines))

    def _sniff(self, data: bytes, final: bool = False) -> bytes:
        """Decides the kind by the first visible byte; gives back the bytes to read."""
        head = self._head + data
        if not final and len(head) < len(_BOM) and _BOM.startswith(head):
            self._head = head
            return b""
        text = head.removeprefix(_BOM)
        first = text.lstrip(_BLANK)[:1]
        if not first:
            self._head = head
            return b""
        if len(text) < len(head):
            self._note("body-byte-order-mark")
        self._head = b""
        match first:
            case b"{":
                self._kind = _Kind.OBJECTS
            case b"[":
                self._note("body-json-array")
                self._kind = _Kind.ARRAY
            case b"<":
                self._kind = _Kind.RUBBISH
            case _:
                self._kind = _Kind.EVENTS
        return text

    def _feed_objects(self, data: bytes) -> Iterator[Record]:
        for item in self._objects.feed(data):
            if self._several:
                yield ServerSentEvent("", item)
            elif self._first is None:
                self._first = item
            else:
                self._note("body-json-lines")
                first, self._first, self._several = self._first, None, True
                yield ServerSentEvent("", first)
                yield ServerSentEvent("", item)
        if self._objects.stopped and self._first is not None:  # a trailer in another form says nothing
            first, self._first = self._first, None
            yield Document(first)


def describe(body: bytes) -> str:
    """A body that is no answer, in a few words: the title of a page, or the beginning of a text."""
    if body.lstrip()[:1] == b"<":
        title = _TITLE.search(body)
        return title[1].decode("utf-8", "replace").strip() if title else "an HTML or XML page"
    return " ".join(body.decode("utf-8", "replace").split())[:200]
