"""Patterns of names."""

from __future__ import annotations

import pytest

from dragoman.patterns import matches


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("fast", "fast", ()),
        ("fast", "faster", None),
        ("a.c", "abc", None),
        ("*", "", ("",)),
        ("a*c", "abc", ("b",)),
        ("a*c", "ab", None),
        ("ab*ba", "aba", None),
        ("ab*ba", "abba", ("",)),
        ("a*", "a\nb", ("\nb",)),
        ("*b*", "abc", ("a", "c")),
    ],
)
def test_patterns(pattern: str, name: str, found: tuple[str, ...] | None) -> None:
    match = matches(pattern, name)
    assert (match and match.groups()) == found
