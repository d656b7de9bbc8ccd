"""The recordings of ``streams.yaml``, played: steps in, chunks out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from string import Template
from typing import Any

import msgspec
import yaml

JSON = dict[str, Any]

_A_WORD = re.compile(r"\s*\S+\s*")


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a recording; ``streams.yaml`` says what each member means."""

    say: str | None = None
    think: str | None = None
    delta: JSON | None = None
    finish: str | None = None
    usage: dict[str, int] | None = None
    error: JSON | None = None
    end: str | None = None


class Recording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stream as it was recorded; ``about`` says in a few words what there is to see."""

    about: str
    steps: list[Step]

    @property
    def calls(self) -> int:
        """How many calls it makes that have a name."""
        told = str(self.steps)
        return sum(f"$tool{number}" in told for number in (1, 2))

    @property
    def cut(self) -> bool:
        """Whether it just breaks off."""
        last = self.steps[-1]
        return not (last.end or last.finish or last.error)

    def chunks(self, values: Mapping[str, str]) -> Iterator[JSON]:
        """What the chunks say: each a choice's ``delta`` and ``finish_reason``, with ``usage``; or an ``error``."""
        for step in self.steps:
            for name, text in (("content", step.say), ("reasoning_content", step.think)):
                for word in _A_WORD.findall(_filled(text, values) if text else ""):
                    yield {"delta": {name: word}, "finish_reason": None}
            if step.error is not None:
                yield {"error": step.error}
            elif step.delta is not None:
                usage = {"usage": step.usage} if step.usage else {}
                yield {"delta": _filled(step.delta, values), "finish_reason": step.finish, **usage}
            elif step.end is not None:
                yield {"delta": {}, "finish_reason": step.end}


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """The same with every ``$word`` in it replaced."""
    if isinstance(value, str):
        return Template(value).substitute(values)
    if isinstance(value, dict):
        return {name: _filled(item, values) for name, item in value.items()}
    return [_filled(item, values) for item in value] if isinstance(value, list) else value


def _read() -> dict[str, Recording]:
    text = files(__package__).joinpath("streams.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return msgspec.convert(yaml.load(text, loader), dict[str, Recording])


RECORDINGS = _read()
RESULTS = RECORDINGS.pop("results")
"""What follows the results of calls."""
MODELS: Mapping[str, str] = {name: recording.about for name, recording in RECORDINGS.items()}
"""The demo's models, and what each of them shows."""
