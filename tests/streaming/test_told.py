"""What a snapshot adds to the text that deltas told."""

from __future__ import annotations

import pytest

from dragoman.streaming.told import Told


@pytest.mark.parametrize(
    ("pieces", "whole", "rest"),
    [
        ([], "", ""),
        ([], "Hello", "Hello"),
        (["Hel"], "Hello", "lo"),
        (["H", "el", "lo"], "Hello", ""),
        (["Hel", "lo"], "Hel", ""),
        (["Hel", "lo"], "He", ""),
        (["Hel"], "Held up", "d up"),
        (["Hel"], "Goodbye", None),
        (["Hel", "p me"], "Hello", None),
        (["Hel", "p"], "Held", None),
        (["\ud83d"], "\U0001f600!", "\ude00!"),
        (["a\ud83d", "\ude00"], "a\U0001f600!", "!"),
        (["\ud83d"], "Hi", None),
    ],
)
def test_the_rest_of_a_text(pieces: list[str], whole: str, rest: str | None) -> None:
    told = Told()
    for piece in pieces:
        told.add(piece)
    assert told.rest(whole) == rest
