"""Whole answers, and the pieces that streams share with them: items, usage, the response object.

Required members follow protocols/openai.md, "Response object": typed clients fail at any that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from dragoman.canonical.events import Citation, FinishReason, Media, ServerTool, ToolCallStart, ToolRun, Usage
from dragoman.canonical.logprobs import tokens_of
from dragoman.canonical.opaque import Opaque, seal
from dragoman.canonical.request import OutputFormat, Request, Role, Text
from dragoman.canonical.response import Block, Choice, ReasoningBlock, Response, TextBlock, ToolCallBlock
from dragoman.dialects.openai_shapes import render_logprobs
from dragoman.dialects.responses.builtins import item_of
from dragoman.dialects.responses.tools import declared_tools, render_choice
from dragoman.dialects.responses.wire import (
    IMAGE_CALL,
    JSON,
    NAME,
    PARAGRAPH,
    PREFIXES,
    REASONS,
    RESPONSE_PREFIX,
    RUN_ID,
    mint,
)
from dragoman.names import BUILTIN
from dragoman.streaming.encoder import EncodeContext


class Maker:
    """Makes the output items of one answer. ``own``: the answer comes from this very dialect."""

    def __init__(self, context: EncodeContext, *, own: bool) -> None:
        self.own = own
        self._ids = context.ids
        self._taken: set[str] = set()

    def id(self, kind: str, wanted: Any = None) -> str:
        """The id of an item: the upstream's where it is free, else one of our own."""
        prefix = PREFIXES.get(kind, "item_")
        id = (
            wanted
            if isinstance(wanted, str) and wanted.strip() and wanted not in self._taken
            else mint(self._ids, prefix)
        )
        self._taken.add(id)
        return id

    def goes_on(self, last: JSON, kind: str, item_id: str | None) -> bool:
        """Whether a block is of the item that was made last."""
        return self.own and item_id is not None and last.get("type") == kind and last["id"] == item_id

    def logprobs(self, native: Mapping[str, Any]) -> list[Any]:
        """The log probabilities of a text with these members beside it: as they came, or of another API's tokens."""
        return native.get("logprobs") or [] if self.own else render_logprobs(tokens_of(native))

    def shows_raw(self, summary: bool) -> bool:
        """Whether reasoning goes out as ``reasoning_text`` instead of as a summary.

        Only where the upstream made it so in this dialect. Reasoning of other dialects is no summary, but
        Codex, opencode and the AI SDK show summaries and hide raw text, and it is meant to be seen.
        """
        return self.own and not summary

    def proofs(self, opaque: tuple[Opaque, ...]) -> list[tuple[str, str | None]]:
        """``encrypted_content`` and wanted id of each proof: this dialect's own byte for byte, others sealed."""
        return [
            (proof.data, proof.id) if proof.home == NAME and proof.kind == "encrypted" else (seal(proof), None)
            for proof in opaque
        ]

    def bare_reasoning(self, proof: tuple[str, str | None]) -> JSON:
        """A reasoning item that holds nothing but a proof."""
        content, wanted = proof
        return reasoning(self.id("reasoning", wanted), [], encrypted=content)

    def hosted(self, raw: JSON) -> JSON:
        """An item of the upstream's own."""
        kind = str(raw.get("type"))
        return {**raw, "id": self.id(kind, raw.get("id"))}

    def image(self, media: Media) -> JSON | None:
        """An image as OpenAI's own tool would have made it; other media have no form."""
        if media.data is None or not media.media_type.startswith("image/"):
            return None
        native = media.native if media.origin == NAME and media.native else {}
        return {
            **native,
            "id": self.id(IMAGE_CALL, native.get("id")),
            "type": IMAGE_CALL,
            "status": "completed",
            "output_format": media.media_type.removeprefix("image/"),
            "result": media.data,
        }


# ---- items and parts


def message(id: str, status: str, content: list[JSON], phase: str | None = None) -> JSON:
    item: JSON = {"id": id, "type": "message", "status": status, "role": "assistant", "content": content}
    return item if phase is None else {**item, "phase": phase}


def text_part(text: str, annotations: list[JSON], logprobs: list[Any]) -> JSON:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": logprobs}


def refusal_part(text: str) -> JSON:
    return {"type": "refusal", "refusal": text}


def thought_part(text: str, *, raw: bool) -> JSON:
    return {"type": "reasoning_text" if raw else "summary_text", "text": text}


def reasoning(id: str, summary: list[JSON], content: list[JSON] | None = None, encrypted: str | None = None) -> JSON:
    item: JSON = {"id": id, "type": "reasoning", "summary": summary}
    if content is not None:
        item["content"] = content
    if encrypted is not None:
        item["encrypted_content"] = encrypted
    return item


def call(maker: Maker, id: str, status: str, text: str, said: ToolCallStart | ToolCallBlock) -> JSON:
    """A call's item, with the upstream's own members; without an id it is a new one.

    A whole call of a tool that the vendor defines has an item of its own, if that can hold the arguments.
    """
    if status == "completed" and (built := item_of(said.name, said.namespace, text)) is not None:
        return {"id": maker.id(built["type"]), **built, "status": status, "call_id": said.id}
    kind, member = ("custom_tool_call", "input") if said.kind == "custom" else ("function_call", "arguments")
    own = said.native if maker.own and said.native else {}
    id = id or maker.id(kind, own.get("id"))
    item = {**own, "id": id, "type": kind, "status": status, "call_id": said.id, "name": said.name, member: text}
    return item if said.namespace in (None, BUILTIN) else {**item, "namespace": said.namespace}


def annotation(citation: Citation, length: int) -> JSON | None:
    """A source: the upstream's own annotation, else a ``url_citation``; a source without a URL has no form.

    Without a known end it supports the whole text, which is ``length`` characters long.
    """
    if citation.origin == NAME and citation.native:
        return citation.native
    if not citation.url:
        return None
    return {
        "type": "url_citation",
        "url": citation.url,
        "title": citation.title or citation.url,
        "start_index": citation.start or 0,
        "end_index": citation.end if citation.end is not None else length,
    }


# ---- the response object


def render_usage(usage: Usage | None, native: JSON | None = None) -> JSON:
    """Counts; an unknown one is 0, since clients demand whole numbers in every details object too."""
    usage = usage or Usage()
    read, written = usage.input or 0, usage.output or 0
    counts = {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": usage.cached or 0, "cache_write_tokens": usage.cache_write or 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": read + written,
    }
    for name in ("input_tokens_details", "output_tokens_details"):
        more = native.get(name) if native else None
        if isinstance(more, dict):
            known = {key: value for key, value in more.items() if isinstance(value, int)}
            counts[name] = {**known, **counts[name]}  # type: ignore[dict-item]
    return counts


def envelope(id: str, created: int, model: str, request: Request | None, native: JSON | None) -> JSON:
    """Everything of a response object but what the answer decides; ``native`` is the upstream's own envelope."""
    out: JSON = {
        "id": id,
        "object": "response",
        "created_at": created,
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        **_echo(request),
    }
    for name, value in (native or {}).items():
        # an upstream's null says less than what the client asked for
        if value is not None or name not in out:
            out[name] = value
    return {**out, "model": model, "output": [], "usage": None}


def _echo(request: Request | None) -> JSON:
    """What the response repeats of its request."""
    tools, choice, instructions = [], None, None
    text: JSON = {"format": {"type": "text"}}
    if request is not None:
        tools, choice = declared_tools(request), render_choice(request)
        first = request.messages[0] if request.messages else None
        if first is not None and first.role is Role.SYSTEM:
            instructions = "\n\n".join(part.text for part in first.parts if isinstance(part, Text)) or None
        text |= _echoed_text(request)
    asked = request.reasoning if request is not None else None
    return {
        "instructions": instructions,
        "max_output_tokens": request.max_output_tokens if request is not None else None,
        "metadata": (request.metadata if request is not None else None) or {},
        "parallel_tool_calls": request is None or request.parallel_tool_calls is not False,
        "previous_response_id": None,
        "reasoning": {"effort": asked.effort if asked else None, "summary": asked.summary if asked else None},
        "store": False,
        "temperature": request.temperature if request is not None else None,
        "text": text,
        "tool_choice": choice or "auto",
        "tools": tools,
        "top_p": request.top_p if request is not None else None,
        "truncation": "disabled",
    }


def _echoed_text(request: Request) -> JSON:
    out: JSON = {}
    form = request.output
    if form is not None and form.type == "json":
        out["format"] = {"type": "json_object"}
    elif form is not None:
        out["format"] = render_format(form, strict=bool(form.strict))
    if request.verbosity is not None:
        out["verbosity"] = request.verbosity
    return out


def render_format(form: OutputFormat, *, strict: bool) -> JSON:
    """``text.format`` for a schema."""
    described = {"description": form.description} if form.description else {}
    named = {"type": "json_schema", "name": form.name or "response", **described}
    return {**named, "schema": form.schema or {}, "strict": strict}


def ending(finish: FinishReason, raw: str | None, *, own: bool, native: JSON | None) -> JSON:
    """Members that tell how a response ended."""
    more = {name: value for name, value in (native or {}).items() if value is not None} if own else {}
    if finish in (FinishReason.STOP, FinishReason.TOOL_CALLS):
        return {**more, "status": "completed"}
    reason = raw if own and raw and finish is not FinishReason.PAUSED else REASONS[finish]
    return {**more, "status": "incomplete", "incomplete_details": {"reason": reason}}


def render_response(response: Response, context: EncodeContext) -> JSON:
    """A whole answer; it has one choice only."""
    own = response.origin == NAME
    id = response.id if own and response.id else context.ids(RESPONSE_PREFIX)
    created = response.created if response.created is not None else context.now
    head = envelope(id, created, response.model or context.model, context.request, response.native if own else None)
    head |= context.echo
    choice: Choice = response.choices[0]
    maker = Maker(context, own=own)
    output: list[JSON] = []
    for block in choice.blocks:
        output += _items(block, maker, output[-1] if output else {})
    return {
        **head,
        **ending(choice.finish, choice.raw, own=own, native=choice.native),
        "output": output,
        "usage": render_usage(response.usage, response.usage_native if own else None),
    }


def _items(block: Block, maker: Maker, last: JSON) -> list[JSON]:
    """The items of a block. One that is of the same item as the block before is a part of it, and none itself."""
    match block:
        case TextBlock():
            return _text_items(block, maker, last)
        case ReasoningBlock():
            return _reasoning_items(block, maker, last)
        case ToolCallBlock():
            return [call(maker, "", "completed" if block.complete else "incomplete", block.arguments, block)]
        case ServerTool():
            return [maker.hosted(item) for item in block.items] if block.origin == NAME else []
        case Media():
            item = maker.image(block)
            return [] if item is None else [item]
        case ToolRun():
            return [tool_run(block)]


def tool_run(run: ToolRun) -> JSON:
    """A tool that the gateway ran, as an item of the MCP tools that the API runs: no client calls those."""
    return {
        "id": RUN_ID + run.id,
        "type": "mcp_call",
        "server_label": run.server,
        "name": run.name,
        "arguments": run.arguments,
        "status": "failed" if run.error else "completed",
        "output": None if run.error else run.output,
        "error": (run.output or "the tool failed") if run.error else None,
    }


def _text_items(block: TextBlock, maker: Maker, last: JSON) -> list[JSON]:
    if not block.text:
        return []
    phases = [native["phase"] for native in block.native if native.get("phase")] if maker.own else []
    phase = str(phases[0]) if phases else None
    logprobs = [entry for native in block.native for entry in maker.logprobs(native)]
    found = [annotation(citation, len(block.text)) for citation in block.citations]
    notes = [note for note in found if note is not None]
    part = refusal_part(block.text) if block.refusal else text_part(block.text, notes, logprobs)
    if maker.goes_on(last, "message", block.item_id):
        last["content"].append(part)
        return []
    return [message(maker.id("message", block.item_id if maker.own else None), "completed", [part], phase)]


def _reasoning_items(block: ReasoningBlock, maker: Maker, last: JSON) -> list[JSON]:
    proofs = maker.proofs(block.opaque)
    if not block.text:
        return [maker.bare_reasoning(proof) for proof in proofs]
    raw = maker.shows_raw(block.summary)
    parts = [thought_part(text, raw=raw) for text in _pieces(block, maker)]
    made: list[JSON] = []
    if maker.goes_on(last, "reasoning", block.item_id):
        item = last
    else:
        item = reasoning(maker.id("reasoning", block.item_id if maker.own else None), [])
        made = [item]
    if raw:
        item.setdefault("content", []).extend(parts)
    else:
        item["summary"] += parts
    if proofs and "encrypted_content" not in item:
        item["encrypted_content"] = proofs.pop(0)[0]
    return [*made, *(maker.bare_reasoning(proof) for proof in proofs)]


def _pieces(block: ReasoningBlock, maker: Maker) -> list[str]:
    """The texts of the parts that the upstream's item had."""
    cuts = [0, *(block.parts if maker.own else ()), len(block.text)]
    texts = [block.text[begin:end] for begin, end in pairwise(cuts)]
    return [text.removeprefix(PARAGRAPH) if number else text for number, text in enumerate(texts) if text]
