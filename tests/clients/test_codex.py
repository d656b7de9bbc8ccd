"""Codex that takes the gateway for OpenAI: it would rather have a WebSocket, and its history summed up by the server."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.compaction import INSTRUCTION
from dragoman.gateway.accesslog import AccessLog
from dragoman.gateway.app import Gateway
from dragoman.gateway.connect import connect
from dragoman.gateway.settings import BaseUrl, DialectName, Settings, UpstreamSettings
from tests.clients import install
from tests.gateway.sockets import HEAD, LAST, Connection, RawUpstream, chunked, listening

CODEX = install.HOME / "npm" / "codex" / "node_modules" / ".bin" / "codex"
CONFIGURATION = """
model = "gpt-5.5"
openai_base_url = "http://127.0.0.1:{port}/v1"
model_auto_compact_token_limit = 1000
check_for_update_on_startup = false
[analytics]
enabled = false
"""
PATIENCE = 180
"""Seconds after which it hangs."""
CALL = {
    "index": 0,
    "id": "call_1",
    "type": "function",
    "function": {"name": "exec_command", "arguments": '{"cmd":"true"}'},
}

pytestmark = pytest.mark.skipif(not install.everything(), reason="the clients are not installed: make .clients")


def stream(delta: dict[str, Any], finish: str, tokens: int) -> bytes:
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    chunks = [
        {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]},
        {"id": "c", "model": "m", "choices": [], "usage": usage},
    ]
    return b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"


async def run(home: Path, port: int) -> list[dict[str, Any]]:
    """The events that ``codex exec`` prints."""
    (home / "config.toml").write_text(CONFIGURATION.format(port=port))
    node = install.HOME / install.NODE / "node_modules" / ".bin"
    process = await asyncio.create_subprocess_exec(
        *(
            str(CODEX),
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "Go on.",
        ),
        cwd=home,
        env={
            **{"HOME": str(home), "CODEX_HOME": str(home), "CODEX_API_KEY": "none", "OPENAI_API_KEY": "none"},
            **{"PATH": f"{node}{os.pathsep}{os.environ['PATH']}", "NO_PROXY": "127.0.0.1"},
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),  # nothing but the gateway
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return [json.loads(line) for line in said.splitlines() if line.startswith(b"{")]


async def test_codex_asks_over_http_at_once_and_goes_on_from_a_summary(tmp_path: Path) -> None:
    async def play(connection: Connection) -> bool:
        body = upstream.bodies[-1].decode()
        if json.dumps(INSTRUCTION)[1:-1] in body:
            answer = stream({"content": "All but the last step is done."}, "stop", 10)
        elif "All but the last step is done." in body:
            answer = stream({"content": "The last step is done too."}, "stop", 10)
        else:
            answer = stream({"tool_calls": [CALL]}, "tool_calls", 5000)  # more than is to be held
        await connection.send(HEAD + chunked(answer) + LAST)
        return True

    lines: list[str] = []
    async with RawUpstream(play) as upstream:
        base = BaseUrl(f"http://127.0.0.1:{upstream.port}/v1")
        settings = Settings(upstreams={"up": UpstreamSettings(dialect=DialectName("chat"), base_url=base)})
        async with listening(Gateway(settings, connect(settings), AccessLog(lines.append)), 5) as (port, _):
            events = await run(tmp_path, port)
    told = [event["item"]["text"] for event in events if event.get("item", {}).get("type") == "agent_message"]
    assert (told, events[-1]["type"]) == (["The last step is done too."], "turn.completed")
    assert [json.loads(line)["status"] for line in lines if "/v1/responses" in line] == [426, 200, 200, 200]
