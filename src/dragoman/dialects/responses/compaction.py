"""Items for a history that was summed up: OpenAI's are ciphertexts, those of this gateway hold the text, sealed."""

from __future__ import annotations

from dragoman.canonical.opaque import Opaque, seal, unseal
from dragoman.dialects.responses.wire import JSON, text_of

TRIGGER = "compaction_trigger"
"""At the end of the input: the answer is to be one item that stands for all of it."""
ITEMS = ("compaction", "compaction_summary")
_OWN = "dragoman"
_FOUND = "What came before was summed up:\n\n{text}"


def render_summary(text: str) -> JSON:
    """The item that stands for a history of which this is the summary."""
    return {"type": ITEMS[0], "encrypted_content": seal(Opaque(_OWN, "summary", text))}


def read_summary(item: JSON) -> str | None:
    """What the model is to be told of it; ``None`` if the item is OpenAI's own."""
    sealed = text_of(item.get("encrypted_content"))
    found = unseal(sealed) if sealed else None
    if found is None or (found.origin, found.kind) != (_OWN, "summary"):
        return None
    return _FOUND.format(text=found.data)
