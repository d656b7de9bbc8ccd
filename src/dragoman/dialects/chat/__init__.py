"""OpenAI's Chat Completions, and the many servers that speak it more or less."""

from __future__ import annotations

from dragoman.dialects import openai_shapes
from dragoman.dialects.chat import endpoints
from dragoman.dialects.chat.adapt import adapt_request
from dragoman.dialects.chat.check import RULES, check
from dragoman.dialects.chat.decode import ChatDecoder
from dragoman.dialects.chat.encode import ChatEncoder
from dragoman.dialects.chat.errors import parse_error, render_error, status_of
from dragoman.dialects.chat.render import render_request
from dragoman.dialects.chat.request import parse_request
from dragoman.dialects.chat.response import render_response
from dragoman.dialects.chat.wire import CALL_ID_LONGEST, NAME, QUIRKS
from dragoman.dialects.contract import Dialect, Traits

DIALECT = Dialect(
    name=NAME,
    title="OpenAI Chat Completions",
    routes=endpoints.ROUTES,
    heartbeat=endpoints.HEARTBEAT,
    parse_request=parse_request,
    render_request=render_request,
    adapt_request=adapt_request,
    decoder=ChatDecoder,
    encoder=ChatEncoder,
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
    traits=Traits(custom_calls=True, call_id_longest=CALL_ID_LONGEST, media=("image/", "audio/"), signing=False),
    base_path=endpoints.BASE_PATH,
    quirks=QUIRKS,
)
