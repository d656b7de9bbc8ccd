"""Text as it comes in deltas: halves of characters, snapshots, and thoughts between tags."""

from __future__ import annotations

_REPLACEMENT = "\ufffd"
_OPEN, _CLOSE = "<think>", "</think>"


class SurrogateJoiner:
    """Joins a surrogate pair that was cut over two deltas; a lone half becomes U+FFFD.

    Deltas whose first and last characters are no halves are taken to hold none (``jsontext.parse`` sees to it).
    """

    __slots__ = ("_high",)

    def __init__(self) -> None:
        self._high = ""

    def feed(self, text: str) -> str:
        """The text that is whole by now."""
        if not text or not (self._high or "\ud800" <= text[0] <= "\udfff" or "\ud800" <= text[-1] <= "\udfff"):
            return text
        text, self._high = self._high + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._high = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def finish(self) -> str:
        """What is left at the end: U+FFFD for a half that never got its partner."""
        high, self._high = self._high, ""
        return _REPLACEMENT if high else ""


class ThinkSplitter:
    """Lifts a leading ``<think>`` block out of the text; later tags are text.

    Only what can still be a tag is held. An unclosed block stays reasoning. Blanks between the
    block and the answer belong to neither (design/streams.md, 8).
    """

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state = "start"
        self._held = ""

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """Pairs of (is it reasoning, text), without empty texts."""
        if self._state == "text":
            return [(False, text)] if text else []
        self._held += text
        found: list[tuple[bool, str]] = []
        if self._state == "start":
            self._start(found)
        if self._state == "think":
            self._think(found)
        if self._state == "after" and (rest := self._held.lstrip()):
            found.append((False, rest))
            self._state, self._held = "text", ""
        return found

    def finish(self) -> list[tuple[bool, str]]:
        """What was still held."""
        held, self._held = self._held, ""
        return [(self._state == "think", held)] if held and self._state != "after" else []

    def _start(self, found: list[tuple[bool, str]]) -> None:
        visible = self._held.lstrip()
        if visible.startswith(_OPEN):
            self._state, self._held = "think", visible[len(_OPEN) :]
        elif not _OPEN.startswith(visible):
            found.append((False, self._held))
            self._state, self._held = "text", ""

    def _think(self, found: list[tuple[bool, str]]) -> None:
        inside, closed, rest = self._held.partition(_CLOSE)
        if closed:
            self._state, self._held = "after", rest
        else:
            keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if inside.endswith(_CLOSE[:n])), 0)
            inside, self._held = inside[: len(inside) - keep], inside[len(inside) - keep :]
        if inside:
            found.append((True, inside))


class SnapshotText:
    """Text deltas that repeat the whole text so far are cut down to what is new.

    Text has no validity test, so only two whole-buffer extensions in a row, of a buffer of some
    length, are proof; one of them is held until the next delta decides. Any other delta is proof to
    the contrary, for good.
    """

    __slots__ = ("_held", "_parts", "_size", "_snapshots")

    LEAST = 8
    """Characters that a text must have before an extension of it means anything."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._held = ""
        self._snapshots: bool | None = None

    def feed(self, text: str) -> str:
        """The new text, "" while it is held."""
        if self._snapshots is False or not text:
            return text
        whole = "".join(self._parts)
        if self._snapshots:
            return self._suffix(whole, text)
        if self._held:
            held, self._held = self._held, ""
            if len(text) > len(held) and text.startswith(held):
                self._snapshots = True
                return self._suffix(whole, text)
            self._snapshots = False
            return held + text
        if self._size >= self.LEAST:
            if len(text) > self._size and text.startswith(whole):
                self._held = text
                return ""
            self._snapshots = False
            self._parts = []
            return text
        self._parts.append(text)
        self._size += len(text)
        return text

    def finish(self) -> str:
        """What was still held: a single extension is text like any other."""
        held, self._held = self._held, ""
        return held

    @property
    def latched(self) -> bool:
        """Whether the deltas have turned out to be snapshots."""
        return self._snapshots is True

    def _suffix(self, whole: str, text: str) -> str:
        if text.startswith(whole):
            self._parts = [text]
            return text[len(whole) :]
        if whole.startswith(text):
            return ""
        self._parts.append(text)
        return text
