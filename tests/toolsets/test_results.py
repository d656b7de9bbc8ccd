"""Names, outcomes, and what is too large."""

from __future__ import annotations

import re
from typing import Any

import pytest
from mcp.types import (
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)

from dragoman.canonical.request import Document, Image, ResultPart, Text
from dragoman.toolloop.loop import ToolOutcome
from dragoman.toolsets.interface import failed, offer, offered_name
from dragoman.toolsets.mcp_content import outcome_of
from dragoman.toolsets.results import ResultLimits, fitted, folded

LEGAL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")


# ---- names


def test_a_legal_name_stays() -> None:
    assert offered_name("docs", "search") == "docs__search"


def test_other_names_are_made_legal_and_stay_apart() -> None:
    names = ["read.all", "read/all", "read_all", "läs", "x" * 100, "x" * 101, "\ud800"]
    offered = [offered_name("files", name) for name in names]
    assert all(LEGAL.match(name) for name in offered)
    assert len(set(offered)) == len(names)
    assert offered == [offered_name("files", name) for name in names]


def test_a_schema_gets_what_every_dialect_wants() -> None:
    assert offer("a", "b", "", {}).schema == {"type": "object", "properties": {}}
    assert offer("a", "b", "", {}).description is None
    own = {"type": "object", "properties": {"x": {}}, "required": ["x"]}
    assert offer("a", "b", "does", own).schema == own


# ---- size


def text_of(outcome: ToolOutcome) -> list[str]:
    return [part.text for part in outcome.parts if isinstance(part, Text)]


def test_what_fits_is_left_alone() -> None:
    outcome = ToolOutcome(parts=(Text(text="12345"), Image(media_type="image/png", data="abcd")))
    assert fitted(outcome, ResultLimits(text=5, media=4)) is outcome


def test_text_is_cut_with_a_mark() -> None:
    outcome = ToolOutcome(parts=(Text(text="12345"), Text(text="6789"), Text(text="more"), Text(text="")), error=True)
    cut = fitted(outcome, ResultLimits(text=7))
    assert text_of(cut) == ["12345", "67\n[cut: only 7 of 13 bytes are shown]", ""]
    assert cut.error


def test_no_character_is_cut_in_two() -> None:
    assert text_of(fitted(ToolOutcome(parts=(Text(text="ab€"),)), ResultLimits(text=4))) == [
        "ab\n[cut: only 4 of 5 bytes are shown]"
    ]


def test_large_media_are_left_out_with_a_note_and_small_ones_stay() -> None:
    small = Image(media_type="image/png", data="abcd")
    large = Document(media_type="application/pdf", data="x" * 100)
    outcome = fitted(ToolOutcome(parts=(small, large, small)), ResultLimits(media=10))
    assert outcome.parts == (
        small,
        Text(text="[document (application/pdf) of 100 bytes left out: too large]"),
        small,
    )


# ---- structured content


@pytest.mark.parametrize(
    ("texts", "structured"),
    [
        (['{"a": 1,\n "b": [2]}'], {"b": [2], "a": 1}),
        (["Found:", '{"a":1}'], {"a": 1}),
        (["5"], {"result": 5}),
        (["five"], {"result": "five"}),
        (['{"a":1}', '{"a":2}'], {"result": [{"a": 1}, {"a": 2}]}),
        (["one", "two"], {"result": ["one", "two"]}),
        (["anything"], None),
    ],
)
def test_what_the_text_says_already_is_not_said_again(texts: list[str], structured: Any) -> None:
    parts = tuple(Text(text=text) for text in texts)
    assert folded(parts, structured) == parts


@pytest.mark.parametrize("texts", [[], ["Done."], ['{"a": 2}']])
def test_structured_content_that_nobody_said_is_added(texts: list[str]) -> None:
    parts = tuple(Text(text=text) for text in texts)
    assert folded(parts, {"a": "ü"}) == (*parts, Text(text='{"a":"ü"}'))


# ---- MCP content


def one(block: ContentBlock) -> ResultPart:
    (part,) = outcome_of(CallToolResult(content=[block])).parts
    return part


def blob(mime_type: str | None, blob: str) -> EmbeddedResource:
    return EmbeddedResource(
        type="resource", resource=BlobResourceContents(uri="file:///in/a.bin", mime_type=mime_type, blob=blob)
    )


def test_resources() -> None:
    assert one(blob("application/pdf", "JVBERg==")) == Document(
        media_type="application/pdf", data="JVBERg==", name="a.bin"
    )
    assert one(blob("image/png; x=1", "iVBO")) == Image(media_type="image/png", data="iVBO")
    assert one(blob("text/csv", "w7w7MQ==")) == Text(text="ü;1")
    assert one(blob("application/zip", "UEs=")) == Text(
        text="[application/zip file:///in/a.bin of 2 bytes left out: no model reads it]"
    )
    assert one(blob(None, "UEs=")) == Text(text="[data file:///in/a.bin of 2 bytes left out: no model reads it]")
    link = ResourceLink(type="resource_link", name="log", uri="file:///log", description="of today")
    assert one(link) == Text(text="[resource log: file:///log (of today)]")


def test_a_picture_that_is_none() -> None:
    """An upstream would refuse the whole request for it."""
    broken = ImageContent(type="image", data="not base64!", mime_type="image/png")
    assert one(broken) == Text(text="[image/png left out: not base64]")


def test_a_picture_of_text_is_text() -> None:
    assert one(ImageContent(type="image", data="PHN2Zy8+", mime_type="image/svg+xml")) == Text(text="<svg/>")


def test_errors_and_structured_content() -> None:
    result = CallToolResult(content=[TextContent(type="text", text="no")], structured_content={"a": 1}, is_error=True)
    assert outcome_of(result) == ToolOutcome(parts=(Text(text="no"), Text(text='{"a":1}')), error=True)
    assert outcome_of(CallToolResult(content=[])) == ToolOutcome()


def test_a_failure_says_so() -> None:
    assert (failed("no").text, failed("no").error) == ("no", True)
