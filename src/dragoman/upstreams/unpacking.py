"""Bodies in gzip or deflate, though nobody asked for them: unpacked piece by piece, as they are read.

A small body may unpack to any size, so no more than one piece is ever made ahead of its reader.
"""

from __future__ import annotations

import zlib

PIECE = 1 << 16
"""Bytes that one step unpacks at most."""

_GZIP = zlib.MAX_WBITS | 16
_ZLIB = zlib.MAX_WBITS
_BARE = -zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b"


class Unpacker:
    """One body. ``feed`` it, then ``take`` until that is empty, and at the end ask for ``whole``.

    Raises ``ValueError`` for a body in an encoding that is not known, or not in the one that it says.
    """

    def __init__(self, encoding: str) -> None:
        self._gzip = encoding in ("gzip", "x-gzip")
        self._known = self._gzip or encoding == "deflate"
        self._stream = zlib.decompressobj(_GZIP if self._gzip else _ZLIB)
        self._packed = b""
        self._begun = False

    @property
    def whole(self) -> bool:
        """Whether nothing is missing at the end."""
        return self._stream.eof or not self._begun

    def feed(self, data: bytes) -> None:
        """More of the packed body, once the last is used up."""
        if data and not self._known:
            raise ValueError("unknown encoding")
        if not self._gzip and not self._begun and data:
            # "deflate" is a zlib stream, and for some servers one without its head.
            bare = data[0] & 0x0F != zlib.DEFLATED
            self._stream = zlib.decompressobj(_BARE if bare else _ZLIB)
        self._begun = self._begun or bool(data)
        if len(self._stream.unused_data) < len(_MAGIC):  # else it is over, and this is padding
            self._packed += data

    def take(self) -> bytes:
        """Up to ``PIECE`` bytes; empty if it needs to be fed."""
        try:
            while True:
                data = self._stream.decompress(self._packed, PIECE)
                self._packed = self._stream.unconsumed_tail
                if not self._stream.eof:
                    return data
                rest = self._stream.unused_data
                if self._gzip and rest[:2] == _MAGIC:
                    self._stream, self._packed = zlib.decompressobj(_GZIP), rest
                if data or not self._packed:
                    return data
        except zlib.error as fault:
            raise ValueError(str(fault)) from None
