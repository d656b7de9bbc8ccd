"""The independent judges, where their folder stands beside this checkout (or ``DRAGOMAN_SHARED`` names it)."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

PLACE = Path(os.environ.get("DRAGOMAN_SHARED") or Path(__file__).parents[2] / "shared")

needed = pytest.mark.skipif(
    not (PLACE / "conformance").is_dir(), reason=f"there is no conformance folder in {PLACE}: set DRAGOMAN_SHARED"
)
"""For tests that cannot do without the judges."""


def judge(module: str) -> Any:
    """One of their modules."""
    if str(PLACE) not in sys.path:
        sys.path.append(str(PLACE))
    return importlib.import_module(f"conformance.{module}")
