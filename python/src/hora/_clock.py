# SPDX-License-Identifier: Apache-2.0
"""VirtualClock: time for tests, which passes only when the test says so."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any, Optional

from hora import _hora
from hora._time import Duration, instant, span, utc

MONOTONIC, WALL = 1, 3


class VirtualClock:
    """A clock that a test advances.

        clock = hora.VirtualClock(start=datetime(2026, 3, 1, tzinfo=timezone.utc))
        scheduler = hora.Scheduler(clock=clock)
        scheduler.cron("0 9 * * *", report, zone="Europe/Berlin")
        clock.advance(timedelta(days=31))       # takes milliseconds; report has run 31 times

    The clock knows when all threads of its schedulers and executors are waiting for tasks or for a time.
    A task counts as running until it returns, so a task must not wait for something that happens only after
    advance() has returned.
    """

    def __init__(self, start: Optional[datetime] = None) -> None:
        """The clock shows `start`; without it, 1970-01-01 00:00 UTC."""
        self._clock = _hora.Clock(0 if start is None else instant(start))

    def advance(self, by: Duration) -> None:
        """Lets time pass, and each task run at its time. Returns when nothing is left to run."""
        self._wait(self._clock.run, span(by))

    def settle(self) -> None:
        """Waits until nothing can run without time passing."""
        self._wait(self._clock.settle)

    def advance_to_next(self) -> Optional[float]:
        """Advances to the next time that something waits for, and lets it run.

        Returns by how many seconds, or None if nothing waits for a time.
        """
        self.settle()
        by = self._clock.advance_to_next()
        if by is None:
            return None
        self.settle()
        return by / 1_000_000_000

    def set_time(self, time: datetime) -> None:
        """Sets the calendar forward or back, as an administrator does; no time passes."""
        self._clock.step_wall(instant(time) - self._clock.now(WALL))

    def suspend(self, by: Duration) -> None:
        """Suspends the machine: the calendar moves on, delays do not."""
        self._clock.suspend(span(by))

    def now(self) -> datetime:
        """The time of the calendar, in UTC."""
        return utc(self._clock.now(WALL))

    def monotonic(self) -> float:
        """Seconds that have passed since the clock was created, without suspended time."""
        return self._clock.now(MONOTONIC) / 1_000_000_000

    @staticmethod
    def _wait(call: Callable[..., None], *args: Any) -> None:
        """Makes a call that blocks in hora, so that Ctrl-C ends it.

        Signals do not wake a thread that waits inside hora. The main thread, which handles them, therefore
        lets another thread make the call and waits for it.
        """
        if threading.current_thread() is not threading.main_thread():
            call(*args)
            return
        caller = _Caller(call, args)
        caller.start()
        try:
            caller.has_ended.wait()
            caller.join()
        except BaseException:
            caller.interrupt()
            raise
        if caller.error is not None:
            raise caller.error


class _Caller(threading.Thread):
    """A thread that makes one call of hora, which can be interrupted."""

    def __init__(self, call: Callable[..., None], args: tuple[Any, ...]) -> None:
        super().__init__(name="hora-virtual-clock", daemon=True)
        self.call, self.args = call, args
        self.error: Optional[BaseException] = None
        self.handle: Optional[_hora.Thread] = None
        self.is_ready = threading.Event()
        self.has_ended = threading.Event()  # as _executor._WorkerThread

    def run(self) -> None:
        try:
            self.handle = _hora.Thread()
            self.is_ready.set()
            self.call(*self.args)
        except BaseException as error:
            self.error = error
        finally:
            self.is_ready.set()
            self.has_ended.set()

    def interrupt(self) -> None:
        self.is_ready.wait()
        if self.handle is not None:
            self.handle.interrupt()
        self.has_ended.wait()
