"""Names for what has none, from a seed: the same seed and the same answer give the same ids."""

from __future__ import annotations

from hashlib import blake2b


class Ids:
    """Makes ids, each unique for its seed: ``ids("call_")`` → ``call_`` and 24 hex digits.

    The seed should differ from exchange to exchange, or two turns of one history would
    share call ids.
    """

    __slots__ = ("_count", "_seed")

    def __init__(self, seed: str | bytes) -> None:
        self._seed = seed.encode("utf-8", "replace") if isinstance(seed, str) else seed
        self._count = 0

    def __call__(self, prefix: str) -> str:
        self._count += 1
        digest = blake2b(self._seed + b":%d" % self._count, digest_size=12)
        return prefix + digest.hexdigest()
