"""Whole answers, and the parts that they share with streams: counts, citations, tool input.

Here ``input_tokens`` leaves out what was read from or written to a cache; the canonical count has
it in (design/streams.md, 9).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.canonical import response as r
from dragoman.canonical.events import Citation, FinishReason, Media, ServerTool, ToolRun, Usage
from dragoman.canonical.opaque import Opaque, seal
from dragoman.dialects.messages import wire
from dragoman.streaming.encoder import EncodeContext

JSON = dict[str, Any]

BOUND = "of:"
"""Before the id of the call that a sealed proof belongs to (design/streams.md, 8); nothing after it: of a text."""

# ---- counts


class UsageReader:
    """Reads the usage objects of one answer: totals so far, of which the last one counts.

    If it carries ``input_tokens``, all input counts are taken from it: some servers count the whole
    prompt first and split it later, so that mixing both doubles it (maximhq/bifrost#5355). Only a
    repeated equal count keeps the earlier cache counts, which the official API leaves out where
    they do not change.
    """

    def __init__(self) -> None:
        self._input: int | None = None
        self._read: int | None = None
        self._written: int | None = None
        self._native: JSON = {}

    def read(self, usage: JSON, *, start: bool = False, whole: bool = False) -> tuple[Usage, JSON | None]:
        """The counts known by now, and this dialect's own members.

        ``start``: zeros of ``message_start`` are placeholders, not counts. ``whole``: it is the only object.
        """
        given = _count(usage.get("input_tokens"))
        read = _count(usage.get("cache_read_input_tokens"))
        written = _count(usage.get("cache_creation_input_tokens"))
        if given is None:
            self._read = self._read if read is None else read
            self._written = self._written if written is None else written
        elif given or read or written or whole:
            self._take(given, read, written)
        self._native |= {name: value for name, value in usage.items() if name not in wire.COUNTED and value is not None}
        details = usage.get("output_tokens_details")
        output = _count(usage.get("output_tokens"))
        counts = Usage(
            input=self._total(),
            output=output or None if start else output,
            cached=self._read,
            cache_write=self._written,
            reasoning=_count(details.get("thinking_tokens")) if isinstance(details, dict) else None,
        )
        return counts, dict(self._native) or None

    def _take(self, given: int, read: int | None, written: int | None) -> None:
        if read is None and written is None and given == self._input:
            return
        self._input = given
        self._read = read if read is not None or self._read is None else 0
        self._written = written if written is not None or self._written is None else 0

    def _total(self) -> int | None:
        known = [count for count in (self._input, self._read, self._written) if count is not None]
        return sum(known) if known else None


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def render_usage(usage: Usage | None, native: JSON | None = None, *, input_required: bool = False) -> JSON:
    """The counts in this wire's form; ``output_tokens`` is demanded, so an unknown one is 0."""
    counts: JSON = {}
    if usage is None:
        usage = Usage()
    if usage.input is not None:
        counts["input_tokens"] = max(0, usage.input - (usage.cached or 0) - (usage.cache_write or 0))
    elif input_required:
        counts["input_tokens"] = 0
    if usage.cache_write is not None:
        counts["cache_creation_input_tokens"] = usage.cache_write
    if usage.cached is not None:
        counts["cache_read_input_tokens"] = usage.cached
    counts["output_tokens"] = usage.output or 0
    if usage.reasoning is not None:
        counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    return {**(native or {}), **counts}


# ---- citations


def parse_citation(value: JSON) -> Citation:
    """A citation of any type; its offsets are places in the source, not in the text, so they stay native."""
    source = value.get("source")
    url = value.get("url") or (
        source if isinstance(source, str) and source.startswith(("http://", "https://")) else None
    )
    title = value.get("title") or value.get("document_title")
    quote = value.get("cited_text")
    return Citation(
        url=url if isinstance(url, str) else None,
        title=title if isinstance(title, str) else None,
        quote=quote if isinstance(quote, str) else None,
        origin=wire.NAME,
        native=value,
    )


def render_citation(citation: Citation) -> JSON | None:
    """The record itself from this dialect's upstreams; others become web search results, if they have a URL.

    The empty ``encrypted_index`` marks those: it is no proof, and never reaches an upstream.
    """
    if citation.origin == wire.NAME and citation.native is not None:
        return citation.native
    if not citation.url:
        return None
    return {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title or "",
        "cited_text": citation.quote or "",
        "encrypted_index": "",
    }


# ---- proofs


def carry_proof(proof: Opaque) -> str:
    """The text of a proof in this dialect: an own one as it came, another vendor's sealed."""
    return proof.data if proof.home == wire.NAME else seal(proof)


def place_proofs(opaque: Iterable[Opaque], *, after_text: bool) -> tuple[str, list[JSON]]:
    """The signature of a thinking block that has text, and the blocks that follow it.

    An own signature that is left over belongs to a thinking block without text; all other values
    travel as redacted thinking, the place for data that nobody reads.
    """
    signature, blocks = "", list[JSON]()
    for proof in opaque:
        data = carry_proof(proof)
        if after_text and not signature and proof.kind != "redacted":
            signature = data
        elif proof.home == wire.NAME and proof.kind == "signature":
            blocks.append({"type": "thinking", "thinking": "", "signature": data})
        else:
            blocks.append({"type": "redacted_thinking", "data": data})
    return signature, blocks


def thinking_blocks(text: str, opaque: Iterable[Opaque]) -> list[JSON]:
    """The blocks of one reasoning block; without a signature the member is empty."""
    signature, blocks = place_proofs(opaque, after_text=bool(text))
    return [{"type": "thinking", "thinking": text, "signature": signature}, *blocks] if text else blocks


# ---- tool input


def tool_input(arguments: str) -> JSON:
    """The arguments as the object that this wire demands (design/streams.md, 4)."""
    if not arguments.strip():
        return {}
    if jsontext.is_object(arguments):
        given: JSON = jsontext.parse(arguments)
        return given
    return {wire.INVALID_JSON: arguments}


# ---- endings


def stop_reason(
    finish: FinishReason, raw: str | None, origin: str, sequence: str | None, calls: bool
) -> tuple[str, str | None]:
    """The stop reason and its sequence. It follows what was sent: ``tool_use`` if and only if there is a call."""
    if finish in (FinishReason.STOP, FinishReason.TOOL_CALLS):
        finish = FinishReason.TOOL_CALLS if calls else FinishReason.STOP
    word = wire.DEFAULT_STOP[finish]
    if origin == wire.NAME and raw is not None and wire.STOP_REASONS.get(raw) is finish:
        word = raw
    if sequence and finish is FinishReason.STOP:
        return "stop_sequence", sequence
    return ("end_turn" if word == "stop_sequence" else word), None


def ending_extras(native: JSON | None, origin: str) -> JSON:
    """The members of this dialect that go with the stop reason."""
    if origin != wire.NAME or not native:
        return {}
    return {name: native[name] for name in wire.ENDING_EXTRAS if name in native}


# ---- the whole answer


def render_count(tokens: int) -> JSON:
    """The answer of ``count_tokens``."""
    return {"input_tokens": tokens}


def render_response(response: r.Response, context: EncodeContext) -> JSON:
    """The answer as one JSON object; this dialect knows one choice."""
    choice = response.choices[0]
    own = response.origin == wire.NAME
    content = [block for item in choice.blocks for block in _blocks(item, own)]
    calls = any(isinstance(item, r.ToolCallBlock) for item in choice.blocks)
    word, sequence = stop_reason(choice.finish, choice.raw, choice.origin, choice.stop_sequence, calls)
    body: JSON = {
        "id": response.id if own and response.id else context.ids("msg_"),
        "type": "message",
        "role": "assistant",
        "model": response.model or context.model or wire.UNKNOWN_MODEL,
        "content": content,
        "stop_reason": word,
        "stop_sequence": sequence,
        "usage": render_usage(response.usage, response.usage_native if own else None, input_required=True),
    }
    return {**(response.native or {} if own else {}), **body, **ending_extras(choice.native, choice.origin)}


def _blocks(block: r.Block, own: bool) -> list[JSON]:
    match block:
        case r.TextBlock():
            return _text_blocks(block)
        case r.ReasoningBlock():
            return thinking_blocks(block.text, block.opaque)
        case r.ToolCallBlock():
            native = block.native or {} if own else {}
            given = tool_input(block.arguments)
            call = {**native, "type": "tool_use", "id": block.id, "name": block.name, "input": given}
            return [*bound_proofs(block.signature, block.id), call]
        case ServerTool():
            return [item for item in block.items if wire.sound_server_block(item)] if block.origin == wire.NAME else []
        case ToolRun():
            return run_blocks(block)
        case Media():
            return []


def run_blocks(run: ToolRun) -> list[JSON]:
    """A tool that the gateway ran, in the blocks of MCP tools that the API runs: no client calls those."""
    id = wire.RUN_ID + run.id
    given = tool_input(run.arguments)
    return [
        {"type": "mcp_tool_use", "id": id, "name": run.name, "server_name": run.server, "input": given},
        {
            "type": "mcp_tool_result",
            "tool_use_id": id,
            "is_error": run.error,
            "content": [{"type": "text", "text": run.output}] if run.output else [],
        },
    ]


def _text_blocks(block: r.TextBlock) -> list[JSON]:
    blocks: list[JSON] = []
    if block.text:
        text: JSON = {"type": "text", "text": block.text}
        if citations := [value for item in block.citations if (value := render_citation(item))]:
            text["citations"] = citations
        blocks.append(text)
    return [*blocks, *bound_proofs(block.signature, "")]


def bound_proofs(proof: Opaque | None, id: str) -> list[JSON]:
    """A proof that another vendor puts on a call (``id``) or a text (""), beside it in redacted thinking.

    Gemini demands the signature of a call back; this dialect has no place on the block itself.
    """
    if proof is None or proof.home == wire.NAME:
        return []
    return [{"type": "redacted_thinking", "data": seal(msgspec.structs.replace(proof, id=f"{BOUND}{id}"))}]
