"""A client's ``generateContent`` body as a canonical request (protocols/anthropic-google.md, 2.2).

Keys are read in camelCase, snake_case, or a mixture. What has no canonical form is named in
``Request.unknown`` by its path, in camelCase; within this dialect the body goes on as it came.
"""

from __future__ import annotations

from typing import Any

from dragoman.canonical import request as q
from dragoman.dialects.gemini.contents import parse_contents, parse_system, refuse
from dragoman.dialects.gemini.schema import parse_schema, read_json_schema
from dragoman.dialects.gemini.wire import JSON, LEVELS, NAME, as_text, camel_case

_KNOWN = frozenset(
    {
        "contents",
        "systemInstruction",
        "tools",
        "toolConfig",
        "generationConfig",
        "labels",
        "serviceTier",
        "model",
        "stream",
        "cachedContent",
        "continuationToken",
    }
)
_BOUND = ("cachedContent", "continuationToken")
"""Members that stand for a part of the conversation that Google keeps."""

_MODES = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}
_EFFORTS: dict[str, q.Effort] = {**LEVELS, "MAX": "max"}


def parse_request(body: JSON, model: str | None = None, stream: bool | None = None) -> q.Request:
    """The request in a client's body; ``model`` and ``stream`` are those of the route's path.

    The body of ``:countTokens`` may wrap all but the contents. Raises ``InvalidRequest``.
    """
    if not isinstance(body, dict):
        raise refuse("expected a JSON object", "body")
    try:
        return _request(camel_case(body), model, stream)
    except RecursionError:
        raise refuse("it is nested too deeply", "body") from None


def _request(body: JSON, model: str | None, stream: bool | None) -> q.Request:
    inner = body.get("generateContentRequest")
    if isinstance(inner, dict) and "contents" not in body:
        body = inner
    name = model or as_text(body.get("model"))
    if not name:
        raise refuse("expected the name of a model", "model")
    unknown = [key for key, value in body.items() if key not in _KNOWN and value not in (None, [], {})]
    bound = tuple(key for key in _BOUND if body.get(key))
    config = _object(body.get("generationConfig"), "generationConfig")
    tools, hosted = _tools(body.get("tools"), unknown)
    settings = _config(config, unknown)
    return q.Request(
        model=name,
        messages=(*parse_system(body.get("systemInstruction")), *parse_contents(body.get("contents"), unknown)),
        origin=NAME,
        stream=bool(stream),
        tools=tools,
        hosted_tools=hosted,
        tool_choice=_tool_choice(body.get("toolConfig"), unknown),
        metadata=_labels(body.get("labels")),
        service_tier=as_text(body.get("serviceTier")) or None,
        stream_usage=True,
        unknown=tuple(unknown),
        bound=bound,
        **settings,
    )


# ---- members of a certain type


def _object(value: Any, path: str) -> JSON:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise refuse("expected an object", path)
    return value


def _number(value: Any, path: str) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise refuse("expected a number", path) from None
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise refuse("expected a number", path)


def _integer(value: Any, path: str) -> int | None:
    number = _number(value, path)
    if number is None:
        return None
    if isinstance(number, float) and not number.is_integer():
        raise refuse("expected a whole number", path)
    return int(number)


def _texts(value: Any, path: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise refuse("expected a list of texts", path)
    return tuple(value)


def _flag(value: Any, path: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise refuse("expected true or false", path)


def _labels(value: Any) -> dict[str, str] | None:
    labels = _object(value, "labels")
    return {key: str(item) for key, item in labels.items()} or None


# ---- generationConfig


def _config(config: JSON, unknown: list[str]) -> dict[str, Any]:
    path = "generationConfig"
    choices = _integer(config.get("candidateCount"), f"{path}.candidateCount")
    if choices is not None and choices < 1:
        raise refuse("expected at least one candidate", f"{path}.candidateCount")
    unknown += (f"{path}.{key}" for key, value in config.items() if key not in _READ and value is not None)
    modalities = [item.upper() for item in _texts(config.get("responseModalities"), f"{path}.responseModalities")]
    if any(item not in ("TEXT", "MODALITY_UNSPECIFIED") for item in modalities):
        unknown.append(f"{path}.responseModalities")
    return {
        "max_output_tokens": _integer(config.get("maxOutputTokens"), f"{path}.maxOutputTokens"),
        "temperature": _number(config.get("temperature"), f"{path}.temperature"),
        "top_p": _number(config.get("topP"), f"{path}.topP"),
        "top_k": _integer(config.get("topK"), f"{path}.topK"),
        "seed": _integer(config.get("seed"), f"{path}.seed"),
        "presence_penalty": _number(config.get("presencePenalty"), f"{path}.presencePenalty"),
        "frequency_penalty": _number(config.get("frequencyPenalty"), f"{path}.frequencyPenalty"),
        "stop": _texts(config.get("stopSequences"), f"{path}.stopSequences"),
        "choices": choices or 1,
        "logprobs": _flag(config.get("responseLogprobs"), f"{path}.responseLogprobs"),
        "top_logprobs": _integer(config.get("logprobs"), f"{path}.logprobs"),
        "reasoning": _reasoning(config.get("thinkingConfig"), unknown),
        "output": _output(config, unknown),
    }


_READ = frozenset(
    {
        "maxOutputTokens",
        "temperature",
        "topP",
        "topK",
        "seed",
        "presencePenalty",
        "frequencyPenalty",
        "stopSequences",
        "candidateCount",
        "responseLogprobs",
        "logprobs",
        "thinkingConfig",
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
        "responseModalities",
    }
)


def _reasoning(value: Any, unknown: list[str]) -> q.ReasoningRequest | None:
    path = "generationConfig.thinkingConfig"
    config = _object(value, path)
    visible = _flag(config.get("includeThoughts"), f"{path}.includeThoughts")
    budget = _integer(config.get("thinkingBudget"), f"{path}.thinkingBudget")
    level = as_text(config.get("thinkingLevel")).upper()
    effort: q.Effort | None = _EFFORTS.get(level)
    if level and effort is None and not level.endswith("_UNSPECIFIED"):
        raise refuse(f"expected one of {', '.join(_EFFORTS)}", f"{path}.thinkingLevel")
    if effort is None and budget == 0:
        effort = "none"
    adaptive = effort is None and budget is not None and budget < 0
    unknown += (f"{path}.{key}" for key in config if key not in ("includeThoughts", "thinkingBudget", "thinkingLevel"))
    asked = q.ReasoningRequest(
        effort=effort, budget=budget if budget and budget > 0 else None, adaptive=adaptive, visible=visible
    )
    return None if asked == q.ReasoningRequest() else asked


def _output(config: JSON, unknown: list[str]) -> q.OutputFormat | None:
    path = "generationConfig"
    kind = as_text(config.get("responseMimeType")).partition(";")[0].strip().lower()
    name = next((key for key in ("responseJsonSchema", "responseSchema") if config.get(key) is not None), None)
    if kind not in ("", "text/plain", "application/json"):
        unknown.append(f"{path}.responseMimeType")
        return None
    if name is None:
        return q.OutputFormat(type="json") if kind == "application/json" else None
    schema = parse_schema(config[name]) if name == "responseSchema" else read_json_schema(config[name])
    return q.OutputFormat(type="schema", schema=_object(schema, f"{path}.{name}"))


# ---- tools


def _tools(value: Any, unknown: list[str]) -> tuple[tuple[q.Tool, ...], tuple[q.HostedTool, ...]]:
    if value is None:
        return (), ()
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise refuse("expected a list of tools", "tools")
    functions: list[q.Tool] = []
    hosted: list[q.HostedTool] = []
    for number, tool in enumerate(value):
        for kind, declared in _object(tool, f"tools[{number}]").items():
            if kind == "functionDeclarations":
                functions += _functions(declared, f"tools[{number}].{kind}", unknown)
            elif declared is not None:
                hosted.append(q.HostedTool(origin=NAME, type=kind, value={kind: declared}))
    return tuple(functions), tuple(hosted)


def _functions(value: Any, path: str, unknown: list[str]) -> list[q.Tool]:
    if isinstance(value, dict):
        value = [value]
    if value is not None and not isinstance(value, list):
        raise refuse("expected a list of function declarations", path)
    return [_function(item, f"{path}[{number}]", unknown) for number, item in enumerate(value or [])]


def _function(value: Any, path: str, unknown: list[str]) -> q.Tool:
    declared = _object(value, path)
    name = as_text(declared.get("name"))
    if not name:
        raise refuse("expected the name of a function", f"{path}.name")
    schema = read_json_schema(declared.get("parametersJsonSchema"))
    if schema is None:
        schema = parse_schema(declared.get("parameters"))
    if schema is not None and not isinstance(schema, dict):
        raise refuse("expected a schema", f"{path}.parameters")
    unknown += (f"{path}.{key}" for key in declared if key not in _DECLARED)
    return q.Tool(name=name, description=as_text(declared.get("description")) or None, schema=schema)


_DECLARED = frozenset({"name", "description", "parameters", "parametersJsonSchema"})


def _tool_choice(value: Any, unknown: list[str]) -> q.ToolChoice | None:
    config = _object(value, "toolConfig")
    unknown += (f"toolConfig.{key}" for key, said in config.items() if key != "functionCallingConfig" and said)
    path = "toolConfig.functionCallingConfig"
    calling = _object(config.get("functionCallingConfig"), path)
    unknown += (
        f"{path}.{key}" for key, said in calling.items() if key not in ("mode", "allowedFunctionNames") and said
    )
    names = _texts(calling.get("allowedFunctionNames"), f"{path}.allowedFunctionNames")
    mode = as_text(calling.get("mode")).upper()
    if mode == "VALIDATED":
        unknown.append(f"{path}.mode")  # that calls keep to their schemas
    match _MODES.get(mode):
        case "auto":
            return q.ToolChoice("auto", names)
        case "required":
            return q.ToolChoice("required", names)
        case "none":
            return q.ToolChoice("none")
    if mode and not mode.endswith("_UNSPECIFIED"):
        raise refuse(f"expected one of {', '.join(_MODES)}", f"{path}.mode")
    return q.ToolChoice("auto", names) if names else None
