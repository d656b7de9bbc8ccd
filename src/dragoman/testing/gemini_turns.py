"""What Generate Content refuses in ``contents``: roles, parts, calls and their results, signatures.

Sources: protocols/anthropic-google.md, 2.2 and 4; Google's documentation of thought signatures, and error
texts. Neighbours of one role are one turn: Google's own SDKs send an answer back in the pieces in which it
came, empty texts among them.
"""

from __future__ import annotations

import base64
import binascii
import re
from itertools import pairwise
from typing import Any

import msgspec

from dragoman.testing.faults import JSON, Faults, given

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w.+-]+)*")
_SNAKE = re.compile("_([a-z0-9])")
_VERBATIM = {
    *("args", "response", "parametersJsonSchema", "responseJsonSchema", "labels", "partMetadata"),
    "properties",
}
"""Members whose keys are not Google's own."""
_BYPASS = "skip_thought_signature_validator"
"""Google's documented stand-in for a signature that nobody has."""
_DATA = (
    *("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"),
    *("codeExecutionResult", "toolCall", "toolResponse"),
)
"""A part holds exactly one of these."""
_BESIDE = {"thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution"}
_ROLES = {"": "user", "user": "user", "function": "user", "model": "model"}

Parts = list[tuple[str, JSON]]
"""Parts with their paths."""


class Turn(msgspec.Struct):
    """Neighbours of one role; ``path`` is where they begin."""

    role: str
    path: str
    parts: Parts

    def of(self, kind: str) -> Parts:
        """The data of this kind."""
        return [(path, part[kind]) for path, part in self.parts if isinstance(part.get(kind), dict)]


def camel_case(value: Any) -> Any:
    """The value with Google's own keys in camelCase."""
    if isinstance(value, list):
        return [camel_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = {_SNAKE.sub(lambda found: found[1].upper(), name): item for name, item in value.items()}
    return {name: _inner(name, item) for name, item in named.items()}


def _inner(name: str, value: Any) -> Any:
    if name == "properties" and isinstance(value, dict):
        return {key: camel_case(item) for key, item in value.items()}
    return value if name in _VERBATIM else camel_case(value)


def validate(value: Any, faults: Faults) -> None:
    """Collects the faults of ``contents``."""
    turns: list[Turn] = []
    for path, content in faults.list(value, "contents", least=1):
        content = faults.object(content, path, {"role", "parts"})
        role = _ROLES.get(str(content.get("role") or ""))
        if role is None:
            faults.add(f"{path}.role", f"{content.get('role')!r} is neither user nor model")
            continue
        parts = [
            (place, faults.object(part, place, {*_DATA, *_BESIDE}))
            for place, part in faults.list(content.get("parts"), f"{path}.parts", least=1)
        ]
        for place, part in parts:
            _part(part, place, role, faults)
        if turns and turns[-1].role == role:
            turns[-1].parts += parts
        else:
            turns.append(Turn(role, path, parts))
    if turns and turns[0].role == "model":
        faults.add(turns[0].path, "the first turn must be the user's")
    for last, turn in pairwise([Turn("user", "contents", []), *turns]):
        _pairing(last, turn, faults)
    if turns and turns[-1].of("functionCall"):
        faults.add(turns[-1].path, "calls without their results")
    _signatures(turns, faults)


# ---- parts


def _part(part: JSON, path: str, role: str, faults: Faults) -> None:
    held = [name for name in _DATA if given(part, name)]
    if len(held) != 1:
        faults.add(path, f"a part holds exactly one datum, not {len(held)}")
        return
    match held[0]:
        case "text":
            faults.text(part["text"], f"{path}.text", blank=role == "model")
        case "inlineData":
            blob = faults.object(part["inlineData"], f"{path}.inlineData", {"mimeType", "data", "displayName"})
            faults.text(blob.get("mimeType"), f"{path}.inlineData.mimeType", pattern=_MEDIA_TYPE)
            _bytes(blob.get("data"), f"{path}.inlineData.data", faults)
        case "fileData":
            file = faults.object(part["fileData"], f"{path}.fileData", {"mimeType", "fileUri", "displayName"})
            faults.text(file.get("fileUri"), f"{path}.fileData.fileUri")
        case "functionCall":
            _call(part, path, role, faults)
        case "functionResponse":
            _response(part, path, role, faults)
    if given(part, "thought"):
        faults.flag(part["thought"], f"{path}.thought")
    if given(part, "thoughtSignature") and part["thoughtSignature"] != _BYPASS:
        standard = _bytes(part["thoughtSignature"], f"{path}.thoughtSignature", faults)
        faults.proof(part["thoughtSignature"], f"{path}.thoughtSignature", standard, standard.rstrip("="))


def _call(part: JSON, path: str, role: str, faults: Faults) -> None:
    path = f"{path}.functionCall"
    call = faults.object(part["functionCall"], path, {"id", "name", "args"})
    if role != "model":
        faults.add(path, "calls are the model's")
    faults.text(call.get("name"), f"{path}.name", pattern=NAME)
    if given(call, "args"):
        faults.object(call["args"], f"{path}.args")


def _response(part: JSON, path: str, role: str, faults: Faults) -> None:
    path = f"{path}.functionResponse"
    members = {"id", "name", "response", "parts", "willContinue", "scheduling"}
    response = faults.object(part["functionResponse"], path, members)
    if role != "user":
        faults.add(path, "results are the user's")
    faults.text(response.get("name"), f"{path}.name", pattern=NAME)
    faults.object(response.get("response"), f"{path}.response")
    for place, inner in faults.list(response.get("parts") or [], f"{path}.parts"):
        inner = faults.object(inner, place, {"inlineData", "fileData"})
        blob = faults.object(inner.get("inlineData") or inner.get("fileData"), place)
        faults.text(blob.get("mimeType"), f"{place}.mimeType")


def _bytes(value: Any, path: str, faults: Faults) -> str:
    """Base64, in either alphabet; gives it in the standard one, padded: google-genai writes the other."""
    plain = faults.text(value, path).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    padded = plain + "=" * (-len(plain) % 4)
    try:
        base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        faults.add(path, "is no base64")
    return padded


# ---- what belongs together


def _pairing(last: Turn, turn: Turn, faults: Faults) -> None:
    """The results of a turn's calls stand in the next one: as many, in the same order, with their names."""
    if turn.role == "model":
        return
    calls, results = last.of("functionCall"), turn.of("functionResponse")
    if len(calls) != len(results):
        faults.add(turn.path, f"{len(results)} results follow {len(calls)} calls")
        return
    for (_, call), (path, result) in zip(calls, results, strict=True):
        if call.get("name") != result.get("name"):
            faults.add(f"{path}.functionResponse.name", f"the call has the name {call.get('name')!r}")
        if given(result, "id") and given(call, "id") and call["id"] != result["id"]:
            faults.add(f"{path}.functionResponse.id", f"the call has the id {call['id']!r}")


def _signatures(turns: list[Turn], faults: Faults) -> None:
    """The first call of each step of the current turn is signed, or bears the stand-in."""
    current = -1  # the user's turn that says more than results
    for number, turn in enumerate(turns):
        if turn.role == "user" and len(turn.of("functionResponse")) < len(turn.parts):
            current = number
    for turn in turns[current + 1 :]:
        calls = [(path, part) for path, part in turn.parts if given(part, "functionCall")]
        if calls and not given(calls[0][1], "thoughtSignature"):
            faults.add(f"{calls[0][0]}.thoughtSignature", "the first call of a step in the current turn must be signed")
