"""The members of a request, read strictly: what is not as it must be is a fault, and names its path."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Mapping
from typing import Any

import msgspec

JSON = dict[str, Any]


class Faults:
    """Collects faults. Readers give a value of the right kind, or an empty one where there is none.

    ``null`` counts as absent: no API here tells the two apart in what it takes.
    """

    def __init__(self, headers: Mapping[str, str] | None = None, proofs: Container[str] | None = None) -> None:
        self.found: list[str] = []
        self.headers = headers
        self._proofs = proofs

    def add(self, path: str, message: str) -> None:
        """One fault."""
        self.found.append(f"{path or 'body'}: {message}")

    # ---- kinds

    def object(self, value: Any, path: str, known: Collection[str] | None = None) -> JSON:
        """An object; members outside of ``known`` are faults."""
        if not isinstance(value, dict):
            self.add(path, f"expected an object, not {_kind(value)}")
            return {}
        if known is not None:
            for name in value:
                if name not in known:
                    self.add(f"{path}.{name}" if path else name, "unknown member")
        found: JSON = value
        return found

    def list(self, value: Any, path: str, *, least: int = 0) -> Iterator[tuple[str, Any]]:
        """The entries of a list, each with its path."""
        if not isinstance(value, list):
            self.add(path, f"expected a list, not {_kind(value)}")
            return
        if len(value) < least:
            self.add(path, f"expected at least {least}")
        for number, entry in enumerate(value):
            yield f"{path}[{number}]", entry

    def text(
        self,
        value: Any,
        path: str,
        *,
        blank: bool = False,
        longest: int | None = None,
        pattern: re.Pattern[str] | None = None,
    ) -> str:
        """A text; an empty one is a fault unless it may be ``blank``."""
        if not isinstance(value, str):
            self.add(path, f"expected a text, not {_kind(value)}")
            return ""
        text: str = value
        if not text and not blank:
            self.add(path, "must not be empty")
        elif longest is not None and len(text) > longest:
            self.add(path, f"{len(text)} characters, at most {longest} are taken")
        elif text and pattern is not None and pattern.fullmatch(text) is None:
            self.add(path, f"{_short(text)} does not match {pattern.pattern}")
        return text

    def said(self, value: Any, path: str) -> str:
        """A text that says something: blanks alone are refused."""
        text = self.text(value, path)
        if text and not text.strip():
            self.add(path, "must not be blank")
        return text

    def word(self, value: Any, path: str, words: Collection[str]) -> str:
        """One of these words."""
        if not isinstance(value, str) or value not in words:
            self.add(path, f"{value!r} is none of {', '.join(sorted(words))}")
            return ""
        return value

    def known(self, value: Any, path: str, names: Collection[str], what: str) -> None:
        """The name of one of these."""
        if not isinstance(value, str) or value not in names:
            self.add(path, f"there is no {what} {value!r}")

    def flag(self, value: Any, path: str) -> bool:
        """True or false."""
        if not isinstance(value, bool):
            self.add(path, f"expected true or false, not {_kind(value)}")
        return value is True

    def number(
        self, value: Any, path: str, low: float | None = None, high: float | None = None, *, whole: bool = False
    ) -> float | None:
        """A number within these bounds."""
        fits = isinstance(value, int) if whole else isinstance(value, int | float)
        if not fits or isinstance(value, bool):
            self.add(path, f"expected a {'whole ' if whole else ''}number, not {_kind(value)}")
            return None
        if (low is not None and value < low) or (high is not None and value > high):
            bounds = (f"at least {low}" if low is not None else "", f"at most {high}" if high is not None else "")
            self.add(path, f"{value} is not {' and '.join(filter(None, bounds))}")
        return float(value)

    # ---- what several dialects check alike

    def json_object(self, value: Any, path: str) -> None:
        """The text of a JSON object, as arguments are."""
        text = self.text(value, path)
        try:
            parsed = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            self.add(path, "is no JSON")
        else:
            if not isinstance(parsed, dict):
                self.add(path, "is no JSON object")

    def proof(self, value: Any, path: str, *spellings: str) -> None:
        """A signature or a ciphertext that this upstream has given out, perhaps in another of these spellings."""
        text = self.text(value, path)
        if text and self._proofs is not None and not any(one in self._proofs for one in (text, *spellings)):
            self.add(path, "this upstream has not given out such a proof")

    def pairs(self, value: Any, path: str) -> None:
        """OpenAI's ``metadata``: 16 pairs of texts, 64 and 512 characters long."""
        held = self.object(value, path)
        if len(held) > 16:
            self.add(path, f"{len(held)} pairs, at most 16 are taken")
        for name, inner in held.items():
            self.text(name, f"{path}.{name}", longest=64)
            self.text(inner, f"{path}.{name}", blank=True, longest=512)


def given(holder: JSON, name: str) -> bool:
    """Whether a member is there and not ``null``."""
    return holder.get(name) is not None


def _short(text: str) -> str:
    return repr(text if len(text) < 60 else f"{text[:57]}...")


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a truth value"
    kinds = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number"}
    return kinds.get(type(value), type(value).__name__)
