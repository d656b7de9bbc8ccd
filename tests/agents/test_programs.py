"""The agents themselves, launched on a chat server that has them do what their pages say.

Who is neither where ``make .clients`` puts it nor in ``$CLIENTS_HOME`` is skipped.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.agents.served import JSON, Plan, Server, Turn, offered, results, serving
from tests.agents.test_images import PNG, images
from tests.launch.stage import DRAGOMAN, Stage, plain, run
from tests.launch.test_real import AGENTS, NO_PROXY_BUT, PROMPT, folder

MODEL = "local/m"
LOOK = {
    "claude": ("Read", "file_path"),
    "codex": ("view_image", "path"),
    "gemini": ("read_file", "file_path"),
    "pi": ("read", "path"),
}
"""The tools that look at an image."""
ELSEWHERE = {"baseUrl": "http://127.0.0.1:1/v1", "envKey": "OTHER_KEY"}


def launch(stage: Stage, agent: str, prompt: str, *, options: tuple[str, ...] = (), first: tuple[str, ...] = ()) -> str:
    """What it prints. ``options`` are those of ``launch``, ``first`` the agent's own before its others."""
    done = launched(stage, agent, prompt, options, first)
    assert done.returncode == 0, done.stderr
    return done.stdout


def launched(
    stage: Stage, agent: str, prompt: str, options: tuple[str, ...] = (), first: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    group, arguments, _ = AGENTS[agent]
    told = [*first, *(prompt if one == PROMPT else one for one in arguments)]
    path = os.pathsep.join([str(folder("npm", group)), str(folder("node24")), "/usr/bin", "/bin"])
    command = [*DRAGOMAN, "launch", agent, "--log", str(stage.log), "--model", MODEL, *options, "--", *told]
    environment = {**plain(), "HOME": str(stage.home), "PATH": path, "IS_SANDBOX": "1", "OTHER_KEY": "x"}
    return run(command, stage.work, {**environment, **NO_PROXY_BUT})


def saying(text: str) -> Plan:
    return lambda _: Turn(text=text)


def led_to(server: Server) -> set[str]:
    """The models that the server was asked for."""
    return {body["model"] for body in server.asked}


# ---- Claude Code


def test_a_sub_task_of_claude_code(tmp_path: Path) -> None:
    """It goes to the same model, whichever family the call asks for."""
    task = {"description": "Reads", "prompt": "Count the notes.", "subagent_type": "general-purpose", "model": "haiku"}

    def plan(body: JSON) -> Turn:
        if "Ask somebody." in str(body["messages"]) and not results(body) and "Agent" in offered(body):
            return Turn(call=("Agent", {**task, "run_in_background": False}))
        return Turn(text="There is one note.")

    with serving(plan) as server:
        printed = launch(Stage(tmp_path, server.address), "claude", "Ask somebody.")
    assert "There is one note." in printed
    assert led_to(server) == {"m"}
    first, sub_task, *_, last = server.asked
    assert "Ask somebody." not in str(sub_task["messages"])
    assert "Count the notes." in str(sub_task["messages"])
    assert (results(first), results(last)) == (0, 1)
    assert "There is one note." in str([one for one in last["messages"] if one["role"] == "tool"])


def test_claude_code_counts(tmp_path: Path) -> None:
    """``/context`` has everything counted; what the gateway says of it is what Claude Code shows."""
    with serving(saying("Nothing.")) as server:
        stage = Stage(tmp_path, server.address)
        printed = launch(stage, "claude", "/context")
    counts = [one for one in stage.requests() if one["path"] == "/v1/messages/count_tokens"]
    assert {one["status"] for one in counts} == {200}
    assert len(counts) > 3
    assert server.asked == []
    assert "System tools" in printed


def test_settings_of_claude_code_do_not_lead_elsewhere(tmp_path: Path) -> None:
    """Those of the user's file; what the user says on the command line counts."""
    elsewhere = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_MODEL": "claude-x"}
    given = json.dumps({"env": {"ANTHROPIC_MODEL": "local/another"}})
    with serving(saying("Two notes.")) as server:
        stage = Stage(tmp_path, server.address)
        (stage.home / ".claude").mkdir()
        (stage.home / ".claude" / "settings.json").write_text(json.dumps({"env": elsewhere}))
        assert "Two notes." in launch(stage, "claude", "Read the notes.")
        assert led_to(server) == {"m"}
        (stage.home / ".claude" / "settings.json").unlink()
        assert "Two notes." in launch(stage, "claude", "Read the notes.", first=("--settings", given))
    assert server.asked[-1]["model"] == "another"


# ---- models that they do not know


@pytest.mark.parametrize(
    ("agent", "said"),
    [("claude", "so it assumes a context window of"), ("codex", "Defaulting to fallback metadata")],
)
def test_a_model_that_it_does_not_know(tmp_path: Path, agent: str, said: str) -> None:
    """It says so, and works."""
    with serving(saying("Two notes.")) as server:
        done = launched(Stage(tmp_path, server.address), agent, "Read the notes.")
    assert (done.returncode, "Two notes." in done.stdout) == (0, True)
    assert said in done.stderr


# ---- images


@pytest.mark.parametrize("agent", LOOK)
def test_an_image_that_it_reads(tmp_path: Path, agent: str) -> None:
    name, member = LOOK[agent]

    def plan(body: JSON) -> Turn:
        if results(body) or name not in offered(body):
            return Turn(text="It is red.")
        return Turn(call=(name, {member: str(stage.work / "picture.png")}))

    with serving(plan) as server:
        stage = Stage(tmp_path, server.address)
        (stage.work / "picture.png").write_bytes(base64.b64decode(PNG))
        assert "It is red." in launch(stage, agent, "Look at picture.png.")
    assert led_to(server) == {"m"}
    assert len(list(images("chat", server.asked[-1]["messages"]))) == 1


# ---- Codex


def test_codex_launched_asks_over_http_and_sums_up_by_itself(tmp_path: Path) -> None:
    def plan(body: JSON) -> Turn:
        if "CONTEXT CHECKPOINT COMPACTION" in str(body["messages"][-1]):
            return Turn(text="All but the last step is done.")
        if "All but the last step is done." in str(body["messages"]):
            return Turn(text="The last step is done too.")
        return Turn(call=("exec_command", {"cmd": "true"}), input=5000)  # more than is to be held

    with serving(plan) as server:
        stage = Stage(tmp_path, server.address)
        printed = launch(stage, "codex", "Go on.", first=("-c", "model_auto_compact_token_limit=1000"))
    assert "The last step is done too." in printed
    assert len(server.asked) == 3
    asked = [(one["method"], one["path"], one["status"]) for one in stage.requests() if "responses" in one["path"]]
    assert asked == [("POST", "/v1/responses", 200)] * 3


# ---- opencode


def test_a_title_of_opencode(tmp_path: Path) -> None:
    with serving(saying("Notes")) as server:
        stage = Stage(tmp_path, server.address)
        launch(stage, "opencode", "Read the notes.")
    assert led_to(server) == {"m"}
    titles = [body for body in server.asked if "title generator" in str(body["messages"][0])]
    assert [offered(body) for body in titles] == [set()]
    assert {one["status"] for one in stage.requests()} == {200}


def test_opencode_does_not_compact_by_itself(tmp_path: Path) -> None:
    """However much the model says that it has read."""

    def plan(body: JSON) -> Turn:
        if results(body) or "bash" not in offered(body):
            return Turn(text="Done.", input=9_000_000)
        return Turn(call=("bash", {"command": "true", "description": "Does nothing"}), input=9_000_000)

    with serving(plan) as server:
        assert "Done." in launch(Stage(tmp_path, server.address), "opencode", "Go on.")
    assert [results(body) for body in server.asked if offered(body)] == [0, 1]
    assert len([body for body in server.asked if not offered(body)]) == 1  # the title


# ---- other dialects


@pytest.mark.parametrize(
    ("agent", "dialect"),
    [(agent, dialect) for agent in ("opencode", "pi", "qwen") for dialect in ("responses", "messages", "gemini")][:-1],
)
def test_it_asks_in_another_dialect(tmp_path: Path, agent: str, dialect: str) -> None:
    with serving(saying("Two notes.")) as server:
        stage = Stage(tmp_path, server.address)
        printed = launch(stage, agent, "Read the notes.", options=("--dialect", dialect))
    assert "Two notes." in printed
    assert {(one["client"], one["upstream"], one["status"]) for one in stage.requests()} == {(dialect, MODEL, 200)}


# ---- Qwen Code


@pytest.mark.parametrize(
    "settings",
    [
        {"modelProviders": {"openai": [{"id": "other", "name": "Other", **ELSEWHERE}]}, "model": {"name": "other"}},
        {"security": {"auth": {"selectedType": "openai", "baseUrl": ELSEWHERE["baseUrl"], "apiKey": "x"}}},
        {"security": {"auth": {"selectedType": "gemini"}}, "env": {"OPENAI_BASE_URL": ELSEWHERE["baseUrl"]}},
    ],
)
def test_settings_of_qwen_code_do_not_lead_elsewhere(tmp_path: Path, settings: JSON) -> None:
    with serving(saying("Two notes.")) as server:
        stage = Stage(tmp_path, server.address)
        file = settings_of_qwen_code(stage, settings)
        assert "Two notes." in launch(stage, "qwen", "Read the notes.")
    assert led_to(server) == {"m"}
    assert json.loads(file.read_text()).keys() > settings.keys()  # it brings them to the form of its version


def test_a_provider_of_the_same_name_counts_more(tmp_path: Path) -> None:
    provider = {"id": MODEL, "name": "Mine", **ELSEWHERE}
    with serving(saying("Two notes.")) as server:
        stage = Stage(tmp_path, server.address)
        settings_of_qwen_code(stage, {"modelProviders": {"openai": [provider]}})
        assert launched(stage, "qwen", "Read the notes.").returncode != 0
    assert server.asked == []


def settings_of_qwen_code(stage: Stage, settings: JSON) -> Path:
    file = stage.home / ".qwen" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(settings))
    return file
