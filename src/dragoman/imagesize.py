"""The size of a picture, from the first bytes of its file. Pure: it reads headers, and decodes nothing."""

from __future__ import annotations

_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The JPEG markers that begin a frame, and so tell its size."""


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, a GIF, a JPEG or a WebP; ``None`` for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    if data[:4] == b"GIF8" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if data[:2] == b"\xff\xd8":
        return _jpeg(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        return _webp(data)
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker in _FRAMES:
            return int.from_bytes(data[place + 7 : place + 9]), int.from_bytes(data[place + 5 : place + 7])
        alone = marker == 0xFF or marker == 0x01 or 0xD0 <= marker <= 0xD8
        place += (1 if marker == 0xFF else 2) if alone else 2 + int.from_bytes(data[place + 2 : place + 4])
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = int.from_bytes(data[26:28], "little"), int.from_bytes(data[28:30], "little")
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None
