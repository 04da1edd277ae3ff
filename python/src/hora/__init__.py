# SPDX-License-Identifier: Apache-2.0
"""Executors and schedulers: the C library hora for Python.

    import hora

    with hora.Executor(max_workers=4) as executor:
        print(executor.submit(pow, 2, 10).result())

    with hora.Scheduler() as scheduler:
        scheduler.every(5, poll)
        scheduler.cron("0 9 * * MON-FRI", report, zone="Europe/Berlin")
        ...

Executor is a concurrent.futures.Executor with bounded queues, rejection policies and surplus threads.
Scheduler adds delays, fixed rates, fixed delays and cron. VirtualClock is for tests of schedules.
"""

from concurrent.futures.thread import BrokenThreadPool

from hora._clock import VirtualClock
from hora._cron import Cron
from hora._executor import Executor, Future, Rejection, Stats
from hora._hora import RejectedError, version as __version__
from hora._scheduler import BackOff, Missed, Overlap, Scheduled, Scheduler
from hora._time import Duration

__all__ = [
    "BackOff",
    "BrokenThreadPool",
    "Cron",
    "Duration",
    "Executor",
    "Future",
    "Missed",
    "Overlap",
    "RejectedError",
    "Rejection",
    "Scheduled",
    "Scheduler",
    "Stats",
    "VirtualClock",
    "__version__",
]
