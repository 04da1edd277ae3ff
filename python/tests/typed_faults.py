# SPDX-License-Identifier: Apache-2.0
"""A program with faults, for check-types: mypy --strict finds each of them."""

from datetime import datetime

import hora

executor = hora.Executor(rejection="explode")  # fault
executor.submit(pow, "two", 3)  # fault
text: str = executor.submit(len, "four").result()  # fault
hora.Scheduler(queue_size=3)  # fault
scheduler = hora.Scheduler()
scheduler.every("5 s", print)  # fault
scheduler.at(5, print)  # fault
number: int = scheduler.after(1, str).result()  # fault
scheduler.cron("@daily", print, missed="sometimes")  # fault
time: datetime = hora.Cron("@daily").next(datetime.now())  # fault
