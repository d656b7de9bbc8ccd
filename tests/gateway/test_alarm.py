"""The alarm of a turn: when it rings, and when it must not."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.gateway.alarm import Alarm

FAR = 3600.0


class Waiter:
    """A task that waits with an alarm; ``rang`` counts."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self.due = self._loop.time() + seconds
        self.alarm = Alarm(lambda: self.due)
        self.waits = asyncio.Event()
        self.rang = 0

    async def wait(self, *, times: int = 1) -> None:
        while self.rang < times:
            self.alarm.set()
            self.alarm.waiting = True
            self.waits.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if not self.alarm.rang():
                    raise
                self.rang += 1
            self.alarm.waiting = False
        self.alarm.off()


async def test_it_rings_again_and_again() -> None:
    waiter = Waiter(0.001)
    await waiter.wait(times=3)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_time_that_has_moved_back() -> None:
    """It rings at the new time, though nobody told it."""
    waiter = Waiter(0.001)
    task = asyncio.ensure_future(waiter.wait())
    await waiter.waits.wait()
    waiter.due += 0.05
    later = waiter.due
    await task
    assert asyncio.get_running_loop().time() >= later


async def test_a_time_that_comes_nearer_is_told() -> None:
    waiter = Waiter(FAR)
    task = asyncio.ensure_future(waiter.wait())
    await waiter.waits.wait()
    waiter.due = 0
    waiter.alarm.ring()
    await task
    assert waiter.rang == 1


async def test_it_does_not_ring_while_its_task_does_something_else() -> None:
    waiter = Waiter(0)
    waiter.alarm.set()
    await asyncio.sleep(0.005)  # the time comes and goes
    await waiter.wait()
    assert waiter.rang == 1


async def test_ringing_twice_is_ringing_once() -> None:
    waiter = Waiter(FAR)
    task = asyncio.ensure_future(waiter.wait(times=2))
    await waiter.waits.wait()
    waiter.due = 0
    waiter.alarm.ring()
    waiter.alarm.ring()
    waiter.due = asyncio.get_running_loop().time() + FAR
    waiter.waits.clear()
    await waiter.waits.wait()
    assert waiter.rang == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("alarm_first", [False, True])
async def test_somebody_else_cancels_in_the_same_moment(alarm_first: bool) -> None:
    waiter = Waiter(FAR)
    task = asyncio.ensure_future(waiter.wait())
    await waiter.waits.wait()
    waiter.due = 0
    for act in (waiter.alarm.ring, task.cancel) if alarm_first else (task.cancel, waiter.alarm.ring):
        act()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_off_is_off() -> None:
    waiter = Waiter(0.001)
    waiter.alarm.set()
    waiter.alarm.waiting = True
    waiter.alarm.off()
    await asyncio.sleep(0.005)
    assert waiter.rang == 0
