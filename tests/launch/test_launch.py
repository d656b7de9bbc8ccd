"""The life of a launch: which gateway, what is said, signals, exit statuses, and that nothing stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.launch.stage import Stage, serving

MODEL = "local/demo/chat"
WAIT = {"DRAGOMAN_TEST": "wait"}


@pytest.mark.parametrize(("variable", "status"), [("exit 0", 0), ("exit 7", 7), ("kill 9", 137), ("kill 15", 143)])
def test_the_exit_status_is_the_agent_s(stage: Stage, variable: str, status: int) -> None:
    assert stage.launch("pi", "--model", MODEL, DRAGOMAN_TEST=variable).status == status


def test_an_upstream_where_nobody_listens(stage: Stage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    stage.config.write_text(f"upstreams: {{local: {{dialect: chat, base_url: {nobody}}}}}")
    done = stage.launch("claude", "--model", "local/qwen")
    assert f"dragoman: the upstream local cannot be reached at {nobody}: Connection refused\n" in done.said
    assert done.status == 0


def test_an_option_of_the_agent_s_among_those_of_launch(stage: Stage) -> None:
    done = stage.launch("claude", "-p", "hi")
    assert done.status == 2
    assert "No such option '-p'. Options of the agent go behind --." in done.said


def test_what_is_said_is_not_among_what_the_agent_prints(stage: Stage) -> None:
    done = stage.launch("claude", "--model", MODEL, ANTHROPIC_API_KEY="sk-own")
    url = done.printed[0]["base"]
    assert f"dragoman: gateway {url}, for this run ({stage.config.name})" in done.said.replace(f"{stage.work}/", "")
    assert f"ANTHROPIC_BASE_URL={url}\n" in done.said
    assert "without ANTHROPIC_API_KEY\n" in done.said
    assert "dragoman: names that fit claude-* lead to local/demo/chat\n" in done.said


# ---- what cannot be launched


def test_a_program_that_is_missing(stage: Stage) -> None:
    (stage.bin / "codex").unlink()
    done = stage.launch("codex", "--model", MODEL)
    assert (done.status, done.printed) == (127, [])
    assert done.said == (
        "dragoman: Codex is not installed: there is no program 'codex'\n  npm install -g @openai/codex\n"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["codex", "--model", "lokal/x"], "there is no model lokal/x"),
        (["codex", "--model", "lokal/x"], "did you mean local/x"),
        (["codex"], "nothing leads from gpt-* to a model"),
        (["pi"], "pi has to be told one"),
        (["pi"], "--model NAME with one of local/MODEL, other/MODEL"),
    ],
)
def test_no_such_model(stage: Stage, options: list[str], said: str) -> None:
    done = stage.launch(*options)
    assert (done.status, done.printed) == (1, [])
    assert said in done.said


def test_usage(stage: Stage) -> None:
    done = stage.launch("claude", "--dialect", "chat")
    assert done.status == 2
    assert "Claude Code can be told to speak messages, not chat" in done.said
    assert "'cursor' is none of claude, codex" in stage.launch("cursor").said
    stage.config.write_text("upstreams: {}\nkyes: []")
    done = stage.launch("claude")
    assert (done.status, done.printed) == (2, [])
    assert "kyes: unknown key; did you mean keys?" in done.said


def test_a_gateway_that_does_not_start(tmp_path: Path, upstream: str) -> None:
    stage = Stage(tmp_path, upstream, state={"url": "sqlite:////dev/null/state.db"})
    done = stage.launch("claude", "--model", MODEL)
    assert (done.status, done.printed) == (1, [])
    assert "the gateway could not be started" in done.said
    assert "state" in done.said


# ---- a gateway that runs already


NAMED: dict[str, Any] = {
    "models": {"named": ["local/demo/chat"], "claude-*": ["local/demo/usage"]},
    "keys": ["sk-there"],
}


@pytest.fixture
def there(tmp_path_factory: pytest.TempPathFactory, upstream: str) -> Iterator[str]:
    """A gateway that runs, with a key and some names."""
    stage = Stage(tmp_path_factory.mktemp("there"), upstream, **NAMED)
    with serving("--config", str(stage.config)) as address:
        yield address


def test_one_that_runs_is_used(tmp_path: Path, upstream: str, there: str) -> None:
    stage = Stage(tmp_path, upstream, listen=there, **NAMED)
    done = stage.launch("claude", "--model", "named")
    assert done.printed[0]["base"] == f"http://{there}"
    assert [one["status"] for one in done.printed[1]] == [200, 200, 200]
    assert f"gateway http://{there}, which runs already" in done.said
    assert not stage.log.exists()


def test_what_one_that_runs_does_not_know_is_said(tmp_path: Path, upstream: str, there: str) -> None:
    stage = Stage(tmp_path, upstream, listen=there, **NAMED)
    done = stage.launch("codex", "--model", "named")
    assert "Codex may also ask for gpt-*, codex-*, which this gateway does not know" in done.said
    assert [one["status"] for one in done.printed[1]] == [200, 404]


@pytest.mark.parametrize("differing", [{"keys": ["sk-another"]}, {"models": {"new": ["local/demo/chat"]}}])
def test_one_that_will_not_do_is_left_alone(
    tmp_path: Path, upstream: str, there: str, differing: dict[str, object]
) -> None:
    stage = Stage(tmp_path, upstream, listen=there, **{**NAMED, **differing})
    done = stage.launch("claude", "--model", "named" if "keys" in differing else "new")
    assert done.printed[0]["base"] != f"http://{there}"
    assert [one["status"] for one in done.printed[1]] == [200] * 3
    assert f"the gateway at http://{there} does not know" in done.said


def test_another_server_there_is_not_told_the_key(tmp_path: Path, upstream: str) -> None:
    heads: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heads.append(str(self.headers))
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        stage = Stage(tmp_path, upstream, listen=f"127.0.0.1:{other.server_port}", **NAMED)
        assert stage.launch("claude", "--model", "named").status == 0
        other.shutdown()
    assert len(heads) == 1
    assert "sk-there" not in heads[0]


# ---- by hand


def test_lines_for_a_shell(tmp_path: Path, upstream: str, there: str) -> None:
    """They start the agent, and hold no key."""
    stage = Stage(tmp_path, upstream, listen=there, **{**NAMED, "keys": ["$GATE"]})
    environment = stage.environment(GATE="sk-there")
    command = [*stage.command("claude", "--model", "named", "--print-env", "--", "two words")]
    lines = subprocess.run(
        command, cwd=stage.work, env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert "sk-there" not in lines
    assert 'export ANTHROPIC_AUTH_TOKEN="$GATE"\n' in lines
    done = subprocess.run(
        ["sh", "-c", lines], env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout.splitlines()
    assert json.loads(done[0])["arguments"][-1] == "two words"
    assert [one["status"] for one in json.loads(done[1])] == [200] * 3


def test_lines_say_how_to_start_the_gateway(stage: Stage) -> None:
    done = subprocess.run(
        [*stage.command("gemini", "--model", MODEL, "--print-env")],
        cwd=stage.work,
        env={**stage.environment(), "PATH": "/usr/bin:/bin"},  # the program may be elsewhere
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    first, *lines = done.stdout.splitlines()
    assert first == """# first: DRAGOMAN_MODELS='{"gemini-*": ["local/demo/chat"]}' dragoman serve"""
    assert lines == [
        "export GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1",
        "export GEMINI_API_KEY=none",
        f"export GEMINI_CLI_HOME={stage.home}/.local/state/dragoman/gemini",
        "unset GOOGLE_API_KEY GOOGLE_GENAI_USE_GCA GOOGLE_GENAI_USE_VERTEXAI",
        "gemini -m local/demo/chat",
    ]


def test_a_key_of_no_variable_is_asked_for(tmp_path: Path, upstream: str, there: str) -> None:
    stage = Stage(tmp_path, upstream, listen=there, **NAMED)
    command = stage.command("codex", "--model", "named", "--print-env")
    done = subprocess.run(
        command, cwd=stage.work, env=stage.environment(), capture_output=True, text=True, check=True, timeout=60
    )
    assert "sk-there" not in done.stdout
    assert done.stdout.startswith("# DRAGOMAN_KEY: one of the gateway's keys\n")
    assert 'export DRAGOMAN_API_KEY="$DRAGOMAN_KEY"\n' in done.stdout


# ---- signals, and the end


@contextlib.contextmanager
def waiting(stage: Stage) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A launch whose agent waits for signals; with the port of its gateway."""
    with subprocess.Popen(
        stage.command("pi", "--model", MODEL),
        cwd=stage.work,
        env=stage.environment(**WAIT),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout
            port = int(json.loads(process.stdout.readline())["base"].split(":")[2].split("/")[0])
            assert process.stdout.readline() == "waiting\n"
            assert answers(port)
            yield process, port
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_goes_to_the_agent(stage: Stage, sent: signal.Signals) -> None:
    with waiting(stage) as (process, port):
        process.send_signal(sent)
        assert process.stdout
        assert json.loads(process.stdout.readline()) == [sent.name]
        assert process.wait(20) == 5
        assert not answers(port)


def test_the_gateway_ends_with_a_launch_that_is_killed(stage: Stage) -> None:
    with waiting(stage) as (process, port):
        process.kill()
        process.wait(20)
        eventually(lambda: not answers(port))


def test_ctrl_c_in_a_terminal_reaches_the_agent_once(stage: Stage) -> None:
    """The gateway is no part of what the terminal stops, and the agent gets no second signal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "-c", "-w", *stage.command("pi", "--model", MODEL)],
        cwd=stage.work,
        env=stage.environment(**WAIT),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        assert "waiting" in until(ours, "waiting")
        os.write(ours, b"\x03")
        assert '["SIGINT"]' in until(ours, "]\r\n")
        assert process.wait(20) == 5
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def until(terminal: int, word: str) -> str:
    said = ""
    while word not in said:
        try:
            said += os.read(terminal, 4096).decode()
        except OSError:
            break
    return said


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
