# SPDX-License-Identifier: Apache-2.0
"""Many threads use executors at once, and every task ends in exactly one way.

HORA_PYTHON_STRESS is the number of seconds of each test (1; with HORA_SOAK=1 300).
"""

import collections
import concurrent.futures
import os
import random
import sys
import threading
import time
import unittest

import hora

SECONDS = float(os.environ.get("HORA_PYTHON_STRESS") or (300 if os.environ.get("HORA_SOAK") == "1" else 1))
TIMEOUT = 60


class Ledger:
    """Counts how often each task ran, and keeps its future."""

    def __init__(self):
        self.runs = collections.Counter()
        self.entries = []
        self.lock = threading.Lock()

    def task(self, number, outcome):
        with self.lock:
            self.runs[number] += 1
        if outcome == "raise":
            raise ValueError(number)
        if outcome == "sleep":
            time.sleep(0.0005)
        return number

    def add(self, number, future):
        with self.lock:
            self.entries.append((number, future))

    def check(self, case):
        """Each future is done, and what it says agrees with the runs."""
        futures = [future for _, future in self.entries]
        left = concurrent.futures.wait(futures, TIMEOUT).not_done
        case.assertEqual(left, set())
        for number, future in self.entries:
            if future.cancelled():
                case.assertEqual(self.runs[number], 0)
                continue
            error = future.exception(0)
            if isinstance(error, hora.RejectedError):
                case.assertEqual(self.runs[number], 0)
                continue
            case.assertEqual(self.runs[number], 1)
            value = error.args[0] if error is not None else future.result(0)
            case.assertEqual(value, number)
        return len(futures)


def in_threads(count, action):
    """Calls action(random) in several threads for some time; raises what one of them raises."""
    errors, end = [], time.monotonic() + SECONDS

    def work(seed):
        numbers = random.Random(seed)
        try:
            while time.monotonic() < end and not errors:
                action(numbers)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Stress(unittest.TestCase):
    def submissions(self, **options):
        ledger, numbers = Ledger(), iter(range(sys.maxsize))
        with hora.Executor(**options) as executor:

            def action(numbers_of_thread):
                number = next(numbers)
                outcome = numbers_of_thread.choice(("return", "return", "raise", "sleep"))
                try:
                    future = executor.submit(ledger.task, number, outcome)
                except hora.RejectedError:
                    self.assertEqual(ledger.runs[number], 0)
                    return
                ledger.add(number, future)
                choice = numbers_of_thread.random()
                if choice < 0.2:
                    future.cancel()
                elif choice < 0.5:
                    concurrent.futures.wait([future], TIMEOUT)

            in_threads(6, action)
        self.assertGreater(ledger.check(self), 100)
        stats = executor.stats()
        self.assertEqual(stats.accepted, sum(stats[7:13]))

    def test_unbounded(self):
        self.submissions(max_workers=4)

    def test_bounded_with_surplus_threads(self):
        self.submissions(max_workers=6, core_workers=1, queue_size=3, keep_alive=0.001)

    def test_blocking(self):
        self.submissions(max_workers=2, queue_size=2, rejection="block")

    def test_discarding(self):
        self.submissions(max_workers=2, queue_size=2, rejection="discard_oldest")

    def test_caller_runs(self):
        self.submissions(max_workers=2, queue_size=1, rejection="caller_runs")

    def test_stealing(self):
        self.submissions(max_workers=3, stealing=True)

    def test_short_lives(self):
        """Executors that end in all ways while other threads use them."""
        ledger, numbers = Ledger(), iter(range(sys.maxsize))

        def submit(executor, count):
            for _ in range(count):
                number = next(numbers)
                try:
                    ledger.add(number, executor.submit(ledger.task, number, "return"))
                except RuntimeError:
                    return

        def action(numbers_of_thread):
            executor = hora.Executor(numbers_of_thread.randint(1, 3))
            other = threading.Thread(target=submit, args=(executor, 20))
            other.start()
            submit(executor, numbers_of_thread.randint(0, 5))
            end = numbers_of_thread.randrange(4)
            if end < 3:
                executor.shutdown(wait=end == 0, cancel_futures=end == 1)
            del executor  # without shutdown, the thread `other` has the last reference
            other.join()

        in_threads(3, action)
        self.assertGreater(ledger.check(self), 100)

    def test_schedules(self):
        """Series that run, fail, pause, change and end while other threads look at them."""
        with hora.Scheduler(3) as scheduler:

            def action(numbers):
                runs = []
                future = scheduler.every(0.0005, runs.append, 1, failure="continue")
                other = scheduler.after(numbers.random() * 0.002, len, "four")
                for _ in range(numbers.randint(1, 5)):
                    choice = numbers.randrange(4)
                    if choice == 0:
                        future.pause()
                        self.assertTrue(future.is_paused)
                        future.resume()
                    elif choice == 1:
                        future.reschedule(0, every=0.001)
                    elif choice == 2:
                        self.assertGreaterEqual(future.runs, len(runs) - 1)
                    time.sleep(0.0005)
                self.assertTrue(future.cancel())
                other.cancel()
                concurrent.futures.wait([future, other], TIMEOUT)
                self.assertTrue(future.cancelled())
                self.assertTrue(other.cancelled() or other.result(0) == 4)

            in_threads(4, action)
        stats = scheduler.stats()
        self.assertEqual((stats.queued, stats.accepted), (0, sum(stats[7:13])))


if __name__ == "__main__":
    sys.exit(unittest.main())
