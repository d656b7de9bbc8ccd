"""Routes, paths, headers and lists."""

from __future__ import annotations

import pytest

from dragoman.dialects.contract import Operation
from dragoman.dialects.gemini import DIALECT
from dragoman.dialects.gemini.endpoints import generate_path
from dragoman.exceptions import InvalidRequest


def test_routes() -> None:
    assert {(route.path, route.operation, route.stream) for route in DIALECT.routes} == {
        (f"/{version}/models/{{model}}:{verb}", operation, stream)
        for version in ("v1", "v1beta")
        for verb, operation, stream in (
            ("generateContent", Operation.GENERATE, False),
            ("streamGenerateContent", Operation.GENERATE, True),
            ("countTokens", Operation.COUNT_TOKENS, None),
        )
    }


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-x", "models/gemini-x"),
        ("models/gemini-x", "models/gemini-x"),
        ("tunedModels/mine", "tunedModels/mine"),
        ("vendor/model", "models/vendor/model"),
        ("a:free", "models/a%3Afree"),
        ("a?key=b#c", "models/a%3Fkey%3Db%23c"),
        ("a\r\nb", "models/a%0D%0Ab"),
        ("a%2e", "models/a%252e"),
        ("é", "models/%C3%A9"),
        ("\ud800", "models/%3F"),
        ("..a", "models/..a"),
    ],
)
def test_a_model_stays_below_its_collection(model: str, path: str) -> None:
    assert generate_path(model, stream=False) == f"/v1beta/{path}:generateContent"
    assert generate_path(model, stream=True) == f"/v1beta/{path}:streamGenerateContent?alt=sse"


@pytest.mark.parametrize("model", ["", "/", "..", "../x", "a/../../b", "models/..", "a/."])
def test_no_model_leaves_the_path(model: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        generate_path(model, stream=False)
    assert caught.value.error.param == "model"


def test_lists_and_headers() -> None:
    listed = DIALECT.render_models(["a/b", "c"], 0)["models"]
    assert [model["name"] for model in listed] == ["models/a/b", "models/c"]
    assert listed[1] == DIALECT.render_model("c", 0)
    assert "generateContent" in listed[0]["supportedGenerationMethods"]
    assert DIALECT.authorize("k") == {"x-goog-api-key": "k"}
    assert DIALECT.client_headers("r") == {"x-request-id": "r"}
    assert DIALECT.base_path == ""
    assert DIALECT.array_stream
