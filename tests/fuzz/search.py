"""The search without guidance: inputs made from the seeds and from those that were kept."""

from __future__ import annotations

import hashlib
import random
import time
from pathlib import Path

import msgspec

from tests.fuzz.mutation import mutated
from tests.fuzz.targets import CORPUS, Target


class Outcome(msgspec.Struct):
    """How often the target ran; the input that broke its promise, if one did, and how."""

    executions: int
    broken: bytes | None = None
    reason: str = ""


def keep(target: Target, data: bytes) -> Path:
    """Writes an input to the corpus, under a name that the same input has again."""
    path = CORPUS / target.name / hashlib.blake2b(data, digest_size=8).hexdigest()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def reason_of(error: BaseException) -> str:
    """The failure in one line."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"


def search(target: Target, *, seed: int, executions: int, seconds: float = 1e9) -> Outcome:
    """Without guidance. The same seed and number give the same inputs."""
    inputs, chance = target.inputs(), random.Random(seed)
    until = time.monotonic() + seconds
    for count in range(executions):
        if count % 64 == 0 and time.monotonic() > until:
            return Outcome(count)
        data = inputs[count] if count < len(inputs) else mutated(chance.choice(inputs), chance, inputs, target.options)
        try:
            target.hold(data)
        except Exception as error:
            return Outcome(count + 1, data, reason_of(error))
    return Outcome(executions)
