"""The gateway over scripted upstreams, as the tests of the gateway have it."""

from __future__ import annotations

from tests.gateway.conftest import lab

__all__ = ["lab"]
