"""Where this API lives: routes, paths, headers, lists of models (protocols/anthropic-google.md, 2.1)."""

from __future__ import annotations

import re
from urllib.parse import quote

from dragoman.canonical.errors import invalid_request
from dragoman.dialects.contract import Operation, Route
from dragoman.dialects.gemini.wire import JSON
from dragoman.exceptions import InvalidRequest

_VERBS: tuple[tuple[str, Operation, bool | None], ...] = (
    ("generateContent", Operation.GENERATE, False),
    ("streamGenerateContent", Operation.GENERATE, True),
    ("countTokens", Operation.COUNT_TOKENS, None),
)

ROUTES = tuple(
    Route(path=f"/{version}/models/{{model}}:{verb}", operation=operation, stream=stream)
    for version in ("v1beta", "v1")
    for verb, operation, stream in _VERBS
)

_COLLECTION = re.compile(r"(models|tunedModels)/(?=.)")


def generate_path(model: str, *, stream: bool) -> str:
    """The path and query that ask an upstream for an answer of this model. Raises ``InvalidRequest``."""
    return _path(model, "streamGenerateContent?alt=sse" if stream else "generateContent")


def count_path(model: str) -> str:
    """The path that asks for a count of tokens. Raises ``InvalidRequest``."""
    return _path(model, "countTokens")


def resource(model: str) -> str:
    """The model's full name (``models/x``, ``tunedModels/x``); it may be given in full."""
    return model if _COLLECTION.match(model) else f"models/{model}"


def _path(model: str, verb: str) -> str:
    """A path below the model's collection, whatever its name holds.

    All but slashes is escaped, and segments of dots are refused (``InvalidRequest``).
    """
    collection, _, name = resource(model).partition("/")
    if not name.strip("/") or any(segment in (".", "..") for segment in name.split("/")):
        raise InvalidRequest(invalid_request(f"{model!r} is no name of a model", "model"))
    return f"/v1beta/{collection}/{quote(name, safe='/', errors='replace')}:{verb}"


def authorize(key: str) -> dict[str, str]:
    """The header that carries an API key."""
    return {"x-goog-api-key": key}


def client_headers(request_id: str) -> dict[str, str]:
    """The header that names the request; Google's clients look for none of their own."""
    return {"x-request-id": request_id}


def render_models(names: list[str], created: int) -> JSON:
    """The list of models. Limits are unknown here, and left out."""
    return {"models": [render_model(name, created) for name in names]}


def render_model(name: str, created: int) -> JSON:
    """One model."""
    return {
        "name": f"models/{name}",
        "displayName": name,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    }
