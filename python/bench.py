#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench.py [option]... - compare hora.Executor with concurrent.futures.ThreadPoolExecutor

Prints tasks per second, and the processor time that all threads use for one task. Both are the best of
several rounds, in which the executors take turns:

  submit+result   one thread submits a task and waits for its result, one after the other
  burst           one thread submits all tasks and then waits for all results
  map             Executor.map over all tasks
  nested          each task submits another one and does not wait for it

Options:
  --tasks N       tasks per round (5000)
  --rounds N      rounds (5)
  --workers N     threads of each executor (4)

The package hora must be importable: set PYTHONPATH to the folder "python" of a build, or install the wheel.
"""

import argparse
import concurrent.futures
import threading
import time

import hora

EXECUTORS = {"hora.Executor": hora.Executor, "ThreadPoolExecutor": concurrent.futures.ThreadPoolExecutor}


def nothing(_=None):
    pass


def one_by_one(executor, tasks):
    for _ in range(tasks):
        executor.submit(nothing).result()


def burst(executor, tasks):
    for future in [executor.submit(nothing) for _ in range(tasks)]:
        future.result()


def map_all(executor, tasks):
    for _ in executor.map(nothing, range(tasks)):
        pass


def nested(executor, tasks):
    left, end = [tasks], threading.Event()

    def step():
        left[0] -= 1
        if left[0] > 0:
            executor.submit(step)
        else:
            end.set()

    executor.submit(step)
    end.wait()


WORK = {"submit+result": one_by_one, "burst": burst, "map": map_all, "nested": nested}


def measure(make, workers, work, tasks):
    """The time and the processor time of one task, in seconds."""
    with make(workers) as executor:
        work(executor, 100)
        start, start_of_processor = time.perf_counter(), time.process_time()
        work(executor, tasks)
        return (time.perf_counter() - start) / tasks, (time.process_time() - start_of_processor) / tasks


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tasks", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=4)
    options = parser.parse_args()
    print(f"{'':16}" + "".join(f"{name:>27}" for name in EXECUTORS))
    for title, work in WORK.items():
        measured = {name: [] for name in EXECUTORS}
        for _ in range(options.rounds):
            for name, make in EXECUTORS.items():
                measured[name].append(measure(make, options.workers, work, options.tasks))
        line = f"{title:16}"
        for results in measured.values():
            seconds, processor = (min(column) for column in zip(*results))
            line += f"{1 / seconds:11,.0f}/s {processor * 1e6:7.1f} us CPU"
        print(line)


if __name__ == "__main__":
    main()
