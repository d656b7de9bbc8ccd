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
    """The path and query that ask an upstream for an answer of this model.

    A name may be that of a resource (``models/x``, ``tunedModels/x``). Whatever it holds, the path
    stays below the collection: all but slashes is escaped, and segments of dots are refused
    (``InvalidRequest``).
    """
    found = _COLLECTION.match(model)
    collection = found[1] if found else "models"
    name = model[found.end() :] if found else model
    if not name.strip("/") or any(segment in (".", "..") for segment in name.split("/")):
        raise InvalidRequest(invalid_request(f"{model!r} is no name of a model", "model"))
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
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
