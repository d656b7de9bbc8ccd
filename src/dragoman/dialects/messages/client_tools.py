"""Tools that this vendor defines and the *client* runs, as functions for other upstreams.

The API knows their schema by the dated type; other models have to be told (design/requests.md, 7).
Written after the public documentation of the bash, text editor and memory tools.
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

CLIENT_TOOLS: dict[str, tuple[str, JSON]] = {
    "bash_20241022": _BASH,
    "bash_20250124": _BASH,
    "text_editor_20241022": _OLD_EDITOR,
    "text_editor_20250124": _OLD_EDITOR,
    "text_editor_20250429": _EDITOR,
    "text_editor_20250728": _EDITOR,
    "memory_20250818": _MEMORY,
}
"""Dated type → description and schema."""
