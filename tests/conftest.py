"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

from tests.canary import no_key_goes_out, pytest_configure, pytest_runtest_makereport

__all__ = ["no_key_goes_out", "pytest_configure", "pytest_runtest_makereport"]

# The same examples in every run and on every machine; a slow machine is no failure.
settings.register_profile("dragoman", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("dragoman")
