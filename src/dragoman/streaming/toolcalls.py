"""Which call does a fragment belong to, when is a call announced, and what is it called?

The one home of founding text A (a bare continuation belongs to the call that was opened last) and
founding text B (a call is held back until its name arrives; a call never named is dropped), and of
the rules around them (design/streams.md, 2 and 3). The client path and the server-tool path share it.

**Matching**, in this order (``ToolCallAssembler._match``):

1. The exact key: index and id of the same call; else the latest call at the index; else the id,
   where the index is absent, or unknown while no name is given.
2. A call found by its key may still be the wrong one (``_begins_another``): a header of another call
   is told by a new id together with a name, by other arguments after whole ones, or by another
   declared name.
3. No exact match, but a name or an id: a new call. An id without a name is a header, its name comes later.
4. Neither key nor name: a continuation of the latest call; at an unknown index only while that
   call's JSON is open, else a call whose identity may still come.

**Announcing**: in the order of opening, once a call has a name and something to send (argument
text, or its end). Until then the id and the name may still come, grow or be repaired.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from dragoman.canonical import aliases
from dragoman.canonical.events import ToolCallDelta, ToolCallEnd, ToolCallStart
from dragoman.exceptions import RemoteProtocolError
from dragoman.names import ToolIdentity, bare_name
from dragoman.streaming.fragments import Call, CallFragment, read_fragment
from dragoman.streaming.freeform import InputReader, InputWriter
from dragoman.streaming.ids import Ids

__all__ = ["Call", "CallFragment", "Sink", "ToolCallAssembler", "read_fragment"]


class Sink(Protocol):
    """Where announced calls go: the sequencer."""

    def open(self, block: Call, start: ToolCallStart) -> None: ...
    def feed(self, call: Call, deltas: Sequence[ToolCallDelta]) -> None: ...
    def close(self, block: Call, ending: ToolCallEnd) -> None: ...


class ToolCallAssembler:
    """Fragments in, announced calls out. Raises ``RemoteProtocolError`` past ``open_calls`` and ``longest`` arguments."""

    def __init__(
        self,
        *,
        tools: Mapping[str, ToolIdentity] | None,
        ids: Ids,
        sink: Sink,
        note: Callable[[str], None],
        lose: Callable[[str], None],
        legal_id: re.Pattern[str] | None = None,
        freeform_client: bool = True,
        open_calls: int = 128,
        longest: int = 16 << 20,
    ) -> None:
        self.announced = 0
        self.dropped = 0
        """Calls that never got a name."""
        self.incomplete = False
        """Whether a call ended with half of its arguments."""
        self._tools = tools or {}
        self._freeform_client = freeform_client
        self._open_calls = open_calls
        self._longest = longest
        self._ids = ids
        self._sink = sink
        self._note = note
        self._lose = lose
        self._legal_id = legal_id
        self._calls: list[Call] = []
        self._unfinished = 0
        self._waiting = 0  # the place of the first call that is neither announced nor dropped
        self._latest_at: dict[int, Call] = {}
        self._latest_with: dict[str, Call] = {}
        self._announced_ids: set[str] = set()

    @property
    def open(self) -> bool:
        """Whether a call's arguments have begun and are not whole."""
        return any(call.arguments.open for call in self._calls if not call.finished)

    @property
    def told(self) -> list[Call]:
        """The calls that can be those of a snapshot."""
        return [call for call in self._calls if call.announced or not call.finished]

    # ---- in

    def feed(self, fragment: CallFragment) -> None:
        """A header, a continuation, or both."""
        call = self._match(fragment)
        if call is None:
            return
        if call.finished:
            self._late(call, fragment)
            return
        self._apply(call, fragment)
        self._release(call)

    def end(self, fragment: CallFragment, *, over: bool = True) -> None:
        """The fragment's arguments are a snapshot of all of a call, which the upstream says is ``over``."""
        header = msgspec.structs.replace(fragment, arguments=None)
        call = self._exact(header)
        if call is None or self._begins_another(call, header):
            call = self._open(header)
        if not call.finished:
            self._apply(call, header)
            if fragment.arguments is not None:
                call.arguments.supply(fragment.arguments)
                self._demand_room(call)
        if not call.agrees(fragment):
            self._note("snapshot-differs")
        if call.finished:
            return
        call.ended |= over
        self._release(call)

    def whole(self, fragment: CallFragment) -> None:
        """A call of its own in one piece, whatever else looks like it; in such a dialect ids are optional."""
        if fragment.id is None:
            fragment = msgspec.structs.replace(fragment, id=self._ids("call_"))
        call = self._open(fragment)
        self._apply(call, fragment)
        call.ended = True
        if not call.name:
            self.finish_call(call, normal=True)
        self._advance(followed=True)

    def settle(self) -> None:
        """Something else follows: a call that the upstream ended without arguments has none."""
        if self._calls and self._calls[-1].ended:
            self._advance(followed=True)

    def finish(self, *, normal: bool) -> None:
        """The answer is over. ``normal``: by itself; else a limit cut it, and with it the last call."""
        for call in self._calls:
            self.finish_call(call, normal=normal or call is not self._calls[-1])
        self._waiting = len(self._calls)

    def break_off(self) -> None:
        """The answer failed: whole calls go out, half a call stays as it stands."""
        for call in self._calls:
            if call.ended or call.done or call.arguments.text.strip() == "{}":
                self.finish_call(call, normal=True)

    def finish_call(self, call: Call, *, normal: bool) -> None:
        """Ends a call, and drops it if it has no name or only repeats another one."""
        if call.finished:
            return
        call.finished = True
        self._unfinished -= 1
        complete = call.arguments.finish(normal=normal)
        if not call.announced:
            if not call.name:
                self._drop(call)
                return
            if self._is_echo(call):
                self._note("call-echo")
                return
            self._announce(call)
        self._flush(call)
        if call.form is not None and (rest := call.form.finish()):
            self._sink.feed(call, [ToolCallDelta(rest)])
        self.incomplete = self.incomplete or not complete
        self._sink.close(call, ToolCallEnd(complete, call.late_signature))

    # ---- which call?

    def _match(self, fragment: CallFragment) -> Call | None:
        exact = self._exact(fragment)
        if exact is not None:
            return self._open(fragment) if self._begins_another(exact, fragment) else exact
        latest = self._calls[-1] if self._calls else None
        keyless = fragment.id is None and fragment.index is None
        if keyless and fragment.name and latest is not None and not latest.name:
            return latest  # a name without any key, while a call waits for its name
        if fragment.name or fragment.id:
            return self._open(fragment)
        return self._continuation(fragment, latest)

    def _exact(self, fragment: CallFragment) -> Call | None:
        index = fragment.index
        known = self._latest_with.get(fragment.id) if fragment.id else None
        if index is None:
            return known
        latest = self._latest_at.get(index)
        if latest is None:
            return None if fragment.name else known
        return known if known is not None and known.index == index else latest

    def _begins_another(self, call: Call, fragment: CallFragment) -> bool:
        """Whether a fragment that has the key of this call is nevertheless the header of another one."""
        if not fragment.name:
            return False  # rotated ids included: the first id stays
        name, known = self._clean(fragment.name), self._clean(call.name)
        if fragment.id is not None and call.id is not None and fragment.id != call.id:
            return not (name == known and call.arguments.open)
        if name != known:
            if not known:
                return False
            if call.done:
                return True
            declared = name in self._tools and known in self._tools
            return declared and not call.arguments.open and not name.startswith(known)
        if not call.done or not (fragment.arguments or "").strip():
            return False
        if fragment.id is None and call.id is None:
            return True
        return not call.arguments.repeats(fragment.arguments or "")

    def _continuation(self, fragment: CallFragment, latest: Call | None) -> Call | None:
        """A fragment without id and name that no index ties to a call (founding text A)."""
        if fragment.arguments is None and fragment.signature is None:
            return None
        if latest is not None and (fragment.index is None or not latest.done):
            self._note("continuation-bare" if fragment.index is None else "index-drift")
            return latest
        if fragment.index is None or fragment.arguments is None:
            self._note("continuation-orphan")
            self._lose("arguments without a call")
            return None
        return self._open(fragment)

    def _open(self, fragment: CallFragment) -> Call:
        self.settle()
        if self._unfinished >= self._open_calls:
            raise RemoteProtocolError(f"the upstream opened more than {self._open_calls} tool calls at the same time")
        self._unfinished += 1
        call = Call(fragment, self._note)
        if fragment.id is not None:
            earlier = self._latest_with.get(fragment.id)
            if earlier is not None:
                call.id_taken = True
                if fragment.index is None or earlier.index != fragment.index:
                    call.original = earlier.original or earlier
            self._latest_with[fragment.id] = call
        if fragment.index is not None:
            if fragment.index in self._latest_at:
                self._note("index-reused")
            self._latest_at[fragment.index] = call
        self._calls.append(call)
        return call

    # ---- what it says

    def _apply(self, call: Call, fragment: CallFragment) -> None:
        if fragment.id is not None and fragment.id != call.id:
            if call.id is None:
                call.id = fragment.id
                self._latest_with.setdefault(fragment.id, call)
                self._note("id-late")
            else:
                self._note("id-rotated")
        if fragment.name and not call.announced:
            if not call.name and call.arguments.text:
                self._note("name-late")
            call.name = self._joined(call.name, fragment.name)
        if fragment.signature is not None:
            if call.announced:
                call.late_signature = fragment.signature
            else:
                call.signature = fragment.signature
        call.namespace = call.namespace or fragment.namespace
        call.native = call.native or fragment.native
        if fragment.arguments is not None:
            call.arguments.feed(fragment.arguments)
            self._demand_room(call)

    def _demand_room(self, call: Call) -> None:
        if call.arguments.size > self._longest:
            raise RemoteProtocolError(f"the arguments of a call have more than {self._longest:,} characters")

    def _joined(self, name: str, piece: str) -> str:
        """Equal: a repeat. An extension: it replaces. Otherwise a further piece of the name."""
        piece = piece.strip()
        if not name or piece.startswith(name):
            return piece
        if self._clean(piece) == self._clean(name):
            return name
        self._note("name-fragmented")
        return name + piece

    def _clean(self, name: str) -> str:
        return bare_name(name, self._tools)

    def _late(self, call: Call, fragment: CallFragment) -> None:
        """A fragment for a call that has ended: an echo, or lost."""
        call.arguments.feed(fragment.arguments or "")
        if any(delta.text.strip() for delta in call.arguments.out):
            self._note("args-after-end")
            self._lose("arguments of a call that was over")
        call.arguments.out = []

    def _drop(self, call: Call) -> None:
        self.dropped += 1
        self._note("name-never")
        self._lose("a call without a name")

    # ---- out

    def _release(self, touched: Call) -> None:
        """Sends what may be sent: of this call, and of those that waited for it."""
        if touched.announced:
            self._send(touched)
        if self._waiting < len(self._calls):
            self._advance(followed=False)

    def _advance(self, *, followed: bool) -> None:
        """Announces calls in the order of their opening, as far as they are ready.

        A call that the upstream ended without arguments is ready once something follows it: until
        then its answer may turn out to be cut.
        """
        while self._waiting < len(self._calls):
            call = self._calls[self._waiting]
            if not call.finished:
                if not call.name or self._may_be_echo(call):
                    return
                if call.arguments.out:
                    self._announce(call)
                    self._send(call)
                elif call.ended and (followed or call is not self._calls[-1]):
                    self.finish_call(call, normal=True)
                else:
                    return
            self._waiting += 1

    def _may_be_echo(self, call: Call) -> bool:
        """Its id is another call's: it is held while name and arguments are the same so far."""
        original = call.original
        if original is None or self._clean(call.name) != self._clean(original.name):
            return False
        return not original.done or original.arguments.repeats(call.arguments.text)

    def _is_echo(self, call: Call) -> bool:
        original = call.original
        if original is None or not self._may_be_echo(call):
            return False
        return call.arguments.text.strip() == original.arguments.text.strip()

    def _announce(self, call: Call) -> None:
        name = self._clean(call.name)
        if name != call.name:
            self._note("name-repaired")
            call.name = name
        declared = self._tools.get(name)
        tool = declared or ToolIdentity(name, call.kind, call.namespace)
        kind = tool.kind if declared or self._freeform_client else "function"
        if kind != call.kind:
            call.form = InputReader() if kind == "custom" else InputWriter()
        call.announced = True
        self.announced += 1
        start = ToolCallStart(
            id=self._id_of(call),
            name=tool.name,
            kind=kind,
            signature=call.signature,
            namespace=call.namespace or tool.namespace,
            native=call.native,
        )
        self._sink.open(call, start)

    def _id_of(self, call: Call) -> str:
        """The call's own id if it may be used, else a minted one or an alias; unique in the answer."""
        id = call.id
        if id is None or call.id_taken:
            self._note("id-missing" if id is None else "id-duplicate")
            id = self._ids("call_")
        elif self._legal_id is not None and not self._legal_id.fullmatch(id):
            id = aliases.alias(id)
        while id in self._announced_ids:
            id = self._ids("call_")
        self._announced_ids.add(id)
        return id

    def _send(self, call: Call) -> None:
        """What an announced call has to say, and its end if the upstream told it."""
        self._flush(call)
        if call.ended and not call.arguments.placeholder:
            self.finish_call(call, normal=True)

    def _flush(self, call: Call) -> None:
        deltas, call.arguments.out = call.arguments.out, []  # the sink may end the call from within
        if call.form is not None:
            texts = map(call.form.feed, (delta.text for delta in deltas))
            deltas = [ToolCallDelta(text) for text in texts if text]
        self._sink.feed(call, deltas)  # also none: an echo that is over may let the next block out
