"""The history in the order that this API accepts (design/requests.md, 2).

- Leading system messages are the ``system`` member; later ones stand, marked, in a user turn.
- Equal roles are one turn; blank text goes; the first turn is a user's.
- The results of a turn's calls stand together, in the order of the calls, at the front of the next
  turn. A call without a result gets one that says so; a result without a call is marked text.
- Call ids are legal and each used once.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.canonical import request as q
from dragoman.canonical.aliases import alias
from dragoman.dialects.messages import wire
from dragoman.dialects.messages.content import ContentWriter, marked
from dragoman.dialects.messages.response import tool_input

JSON = dict[str, Any]

_BEGINNING = "Continue the conversation."
_SYSTEM = "[System message]"
_ORPHAN = "[Result of a tool call that is no longer in this conversation]"
_NO_RESULT = "There is no result: the call was cancelled or its result was lost."

_SYSTEM_ROLES = (q.Role.SYSTEM, q.Role.DEVELOPER)


class Placed(msgspec.Struct, frozen=True):
    """A part and where it stood: ``path`` counts messages and parts of the canonical request."""

    part: q.Part
    path: str


class _Turn:
    def __init__(self, assistant: bool) -> None:
        self.assistant = assistant
        self.parts: list[Placed] = []
        self.answers: list[tuple[str, Placed | None]] = []  # to the calls of the turn before

    @property
    def calls(self) -> list[Placed]:
        return [placed for placed in self.parts if isinstance(placed.part, q.ToolCall)]


def render_turns(request: q.Request, writer: ContentWriter) -> tuple[str | list[JSON], list[JSON]]:
    """The ``system`` member ("" if there is none) and the messages. Raises ``InvalidRequest`` for a foreign file."""
    leading = 0
    while leading < len(request.messages) and request.messages[leading].role in _SYSTEM_ROLES:
        leading += 1
    system: list[JSON] = []
    for number, message in enumerate(request.messages[:leading]):
        for place, part in enumerate(message.parts):
            system += writer.blocks(part, f"messages.{number}.content.{place}")
    turns = _merged(request.messages, leading)
    ids = _pair(turns)
    messages = [
        {"role": "assistant" if turn.assistant else "user", "content": _content(turn, ids, writer)} for turn in turns
    ]
    return _plain_system(system), _alternating(messages)


def _plain_system(system: list[JSON]) -> str | list[JSON]:
    """One text without a marker as a string, for servers that know nothing else."""
    if len(system) == 1 and system[0].keys() == {"type", "text"}:
        text: str = system[0]["text"]
        return text
    return system or ""


# ---- turns and pairs


def _merged(messages: tuple[q.Message, ...], leading: int) -> list[_Turn]:
    turns: list[_Turn] = []
    for number, message in enumerate(messages[leading:], leading):
        parts = [
            Placed(_said(message.role, part), f"messages.{number}.content.{place}")
            for place, part in enumerate(message.parts)
        ]
        parts = [placed for placed in parts if not _blank(placed.part)]
        if not parts:
            continue
        assistant = message.role is q.Role.ASSISTANT
        if not turns or turns[-1].assistant is not assistant:
            turns.append(_Turn(assistant))
        turns[-1].parts += parts
    return turns


def _said(role: q.Role, part: q.Part) -> q.Part:
    """A system message in mid-conversation is marked, so that the model does not take it for the user's."""
    if role in _SYSTEM_ROLES and isinstance(part, q.Text) and part.text.strip():
        return msgspec.structs.replace(part, text=f"{_SYSTEM}\n{part.text}")
    return part


def _blank(part: q.Part) -> bool:
    return isinstance(part, q.Text | q.Refusal) and not part.text.strip()


def _pair(turns: list[_Turn]) -> dict[str, str]:
    """Puts each result into ``answers`` of the turn after its call; gives the calls' ids, by their paths.

    The last turn chooses first, so that a call without a result does not take that of a later call
    with the same id.
    """
    results = [
        (at, placed) for at, turn in enumerate(turns) for placed in turn.parts if isinstance(placed.part, q.ToolResult)
    ]
    ids: dict[str, str] = {}
    used: set[str] = set()
    asking = [(at, turn) for at, turn in enumerate(turns) if turn.assistant]
    for _, turn in asking:
        ids |= {call.path: _legal_id(call.part, used) for call in turn.calls}
    for at, turn in reversed(asking):
        for call in turn.calls:
            found = next((entry for entry in results if entry[0] > at and _answers(entry[1].part, call.part)), None)
            if found:
                results.remove(found)
                turns[found[0]].parts.remove(found[1])
            turn.answers.append((ids[call.path], found[1] if found else None))
    _hand_over(turns)
    return ids


def _answers(result: q.Part, call: q.Part) -> bool:
    """The id decides; without one, as in gemini histories, the name and the order do."""
    if not isinstance(result, q.ToolResult) or not isinstance(call, q.ToolCall):
        return False
    if result.id and call.id:
        return result.id == call.id
    return result.name is not None and result.name == call.name


def _legal_id(call: q.Part, used: set[str]) -> str:
    wanted = call.id if isinstance(call, q.ToolCall) else ""
    number = 0
    while True:
        text = f"{wanted}#{number}" if number or not wanted else wanted
        legal = text if wire.CALL_ID.fullmatch(text) else alias(text)
        if legal not in used:
            used.add(legal)
            return legal
        number += 1


def _hand_over(turns: list[_Turn]) -> None:
    """The answers that were noted at the turn of the calls go to the turn after it."""
    at = 0
    while at < len(turns):
        turn = turns[at]
        at += 1
        if not turn.assistant or not turn.answers:
            continue
        if at == len(turns):
            turns.append(_Turn(assistant=False))
        turns[at].answers, turn.answers = turn.answers, []


# ---- turns to messages


def _content(turn: _Turn, ids: dict[str, str], writer: ContentWriter) -> list[JSON]:
    blocks: list[JSON] = [_answer(id, placed, writer) for id, placed in turn.answers]
    for placed in _ordered(turn):
        part = placed.part
        if isinstance(part, q.ToolCall):
            blocks += _call(placed, ids, writer)
        elif isinstance(part, q.ToolResult):
            blocks.append({"type": "text", "text": _ORPHAN})
            for inner in part.parts:
                blocks += writer.blocks(inner, placed.path)
        else:
            blocks += writer.blocks(part, placed.path)
    return blocks


def _ordered(turn: _Turn) -> list[Placed]:
    """Text that follows a call goes before it: nothing may stand between call and result.

    Not where reasoning or a native part stands behind the call: their order must stay.
    """
    calls = turn.calls
    if not turn.assistant or not calls:
        return turn.parts
    after = turn.parts[turn.parts.index(calls[0]) :]
    if any(isinstance(placed.part, q.Reasoning | q.Native) for placed in after):
        return turn.parts
    return [placed for placed in turn.parts if placed not in calls] + calls


def _call(placed: Placed, ids: dict[str, str], writer: ContentWriter) -> list[JSON]:
    call = placed.part
    if not isinstance(call, q.ToolCall) or placed.path not in ids:
        writer.lose(placed.path, "a tool call outside of an assistant turn")
        return []
    if call.signature is not None:
        writer.lose(placed.path, "a proof of another API's reasoning")
    given = tool_input(call.arguments, custom=call.kind == "custom")
    return [marked({"type": "tool_use", "id": ids[placed.path], "name": call.name, "input": given}, call.cache)]


def _answer(id: str, placed: Placed | None, writer: ContentWriter) -> JSON:
    if placed is None or not isinstance(placed.part, q.ToolResult):
        return {"type": "tool_result", "tool_use_id": id, "content": _NO_RESULT, "is_error": True}
    return writer.result(placed.part, id, placed.path)


def _alternating(messages: list[JSON]) -> list[JSON]:
    """Turns of which nothing is left go, their neighbours join; a user's turn is first; the end is trimmed."""
    turns: list[JSON] = []
    for message in messages:
        if not message["content"]:
            continue
        if turns and turns[-1]["role"] == message["role"]:
            turns[-1]["content"] += message["content"]
        else:
            turns.append(message)
    if not turns or turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": _BEGINNING}]})
    last = turns[-1]["content"][-1]
    if turns[-1]["role"] == "assistant" and last["type"] == "text":
        turns[-1]["content"][-1] = {**last, "text": last["text"].rstrip()}
    return turns
