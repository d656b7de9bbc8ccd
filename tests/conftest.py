"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# The same examples in every run and on every machine; a slow machine is no failure.
settings.register_profile("dragoman", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("dragoman")
