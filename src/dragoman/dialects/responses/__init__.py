"""OpenAI's Responses API, as a client's and as an upstream's dialect."""

from __future__ import annotations

from dragoman.canonical.request import Document, Image, Text
from dragoman.dialects import openai_shapes
from dragoman.dialects.contract import Dialect, Members, Traits
from dragoman.dialects.responses import endpoints
from dragoman.dialects.responses.adapt import adapt_request
from dragoman.dialects.responses.check import RULES, check
from dragoman.dialects.responses.compaction import render_summary
from dragoman.dialects.responses.counting import adapt_count, render_count
from dragoman.dialects.responses.decode import ResponsesDecoder
from dragoman.dialects.responses.encode import ResponsesEncoder
from dragoman.dialects.responses.errors import parse_error, render_error, status_of
from dragoman.dialects.responses.request import parse_request
from dragoman.dialects.responses.response import render_response
from dragoman.dialects.responses.state import STATE
from dragoman.dialects.responses.upstream import render_request
from dragoman.dialects.responses.wire import CALL_ID_LONGEST, ENCRYPTED, NAME, QUIRKS

DIALECT = Dialect(
    name=NAME,
    title="OpenAI Responses",
    routes=endpoints.ROUTES,
    heartbeat=endpoints.HEARTBEAT,
    parse_request=parse_request,
    render_request=render_request,
    adapt_request=adapt_request,
    decoder=ResponsesDecoder,
    encoder=ResponsesEncoder,
    render_response=render_response,
    parse_error=parse_error,
    render_error=render_error,
    status_of=status_of,
    render_models=openai_shapes.render_models,
    render_model=openai_shapes.render_model,
    authorize=openai_shapes.authorize,
    client_headers=openai_shapes.client_headers,
    check=check,
    rules=RULES,
    members=Members(history="input", proofs=("include", ENCRYPTED)),
    traits=Traits(
        media=("image/",),
        call_id_longest=CALL_ID_LONGEST,
        custom_tools=True,
        custom_calls=True,
        result_parts=(Text, Image, Document),
        runs_shown=True,
    ),
    base_path=endpoints.BASE_PATH,
    adapt_count=adapt_count,
    render_count=render_count,
    state=STATE,
    render_summary=render_summary,
    forward_headers=endpoints.FORWARD_HEADERS,
    quirks=QUIRKS,
)
