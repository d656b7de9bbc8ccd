"""What the Responses API refuses in ``input``: the shapes of items, their ids, calls and outputs, reasoning.

Sources: protocols/openai.md, 2; OpenAI's API reference and error texts.
"""

from __future__ import annotations

from typing import Any

from dragoman.testing.faults import JSON, Faults, given
from dragoman.testing.openai_words import NAME, URL

_PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fc",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctc",
    "reasoning": "rs",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "computer_call": "cu",
    "image_generation_call": "ig",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "mcp_approval_request": "mcpr",
    "compaction": "cmp",
}
"""What an item's id begins with."""
_MEMBERS: dict[str, set[str]] = {
    "message": {"role", "content", "phase"},
    "function_call": {"call_id", "name", "arguments", "namespace", "async", "caller"},
    "function_call_output": {"call_id", "output", "name", "namespace", "caller"},
    "custom_tool_call": {"call_id", "name", "input", "namespace", "caller"},
    "custom_tool_call_output": {"call_id", "output", "name", "namespace", "caller"},
    "reasoning": {"summary", "content", "encrypted_content"},
}
_LONGEST_CALL_ID = 64
_CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
_STATUSES = ("in_progress", "completed", "incomplete")
_SAID = ("input_text", "input_image", "input_file", "input_audio")
_ROLES: dict[str, tuple[str, ...]] = {
    "user": _SAID,
    "system": _SAID,
    "developer": _SAID,
    "assistant": ("output_text", "refusal"),
}
_PARTS: dict[str, set[str]] = {
    "input_text": {"text"},
    "output_text": {"text", "annotations", "logprobs"},
    "refusal": {"refusal"},
    "input_image": {"image_url", "file_id", "detail"},
    "input_file": {"file_id", "file_data", "file_url", "filename", "detail"},
    "input_audio": {"input_audio"},
}

Item = tuple[str, str, JSON]


def validate(body: JSON, faults: Faults) -> None:
    """Collects the faults of ``input``."""
    value = body.get("input")
    goes_on = given(body, "previous_response_id") or given(body, "conversation")
    if isinstance(value, str) or (value is None and (goes_on or given(body, "prompt"))):
        return
    found: list[Item] = []
    for path, item in faults.list(value, "input"):
        item = faults.object(item, path)
        kind = item.get("type") or ("message" if "role" in item else None)
        if not isinstance(kind, str):
            faults.add(f"{path}.type", "an item must have a type")
            continue
        found.append((path, kind, item))
        _item(kind, item, path, faults, stored=body.get("store") is not False)
    _pairing(found, faults, alone=not goes_on)
    _followed(found, faults)


# ---- items


def _item(kind: str, item: JSON, path: str, faults: Faults, *, stored: bool) -> None:
    if kind in _MEMBERS:
        faults.object(item, path, {"type", "id", "status", "prompt_cache_breakpoint", *_MEMBERS[kind]})
    if given(item, "id") and kind in _PREFIXES:
        id = faults.text(item["id"], f"{path}.id")
        if id and not id.startswith(_PREFIXES[kind]):
            faults.add(f"{path}.id", f"{id!r} does not begin with {_PREFIXES[kind]}")
    if given(item, "status"):
        faults.word(item["status"], f"{path}.status", _STATUSES)
    match kind:
        case "message":
            _message(item, path, faults)
        case "function_call" | "custom_tool_call":
            _call(kind, item, path, faults)
        case "function_call_output" | "custom_tool_call_output":
            _output(item, path, faults)
        case "reasoning":
            _reasoning(item, path, faults, stored=stored)
        case "item_reference":
            faults.text(item.get("id"), f"{path}.id")
            if not stored:
                faults.add(path, "nothing is stored that could be referred to")


def _message(item: JSON, path: str, faults: Faults) -> None:
    role = faults.word(item.get("role"), f"{path}.role", _ROLES)
    if role and not isinstance(item.get("content"), str):
        _parts(item.get("content"), f"{path}.content", _ROLES[role], faults)


def _parts(value: Any, path: str, kinds: tuple[str, ...], faults: Faults) -> None:
    for place, part in faults.list(value, path, least=1):
        kind = faults.word(faults.object(part, place).get("type"), f"{place}.type", kinds)
        if not kind:
            continue
        faults.object(part, place, {"type", "prompt_cache_breakpoint", *_PARTS[kind]})
        match kind:
            case "input_text" | "output_text":
                faults.text(part.get("text"), f"{place}.text", blank=True)
            case "refusal":
                faults.text(part.get("refusal"), f"{place}.refusal")
            case "input_image":
                _image(part, place, faults)
            case "input_file":
                _file(part, place, faults)


def _image(part: JSON, path: str, faults: Faults) -> None:
    if given(part, "image_url") == given(part, "file_id"):
        faults.add(path, "needs either image_url or file_id")
    elif given(part, "image_url"):
        faults.text(part["image_url"], f"{path}.image_url", pattern=URL)
    if given(part, "detail"):
        faults.word(part["detail"], f"{path}.detail", ("auto", "low", "high", "original"))


def _file(part: JSON, path: str, faults: Faults) -> None:
    sources = [name for name in ("file_id", "file_data", "file_url") if given(part, name)]
    if len(sources) != 1:
        faults.add(path, "needs one of file_id, file_data and file_url")
    if given(part, "file_data"):
        faults.text(part["file_data"], f"{path}.file_data", pattern=URL)
        faults.text(part.get("filename"), f"{path}.filename")


def _call(kind: str, item: JSON, path: str, faults: Faults) -> None:
    faults.text(item.get("call_id"), f"{path}.call_id", longest=_LONGEST_CALL_ID)
    faults.text(item.get("name"), f"{path}.name", pattern=NAME)
    if kind == "function_call":
        faults.json_object(item.get("arguments"), f"{path}.arguments")
    else:
        faults.text(item.get("input"), f"{path}.input", blank=True)


def _output(item: JSON, path: str, faults: Faults) -> None:
    if given(item, "call_id") or not given(item, "name"):
        faults.text(item.get("call_id"), f"{path}.call_id", longest=_LONGEST_CALL_ID)
    if not isinstance(item.get("output"), str):
        _parts(item.get("output"), f"{path}.output", _SAID[:3], faults)


def _reasoning(item: JSON, path: str, faults: Faults, *, stored: bool) -> None:
    for place, part in faults.list(item.get("summary"), f"{path}.summary"):
        part = faults.object(part, place, {"type", "text"})
        faults.word(part.get("type"), f"{place}.type", ("summary_text",))
        faults.text(part.get("text"), f"{place}.text", blank=True)
    if item.get("content"):
        faults.add(f"{path}.content", "raw reasoning is not taken back")
    if given(item, "encrypted_content"):
        faults.proof(item["encrypted_content"], f"{path}.encrypted_content")
    elif not stored:
        faults.add(f"{path}.encrypted_content", "must be there where nothing is stored")


# ---- what belongs together


def _pairing(found: list[Item], faults: Faults, *, alone: bool) -> None:
    """Each call has one output, later on. ``alone``: the calls do not stand in an earlier answer."""
    waiting: dict[tuple[str, str], str] = {}
    known: set[str] = set()
    for path, kind, item in found:
        id = item.get("call_id")
        if not isinstance(id, str):
            continue
        if kind in _CALLS:
            if id in known:
                faults.add(f"{path}.call_id", f"there is another call {id!r}")
            known.add(id)
            waiting[_CALLS[kind], id] = path
        elif kind in _CALLS.values() and waiting.pop((kind, id), None) is None and alone:
            faults.add(f"{path}.call_id", f"no call {id!r} waits for an output")
    for (_, id), path in waiting.items():
        faults.add(path, f"the call {id!r} has no output")


def _followed(found: list[Item], faults: Faults) -> None:
    """Reasoning stands before what came of it."""
    for number, (path, kind, _) in enumerate(found):
        if kind != "reasoning":
            continue
        following = next((one for one in found[number + 1 :] if one[1] != "reasoning"), None)
        made = following is not None and (
            following[1].endswith("_call") or (following[1] == "message" and following[2].get("role") == "assistant")
        )
        if not made:
            faults.add(path, "reasoning must be followed by the item that came of it")
