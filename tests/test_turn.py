"""When may an upstream be asked again? Its headers say so in two ways (RFC 9110, 10.2.3)."""

from __future__ import annotations

import pytest

from dragoman.turn import retry_after

NOW = 1_792_567_600  # 2026-10-21 07:26:40 UTC


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 80.0),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 31 Feb 2026 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Okt 2026 07:28:00 GMT"}, None),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
