"""What a dialect is: the table of contents that each dialect folder fills in as ``DIALECT``.

A folder under ``dialects`` holds ``wire`` (its words), ``endpoints``, ``request``, ``response``,
``decode``, ``encode``, ``errors`` and ``check``, and exports ``DIALECT``. Everything else (routes,
the command line, the pairs) is found through this table; no dialect knows another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Protocol

import msgspec

from dragoman.canonical.errors import Error
from dragoman.canonical.request import Loss, Request, Text
from dragoman.canonical.response import Response
from dragoman.history import History
from dragoman.streaming.answer import AnswerAssembler
from dragoman.streaming.encoder import EncodeContext, StreamEncoder
from dragoman.streaming.sse import ServerSentEvent

JSON = dict[str, Any]


class Operation(StrEnum):
    """What a client's route asks for."""

    GENERATE = "generate"
    COUNT_TOKENS = "count_tokens"
    GET_ANSWER = "get_answer"
    DELETE_ANSWER = "delete_answer"
    LIST_ITEMS = "list_items"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A route of a dialect: a path pattern in which ``{model}`` stands for one or more segments, ``{id}`` for one.

    ``stream`` is set where the path alone decides whether the answer streams (gemini).
    """

    path: str
    operation: Operation = Operation.GENERATE
    stream: bool | None = None
    method: str = "POST"


class Violation(msgspec.Struct, frozen=True):
    """One thing that a strict client of the dialect would reject, mangle or lose."""

    rule: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule} @ {self.where}: {self.message}"


class UpstreamRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What goes to an upstream: a path below its base URL, headers of the dialect, the body.

    ``losses`` names what could not cross. Secrets are not in here: the IO shell adds them.
    """

    path: str
    body: JSON
    headers: dict[str, str] = {}
    losses: tuple[Loss, ...] = ()
    method: str = "POST"


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``accepts``: facts about an upstream that change a request (design/requests.md, 7).

    ``None`` stands for the default of the upstream's dialect.
    """

    stream_usage: bool = True
    """chat: usage may be asked for in a stream."""
    reasoning_model: bool = False
    """chat: ``max_completion_tokens`` in place of ``max_tokens``, the key of a cache, and no sampling parameters."""
    max_output_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Tokens: the limit where the client gives none and the dialect demands one, and the cap of any."""
    thinking: Literal["budget", "adaptive", False] | None = None
    """messages: ``thinking.budget_tokens``, or ``adaptive`` with ``output_config.effort``, or nothing.
    The default is ``adaptive``, and what a client of the dialect itself asked for."""
    gemini_thinking: Literal["budget", "level"] = "level"
    """gemini: ``thinkingBudget``, or ``thinkingLevel``, whose lowest stands for none."""
    max_thinking_budget: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Tokens: the cap of a thinking budget."""
    assistant_prefill: bool = True
    """A final assistant turn is continued; else the user asks to continue."""
    mid_conversation_system: bool | None = None
    """System turns may stand in mid-conversation."""
    exclusive_sampling: bool = False
    """Of temperature and top_p only one may be given: top_p goes."""
    structured_output: bool = True
    """A JSON schema can be demanded; else it becomes an instruction."""
    gemini_schema: Literal["json-schema", "openapi-subset"] = "json-schema"
    """gemini: ``parametersJsonSchema`` as it is, or the converted subset in ``parameters``."""
    signing_upstream: bool | None = None
    """It verifies proofs of reasoning: what it did not sign itself goes."""
    wants_reasoning: bool = False
    """chat: the reasoning of earlier turns is given back as ``reasoning_content``."""
    stateless_upstream: bool = False
    """responses: nothing is stored there; items that cannot stand alone go."""
    betas: list[str] | Literal["passthrough"] | None = None
    """messages: which ``anthropic-beta`` values, and the members that belong to them, go on."""
    on_server_tool: Literal["drop", "refuse"] = "drop"
    """What becomes of hosted tools that the upstream cannot serve."""


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What a dialect takes as a target: how its histories, names and tools must look."""

    call_id: str | None = None
    """What a call id must match as a whole, in a request and in an answer; ``None``: any text."""
    call_id_longest: int | None = None
    """Characters of a call id in a request."""
    tool_name: str = r"[A-Za-z0-9_-]+"
    """What a tool's name must match as a whole."""
    tool_name_longest: int = 64
    """Characters."""
    custom_tools: bool = False
    """Its servers take freeform tools; else they are declared as functions with one text argument."""
    custom_calls: bool = False
    """Its clients take calls of freeform tools."""
    alternate: bool = False
    """User and assistant take turns, and the user begins."""
    system_turns: bool = True
    """System text may stand in mid-conversation, unless the upstream's facts say otherwise."""
    calls_last: bool = True
    """Nothing of an assistant's turn may stand after its calls."""
    result_parts: tuple[type, ...] = (Text,)
    """The kinds of parts that a tool's result may hold."""
    media: tuple[str, ...] = ()
    """What its clients take of what models draw or say: beginnings of media types."""
    signing: bool = True
    """Its servers verify proofs of reasoning, unless the upstream's facts say otherwise."""
    runs_shown: bool = False
    """Its clients are shown the calls that the gateway ran, and give them back in their histories."""


class Members(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request body of the dialect has its history, its tools, and the choice among them (a path)."""

    history: str = "messages"
    tools: str = "tools"
    choice: tuple[str, ...] = ("tool_choice",)
    proofs: tuple[str, str] | None = None
    """A list, and the word in it that asks for the proofs with which reasoning can go back."""
    counted: str | None = None
    """What may hold all of a request in a body that asks for its tokens."""


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """A request on its way to another dialect: its history is arranged, its names and tools fit the target.

    ``history`` replaces ``request.messages``; ``losses`` collects what could not cross so far.
    """

    request: Request
    history: History
    losses: tuple[Loss, ...] = ()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What a dialect's servers keep between requests, in pure functions; an IO shell keeps it where they do not.

    An *item* is one entry of a history, with an id. An answer is kept with all items that led to it
    and those that it gave.
    """

    wanted: Callable[[JSON], bool]
    """Whether a client's body asks for its answer to be kept. Raises ``InvalidRequest``."""
    previous: Callable[[JSON], str | None]
    """The id of the answer that a client's body goes on from. Raises ``InvalidRequest``."""
    references: Callable[[JSON], tuple[str, ...]]
    """The ids of the items that a client's body names instead of giving them."""
    expand: Callable[[JSON, Sequence[JSON] | None, Mapping[str, JSON]], JSON]
    """The body that stands alone: with the items of the answer before it (``None``: there is none, or it
    is not held), and those that it names, by id, as far as they are held."""
    items: Callable[[JSON], list[JSON]]
    """The items of a body that stands alone, each with an id: the same items have the same ids."""
    unkept: Callable[[JSON], JSON]
    """The body without the wish to be kept, for an upstream that keeps nothing."""
    echo: Callable[[str, str | None], JSON]
    """Members of a kept answer, from its id and the id of the answer before it."""
    new_id: Callable[[str], str]
    """The id of an answer, from a seed."""
    missing: Callable[[str], Error]
    """The error for a previous answer of this id that is not held."""
    take: Callable[[JSON], tuple[JSON, list[JSON]]]
    """An answer, parted into what it is without its items, and its items."""
    put: Callable[[JSON, Sequence[JSON]], JSON]
    """The answer made whole again."""
    page: Callable[[Sequence[JSON], Mapping[str, str]], JSON]
    """A page of a list of items, by the parameters of the query. Raises ``InvalidRequest``."""
    deleted: Callable[[str], JSON]
    """What tells a client that the answer of this id is gone."""


Plain = tuple[str, Callable[..., object]]


class Decoder(Protocol):
    """Reads an upstream's records and tells the assembler what they say. It never raises for odd input."""

    varying: Mapping[str, bool]
    """Outermost members of a record that differ from one to the next. False: they are never looked at. True: the value,
    an object in which nothing but numbers differs, is told with the text (``plain``)."""
    plain: Plain | None
    """Set by ``decode`` after a record that told this text, as it stands in the record, and nothing that would not be
    told again in vain: what tells another text, as ``decode`` would where a record is the same but for it. Varying
    members that are told come as further arguments, in JSON, as far as the record had them."""

    def decode(self, record: ServerSentEvent) -> None:
        """One event of a stream; its data may be anything."""

    def decode_body(self, body: Any) -> None:
        """The whole answer as one JSON value (already parsed)."""

    def finish(self) -> None:
        """The upstream's bytes are over: what was still held at this level is told."""


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """One wire dialect, both as a client's and as an upstream's."""

    name: str
    title: str
    """The vendor's name of the API, for people."""
    routes: tuple[Route, ...]
    heartbeat: bytes
    """Bytes that a waiting client of this dialect reads over (between events)."""

    parse_request: Callable[[JSON, str | None, bool | None], Request]
    """A client's body; model and stream where the route's path holds them. Raises ``InvalidRequest``."""
    render_request: Callable[[Crossing, Facts], UpstreamRequest]
    """The request in this dialect, for an upstream. Raises ``InvalidRequest`` where the meaning would change."""
    adapt_request: Callable[[JSON, Request, Facts], UpstreamRequest]
    """A client's body of this very dialect with the least change: model, and what the upstream needs."""

    decoder: Callable[[AnswerAssembler], Decoder]
    encoder: Callable[[EncodeContext], StreamEncoder]
    render_response: Callable[[Response, EncodeContext], JSON]

    parse_error: Callable[[int, Any], Error]
    """The error in an upstream's body (parsed JSON, or text) that came with this HTTP status."""
    render_error: Callable[[Error, str], JSON]
    """The body of an error for a client, with the request id where the dialect has a place for it."""
    status_of: Callable[[Error], int]
    """The HTTP status that this dialect gives an error."""

    render_models: Callable[[list[str], int], JSON]
    """The list of models for a client of this dialect; the Unix time for fields that demand one."""
    render_model: Callable[[str, int], JSON]

    authorize: Callable[[str], dict[str, str]]
    """The headers that carry an API key to an upstream of this dialect."""
    client_headers: Callable[[str], dict[str, str]]
    """Headers that an answer to a client of this dialect carries, from the request id."""

    check: Callable[[bytes], list[Violation]]
    """What a strict client would reject in a body, streamed or whole."""

    traits: Traits = Traits()
    members: Members = Members()
    base_path: str = ""
    """What the dialect's official SDK has in its base URL beyond the host (``/v1``, or nothing)."""
    adapt_count: Callable[[JSON, Request, Facts], UpstreamRequest] | None = None
    """``adapt_request`` for a request to count tokens; ``None``: its body goes on as it is."""
    render_count: Callable[[int], JSON] | None = None
    """The answer to a request to count tokens, in a dialect that has them."""
    state: State | None = None
    """For a dialect whose servers keep answers."""
    render_summary: Callable[[str], JSON] | None = None
    """For a dialect whose clients have their histories summed up: the item that stands for one, from the summary."""
    forward_headers: tuple[str, ...] = ()
    """Client headers that go on to an upstream of the same dialect (lower case)."""
    fit_headers: Callable[[dict[str, str], Facts], dict[str, str]] | None = None
    """What of these headers the upstream takes; ``None``: all of it."""
    model_headers: tuple[str, ...] = ()
    """Headers whose presence tells that a request for the model list is of this dialect (lower case)."""
    quirks: dict[str, str] = {}
    """The oddities of this dialect's servers that its decoder repairs: slug and sentence (``streaming.quirks``)."""
    rules: dict[str, str] = {}
    """What ``check`` judges: the name of each rule, and what goes wrong where it is broken."""
    array_stream: bool = False
    """Whether a stream without ``alt=sse`` is a JSON array (Google)."""

    def forwarded(self, headers: Mapping[str, str], facts: Facts) -> dict[str, str]:
        """Of a client's headers (names in lower case) those that go on to an upstream of the same dialect."""
        kept = {name: headers[name] for name in self.forward_headers if name in headers}
        return kept if self.fit_headers is None else self.fit_headers(kept, facts)

    def error_headers(self, error: Error) -> Mapping[str, str]:
        """Headers that go with an error."""
        if error.retry_after is None:
            return {}
        return {"retry-after": f"{max(0, round(error.retry_after))}"}
