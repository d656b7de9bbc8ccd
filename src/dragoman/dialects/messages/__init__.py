"""Anthropic Messages: ``DIALECT`` is its table of contents."""

from __future__ import annotations

from dragoman.canonical.request import Document, Image, Text
from dragoman.dialects.contract import Dialect, Traits
from dragoman.dialects.messages import endpoints, wire
from dragoman.dialects.messages.betas import fit_headers
from dragoman.dialects.messages.check import RULES, check
from dragoman.dialects.messages.decode import MessagesDecoder
from dragoman.dialects.messages.encode import MessagesEncoder
from dragoman.dialects.messages.errors import parse_error, render_error, status_of
from dragoman.dialects.messages.request import adapt_count, adapt_request, parse_request, render_request
from dragoman.dialects.messages.response import render_count, render_response

DIALECT = Dialect(
    name=wire.NAME,
    title="Anthropic Messages",
    routes=endpoints.ROUTES,
    heartbeat=endpoints.HEARTBEAT,
    parse_request=parse_request,
    render_request=render_request,
    adapt_request=adapt_request,
    decoder=MessagesDecoder,
    encoder=MessagesEncoder,
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
    traits=Traits(
        call_id=wire.CALL_ID_PATTERN,
        tool_name_longest=128,
        alternate=True,
        system_turns=False,
        result_parts=(Text, Image, Document),
        runs_shown=True,
    ),
    render_count=render_count,
    adapt_count=adapt_count,
    forward_headers=endpoints.FORWARD_HEADERS,
    fit_headers=fit_headers,
    model_headers=endpoints.MODEL_HEADERS,
    quirks=wire.QUIRKS,
)
