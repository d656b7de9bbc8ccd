"""The schema of the sections ``tools`` and ``tool_loop`` of the configuration (design/product.md, configuration).

As in the gateway's settings: a class with ``read`` is a leaf of its own, which takes the value as it
stands in the file and raises ``ValueError`` with words for the operator; everything else is checked
by its type. ``check`` finds what no type says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

import msgspec

from dragoman.patterns import matches

_SERVER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*\Z")
"""No ``__`` and no ``_`` at the end: so no two servers can have tools with the same offered name."""
_LONGEST_NAME = 40  # characters; leaves room for the tool's own name
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
_VARIABLE_NAME = re.compile(r"[^=\0]+\Z")
MOST = 10_000_000  # no number here is larger, and infinity is none

Positive = Annotated[float, msgspec.Meta(gt=0, le=MOST)]
Count = Annotated[int, msgspec.Meta(gt=0, le=MOST)]


def header_value(value: Any) -> str:
    """The value, if it can be a header's. Raises ``ValueError``."""
    if not isinstance(value, str) or not value.isprintable() or not value.isascii():
        raise ValueError("expected a text of printable ASCII characters")
    return value


def url_parts(value: Any, example: str) -> SplitResult:
    """The parts of the value, if it is a URL. Raises ``ValueError``, with the example."""
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError(f"expected a URL, such as {example}")
    if "$" in parts.netloc:
        raise ValueError("no host has a $ in its name (a variable in a longer text is ${NAME})")
    return parts


class Hidden:
    """A text that may be secret (a variable's value, a header's): it prints as ``***``."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def read(cls, value: Any) -> Hidden:
        if not isinstance(value, str):
            raise ValueError("expected a text (put it in quotes)")
        if "\0" in value:
            raise ValueError("expected a text without zero bytes")
        return cls(value)

    def reveal(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Hidden) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "***"


class HiddenHeader(Hidden):
    """The value of a header for an MCP server."""

    __slots__ = ()

    @classmethod
    def read(cls, value: Any) -> HiddenHeader:
        return cls(header_value(value))


class ServerUrl:
    """Where an MCP server listens. Its query may hold a key, so it is not printed."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def read(cls, value: Any) -> ServerUrl:
        parts = url_parts(value, "http://127.0.0.1:9000/mcp")
        if parts.username is not None or parts.fragment:
            raise ValueError("expected a URL without user and fragment; a key belongs in headers")
        return cls(value)

    def reveal(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServerUrl) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return self._text.partition("?")[0]


class McpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A server that is started (``command``, ``env``) or one that is there (``url``, ``headers``)."""

    command: list[str] | None = None
    env: dict[str, Hidden] = {}
    url: ServerUrl | None = None
    headers: dict[str, HiddenHeader] = {}


class FunctionPath(msgspec.Struct, frozen=True):
    """A function, or an object with several, in a Python module."""

    module: str
    attribute: str

    @classmethod
    def read(cls, value: Any) -> FunctionPath:
        module, colon, attribute = value.partition(":") if isinstance(value, str) else ("", "", "")
        names = [*module.split("."), *attribute.split(".")]
        if not colon or not all(name.isidentifier() for name in names):
            raise ValueError("expected MODULE:FUNCTION, such as my_tools.weather:forecast")
        return cls(module, attribute)

    def __str__(self) -> str:
        return f"{self.module}:{self.attribute}"


Verdict = Literal["allow", "deny"]


class Approval(msgspec.Struct, frozen=True):
    """Whether a tool may run: one verdict, or one for each name or pattern of the server's own names."""

    verdicts: dict[str, Verdict] = {}

    @classmethod
    def read(cls, value: Any) -> Approval:
        given = {"*": value} if isinstance(value, str) else value
        if not isinstance(given, dict):
            raise ValueError("expected allow, deny, or names of tools with allow or deny")
        wrong = [str(name) for name, verdict in given.items() if verdict not in ("allow", "deny")]
        if wrong:
            raise ValueError(f"expected allow or deny (for {', '.join(wrong)})")
        return cls({str(name): verdict for name, verdict in given.items()})

    def allows(self, tool: str) -> bool:
        """The exact name, then the longest pattern, then yes."""
        exact = self.verdicts.get(tool)
        if exact is not None:
            return exact == "allow"
        fitting = [pattern for pattern in self.verdicts if matches(pattern, tool)]
        return not fitting or self.verdicts[max(fitting, key=len)] == "allow"


class ToolsetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of ``tools``. ``models``: names and patterns, matched against the name that the client used.

    ``timeout``: seconds for a call, instead of ``tool_loop.per_tool``.
    """

    mcp: McpSettings | None = None
    python: FunctionPath | None = None
    models: list[str] = msgspec.field(default_factory=lambda: ["*"])
    approval: Approval = Approval()
    timeout: Positive | None = None


class LoopBounds(msgspec.Struct, frozen=True, kw_only=True):
    """``rounds``: answers asked of the upstream; ``per_tool``, ``total``: seconds; ``error_rounds``: in a row."""

    rounds: Count = 10
    per_tool: Positive = 30.0
    total: Positive = 120.0
    error_rounds: Count = 3


class ToolSections(msgspec.Struct, frozen=True, kw_only=True):
    """Both sections as they stand in the file."""

    tools: dict[str, ToolsetSettings] = {}
    tool_loop: LoopBounds = LoopBounds()


def check(raw: dict[Any, Any]) -> Iterator[str]:
    """The mistakes in a raw configuration that no type says, each with its place."""
    tools = raw.get("tools")
    for name, entry in tools.items() if isinstance(tools, dict) else ():
        place = f"tools.{name}"
        if not _SERVER_NAME.match(str(name)) or len(str(name)) > _LONGEST_NAME:
            yield (
                f"{place}: a name begins with a letter and has letters, digits, dashes and single underscores "
                f"between them, {_LONGEST_NAME} characters at most"
            )
        if isinstance(entry, dict):
            yield from _check_entry(entry, place)


def _check_entry(entry: dict[Any, Any], place: str) -> Iterator[str]:
    if ("mcp" in entry) == ("python" in entry):
        yield f"{place}: expected either mcp or python"
    models = entry.get("models")
    for index, model in enumerate(models if isinstance(models, list) else ()):
        if isinstance(model, str) and (model == "" or model.count("*") > 1):
            yield f"{place}.models[{index}]: expected a name, or a pattern with one *"
    approval = entry.get("approval")
    for tool in approval if isinstance(approval, dict) else ():
        if str(tool).count("*") > 1:
            yield f"{place}.approval.{tool}: a pattern has one *"
    mcp = entry.get("mcp")
    if isinstance(mcp, dict):
        yield from _check_mcp(mcp, f"{place}.mcp")


def _check_mcp(mcp: dict[Any, Any], place: str) -> Iterator[str]:
    if ("command" in mcp) == ("url" in mcp):
        yield f"{place}: expected either command or url"
    command = mcp.get("command")
    if isinstance(command, list) and not (command and isinstance(command[0], str) and command[0].strip()):
        yield f"{place}.command: expected a program and its arguments"
    for key, owner, name in (("env", "command", _VARIABLE_NAME), ("headers", "url", HEADER_NAME)):
        given = mcp.get(key)
        if given and owner not in mcp:
            yield f"{place}.{key}: goes with {owner}"
        for one in given if isinstance(given, dict) else ():
            if not name.match(str(one)):
                yield f"{place}.{key}.{one}: not the name of a {'variable' if key == 'env' else 'header'}"
