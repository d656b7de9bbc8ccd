"""``data:`` URLs: what is read out of them, and that they cross in every pair of dialects."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import pytest

from dragoman.dataurl import data_url, read_data_url
from dragoman.translator import Translator

PNG = "iVBORw0KGgo="


@pytest.mark.parametrize(
    ("url", "kind", "data"),
    [
        (f"data:image/png;base64,{PNG}", "image/png", PNG),
        (f"DATA:Image/PNG;name=a.png;BASE64,{PNG}", "image/png", PNG),
        (f"data:;base64,{PNG}", "image/png", PNG),
        ("data:;base64,QUJD", None, "QUJD"),
        ("data:application/octet-stream;base64,QUI%3D", "application/octet-stream", "QUI="),
        ("data:text/plain,A%20B", "text/plain", "QSBC"),
        ("data:text/plain;charset=utf-8,%C3%A9,x", "text/plain", "w6kseA=="),
        ("data:,", None, ""),
    ],
)
def test_what_is_in_it(url: str, kind: str | None, data: str) -> None:
    assert read_data_url(url) == (kind, data)


@pytest.mark.parametrize("url", ["", "https://a.example/data:,x", "data:image/png;base64", "data"])
def test_other_urls(url: str) -> None:
    assert read_data_url(url) is None


def test_there_and_back() -> None:
    assert read_data_url(data_url("image/gif", PNG)) == ("image/gif", PNG)
    assert data_url(None, "QUI=") == "data:application/octet-stream;base64,QUI="


SVG = "data:image/svg+xml,%3Csvg/%3E"
ASKED: dict[str, dict[str, Any]] = {
    "chat": {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": SVG}}]}]},
    "responses": {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": SVG}]}]},
    "messages": {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": SVG}}]}],
    },
    "gemini": {"contents": [{"role": "user", "parts": [{"fileData": {"fileUri": SVG}}]}]},
}


@pytest.mark.parametrize("client", ["chat", "responses", "messages", "gemini"])
def test_pictures_that_are_not_base64_cross(client: str) -> None:
    """Google's API takes base64 alone; the others any data URL that says so."""
    for upstream in {"chat", "responses", "gemini"} - {client}:
        made = Translator(client=client, upstream=upstream).request({"model": "m", **ASKED[client]}).body
        if upstream == "gemini":
            blob = made["contents"][0]["parts"][0]["inlineData"]
            assert (blob["mimeType"], b64decode(blob["data"])) == ("image/svg+xml", b"<svg/>")
        else:
            assert "data:image/svg+xml;base64,PHN2Zy8+" in json.dumps(made)


@pytest.mark.parametrize("client", ["chat", "responses", "gemini"])
def test_what_an_upstream_cannot_see_is_lost_visibly(client: str) -> None:
    made = Translator(client=client, upstream="messages").request({"model": "m", **ASKED[client]})
    assert "svg" in json.dumps(made.body)
    assert any("svg" in loss.reason for loss in made.losses)
