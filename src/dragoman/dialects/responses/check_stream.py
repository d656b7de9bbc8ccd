"""The strict reading of a stream: each event against what came before it (rules in ``check_shapes``)."""

from __future__ import annotations

from typing import Any

from dragoman.dialects.contract import Violation
from dragoman.dialects.responses.check_shapes import (
    BUILTIN_CALLS,
    PART_TEXT,
    WITH_STATUS,
    Report,
    check_arguments,
    check_call_id,
    check_done_status,
    check_item,
    check_part,
    check_response,
    check_usage,
    is_count,
    is_visible,
    parse_strict,
    written_at_length,
)
from dragoman.dialects.responses.wire import CLIENT_CALLS, JSON
from dragoman.jsontext import shown

_ENDS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}
_OPENINGS = ("response.created", "response.queued", "response.in_progress")

_ITEM: dict[str, type] = {"item_id": str, "output_index": int}
_CONTENT: dict[str, type] = {**_ITEM, "content_index": int}
_SUMMARY: dict[str, type] = {**_ITEM, "summary_index": int}

_PART_TEXTS = {
    "response.output_text": ("output_text", "text"),
    "response.refusal": ("refusal", "refusal"),
    "response.reasoning_text": ("reasoning_text", "text"),
    "response.reasoning_summary_text": ("summary_text", "text"),
}
"""Events of texts that grow inside a part: stem, type of the part, member of the ``.done`` event."""

_ITEM_TEXTS = {
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
    "response.mcp_call_arguments": ("mcp_call", "arguments"),
    "response.code_interpreter_call_code": ("code_interpreter_call", "code"),
}
_GROWS = dict(_ITEM_TEXTS.values())

_TOOL_STATES = {
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "web_search_call": ("in_progress", "searching", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_call": ("in_progress", "completed", "failed"),
    "mcp_list_tools": ("in_progress", "completed", "failed"),
}


def _events() -> dict[str, dict[str, type]]:
    """The members that each known event must have."""
    known: dict[str, dict[str, type]] = {name: {"response": dict} for name in (*_OPENINGS, *_ENDS)}
    known |= {"error": {}, "keepalive": {}}
    known |= {f"response.output_item.{verb}": {"output_index": int, "item": dict} for verb in ("added", "done")}
    known |= {f"response.content_part.{verb}": {**_CONTENT, "part": dict} for verb in ("added", "done")}
    known |= {f"response.reasoning_summary_part.{verb}": {**_SUMMARY, "part": dict} for verb in ("added", "done")}
    for stem, (kind, member) in _PART_TEXTS.items():
        place = _SUMMARY if kind == "summary_text" else _CONTENT
        more: dict[str, type] = {"logprobs": list} if kind == "output_text" else {}
        known[f"{stem}.delta"] = {**place, "delta": str, **more}
        known[f"{stem}.done"] = {**place, member: str, **more}
    for stem, (_, member) in _ITEM_TEXTS.items():
        known[f"{stem}.delta"] = {**_ITEM, "delta": str}
        known[f"{stem}.done"] = {**_ITEM, member: str}
    known["response.output_text.annotation.added"] = {**_CONTENT, "annotation_index": int, "annotation": dict}
    known["response.image_generation_call.partial_image"] = {
        **_ITEM,
        "partial_image_index": int,
        "partial_image_b64": str,
    }
    for tool, states in _TOOL_STATES.items():
        known |= {f"response.{tool}.{state}": _ITEM for state in states}
    return known


EVENTS = _events()


class _Text:
    """A text that grows; ``done`` is what its own done event said."""

    def __init__(self, kind: str = "") -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.done: str | None = None
        self.annotations: list[Any] = []
        self.closed: JSON | None = None


class _Item:
    def __init__(self, added: JSON) -> None:
        self.added = added
        self.text = _Text()
        self.parts: dict[str, list[_Text]] = {"content": [], "summary": []}

    @property
    def open_part(self) -> _Text | None:
        return next((part for parts in self.parts.values() for part in parts if part.closed is None), None)


class _Stream:
    def __init__(self) -> None:
        self.report = Report()
        self.sequence = 0
        self.opened: list[str] = []
        self.identity: tuple[Any, ...] = ()
        self.done: list[JSON] = []
        self.item: _Item | None = None
        self.ids: set[str] = set()
        self.calls: set[str] = set()
        self.failed = False
        self.ended = False

    def event(self, name: str, data: JSON) -> None:
        need = self.report.need
        kind = data.get("type")
        need(name == kind, "responses.event.name", f"the event is {name!r}, its data {kind!r}")
        number = data.get("sequence_number")
        need(number == self.sequence and is_count(number), "responses.sequence", f"{number!r}, not {self.sequence}")
        self.sequence += 1
        need(not self.ended, "responses.stream.end", f"{kind} after the end")
        if self.failed:
            need(kind == "response.failed", "responses.stream.error", f"{kind} after the error")
        if not need(isinstance(kind, str) and kind in EVENTS, "responses.event.type", f"{kind!r} is unknown"):
            return
        wrong = [member for member, type in EVENTS[str(kind)].items() if not _fits(data.get(member), type)]
        if not need(not wrong, "responses.event.members", f"{kind}: {', '.join(wrong)}"):
            return
        self._dispatch(str(kind), data)

    def _dispatch(self, kind: str, data: JSON) -> None:
        stem, _, verb = kind.rpartition(".")
        if kind in _OPENINGS:
            self._opening(kind, data["response"])
            return
        if kind == "keepalive":
            return
        begun = "response.in_progress" in self.opened or (kind in _ENDS and "response.created" in self.opened)
        begun = begun or (kind == "error" and "response.created" in self.opened)
        self.report.need(begun, "responses.stream.opening", f"{kind} before the opening")
        if kind in _ENDS:
            self._end(_ENDS[kind], data["response"])
        elif kind == "error":
            self._error(data)
        elif kind == "response.output_item.added":
            self._added(data["output_index"], data["item"])
        elif kind == "response.output_item.done":
            self._done(data["output_index"], data["item"])
        elif self._is_open(kind, data):
            self._inside(kind, stem, verb, data)

    # ---- the envelope

    def _opening(self, kind: str, response: JSON) -> None:
        need = self.report.need
        expected = len(self.opened) == 0 if kind == "response.created" else bool(self.opened)
        late = self.item is not None or bool(self.done) or kind in self.opened
        need(expected and not late, "responses.stream.opening", f"{kind} is out of order")
        need(not response.get("output"), "responses.stream.opening", f"{kind} has output")
        self.opened.append(kind)
        self._identity(response)
        statuses = ("queued", "in_progress") if kind == "response.created" else (kind.removeprefix("response."),)
        check_response(response, self.report, statuses)

    def _identity(self, response: JSON) -> None:
        identity = tuple(response.get(name) for name in ("id", "created_at", "model"))
        self.identity = self.identity or identity
        self.report.need(identity == self.identity, "responses.stream.identity", f"{identity} was {self.identity}")

    def _error(self, data: JSON) -> None:
        self.failed = True
        nested = data.get("error")
        error = nested if isinstance(nested, dict) else data
        self.report.need(is_visible(error.get("message")), "responses.error", "the error says nothing")
        for name in ("code", "param"):
            value = error.get(name)
            self.report.need(value is None or isinstance(value, str), "responses.error", f"{name} is {value!r}")

    def _end(self, status: str, response: JSON) -> None:
        need = self.report.need
        self.ended = True
        self._identity(response)
        check_response(response, self.report, (status,))
        if status == "failed":
            return
        need(self.item is None, "responses.item.unfinished", "an item is still open")
        output = response.get("output")
        same = isinstance(output, list) and list(map(_plain, output)) == list(map(_plain, self.done))
        need(same, "responses.response.output", "the output is not the done items")
        check_usage(response.get("usage"), self.report)

    # ---- items

    def _added(self, index: int, item: JSON) -> None:
        need = self.report.need
        need(self.item is None, "responses.item.place", "an item begins inside another one")
        need(index == len(self.done) + (self.item is not None), "responses.item.place", f"output_index is {index}")
        if not check_item(item, self.report):
            return
        need(item["id"] not in self.ids, "responses.item.id", f"{item['id']} is another item's")
        self.ids.add(item["id"])
        check_call_id(item, self.calls, self.report)
        if item["type"] in WITH_STATUS:
            need(item.get("status") == "in_progress", "responses.item.status", f"added as {item.get('status')!r}")
        filled = [name for name in ("content", "summary", _GROWS.get(item["type"], "")) if item.get(name)]
        if item["type"] in BUILTIN_CALLS and written_at_length(item):
            filled.append("what is to be done")
        need(not filled, "responses.item.empty", f"added with {', '.join(filled)}")
        self.item = _Item(item)

    def _done(self, index: int, item: JSON) -> None:
        need = self.report.need
        state = self.item
        if not need(state is not None, "responses.item.place", "an item is done that was not added") or state is None:
            return
        need(index == len(self.done), "responses.item.place", f"output_index is {index}")
        self.item = None
        self.done.append(item)
        if not check_item(item, self.report):
            return
        changed = [name for name in ("type", "id", "call_id", "name") if item.get(name) != state.added.get(name)]
        need(not changed, "responses.item.id", f"changed: {', '.join(changed)}")
        check_done_status(item, self.report)
        need(state.open_part is None, "responses.item.whole", "a part is still open")
        if item["type"] in ("message", "reasoning"):
            for member, parts in state.parts.items():
                same = (item.get(member) or []) == [part.closed for part in parts]
                need(same, "responses.item.whole", f"{member} is not its done parts")
        elif item["type"] in CLIENT_CALLS:
            need(
                item.get(CLIENT_CALLS[item["type"]]) == state.text.done, "responses.item.whole", "not what was streamed"
            )
            check_arguments(item, self.report)

    def _is_open(self, kind: str, data: JSON) -> bool:
        if "item_id" not in EVENTS[kind]:
            return False
        item = self.item
        here = item is not None and data["output_index"] == len(self.done) and data["item_id"] == item.added["id"]
        return self.report.need(here, "responses.text.place", f"{kind} is not about the open item")

    # ---- inside an item

    def _inside(self, kind: str, stem: str, verb: str, data: JSON) -> None:
        item = self.item
        if item is None:
            return
        if stem in ("response.content_part", "response.reasoning_summary_part"):
            member = "content" if "content_index" in data else "summary"
            self._part(item, member, data.get("content_index", data.get("summary_index")), verb, data["part"])
        elif stem in _PART_TEXTS:
            kind_of_part, member = _PART_TEXTS[stem]
            place = "summary" if kind_of_part == "summary_text" else "content"
            part = self._open_part(item, place, data[f"{place}_index"], kind_of_part)
            if part is not None:
                self._grow(part, verb, data, member)
        elif stem in _ITEM_TEXTS:
            wanted, member = _ITEM_TEXTS[stem]
            if self.report.need(item.added["type"] == wanted, "responses.text.place", f"{kind} in another item"):
                self._grow(item.text, verb, data, member)
        elif kind == "response.output_text.annotation.added":
            part = self._open_part(item, "content", data["content_index"], "output_text")
            if part is not None:
                here = data["annotation_index"] == len(part.annotations)
                self.report.need(here, "responses.annotation", f"annotation_index is {data['annotation_index']}")
                part.annotations.append(data["annotation"])

    def _part(self, item: _Item, member: str, index: Any, verb: str, raw: JSON) -> None:
        need = self.report.need
        check_part(raw, self.report)
        kind = str(raw.get("type"))
        parts = item.parts[member]
        if verb == "added":
            allowed = {"message": ("output_text", "refusal"), "reasoning": ("reasoning_text",)}
            fits = kind in allowed.get(item.added["type"], ()) if member == "content" else kind == "summary_text"
            fits = fits and (member == "content" or item.added["type"] == "reasoning")
            need(fits, "responses.part.place", f"a {kind} part in a {item.added['type']} item")
            need(index == len(parts) and item.open_part is None, "responses.part.place", f"index is {index}")
            filled = raw.get(PART_TEXT.get(kind, "text")) or raw.get("annotations")
            need(not filled, "responses.part.empty", "a part begins with content")
            parts.append(_Text(kind))
            return
        part = self._open_part(item, member, index, kind)
        if part is None:
            return
        part.closed = raw
        same = part.done is not None and raw.get(PART_TEXT.get(kind, "text")) == part.done
        need(same, "responses.part.whole", "the done part is not what was streamed")
        if kind == "output_text":
            need(raw.get("annotations") == part.annotations, "responses.annotation", "not the annotations streamed")

    def _open_part(self, item: _Item, member: str, index: int, kind: str) -> _Text | None:
        parts = item.parts[member]
        here = index < len(parts) and parts[index].closed is None and parts[index].kind == kind
        return parts[index] if self.report.need(here, "responses.text.place", f"no open {kind} at {index}") else None

    def _grow(self, text: _Text, verb: str, data: JSON, member: str) -> None:
        self.report.need(text.done is None, "responses.text.whole", "more of a text that is done")
        if verb == "delta":
            text.pieces.append(data["delta"])
            return
        same = data[member] == "".join(text.pieces)
        self.report.need(same, "responses.text.whole", f"{shown(data[member])} is not what the deltas said")
        text.done = data[member]


def _fits(value: Any, type: type) -> bool:
    return is_count(value) if type is int else isinstance(value, type)


def _plain(item: Any) -> Any:
    """An item without its ciphertext, which OpenAI makes anew each time."""
    if not isinstance(item, dict):
        return item
    return {name: value for name, value in item.items() if name not in ("encrypted_content", "fingerprint")}


def check_stream(data: bytes) -> list[Violation]:
    """Violations of an event stream, in the form in which servers send it."""
    stream = _Stream()
    report = stream.report
    blocks = data.split(b"\n\n")
    report.where = "end"
    report.need(blocks.pop() == b"" and blocks != [], "responses.framing", "the last event has no end")
    for number, block in enumerate(blocks):
        report.where = f"event {number}"
        lines = block.split(b"\n")
        if all(line.startswith(b":") for line in lines):
            continue
        named = len(lines) == 2 and lines[0].startswith(b"event: ") and lines[1].startswith(b"data: ")
        if not report.need(named, "responses.framing", shown(block)):
            continue
        value = parse_strict(lines[1][6:])
        if report.need(isinstance(value, dict), "responses.json", "the data is no JSON object"):
            stream.event(lines[0][7:].decode("utf-8", "replace"), value)
    report.where = "end"
    report.need(stream.ended, "responses.stream.end", "no terminal event")
    return report.found
