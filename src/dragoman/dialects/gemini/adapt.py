"""A client's own body for an upstream of this very dialect, with the least change.

Keys stay in the client's spelling, which may be camelCase, snake_case or a mixture (``spelled``). What
changes: the model, which is in the path; proofs and ids of calls that were made for this client, which
come back as what they stand for; and what the upstream's facts say that it does not take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman.canonical.aliases import original
from dragoman.canonical.request import Loss, Request
from dragoman.dialects.contract import Facts, UpstreamRequest
from dragoman.dialects.gemini.endpoints import generate_path
from dragoman.dialects.gemini.parts import parse_proof
from dragoman.dialects.gemini.schema import read_json_schema
from dragoman.dialects.gemini.subset import parameters_subset, value_subset
from dragoman.dialects.gemini.thinking import capped
from dragoman.dialects.gemini.wire import BYPASS, JSON, LEVELS, NAME, as_list, as_object, as_text, spelled
from dragoman.effort import budget_of
from dragoman.history import CONTINUE
from dragoman.structured import instruction


def adapt_request(body: JSON, request: Request, facts: Facts) -> UpstreamRequest:
    """The body for an answer."""
    losses: list[Loss] = []
    adapted = adapt_conversation(body, "", facts, losses)
    adapted.pop("model", None)
    adapted.pop("stream", None)
    _generation(adapted, request, facts, losses)
    path = generate_path(request.model, stream=request.stream)
    return UpstreamRequest(path=path, body=adapted, losses=tuple(losses))


def adapt_conversation(body: JSON, path: str, facts: Facts, losses: list[Loss]) -> JSON:
    """The body with a history and tools that the upstream takes; ``path`` is what stands before theirs."""
    adapted = dict(body)
    if isinstance(contents := adapted.get("contents"), list):
        contents = [_content(item, f"{path}contents[{number}]", losses) for number, item in enumerate(contents)]
        if facts.gemini_thinking == "level" and facts.signing_upstream is not False:
            contents = _signed(contents)
        if not facts.assistant_prefill and contents and _role(contents[-1]) == "model":
            losses.append(Loss(f"{path}contents", "the last turn is the model's: the user asks to continue"))
            contents = [*contents, {"role": "user", "parts": [{"text": CONTINUE}]}]
        adapted["contents"] = contents
    if facts.gemini_schema == "openapi-subset" and isinstance(tools := adapted.get("tools"), list):
        adapted["tools"] = [_tool(tool, f"{path}tools[{number}]", losses) for number, tool in enumerate(tools)]
    return adapted


# ---- the history


def _content(content: Any, path: str, losses: list[Loss]) -> Any:
    parts = content.get("parts") if isinstance(content, dict) else None
    if isinstance(parts, dict):
        parts = [parts]
    if not isinstance(parts, list):
        return content
    adapted = [_part(part, f"{path}.parts[{number}]", losses) for number, part in enumerate(parts)]
    return {**content, "parts": [part for part in adapted if part is not None]}


def _part(part: Any, path: str, losses: list[Loss]) -> Any:
    """The part; ``None`` if it held a foreign proof and nothing else."""
    if not isinstance(part, dict):
        return part
    out = dict(part)
    name = spelled(out, "thoughtSignature")
    if (proof := parse_proof(out.get(name))) is not None:
        if proof.home == NAME:
            out[name] = proof.data
        else:
            del out[name]
            losses.append(Loss(f"{path}.{name}", f"a proof of reasoning of another API ({proof.home})"))
            if not any(value for key, value in out.items() if key != "thought"):
                return None
    for name in (spelled(out, "functionCall"), spelled(out, "functionResponse")):
        call = out.get(name)
        if isinstance(call, dict) and isinstance(call.get("id"), str) and original(call["id"]) != call["id"]:
            out[name] = {**call, "id": original(call["id"])}
    return out


def _role(content: Any) -> str:
    return as_text(as_object(content).get("role")).lower() or "user"


def _parts(content: Any) -> list[JSON]:
    return [part for part in as_list(as_object(content).get("parts")) if isinstance(part, dict)]


def _signed(contents: list[Any]) -> list[Any]:
    """The contents in which the first call of each step is signed, by the stand-in if need be.

    Only those of the current turn have to be; the others were when their turn was the current one, and
    prompt caches want the same bytes again.
    """
    out: list[Any] = []
    waiting = False  # for the first call of a step
    for content in contents:
        if _role(content) != "model":
            waiting = True
        elif waiting and any(map(_is_call, _parts(content))):
            waiting = False
            content = {**content, "parts": _first_signed(content["parts"])}
        out.append(content)
    return out


def _first_signed(parts: list[Any]) -> list[Any]:
    place = next(number for number, part in enumerate(parts) if isinstance(part, dict) and _is_call(part))
    part = parts[place]
    if part.get(spelled(part, "thoughtSignature")):
        return parts
    return [*parts[:place], {**part, "thoughtSignature": BYPASS}, *parts[place + 1 :]]


def _is_call(part: JSON) -> bool:
    return bool(part.get(spelled(part, "functionCall")))


# ---- tools and settings


def _tool(tool: Any, path: str, losses: list[Loss]) -> Any:
    key = spelled(as_object(tool), "functionDeclarations")
    declared = as_object(tool).get(key)
    if not isinstance(declared, list):
        return tool
    return {**tool, key: [_function(item, f"{path}.{key}[{number}]", losses) for number, item in enumerate(declared)]}


def _function(declared: Any, path: str, losses: list[Loss]) -> Any:
    """The declaration with its JSON Schema as Google's own kind of schema."""
    key = spelled(as_object(declared), "parametersJsonSchema")
    if not isinstance(schema := as_object(declared).get(key), dict):
        return declared
    out = {name: value for name, value in declared.items() if name != key}
    subset = parameters_subset(read_json_schema(schema), f"{path}.{key}", losses)
    return {**out, "parameters": subset} if subset else out


def _generation(body: JSON, request: Request, facts: Facts, losses: list[Loss]) -> None:
    """Fits the members of ``generationConfig`` to the upstream."""
    key = spelled(body, "generationConfig")
    config = dict(as_object(body.get(key)))

    def lose(name: str, reason: str) -> None:
        losses.append(Loss(f"{key}.{name}", reason))

    limit = request.max_output_tokens
    if limit is not None and facts.max_output_tokens is not None and limit > facts.max_output_tokens:
        config[spelled(config, "maxOutputTokens")] = facts.max_output_tokens
    _fit_sampling(config, facts, lose)
    _fit_thinking(config, request, facts)
    if (text := _fit_output(config, facts, losses, key)) is not None:
        _instruct(body, text)
    if config != as_object(body.get(key)):
        body[key] = config


Lose = Callable[[str, str], None]


def _fit_sampling(config: JSON, facts: Facts, lose: Lose) -> None:
    name = spelled(config, "topP")
    if facts.exclusive_sampling and None not in (config.get("temperature"), config.get(name)):
        del config[name]
        lose(name, "refused beside temperature")


def _fit_thinking(config: JSON, request: Request, facts: Facts) -> None:
    """A level becomes a budget where only budgets are known; models with levels still take budgets."""
    key = spelled(config, "thinkingConfig")
    thinking = dict(as_object(config.get(key)))
    level, budget = spelled(thinking, "thinkingLevel"), spelled(thinking, "thinkingBudget")
    effort = LEVELS.get(as_text(thinking.get(level)).upper())
    if facts.gemini_thinking == "budget" and effort is not None:
        del thinking[level]
        thinking.setdefault(budget, capped(budget_of(effort), facts))
    given = request.reasoning.budget if request.reasoning is not None else None
    if facts.max_thinking_budget is not None and given is not None and given > facts.max_thinking_budget:
        thinking[budget] = facts.max_thinking_budget
    if thinking:
        config[key] = thinking


def _fit_output(config: JSON, facts: Facts, losses: list[Loss], path: str) -> str | None:
    """Fits a schema of the answer; the instruction that stands for it where none can be demanded."""
    plain, own = spelled(config, "responseJsonSchema"), spelled(config, "responseSchema")
    schema = config.get(plain) or config.get(own)
    if not isinstance(schema, dict):
        return None
    if not facts.structured_output:
        losses.append(Loss(f"{path}.{plain if plain in config else own}", "an instruction only: nothing enforces it"))
        for name in (plain, own, spelled(config, "responseMimeType")):
            config.pop(name, None)
        return instruction(schema)
    if facts.gemini_schema == "openapi-subset" and isinstance(config.get(plain), dict):
        schema = read_json_schema(config.pop(plain))
        config[own] = value_subset(schema, f"{path}.{plain}", losses)
    return None


def _instruct(body: JSON, text: str) -> None:
    """Adds a text to the system instruction."""
    key = spelled(body, "systemInstruction")
    given = body.get(key)
    if isinstance(given, str):
        given = {"parts": [{"text": given}]}
    parts = as_object(given).get("parts")
    parts = [parts] if isinstance(parts, dict) else as_list(parts)
    body[key] = {**as_object(given), "parts": [*parts, {"text": text}]}
