#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""croniter_peer.py --answers | WORKLOAD - croniter, as cron_main.c measures the others

Debian: python3-croniter"""

import datetime
import sys
import time
from pathlib import Path

try:
    from croniter import croniter
    import pytz
except ImportError:
    sys.exit(77)

COLUMN = 4
PARTS = 5
INSTANTS = [1704067200 + number * 2959391 for number in range(32)]


def read_rows():
    lines = (Path(__file__).resolve().parent / "rows.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def starts(zone):
    # With those of dateutil and zoneinfo, croniter is an hour off near clock changes.
    place = pytz.timezone(zone)
    return [datetime.datetime.fromtimestamp(instant, place) for instant in INSTANTS]


def ask_next(iterator, begins):
    for begin in begins:
        iterator.set_current(begin)
        iterator.get_next(float)


def ask_parse(text, begins):
    for begin in begins:
        croniter(text, begin)


def measure_part(subject, ask, begins, window_s):
    begin, calls, spent = time.perf_counter(), 0, 0.0
    while calls == 0 or spent < window_s:
        ask(subject, begins)
        calls += len(begins)
        spent = time.perf_counter() - begin
    return spent * 1e9 / calls


def measure_row(row, workload, window_s):
    begins = starts(row[0])
    if workload == "cron.next":
        subject, ask = croniter(row[COLUMN], begins[0]), ask_next
    else:
        subject, ask = row[COLUMN], ask_parse
    return min(measure_part(subject, ask, begins, window_s / PARTS) for _ in range(PARTS))


def serve(rows, workload):
    rows = [row for row in rows if "-" not in row]
    for line in sys.stdin:
        what, amount = line.split()
        value = sum(measure_row(row, workload, int(amount) / 1000 / len(rows)) for row in rows) / len(rows)
        if what == "run":
            print(workload, f"{value:.1f}", "ns", "lower")
        print(".", flush=True)


def answer(rows):
    for number, row in enumerate(rows):
        if row[COLUMN] == "-":
            continue
        for question, begin in enumerate(starts(row[0])):
            print(number, question, int(croniter(row[COLUMN], begin).get_next(float)))


if __name__ == "__main__":
    if sys.argv[1] == "--answers":
        answer(read_rows())
    else:
        serve(read_rows(), sys.argv[1])
