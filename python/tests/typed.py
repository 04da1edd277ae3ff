# SPDX-License-Identifier: Apache-2.0
"""A program with all kinds of calls, for check-types: mypy --strict accepts it."""

import asyncio
from concurrent.futures import Executor as AnyExecutor
from datetime import datetime, timedelta
from typing import Optional
from zoneinfo import ZoneInfo

import hora


def add(a: int, b: int = 0) -> int:
    return a + b


def use(executor: AnyExecutor) -> int:
    return executor.submit(add, 1, b=2).result()


async def wait(executor: hora.Executor) -> int:
    return await asyncio.wrap_future(executor.submit(add, 1))


def tasks() -> None:
    second = timedelta(seconds=1)
    with hora.Executor(4, queue_size=10, rejection="block", rejection_timeout=second) as executor:
        future: hora.Future[int] = executor.submit(add, 1, b=2)
        total: int = future.result() + use(executor) + sum(executor.map(add, [1], [2]))
        stats: hora.Stats = executor.stats()
        print(total, stats.threads)


def schedules() -> Optional[datetime]:
    clock = hora.VirtualClock(start=datetime(2026, 1, 1))
    with hora.Scheduler(clock=clock) as scheduler:
        once: hora.Scheduled[int] = scheduler.after(1.5, add, 1)
        series = scheduler.every(timedelta(hours=1), add, 1, missed=3, overlap="queue_one")
        scheduler.cron("@daily", print, zone=ZoneInfo("UTC"), failure=hora.BackOff(first=1))
        scheduler.at(datetime(2026, 1, 2), print, retry=hora.BackOff(), attempts=3)
        clock.advance(60)
        return series.next_time if once.result() else None


def times(cron: hora.Cron) -> list[datetime]:
    return [time for time, _ in zip(cron.times(datetime.now()), range(3))]
