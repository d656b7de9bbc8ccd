"""What OpenAI's Chat Completions refuse in a request, and what the many servers of this dialect refuse that parse it strictly.

Sources: protocols/openai.md, 0 and 1; OpenAI's API reference and error texts.
"""

from __future__ import annotations

from typing import Any

from dragoman.testing import chat_turns as turns
from dragoman.testing.faults import JSON, Faults, given
from dragoman.testing.openai_words import EFFORTS, LOGPROBS, NAME, TIERS, says_json, schema_format
from dragoman.testing.schemas import object_schema, strict_openai

_MEMBERS = {
    *("model", "messages", "stream", "stream_options", "max_completion_tokens", "max_tokens", "temperature", "top_p"),
    *("frequency_penalty", "presence_penalty", "stop", "n", "seed", "logit_bias", "logprobs", "top_logprobs"),
    *("tools", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort", "verbosity"),
    *("modalities", "audio", "prediction", "service_tier", "store", "metadata", "user", "safety_identifier"),
    *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "moderation", "web_search_options"),
    *("function_call", "functions"),
}
_NUMBERS = {"temperature": (0, 2), "top_p": (0, 1), "frequency_penalty": (-2, 2), "presence_penalty": (-2, 2)}
_MOST_STOPS = 4
_MOST_CHOICES = 128


def validate(body: Any, faults: Faults) -> None:
    """Collects the faults of a body."""
    body = faults.object(body, "", _MEMBERS)
    faults.text(body.get("model"), "model")
    turns.validate(body.get("messages"), faults)
    tools = _tools(body, faults)
    _choice(body, tools, faults)
    _limits(body, faults)
    _sampling(body, faults)
    _format(body, faults)
    _rest(body, faults)


# ---- tools


def _tools(body: JSON, faults: Faults) -> set[str]:
    """The names of all tools."""
    names: set[str] = set()
    if given(body, "tools"):
        for path, tool in faults.list(body["tools"], "tools", least=1):
            names.add(_tool(tool, path, faults))
    elif given(body, "parallel_tool_calls"):
        faults.add("parallel_tool_calls", "there are no tools")
    if given(body, "parallel_tool_calls"):
        faults.flag(body["parallel_tool_calls"], "parallel_tool_calls")
    return names


def _tool(tool: Any, path: str, faults: Faults) -> str:
    kind = faults.word(faults.object(tool, path).get("type"), f"{path}.type", ("function", "custom"))
    faults.object(tool, path, {"type", kind})
    if kind == "custom":
        custom = faults.object(tool.get(kind), f"{path}.custom", {"name", "description", "format"})
        return faults.text(custom.get("name"), f"{path}.custom.name", pattern=NAME)
    if kind != "function":
        return ""
    place = f"{path}.function"
    function = faults.object(tool.get(kind), place, {"name", "description", "parameters", "strict"})
    if given(function, "description"):
        faults.text(function["description"], f"{place}.description", blank=True)
    if given(function, "parameters"):
        object_schema(function["parameters"], f"{place}.parameters", faults)
    if given(function, "strict") and faults.flag(function["strict"], f"{place}.strict"):
        strict_openai(function.get("parameters"), f"{place}.parameters", faults)
    return faults.text(function.get("name"), f"{place}.name", pattern=NAME)


def _choice(body: JSON, tools: set[str], faults: Faults) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not tools:
        faults.add("tool_choice", "there are no tools")
    if isinstance(choice, str):
        faults.word(choice, "tool_choice", ("none", "auto", "required"))
        return
    kind = faults.object(choice, "tool_choice").get("type")
    if kind != "allowed_tools":
        _named(choice, "tool_choice", tools, faults)
        return
    allowed = faults.object(choice.get(kind), "tool_choice.allowed_tools", {"mode", "tools"})
    faults.word(allowed.get("mode"), "tool_choice.allowed_tools.mode", ("auto", "required"))
    for path, one in faults.list(allowed.get("tools"), "tool_choice.allowed_tools.tools", least=1):
        _named(one, path, tools, faults)


def _named(choice: Any, path: str, tools: set[str], faults: Faults) -> None:
    kind = faults.word(faults.object(choice, path).get("type"), f"{path}.type", ("function", "custom"))
    name = faults.object(faults.object(choice, path, {"type", kind}).get(kind), f"{path}.{kind}", {"name"}).get("name")
    faults.known(name, f"{path}.{kind}.name", tools, "tool")


# ---- limits and sampling


def _limits(body: JSON, faults: Faults) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        if given(body, name):
            faults.number(body[name], name, 1, whole=True)
    if given(body, "max_tokens") and given(body, "max_completion_tokens"):
        faults.add("max_tokens", "does not go with max_completion_tokens")
    if given(body, "n"):
        faults.number(body["n"], "n", 1, _MOST_CHOICES, whole=True)
    stop = body.get("stop")
    if isinstance(stop, str):
        faults.text(stop, "stop")
    elif stop is not None:
        found = [faults.text(word, path) for path, word in faults.list(stop, "stop")]
        if len(found) > _MOST_STOPS:
            faults.add("stop", f"{len(found)} words, at most {_MOST_STOPS} are taken")


def _sampling(body: JSON, faults: Faults) -> None:
    for name, (low, high) in _NUMBERS.items():
        if given(body, name):
            faults.number(body[name], name, low, high)
    if given(body, "seed"):
        faults.number(body["seed"], "seed", whole=True)
    for token, bias in faults.object(body.get("logit_bias") or {}, "logit_bias").items():
        faults.number(bias, f"logit_bias.{token}", -100, 100)
    if given(body, "logprobs"):
        faults.flag(body["logprobs"], "logprobs")
    if given(body, "top_logprobs"):
        faults.number(body["top_logprobs"], "top_logprobs", *LOGPROBS, whole=True)
        if body.get("logprobs") is not True:
            faults.add("top_logprobs", "goes with logprobs only")


# ---- the rest


def _format(body: JSON, faults: Faults) -> None:
    if not given(body, "response_format"):
        return
    form = faults.object(body["response_format"], "response_format", {"type", "json_schema"})
    kind = faults.word(form.get("type"), "response_format.type", ("text", "json_object", "json_schema"))
    if kind == "json_schema":
        schema_format(form.get("json_schema"), "response_format.json_schema", faults)
    elif kind == "json_object" and not says_json(body.get("messages")):
        faults.add("response_format", "json_object is taken only where the messages speak of JSON")


def _rest(body: JSON, faults: Faults) -> None:
    for name, words in {
        "reasoning_effort": EFFORTS,
        "verbosity": ("low", "medium", "high"),
        "service_tier": TIERS,
    }.items():
        if given(body, name):
            faults.word(body[name], name, words)
    for name in ("stream", "store"):
        if given(body, name):
            faults.flag(body[name], name)
    for name in ("user", "safety_identifier", "prompt_cache_key"):
        if given(body, name):
            faults.text(body[name], name, blank=True)
    if given(body, "metadata"):
        faults.pairs(body["metadata"], "metadata")
        if body.get("store") is not True:
            faults.add("metadata", "goes with store only")
    if given(body, "stream_options"):
        faults.object(body["stream_options"], "stream_options", {"include_usage", "include_obfuscation"})
        if body.get("stream") is not True:
            faults.add("stream_options", "goes with stream only")
