"""What OpenAI's Responses API refuses in a request.

Sources: protocols/openai.md, 0 and 2; OpenAI's API reference and error texts.
"""

from __future__ import annotations

from typing import Any

from dragoman.testing import responses_items as items
from dragoman.testing.faults import JSON, Faults, given
from dragoman.testing.openai_words import EFFORTS, LOGPROBS, NAME, TIERS, says_json, schema_format
from dragoman.testing.schemas import object_schema, strict_openai

_MEMBERS = {
    *("model", "input", "instructions", "stream", "stream_options", "previous_response_id", "conversation"),
    *("store", "background", "background_options", "include", "max_output_tokens", "max_tool_calls", "tools"),
    *("tool_choice", "parallel_tool_calls", "reasoning", "text", "temperature", "top_p", "top_logprobs"),
    *("truncation", "context_management", "prompt", "prompt_cache_key", "prompt_cache_options"),
    *("prompt_cache_retention", "service_tier", "moderation", "image", "access_programs", "metadata"),
    *("safety_identifier", "user", "client_metadata"),
}
_INCLUDE = (
    *("reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url"),
    *("file_search_call.results", "web_search_call.results", "web_search_call.action.sources"),
    *("computer_call_output.output.image_url", "code_interpreter_call.outputs"),
)
_FUNCTION = {
    *("type", "name", "parameters", "strict", "description", "defer_loading", "async", "allowed_callers"),
    "output_schema",
}
_CUSTOM = {"type", "name", "description", "format", "defer_loading", "allowed_callers"}
_REASONING = {"effort", "summary", "mode", "context", "generate_summary"}
_LEAST_OUTPUT = 16
_LONGEST_NAME = 64


def validate(body: Any, faults: Faults) -> None:
    """Collects the faults of a body."""
    body = faults.object(body, "", _MEMBERS)
    if not given(body, "prompt"):
        faults.text(body.get("model"), "model")
    if given(body, "instructions"):
        faults.text(body["instructions"], "instructions", blank=True)
    items.validate(body, faults)
    names: set[str] = set()
    for path, tool in faults.list(body.get("tools") or [], "tools"):
        names |= _tool(tool, path, faults)
    _choice(body, names, faults)
    _numbers(body, faults)
    _reasoning(body, faults)
    _text(body, faults)
    _rest(body, faults)


# ---- tools


def _tool(tool: Any, path: str, faults: Faults) -> set[str]:
    """The names that it adds. Hosted tools have none, and no rules here."""
    kind = faults.text(faults.object(tool, path).get("type"), f"{path}.type")
    if kind == "namespace":
        tool = faults.object(tool, path, {"type", "name", "description", "tools"})
        faults.text(tool.get("name"), f"{path}.name", pattern=NAME)
        inner = faults.list(tool.get("tools"), f"{path}.tools", least=1)
        return {name for place, one in inner for name in _tool(one, place, faults)}
    if kind not in ("function", "custom"):
        return set()
    tool = faults.object(tool, path, _FUNCTION if kind == "function" else _CUSTOM)
    name = faults.text(tool.get("name"), f"{path}.name", pattern=NAME)
    if given(tool, "description"):
        faults.text(tool["description"], f"{path}.description", blank=True)
    if kind == "function":
        if given(tool, "parameters"):
            object_schema(tool["parameters"], f"{path}.parameters", faults)
        if given(tool, "strict") and faults.flag(tool["strict"], f"{path}.strict"):
            strict_openai(tool.get("parameters"), f"{path}.parameters", faults)
    return {name}


def _choice(body: JSON, names: set[str], faults: Faults) -> None:
    choice = body.get("tool_choice")
    if choice is not None and not body.get("tools") and choice not in ("none", "auto"):
        faults.add("tool_choice", "there are no tools")
    if isinstance(choice, str):
        faults.word(choice, "tool_choice", ("none", "auto", "required"))
    elif choice is not None:
        kind = faults.text(faults.object(choice, "tool_choice").get("type"), "tool_choice.type")
        if kind == "allowed_tools":
            faults.object(choice, "tool_choice", {"type", "mode", "tools"})
            faults.word(choice.get("mode"), "tool_choice.mode", ("auto", "required"))
            for path, one in faults.list(choice.get("tools"), "tool_choice.tools", least=1):
                _named(one, path, names, faults)
        else:
            _named(choice, "tool_choice", names, faults)
    if given(body, "parallel_tool_calls"):
        faults.flag(body["parallel_tool_calls"], "parallel_tool_calls")


def _named(choice: Any, path: str, names: set[str], faults: Faults) -> None:
    choice = faults.object(choice, path)
    if choice.get("type") in ("function", "custom"):
        faults.object(choice, path, {"type", "name", "namespace"})
        faults.known(choice.get("name"), f"{path}.name", names, "tool")


# ---- the rest


def _numbers(body: JSON, faults: Faults) -> None:
    for name, low, high, whole in (
        ("max_output_tokens", _LEAST_OUTPUT, None, True),
        ("max_tool_calls", 1, None, True),
        ("temperature", 0, 2, False),
        ("top_p", 0, 1, False),
        ("top_logprobs", *LOGPROBS, True),
    ):
        if given(body, name):
            faults.number(body[name], name, low, high, whole=whole)


def _reasoning(body: JSON, faults: Faults) -> None:
    if not given(body, "reasoning"):
        return
    reasoning = faults.object(body["reasoning"], "reasoning", _REASONING)
    if given(reasoning, "effort"):
        faults.word(reasoning["effort"], "reasoning.effort", EFFORTS)
    if given(reasoning, "summary"):
        faults.word(reasoning["summary"], "reasoning.summary", ("auto", "concise", "detailed"))


def _text(body: JSON, faults: Faults) -> None:
    if not given(body, "text"):
        return
    text = faults.object(body["text"], "text", {"format", "verbosity"})
    if given(text, "verbosity"):
        faults.word(text["verbosity"], "text.verbosity", ("low", "medium", "high"))
    if not given(text, "format"):
        return
    form = faults.object(text["format"], "text.format")
    kind = faults.word(form.get("type"), "text.format.type", ("text", "json_object", "json_schema"))
    if kind == "json_schema":
        schema_format(form, "text.format", faults, flat=True)
    elif kind == "json_object" and not says_json(body.get("input")):
        faults.add("text.format", "json_object is taken only where the input speaks of JSON")


def _rest(body: JSON, faults: Faults) -> None:
    for path, word in faults.list(body.get("include") or [], "include"):
        faults.word(word, path, _INCLUDE)
    for name in ("stream", "store", "background"):
        if given(body, name):
            faults.flag(body[name], name)
    for name, words in {"service_tier": (*TIERS, "ultrafast"), "truncation": ("auto", "disabled")}.items():
        if given(body, name):
            faults.word(body[name], name, words)
    for name in ("safety_identifier", "prompt_cache_key"):
        if given(body, name):
            faults.text(body[name], name, longest=_LONGEST_NAME)
    if given(body, "metadata"):
        faults.pairs(body["metadata"], "metadata")
    if given(body, "stream_options"):
        faults.object(body["stream_options"], "stream_options", {"include_obfuscation"})
        if body.get("stream") is not True:
            faults.add("stream_options", "goes with stream only")
    if given(body, "previous_response_id") and given(body, "conversation"):
        faults.add("previous_response_id", "does not go with conversation")
