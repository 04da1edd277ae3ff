# SPDX-License-Identifier: Apache-2.0
"""chaos_check.py - the checker of tests/app/run/chaos: whether what ran is what the jobs promise

As the checker of Jepsen's Chronos test does, it computes the targets of each job, which are its planned times, and
matches the runs to them. What ran is what the processes wrote themselves (logged_job.c). The history of the store
must agree with it, and account for every target that has no run.

  C1  each target is accounted for exactly once: by a final outcome, or as skipped; and the series has not stopped
  C2  an outcome in the history has a run with its fence, its attempt and its exit status
  C3  a run has a record with its fence, which says how it ended, or that it was lost
  C4  fences and attempts of a firing grow; no two runs of it have the same
  C5  a firing runs again only after a failed attempt, or after a run that was lost
  C6  on_crash skip and fail: a firing does not run again after a run of it was lost
  C7  on_crash rerun: a firing that was lost is repeated until it ends by itself, or has been lost ten times
  C8  a target is skipped only as `missed` and `overlap` say
  C9  no run starts before its planned time
  C10 when the faults are over, all is as usual again: no run is lost, missed or late
  C11 runs of a job overlap only as far as `overlap` says, except while their node is paused
  C12 a process does not outlive its runner, nor the lease of its run
  C13 the number of failed attempts is that of `retries`
  C14 the outcome of a run is soon in the store, so that a crash repeats only what has just ended

PLANTS changes what was seen, in one place. The checker must complain about each of these changes.
"""

import copy
from collections import Counter, defaultdict, namedtuple
from datetime import datetime, timezone

from chaos_jobs import SECOND

SUCCEEDED, FAILED, GAVE_UP, LOST, SKIPPED, STOPPED = 1, 2, 3, 4, 5, 6
# Codes of app/runner/internal.h.
INTERRUPTED, CRASHED, SKIPPED_CODE, NOT_BEGUN = 1002, 1003, 1004, 1006
NO_RUN_CODES = (CRASHED, SKIPPED_CODE, NOT_BEGUN)
MAX_CRASHES = 10

KILL_SLACK = 1 * SECOND  # until a process is dead after its runner was killed or continued
SETTLE_SLACK = 1 * SECOND  # between the end of a process and its outcome in the store
LATE = 2 * SECOND  # a later start is not usual
STOP_SLACK = 5 * SECOND  # how old the next time of a job may be when the runners are stopped
COMMIT_SLACK = 2 * SECOND  # between a decision and its commit

Run = namedtuple("Run", "planned attempt fence life start end status")
Record = namedtuple("Record", "planned outcome code started ended attempt fence node skipped")


class Life:
    """A runner from its start to its end. Times are in microseconds."""

    def __init__(self, name, node, started):
        self.name, self.node, self.started = name, node, started
        self.ready = None  # when it said so
        self.killed = None  # (before, after) the kill; None: it ended in order
        self.pauses = []  # (before SIGSTOP, after SIGCONT), and times at which the machine stood still
        self.fenced = []  # when it said that it had lost its lease


class Seen:
    """What a test has seen of one job."""

    def __init__(self, runs, records, planned, pending):
        self.runs, self.records = runs, records
        self.planned = planned  # the next time in the store
        self.pending = pending  # times of overlapping runs that wait for another attempt


class Context:
    """What a test knows about all jobs."""

    def __init__(self, lives, first, stop, recovered):
        self.lives = lives  # by name
        self.first = first  # (before, after) the jobs were put into the store
        self.stop = stop  # when the last runner was asked to end
        self.recovered = recovered  # all is as usual from this time on
        self.ready = defaultdict(list)  # of each node: when its lives became ready
        for life in lives.values():
            if life.ready is not None:
                self.ready[life.node].append(life.ready)

    def end_of(self, run, nested):
        """When the process of a run was dead, at the latest; None if that is not known."""
        if run.end is not None:
            return run.end
        life = self.lives[run.life]
        fenced = min((time for time in life.fenced if time >= run.start), default=None)
        if fenced is not None:
            return fenced  # the runner kills its processes before it says so
        if life.killed is None:
            return None
        if not nested:
            return life.killed[1]
        # The next life of the node kills what was left before it is ready.
        return min((ready for ready in self.ready[life.node] if ready > life.killed[0]), default=None)


# ---- reading ----

def micros(text):
    """2026-11-17T03:00:00.004Z in microseconds."""
    whole, _, part = text.rstrip("Z").partition(".")
    seconds = int(datetime.fromisoformat(whole).replace(tzinfo=timezone.utc).timestamp())
    return seconds * SECOND + int(part.ljust(6, "0")[:6] or 0)


def read_log(path):
    """The runs of each job, in the order of their starts, and violations of the form of the log."""
    runs, open_runs, wrong = defaultdict(list), {}, []
    cache = {}
    with open(path, encoding="utf-8") as log:
        for line in log:
            fields = line.rstrip("\n").split("\t")
            if len(fields) != (9 if fields[0] == "end" else 8) or not line.endswith("\n"):
                wrong.append(f"C3 the log has the line {line!r}")
                continue
            kind, job, scheduled, attempt, fence, life, pid, time = fields[:8]
            planned = cache.get(scheduled)
            if planned is None:
                planned = cache[scheduled] = micros(scheduled)
            which = (job, planned, int(fence), life, pid)
            if kind == "start":
                open_runs[which] = len(runs[job])
                runs[job].append(Run(planned, int(attempt), int(fence), life, int(time) // 1000, None, None))
            elif which in open_runs:
                index = open_runs.pop(which)
                runs[job][index] = runs[job][index]._replace(end=int(time) // 1000, status=int(fields[8]))
            else:
                wrong.append(f"C3 {job} has an end without a start: {line!r}")
    for some in runs.values():
        some.sort(key=lambda run: run.start)
    return runs, wrong


# ---- checking ----

def say(time):
    return datetime.fromtimestamp(time / SECOND, timezone.utc).strftime("%H:%M:%S.%f")


def is_skip(record):
    """A record of times that were skipped without a run."""
    return record.outcome == SKIPPED and record.started == 0


def check(job, seen, context):
    """Returns the violations of one job."""
    wrong = []
    by_fence = defaultdict(list)
    firings = defaultdict(list)  # the records of each planned time, skips excepted
    for record in seen.records:
        if not is_skip(record):
            by_fence[record.planned, record.fence].append(record)
            firings[record.planned].append(record)
    attempts = defaultdict(list)
    for run in seen.runs:
        attempts[run.planned].append(run)
    wrong += check_accounts(job, seen, context)
    wrong += check_records(seen, by_fence, context)
    for planned, runs in attempts.items():
        wrong += check_attempts(job, runs, by_fence)
        if (planned - job.phase) % job.period != 0:
            wrong.append(f"C1 a run for {say(planned)}, which is no planned time")
    for records in firings.values():
        wrong += check_crashes(job, sorted(records, key=lambda record: record.attempt), attempts, by_fence)
    for record in seen.records:
        wrong += check_skips(job, record, firings)
    wrong += check_recovery(job, seen, context)
    wrong += check_overlap(job, seen, context) if job.kind.overlap[0] != "allow" else check_most(job, seen, context)
    wrong += check_outliving(job, seen, by_fence, context)
    return [f"{text} [{job.name}]" for text in wrong]


def is_stopped(job, seen, context):
    return seen.planned < context.stop - STOP_SLACK - job.period


def check_accounts(job, seen, context):
    """C1"""
    wrong = []
    accounts = Counter(seen.pending)
    for record in seen.records:
        if is_skip(record):
            accounts.update(record.planned + i * job.period for i in range(record.skipped))
        elif record.outcome not in (FAILED, LOST):
            accounts.update(record.planned + i * job.period for i in range(record.skipped + 1))
    first, surely = job.first_from(context.first[0]), job.first_from(context.first[1])
    while first < surely and accounts[first] == 0:
        first += job.period  # it had passed when the job was put
    if seen.planned is None:
        return ["C1 is not in the store"]
    for time in job.times(first, seen.planned):
        count = accounts.pop(time, 0)
        if count != 1:
            wrong.append(f"C1 the target {say(time)} is {'not accounted for' if count == 0 else 'settled twice'}")
    wrong += [f"C1 {say(time)} is settled, and is no target" for time, count in accounts.items() if count > 0]
    if is_stopped(job, seen, context):
        wrong.append(f"C1 has stopped: its next time in the store is {say(seen.planned)}")
    return wrong


def check_records(seen, by_fence, context):
    """C2, C3"""
    wrong = []
    runs = defaultdict(list)
    for run in seen.runs:
        runs[run.planned, run.fence].append(run)
    for which, records in by_fence.items():
        if len(records) > 1:
            wrong.append(f"C3 {say(which[0])} has {len(records)} records with the fence {which[1]}")
        record, some = records[0], runs.get(which, [])
        if record.outcome == LOST:
            continue
        if record.code in NO_RUN_CODES:
            if some:
                wrong.append(f"C2 {say(record.planned)} ran, and its record {record} says that it did not start")
        elif record.code == INTERRUPTED and some:
            continue
        elif not some:
            wrong.append(f"C2 {say(record.planned)} has the record {record}, and no run")
        elif (some[0].attempt, some[0].status) != (record.attempt, record.code):
            wrong.append(f"C2 {say(record.planned)} has the record {record}, and ended with {some[0]}")
        elif (record.outcome == SUCCEEDED) != (record.code == 0):
            wrong.append(f"C2 {say(record.planned)} has the record {record}, whose code is not its outcome")
    for which, some in runs.items():
        if len(some) > 1:
            wrong.append(f"C4 {say(which[0])} ran {len(some)} times with the fence {which[1]}")
        if which not in by_fence:
            wrong.append(f"C3 {some[0]} has no record")
        elif by_fence[which][0].outcome == LOST:
            wrong += check_lost(some[0], context.lives.get(some[0].life))
        elif some[0].end is None and by_fence[which][0].code != INTERRUPTED:
            wrong.append(f"C3 {some[0]} did not end, and has the record {by_fence[which][0]}")
    return wrong


def check_lost(run, life):
    """C3, C14: a run whose outcome does not count"""
    if life is None or (life.killed is None and not life.fenced and not life.pauses):
        return [f"C3 {run} was lost, and its runner has not lost its lease"]
    if run.end is not None and not life.fenced and not life.pauses and life.killed[0] - run.end > SETTLE_SLACK:
        return [f"C14 {run} was lost, and its runner was killed {(life.killed[0] - run.end) / SECOND:.1f} s later"]
    return []


def count_failures(runs, by_fence):
    """How many runs of a firing have failed, for all that the store knows."""
    return sum(run.status == 1 and any(record.outcome != LOST for record in by_fence.get((run.planned, run.fence), []))
               for run in runs)


def check_attempts(job, runs, by_fence):
    """C4, C5, C6, C9, C13: the runs of one firing"""
    wrong = []
    for run in runs:
        if run.start < run.planned:
            wrong.append(f"C9 {run} started {run.planned - run.start} us before its time")
    for first, second in zip(runs, runs[1:]):
        if second.fence <= first.fence or second.attempt <= first.attempt:
            wrong.append(f"C4 {second} has not a greater fence and attempt than {first}")
        records = by_fence.get((first.planned, first.fence), [])
        outcome = records[0].outcome if records else None
        if outcome not in (LOST, FAILED):
            wrong.append(f"C5 {second} ran again after {first}, whose outcome is {outcome}")
        if outcome == LOST and job.kind.on_crash != "rerun":
            wrong.append(f"C6 {second} ran again after {first}, which was lost")
    failures = count_failures(runs, by_fence)
    if failures > job.kind.retries + 1:
        wrong.append(f"C13 {say(runs[0].planned)} failed {failures} times, with {job.kind.retries} retries")
    return wrong


def check_crashes(job, records, attempts, by_fence):
    """C6, C7, C13: the records of one firing, by attempt"""
    lost = [record for record in records if record.outcome == LOST or record.code == INTERRUPTED]
    last = records[-1]
    when = say(last.planned)
    if last.outcome in (LOST, FAILED):
        return []  # C1 says whether it ended
    if last.outcome == GAVE_UP and last.code == 1:
        failures = count_failures(attempts[last.planned], by_fence)
        if failures != job.kind.retries + 1:
            return [f"C13 {when} gave up after {failures} failures, with {job.kind.retries} retries"]
        return []
    if last.outcome == SUCCEEDED:
        return []  # C5 and C6 look at its runs
    if not lost:
        return [f"C7 {when} ended as {last}, and was not lost"]
    expected = {"skip": (SKIPPED, SKIPPED_CODE), "fail": (GAVE_UP, CRASHED), "rerun": (GAVE_UP, CRASHED)}
    if (last.outcome, last.code) != expected[job.kind.on_crash]:
        return [f"C6 {when} ended as {last} after a crash"]
    if job.kind.on_crash == "rerun" and len(lost) < MAX_CRASHES:
        return [f"C7 {when} was given up after {len(lost)} crashes"]
    return []


def count_others(record, firings):
    """How many other firings were in progress when a firing was skipped."""
    return sum(planned != record.planned and planned <= record.ended and
               max(some.ended for some in records) >= record.ended - COMMIT_SLACK
               for planned, records in firings.items())


def check_skips(job, record, firings):
    """C8"""
    if record.skipped == 0:
        return []
    word, most = job.kind.overlap
    if is_skip(record):
        last = record.planned + (record.skipped - 1) * job.period
        if word == "allow" and record.skipped == 1 and count_others(record, firings) >= most:
            return []  # so many ran already
        if record.ended - record.planned <= job.missed_after:
            return [f"C8 {say(record.planned)} was skipped after {record.ended - record.planned} us: it was not missed"]
        word, most = job.kind.missed
    else:
        last = record.planned + record.skipped * job.period
        if word == "skip" and not (record.started - COMMIT_SLACK < record.planned + job.period and
                                   last <= record.ended):
            return [f"C8 {record} skipped times that did not come during it"]
    if last > record.ended:
        return [f"C8 {record} skipped {say(last)}, which had not come"]
    keeps = {"skip": 0, "once": 1, "all": most, "queue": most}[word]
    kept = job.count(last, record.ended)
    more = 1 + COMMIT_SLACK // job.period  # times that came between the decision and its commit
    if kept < keeps or kept > keeps + more:
        return [f"C8 {record} kept {kept} times, and {word} {most} keeps {keeps}"]
    return []


def check_recovery(job, seen, context):
    """C10"""
    wrong = []
    begin, end = context.recovered, context.stop - LATE
    for record in seen.records:
        if record.planned < begin:
            continue
        if record.outcome == LOST or (is_skip(record) and job.kind.overlap[0] != "allow"):
            wrong.append(f"C10 {record} after the faults")
    if job.milliseconds < job.period // 2000:
        for run in seen.runs:
            if begin <= run.planned < end and run.attempt == 1 and run.start - run.planned > LATE:
                wrong.append(f"C10 {run} started {(run.start - run.planned) / SECOND:.1f} s late after the faults")
    return wrong


def is_excused(first, time, context):
    """Whether the node of a run may not know that it has lost its lease: it is paused, or was just continued."""
    life = context.lives[first.life]
    return any(begin <= time <= end + KILL_SLACK and end >= first.start for begin, end in life.pauses)


def check_overlap(job, seen, context):
    """C11 for jobs whose runs do not overlap"""
    wrong = []
    latest = latest_end = None  # the run that ends last
    for run in seen.runs:
        if latest is not None:
            # A runner that was killed is dead before another one starts.
            is_over = latest_end is not None and (run.start >= latest_end or dies_with(latest, run, job, context))
            if not is_over and not is_excused(latest, run.start, context):
                wrong.append(f"C11 {run} started during {latest}")
        end = context.end_of(run, job.kind.nested)
        if latest_end is None or end is None or end >= latest_end:
            latest, latest_end = run, end
    return wrong


def dies_with(first, second, job, context):
    """Whether a process was killed with its runner, while the harness did not know yet that it was dead."""
    life = context.lives[first.life]
    return first.end is None and not job.kind.nested and life.killed is not None and \
        first.life != second.life and second.start >= life.killed[0]


def check_most(job, seen, context):
    """C11 for jobs with overlap: allow"""
    changes = []
    for run in seen.runs:
        life, end = context.lives[run.life], context.end_of(run, job.kind.nested)
        if end is None:
            continue  # C3 complains
        if run.end is None and life.killed is not None:
            end = min(end, life.killed[0])
        changes += [(run.start, 1), (end, -1)]
    count = 0
    for time, change in sorted(changes):
        count += change
        if count > job.kind.overlap[1]:
            if any(is_excused(run, time, context) for run in seen.runs if run.start <= time):
                continue
            return [f"C11 {count} runs at {say(time)}"]
    return []


def check_outliving(job, seen, by_fence, context):
    """C12"""
    wrong = []
    for run in seen.runs:
        life = context.lives.get(run.life)
        if life is None:
            wrong.append(f"C12 {run} belongs to no runner")
            continue
        last = context.end_of(run._replace(end=None), job.kind.nested)
        if last is not None and (run.end or run.start) > last + KILL_SLACK:
            wrong.append(f"C12 {run} outlived its runner or its lease, which ended at {say(last)}")
        records = by_fence.get((run.planned, run.fence), [])
        # The store gave it up at records[0].ended. If its node is alive, it must have killed it by then.
        if run.end is not None and records and records[0].outcome == LOST and \
                (life.killed is None or life.killed[0] > run.end) and \
                run.end > records[0].ended + KILL_SLACK and not is_excused(run, run.end, context):
            wrong.append(f"C12 {run} went on after its lease had ended: {records[0]}")
    return wrong


# ---- faults that the checker must find ----

def twice(items, index, **changes):
    items.insert(index + 1, items[index]._replace(**changes))


def plain_runs(seen):
    """Indices of runs that were the only one of their firing, and succeeded."""
    counts = Counter(run.planned for run in seen.runs)
    return [i for i, run in enumerate(seen.runs) if counts[run.planned] == 1 and run.status == 0]


def lose_run(job, seen, context):
    del seen.runs[plain_runs(seen)[0]]


def double_run(job, seen, context):
    twice(seen.runs, plain_runs(seen)[0])


def run_again(job, seen, context):
    i = plain_runs(seen)[0]
    run = seen.runs[i]
    twice(seen.runs, i, fence=run.fence + 1, attempt=run.attempt + 1, start=run.end + 1, end=run.end + 2)


def start_early(job, seen, context):
    i = plain_runs(seen)[0]
    seen.runs[i] = seen.runs[i]._replace(start=seen.runs[i].planned - 1)


def overlap(job, seen, context):
    i = plain_runs(seen)[-1]
    seen.runs[i] = seen.runs[i]._replace(end=seen.runs[i].end + 2 * job.period)
    run = seen.runs[i]
    seen.runs.append(run._replace(planned=run.planned + job.period, start=run.start + job.period,
                                  end=run.start + job.period + 1))


def lose_record(job, seen, context):
    i = next(i for i, record in enumerate(seen.records) if record.outcome == SUCCEEDED)
    del seen.records[i]


def double_record(job, seen, context):
    i = next(i for i, record in enumerate(seen.records) if record.outcome == SUCCEEDED)
    twice(seen.records, i)


def wrong_outcome(job, seen, context):
    i = next(i for i, record in enumerate(seen.records) if record.outcome == SUCCEEDED)
    seen.records[i] = seen.records[i]._replace(outcome=GAVE_UP, code=1)


def skip_more(job, seen, context):
    i = next(i for i, record in enumerate(seen.records) if record.outcome == SUCCEEDED)
    seen.records[i] = seen.records[i]._replace(outcome=SKIPPED, started=0, skipped=1)
    del seen.runs[next(k for k, run in enumerate(seen.runs) if run.planned == seen.records[i].planned)]


def stop_series(job, seen, context):
    last = seen.records[0]
    seen.records, seen.runs = [last], [run for run in seen.runs if run.fence == last.fence]
    seen.planned = last.planned + (last.skipped or 1) * job.period
    if last.outcome != SUCCEEDED or not is_stopped(job, seen, context):
        raise ValueError


def outlive(job, seen, context):
    i = next(i for i, run in enumerate(seen.runs)
             if run.status == 0 and context.lives[run.life].killed is not None)
    seen.runs[i] = seen.runs[i]._replace(end=context.lives[seen.runs[i].life].killed[1] + 2 * KILL_SLACK)


def repeat_after_crash(job, seen, context):
    i = plain_runs(seen)[0]
    run = seen.runs[i]
    k = next(k for k, record in enumerate(seen.records) if record.fence == run.fence)
    seen.records[k] = seen.records[k]._replace(outcome=LOST, started=0)
    twice(seen.records, k, outcome=SUCCEEDED, fence=run.fence + 1, attempt=run.attempt + 1, started=run.start)
    twice(seen.runs, i, fence=run.fence + 1, attempt=run.attempt + 1, start=run.end + 1, end=run.end + 2)


# What is planted, in jobs of which kind, and what the checker has to say.
PLANTS = [(lose_run, "all", "C2"), (double_run, "all", "C4"), (run_again, "all", "C5"), (start_early, "all", "C9"),
          (overlap, "all", "C11"), (lose_record, "all", "C1"), (double_record, "all", "C1"),
          (wrong_outcome, "all", "C2"), (skip_more, "all", "C8"), (stop_series, "all", "C1"),
          (outlive, "all", "C12"), (repeat_after_crash, "crash-skip", "C6")]


def plant(jobs, seen, context):
    """Plants each fault in a job without violations. Returns how many were found, and violations."""
    wrong = []
    for change, kind, expected in PLANTS:
        for job in (job for job in jobs if job.name.rpartition("-")[0] == kind):
            changed = copy.deepcopy(seen[job.name])
            try:
                change(job, changed, context)
            except (IndexError, StopIteration, ValueError):
                continue  # this job has nothing to change
            found = check(job, changed, context)
            if not any(text.startswith(expected + " ") for text in found):
                wrong.append(f"{change.__name__} in {job.name} was not found as {expected}: {found[:3]}")
            break
        else:
            wrong.append(f"{change.__name__} could not be planted")
    return len(PLANTS) - len(wrong), wrong
