"""What a client asks, in no dialect's words.

A *message* is one voice's contribution to the history: its parts in order. Tool calls are parts of
assistant messages, tool results parts of user messages. ``Loss`` names what a crossing left out.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import msgspec

from dragoman.canonical.events import ToolKind
from dragoman.canonical.opaque import Opaque


class Role(StrEnum):
    """Whose voice a message is. ``DEVELOPER`` ranks below ``SYSTEM`` where a dialect knows both."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"


class Text(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What somebody says."""

    text: str
    cache: dict[str, Any] | None = None
    """The cache marker that stood on this part, in ``messages`` form (``{"type": "ephemeral"}``)."""
    signature: Opaque | None = None


class Image(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Exactly one of base64 ``data``, ``url`` and ``file_id`` (of ``origin``'s file store)."""

    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    origin: str | None = None
    detail: str | None = None
    cache: dict[str, Any] | None = None


class Document(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A PDF or another file: one of base64 ``data``, plain ``text``, ``url``, ``file_id``."""

    media_type: str | None = None
    name: str | None = None
    data: str | None = None
    text: str | None = None
    url: str | None = None
    file_id: str | None = None
    origin: str | None = None
    cache: dict[str, Any] | None = None


class Audio(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A sound; ``data`` is base64."""

    media_type: str
    data: str


class Reasoning(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What the model thought in an earlier turn, with its proofs; ``summary`` as in ``ReasoningStart``.

    ``item_id`` as there, in turns of the answer under way: they go back to the upstream as they came.
    """

    text: str = ""
    summary: bool = False
    opaque: tuple[Opaque, ...] = ()
    item_id: str | None = None


class Refusal(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Why the model would not answer in an earlier turn."""

    text: str


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """``arguments`` is the text of the call: JSON for a function, anything for a custom tool."""

    id: str
    name: str
    arguments: str
    kind: ToolKind = "function"
    signature: Opaque | None = None
    namespace: str | None = None
    cache: dict[str, Any] | None = None


ResultPart = Text | Image | Document | Audio
"""What a tool can give."""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """``name`` is the tool's where the dialect gives it; ``id`` may be empty in gemini histories."""

    id: str
    parts: tuple[ResultPart, ...]
    name: str | None = None
    error: bool = False
    kind: ToolKind = "function"
    cache: dict[str, Any] | None = None


class Native(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A part that only its own dialect knows (server tools, compaction); others leave it out."""

    origin: str
    value: dict[str, Any]


class ToolRun(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A call of the gateway's that the client was shown, and echoes (``events.ToolRun``)."""

    id: str


Part = ResultPart | Reasoning | Refusal | ToolCall | ToolResult | ToolRun | Native


class Message(msgspec.Struct, frozen=True):
    """One voice's contribution to the history: its parts in order."""

    role: Role
    parts: tuple[Part, ...]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the client runs. ``schema`` is JSON Schema; ``format`` a custom tool's grammar.

    ``about``: what its namespace is for; the first tool of a namespace has it. ``native``: its declaration in
    the client's own dialect, where the client's vendor defines the tool (``names.BUILTIN``). ``legacy``: the client
    knows but one call at a time, in the form from before tools (``functions`` of chat).
    """

    name: str
    description: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None
    kind: ToolKind = "function"
    format: dict[str, Any] | None = None
    namespace: str | None = None
    about: str | None = None
    cache: dict[str, Any] | None = None
    native: dict[str, Any] | None = None
    legacy: bool = False


class HostedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the origin's servers run (web search, code); ``value`` is its declaration."""

    origin: str
    type: str
    value: dict[str, Any]


class ToolChoice(msgspec.Struct, frozen=True):
    """``required`` with names: one of these; ``auto`` with names: only these may be called.

    ``namespaces``: that of each name, where the dialect has namespaces.
    """

    mode: Literal["none", "auto", "required"]
    names: tuple[str, ...] = ()
    namespaces: tuple[str | None, ...] = ()


class OutputFormat(msgspec.Struct, frozen=True, kw_only=True):
    """Structured output: any JSON, or JSON of a schema."""

    type: Literal["json", "schema"]
    name: str | None = None
    description: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ReasoningRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How much the model shall think: an ``effort``, a token ``budget``, or neither (``adaptive``).

    ``visible``: whether the client wants to see it; ``None``: it did not say.
    """

    effort: Effort | None = None
    budget: int | None = None
    adaptive: bool = False
    visible: bool | None = None
    summary: str | None = None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request for an answer. ``None`` means that the client did not say.

    ``origin`` is the client's dialect; ``unknown`` names the members (paths) that could not be
    read into this value: they are losses in every crossing.
    """

    model: str
    messages: tuple[Message, ...]
    origin: str
    stream: bool = False
    tools: tuple[Tool, ...] = ()
    hosted_tools: tuple[HostedTool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: tuple[str, ...] = ()
    choices: int = 1
    logprobs: bool | None = None
    top_logprobs: int | None = None
    reasoning: ReasoningRequest | None = None
    output: OutputFormat | None = None
    verbosity: str | None = None
    service_tier: str | None = None
    user: str | None = None
    metadata: dict[str, str] | None = None
    stream_usage: bool = False
    """Whether the client asked for usage in its stream (chat only asks; others always get it)."""
    cache_key: str | None = None
    compact: bool = False
    """The answer is to be one item that stands for the history so far."""
    unknown: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()
    """Members (paths) that only an upstream of the ``origin`` can serve, and on which the meaning rests
    (``previous_response_id``): a crossing that has one is refused with a 400 that names it."""


class Loss(msgspec.Struct, frozen=True):
    """One thing that a crossing left out or changed: its path, and why.

    The path is one of the canonical request, as ``messages[0].parts[1].cache``: what stands in ``messages`` may be
    counted otherwise in the client's own body.
    """

    path: str
    reason: str
