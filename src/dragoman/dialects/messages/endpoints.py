"""Routes, headers and model lists of the messages dialect. Source: protocols/anthropic-google.md, 1.1 and 1.2."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dragoman.dialects.contract import Operation, Route
from dragoman.dialects.messages import wire

ROUTES = (
    Route(path=wire.PATH),
    Route(path=wire.COUNT_PATH, operation=Operation.COUNT_TOKENS),
)

HEARTBEAT = b": keep-alive\n\n"
FORWARD_HEADERS = ("anthropic-version", "anthropic-beta")
MODEL_HEADERS = ("anthropic-version",)


def request_headers(body: dict[str, Any]) -> dict[str, str]:
    """The headers of this body; a client's own version replaces it (``FORWARD_HEADERS``).

    The newest version refuses sampling parameters, even at their defaults (protocols, 0.1).
    """
    samples = any(body.get(name) is not None for name in wire.SAMPLING)
    return {"anthropic-version": wire.SAMPLING_VERSION if samples else wire.VERSION}


def authorize(key: str) -> dict[str, str]:
    """The header that carries an API key; older compatible servers know no other."""
    return {"x-api-key": key}


def client_headers(request_id: str) -> dict[str, str]:
    """The header that the official SDKs show as the id of a request."""
    return {"request-id": request_id}


def render_model(model: str, now: int) -> dict[str, Any]:
    """One model, as ``GET /v1/models/{id}`` gives it; ``now`` is a Unix time in seconds."""
    created = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": "model", "id": model, "display_name": model, "created_at": created, "lifecycle": "active"}


def render_models(models: list[str], now: int) -> dict[str, Any]:
    """The whole list in one page."""
    return {
        "data": [render_model(model, now) for model in models],
        "has_more": False,
        "first_id": models[0] if models else None,
        "last_id": models[-1] if models else None,
    }
