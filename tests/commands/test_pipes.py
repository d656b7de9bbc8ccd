"""``dragoman translate``, ``check`` and the wrong usage of all commands, as somebody types them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from dragoman import dialects
from dragoman.cli import main
from dragoman.commands.check import _other_dialect
from tests.fixtures import Fixture, fixtures

HELLO = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
CHUNK = b'data: {"choices": [{"index": 0, "delta": {"content": "x"}}]}\n\n'


def run(line: str, data: bytes | object = b"") -> Result:
    return CliRunner().invoke(main, line.split(), input=data if isinstance(data, bytes) else json.dumps(data))


# ---- translate --kind request


def test_gemini_requests_say_model_and_stream_by_options() -> None:
    line = "translate --kind request --from gemini --to chat"
    assert json.loads(run(line, HELLO).stdout) == {**CHAT, "model": "model"}
    assert json.loads(run(f"{line} --model m --no-stream", HELLO).stdout) == CHAT
    assert json.loads(run(f"{line} --model m --stream", HELLO).stdout)["stream"] is True


@pytest.mark.parametrize(("stream", "path"), [(True, "m:streamGenerateContent?alt=sse"), (False, "m:generateContent")])
def test_to_gemini_the_path_is_told(stream: bool, path: str) -> None:
    done = run("translate --kind request --from chat --to gemini", {**CHAT, "stream": stream})
    assert json.loads(done.stdout) == HELLO
    assert done.stderr == f"path: /v1beta/models/{path}\n"


def test_a_model_replaces_the_body_s() -> None:
    done = run("translate --kind request --from chat --to messages --model other", CHAT)
    assert json.loads(done.stdout)["model"] == "other"


def test_a_refusal_names_its_field_once() -> None:
    done = run("translate --kind request --from chat --to gemini", {**CHAT, "n": 0})
    assert (done.exit_code, done.stderr) == (1, "refused: n: expected a whole number from 1 to 128\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("translate --kind request --from chat --to gemini", "standard input: there is nothing in it"),
        ("translate --from chat --to gemini --model m", "--model and --stream go with --kind request"),
        ("translate --kind request --from chat --to gemini --stream", "the body of chat says it"),
        ("tools {}", "arguments go with --call NAME"),
    ],
)
def test_wrong_usage(line: str, said: str) -> None:
    done = run(line)
    assert (done.exit_code, said in done.stderr) == (2, True)


def test_the_reason_of_a_failure_is_told() -> None:
    done = run("translate --from chat --to messages", CHUNK)
    assert (done.exit_code, done.stderr.startswith("failed: bad_upstream: ")) == (1, True)


# ---- check


def test_the_first_places_of_a_rule_are_shown_and_the_others_counted() -> None:
    lines = run("check chat", CHUNK * 5).stdout.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("violation chat.chunk.object: "))
    assert [line.partition(":")[0] for line in lines[first + 1 : first + 5]] == [
        "  event 0",
        "  event 1",
        "  event 2",
        "  … and 2 more",
    ]


@pytest.mark.parametrize("dialect", dialects.names())
def test_an_answer_of_another_dialect_is_known(dialect: str) -> None:
    """What says anything in its own dialect says it in no other, and is told there."""
    known = [
        one for one in fixtures(dialect) if {_other_dialect(name, one.body) for name in dialects.names()} != {None}
    ]
    assert len(known) > 15
    for fixture in known:
        _told_everywhere_else(dialect, fixture)


def _told_everywhere_else(dialect: str, fixture: Fixture) -> None:
    for other in dialects.names():
        told = None if other == dialect else dialect
        assert _other_dialect(other, fixture.body) == told, (fixture.slug, other)


@pytest.mark.parametrize("name", dialects.names())
def test_every_rule_has_its_words(name: str) -> None:
    """The checkers refuse a rule without any; what they say here is in the table."""
    dialect = dialects.get(name)
    found = {one.rule for body in (b"", b"{}", CHUNK, b"x\n\n") for one in dialect.check(body)}
    assert found
    assert found <= set(dialect.rules)


def test_check_says_so() -> None:
    assert "this looks like chat: dragoman check chat\n" in run("check gemini", CHUNK).stdout
