"""The estimate of tokens: what counts, and that it stays near what a real tokenizer says."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.canonical import request as q
from dragoman.counting import estimate, text_tokens
from dragoman.imagesize import size_of

REAL = {
    "The quick brown fox jumps over the lazy dog, and then goes home to have dinner with its family.": 21,
    "def mean(values: list[float]) -> float:\n    return sum(values) / len(values)\n": 20,
    '{"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}}': 23,
    "Der schnelle braune Fuchs springt über den faulen Hund und geht dann nach Hause.": 19,
    "Быстрая коричневая лиса перепрыгивает через ленивую собаку и идёт домой.": 24,
    "敏捷的棕色狐狸跳过懒狗，然后回家和家人一起吃晚饭。": 23,
    "素早い茶色の狐がのろまな犬を飛び越えて、家に帰って夕食を食べる。": 30,
    "날쌘 갈색 여우가 게으른 개를 뛰어넘어 집으로 돌아가 저녁을 먹는다.": 28,
    "القط السريع يقفز فوق الكلب الكسول ثم يعود إلى المنزل لتناول العشاء.": 21,
}
"""What ``o200k_base`` makes of these, counted with bpe-openai 0.1.4."""


def asked(*parts: q.Part, **more: object) -> q.Request:
    message = q.Message(q.Role.USER, parts)
    return q.Request(model="m", messages=(message,), origin="chat", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", REAL)
def test_near_a_real_tokenizer(text: str) -> None:
    assert text_tokens(text) == pytest.approx(REAL[text], rel=0.4)


@given(st.text(max_size=300), st.text(max_size=300))
def test_more_text_is_not_less(one: str, other: str) -> None:
    assert 0 <= text_tokens(one) <= text_tokens(one + " " + other) + 0.01


def test_nothing_is_one() -> None:
    assert estimate(q.Request(model="m", messages=(), origin="chat")) == 1


LONG = "words and words " * 50


@pytest.mark.parametrize(
    "part",
    [
        q.Text(text=LONG),
        q.Reasoning(text=LONG),
        q.Refusal(text=LONG),
        q.ToolCall(id="c", name="f", arguments='{"x": "' + LONG + '"}'),
        q.ToolResult(id="c", parts=(q.Text(text=LONG),)),
        q.Document(text=LONG),
        q.Document(media_type="text/plain", data=base64.b64encode(LONG.encode()).decode()),
        q.Native(origin="messages", value={"type": "x", "content": LONG}),
    ],
)
def test_text_counts_wherever_it_is(part: q.Part) -> None:
    assert 120 <= estimate(asked(part)) <= 200


def test_system_tools_and_schemas_count() -> None:
    bare = estimate(asked(q.Text(text="hi")))
    schema = {"type": "object", "properties": {"city": {"type": "string", "description": LONG}}}
    tool = q.Tool(name="f", description="does", schema=schema)
    for more in (
        {"tools": (tool,)},
        {"hosted_tools": (q.HostedTool(origin="messages", type="x", value=schema),)},
        {"output": q.OutputFormat(type="schema", schema=schema)},
    ):
        assert estimate(asked(q.Text(text="hi"), **more)) > bare + 110


def png(width: int, height: int) -> str:
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
    return base64.b64encode(data).decode()


def test_pictures() -> None:
    frame = estimate(asked(q.Text(text="")))
    assert estimate(asked(q.Image(data=png(75, 100)))) - frame == 10
    assert estimate(asked(q.Image(data=png(5000, 5000)))) - frame == 1600
    assert estimate(asked(q.Image(url="https://x/y.png"))) - frame == 1500
    assert estimate(asked(q.Image(url="https://x/y.png", detail="low"))) - frame == 85
    assert estimate(asked(q.Image(data="no base64!"))) - frame == 1500


def test_documents_and_sound() -> None:
    frame = estimate(asked(q.Text(text="")))
    pdf = base64.b64encode(b"%PDF-1.7 /Type /Pages /Type/Page /Type /Page\n").decode()
    assert estimate(asked(q.Document(data=pdf))) - frame == 4000
    assert estimate(asked(q.Document(file_id="f"))) - frame == 3000
    wave = b"RIFF" + b"\0" * 24 + (8000).to_bytes(4, "little") + b"\0" * (80_000 - 32)
    assert estimate(asked(q.Audio(media_type="audio/wav", data=base64.b64encode(wave).decode()))) - frame == 320
    assert (
        estimate(asked(q.Audio(media_type="audio/mp3", data=base64.b64encode(b"\0" * 16_000).decode()))) - frame == 32
    )


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"GIF89a" + struct.pack("<HH", 3, 4), (3, 4)),
        (b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x04\x00\x03", (3, 4)),
        (b"\xff\xd8\xff\xff\xc2\x00\x11\x08\x00\x04\x00\x03\x01", (3, 4)),
        (b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + (2).to_bytes(3, "little") + (3).to_bytes(3, "little"), (3, 4)),
        (b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 5 + (2 | 3 << 14).to_bytes(4, "little") + b"\0" * 5, (3, 4)),
        (b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 3, 4), (3, 4)),
        (b"RIFF\0\0\0\0WEBPxxxx" + b"\0" * 20, None),
        (b"BM", None),
        (b"", None),
    ],
)
def test_sizes_of_pictures(data: bytes, size: tuple[int, int] | None) -> None:
    assert size_of(data) == size


@given(st.binary(max_size=64), st.sampled_from([b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"GIF8", b"RIFF\0\0\0\0WEBP"]))
def test_any_bytes_have_a_size_or_none(rest: bytes, head: bytes) -> None:
    found = size_of(head + rest)
    assert found is None or len(found) == 2
