"""An image that an agent read with a tool reaches any upstream as an image."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.agents.answering import Answer, ask
from tests.agents.sent import JSON, Sent, abroad, every
from tests.gateway.conftest import Lab

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGM4ISeHFTEMLQkAkL9BAbKfPiIAAAAASUVORK5CYII="
URL = f"data:image/png;base64,{PNG}"
WITH_IMAGES = [one for one in every() if PNG in str(one.body) and not one.counts]


def test_they_are_there() -> None:
    assert {one.name.partition("-")[0] for one in WITH_IMAGES} == {"claude", "codex", "gemini", "pi"}
    assert len(WITH_IMAGES) == 7


@abroad(*WITH_IMAGES)
async def test_an_image_arrives(lab: Lab, request_: Sent, upstream: str) -> None:
    """Once, in the last turn, behind the call that it is the result of."""
    seen = await ask(lab, request_, upstream, Answer(text="It is red."))
    (history,) = (seen.asked.body[name] for name in ("messages", "input", "contents") if name in seen.asked.body)
    places = [place for place, turn in enumerate(history) for _ in images(upstream, turn)]
    assert places == [len(history) - 1]
    assert seen.said(request_.dialect).text == "It is red."


def images(upstream: str, value: Any) -> Iterator[JSON]:
    """The parts of a turn, results of calls included, that are this image in the upstream's form."""
    if isinstance(value, list):
        for one in value:
            yield from images(upstream, one)
    elif isinstance(value, dict):
        if _is_image(upstream, value):
            yield value
        for inner in value.values():
            yield from images(upstream, inner)


def _is_image(upstream: str, part: JSON) -> bool:
    match upstream:
        case "chat":
            return part.get("type") == "image_url" and part["image_url"]["url"] == URL
        case "responses":
            return part.get("type") == "input_image" and part["image_url"] == URL
        case "messages":
            source = {"type": "base64", "media_type": "image/png", "data": PNG}
            return part.get("type") == "image" and part["source"] == source
    return part.get("inlineData") == {"mimeType": "image/png", "data": PNG}
