"""A whole answer as a ``chat.completion`` body, and what a stream writes alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.canonical import events as e
from dragoman.canonical.logprobs import tokens_of
from dragoman.canonical.request import Request
from dragoman.canonical.response import (
    Block,
    Choice,
    ReasoningBlock,
    Response,
    TextBlock,
    ToolCallBlock,
)
from dragoman.dataurl import data_url
from dragoman.dialects.chat.audio import render_audio
from dragoman.dialects.chat.citations import render_annotation
from dragoman.dialects.chat.reasoning import render_details
from dragoman.dialects.chat.usage import render_usage
from dragoman.dialects.chat.wire import BODY, ENVELOPE_NATIVE, NAME, extra_content, rendered_finish
from dragoman.dialects.openai_shapes import render_logprobs
from dragoman.streaming import freeform
from dragoman.streaming.encoder import EncodeContext
from dragoman.streaming.ids import Ids

JSON = dict[str, Any]


def identity(id: str, origin: str, ids: Ids) -> str:
    """The answer's id: a chat upstream's own, else a new one."""
    return id if id and origin == NAME else ids("chatcmpl-")


def own_members(native: JSON | None, origin: str) -> JSON:
    """Members of the envelope that only a chat upstream sends to chat clients."""
    if origin != NAME or not native:
        return {}
    return {name: native[name] for name in ENVELOPE_NATIVE if name in native}


def declared_custom(request: Request | None) -> frozenset[str]:
    """The tools that the client declared as freeform: only their calls may be ``custom``."""
    return frozenset(tool.name for tool in request.tools if tool.kind == "custom") if request else frozenset()


def declared_legacy(request: Request | None) -> frozenset[str]:
    """The tools that the client declared as ``functions``: an answer's first call, if of one, is a ``function_call``."""
    return frozenset(tool.name for tool in request.tools if tool.legacy) if request else frozenset()


def render_image(media: e.Media) -> JSON | None:
    """An image as OpenRouter's clients read it; ``None`` for what is none."""
    if not media.media_type.startswith("image/"):
        return None
    url = data_url(media.media_type, media.data) if media.data is not None else media.url
    return {"type": "image_url", "image_url": {"url": url}} if url else None


def render_response(response: Response, context: EncodeContext) -> JSON:
    """The body. Clients demand ``usage``: unknown counts are zeros (protocols/openai.md, part 1)."""
    custom = declared_custom(context.request)
    native = response.usage_native if response.origin == NAME else None
    return {
        "id": identity(response.id, response.origin, context.ids),
        "object": BODY,
        "created": response.created or context.now,
        "model": response.model or context.model,
        "choices": [_choice(choice, number, custom, context) for number, choice in enumerate(response.choices)],
        "usage": render_usage(response.usage, native),
        **own_members(response.native, response.origin),
    }


def _choice(choice: Choice, index: int, custom: frozenset[str], context: EncodeContext) -> JSON:
    message = _message(choice.blocks, custom)
    if sounds := [block for block in choice.blocks if isinstance(block, e.Media)]:
        message |= _audio(sounds, context)
    legacy = _as_function_call(message, declared_legacy(context.request))
    return {
        "index": index,
        "message": message,
        "logprobs": _logprobs(choice),
        "finish_reason": rendered_finish(choice.finish, legacy=legacy),
    }


def _as_function_call(message: JSON, legacy: frozenset[str]) -> bool:
    """Gives a message's first call the form from before tools, if the client declared its function so."""
    calls = message.get("tool_calls") or [{}]
    if (function := calls[0].get("function")) is None or function["name"] not in legacy:
        return False
    message["function_call"] = function
    del calls[0]
    if not calls:
        del message["tool_calls"]
    return True


def _audio(sounds: list[e.Media], context: EncodeContext) -> JSON:
    audio = render_audio(sounds, context.ids("audio_"), context.now)
    return {} if audio is None else {"audio": audio}


def text_logprobs(native: Mapping[str, Any], *, own: bool, refusal: bool) -> JSON | None:
    """The log probabilities of a text with these members beside it: as they came, or of another API's tokens."""
    if own:
        return native.get("logprobs")
    rendered = render_logprobs(tokens_of(native))
    if not rendered:
        return None
    return {"content": None, "refusal": rendered} if refusal else {"content": rendered, "refusal": None}


def _logprobs(choice: Choice) -> JSON | None:
    """The log probabilities of all text, joined."""
    joined: JSON = {}
    own = choice.origin == NAME
    for block in choice.blocks:
        if not isinstance(block, TextBlock):
            continue
        for native in block.native:
            for name, held in (text_logprobs(native, own=own, refusal=block.refusal) or {}).items():
                before = joined.get(name)
                joined[name] = (
                    [*before, *held] if isinstance(before, list) and isinstance(held, list) else held or before
                )
    return joined or None


def _message(blocks: tuple[Block, ...], custom: frozenset[str]) -> JSON:
    calls = [_call(block, custom) for block in blocks if isinstance(block, ToolCallBlock)]
    texts = [block for block in blocks if isinstance(block, TextBlock) and not _is_transcript(block, blocks)]
    said = [block.text for block in texts if not block.refusal]
    refused = "".join(block.text for block in texts if block.refusal)
    thoughts = [block for block in blocks if isinstance(block, ReasoningBlock)]
    message: JSON = {
        "role": "assistant",
        "content": "".join(said) if said or not (calls or refused) else None,
        "refusal": refused or None,
    }
    lists: dict[str, list[Any]] = {
        "annotations": _annotations(texts),
        "reasoning_details": _details(thoughts),
        "images": [image for block in blocks if isinstance(block, e.Media) and (image := render_image(block))],
        "tool_calls": calls,
    }
    if thought := "".join(block.text for block in thoughts):
        message["reasoning_content"] = thought
    if extra := next((extra for block in texts if (extra := extra_content(block.signature))), None):
        message["extra_content"] = extra
    return message | {name: held for name, held in lists.items() if held}


def _is_transcript(block: TextBlock, blocks: tuple[Block, ...]) -> bool:
    """Whether a chat server said the text aloud: its clients get it beside the sound."""
    aloud = any(native.get("transcript") for native in block.native)
    return aloud and any(isinstance(other, e.Media) and other.origin == NAME for other in blocks)


def _annotations(texts: list[TextBlock]) -> list[JSON]:
    found: list[JSON] = []
    offset = 0
    for block in texts:
        found += [annotation for source in block.citations if (annotation := render_annotation(source, offset))]
        offset += 0 if block.refusal else len(block.text)
    return found


def _details(thoughts: list[ReasoningBlock]) -> list[JSON]:
    details: list[JSON] = []
    for block in thoughts:
        details += render_details(block.text, block.summary, block.opaque, len(details))
    return details


def _call(block: ToolCallBlock, custom: frozenset[str]) -> JSON:
    arguments = block.arguments
    if block.kind == "custom":
        if block.name in custom:
            return {"id": block.id, "type": "custom", "custom": {"name": block.name, "input": arguments}}
        # half a text is never closed
        arguments = freeform.wrapped(arguments) if block.complete else freeform.InputWriter().feed(arguments)
    call: JSON = {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}
    if extra := extra_content(block.signature):
        call["extra_content"] = extra
    return call
