"""Reasoning with its proofs, as ``reasoning_details``: the extension that OpenRouter's clients echo.

OpenAI's dialect has no place for a proof. A whole entry is written for each one, so that a client
that sends back what it got has a working next turn (design/streams.md, 8):

    {"type": "reasoning.text", "text": …, "signature": …, "format": …, "index": n}
    {"type": "reasoning.summary", "summary": …, "format": …, "index": n}
    {"type": "reasoning.encrypted", "data": …, "id": …, "format": …, "index": n}
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.canonical.opaque import Opaque, OpaqueKind
from dragoman.canonical.request import Reasoning
from dragoman.dialects.chat.wire import format_of, origin_of


class Detail(msgspec.Struct, frozen=True):
    """One entry, read: its text (a summary or not), and its proof if it has one."""

    type: str
    text: str
    proof: Opaque | None
    format: Any

    @property
    def summary(self) -> bool:
        return self.type == "reasoning.summary"


def read_detail(entry: Any) -> Detail | None:
    """The entry, whatever its members are; ``None`` if nothing in it is usable."""
    if not isinstance(entry, dict):
        return None
    kind, format = entry.get("type"), entry.get("format")
    text = next((held for name in ("text", "summary") if isinstance(held := entry.get(name), str) and held), "")
    proof = _proof(entry, origin_of(format))
    if proof is None and not text:
        return None
    return Detail(kind if isinstance(kind, str) else "", text, proof, format)


def _proof(entry: dict[str, Any], origin: str) -> Opaque | None:
    if isinstance(signature := entry.get("signature"), str) and signature:
        return Opaque(origin, "signature", signature)
    if isinstance(data := entry.get("data"), str) and data:
        id = entry.get("id")
        # what Anthropic encrypts are its redacted blocks
        kind: OpaqueKind = "redacted" if origin == "messages" else "encrypted"
        return Opaque(origin, kind, data, id if isinstance(id, str) and id else None)
    return None


def render_details(text: str, summary: bool, proofs: tuple[Opaque, ...], index: int) -> list[dict[str, Any]]:
    """The entries for a block with proofs, numbered from ``index`` on; none for a block without."""
    entries: list[dict[str, Any]] = []
    for proof in proofs:
        format = format_of(proof.origin)
        if proof.kind == "signature":
            entry: dict[str, Any] = {"type": "reasoning.text", "text": text, "signature": proof.data}
        else:
            if text and not entries:
                kind, member = ("reasoning.summary", "summary") if summary else ("reasoning.text", "text")
                entries.append({"type": kind, member: text, "format": format})
            entry = {"type": "reasoning.encrypted", "data": proof.data}
            if proof.id:
                entry["id"] = proof.id
        entries.append({**entry, "format": format})
    return [{**entry, "index": index + number} for number, entry in enumerate(entries)]


def parse_reasoning(text: str, details: Any) -> list[Reasoning]:
    """The reasoning of an assistant message that a client sent back.

    ``text`` is all of it (``reasoning_content``); the details repeat the parts of it that have
    proofs. What stands between them is reasoning without a proof.
    """
    found: list[Reasoning] = []
    position = 0
    for part in _joined(details if isinstance(details, list) else []):
        at = text.find(part.text, position) if part.text else -1
        if at >= 0:
            if at > position:
                found.append(Reasoning(text=text[position:at]))
            position = at + len(part.text)
        found.append(part)
    if position < len(text) and not (found and position == 0 and any(part.text for part in found)):
        found.append(Reasoning(text=text[position:]))
    return found


def _joined(entries: list[Any]) -> list[Reasoning]:
    """Entries to parts: streamed pieces of a block are put together, a ciphertext goes to its summary."""
    parts: list[Reasoning] = []
    before: Detail | None = None
    for entry in entries:
        detail = read_detail(entry)
        if detail is None:
            continue
        if before is not None and continues(before, detail):
            parts[-1] = msgspec.structs.replace(
                parts[-1],
                text=parts[-1].text + detail.text,
                opaque=parts[-1].opaque + ((detail.proof,) if detail.proof else ()),
            )
        else:
            proofs = (detail.proof,) if detail.proof else ()
            parts.append(Reasoning(text=detail.text, summary=detail.summary, opaque=proofs))
        before = detail
    return parts


def continues(before: Detail, detail: Detail) -> bool:
    """Whether an entry goes on with the block of the one before it.

    Indexes say nothing while streaming (case ``reasoning-details-only-index-zero``), the type does;
    a proof ends its block. A ciphertext after text of the same format is that text's own, unless it
    is a redacted block.
    """
    if before.proof is not None:
        return False
    if detail.format != before.format and detail.format is not None and before.format is not None:
        return False
    if detail.proof is not None and detail.proof.kind != "signature":
        return detail.proof.kind == "encrypted" and bool(before.text)
    return detail.type == before.type
