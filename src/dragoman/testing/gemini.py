"""What Google's Generate Content API refuses in a request.

Sources: protocols/anthropic-google.md, 2; Google's API reference and error texts. Members may be
spelled in snake_case, as Google's servers read both.
"""

from __future__ import annotations

from typing import Any

from dragoman.testing import gemini_turns as turns
from dragoman.testing.faults import JSON, Faults, given
from dragoman.testing.gemini_schema import openapi_subset
from dragoman.testing.schemas import any_schema

_MEMBERS = {
    *("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "model"),
    *("cachedContent", "continuationToken", "labels", "serviceTier", "store"),
}
_FUNCTION = {
    *("name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior"),
}
_TOOLS = {
    *("functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "fileSearch"),
    *("googleMaps", "computerUse", "mcpServers"),
}
_CALLING = {"mode", "allowedFunctionNames", "streamFunctionCallArguments"}
_SINGLE: dict[str, tuple[float | None, float | None, bool]] = {
    "temperature": (0, 2, False),
    "topP": (0, 1, False),
    "topK": (1, None, False),
    "maxOutputTokens": (1, None, True),
    "candidateCount": (1, 8, True),
    "seed": (-(1 << 31), (1 << 31) - 1, True),
    "presencePenalty": (-2, 2, False),
    "frequencyPenalty": (-2, 2, False),
    "logprobs": (0, 20, True),
}
"""Numbers of ``generationConfig``: their bounds, and whether they are whole."""
_CONFIG = {
    *_SINGLE,
    *("stopSequences", "responseMimeType", "responseSchema", "responseJsonSchema", "responseLogprobs"),
    *("responseModalities", "mediaResolution", "speechConfig", "imageConfig", "thinkingConfig"),
    "enableEnhancedCivicAnswers",
}
_LEVELS = ("THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")
_MOST_STOPS = 5


def validate(body: Any, faults: Faults) -> None:
    """Collects the faults of a body."""
    body = faults.object(turns.camel_case(body), "", _MEMBERS)
    _system(body, faults)
    turns.validate(body.get("contents"), faults)
    names: set[str] = set()
    for path, tool in faults.list(body.get("tools") or [], "tools"):
        names |= _tool(tool, path, names, faults)
    _calling(body, names, faults)
    _config(faults.object(body.get("generationConfig") or {}, "generationConfig", _CONFIG), faults)


def _system(body: JSON, faults: Faults) -> None:
    if not given(body, "systemInstruction"):
        return
    system = faults.object(body["systemInstruction"], "systemInstruction", {"role", "parts"})
    for path, part in faults.list(system.get("parts"), "systemInstruction.parts", least=1):
        part = faults.object(part, path, {"text"})
        faults.text(part.get("text"), f"{path}.text")


# ---- tools


def _tool(tool: Any, path: str, known: set[str], faults: Faults) -> set[str]:
    """The names of the functions that it declares."""
    names: set[str] = set()
    tool = faults.object(tool, path, _TOOLS)
    if not given(tool, "functionDeclarations"):
        return names
    for place, declared in faults.list(tool["functionDeclarations"], f"{path}.functionDeclarations", least=1):
        declared = faults.object(declared, place, _FUNCTION)
        name = faults.text(declared.get("name"), f"{place}.name", pattern=turns.NAME)
        if name in names | known:
            faults.add(f"{place}.name", f"there is another function {name}")
        names.add(name)
        if given(declared, "parameters"):
            openapi_subset(declared["parameters"], f"{place}.parameters", faults, root=True)
        if given(declared, "parametersJsonSchema"):
            any_schema(declared["parametersJsonSchema"], f"{place}.parametersJsonSchema", faults)
            if given(declared, "parameters"):
                faults.add(f"{place}.parameters", "does not go with parametersJsonSchema")
    return names


def _calling(body: JSON, names: set[str], faults: Faults) -> None:
    if not given(body, "toolConfig"):
        return
    config = faults.object(
        body["toolConfig"],
        "toolConfig",
        {"functionCallingConfig", "includeServerSideToolInvocations", "retrievalConfig"},
    )
    if not given(config, "functionCallingConfig"):
        return
    path = "toolConfig.functionCallingConfig"
    calling = faults.object(config["functionCallingConfig"], path, _CALLING)
    mode = calling.get("mode", "AUTO")
    faults.word(mode, f"{path}.mode", ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"))
    if mode == "ANY" and not names:
        faults.add(path, "there are no functions")
    for place, name in faults.list(calling.get("allowedFunctionNames") or [], f"{path}.allowedFunctionNames"):
        if mode not in ("ANY", "VALIDATED"):
            faults.add(place, f"does not go with the mode {mode}")
        faults.known(name, place, names, "function")


# ---- generationConfig


def _config(config: JSON, faults: Faults) -> None:
    for name, (low, high, whole) in _SINGLE.items():
        if given(config, name):
            faults.number(config[name], f"generationConfig.{name}", low, high, whole=whole)
    stops = [
        faults.text(stop, path)
        for path, stop in faults.list(config.get("stopSequences") or [], "generationConfig.stopSequences")
    ]
    if len(stops) > _MOST_STOPS:
        faults.add("generationConfig.stopSequences", f"{len(stops)} of them, at most {_MOST_STOPS} are taken")
    if given(config, "logprobs") and config.get("responseLogprobs") is not True:
        faults.add("generationConfig.logprobs", "goes with responseLogprobs only")
    _schema(config, faults)
    _thinking(config, faults)


def _schema(config: JSON, faults: Faults) -> None:
    found = [name for name in ("responseSchema", "responseJsonSchema") if given(config, name)]
    for name in found:
        if config.get("responseMimeType") not in ("application/json", "text/x.enum"):
            faults.add("generationConfig.responseMimeType", f"must be application/json with {name}")
        if name == "responseSchema":
            openapi_subset(config[name], f"generationConfig.{name}", faults)
        else:
            any_schema(config[name], f"generationConfig.{name}", faults)
    if len(found) > 1:
        faults.add("generationConfig.responseSchema", "does not go with responseJsonSchema")


def _thinking(config: JSON, faults: Faults) -> None:
    if not given(config, "thinkingConfig"):
        return
    path = "generationConfig.thinkingConfig"
    thinking = faults.object(config["thinkingConfig"], path, {"includeThoughts", "thinkingBudget", "thinkingLevel"})
    shown = given(thinking, "includeThoughts") and faults.flag(thinking["includeThoughts"], f"{path}.includeThoughts")
    if shown and thinking.get("thinkingBudget") == 0:
        faults.add(f"{path}.includeThoughts", "there are no thoughts with a budget of 0")
    if given(thinking, "thinkingBudget"):
        faults.number(thinking["thinkingBudget"], f"{path}.thinkingBudget", -1, whole=True)
        if given(thinking, "thinkingLevel"):
            faults.add(f"{path}.thinkingBudget", "does not go with thinkingLevel")
    if given(thinking, "thinkingLevel"):
        level = thinking["thinkingLevel"]
        faults.word(level.upper() if isinstance(level, str) else level, f"{path}.thinkingLevel", _LEVELS)
