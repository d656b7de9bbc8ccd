"""Two dialects joined: one client request and its whole answer, without IO.

``Exchange`` is what the gateway drives:

    client body ─ request ─▶ upstream request
    upstream bytes ─ receive_* ─▶ UpstreamTurn ─ events ─▶ ClientAnswer ─ data_to_send ─▶ client bytes
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman import compaction
from dragoman.canonical import events as e
from dragoman.canonical.errors import Error
from dragoman.canonical.request import Loss, Message, Request
from dragoman.clientanswer import AnswerHead, ClientAnswer
from dragoman.crossing import cross, identities, lossy
from dragoman.dialects.contract import Dialect, Facts, UpstreamRequest
from dragoman.exceptions import InvalidRequest, LocalProtocolError
from dragoman.failures import worth_another
from dragoman.memory import AnswerRecorder, ReasoningMemory, reminded
from dragoman.names import ToolIdentity
from dragoman.streaming.answer import DecodeContext
from dragoman.streaming.body import StreamLimits
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids
from dragoman.toolloop.loop import GatewayCall, LoopLimits, LoopState, ToolLoop, ToolOutcome
from dragoman.toolloop.native import Splicer
from dragoman.toolloop.offer import GatewayTool, relaxed
from dragoman.toolloop.past import PastAnswer, PastAnswers, question_of
from dragoman.toolloop.prepared import prepared
from dragoman.turn import UpstreamTurn


class Exchange:
    """One client request and its answer, from bytes to bytes.

    ``seed`` makes ids (unique for each exchange), ``now`` is a Unix time in seconds. ``memory`` puts back the
    reasoning that clients forget, apart for each ``scope`` (a client). ``secrets`` are taken out of errors.
    ``strict``: a loss of the request is a refusal. ``tools`` are run by the gateway, within the bounds of
    ``loop``; ``past`` puts them back into later histories. First ``request``, then ``receive_head``, ``receive_data`` any
    number of times and ``receive_eof`` or ``receive_failure``; after each, ``head`` and ``data_to_send`` tell what
    the client gets.
    """

    hold = False
    """Whether a failure that says nothing of other upstreams is withheld, as long as nothing else was said."""
    withheld: Error | None = None
    """The failure, if it is: another exchange may ``take_over``, or this one ``give_up``."""
    said = False
    """Whether the upstream said something of an answer."""
    _taken: ClientAnswer | None = None
    _summary: compaction.Summary | None = None
    """What becomes of the answer, if the request is to have a history summed up."""

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
        strict: bool = False,
        tools: Sequence[GatewayTool] = (),
        loop: LoopLimits | None = None,
        past: PastAnswers | None = None,
    ) -> None:
        self.client = client
        self.upstream = upstream
        self.losses: tuple[Loss, ...] = ()
        self._seed = seed
        self._now = now
        self._request_id = request_id
        self._facts = facts or Facts()
        self._limits = limits or StreamLimits()
        self._memory = memory
        self._scope = scope
        self._secrets = secrets
        self._strict = strict
        self._tools = tools
        self._loop_limits = loop or LoopLimits()
        self._past = past or PastAnswers()
        self._loop: ToolLoop | None = None
        self._recorder = AnswerRecorder(memory, scope, upstream.name, now) if memory is not None else None

    @property
    def native(self) -> bool:
        """Whether client and upstream speak the same dialect: the client's own body goes on."""
        return self.client is self.upstream

    @property
    def facts(self) -> Facts:
        """What is known of the upstream."""
        return self._facts

    # ---- the request

    def request(
        self,
        body: dict[str, Any],
        upstream_model: str,
        *,
        path_model: str | None = None,
        path_stream: bool | None = None,
        array: bool = False,
        echo: Mapping[str, Any] | None = None,
    ) -> UpstreamRequest:
        """The request for the upstream. Model and stream come from the path where the client's dialect has them there.

        ``echo``: members that the answer repeats (``EncodeContext``). Raises ``InvalidRequest``.
        """
        parsed = self.client.parse_request(body, path_model, path_stream)
        asked, tools = parsed, self._tools
        if parsed.compact and not self.native and self.client.render_summary:
            asked, tools = compaction.asked(parsed), ()
            self._summary = compaction.Summary(self.client.name, self.client.render_summary)
        self._prepared = prepared(
            body,
            asked,
            self.upstream,
            self._facts,
            tools=tools,
            past=self._past,
            scope=self._scope,
            now=self._now,
        )
        self._asked = msgspec.structs.replace(self._prepared.request, model=upstream_model)
        made, known = self._render(())
        self.losses = self._prepared.of_client(made.losses)
        if self._strict and self.losses:
            raise InvalidRequest(lossy(self.losses))
        if offer := self._prepared.offer:
            self._loop = ToolLoop(offer, self._loop_limits, Ids(f"{self._seed}:runs"))
        self._begin(parsed, known, streaming=parsed.stream, array=array, echo=echo)
        return made

    def _render(self, turns: Sequence[Message]) -> tuple[UpstreamRequest, Mapping[str, ToolIdentity]]:
        """The upstream request for the turn that follows these, and the tools by the names over there."""
        asked = self._asked
        if turns:
            asked = msgspec.structs.replace(asked, tool_choice=relaxed(asked.tool_choice))
        if self.native:
            body, losses = self._prepared.body, self._prepared.losses
            if turns:
                splicer = Splicer(self.upstream, self._facts)
                body = splicer.with_turns(body, asked, turns, choose=asked.tool_choice != self._asked.tool_choice)
                losses += tuple(splicer.losses)
            made = self.upstream.adapt_request(body, asked, self._facts)
            return msgspec.structs.replace(made, losses=losses + made.losses), identities(asked)
        asked = msgspec.structs.replace(asked, messages=asked.messages + tuple(turns))
        if self._memory is not None:
            asked = reminded(asked, self._memory, self._scope, self.upstream.name, self._now)
        crossing, known = cross(asked, self.upstream, self._facts)
        return self.upstream.render_request(crossing, self._facts), known

    def begin(self, request: Request | None = None, *, streaming: bool) -> None:
        """Sets up the way back where no request is translated; without one nothing is known of tools and choices."""
        self._begin(request, None if request is None else identities(request), streaming=streaming)

    def _begin(
        self,
        request: Request | None,
        tools: Mapping[str, ToolIdentity] | None,
        *,
        streaming: bool,
        array: bool = False,
        echo: Mapping[str, Any] | None = None,
    ) -> None:
        self._request = request
        self._turns = 0
        self._dropped: Counter[str] = Counter()
        self._quirks: Counter[str] = Counter()
        self._next_turn(tools)
        encoding = EncodeContext(
            model=request.model if request is not None else "",
            ids=Ids(self._seed + ":client"),
            now=self._now,
            request=request,
            stream_usage=request.stream_usage if request is not None else True,
            array=array,
            echo=echo or {},
        )
        self._answer = self._taken or ClientAnswer(
            self.client, encoding, streaming=streaming, request_id=self._request_id
        )

    def _next_turn(self, tools: Mapping[str, ToolIdentity] | None) -> None:
        """Ready for the answer to one upstream request; ids of different turns never meet."""
        request, pattern = self._request, self.client.traits.call_id
        native = request is None or self.client is self.upstream
        context = DecodeContext(
            origin=self.upstream.name,
            ids=Ids(f"{self._seed}:{self._turns}" if self._turns else self._seed),
            tools=tools,
            choices=request.choices if request is not None else 1,
            legal_id=re.compile(pattern) if pattern else None,
            freeform_client=native and self.client.traits.custom_calls,
            open_calls=self._limits.open_calls,
            longest_arguments=self._limits.arguments,
        )
        self._turns += 1
        self._turn = UpstreamTurn(self.upstream, context, self._limits, self._now, self._secrets)

    # ---- the tools that the gateway runs

    @property
    def calls(self) -> tuple[GatewayCall, ...]:
        """Calls that have to be run now: the upstream's turn is over, the answer is not."""
        return self._loop.calls if self._loop is not None else ()

    @property
    def tool_runs(self) -> int:
        """How many calls the gateway ran."""
        return self._loop.runs if self._loop is not None else 0

    @property
    def tools_ran(self) -> dict[str, int]:
        """How often each of the gateway's tools ran, by the name under which the model is offered it."""
        return self._loop.ran if self._loop is not None else {}

    @property
    def rounds(self) -> int:
        """Answers that the upstream was asked for: more than one where the gateway ran tools."""
        return self._loop.rounds if self._loop is not None else 1

    def receive_outcomes(self, outcomes: Sequence[ToolOutcome]) -> UpstreamRequest | None:
        """What came of ``calls``, in their order. Gives the next upstream request, ``None`` if the answer is over.

        Raises ``LocalProtocolError`` if nothing was to be run.
        """
        if self._loop is None:
            raise LocalProtocolError("no tool of the gateway's was called")
        self._answer.add(self._loop.fold(outcomes))
        if self._loop.state is LoopState.OVER:
            self._keep(self._loop)
            return None
        try:
            made, known = self._render(self._loop.messages)
        except InvalidRequest as refusal:  # what a tool gave has no form there
            self._answer.add([e.ResponseError(refusal.error)])
            return None
        self.losses = tuple(dict.fromkeys((*self.losses, *self._prepared.of_client(made.losses))))
        self._dropped.update(self._turn.dropped)
        self._quirks.update(self._turn.quirks)
        self._next_turn(known)
        return made

    def stop_tools(self, failure: Error | None = None) -> None:
        """The time for tools is over: the answer ends where it stands, visibly, or in this failure."""
        if self._loop is not None and self._loop.state is LoopState.RUNNING:
            self._answer.add(self._loop.stop(failure))
            self._keep(self._loop)

    def _keep(self, loop: ToolLoop) -> None:
        """Keeps the turns of an answer in which the gateway ran tools, for the client's next request."""
        shown = loop.shown if self.client.traits.runs_shown else ()
        if loop.runs and self._request is not None:
            question = question_of(self._request.messages)
            answer = PastAnswer(messages=tuple(loop.messages), question=question, origin=self.upstream.name)
            self._past.keep(self._scope, (*loop.handed_over, *shown), answer, self._now)

    # ---- another upstream's turn

    def take_over(self, other: Exchange) -> None:
        """Before ``request``: goes on with the answer of an exchange that failed after its head had to go out."""
        self._taken = other._answer if other.head is not None else None

    def give_up(self) -> None:
        """The failure that was withheld is what the client is told."""
        if self.withheld is not None:
            self._answer.add([e.ResponseError(self.withheld)])
            self.withheld = None

    def _withholds(self, events: list[e.Event]) -> bool:
        if not self.hold or type(last := events[-1]) is not e.ResponseError or not worth_another(last.error):
            return False
        if self.streaming and (self.said or len(events) > 1):
            return False
        self.withheld = last.error
        return True

    # ---- the answer

    @property
    def head(self) -> AnswerHead | None:
        """``None`` while it is held back."""
        return self._answer.head

    @property
    def streaming(self) -> bool:
        """Whether the client wants a stream."""
        return self._answer.streaming

    @property
    def finished(self) -> bool:
        """The answer is over: nothing more is wanted from the upstream."""
        return self._answer.finished or self.withheld is not None

    @property
    def over(self) -> bool:
        """The upstream's turn is over: the answer is, or tools have to be run (``calls``)."""
        return self._answer.finished or self.withheld is not None or bool(self._loop and self._loop.calls)

    @property
    def error(self) -> Error | None:
        """What the client was told of a failure, or is to be told."""
        return self.withheld or self._answer.error

    @property
    def failed(self) -> bool:
        """The answer is an error, or ends in one."""
        return self.error is not None

    @property
    def finish(self) -> str | None:
        """The canonical reason for the end."""
        return self._answer.finish

    @property
    def usage(self) -> e.Usage | None:
        """What the answer cost, as far as the upstream said."""
        return self._answer.usage

    @property
    def answer(self) -> dict[str, Any] | None:
        """The whole answer as the client got it; known at its end, of a stream only where the dialect repeats it."""
        return self._answer.body

    @property
    def dropped(self) -> dict[str, int]:
        """Content of the upstream's answer that had no form on the way, and how often."""
        return dict(self._dropped + Counter(self._turn.dropped) + Counter(self._answer.losses))

    @property
    def quirks(self) -> dict[str, int]:
        """How often each oddity of the upstream was repaired, by its slug."""
        return dict(self._quirks + Counter(self._turn.quirks))

    def receive_head(self, status: int, headers: Mapping[str, str]) -> None:
        """The upstream's status and headers (names in lower case)."""
        self._turn.receive_head(status, headers)

    def receive_data(self, data: bytes) -> None:
        """Bytes of the upstream's body, in any cut."""
        if not self._answer.finished and (events := self._turn.receive_data(data)):
            self._tell(events)
            if self._direct:
                self._turn.pour(self._answer.text)

    def receive_eof(self) -> None:
        """The upstream's body is over."""
        if not self._answer.finished:
            self._tell(self._turn.receive_eof())

    def receive_failure(self, error: Error) -> None:
        """The exchange with the upstream failed: no connection, a time-out, a broken transfer."""
        if not self._answer.finished:
            self._tell(self._turn.receive_failure(error))

    def open_head(self) -> None:
        """The head has been held long enough: the client gets a 200 now, and failures travel in the stream."""
        if self.head is None and not self.finished and self.streaming:
            self._answer.add(self._turn.open() if self._loop is None else self._loop.open())

    def data_to_send(self) -> bytes:
        """The bytes for the client since the last call."""
        return self._answer.data_to_send()

    @property
    def _direct(self) -> bool:
        """Whether text of the upstream's goes out as it is, and nothing here has to know of it."""
        return self.streaming and self._loop is None and self._summary is None and not self.finished

    def _tell(self, events: list[e.Event]) -> None:
        if self._recorder is not None:
            self._recorder.add(events)
        if self._summary is not None:
            events = self._summary.receive(events)
        if self._loop is not None and events:
            events = self._loop.receive(events)
            if self._loop.state is LoopState.OVER:
                self._keep(self._loop)
        if not events or self._withholds(events):
            return
        if self._taken is not None and not self.said and type(events[0]) is e.ResponseStart:
            events = events[1:]  # its client has one already
        self.said = self.said or type(events[-1]) is not e.ResponseError
        self._answer.add(events)
