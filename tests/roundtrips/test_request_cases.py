"""The judges' requests before the strict upstreams of the test kit: what reaches an upstream is taken there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import dialects
from dragoman.dialects.contract import Facts
from dragoman.exceptions import InvalidRequest
from dragoman.testing import validate
from dragoman.translate import Exchange
from tests.neighbour import PLACE
from tests.roundtrips.turns import VERSION

FOLDER = PLACE / "cases" / "requests"
CASES = sorted(FOLDER.glob("*/case.json"))

pytestmark = pytest.mark.skipif(not CASES, reason=f"there are no cases in {FOLDER}: set DRAGOMAN_SHARED")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_strict_upstream_takes_it(path: Path) -> None:
    case: dict[str, Any] = json.loads(path.read_text("utf-8"))
    body = json.loads(path.with_name("request.json").read_text("utf-8"))
    client, upstream = case["from"], case["to"]
    facts = msgspec.convert(case.get("options", {}), Facts)
    exchange = Exchange(dialects.get(client), dialects.get(upstream), seed="case", now=0, facts=facts)
    in_path: dict[str, Any] = {"path_model": "m", "path_stream": False} if client == "gemini" else {}
    try:
        made = exchange.request(body, "m", **in_path)
    except InvalidRequest:
        assert any("error" in wish for wish in case["expect"])
        return
    known = validate(client, body) if client == upstream else []  # the client's own affair
    found = validate(upstream, made.body, headers={**VERSION, **made.headers})
    assert [fault for fault in found if fault not in known] == []
