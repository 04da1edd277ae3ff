# SPDX-License-Identifier: Apache-2.0
"""Scheduler: an executor whose tasks have times.

The future of a task that runs once behaves as every other future. The future of a series stays pending, also
during a run, so that it can be cancelled at any time. It is done when the series has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal, NamedTuple, Optional, TypeVar, Union

from hora import _executor
from hora._clock import WALL, VirtualClock
from hora._cron import ClockChange, Cron, Dialect, Zone
from hora._executor import Executor, Future, default_workers, in_python
from hora._time import NEVER, Duration, instant, span, utc

T = TypeVar("T")

# What happens to planned times that passed without a run: "once": one run makes up for all of them. "burst":
# each is made up. "skip": none is. A number: that many of the latest are made up.
Missed = Union[Literal["once", "burst", "skip"], int]
# What happens to planned times that come during a run: "never": they are missed. "queue_one": one run
# follows. A number: up to that many runs are in progress at a time.
Overlap = Union[Literal["never", "queue_one"], int]

MISSED = {"once": 0, "burst": 1, "skip": 2}
OVERLAP = {"never": 0, "queue_one": 1}
LOGGER = logging.getLogger("hora")


class BackOff(NamedTuple):
    """A failed run delays the next one: by `first`, and by `factor` times more after each further failure."""

    first: Duration = 1.0
    factor: float = 2.0
    longest: Duration = 300.0


Failure = Union[Literal["stop", "continue"], BackOff]


class Scheduled(Future[T]):
    """The future of a scheduled task."""

    _scheduler: Scheduler
    _on_error: Optional[Callable[[BaseException], object]] = None
    _is_logged = False
    _name: Optional[str] = None

    def _info(self) -> tuple[int, bool, int, int, int, int, int, int, int, int, int]:
        assert self._task is not None
        return self._task.info()

    def _time(self, clock: int, ns: int) -> Optional[datetime]:
        """The time of the calendar for a reading of a clock."""
        if ns == NEVER:
            return None
        pool = self._scheduler._pool
        return utc(ns if clock == WALL else pool.now(WALL) + ns - pool.now(clock))

    @property
    def next_time(self) -> Optional[datetime]:
        """When the next run is planned, in UTC.

        None if there is none, if the task is paused, or if it depends on the end of the current run.
        """
        clock, _, _, next_run, *_ = self._info()
        return None if self.done() else self._time(clock, next_run)

    @property
    def last_time(self) -> Optional[datetime]:
        """When the latest run was planned, in UTC; None if the task has not run."""
        clock, _, _, _, planned, *_ = self._info()
        return self._time(clock, planned)

    @property
    def is_paused(self) -> bool:
        return self._info()[1]

    @property
    def runs(self) -> int:
        """How many runs have started."""
        return self._info()[7]

    @property
    def failures(self) -> int:
        """How many runs have raised an exception."""
        return self._info()[8]

    @property
    def skipped(self) -> int:
        """How many planned times were missed and not made up."""
        return self._info()[10]

    @property
    def last_error(self) -> Optional[BaseException]:
        """What the latest run of a series raised; None if it succeeded, and after the end of the series."""
        assert self._task is not None
        return self._task.last_error()

    def pause(self) -> bool:
        """Lets no run start until resume; returns whether the task was not paused."""
        assert self._task is not None
        return self._task.pause()

    def resume(self) -> bool:
        """Continues after pause; times that have passed count as missed. Returns whether it was paused."""
        assert self._task is not None
        return self._task.resume()

    def reschedule(self, delay: Duration, every: Optional[Duration] = None) -> None:
        """Plans the next run after `delay` instead, and replaces the period of a series by `every`."""
        assert self._task is not None
        self._task.reschedule(span(delay), 0 if every is None else span(every))

    def _failed(self, error: BaseException) -> None:
        """Called for each failed run of a series."""
        if self._on_error is not None:
            self._on_error(error)
        elif self._is_logged:
            LOGGER.error("a run of %s failed", self._name or "a scheduled task", exc_info=error)


class Scheduler(Executor):
    """An executor whose tasks run after a delay, at a time, periodically or by cron.

    submit and map run tasks at once. max_workers, thread_name_prefix, initializer, initargs and name are as
    for Executor. A task waits if max_workers tasks are running.

    shutdown, and leaving the block of `with`: series end, and tasks that are to run once still run at their
    time; with cancel_futures they are cancelled.

    cancel_delayed      shutdown always cancels tasks that are not due
    continue_periodic   series continue after shutdown, until they are cancelled
    clock               a VirtualClock, for tests

    When the interpreter exits, running tasks complete, and all others are cancelled.

    Keep a reference to the scheduler, or to a future of it: a scheduler without references is shut down.
    """

    _is_scheduler = True

    def __init__(
        self,
        max_workers: Optional[int] = None,
        thread_name_prefix: str = "",
        initializer: Optional[Callable[..., object]] = None,
        initargs: tuple[Any, ...] = (),
        *,
        name: str = "",
        clock: Optional[VirtualClock] = None,
        cancel_delayed: bool = False,
        continue_periodic: bool = False,
    ) -> None:
        workers = default_workers() if max_workers is None else max_workers
        self._open(
            workers, workers, thread_name_prefix, initializer, initargs, name, clock,
            cancel_delayed=cancel_delayed, continue_periodic=continue_periodic,
        )

    def after(
        self,
        delay: Duration,
        fn: Callable[..., T],
        /,
        *args: Any,
        name: Optional[str] = None,
        retry: Optional[BackOff] = None,
        attempts: int = 0,
        on_error: Optional[Callable[[BaseException], object]] = None,
    ) -> Scheduled[T]:
        """Runs fn(*args) once, after a delay. Use functools.partial to pass keywords, as with asyncio.

        With `retry`, a run that raises an exception is repeated after a pause, until it succeeds or
        `attempts` runs in a row have failed (0: no limit); on_error(exception) is called for each.
        """
        return self._once({"initial_delay": span(delay)}, fn, args, name, retry, attempts, on_error)

    def at(
        self,
        time: datetime,
        fn: Callable[..., T],
        /,
        *args: Any,
        name: Optional[str] = None,
        retry: Optional[BackOff] = None,
        attempts: int = 0,
        on_error: Optional[Callable[[BaseException], object]] = None,
    ) -> Scheduled[T]:
        """Runs fn(*args) once, at a time of the calendar; at once if that has passed.

        A datetime without a zone is local time of the machine. The other parameters are those of `after`.
        """
        return self._once({"at": instant(time) or 1}, fn, args, name, retry, attempts, on_error)

    def every(
        self,
        period: Duration,
        fn: Callable[..., T],
        /,
        *args: Any,
        initial_delay: Duration = 0,
        delay: bool = False,
        name: Optional[str] = None,
        count: int = 0,
        end: Optional[datetime] = None,
        missed: Missed = "once",
        grace: Duration = 0,
        overlap: Overlap = "never",
        failure: Failure = "stop",
        stop_after: int = 0,
        on_error: Optional[Callable[[BaseException], object]] = None,
        slack: Duration = 0,
        spread: Duration = 0,
    ) -> Scheduled[T]:
        """Runs fn(*args) at a fixed rate: after initial_delay, and then every `period`, without drift.

        delay       the period counts from the end of a run to the start of the next one
        name        for logs, statistics and `spread`
        count, end  the series ends after so many runs; no run is planned after this time. Its future then
                    has the result of the last run.
        missed      what happens to times that passed without a run; see Missed
        grace       a run that would start later than this is skipped; 0: it is never too late
        overlap     what happens to times that come during a run; see Overlap
        failure     "stop": an exception ends the series, and its future raises it. "continue": the series
                    goes on. A BackOff: the next run is delayed.
        stop_after  with these two, the series ends after so many failures in a row; 0: never
        on_error    is called with the exception of each failed run; without it, a failure that does not end
                    the series is logged by the logger "hora"
        slack       how much later a run may start, so that wake-ups can be merged
        spread      delays all times by an offset below this, which depends on the name

        Cancel the future to end the series.
        """
        return self._series(
            {"fixed_delay" if delay else "fixed_rate": span(period), "initial_delay": span(initial_delay)},
            fn, args, name, count, end, missed, grace, overlap, failure, stop_after, on_error, slack, spread,
        )

    def cron(
        self,
        expression: Union[str, Cron],
        fn: Callable[..., T],
        /,
        *args: Any,
        zone: Zone = None,
        dialect: Dialect = "auto",
        dst: ClockChange = "literal",
        name: Optional[str] = None,
        count: int = 0,
        end: Optional[datetime] = None,
        missed: Missed = "once",
        grace: Duration = 0,
        overlap: Overlap = "never",
        failure: Failure = "stop",
        stop_after: int = 0,
        on_error: Optional[Callable[[BaseException], object]] = None,
        slack: Duration = 0,
        spread: Duration = 0,
    ) -> Scheduled[T]:
        """Runs fn(*args) at the times of a cron expression; zone, dialect and dst are those of Cron.

        The other parameters are those of `every`.
        """
        if not isinstance(expression, Cron):
            expression = Cron(expression, zone, dialect=dialect, dst=dst)
        elif zone is not None:
            raise ValueError("the zone is that of the Cron")
        return self._series(
            {"cron": expression.expression, "zone": expression.zone, "dialect": expression._dialect,
             "dst": expression._dst},
            fn, args, name, count, end, missed, grace, overlap, failure, stop_after, on_error, slack, spread,
        )

    def refresh_zones(self) -> bool:
        """Reads the files of all zones again and plans cron tasks anew; returns whether rules changed."""
        return self._pool.refresh_zones()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accepts no more tasks; the comment of the class says what becomes of the others."""
        super().shutdown(wait, cancel_futures=cancel_futures)

    def _once(
        self, fields: dict[str, Any], fn: Callable[..., T], args: tuple[Any, ...], name: Optional[str],
        retry: Optional[BackOff], attempts: int, on_error: Optional[Callable[[BaseException], object]],
    ) -> Scheduled[T]:
        if retry is None and (attempts != 0 or on_error is not None):
            raise ValueError("attempts and on_error have no effect without retry")
        if retry is not None:
            fields.update(_failure_fields(retry, attempts))
        return self._schedule(fields, fn, args, name, retry is not None, on_error)

    def _series(
        self, fields: dict[str, Any], fn: Callable[..., T], args: tuple[Any, ...], name: Optional[str],
        count: int, end: Optional[datetime], missed: Missed, grace: Duration, overlap: Overlap,
        failure: Failure, stop_after: int, on_error: Optional[Callable[[BaseException], object]],
        slack: Duration, spread: Duration,
    ) -> Scheduled[T]:
        if fields.get("fixed_rate", 1) <= 0 or fields.get("fixed_delay", 1) <= 0:
            raise ValueError("the period must be greater than 0")
        fields.update(_failure_fields(failure, stop_after))
        fields.update(_choice("missed", missed, MISSED, 3))
        fields.update(_choice("overlap", overlap, OVERLAP, 2))
        fields.update(
            count=count, end=0 if end is None else instant(end), grace=span(grace), slack=span(slack),
            spread=span(spread),
        )
        return self._schedule(fields, fn, args, name, True, on_error)

    def _schedule(
        self, fields: dict[str, Any], fn: Callable[..., T], args: tuple[Any, ...], name: Optional[str],
        is_series: bool, on_error: Optional[Callable[[BaseException], object]],
    ) -> Scheduled[T]:
        if _executor._is_exiting:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        future: Scheduled[T] = Scheduled()
        future._scheduler = self
        future._on_error = on_error
        future._is_logged = fields.get("failure", STOP) != STOP
        future._name = name
        try:
            self._pool.schedule(future, fn, args, name, is_series, **{**NOTHING, **fields})
        except ValueError as error:
            raise ValueError(in_python(str(error))) from None
        return future

    def _end(self) -> None:
        self._pool.set_cancel_delayed()
        self._pool.shutdown()


STOP = 1

# The fields of hora_schedule: zero means the default.
NOTHING: dict[str, Any] = {
    "initial_delay": 0, "at": 0, "fixed_rate": 0, "fixed_delay": 0, "cron": None, "zone": None, "dialect": 0,
    "dst": 0, "end": 0, "count": 0, "missed": 0, "missed_max": 0, "grace": 0, "overlap": 0, "overlap_max": 0,
    "failure": 0, "stop_after": 0, "back_off": 0, "back_off_factor": 0.0, "back_off_max": 0, "slack": 0,
    "spread": 0,
}


def _failure_fields(failure: Failure, stop_after: int) -> dict[str, Any]:
    if failure == "stop":
        return {"failure": STOP, "stop_after": stop_after}
    if failure == "continue":
        return {"failure": 0, "stop_after": stop_after}
    if not isinstance(failure, BackOff):
        raise ValueError(f'failure is {failure!r}, which is neither "stop" nor "continue" nor a BackOff')
    return {
        "failure": 2, "stop_after": stop_after, "back_off": span(failure.first),
        "back_off_factor": failure.factor, "back_off_max": span(failure.longest),
    }


def _choice(option: str, value: Union[str, int], names: dict[str, int], number: int) -> dict[str, int]:
    """The fields for one of some words, or for a number."""
    if isinstance(value, int):
        return {option: number, f"{option}_max": value}
    if value not in names:
        raise ValueError(f"{option} is {value!r}, which is neither a number nor one of {', '.join(names)}")
    return {option: names[value]}
