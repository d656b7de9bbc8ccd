"""When a target is left in peace, and when it is tried again. The clock is the test's."""

from __future__ import annotations

import pytest

from dragoman.canonical.errors import Error, ErrorKind
from dragoman.gateway import health as module
from dragoman.gateway.health import Attempt, Health
from dragoman.gateway.routing import Target
from dragoman.gateway.settings import FailoverSettings

A, B = Target("a", "x"), Target("b", "y")
BROKEN = Error(kind=ErrorKind.SERVER, message="broke")
REFUSED = Error(kind=ErrorKind.INVALID_REQUEST, message="bad temperature")


def busy(seconds: float | None, status: int = 429) -> Error:
    return Error(kind=ErrorKind.RATE_LIMIT, message="busy", status=status, retry_after=seconds)


class Clinic:
    """Health, and the clock of it."""

    def __init__(self, **bounds: float) -> None:
        self.now = 50.0
        given = {"failures": 3, "cool_down": 30.0, "longest": 600.0, **bounds}
        self.health = Health(FailoverSettings(**given), lambda: self.now)  # type: ignore[arg-type]

    def begin(self, target: Target = A, *, answering: bool = False) -> Attempt:
        return self.health.begin(target, lambda: answering)

    def ask(self, error: Error | None, target: Target = A) -> None:
        self.health.learn(self.begin(target), error)

    def fail(self, times: int = 3) -> None:
        for _ in range(times):
            self.ask(BROKEN)

    @property
    def admitted(self) -> bool:
        return self.health.admits(A)


def test_it_cools_down_after_so_many_failures_in_a_row_and_no_sooner() -> None:
    clinic = Clinic()
    clinic.fail(2)
    assert clinic.admitted
    clinic.fail(1)
    assert not clinic.admitted
    assert clinic.health.admits(B)


@pytest.mark.parametrize("sound", [None, REFUSED], ids=["answer", "refusal"])
def test_what_shows_that_it_is_alive_ends_the_row(sound: Error | None) -> None:
    clinic = Clinic()
    clinic.fail(2)
    clinic.ask(sound)
    clinic.fail(2)
    assert clinic.admitted


def test_one_probe_and_the_others_go_on_passing_over_it() -> None:
    clinic = Clinic()
    clinic.fail()
    clinic.now += 29.9
    assert not clinic.admitted
    clinic.now += 0.1
    assert clinic.admitted
    probe = clinic.begin()
    assert not clinic.admitted
    clinic.health.learn(probe, None)
    assert clinic.admitted
    clinic.fail(2)
    assert clinic.admitted


def test_a_probe_that_has_begun_to_answer_is_enough() -> None:
    clinic = Clinic()
    clinic.fail()
    clinic.now += 30
    clinic.begin(answering=True)
    assert clinic.admitted


def test_a_probe_that_fails_begins_another_cool_down() -> None:
    clinic = Clinic()
    clinic.fail()
    for _ in range(3):
        clinic.now += 30
        assert clinic.admitted
        clinic.ask(BROKEN)
        assert not clinic.admitted
        clinic.now += 29.9
        assert not clinic.admitted
        clinic.now -= 29.9


def test_a_probe_that_tells_nothing_leaves_it_to_the_next() -> None:
    clinic = Clinic()
    clinic.fail()
    clinic.now += 30
    probe = clinic.begin()
    clinic.health.release(probe)
    assert clinic.admitted
    clinic.begin()
    assert not clinic.admitted


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_target_that_says_when_to_come_back_is_taken_at_its_word(status: int) -> None:
    clinic = Clinic()
    clinic.ask(busy(7, status))
    assert not clinic.admitted
    clinic.now += 6.9
    assert not clinic.admitted
    clinic.now += 0.1
    assert clinic.admitted


@pytest.mark.parametrize("error", [busy(None), busy(0), busy(7, 500), busy(7, 408)], ids=["none", "0", "500", "408"])
def test_else_it_is_one_failure_among_others(error: Error) -> None:
    clinic = Clinic()
    clinic.ask(error)
    assert clinic.admitted


def test_its_word_counts_for_so_long_at_most() -> None:
    clinic = Clinic(longest=60)
    clinic.ask(busy(86_400))
    clinic.now += 60
    assert clinic.admitted


def test_the_longer_of_both_counts() -> None:
    clinic = Clinic()
    clinic.ask(busy(100))
    clinic.ask(BROKEN)
    clinic.ask(BROKEN)
    clinic.now += 99
    assert not clinic.admitted
    clinic.now += 1
    assert clinic.admitted


def test_a_failed_probe_after_a_word_of_its_own_cools_down_too() -> None:
    clinic = Clinic()
    clinic.ask(busy(7))
    clinic.now += 7
    clinic.ask(BROKEN)
    assert not clinic.admitted


def test_what_was_asked_before_the_cool_down_says_nothing_of_it() -> None:
    clinic = Clinic()
    early = clinic.begin()
    clinic.now += 1
    clinic.ask(busy(60))
    clinic.health.learn(early, None)
    assert not clinic.admitted


def test_nor_does_it_disturb_a_probe() -> None:
    clinic = Clinic()
    late = clinic.begin()
    clinic.fail()
    clinic.now = 81
    probe = clinic.begin(answering=True)
    clinic.health.learn(late, BROKEN)
    clinic.health.learn(probe, None)
    clinic.fail()
    assert not clinic.admitted


@pytest.mark.parametrize("sound", [None, REFUSED])
def test_a_probe_ends_also_where_another_request_failed_meanwhile(sound: Error | None) -> None:
    clinic = Clinic()
    clinic.fail()
    clinic.now = 81
    probe = clinic.begin(answering=True)
    clinic.now = 82
    clinic.ask(BROKEN)
    clinic.health.learn(probe, sound)
    clinic.now = 200
    clinic.fail()
    assert not clinic.admitted
    clinic.now = 231
    assert clinic.admitted


def test_what_is_asked_meanwhile_all_the_same_and_works_ends_it() -> None:
    clinic = Clinic()
    clinic.fail()
    clinic.now += 1
    clinic.ask(None)
    assert clinic.admitted


def test_nothing_cools_down_where_that_is_turned_off() -> None:
    clinic = Clinic(cool_down=0, longest=0)
    clinic.fail(10)
    clinic.ask(busy(60))
    assert clinic.admitted


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KNOWN", 3)
    clinic = Clinic(failures=1)
    targets = [Target("a", str(number)) for number in range(5)]
    for target in targets:
        clinic.ask(BROKEN, target)
    assert [clinic.health.admits(target) for target in targets] == [True, True, False, False, False]
    clinic.ask(None, targets[2])
    assert clinic.health.admits(targets[2])
