# SPDX-License-Identifier: Apache-2.0
"""chaos_jobs.py - the jobs of tests/app/run/chaos: their description for the runner, and for the checker

All times of the checker are in microseconds since 1970, as in the store.
"""

import random
from collections import namedtuple

SECOND = 1_000_000

# overlap and missed are a word and a number, as in a job file. `milliseconds` is how long a run works, and
# `failures` how many attempts of each firing fail. A job that is `nested` runs its work in a child of a shell.
Kind = namedtuple("Kind", "share periods milliseconds overlap missed on_crash retries failures nested",
                  defaults=(("skip", 0), ("all", 3), "rerun", 0, 0, False))
KINDS = {
    "all": Kind(40, (6, 8, 10, 12, 15), (0, 10, 50)),
    "once": Kind(10, (6, 8, 10), (0, 20), missed=("once", 0)),
    "skip": Kind(10, (6, 8, 10), (0, 20), missed=("skip", 0)),
    "allow": Kind(2, (1, 2), (400, 1500), overlap=("allow", 3), missed=("all", 2)),
    "queue": Kind(2, (1, 2), (200, 1200), overlap=("queue", 2)),
    "busy": Kind(2, (1, 2), (300, 1500), missed=("once", 0)),
    "crash-skip": Kind(12, (6, 8, 10), (50, 300), on_crash="skip"),
    "crash-fail": Kind(6, (6, 8, 10), (50, 300), on_crash="fail"),
    "retry": Kind(8, (8, 10, 15), (0, 50), retries=3, failures=2),
    "give-up": Kind(4, (10, 15), (0, 50), retries=1, failures=1000),
    "nested": Kind(4, (6, 10), (100, 500), nested=True),
}


class Job:
    """One job. Its planned times are phase + k * period."""

    def __init__(self, name, kind, chance, pace):
        self.name, self.kind = name, KINDS[kind]
        self.period = max(1, chance.choice(self.kind.periods) // pace) * SECOND
        self.phase = chance.randrange(self.period // 1000) * 1000  # whole milliseconds
        self.milliseconds = chance.choice(self.kind.milliseconds)
        # When a firing counts as missed: see lateness() in app/runner/schedule.c.
        self.missed_after = min(max(self.period // 2, SECOND), 60 * SECOND)

    def first_from(self, time):
        """The first planned time at or after a time."""
        return time + (self.phase - time) % self.period

    def times(self, first, end):
        """The planned times from `first`, which is one, to before `end`."""
        return range(first, end, self.period)

    def count(self, after, until):
        """How many planned times there are after one instant and up to another."""
        if until <= after:
            return 0
        return (until - self.phase) // self.period - (after - self.phase) // self.period

    def description(self, program, log):
        """The job in a job file."""
        kind = self.kind
        words = [program, log, str(self.milliseconds), str(kind.failures)]
        second, micro = divmod(self.phase, SECOND)
        lines = [f"  {self.name}:",
                 f"    command: {' '.join(words)} & wait" if kind.nested else f"    command: [{', '.join(words)}]",
                 f"    triggers: [{{every: {self.period // SECOND}s, "
                 f"from: 1970-01-01T00:00:{second:02}.{micro // 1000:03}Z}}]",
                 f"    overlap: {policy(kind.overlap)}",
                 f"    missed: {policy(kind.missed)}",
                 f"    on_crash: {kind.on_crash}"]
        if kind.retries:
            lines.append(f"    retries: {{count: {kind.retries}, back_off: constant, delay: 100ms, past_next: true}}")
        return "\n".join(lines) + "\n"


def policy(words):
    return words[0] if words[1] == 0 else f"{words[0]} {words[1]}"


def make_jobs(count, seed, pace):
    """`count` jobs of all kinds, always the same ones for a seed. `pace` divides their periods."""
    chance = random.Random(f"jobs {seed}")
    total = sum(kind.share for kind in KINDS.values())
    jobs = []
    for name, kind in KINDS.items():
        for number in range(max(1, round(count * kind.share / total))):
            jobs.append(Job(f"{name}-{number}", name, chance, pace))
    return jobs


def job_file(jobs, program, log):
    return "jobs:\n" + "".join(job.description(program, log) for job in jobs)
