"""Packed bodies: unpacked in pieces, told apart from rubbish, never made larger than they are read."""

from __future__ import annotations

import gzip
import zlib

import pytest

from dragoman.upstreams.unpacking import PIECE, Unpacker

TEXT = b"a text that is packed; " * 500


def bare(data: bytes) -> bytes:
    """deflate without the head and the checksum of a zlib stream."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def unpacked(unpacker: Unpacker, packed: bytes, cut: int) -> bytes:
    out = b""
    for place in range(0, len(packed), cut):
        unpacker.feed(packed[place : place + cut])
        while data := unpacker.take():
            out += data
    return out


@pytest.mark.parametrize("cut", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT)),
        ("gzip", gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:])),
        ("gzip", gzip.compress(TEXT) + b"\0" * 50),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", bare(TEXT)),
    ],
    ids=["gzip", "x-gzip", "two-members", "padding", "zlib", "bare"],
)
def test_what_is_read(encoding: str, packed: bytes, cut: int) -> None:
    unpacker = Unpacker(encoding)
    assert unpacked(unpacker, packed, cut) == TEXT
    assert unpacker.whole


@pytest.mark.parametrize(
    ("encoding", "packed"), [("gzip", gzip.compress(TEXT)), ("deflate", bare(TEXT))], ids=["gzip", "bare"]
)
def test_what_was_cut_is_not_whole(encoding: str, packed: bytes) -> None:
    unpacker = Unpacker(encoding)
    unpacked(unpacker, packed[:-9], 10)
    assert not unpacker.whole


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "gzip"])
def test_what_cannot_be_read(encoding: str) -> None:
    unpacker = Unpacker(encoding)
    with pytest.raises(ValueError, match=r"encoding|header"):
        unpacked(unpacker, b"abc", 1)


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_nothing_at_all_is_whole(encoding: str) -> None:
    unpacker = Unpacker(encoding)
    unpacker.feed(b"")
    assert unpacker.take() == b""
    assert unpacker.whole


def test_a_small_body_that_unpacks_to_a_large_one() -> None:
    """Each step gives a piece, and the next is made only when it is asked for."""
    unpacker = Unpacker("gzip")
    unpacker.feed(gzip.compress(bytes(50 << 20)))
    sizes = []
    while data := unpacker.take():
        sizes.append(len(data))
    assert max(sizes) <= PIECE
    assert sum(sizes) == 50 << 20
