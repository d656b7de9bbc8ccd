"""A history made legal for its target: what every strict API demands of turns, in one place.

The rules (design/requests.md, 2), each switched by what the target's dialect and its facts say
(``HistoryRules``):

- System text keeps its rank: what stands first is apart, later text is a turn of its own, or marked text of
  the user's next turn where there are none.
- Blank text goes unless it is signed. Equal roles are one turn where turns alternate, the assistant's always.
- The results of a turn's calls stand together right after it, in the order of the calls, before
  any other content. A call without a result gets an error; a result without a call becomes marked text.
- What a result holds that results cannot hold there follows them in the user's turn.
- Reasoning goes back to the upstream that can prove it, and to one that wants to read it.
- Arguments are the text of a JSON object, whatever the client's history holds.
- Call ids are legal and unique; the same history gives the same ids.
- A conversation begins with the user; a final assistant turn is continued or kept as prefill.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dragoman import jsontext
from dragoman.canonical import request as q
from dragoman.canonical.aliases import alias, digest

BEGINNING = "(The conversation goes on.)"
CONTINUE = "Continue."
NO_RESULT = "Error: there is no result: the call was cancelled, or its result was lost."
ORPHAN = "[Result of a tool call that is no longer part of this conversation]"
ASIDE = "[Attached to the result of the tool call {id}]"
LEFT_OUT = "[What stood here was left out: it cannot be passed on.]"
"""Stands for a user's turn of which nothing can be rendered: it was a turn all the same."""
SYSTEM = "<system>\n{text}\n</system>"

PROOF = "a proof goes back to its origin only"

_SYSTEM_ROLES = (q.Role.SYSTEM, q.Role.DEVELOPER)


class HistoryRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a target's history must look like. ``origin`` is the target's dialect."""

    origin: str
    call_id: re.Pattern[str] | None = None
    """What a call id must match as a whole; ``None``: any text."""
    call_id_longest: int | None = None
    """Characters of a call id."""
    alternate: bool = False
    """User and assistant take turns, and the user begins."""
    system_turns: bool = True
    """System text may stand in mid-conversation."""
    calls_last: bool = True
    """Nothing of an assistant's turn may stand after its calls."""
    result_parts: tuple[type, ...] = (q.Text,)
    """The kinds of parts that a result may hold."""
    fragment: bool = False
    """These messages follow others that are written already: nothing is put before or behind them."""
    prefill: bool = True
    """A final assistant turn is continued by the model; it may not end in blanks."""
    proofs: bool = True
    """Reasoning goes back only with a proof of the target's own."""
    reasoning_text: bool = False
    """Reasoning goes back as text, whoever wrote it."""


class Placed(msgspec.Struct, frozen=True):
    """A part and where it stood: ``path`` counts messages and parts of the canonical request."""

    part: q.Part
    path: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result that a call got, under the id that both have in this history. ``error``: it failed."""

    id: str
    call: q.ToolCall
    parts: tuple[q.Part, ...]
    error: bool
    path: str
    cache: dict[str, object] | None = None


class Turn(msgspec.Struct, kw_only=True):
    """One voice's turn: first the answers to the calls of the turn before, then its parts."""

    role: q.Role
    answers: list[Answer] = msgspec.field(default_factory=list)
    parts: list[Placed] = msgspec.field(default_factory=list)

    @property
    def calls(self) -> list[Placed]:
        """The tool calls of the turn."""
        return [placed for placed in self.parts if isinstance(placed.part, q.ToolCall)]


class History(msgspec.Struct, frozen=True, kw_only=True):
    """``system`` is what stood first; ``losses`` is what could not stay as it was."""

    system: list[Placed]
    turns: list[Turn]
    losses: list[q.Loss]


def arrange(messages: Sequence[q.Message], rules: HistoryRules) -> History:
    """The history as the target takes it. The same messages give the same history."""
    arranger = _Arranger(rules)
    leading = 0
    while leading < len(messages) and messages[leading].role in _SYSTEM_ROLES:
        leading += 1
    system = [
        placed for number in range(leading) for placed in _placed(messages[number], number) if not _blank(placed.part)
    ]
    for number in range(leading, len(messages)):
        arranger.add(messages[number], number)
    return History(system=system, turns=arranger.finish(), losses=arranger.losses)


def mended_arguments(text: str) -> str:
    """The arguments of an earlier call as the text of a JSON object.

    Nothing becomes ``{}``; what is no object is wrapped, as Anthropic documents it:
    ``{"INVALID_JSON": text}``.
    """
    if not text.strip() or text.strip() == "null":
        return "{}"
    return text if jsontext.is_object(text) else jsontext.render({"INVALID_JSON": text}).decode()


def _placed(message: q.Message, number: int) -> list[Placed]:
    return [Placed(part, f"messages[{number}].parts[{place}]") for place, part in enumerate(message.parts)]


def _blank(part: q.Part) -> bool:
    if isinstance(part, q.Text):
        return not part.text.strip() and part.signature is None
    return isinstance(part, q.Refusal) and not part.text.strip()


class _Arranger:
    def __init__(self, rules: HistoryRules) -> None:
        self.losses: list[q.Loss] = []
        self._rules = rules
        self._turns: list[Turn] = []
        self._used: set[str] = set()
        self._numbered: dict[str, int] = {}

    def _lose(self, path: str, reason: str) -> None:
        self.losses.append(q.Loss(path, reason))

    # ---- turns

    def add(self, message: q.Message, number: int) -> None:
        role = q.Role.SYSTEM if message.role in _SYSTEM_ROLES else message.role
        parts = [kept for placed in _placed(message, number) if (kept := self._kept(placed, role)) is not None]
        if role is q.Role.SYSTEM:
            if self._rules.system_turns:
                role = message.role
            else:
                role = q.Role.USER
        if parts:
            self._extend(role, parts)

    def _extend(self, role: q.Role, parts: list[Placed]) -> None:
        last = self._turns[-1] if self._turns else None
        merges = role is q.Role.ASSISTANT or (role is q.Role.USER and self._rules.alternate)
        if last is not None and last.role is role and merges:
            last.parts += parts
        else:
            self._turns.append(Turn(role=role, parts=parts))

    def _kept(self, placed: Placed, role: q.Role) -> Placed | None:
        """The part as it goes on, ``None`` if it does not."""
        part, path = self._unsigned(placed.part, placed.path), placed.path
        if _blank(part):
            return None
        if isinstance(part, q.ToolRun):
            self._lose(path, "a call of the gateway's that is no longer known here")
            return None
        if role is q.Role.SYSTEM and not self._rules.system_turns:
            if not isinstance(part, q.Text):
                return Placed(part, path)
            self._lose(path, "there are no system turns in mid-conversation: marked text of the user's turn")
            return Placed(msgspec.structs.replace(part, text=SYSTEM.format(text=part.text)), path)
        if isinstance(part, q.Reasoning):
            return self._reasoning(part, path)
        if isinstance(part, q.ToolCall) and part.kind == "function":
            return Placed(msgspec.structs.replace(part, arguments=mended_arguments(part.arguments)), path)
        return Placed(part, path)

    def _unsigned(self, part: q.Part, path: str) -> q.Part:
        """The part without a signature that another API gave."""
        if not isinstance(part, q.Text | q.ToolCall) or part.signature is None:
            return part
        if part.signature.home == self._rules.origin:
            return part
        self._lose(f"{path}.signature", PROOF)
        return msgspec.structs.replace(part, signature=None)

    def _reasoning(self, part: q.Reasoning, path: str) -> Placed | None:
        own = tuple(proof for proof in part.opaque if proof.home == self._rules.origin)
        if own or self._rules.reasoning_text or not self._rules.proofs:
            if len(own) < len(part.opaque):
                self._lose(path, PROOF)
            return Placed(msgspec.structs.replace(part, opaque=own), path)
        self._lose(path, "reasoning goes back only to the upstream that can prove it")
        return None

    # ---- calls and results

    def finish(self) -> list[Turn]:
        self._pair()
        self._adopt_orphans()
        if self._rules.calls_last:
            for turn in self._turns:
                _calls_to_the_end(turn)
        self._turns = [turn for turn in self._turns if turn.parts or turn.answers]
        if not self._turns and not self._rules.fragment:
            self._turns.append(_said(BEGINNING))
        if self._rules.alternate:
            self._alternate()
        self._end()
        return self._turns

    def _pair(self) -> None:
        """Gives each call its answer, in the user's turn that follows."""
        results = _Results(self._turns)
        answered: list[Turn] = []
        for at, turn in enumerate(self._turns):
            answered.append(turn)
            if turn.role is not q.Role.ASSISTANT or not turn.calls:
                continue
            answers: list[Answer] = []
            for number, placed in enumerate(turn.parts):
                if not isinstance(placed.part, q.ToolCall):
                    continue
                result = results.take(placed.part, at)
                call = msgspec.structs.replace(placed.part, id=self._id(placed.part))
                turn.parts[number] = Placed(call, placed.path)
                answers.append(self._answer(call, result, placed.path))
            following = self._turns[at + 1] if at + 1 < len(self._turns) else None
            if following is None or following.role is not q.Role.USER:
                following = Turn(role=q.Role.USER)
                answered.append(following)
            following.answers = answers
            following.parts[:0] = self._asides(answers)
        for turn in answered:
            turn.parts = [placed for placed in turn.parts if id(placed) not in results.taken]
        self._turns = answered

    def _answer(self, call: q.ToolCall, placed: Placed | None, path: str) -> Answer:
        if placed is None or not isinstance(placed.part, q.ToolResult):
            self._lose(path, "the call has no result: an error stands for it")
            return Answer(id=call.id, call=call, parts=(q.Text(text=NO_RESULT),), error=True, path=path)
        result = placed.part
        return Answer(
            id=call.id, call=call, parts=result.parts, error=result.error, path=placed.path, cache=result.cache
        )

    def _asides(self, answers: list[Answer]) -> list[Placed]:
        """Takes out of the answers what results cannot hold there, to follow them."""
        asides: list[Placed] = []
        for number, answer in enumerate(answers):
            kept = tuple(part for part in answer.parts if isinstance(part, self._rules.result_parts))
            if len(kept) < len(answer.parts):
                asides.append(Placed(q.Text(text=ASIDE.format(id=answer.id)), answer.path))
                asides += [Placed(part, answer.path) for part in answer.parts if part not in kept]
                self._lose(answer.path, "a result holds text only there: the rest follows it")
                if not kept:
                    kept = (q.Text(text="[The result follows in the next message.]"),)
                answers[number] = msgspec.structs.replace(answer, parts=kept)
        return asides

    def _id(self, call: q.ToolCall) -> str:
        """The call's id, or a legal alias; numbered where the history uses one twice or has none."""
        rules, number = self._rules, self._numbered.get(call.id, 0)
        while True:
            text = call.id if call.id and not number else f"{call.id or 'call'}#{number}"
            legal = text if rules.call_id is None or rules.call_id.fullmatch(text) else alias(text)
            if rules.call_id_longest is not None and len(legal) > rules.call_id_longest:
                legal = digest(text)
            number += 1
            if legal and legal not in self._used:
                self._used.add(legal)
                self._numbered[call.id] = number
                return legal

    def _adopt_orphans(self) -> None:
        """Results that answer no call become marked text."""
        for turn in self._turns:
            parts: list[Placed] = []
            for placed in turn.parts:
                if not isinstance(placed.part, q.ToolResult):
                    parts.append(placed)
                    continue
                self._lose(placed.path, "a result without its call: given as text")
                parts.append(Placed(q.Text(text=ORPHAN), placed.path))
                parts += [Placed(part, placed.path) for part in placed.part.parts]
            turn.parts = parts

    # ---- the whole

    def _alternate(self) -> None:
        turns: list[Turn] = []
        for turn in self._turns:
            if turns and turns[-1].role is turn.role:
                turns[-1].answers += turn.answers
                turns[-1].parts += turn.parts
            else:
                turns.append(turn)
        if not self._rules.fragment and turns and turns[0].role is q.Role.ASSISTANT:
            turns.insert(0, _said(BEGINNING))
        self._turns = turns

    def _end(self) -> None:
        """A final assistant turn."""
        if self._rules.fragment or not self._turns or self._turns[-1].role is not q.Role.ASSISTANT:
            return
        if not self._rules.prefill:
            self._lose("messages", "the last turn is the assistant's: the user asks to continue")
            self._turns.append(_said(CONTINUE))
            return
        parts = self._turns[-1].parts
        if parts and isinstance(parts[-1].part, q.Text):
            text = msgspec.structs.replace(parts[-1].part, text=parts[-1].part.text.rstrip())
            parts[-1] = Placed(text, parts[-1].path)


class _Results:
    """The results of a history, for the calls to take, in the order of the calls.

    The id decides, and of calls with the same id the latest before the result has it. Without an
    id, as in gemini histories, the name and the order do, in the turns that follow the call.
    """

    def __init__(self, turns: list[Turn]) -> None:
        self.taken: set[int] = set()
        """The identities of those that belong to a call."""
        self._turns = turns
        self._own: dict[tuple[int, str], deque[Placed]] = defaultdict(deque)  # by turn and id of the call
        self._loose: dict[tuple[int, bool], list[tuple[str | None, Placed]]] = defaultdict(list)
        """Names and results without a call that has their id: by their turn, and whether they have one."""
        latest: dict[str, int] = {}
        for at, turn in enumerate(turns):
            calls = []
            for placed in turn.parts:
                if isinstance(part := placed.part, q.ToolCall):
                    calls.append(part.id)
                elif isinstance(part, q.ToolResult) and part.id and part.id in latest:
                    self._own[latest[part.id], part.id].append(placed)
                elif isinstance(part, q.ToolResult):
                    self._loose[at, bool(part.id)].append((part.name, placed))
            latest.update(dict.fromkeys(calls, at))

    def take(self, call: q.ToolCall, at: int) -> Placed | None:
        """The result of this call, which stands in turn ``at``."""
        found = None
        if own := self._own.get((at, call.id)):
            found = own.popleft()
        for loose in self._following(call, at) if found is None else ():
            place = next((place for place, (name, _) in enumerate(loose) if name in (None, call.name)), None)
            if place is not None:
                found = loose.pop(place)[1]
                break
        if found is not None:
            self.taken.add(id(found))
        return found

    def _following(self, call: q.ToolCall, at: int) -> Iterator[list[tuple[str | None, Placed]]]:
        """What may be of this call in the turns up to the assistant's next."""
        for where in range(at + 1, len(self._turns)):
            for known in (False,) if call.id else (False, True):
                yield self._loose.get((where, known), [])
            if self._turns[where].role is q.Role.ASSISTANT:
                return


def _said(text: str) -> Turn:
    return Turn(role=q.Role.USER, parts=[Placed(q.Text(text=text), "messages")])


def _calls_to_the_end(turn: Turn) -> None:
    """Moves text that follows a call before it; not where reasoning or a native part stands behind: their order stays."""
    calls = turn.calls
    if not calls:
        return
    after: Iterable[Placed] = turn.parts[turn.parts.index(calls[0]) :]
    if not any(isinstance(placed.part, q.Reasoning | q.Native) for placed in after):
        turn.parts = [placed for placed in turn.parts if not isinstance(placed.part, q.ToolCall)] + calls
