# SPDX-License-Identifier: Apache-2.0
"""The judge of the crash tests: what the runs and the store must look like in the end.

A target is one planned time of one task. The workers write each run to a log, before and after its work; the
store has a record for each run that it has settled. check() compares both and returns a list of violations:

  I1  each target that had to start has a run
  I2  each target is settled exactly once
  I3  two runs of one target never share a fence, and fences grow with the time of the run
  I4  the fence of a settled run has run
  I5  a target that is delivered at most once has at most one run
  I6  a target with an effect has exactly one effect
  I7  runs of one series do not overlap, unless a node was killed or paused meanwhile
  I8  targets that are planned a lease and a second after the last fault, or later, start on time
  I9  no run starts before its planned time
"""

from collections import defaultdict, namedtuple

ON_TIME = 2000000  # microseconds; a busy machine, not hora, makes it that much

Run = namedtuple("Run", "planned fence attempt node start end")
SUCCEEDED, FAILED, GAVE_UP, LOST, SKIPPED = 1, 2, 3, 4, 5
FIRINGS = {"rate": 3, "delay": 3, "cron": 3, "overlap": 3}


def read_log(path):
    """Returns the runs of each key, in the order of their starts."""
    runs, opened = defaultdict(list), {}
    with open(path, encoding="utf-8") as log:
        for line in log:
            what, key, planned, fence, attempt, node, time = line.rstrip("\n").split("\t")
            run = (key, int(planned), int(fence))
            if what == "start":
                opened[run] = len(runs[key])
                runs[key].append(Run(int(planned), int(fence), int(attempt), int(node), int(time), None))
            else:
                index = opened[run]
                runs[key][index] = runs[key][index]._replace(end=int(time))
    return runs


Conditions = namedtuple("Conditions", "doubled clock_set commits_lost")


def check(kinds, runs, shown, effects=None, doubled=False, clock_set=False, commits_lost=False):
    """kinds: how many tasks of each kind. shown: the output of `store-worker show`. Returns violations.

    doubled: a node was killed or paused, so that runs may be repeated, and may overlap. clock_set: the clock
    of the store was set, and the log has times of another clock, so that they cannot be compared.
    commits_lost: the store has forgotten its last commits, and gives out again what was claimed or settled in
    them: a target that is delivered at most once may run again, and its fences need not be in order, because
    the node that had claimed it may start it last. They differ all the same."""
    conditions = Conditions(doubled, clock_set, commits_lost)
    wrong = []
    settled = defaultdict(list)
    for line in shown.splitlines():
        fields = line.split("\t")
        if fields[0] == "task":
            wrong.append(f"I1 {fields[1]} is still in the store, in state {fields[2]}")
        elif int(fields[4]) in (SUCCEEDED, GAVE_UP, SKIPPED):
            settled[fields[1]].append((int(fields[2]), int(fields[3]), int(fields[4])))
    for kind, count in kinds.items():
        for number in range(count):
            wrong += check_task(kind, f"{kind}-{number}", runs, settled, effects, conditions)
    return wrong


def check_task(kind, key, runs, settled, effects, conditions):
    wrong = []
    done = [planned for planned, _, outcome in settled[key] if outcome != SKIPPED]
    targets = FIRINGS.get(kind, 1)
    if kind == "most":
        return check_most(key, runs, settled, conditions)
    if len(done) != targets or len(set(done)) != targets:
        wrong.append(f"I2 {key} has {targets} targets, and {sorted(done)} were settled")
    by_target = defaultdict(list)
    for run in runs[key]:
        by_target[run.planned].append(run)
        if run.start < run.planned and not conditions.clock_set:
            wrong.append(f"I9 {key} started {run.planned - run.start} us before its time")
    for planned, fence, outcome in settled[key]:
        if outcome == SKIPPED:
            continue
        fences = [run.fence for run in by_target[planned]]
        if not fences:
            wrong.append(f"I1 {key} at {planned} has no run")
        elif fence not in fences:
            wrong.append(f"I4 {key} was settled with the fence {fence}, and ran with {fences}")
        if conditions.commits_lost:
            fences.sort()
        if fences != sorted(set(fences)):
            wrong.append(f"I3 {key} ran with the fences {fences}")
    if not conditions.doubled:
        wrong += check_once(kind, key, runs, by_target)
    if kind == "effect" and effects is not None and effects.get(key, 0) != 1:
        wrong.append(f"I6 {key} has {effects.get(key, 0)} effects")
    return wrong


def check_most(key, runs, settled, conditions):
    wrong = []
    fences = [run.fence for run in runs[key]]
    if len(fences) != len(set(fences)):
        wrong.append(f"I3 {key} ran with the fences {fences}")
    if len(runs[key]) > 1 and not conditions.commits_lost:
        wrong.append(f"I5 {key} was delivered at most once, and ran {len(runs[key])} times")
    if len(settled[key]) > 1:
        wrong.append(f"I2 {key} was settled {len(settled[key])} times")
    return wrong


def check_recovery(runs, since):
    """Compares the first run of each target that is planned from `since` on with its time.

    Returns the greatest delay, in microseconds, and violations. There must be such targets."""
    wrong, latest = [], None
    for key, some in runs.items():
        first = {}
        for run in some:
            first.setdefault(run.planned, run.start)
        for planned, start in first.items():
            if planned < since:
                continue
            latest = max(start - planned, latest or 0)
            if start - planned > ON_TIME:
                wrong.append(f"I8 {key} started {(start - planned) // 1000} ms late, "
                             f"{(planned - since) // 1000} ms after all was normal")
    if latest is None:
        wrong.append("I8 no target was planned after the last fault")
    return latest or 0, wrong


def check_once(kind, key, runs, by_target):
    """What holds only if no node was killed or paused."""
    wrong = []
    expected = 2 if kind == "retry" else 1
    for planned, some in by_target.items():
        if len(some) != expected:
            wrong.append(f"I1 {key} at {planned} ran {len(some)} times instead of {expected}")
    if kind != "overlap":
        for first, second in zip(runs[key], runs[key][1:]):
            if first.end is None or second.start < first.end:
                wrong.append(f"I7 {key} overlaps itself")
    return wrong
