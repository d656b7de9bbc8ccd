"""``logprobsResult``: the tokens that were chosen, and for each the likeliest ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from dragoman.canonical.logprobs import Token, token, tokens_of, with_tokens
from dragoman.dialects.gemini.wire import JSON, as_list


def beside_text(result: Any) -> JSON:
    """The members beside a text: the result, and what other dialects read of it."""
    return with_tokens({"logprobsResult": result}, _parse(result))


def _parse(result: Any) -> list[Token | None]:
    if not isinstance(result, dict):
        return []
    tops = [top.get("candidates") if isinstance(top, dict) else None for top in as_list(result.get("topCandidates"))]
    chosen = as_list(result.get("chosenCandidates"))
    return [_token(one, as_list(top)) for one, top in zip_longest(chosen, tops[: len(chosen)])]


def _token(raw: Any, top: Sequence[Any] = ()) -> Token | None:
    if not isinstance(raw, dict):
        return None
    return token(raw.get("token"), raw.get("logProbability"), others=[_token(one) for one in top])


def logprobs_result(native: Mapping[str, Any]) -> JSON | None:
    """The result for a client: as it came, or made of another API's tokens, which have no ids here."""
    if isinstance(result := native.get("logprobsResult"), dict):
        return result
    tokens = tokens_of(native)
    if not tokens:
        return None
    made: JSON = {"chosenCandidates": [_candidate(one) for one in tokens]}
    if any(one.others for one in tokens):
        made["topCandidates"] = [{"candidates": [_candidate(other) for other in one.others]} for one in tokens]
    return made


def _candidate(one: Token) -> JSON:
    return {"token": one.text, "logProbability": one.logprob}
