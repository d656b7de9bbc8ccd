"""All targets by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import msgspec

from tests.asking import CLIENTS
from tests.fuzz import answers, calls, configuration, framing, httpanswer, opaque, requests

CORPUS = Path(__file__).parent / "corpus"


class Target(msgspec.Struct, frozen=True):
    """``hold`` raises for an input that breaks the promise in the first line of its docstring.

    ``options``: bytes at the beginning that choose how.
    """

    name: str
    hold: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    options: int = 0

    @property
    def promise(self) -> str:
        function = self.hold.func if isinstance(self.hold, partial) else self.hold
        return (function.__doc__ or "").strip().splitlines()[0]

    @property
    def kept(self) -> list[Path]:
        """The inputs in the repository."""
        return sorted(path for path in (CORPUS / self.name).glob("*") if path.is_file())

    def inputs(self) -> list[bytes]:
        """All that a search begins with."""
        return [*self.seeds(), *(path.read_bytes() for path in self.kept)]


def _targets() -> Iterable[Target]:
    for name in CLIENTS:
        yield Target(f"answer-{name}", partial(answers.answer, name), partial(answers.seeds, name), answers.OPTIONS)
    for name in CLIENTS:
        yield Target(
            f"request-{name}", partial(requests.request, name), partial(requests.seeds, name), requests.OPTIONS
        )
    yield Target("framing", framing.framing, framing.seeds, framing.OPTIONS)
    yield Target("assembler", calls.assembler, calls.assembler_seeds, 1)
    yield Target("arguments", calls.arguments, calls.argument_seeds, 1)
    yield Target("json-prefix", calls.json_prefix, calls.prefix_seeds, 1)
    yield Target("configuration", configuration.configuration, configuration.seeds)
    yield Target("http-answer", httpanswer.http_answer, httpanswer.seeds, httpanswer.OPTIONS)
    yield Target("opaque", opaque.carried, opaque.seeds)


TARGETS = {target.name: target for target in _targets()}
