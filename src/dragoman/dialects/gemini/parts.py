"""Pieces of an answer that streams and whole bodies write alike."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from dragoman import jsontext
from dragoman.canonical import events as e
from dragoman.canonical.opaque import Opaque, seal, unseal
from dragoman.dialects.gemini.wire import BLOCK_REASONS, BYPASS, FINISH, FINISH_WORDS, JSON, NAME, WITH_CALLS, as_object


def parse_proof(signature: Any) -> Opaque | None:
    """The proof in a ``thoughtSignature``: Google's own, or another vendor's that was sealed into it.

    Google's stand-in for an unknown signature is none.
    """
    if not isinstance(signature, str) or not signature or signature.rstrip("=") == BYPASS:
        return None
    return unseal(signature) or Opaque(NAME, "signature", signature)


def render_proof(proof: Opaque) -> str:
    """The text of a ``thoughtSignature``; always base64, since SDKs decode it.

    What is Google's goes out byte for byte; all else, and what is no base64, is sealed.
    """
    if proof.home == NAME and proof.kind == "signature" and is_base64(proof.data):
        return proof.data
    return seal(proof)


def is_base64(text: str) -> bool:
    """Whether this is base64 in either alphabet, padded or not."""
    plain = text.translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True) != b""
    except (binascii.Error, ValueError):
        return False


def signed(part: JSON, proof: Opaque | None) -> JSON:
    """The part with its proof, if it has one."""
    if proof is not None:
        part["thoughtSignature"] = render_proof(proof)
    return part


def proof_parts(proofs: tuple[Opaque, ...]) -> list[JSON]:
    """One empty thought for each proof that no text carries."""
    return [signed({"text": "", "thought": True}, proof) for proof in proofs]


def call_arguments(text: str, *, complete: bool, sound: bool) -> JSON | None:
    """The ``args`` object of a call; ``None`` for half a call, which has no form here.

    Text that is no object is wrapped as ``{"INVALID_JSON": text}`` (design/streams.md, 4).
    """
    if not text.strip():
        return {}
    if jsontext.is_object(text):
        args: JSON = jsontext.parse(text)
        return args
    return {"INVALID_JSON": text} if complete or not sound else None


def call_part(id: str, name: str, args: JSON, proof: Opaque | None) -> JSON:
    """One whole call."""
    return signed({"functionCall": {"id": id, "name": name, "args": args}}, proof)


def media_part(media: e.Media) -> JSON | None:
    """An image or a sound; ``None`` if it has neither data nor address."""
    native = as_object(media.native) if media.origin == NAME else {}
    if media.data:
        part: JSON = {"inlineData": {"mimeType": media.media_type, "data": media.data}}
    elif media.url:
        part = {"fileData": {"mimeType": media.media_type, "fileUri": media.url}}
    else:
        return None
    return signed({**native, **part}, media.signature)


def finish_word(finish: e.FinishReason, raw: str | None, origin: str, *, calls: bool) -> str:
    """The ``finishReason``: Google's own word if it is a known one, except where it would void calls."""
    if origin == NAME and raw is not None and (said := FINISH.get(raw)) is not None:
        plain = finish in (e.FinishReason.STOP, e.FinishReason.TOOL_CALLS)
        same = said is e.FinishReason.STOP if plain else said is finish
        if same and not (plain and calls and raw not in WITH_CALLS):
            return raw
    return FINISH_WORDS[finish]


def native_candidate(native: JSON | None, origin: str) -> JSON:
    """Members of a candidate that only this dialect knows, as they came."""
    if origin != NAME or not native:
        return {}
    return {name: value for name, value in native.items() if name != "promptFeedback"}


def prompt_feedback(native: JSON | None, origin: str) -> JSON | None:
    """The native verdict on a prompt that was blocked: it stands in place of any candidate."""
    feedback = as_object((native or {}).get("promptFeedback")) if origin == NAME else {}
    return feedback if feedback.get("blockReason") in BLOCK_REASONS else None
