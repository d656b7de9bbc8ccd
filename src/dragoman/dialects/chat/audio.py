"""What a model said aloud: the ``audio`` of a message, or its pieces in deltas. Source: protocols/openai.md, part 1."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from dragoman.canonical.events import Media
from dragoman.dialects.chat.wire import NAME

_JSON = dict[str, Any]

_BEGINNINGS = (
    ("UklGR", "audio/wav"),
    ("SUQz", "audio/mpeg"),
    *(("//" + letter, "audio/mpeg") for letter in "sMI"),
    ("T2dnU", "audio/ogg"),
    ("ZkxhQ", "audio/flac"),
)
"""Base64 of what files of a format begin with."""
_SAMPLES = "audio/pcm;rate=24000"
"""What has no such beginning: the bare samples that OpenAI streams."""


class AudioReader:
    """Joins the sound of one choice. It goes on in one piece at the end, as it may turn out to be half."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._transcript: list[str] = []
        self._beside: _JSON = {}

    @property
    def transcript(self) -> str:
        return "".join(self._transcript)

    @property
    def begun(self) -> bool:
        """Whether any sound came."""
        return bool(self._pieces)

    def feed(self, audio: Any) -> None:
        """One ``audio`` member."""
        if not isinstance(audio, dict):
            return
        for name, pieces in (("data", self._pieces), ("transcript", self._transcript)):
            if isinstance(text := audio.get(name), str) and text:
                pieces.append(text)
        self._beside |= {name: held for name in ("id", "expires_at") if (held := audio.get(name))}

    def media(self) -> Media | None:
        """The sound so far; clients of this dialect get what stood beside it."""
        if not self._pieces:
            return None
        data = _joined(self._pieces)
        kind = next((kind for beginning, kind in _BEGINNINGS if data.startswith(beginning)), _SAMPLES)
        return Media(media_type=kind, data=data, origin=NAME, native={**self._beside, "transcript": self.transcript})


def render_audio(sounds: Sequence[Media], id: str, now: int) -> _JSON | None:
    """The ``audio`` of a message. Clients demand all four members; what another API made cannot be referred to later."""
    held = [sound for sound in sounds if sound.media_type.startswith("audio/") and sound.data]
    if not held:
        return None
    native = next((sound.native for sound in held if sound.origin == NAME and sound.native), {})
    data = _joined([sound.data for sound in held if sound.data])
    return {"id": id, "expires_at": now, "transcript": "", **native, "data": data}


def _joined(pieces: list[str]) -> str:
    """Base64 of all pieces: each has an end of its own, unless it was cut anywhere."""
    if not any(piece.endswith("=") for piece in pieces[:-1]):
        return "".join(pieces)
    try:
        return base64.b64encode(b"".join(map(base64.b64decode, pieces))).decode()
    except (binascii.Error, ValueError):
        return "".join(pieces)
