"""The rules of a stream's chunks."""

from __future__ import annotations

from typing import Any

from dragoman.dialects.chat.check_report import FINISHES, TEXTS, Report, check_arguments, check_usage, is_count, is_word
from dragoman.dialects.chat.wire import CHUNK
from dragoman.jsontext import shown

STREAM_RULES: dict[str, str] = {
    "chat.chunk.object": "the Python helper skips a chunk of any other object, without a word",
    "chat.chunk.envelope": "id, model and created are strings and a whole number",
    "chat.chunk.constant": "id, model and created stay the same in all chunks",
    "chat.chunk.choices": "choices is a list of objects; only usage comes without any",
    "chat.choice.index": "a choice without an index is rejected; they begin in order and come once in a chunk",
    "chat.choice.delta": "a choice has an object as delta",
    "chat.role.first": "the first delta of a choice has the role assistant",
    "chat.role.again": "accumulators join roles to assistantassistant",
    "chat.text.type": "texts are strings or null",
    "chat.list.index": "entries without an index in a second delta are an exception in the Python helper",
    "chat.call.shape": "a fragment is an object with an index and a body whose text is a string",
    "chat.call.index": "a gap in the indexes, or a call that another one has replaced, breaks accumulators",
    "chat.call.opening": "a call opens with id, type and name, or it is rejected, dropped or renamed",
    "chat.call.id": "two calls with one id cannot be answered",
    "chat.call.again": "accumulators append a second id or name, and empty ones erase the first",
    "chat.call.json": "clients parse the arguments at the finish",
    "chat.finish.missing": "a choice without a finish is an exception in the Node SDK",
    "chat.finish.word": "finish_reason is one of OpenAI's words",
    "chat.finish.again": "a choice ends once",
    "chat.finish.after": "nothing of a choice follows its finish",
    "chat.finish.calls": "agents go by the finish: tool_calls if and only if there were calls",
    "chat.usage.shape": "counts are whole numbers",
    "chat.usage.total": "the total is the sum of both counts",
    "chat.usage.place": "usage comes alone in the last chunk: the Python SDK forgets it if another follows",
}


class _Call:
    def __init__(self, id: Any, kind: Any) -> None:
        self.id = id
        self.kind = kind
        self.text = ""


class _Choice:
    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.finish: Any = None
        self.loose: set[str] = set()


class StreamRules:
    """Checks the chunks of one stream in order."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._choices: dict[int, _Choice] = {}
        self._envelope: dict[str, Any] = {}
        self._counted = False
        self.chunks = 0

    def end(self) -> None:
        """The stream is over, and no error ended it."""
        need = self._report.need
        for index, choice in self._choices.items():
            where = f"choice {index}"
            need(choice.finish is not None, "chat.finish.missing", where, "no finish_reason")
            if choice.calls:
                need(choice.finish != "stop", "chat.finish.calls", where, "stop, although there were calls")
            else:
                need(choice.finish != "tool_calls", "chat.finish.calls", where, "tool_calls, but there was none")
            for number, call in enumerate(choice.calls):
                if choice.finish == "tool_calls" and call.kind == "function":
                    check_arguments(call.text, f"{where}, call {number}", self._report)

    # ---- a chunk

    def chunk(self, value: dict[str, Any], where: str) -> None:
        need = self._report.need
        self.chunks += 1
        need(value.get("object") == CHUNK, "chat.chunk.object", where, f"{value.get('object')!r}")
        for name in ("id", "model", "created"):
            self._constant(name, value.get(name), where)
        need(not self._counted, "chat.usage.place", where, "a chunk after the usage")
        choices, usage = value.get("choices"), value.get("usage")
        if not need(isinstance(choices, list), "chat.chunk.choices", where, shown(choices)):
            choices = []
        if usage is not None:
            self._counted = True
            need(not choices, "chat.usage.place", where, "usage beside choices")
            check_usage(usage, where, self._report)
        else:
            alone = bool(choices) or value.get("moderation") is not None
            need(alone, "chat.chunk.choices", where, "neither choices nor usage")
        seen: set[int] = set()
        for choice in choices or ():
            self._choice(choice, seen, where)

    def _constant(self, name: str, value: Any, where: str) -> None:
        sound = is_count(value) if name == "created" else is_word(value)
        if self._report.need(sound, "chat.chunk.envelope", where, f"{name} is {shown(value)}"):
            first = self._envelope.setdefault(name, value)
            self._report.need(value == first, "chat.chunk.constant", where, f"{name} is {value!r}, it was {first!r}")

    # ---- a choice

    def _choice(self, value: Any, seen: set[int], where: str) -> None:
        need = self._report.need
        if not need(isinstance(value, dict), "chat.chunk.choices", where, shown(value)):
            return
        index = value.get("index")
        if not need(is_count(index), "chat.choice.index", where, f"{index!r}"):
            return
        first = index not in self._choices
        orderly = index not in seen and (not first or index == len(self._choices))
        need(orderly, "chat.choice.index", where, f"choice {index} is out of order, or twice in one chunk")
        seen.add(index)
        choice = self._choices.setdefault(index, _Choice())
        delta, finish = value.get("delta"), value.get("finish_reason")
        if not need(isinstance(delta, dict), "chat.choice.delta", where, shown(delta)):
            delta = {}
        if choice.finish is not None:
            need(finish is None, "chat.finish.again", where, f"{finish!r} after {choice.finish!r}")
            # audio's time of expiry is the one thing that OpenAI sends after the finish
            need(finish is not None or set(delta) == {"audio"}, "chat.finish.after", where, shown(delta))
        self._role(delta.get("role"), first, where)
        self._delta(delta, choice, where)
        if finish is not None:
            need(finish in FINISHES, "chat.finish.word", where, f"{finish!r}")
            choice.finish = choice.finish or finish

    def _role(self, role: Any, first: bool, where: str) -> None:
        if first:
            self._report.need(role == "assistant", "chat.role.first", where, f"the role is {role!r}")
        else:
            self._report.need(role is None, "chat.role.again", where, f"the role {role!r}, again")

    def _delta(self, delta: dict[str, Any], choice: _Choice, where: str) -> None:
        for name in TEXTS:
            held = delta.get(name)
            self._report.need(
                held is None or isinstance(held, str), "chat.text.type", where, f"{name} is {shown(held)}"
            )
        for name, held in delta.items():
            if name != "tool_calls" and _loose(held):
                self._report.need(name not in choice.loose, "chat.list.index", where, f"{name} without index")
                choice.loose.add(name)
        calls = delta.get("tool_calls")
        if calls is not None and self._report.need(isinstance(calls, list), "chat.call.shape", where, shown(calls)):
            for entry in calls:
                self._call(entry, choice, where)

    # ---- a call

    def _call(self, entry: Any, choice: _Choice, where: str) -> None:
        need = self._report.need
        if not need(isinstance(entry, dict) and is_count(entry.get("index")), "chat.call.shape", where, shown(entry)):
            return
        index, known = entry["index"], len(choice.calls)
        need(index in (known - 1, known), "chat.call.index", where, f"call {index} where {known} are known")
        custom = isinstance(entry.get("custom"), dict)
        body = entry.get("custom" if custom else "function")
        text = body.get("input" if custom else "arguments") if isinstance(body, dict) else None
        sound = isinstance(body, dict) and isinstance(text, str)
        need(sound, "chat.call.shape", where, f"call {index} without a body whose text is a string")
        name = body.get("name") if isinstance(body, dict) else None
        if index >= known:
            self._opening(entry, name, "custom" if custom else "function", choice, where)
        else:
            silent = entry.get("id") is None and name is None and entry.get("type") in (None, choice.calls[index].kind)
            need(silent, "chat.call.again", where, f"call {index} is named again: {shown(entry)}")
        choice.calls[min(index, len(choice.calls) - 1)].text += text if isinstance(text, str) else ""

    def _opening(self, entry: dict[str, Any], name: Any, kind: str, choice: _Choice, where: str) -> None:
        need = self._report.need
        id = entry.get("id")
        sound = is_word(id) and is_word(name) and entry.get("type") == kind
        need(sound, "chat.call.opening", where, shown(entry))
        need(all(call.id != id for call in choice.calls), "chat.call.id", where, f"{id!r} is another call's")
        choice.calls.append(_Call(id, kind))


def _loose(held: Any) -> bool:
    """A list of objects of which one at least has no index."""
    if not isinstance(held, list) or not any(isinstance(item, dict) for item in held):
        return False
    return not all(isinstance(item, dict) and is_count(item.get("index")) for item in held)
