"""Tools that this vendor defines and the *client* runs, as functions for other upstreams, and back.

Calls of such a tool, and their results, have items of their own. Another upstream knows it as a function with the
documented schema: the arguments are what the call's item holds, and a call of the function becomes that item again
(design/requests.md, 7). In the canonical request these tools are a namespace (``names.BUILTIN``).
Written after the public documentation of the local shell, shell and apply patch tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman import jsontext
from dragoman.canonical.request import Text, Tool, ToolCall, ToolResult
from dragoman.dialects.responses.wire import JSON, list_of, object_of, text_of
from dragoman.names import BUILTIN
from dragoman.streaming.arguments import argument_text


class Builtin(msgspec.Struct, frozen=True, kw_only=True):
    """One of these tools. ``schema`` is that of its arguments, which its calls hold as ``member``."""

    name: str
    about: str
    member: str
    schema: JSON
    defaults: JSON = {}
    """What a call's item has where the model says nothing."""
    grows: str
    """The member of the arguments that is still empty while the call's item is being made."""
    needs: Mapping[str, str] = {}
    """By the ``type`` of the arguments: a further member that has to be there."""


def _text(description: str, *words: str) -> JSON:
    return {"type": "string", **({"enum": list(words)} if words else {}), "description": description}


def _texts(description: str) -> JSON:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _count(description: str) -> JSON:
    return {"type": "integer", "description": description}


def _object(properties: JSON, *required: str) -> JSON:
    return {"type": "object", "properties": properties, "required": list(required)}


_LOCAL_SHELL = Builtin(
    name="local_shell",
    about="Runs a program on the user's machine and gives what it printed.",
    member="action",
    grows="command",
    defaults={"type": "exec", "env": {}},
    schema=_object(
        {
            "type": _text("What to do.", "exec"),
            "command": _texts("The program and its arguments, one by one; no shell reads them."),
            "env": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Environment variables to set; may be empty.",
            },
            "timeout_ms": _count("The most milliseconds that it may run."),
            "user": _text("The user to run it as."),
            "working_directory": _text("The folder to run it in."),
        },
        *("type", "command", "env"),
    ),
)

_SHELL = Builtin(
    name="shell",
    about="Runs shell commands on the user's machine and gives what they printed and how they ended.",
    member="action",
    grows="commands",
    defaults={"timeout_ms": None, "max_output_length": None},
    schema=_object(
        {
            "commands": _texts("The commands, each a line for the shell; they may run at the same time."),
            "timeout_ms": _count("The most milliseconds that the commands may run."),
            "max_output_length": _count("The most characters of output that are wanted."),
        },
        "commands",
    ),
)

_DIFF = (
    "For create_file: the whole content, each line after a +. For update_file: one or more hunks without line numbers; "
    "each begins with a line @@, which may go on with the class or function that follows, then come the lines: "
    "after a space those that stay, as context, after a - those that go, after a + those that are new."
)

_APPLY_PATCH = Builtin(
    name="apply_patch",
    about="Creates, updates or deletes one file of the user's by a V4A diff.",
    member="operation",
    grows="diff",
    needs={"create_file": "diff", "update_file": "diff"},
    schema=_object(
        {
            "type": _text("What to do.", "create_file", "update_file", "delete_file"),
            "path": _text("The file, as seen from the root of the workspace."),
            "diff": _text(_DIFF),
        },
        *("type", "path"),
    ),
)

_TOOLS = {tool.name: tool for tool in (_LOCAL_SHELL, _SHELL, _APPLY_PATCH)}
_CALLS = {f"{name}_call": tool for name, tool in _TOOLS.items()}
_RESULTS = {f"{name}_call_output": tool for name, tool in _TOOLS.items()}


def _is_hosted(raw: JSON) -> bool:
    """Whether the vendor's servers run it: in a container of theirs."""
    return (text_of(object_of(raw.get("environment")).get("type")) or "local") != "local"


# ---- declarations


def declared(raw: JSON) -> tuple[Tool, JSON] | None:
    """The tool that is declared, and its members that have no form elsewhere; ``None`` if no client runs it."""
    known = _TOOLS.get(raw["type"])
    if known is None or _is_hosted(raw):
        return None
    place = object_of(raw.get("environment"))
    further = {name: value for name, value in raw.items() if name not in ("type", "environment")}
    further |= {f"environment.{name}": value for name, value in place.items() if name not in ("type", "skills")}
    skills = [object_of(skill) for skill in list_of(place.get("skills"))]
    told = [f"- {skill.get('path')}: {skill.get('name')}, {skill.get('description')}" for skill in skills]
    about = "\n".join([known.about, "There are folders with instructions for some tasks:", *told])
    description = about if told else known.about
    return Tool(name=known.name, description=description, schema=known.schema, namespace=BUILTIN, native=raw), further


# ---- calls and results in the history


class CallReader:
    """Reads the items of one history. Those of calls that the vendor's servers ran are none of its business."""

    def __init__(self) -> None:
        self._hosted: set[str] = set()
        self._by_item: dict[str, str] = {}

    def read(self, item: JSON) -> ToolCall | ToolResult | None:
        """The call or the result; without an id if the item has none. ``None`` if it is neither."""
        kind, id = str(item.get("type")), text_of(item.get("call_id")) or text_of(item.get("id")) or ""
        if kind in _RESULTS:
            id = self._by_item.get(id, id)  # that of a local shell may have its call's id, or that of the call's item
            return None if id in self._hosted else _result(_RESULTS[kind].name, id, item)
        if kind not in _CALLS:
            return None
        if _is_hosted(item):
            self._hosted.add(id)
            return None
        if item_id := text_of(item.get("id")):
            self._by_item[item_id] = id
        said = item.get(_CALLS[kind].member)
        if isinstance(said, dict):
            said = {name: value for name, value in said.items() if value is not None}
        return ToolCall(id=id, name=_CALLS[kind].name, arguments=argument_text(said) or "", namespace=BUILTIN)


def _result(name: str, id: str, item: JSON) -> ToolResult:
    """What came of a call: text, or JSON where there is more to tell."""
    output = argument_text(item.get("output"))
    failed = name == _APPLY_PATCH.name and item.get("status") == "failed"
    if output is None and name == _APPLY_PATCH.name:
        output = text_of(item.get("status"))
    return ToolResult(id=id, parts=() if output is None else (Text(text=output),), error=failed)


# ---- items


def item_of(name: str, namespace: str | None, arguments: str) -> JSON | None:
    """The item of a whole call, but for its ids and status.

    ``None`` if it is no call of such a tool, or if the item cannot hold these arguments: nothing is made up.
    """
    known = _TOOLS.get(name) if namespace == BUILTIN else None
    if known is None or not jsontext.is_object(arguments):
        return None
    said = {member: value for member, value in jsontext.parse(arguments).items() if value is not None}
    held = {**known.defaults, **said}
    needed = known.needs.get(str(held.get("type")))
    if (needed is not None and needed not in said) or not _fits(held, known.schema):
        return None
    return {"type": f"{name}_call", known.member: held}


def _fits(value: Any, schema: JSON) -> bool:
    """Whether a value is one of this schema; further members are no harm, and null is none."""
    match schema["type"]:
        case "string":
            return isinstance(value, str) and ("enum" not in schema or value in list_of(schema["enum"]))
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list) and all(_fits(inner, schema["items"]) for inner in value)
    if not isinstance(value, dict) or any(name not in value for name in schema.get("required", ())):
        return False
    known, further = schema.get("properties", {}), schema.get("additionalProperties")
    rules = [(inner, known.get(name, further)) for name, inner in value.items() if inner is not None]
    return all(rule is None or _fits(inner, rule) for inner, rule in rules)


def opened(item: JSON) -> JSON:
    """A call's item as it is added: what the model writes at length is still empty."""
    known = _CALLS.get(str(item.get("type")))
    held = item.get(known.member) if known is not None else None
    if known is None or not isinstance(held, dict) or not isinstance(held.get(known.grows), str | list):
        return item
    return {**item, known.member: {**held, known.grows: held[known.grows][:0]}}


def call_again(call: ToolCall) -> JSON | None:
    """The item of a call in a history for this dialect's own upstream; ``None`` as for ``item_of``."""
    made = item_of(call.name, call.namespace, call.arguments)
    return None if made is None else {**made, "call_id": call.id, "status": "completed"}


def result_again(call: ToolCall, id: str, text: str, *, error: bool) -> JSON | None:
    """The item of what came of such a call."""
    if item_of(call.name, call.namespace, call.arguments) is None:
        return None
    named: JSON = {"type": f"{call.name}_call_output", "call_id": id}
    if call.name == _APPLY_PATCH.name:
        return {**named, "status": "failed" if error else "completed", "output": text}
    return {**named, "output": _printed(text, error=error) if call.name == _SHELL.name else text}


def _printed(text: str, *, error: bool) -> list[Any]:
    """The output of a shell: as it was read, else the text as what one command printed."""
    try:
        found = jsontext.parse(text)
    except ValueError:
        found = None
    if isinstance(found, list) and all(isinstance(entry, dict) and "outcome" in entry for entry in found):
        return found
    said = {"stdout": "", "stderr": text} if error else {"stdout": text, "stderr": ""}
    return [{**said, "outcome": {"type": "exit", "exit_code": int(error)}}]
