"""Custom tools where only JSON arguments exist: design/requests.md, 4."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.streaming.freeform import SCHEMA, InputReader, InputWriter, unwrapped, wrapped
from tests.streaming.building import awkward, cut

TEXTS = st.text(st.sampled_from('"\\/\n\t{}😀é\u2028un') | st.characters(codec="utf-8"), max_size=12)


def read(pieces: list[str]) -> str:
    reader = InputReader()
    return "".join(reader.feed(piece) for piece in pieces) + reader.finish()


@given(TEXTS, st.booleans(), st.sampled_from((None, 1)), st.data())
def test_any_text_is_read_back_in_any_cut(text: str, plain: bool, indent: int | None, data: st.DataObject) -> None:
    arguments = json.dumps({"input": text}, ensure_ascii=not plain, indent=indent)
    assert read(data.draw(cut(arguments))) == text


@given(TEXTS, st.data())
def test_any_text_is_written_in_any_cut(text: str, data: st.DataObject) -> None:
    writer = InputWriter()
    arguments = "".join(writer.feed(piece) for piece in data.draw(cut(text))) + writer.finish()
    assert json.loads(arguments) == {"input": text}
    assert arguments == wrapped(text)
    assert unwrapped(arguments) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("", ""),
        ("{}", ""),
        (" { } ", ""),
        ("{}x", "{}x"),
        ('{"input":""}', ""),
        (' {\n"input" : "a"}\n', "a"),
        ('{"input":"a","more":1}', "a"),
        ('{"input":"a', "a"),  # cut
        ('{"input":"a\\u00e9\\n\\"\\/"}', 'aé\n"/'),
        ('{"input":"\\ud83d\\ude00\\ud83d\\ude00"}', "😀😀"),
        ('{"input":"\\ud83dx\\ude00"}', "\ufffdx\ufffd"),
        ('{"input":"a\nb"}', "a\nb"),  # raw control characters
        ('{"input":"\\x"}', "\\x"),  # no escape of JSON's
        # no wrapper: the input itself
        ("*** Begin Patch", "*** Begin Patch"),
        ('{"inputs":"a"}', '{"inputs":"a"}'),
        ('{"patch":"a"}', '{"patch":"a"}'),
        ('{"input":1}', '{"input":1}'),
        ('{"inp', '{"inp'),
        ('["input"]', '["input"]'),
    ],
)
def test_shapes(arguments: str, text: str) -> None:
    for pieces in awkward(arguments):
        assert read(pieces) == text, pieces


def test_the_text_is_live() -> None:
    reader, writer = InputReader(), InputWriter()
    assert [reader.feed(piece) for piece in ('{"in', 'put":"a', "b\\", 'nc"', "}")] == ["", "a", "b", "\nc", ""]
    assert [writer.feed(piece) for piece in ("a", "\n")] == ['{"input":"a', "\\n"]
    assert writer.finish() == '"}'


def test_a_call_without_input() -> None:
    assert InputWriter().finish() == wrapped("") == '{"input":""}'
    assert InputReader().finish() == ""


def test_the_schema_describes_the_wrapper() -> None:
    assert SCHEMA["required"] == list(SCHEMA["properties"]) == list(json.loads(wrapped("a")))
