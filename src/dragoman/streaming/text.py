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

    @property
    def waits(self) -> bool:
        """Whether half a character is held."""
        return bool(self._high)

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
        found: list[tuple[bool, str]] = []
        self._held += text
        if self._state == "start" and not text.isspace():
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

    Text has no validity test. Proof is that every delta, from the first on, extends the one before it:
    two of them at least, the last a text of some length. Until then they are held; any other delta is
    proof to the contrary, for good.
    """

    __slots__ = ("_held", "_snapshots", "_whole")

    LEAST = 8
    """Characters that a text must have before an extension of it means anything."""

    def __init__(self) -> None:
        self._whole = ""  # as far as it went out
        self._held: list[str] = []
        self._snapshots: bool | None = None

    def feed(self, text: str) -> str:
        """The new text, "" while it is held."""
        if self._snapshots is False or not text:
            return text
        if self._snapshots:
            return self._suffix(text)
        if not self._whole:
            self._whole = text
            return text
        last = self._held[-1] if self._held else self._whole
        if len(text) == len(last) or not text.startswith(last):
            held, self._snapshots = self.finish(), False
            return held + text
        self._held.append(text)
        if len(self._held) < 2 or len(last) < self.LEAST:
            return ""
        self._snapshots, self._held = True, []
        return self._suffix(text)

    def finish(self) -> str:
        """What was still held: extensions without proof are text like any other, and so is what follows them."""
        held, self._held = self._held, []
        if held:
            self._snapshots = False
        return "".join(held)

    @property
    def sees_none(self) -> bool:
        """Whether the deltas have turned out to be none."""
        return self._snapshots is False

    @property
    def latched(self) -> bool:
        """Whether the deltas have turned out to be snapshots."""
        return self._snapshots is True

    def _suffix(self, text: str) -> str:
        whole = self._whole
        if text.startswith(whole):
            self._whole = text
            return text[len(whole) :]
        if whole.startswith(text):
            return ""
        self._whole += text
        return text
