"""``dragoman serve`` as a process: where it listens, what it says, how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.canary import WATCH, canary

COMMAND = (sys.executable, "-c", "from dragoman.cli import main; main()")
SECRET = canary("in-the-file")
KEY = canary("of-a-client")


@contextlib.contextmanager
def serving(folder: Path, *arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """The process, its port, and what it said until it listened."""
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", *arguments],
        cwd=folder,
        env={**clean, **environment, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    try:
        said = ""
        for line in process.stdout:
            said += line
            WATCH.look("what the gateway said", line)
            if "curl" in line:
                break
        assert "http://" in said, process.stderr and process.stderr.read()
        yield process, int(said.split("127.0.0.1:")[1].split()[0]), said
    finally:
        process.kill()
        process.communicate()


def refused(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """The exit status of a start that must fail, and what it said."""
    done = subprocess.run(
        [*COMMAND, "serve", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stdout + done.stderr
    return done.returncode, done.stderr


def config(folder: Path, **more: object) -> str:
    upstream = {"dialect": "chat", "base_url": "http://127.0.0.1:9/v1", "api_key": SECRET}
    file = folder / "some.yaml"
    file.write_text(json.dumps({"upstreams": {"local": upstream}, "models": {"fast": ["local/m"]}, **more}))
    return str(file)


def test_a_state_that_cannot_be_kept(tmp_path: Path) -> None:
    file = config(tmp_path, state={"url": f"sqlite:///{tmp_path}/no/such/folder.db"})
    status, said = refused(tmp_path, "--config", file, "--port", "0")
    assert status == 2
    assert "state.url: the file cannot be used" in said


def test_the_demo(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as (process, port, said):
        assert "demo/chat" in said
        for route in ("POST   /v1/messages ", "GET    /v1beta/models ", "DELETE /v1/responses/{id} "):
            assert route in said
        connection = HTTPConnection("127.0.0.1", port)
        body = {"model": "demo/chat", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        answer = connection.getresponse()
        assert answer.read(6) == b"data: "
        answer.close()
        connection.close()  # the demo speaks at a human pace
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate()
        assert process.returncode == 0
        (line,) = log.splitlines()
        assert json.loads(line)["upstream"] == "demo/chat"


def test_a_configuration(tmp_path: Path) -> None:
    with serving(tmp_path, "--config", config(tmp_path, keys=[KEY])) as (process, port, said):
        assert '"model": "fast"' in said
        assert "authorization: Bearer" in said
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/v1/models")
        assert connection.getresponse().status == 401
        process.send_signal(signal.SIGINT)
        _, log = process.communicate()
        assert process.returncode == 0
        assert KEY not in said + log


def test_keys_in_the_environment(tmp_path: Path) -> None:
    with serving(tmp_path, ANTHROPIC_API_KEY=SECRET) as (_, _, said):
        assert "claude (messages)" in said
        assert SECRET not in said


def test_nothing_configured_is_the_demo(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, _, said):
        assert "Upstreams: demo" in said


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, said = refused(tmp_path, "--demo", "--port", str(port))
    assert status == 1
    assert f"cannot listen on 127.0.0.1:{port}" in said
    assert "--port N" in said
    assert len(said.splitlines()) == 1


def test_a_host_that_there_is_not(tmp_path: Path) -> None:
    status, said = refused(tmp_path, "--demo", "--host", "no such host")
    assert (status, "'no such host' cannot be resolved" in said) == (2, True)
    status, said = refused(tmp_path, "--config", config(tmp_path, keys=[KEY]), "--host", "no such host")
    assert (status, "'no such host' cannot be resolved" in said) == (1, True)


def test_mistakes(tmp_path: Path) -> None:
    status, said = refused(tmp_path, "--config", config(tmp_path, timeouts={"idle": -1}, modells={}, keys=["$NO_SUCH"]))
    assert status == 2
    for place in ("timeouts.idle:", "modells:", "keys[0]:"):
        assert place in said


@pytest.mark.parametrize("keys", [None, [""]])
def test_other_machines_need_keys(tmp_path: Path, keys: list[str] | None) -> None:
    more: dict[str, object] = {"listen": "0.0.0.0:0"} if keys is None else {"listen": "0.0.0.0:0", "keys": keys}
    status, said = refused(tmp_path, "--config", config(tmp_path, **more))
    assert (status, "key" in said) == (2, True)
    assert refused(tmp_path, "--demo", "--host", "::")[0] == 2


def test_wrong_usage(tmp_path: Path) -> None:
    assert refused(tmp_path, "--demo", "--config", "x")[0] == 2
    for port in ("70000", "abc", "-1"):
        status, said = refused(tmp_path, f"--port={port}")
        assert (status, f"expected a number from 0 to 65535, not {port!r}" in said) == (2, True)
    assert refused(tmp_path, "--config", str(tmp_path / "none"))[0] == 2


def test_help_loads_nothing_that_serves() -> None:
    code = "import sys; from dragoman import cli; print([name for name in ('httptools', 'uvicorn', 'yaml', 'msgspec') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
