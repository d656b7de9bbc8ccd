"""Tools that this vendor defines and the *client* runs, as functions for other upstreams.

The API knows their schema by the dated type; other models have to be told (design/requests.md, 7).
Written after the public documentation of the bash, text editor, memory and computer tools.
"""

from __future__ import annotations

from typing import Any

JSON = dict[str, Any]


def _text(description: str) -> JSON:
    return {"type": "string", "description": description}


def _object(properties: JSON, *required: str) -> JSON:
    return {"type": "object", "properties": properties, "required": list(required)}


def _commands(*names: str) -> JSON:
    return {"type": "string", "enum": list(names), "description": "What to do."}


_LINES: JSON = {
    "type": "array",
    "items": {"type": "integer"},
    "description": "For view: the first and the last line to show; -1 is the end of the file.",
}

_EDIT: JSON = {
    "path": _text("The file or folder."),
    "file_text": _text("For create: the content of the new file."),
    "old_str": _text("For str_replace: the text to replace; it must occur exactly once."),
    "new_str": _text("For str_replace: the text to put in its place."),
    "insert_line": {"type": "integer", "description": "For insert: the line after which to insert; 0 is the start."},
    "insert_text": _text("For insert: the text to insert."),
    "view_range": _LINES,
}

_BASH = (
    "Runs a command in a bash session that persists between calls.",
    _object(
        {
            "command": _text("The command to run."),
            "restart": {"type": "boolean", "description": "True starts the session anew."},
        }
    ),
)

_EDITOR = (
    "Views, creates and edits text files.",
    _object({"command": _commands("view", "create", "str_replace", "insert"), **_EDIT}, "command", "path"),
)

_OLD_EDITOR = (
    "Views, creates and edits text files, and undoes the last edit of a file.",
    _object({"command": _commands("view", "create", "str_replace", "insert", "undo_edit"), **_EDIT}, "command", "path"),
)

_MEMORY = (
    "Keeps notes in files under /memories, which last between conversations.",
    _object(
        {
            "command": _commands("view", "create", "str_replace", "insert", "delete", "rename"),
            **_EDIT,
            "old_path": _text("For rename: the present path."),
            "new_path": _text("For rename: the new path."),
        },
        "command",
    ),
)

_POINT: JSON = {"type": "array", "items": {"type": "integer"}}

_CLICKS = ("left_click", "right_click", "middle_click", "double_click")
_FIRST = ("screenshot", "cursor_position", "mouse_move", "left_click_drag", "key", "type", *_CLICKS)
_SECOND = (*_FIRST, "triple_click", "left_mouse_down", "left_mouse_up", "scroll", "hold_key", "wait")

_ACTIONS: dict[str, tuple[str, ...]] = {
    "computer_20241022": _FIRST,
    "computer_20250124": _SECOND,
    "computer_20251124": (*_SECOND, "zoom"),
}


def _computer(kind: str, declared: JSON) -> tuple[str, JSON]:
    actions = [word for word in _ACTIONS[kind] if word != "zoom" or declared.get("enable_zoom")]
    width, height = declared.get("display_width_px"), declared.get("display_height_px")
    members: JSON = {
        "action": _commands(*actions),
        "coordinate": {**_POINT, "description": "x and y in pixels, from the left and from the top."},
        "start_coordinate": {**_POINT, "description": "For left_click_drag: where it begins."},
        "text": _text("For type: the text; for key and hold_key: the keys, such as ctrl+s."),
    }
    if "scroll" in actions:
        members |= {
            "scroll_direction": {"type": "string", "enum": ["up", "down", "left", "right"]},
            "scroll_amount": {"type": "integer", "description": "For scroll: clicks of the wheel."},
            "duration": {"type": "number", "description": "For hold_key and wait: seconds."},
        }
    if "zoom" in actions:
        members["region"] = {**_POINT, "description": "For zoom: left, top, right and bottom, in pixels."}
    about = f"Controls a computer by mouse, keyboard and screenshots. Its screen has {width} x {height} pixels."
    return about, _object(members, "action")


def client_tool(kind: str, declared: JSON) -> tuple[str, JSON] | None:
    """Description and schema of a tool with this dated type; ``None`` if it is none that the client runs."""
    return _computer(kind, declared) if kind in _ACTIONS else _TOOLS.get(kind)


_TOOLS: dict[str, tuple[str, JSON]] = {
    "bash_20241022": _BASH,
    "bash_20250124": _BASH,
    "text_editor_20241022": _OLD_EDITOR,
    "text_editor_20250124": _OLD_EDITOR,
    "text_editor_20250429": _EDITOR,
    "text_editor_20250728": _EDITOR,
    "memory_20250818": _MEMORY,
}
"""Dated type → description and schema."""
