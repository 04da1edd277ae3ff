#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench.py [option]... - compare hora.Executor with concurrent.futures.ThreadPoolExecutor

Prints tasks per second, the best of several rounds in which the executors take turns:

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


def seconds(make, workers, work, tasks):
    with make(workers) as executor:
        work(executor, 100)
        start = time.perf_counter()
        work(executor, tasks)
        return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tasks", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=4)
    options = parser.parse_args()
    print(f"{'tasks per second':18}" + "".join(f"{name:>20}" for name in EXECUTORS))
    for title, work in WORK.items():
        best = dict.fromkeys(EXECUTORS, float("inf"))
        for _ in range(options.rounds):
            for name, make in EXECUTORS.items():
                best[name] = min(best[name], seconds(make, options.workers, work, options.tasks))
        print(f"{title:18}" + "".join(f"{options.tasks / best[name]:20,.0f}" for name in EXECUTORS))


if __name__ == "__main__":
    main()
