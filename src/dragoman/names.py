"""Tool names that another dialect takes: aliases, the same everywhere in a request, undone in the answer.

A legal name stays. Any other, and a name inside a namespace where there are none, gets a
deterministic alias that no other tool of the request has (design/requests.md, 3).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator

import msgspec

from dragoman.canonical.events import ToolKind

BUILTIN = "builtin:"
"""The namespace of the tools that a client's vendor defines and the client runs, in items of their own.

No namespace of a client's can have this name. Models know these tools by their bare names.
"""


class ToolIdentity(msgspec.Struct, frozen=True):
    """What a client calls a tool that an upstream knows by another name or in another form."""

    name: str
    kind: ToolKind = "function"
    namespace: str | None = None


_PREFIX, _SUFFIX = re.compile(r"^(?:functions\.|default_api[.:])"), re.compile(r"(?s)(?:<\|.*|:\d+)$")
"""The namespaces that models were trained to call tools in (OpenAI's, Gemini's); their tokens, a call's number (Kimi)."""
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST = 8  # hex digits that tell aliases apart


class ToolNames:
    """The aliases of one request.

    ``pattern`` is what a name must match as a whole, ``longest`` its limit in characters.
    """

    def __init__(self, pattern: re.Pattern[str], longest: int, tools: Iterable[ToolIdentity]) -> None:
        self._pattern = pattern
        self._longest = longest
        self._names: dict[tuple[str, str | None], str] = {}
        self.identities: dict[str, ToolIdentity] = {}
        """The client's tools by the names that the upstream has for them."""
        known = list(tools)
        for tool in known:
            if tool.namespace is None and self._legal(tool.name):
                self._take(tool, tool.name)
        for tool in known:
            self.alias(tool)

    def alias(self, tool: ToolIdentity) -> str:
        """The upstream's name of a tool; names that only the history has get theirs as they come."""
        known = self._names.get((tool.name, tool.namespace))
        if known is None and tool.namespace is None:
            known = self._names.get((tool.name, BUILTIN))  # a call that its own item could not hold
        if known is not None:
            return known
        free = (name for name in self._spellings(tool) if self._legal(name) and name not in self.identities)
        return self._take(tool, next(free))

    def _spellings(self, tool: ToolIdentity) -> Iterator[str]:
        """Names for the tool, the best first."""
        if tool.namespace == BUILTIN:
            yield tool.name
        full = tool.name if tool.namespace is None else f"{tool.namespace}__{tool.name}"
        yield full
        plain = _ILLEGAL.sub("_", full)
        if not plain[:1].isalpha():
            plain = "t_" + plain
        yield plain
        seed = f"{tool.namespace}\0{tool.name}".encode("utf-8", "surrogatepass")
        while True:
            digest = hashlib.blake2b(seed, digest_size=_DIGEST // 2).hexdigest()
            yield f"{plain[: self._longest - _DIGEST - 1]}_{digest}"
            seed += b"\0"

    def _legal(self, name: str) -> bool:
        return len(name) <= self._longest and self._pattern.fullmatch(name) is not None

    def _take(self, tool: ToolIdentity, name: str) -> str:
        self._names[tool.name, tool.namespace] = name
        self.identities.setdefault(name, tool)
        return name


def bare_name(name: str, tools: Collection[str]) -> str:
    """The name without what servers leak into it, if only that is a declared tool's (design/streams.md, 3)."""
    name = name.strip()
    if name in tools:
        return name
    bare = _SUFFIX.sub("", name).strip()
    return next((one for one in (bare, _PREFIX.sub("", name), _PREFIX.sub("", bare)) if one in tools), name)
