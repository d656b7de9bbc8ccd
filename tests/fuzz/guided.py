"""One target under atheris, in a process of its own: libFuzzer ends it.

python -m tests.fuzz.guided TARGET [libFuzzer's options and folders]
"""

from __future__ import annotations

import importlib
import random
import sys
from typing import Any

LONGEST = 16_384
"""Bytes of an input."""
SLOWEST = 20
"""Seconds that one input may take before it counts as a finding."""
OPTIONS = (f"-max_len={LONGEST}", f"-timeout={SLOWEST}", "-rss_limit_mb=2048", "-print_final_stats=1")


def main() -> None:
    """Watches the branches of dragoman's modules, which is why they are imported here."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["dragoman"], enable_loader_override=False):
        from tests.fuzz.mutation import mutated
        from tests.fuzz.search import keep, reason_of
        from tests.fuzz.targets import TARGETS
    target = TARGETS[sys.argv[1]]
    inputs = target.inputs()

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.25:
            return bytes(atheris.Mutate(data, longest))
        return mutated(data, chance, inputs, target.options)[:longest]

    def run(data: bytes) -> None:
        try:
            target.hold(data)
        except Exception as error:
            print(f"broken: {keep(target, data)} {reason_of(error)}", flush=True)
            raise

    atheris.Setup([sys.argv[0], *OPTIONS, *sys.argv[2:]], run, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
