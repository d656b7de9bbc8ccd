"""The catalogue of repaired oddities: one slug and one sentence each.

A slug ties together the place in the source that notes it, its row in ``docs/quirks.md``, its
fixture and its test; ``tests/test_quirks.py`` checks them against each other. Quirks of one dialect's
words are in that dialect's own table (``Dialect.quirks``).
"""

from __future__ import annotations

QUIRKS: dict[str, str] = {
    "args-after-end": "argument text came for a call that was over, and was no echo",
    "args-cumulative": "each argument fragment repeated all of the text before it",
    "args-double-encoded": "the arguments were JSON inside a JSON string",
    "args-echo": "whole arguments were sent a second time",
    "args-not-json": "argument text that cannot be JSON was passed on as it is",
    "args-placeholder": "an empty placeholder stood before the real arguments",
    "body-byte-order-mark": "the body began with a byte order mark",
    "body-json-array": "a JSON array came in place of an event stream",
    "body-json-lines": "lines of JSON came in place of an event stream",
    "call-echo": "a whole call was sent again, with the same id",
    "continuation-bare": "an argument fragment had no key; it went to the call opened last",
    "continuation-orphan": "an argument fragment came while no call was open, and was dropped",
    "error-after-finish": "an error came after the answer was finished, and did not undo it",
    "error-as-bare-json": "an error came as bare JSON, without a field's name before it",
    "error-as-field-name": "an error came as a field of its own name, without data",
    "id-duplicate": "two calls had the same id; the second got its own",
    "id-late": "a call's id came after its opening",
    "id-missing": "a call had no id, and got one",
    "id-rotated": "the id changed within one call; the first one stays",
    "index-drift": "an argument fragment had another index than its call",
    "index-reused": "a second call came at the index of an earlier one",
    "name-fragmented": "a tool's name came in pieces",
    "name-late": "a call's arguments began before its name was known",
    "name-never": "a call never got a name, and was dropped",
    "name-repaired": "something beside the name leaked into a tool's name",
    "snapshot-differs": "a snapshot told another text than its deltas; the deltas stay",
    "sse-comment-as-data": "a comment, or a word to keep the connection alive, was wrapped in a data field",
    "sse-double-data-prefix": "the data field's name was written twice",
    "sse-no-final-blank-line": "the last event had no blank line after it",
}
