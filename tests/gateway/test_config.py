"""Configuration: what is read, and that every mistake is told at once with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.exceptions import ConfigurationError
from dragoman.gateway.config import load
from dragoman.gateway.discovery import WELL_KNOWN, discover
from dragoman.gateway.settings import Address, Secret, Settings, is_loopback

FULL = """
listen: 127.0.0.1:4181
keys: [$DRAGOMAN_KEY]
upstreams:
  openai:    {dialect: responses, base_url: https://api.openai.com/v1/, api_key: $OPENAI_API_KEY}
  claude:    {dialect: messages,  base_url: https://api.anthropic.com, api_key: "${CLAUDE}"}
  google:    {dialect: gemini,    base_url: https://generativelanguage.googleapis.com, api_key: sk-literal}
  local:     {dialect: chat,      base_url: http://127.0.0.1:8000/v1,
              accepts: {stream_usage: false}, headers: {x-team: blue}, timeouts: {idle: 5}, strict: true,
              models: {"qwen*": {accepts: {thinking: false, betas: [a]}}}}
models:
  fast:  [local/qwen3-coder, openai/gpt-5-mini]
  "claude-*": [claude/claude-*, openai/gpt-5]
timeouts:  {connect: 10, first_event: 300, idle: 120, head: 15, heartbeat: 15, drain: 30, total: 600,
            request_head: 30, request_body: 300, send: 300}
limits:    {body_mib: 32, header_kib: 64, streams: 9, event_mib: 0.001, answer_mib: 64, open_calls: 128, arguments_mib: 16,
            error_kib: 0.5, response_header_kib: 64, connections: 7, memory: {calls: 5, mib: 1, hours: 2}}
failover:  {failures: 2, cool_down: 0, longest: 0.5}
state:     {url: sqlite:////srv/state.db, answers: 100, mib: 8, days: 7}
strict:    false
"""
ENVIRONMENT = {"DRAGOMAN_KEY": "sk-client", "OPENAI_API_KEY": "sk-openai-secret", "CLAUDE": "sk-claude-secret"}


def test_a_variable_stands_for_a_whole_text_or_inside_of_one() -> None:
    text = """
    upstreams: {local: {dialect: chat, base_url: "http://${HOST}:${PORT}/v1", api_key: $KEY,
                        headers: {a: "Bearer ${KEY}", b: "is $KEY", c: "$KEY."}}}
    """
    local = load(text, {"HOST": "127.0.0.1", "PORT": "9000", "KEY": "x${HOST}"}).upstreams["local"]
    assert local.base_url == "http://127.0.0.1:9000/v1"
    assert local.api_key is not None
    assert local.api_key.reveal() == "x${HOST}"
    assert local.headers == {"a": "Bearer x${HOST}", "b": "is $KEY", "c": "$KEY."}


def mistakes(text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(text, {"KEY": "sk-from-environment"})
    return list(caught.value.mistakes)


def test_everything_that_is_documented_is_read() -> None:
    settings = load(FULL, ENVIRONMENT)
    assert settings.listen == Address("127.0.0.1", 4181)
    assert [key.reveal() for key in settings.keys] == ["sk-client"]
    assert settings.upstreams["openai"].base_url == "https://api.openai.com/v1"
    assert settings.upstreams["claude"].dialect == "messages"
    key = settings.upstreams["claude"].api_key
    assert key is not None
    assert key.reveal() == "sk-claude-secret"
    local = settings.upstreams["local"]
    assert local.api_key is None
    assert local.accepts.given == {"stream_usage": False}
    assert local.models["qwen*"].accepts.given == {"thinking": False, "betas": ["a"]}
    assert (local.strict, settings.strict) == (True, False)
    assert local.headers == {"x-team": "blue"}
    assert settings.models["claude-*"] == ["claude/claude-*", "openai/gpt-5"]
    own = local.timeouts.over(settings.timeouts)
    assert (own.idle, own.first_event, own.total) == (5, 300, 600)
    assert settings.limits.open_calls == 128
    assert settings.limits.memory.calls == 5
    assert (settings.limits.streams, settings.limits.event_mib, settings.limits.connections) == (9, 0.001, 7)
    assert (settings.failover.failures, settings.failover.cool_down, settings.failover.longest) == (2, 0, 0.5)
    assert (settings.state.url.file, settings.state.answers) == ("/srv/state.db", 100)


def test_defaults() -> None:
    settings = load("", {})
    assert settings.listen == Address("127.0.0.1", 4180)
    assert (settings.timeouts.drain, settings.timeouts.total, settings.limits.body_mib) == (30, None, 32)


def test_json_is_yaml() -> None:
    assert load(json.dumps({"listen": "127.0.0.1:5"}), {}).listen.port == 5


def test_a_secret_is_never_printed() -> None:
    settings = load(FULL, ENVIRONMENT)
    shown = f"{settings} {settings!r} {settings.keys} {Secret('sk-x')}"
    assert "sk-" not in shown
    assert "***" in shown


def upstream(**changes: object) -> str:
    one = {"dialect": "chat", "base_url": "http://127.0.0.1:9/v1", **changes}
    return json.dumps({"upstreams": {"local": {key: value for key, value in one.items() if value is not None}}})


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("upstream: {}", "upstream:", "unknown key; did you mean upstreams?"),
        (upstream(dialekt="chat"), "upstreams.local.dialekt:", "did you mean dialect?"),
        (upstream(dialect="chatt"), "upstreams.local.dialect:", "did you mean chat?"),
        (upstream(dialect=5), "upstreams.local.dialect:", "no such dialect"),
        (upstream(dialect=None), "upstreams.local.dialect:", "missing"),
        (upstream(api_key="$NO_SUCH"), "upstreams.local.api_key:", "NO_SUCH"),
        (upstream(api_key="${NO_SUCH}"), "upstreams.local.api_key:", "NO_SUCH"),
        (upstream(api_key=""), "upstreams.local.api_key:", "empty"),
        (upstream(api_key="sk-1\n"), "upstreams.local.api_key:", "printable"),
        (upstream(base_url="nonsense"), "upstreams.local.base_url:", "expected a URL"),
        (upstream(base_url="ftp://x"), "upstreams.local.base_url:", "expected a URL"),
        (upstream(base_url="http://x:port"), "upstreams.local.base_url:", "expected a URL"),
        (upstream(base_url="http://$HOST/v1"), "upstreams.local.base_url:", "${NAME}"),
        (upstream(base_url="http://${HOST}/v1"), "upstreams.local.base_url:", "no variable HOST"),
        (upstream(base_url="http://u:p@x/v1"), "upstreams.local.base_url:", "without user"),
        (upstream(base_url="http://x/v1?k=1"), "upstreams.local.base_url:", "without user"),
        (upstream(headers={"a b": "x"}), "upstreams.local.headers.a b:", "header"),
        (upstream(headers={"a": "x\r\ny"}), "upstreams.local.headers.a:", "printable"),
        (
            upstream(accepts={"stream_usages": True}),
            "upstreams.local.accepts.stream_usages:",
            "did you mean stream_usage?",
        ),
        (upstream(accepts={"stream_usage": "no"}), "upstreams.local.accepts.stream_usage:", "true or false"),
        (upstream(accepts={"thinking": "budgets"}), "upstreams.local.accepts.thinking:", "did you mean budget?"),
        (upstream(accepts={"thinking": True}), "upstreams.local.accepts.thinking:", "budget, adaptive or false"),
        (upstream(accepts={"betas": 5}), "upstreams.local.accepts.betas:", "passthrough or a list of texts"),
        (upstream(accepts={"on_server_tool": "fail"}), "upstreams.local.accepts.on_server_tool:", "drop or refuse"),
        (upstream(accepts={"max_output_tokens": 0}), "upstreams.local.accepts.max_output_tokens:", "from 1"),
        (
            upstream(accepts={"max_thinking_budget": "x"}),
            "upstreams.local.accepts.max_thinking_budget:",
            "whole number",
        ),
        (upstream(accepts=5), "upstreams.local.accepts:", "expected keys"),
        (upstream(models={"m*": {"accept": {}}}), "upstreams.local.models.m*.accept:", "did you mean accepts?"),
        (
            upstream(models={"m*": {"accepts": {"thinkin": False}}}),
            "upstreams.local.models.m*.accepts.thinkin:",
            "did you mean thinking?",
        ),
        (upstream(models={"": {}}), "upstreams.local.models.:", "text"),
        (upstream(models=["m"]), "upstreams.local.models:", "expected keys"),
        (upstream(strict="yes"), "upstreams.local.strict:", "true or false"),
        ("state: {url: 'sqlite:/x'}", "state.url:", "expected memory, or sqlite:///FILE"),
        ("state: {url: 'sqlite:///'}", "state.url:", "expected memory"),
        ("state: {url: 'postgres://x/y'}", "state.url:", "expected memory"),
        ("state: {file: x}", "state.file:", "unknown key"),
        ("state: {days: 0}", "state.days:", "above 0"),
        ("limits: {memory: {call: 1}}", "limits.memory.call:", "did you mean calls?"),
        ("limits: {memory: {calls: -1}}", "limits.memory.calls:", "from 0"),
        ("failover: {failures: 0}", "failover.failures:", "from 1"),
        ("failover: {cool_down: -1}", "failover.cool_down:", "from 0"),
        ("failover: {cooldown: 5}", "failover.cooldown:", "did you mean cool_down?"),
        ("limits: {streams: 0.5}", "limits.streams:", "whole number"),
        ("limits: {header_kib: 0}", "limits.header_kib:", "above 0"),
        ("timeouts: {request_body: 0}", "timeouts.request_body:", "above 0"),
        (upstream(timeouts={"request_head": 5}), "upstreams.local.timeouts.request_head:", "unknown key"),
        (upstream(timeouts={"drain": 5}), "upstreams.local.timeouts.drain:", "unknown key"),
        (upstream(timeouts=5), "upstreams.local.timeouts:", "expected keys"),
        ("upstreams: {a/b: {dialect: chat, base_url: 'http://x'}}", "upstreams.a/b:", "letters"),
        ("models: {fast: [nowhere/m]}", "models.fast[0]:", "nowhere"),
        ("models: {fast: []}", "models.fast:", "at least one"),
        ("models: {fast: local/m}", "models.fast:", "expected a list"),
        ("models: {5: [local/m]}", "models.5:", "text"),
        ("timeouts: {idle: -1}", "timeouts.idle:", "above 0"),
        ("timeouts: {idle: soon}", "timeouts.idle:", "expected a number"),
        ("timeouts: {total: .inf}", "timeouts.total:", "up to 10000000"),
        ("limits: {open_calls: 1.5}", "limits.open_calls:", "whole number"),
        ("listen: 4180", "listen:", "HOST:PORT"),
        ("listen: localhost:99999", "listen:", "HOST:PORT"),
        ("keys: [sk-1, 5]", "keys[1]:", "text"),
        ("tools: {lab: {}}", "tools.lab:", "either mcp or python"),
        ("tools: {lab__2: {python: 'a:b'}}", "tools.lab__2:", "single underscores"),
        ("tools: {lab: {mcp: {comand: [x]}}}", "tools.lab.mcp.comand:", "command"),
        ("tools: {lab: {mcp: {command: [x], headers: {a: b}}}}", "tools.lab.mcp.headers:", "goes with url"),
        ("tools: {lab: {python: 'a:b', approval: {x: maybe}}}", "tools.lab.approval:", "allow or deny"),
        ("tool_loop: {rounds: 0}", "tool_loop.rounds:", "1"),
        ("tool_loop: {per_call: 3}", "tool_loop.per_call:", "unknown key"),
        ("limits: {turns: {mib: -1}}", "limits.turns.mib:", "0"),
        ("[1]", "the file:", "expected keys"),
        ("listen: [127.0.0.1\nupstreams: {{{", "line 2", "not YAML"),
        ("strict: true\nstrict: false", "line 2", "stands twice"),
        ("a: &a [*a]", "the file:", "alias"),
        ("\x00", "the file:", "not YAML"),
    ],
)
def test_a_mistake_names_its_place(text: str, place: str, words: str) -> None:
    (found, *_) = mistakes(text)
    assert found.startswith(place)
    assert words in found


def test_all_mistakes_at_once_and_no_secret_among_them() -> None:
    text = """
    keys: ["sk-inline secret\\u0001"]
    upstreams:
      local: {dialect: openai, base_url: "http://sk-inline:x@h", api_key: [sk-inline]}
    timeouts: {idle: soon}
    modells: {}
    """
    found = "\n".join(mistakes(text))
    for place in ("keys[0]", "upstreams.local.dialect", "upstreams.local.base_url", "upstreams.local.api_key"):
        assert f"{place}:" in found
    assert "timeouts.idle:" in found
    assert "modells: unknown key; did you mean models?" in found
    assert "sk-inline" not in found


def test_a_yaml_error_does_not_quote_the_file() -> None:
    assert "sk-inline" not in "\n".join(mistakes("keys: [sk-inline, {\n"))


@pytest.mark.parametrize(
    "value", ["!!timestamp soon", "!!int x", "!!binary é", "!!python/object:os.system {}", "!!set 5"]
)
def test_a_value_that_does_not_fit_its_tag_is_no_yaml(value: str) -> None:
    assert "not YAML" in mistakes(f"listen: {value}")[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST."])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org", "localhost.example.org", "127.0.0.1.nip.io", ""])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_ipv6_address() -> None:
    address = Address.read("[::1]:80")
    assert (address.host, address.port, str(address)) == ("::1", 80, "[::1]:80")


# ---- where it is looked for


def write(folder: Path, port: int, name: str = "dragoman.yaml") -> Path:
    file = folder / name
    file.write_text(f"listen: 127.0.0.1:{port}\nupstreams: {{l: {{dialect: chat, base_url: 'http://x'}}}}\n")
    return file


def test_the_order_of_places(tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": "sk-1", "GEMINI_API_KEY": " "}
    assert list(discover(None, environment, tmp_path).settings.upstreams) == ["openai"]
    write(tmp_path, 1)
    assert discover(None, environment, tmp_path).settings.listen.port == 1
    environment["DRAGOMAN_CONFIG"] = str(write(tmp_path, 2, "other"))
    assert discover(None, environment, tmp_path).settings.listen.port == 2
    assert discover(str(write(tmp_path, 3, "third")), environment, tmp_path).settings.listen.port == 3


def test_nothing_is_found(tmp_path: Path) -> None:
    assert discover(None, {}, tmp_path).settings == Settings()


def test_every_well_known_key_makes_an_upstream(tmp_path: Path) -> None:
    found = discover(None, dict.fromkeys(WELL_KNOWN, "sk-1"), tmp_path).settings.upstreams
    assert sorted(found) == sorted(name for name, _, _ in WELL_KNOWN.values())


def test_a_bad_key_in_the_environment_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        discover(None, {"OPENAI_API_KEY": "sk-1\x07"}, tmp_path)


@pytest.mark.parametrize("text", [b"\xff\xfe", b"listen: 127.0.0.1:1"])
def test_files_that_are_none(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "dragoman.yaml").write_bytes(text)
    with pytest.raises(ConfigurationError, match=r"UTF-8|none is configured"):
        discover(None, {}, tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        discover(str(tmp_path / "none"), {}, tmp_path)
