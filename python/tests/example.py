# SPDX-License-Identifier: Apache-2.0
"""What check-wheel runs with the installed wheel: a task, a schedule and an expression."""

from datetime import datetime, timedelta, timezone

import hora

with hora.Executor(max_workers=2) as executor:
    print(executor.submit(pow, 2, 10).result())

clock = hora.VirtualClock(datetime(2026, 3, 28, tzinfo=timezone.utc))
with hora.Scheduler(clock=clock) as scheduler:
    scheduler.cron("0 9 * * *", lambda: print(clock.now().isoformat()), zone="Europe/Berlin")
    clock.advance(timedelta(days=2))

print(hora.Cron("0 9 * * MON-FRI", "Europe/Berlin").describe())
