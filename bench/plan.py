# SPDX-License-Identifier: Apache-2.0
"""What is measured, how often and how long: thoroughly, quickly, or only to see that it works"""

from collections import namedtuple

# tasks: of W1, W2 and W9 to W12. elements: of W8. churn_ms: of W3, long enough for several collections of a
# JVM. The rest is milliseconds or counts of passes; W4 to W8, W12 and cron take long, so they have fewer.
Effort = namedtuple("Effort", "name passes slow_passes window_ms churn_ms warm_up_ms tasks elements "
                              "periodic_ms idle_ms cron_ms bound patience_s")
THOROUGH = Effort("thorough", passes=5, slow_passes=3, window_ms=300, churn_ms=1000, warm_up_ms=1000,
                  tasks=1_000_000, elements=500_000, periodic_ms=5000, idle_ms=3000, cron_ms=1000, bound=0.05,
                  patience_s=20)
QUICK = Effort("quick", passes=1, slow_passes=1, window_ms=20, churn_ms=20, warm_up_ms=100, tasks=20_000,
               elements=20_000, periodic_ms=200, idle_ms=200, cron_ms=300, bound=1.0, patience_s=0)
SMOKE = QUICK._replace(name="smoke", window_ms=2, churn_ms=2, warm_up_ms=1, tasks=1000, elements=1000,
                       periodic_ms=50, idle_ms=20, cron_ms=5)

# How the cost grows: {title: [workloads, by size]}. Those that are not measured anyway have few subjects:
# hora, the JDK and the peer that was the best in the one named here.
Growth = namedtuple("Growth", "title workloads part reference unit")
SIZES = ("1k", "10k", "100k", "1M", "4M")
SLACKS_US = (0, 50, 100, 200, 500, 1000, 2000, 5000)
GROWTH = [
    Growth("W1 by producers", ["W1.execute.1p", "W1.execute.2p", "W1.execute.4p", "W1.execute.8p"], "",
           "W1.execute.4p", "producers"),
    Growth("W1 by workers", ["W1.execute.4p.1w", "W1.execute.4p", "W1.execute.4p.4w", "W1.execute.4p.8w"], "",
           "W1.execute.4p", "workers"),
    Growth("W3 by pending timers", [f"W3.cancel.{size}.1t" for size in SIZES], "", "W3.cancel.1M.1t",
           "timers"),
    Growth("W4 by timers", [f"W4.fire.{size}" for size in SIZES], ".cpu", "W4.fire.1M", "timers"),
    *(Growth(f"W5 {part} by slack", [f"W5.slack.{slack}us" for slack in SLACKS_US], f".{part}", "W5.spread",
             "us of slack") for part in ("cpu", "p50", "p99")),
    Growth("W6 by pending timers", [f"W6.memory.{size}" for size in SIZES], "", "W6.memory.1M", "timers"),
]
SIZE_OF = {"1k": 1000, "10k": 10_000, "100k": 100_000, "1M": 1_000_000, "4M": 4_000_000}
ONLY_FOR_GROWTH = {
    "W1.execute.2p", "W1.execute.8p", "W1.execute.4p.1w", "W1.execute.4p.4w", "W1.execute.4p.8w",
    "W3.cancel.10k.1t", "W3.cancel.4M.1t",
    *(f"W5.slack.{slack}us" for slack in SLACKS_US),
    *(f"{kind}.{size}" for kind in ("W4.fire", "W6.memory") for size in ("1k", "10k", "100k", "4M"))}

USUAL_ONES = ("limit", *(f"W{number}" for number in range(1, 13)), "cron")
QUICK_ONES = {"W1.execute.1p", "W1.execute.4p", "W2.submit", "W2.idle", "W3.cancel.1k.1t", "W3.cancel.1k.2t",
              "W3.window.100k.1t", "W3.reuse.1k.1t", "W4.fire.10k", "W5.spread", "W6.memory.100k", "W7.idle",
              "W8.delay", "W8.paced", "W9.order", "W9.group", "W10.tree", "W11.forms17.p1", "W12.execute",
              "cron.next", "cron.parse"}
SMOKE_ONES = ["limit", "W1", "W2", "W3.cancel.1k", "W3.cancel.10k", "W3.reuse.1k", "W4.fire.1k", "W5",
              "W6.memory.1k", "W7", "W8", "W9", "W10", "W11", "W12", "cron", "queue", "parker", "latch",
              "interrupt"]

# What the machine does at best beside a metric: (beginning, end, metric of the limit, how its value is to be
# understood).
BESIDE = [
    ("W1.", "", "limit.ring.count", "a ring between two threads, and counting", lambda value: value),
    ("W3.", ".1t", "limit.clock", "a reading of the clock for each pair", lambda value: 1e9 / value),
    ("W4.", ".p50", "limit.sleep.exact.p50", "a thread that sleeps", lambda value: value),
    ("W4.", ".p99", "limit.sleep.exact.p99", "a thread that sleeps", lambda value: value),
    ("W5.spread", ".p50", "limit.sleep.exact.p50", "a thread that sleeps", lambda value: value),
    ("W5.spread", ".p99", "limit.sleep.exact.p99", "a thread that sleeps", lambda value: value),
    ("W8.delay", ".rate", "limit.ring", "a ring between two threads", lambda value: value),
    ("W8.paced", ".p50", "limit.sleep.exact.p50", "a thread that sleeps", lambda value: value),
    ("W8.paced", ".p99", "limit.sleep.exact.p99", "a thread that sleeps", lambda value: value),
]


def size_of(growth, workload):
    """Where a workload stands on the axis of its growth."""
    for word in reversed(workload.split(".")):
        if word in SIZE_OF:
            return SIZE_OF[word]
        if growth.unit == "us of slack" and word.endswith("us"):
            return int(word[:-2])
        if growth.unit in ("producers", "workers") and word.endswith(growth.unit[0]):
            return int(word[:-1])
    return 2  # workers, where the name does not say


def begins(workload, beginnings):
    return any((workload + ".").startswith(beginning + ".") for beginning in beginnings)


def chosen(workloads, effort, names):
    """Those to be measured, in order: first those with all subjects, then those for the growth."""
    if names:
        wanted = [workload for workload in workloads if begins(workload, names)]
        beside = {limit for beginning, _, limit, *_ in BESIDE
                  if any(workload.startswith(beginning) for workload in wanted)}
        wanted = [workload for workload in workloads
                  if workload in wanted or any(begins(limit, [workload]) for limit in beside)]
    elif effort.name == "quick":
        wanted = [workload for workload in workloads if workload in QUICK_ONES or begins(workload, ["limit"])]
    elif effort.name == "smoke":
        wanted = [workload for workload in workloads if begins(workload, SMOKE_ONES)]
    else:
        wanted = [workload for workload in workloads if begins(workload, USUAL_ONES)]
    return sorted(wanted, key=lambda workload: workload in ONLY_FOR_GROWTH)


def growth_of(workload):
    return next((growth for growth in GROWTH if workload in growth.workloads), None)


def measures_memory(workload):
    """Whether a run needs a process of its own: what a process has freed, it may still hold."""
    return begins(workload, ["W6", "W12"])


def passes_and_amount(workload, effort):
    """How often a workload is run, and what it is told: how many tasks or elements, or how long."""
    kind = workload.split(".")[0]
    slow = effort.slow_passes
    tasks = {kind: (effort.passes, effort.tasks) for kind in ("W1", "W2", "W9", "W10", "W11")}
    others = {"W3": (effort.passes, effort.churn_ms), "W4": (slow, 0), "W5": (slow, effort.periodic_ms),
              "W6": (slow, 0), "W7": (slow, effort.idle_ms), "W8": (slow, effort.elements),
              "W12": (slow, effort.tasks), "cron": (slow, effort.cron_ms)}
    return (tasks | others).get(kind, (effort.passes, effort.window_ms))
