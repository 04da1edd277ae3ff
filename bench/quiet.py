# SPDX-License-Identifier: Apache-2.0
"""How much of the machine others use while something is measured, and waiting until they use little

Foreign is what all processors did while they were not idle, less what the processes of the benchmark did;
what the hypervisor took away counts as well. A run with more of it than the bound is not quiet: it is made
again as long as there is patience, and does not count. Whether a run counts never depends on its result."""

import os
import time
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
ALLOWANCE_S = 1.5 * TICK_S  # the system tells the time of idleness in ticks
# Going from one thread to another, or to sleep, takes the processor time that no thread is charged with.
SWITCH_S = 1.5e-6
SAMPLE_S = 0.05


def idle_and_switches():
    """(seconds of idleness of all processors, switches between threads).

    (None, 0) where the system does not say."""
    try:
        text = Path("/proc/stat").read_text(encoding="ascii")
        lines = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
        words = lines["cpu"].split()
        return (int(words[3]) + int(words[4])) * TICK_S, int(lines["ctxt"])
    except (OSError, ValueError, LookupError):
        return None, 0


def cpu_seconds(pid):
    """What a process has used so far, all threads together."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # as clock_getcpuclockid does it
    except OSError:
        return 0.0


class Reading:
    def __init__(self, pids):
        self.time_s = time.monotonic()
        self.idle_s, self.switches = idle_and_switches()
        self.own_s = time.process_time() + sum(map(cpu_seconds, pids))

    def foreign_until(self, later):
        """The share of all processors that others had, from 0 to 1."""
        capacity_s = (later.time_s - self.time_s) * os.cpu_count()
        if self.idle_s is None or later.idle_s is None or capacity_s <= 0:
            return 0.0
        allowed_s = ALLOWANCE_S + (later.switches - self.switches) * SWITCH_S
        foreign_s = capacity_s - (later.idle_s - self.idle_s) - (later.own_s - self.own_s) - allowed_s
        return min(1.0, max(0.0, foreign_s / capacity_s))


class Watch:
    """Tells quiet runs from others. Has patience for so many seconds per workload."""

    def __init__(self, bound, patience_s):
        self.bound, self.patience_s = bound, patience_s
        self.left_s = 0.0
        self.shares = []  # of all runs
        self.discarded = 0
        self.gave_up = []  # workloads

    def begin(self, workload, in_time):
        """in_time: whether what is measured has to do with time, so that others disturb it."""
        self.workload, self.in_time = workload, in_time
        self.left_s = self.patience_s if in_time else 0.0

    def is_quiet(self, share):
        return share <= self.bound or not self.in_time

    def wait(self, pids):
        """Until others use little, or patience ends."""
        while self.left_s > 0:
            before = Reading(pids)
            time.sleep(SAMPLE_S)
            after = Reading(pids)
            if self.is_quiet(before.foreign_until(after)):
                return
            self.left_s -= after.time_s - before.time_s

    def run(self, pids, measure):
        """What measure() gives, and the foreign share meanwhile.

        Again and again until that is small, or patience ends."""
        while True:
            self.wait(pids)
            before = Reading(pids)
            result = measure()
            after = Reading(pids)
            share = before.foreign_until(after)
            if self.in_time:
                self.shares.append(share)
            if self.is_quiet(share):
                return result, share
            self.discarded += 1
            self.left_s -= after.time_s - before.time_s
            if self.left_s <= 0 and self.patience_s > 0 and self.workload not in self.gave_up:
                self.gave_up.append(self.workload)
            if self.left_s <= 0:
                return result, share
