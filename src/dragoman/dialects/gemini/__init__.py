"""``gemini``: Google's Generate Content API."""

from __future__ import annotations

from dragoman.canonical.request import Audio, Document, Image, Text
from dragoman.dialects.contract import Dialect, Members, Traits
from dragoman.dialects.gemini import endpoints
from dragoman.dialects.gemini.adapt import adapt_request
from dragoman.dialects.gemini.check import RULES, check
from dragoman.dialects.gemini.counting import adapt_count, render_count
from dragoman.dialects.gemini.decode import Decoder
from dragoman.dialects.gemini.encode import Encoder
from dragoman.dialects.gemini.errors import parse_error, render_error, status_of
from dragoman.dialects.gemini.render import render_request
from dragoman.dialects.gemini.request import parse_request
from dragoman.dialects.gemini.response import render_response
from dragoman.dialects.gemini.wire import NAME, QUIRKS

DIALECT = Dialect(
    name=NAME,
    title="Google Generate Content",
    routes=endpoints.ROUTES,
    heartbeat=b"\n",
    parse_request=parse_request,
    render_request=render_request,
    adapt_request=adapt_request,
    decoder=Decoder,
    encoder=Encoder,
    render_response=render_response,
    parse_error=parse_error,
    render_error=render_error,
    status_of=status_of,
    render_models=endpoints.render_models,
    render_model=endpoints.render_model,
    authorize=endpoints.authorize,
    client_headers=endpoints.client_headers,
    check=check,
    rules=RULES,
    members=Members(
        history="contents", choice=("toolConfig", "functionCallingConfig"), counted="generateContentRequest"
    ),
    traits=Traits(
        media=("image/", "audio/", "video/"),
        tool_name=r"[A-Za-z_][A-Za-z0-9_.:-]*",
        tool_name_longest=128,
        alternate=True,
        system_turns=False,
        calls_last=False,
        result_parts=(Text, Image, Document, Audio),
    ),
    adapt_count=adapt_count,
    render_count=render_count,
    model_headers=("x-goog-api-key", "x-goog-api-client"),
    quirks=QUIRKS,
    array_stream=True,
)
