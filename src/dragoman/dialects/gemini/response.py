"""A whole answer, as ``:generateContent`` gives it."""

from __future__ import annotations

from typing import Any

from dragoman.canonical import response as r
from dragoman.canonical.events import Media, ServerTool
from dragoman.dialects.gemini import parts
from dragoman.dialects.gemini.citations import Passage, render_grounding
from dragoman.dialects.gemini.logprobs import logprobs_result
from dragoman.dialects.gemini.usage import render_usage
from dragoman.dialects.gemini.wire import JSON, NAME, as_list
from dragoman.streaming.encoder import EncodeContext


def render_response(response: r.Response, context: EncodeContext) -> JSON:
    """The body for a client. An empty answer still has one (empty) part: helpers drop a turn without."""
    native = response.native if response.origin == NAME and response.native else {}
    body: JSON = {
        **native,
        "usageMetadata": render_usage(response.usage, response.usage_native if response.origin == NAME else None),
        "modelVersion": response.model or context.model,
        "responseId": response.id or context.ids("resp_"),
    }
    first = response.choices[0] if response.choices else None
    if first is not None and not first.blocks and len(response.choices) == 1:
        feedback = parts.prompt_feedback(first.native, first.origin)
        if feedback is not None:
            return {"promptFeedback": feedback, **body}
    return {"candidates": [_candidate(index, choice) for index, choice in enumerate(response.choices)], **body}


def _candidate(index: int, choice: r.Choice) -> JSON:
    content: list[JSON] = []
    passages: list[Passage] = []
    before, calls = 0, False
    probabilities: JSON = {}
    for block in choice.blocks:
        rendered = _block(block)
        content += rendered
        calls = calls or (isinstance(block, r.ToolCallBlock) and bool(rendered))
        if isinstance(block, r.TextBlock):
            foreign = (citation for citation in block.citations if citation.origin != NAME)
            passages += (Passage(citation, block.text, before) for citation in foreign)
            before += len(block.text.encode("utf-8", "replace"))
            _add_probabilities(probabilities, block.native)
    grounding = render_grounding(passages)
    return {
        "content": {"parts": content or [{"text": ""}], "role": "model"},
        **({"logprobsResult": probabilities} if probabilities else {}),
        **({"groundingMetadata": grounding} if grounding else {}),
        **parts.native_candidate(choice.native, choice.origin),
        "finishReason": parts.finish_word(choice.finish, choice.raw, choice.origin, calls=calls),
        "index": index,
    }


def _block(block: r.Block) -> list[JSON]:
    if isinstance(block, r.TextBlock):
        return [parts.signed({"text": block.text}, block.signature)] if block.text or block.signature else []
    if isinstance(block, r.ReasoningBlock):
        if not block.text:
            return parts.proof_parts(block.opaque)
        thought = parts.signed({"text": block.text, "thought": True}, block.opaque[0] if block.opaque else None)
        return [thought, *parts.proof_parts(block.opaque[1:])]
    if isinstance(block, r.ToolCallBlock):
        args = parts.call_arguments(block.arguments, complete=block.complete, sound=block.sound)
        return [] if args is None else [parts.call_part(block.id, block.name, args, block.signature)]
    if isinstance(block, ServerTool):
        return list(block.items) if block.origin == NAME else []
    return _media(block) if isinstance(block, Media) else []


def _media(block: Media) -> list[JSON]:
    part = parts.media_part(block)
    return [part] if part else []


def _add_probabilities(into: JSON, natives: tuple[dict[str, Any], ...]) -> None:
    """Joins the log probabilities that came with the deltas: lists grow, other values are the latest."""
    for native in natives:
        for name, value in (logprobs_result(native) or {}).items():
            into[name] = [*as_list(into.get(name)), *value] if isinstance(value, list) else value
