# SPDX-License-Identifier: Apache-2.0
"""Scheduler, on a virtual clock: when tasks run, how series end, and what their futures say."""

import concurrent.futures
import sys
import threading
import unittest
from concurrent.futures import CancelledError
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import hora

TIMEOUT = 20
START = datetime(2026, 3, 28, 12, 0, tzinfo=timezone.utc)


class Case(unittest.TestCase):
    def setUp(self):
        self.clock = hora.VirtualClock(START)
        self.scheduler = hora.Scheduler(2, clock=self.clock)
        self.times = []

    def tearDown(self):
        self.scheduler.shutdown(wait=False, cancel_futures=True)
        self.clock.advance(0)
        self.scheduler.shutdown()

    def note(self, result=None):
        self.times.append((self.clock.now() - START).total_seconds())
        return result

    def fail_first(self, failures):
        """A task that fails that often and then succeeds."""
        left = iter(range(failures))

        def run():
            self.note()
            for number in left:
                raise ValueError(number)
            return "done"

        return run


class Once(Case):
    def test_after(self):
        future = self.scheduler.after(1.5, self.note, "result")
        self.assertEqual(future.next_time, START + timedelta(seconds=1.5))
        self.clock.advance(1.499)
        self.assertEqual(self.times, [])
        self.clock.advance(0.001)
        self.assertEqual((self.times, future.result(0)), ([1.5], "result"))
        self.assertIsNone(future.next_time)
        self.assertEqual((future.runs, future.last_time), (1, START + timedelta(seconds=1.5)))

    def test_after_raises(self):
        future = self.scheduler.after(timedelta(seconds=1), len, 3)
        self.clock.advance(1)
        self.assertIsInstance(future.exception(0), TypeError)

    def test_at(self):
        berlin = ZoneInfo("Europe/Berlin")
        future = self.scheduler.at(datetime(2026, 3, 28, 14, 0, tzinfo=berlin), self.note)
        past = self.scheduler.at(datetime(2020, 1, 1, tzinfo=timezone.utc), self.note)
        self.clock.settle()
        self.assertTrue(past.done())
        self.clock.advance(timedelta(hours=2))
        self.assertEqual((self.times, future.done()), ([0, 3600], True))

    def test_at_follows_the_calendar(self):
        self.scheduler.at(START + timedelta(hours=5), self.note)
        self.clock.set_time(START + timedelta(hours=5))
        self.clock.settle()
        self.assertEqual(self.times, [5 * 3600])

    def test_cancel(self):
        future = self.scheduler.after(1, self.note)
        self.assertTrue(future.cancel())
        self.assertEqual(concurrent.futures.wait([future], 0).done, {future})
        self.clock.advance(10)
        self.assertEqual(self.times, [])
        self.assertEqual(self.scheduler.stats().queued, 0)

    def test_retry(self):
        errors = []
        retry = hora.BackOff(first=1, factor=3, longest=5)
        future = self.scheduler.after(10, self.fail_first(3), retry=retry, on_error=errors.append)
        self.clock.advance(60)
        self.assertEqual(self.times, [10, 11, 14, 19])
        self.assertEqual(([error.args[0] for error in errors], future.result(0)), ([0, 1, 2], "done"))

    def test_attempts(self):
        with self.assertLogs("hora", "ERROR"):
            future = self.scheduler.after(0, self.fail_first(9), retry=hora.BackOff(), attempts=2)
            self.clock.advance(60)
        self.assertEqual((future.runs, future.exception(0).args), (2, (1,)))

    def test_submit_and_map(self):
        self.assertEqual(self.scheduler.submit(pow, 2, 3).result(TIMEOUT), 8)
        self.assertEqual(list(self.scheduler.map(abs, [-1, -2])), [1, 2])


class Series(Case):
    def test_fixed_rate(self):
        future = self.scheduler.every(10, self.note, initial_delay=3)
        self.clock.advance(25)
        self.assertEqual(self.times, [3, 13, 23])
        self.assertEqual(future.next_time, START + timedelta(seconds=33))
        self.assertFalse(future.done() or future.running())
        self.assertTrue(future.cancel())
        self.clock.advance(100)
        self.assertEqual(len(self.times), 3)
        self.assertRaises(CancelledError, future.result)
        self.assertEqual(concurrent.futures.wait([future], 0).done, {future})

    def test_fixed_delay(self):
        self.scheduler.every(timedelta(seconds=10), self.note, delay=True)
        self.clock.advance(25)
        self.assertEqual(self.times, [0, 10, 20])

    def test_count_and_end(self):
        results = iter("abc")
        counted = self.scheduler.every(1, lambda: next(results), count=3)
        ended = self.scheduler.every(10, self.note, "last", end=START + timedelta(seconds=35))
        self.clock.advance(60)
        self.assertEqual((counted.result(0), counted.runs), ("c", 3))
        self.assertEqual((ended.result(0), self.times), ("last", [0, 10, 20, 30]))

    def test_an_exception_ends_the_series(self):
        with self.assertNoLogs("hora"):
            future = self.scheduler.every(1, self.fail_first(1))
            self.clock.advance(10)
        self.assertEqual((future.runs, future.failures), (1, 1))
        self.assertIsInstance(future.exception(0), ValueError)

    def test_a_series_that_continues(self):
        with self.assertLogs("hora", "ERROR") as logs:
            future = self.scheduler.every(1, self.fail_first(2), failure="continue", name="flaky")
            self.clock.advance(0)
            self.assertEqual(future.last_error.args, (0,))
            self.clock.advance(1)
        self.assertEqual(len(logs.output), 2)
        self.assertIn("a run of flaky failed", logs.output[0])
        self.clock.advance(1)
        self.assertIsNone(future.last_error)
        self.assertEqual((future.runs, future.failures, future.done()), (3, 2, False))

    def test_back_off(self):
        back_off = hora.BackOff(first=5, factor=2, longest=60)
        future = self.scheduler.every(1, self.fail_first(2), failure=back_off, on_error=lambda _: None)
        self.clock.advance(17)
        self.assertEqual(self.times, [0, 5, 15, 16, 17])
        self.assertFalse(future.done())

    def test_stop_after(self):
        future = self.scheduler.every(
            1, self.fail_first(9), failure="continue", stop_after=3, on_error=lambda _: None)
        self.clock.advance(10)
        self.assertEqual((future.runs, future.exception(0).args), (3, (2,)))

    def test_an_error_in_on_error_is_reported(self):
        unraisable, hook = [], sys.unraisablehook
        sys.unraisablehook = lambda args: unraisable.append(args.exc_value)
        try:
            self.scheduler.every(1, self.fail_first(1), failure="continue", on_error=lambda _: 1 / 0)
            self.clock.advance(1)
        finally:
            sys.unraisablehook = hook
        self.assertEqual(([type(each) for each in unraisable], len(self.times)), ([ZeroDivisionError], 2))

    def missed(self, missed):
        """The times of a series of which five have passed while it was paused."""
        future = self.scheduler.every(10, self.note, missed=missed)
        self.clock.advance(0)
        future.pause()
        self.assertTrue(future.is_paused)
        self.assertIsNone(future.next_time)
        self.clock.advance(55)
        future.resume()
        self.clock.advance(10)
        return self.times, future.skipped

    def test_missed_once(self):
        self.assertEqual(self.missed("once"), ([0, 55, 60], 4))

    def test_missed_burst(self):
        self.assertEqual(self.missed("burst"), ([0, 55, 55, 55, 55, 55, 60], 0))

    def test_missed_skip(self):
        self.assertEqual(self.missed("skip"), ([0, 60], 5))

    def test_missed_at_most(self):
        self.assertEqual(self.missed(2), ([0, 55, 55, 60], 3))

    def test_overlap(self):
        entered, released = threading.Semaphore(0), threading.Event()

        def task():
            entered.release()
            released.wait(TIMEOUT)

        with hora.Scheduler(2) as scheduler:  # in real time: two runs must be in progress at once
            future = scheduler.every(0.001, task, overlap=2)
            self.assertTrue(entered.acquire(timeout=TIMEOUT) and entered.acquire(timeout=TIMEOUT))
            released.set()
            future.cancel()

    def test_reschedule(self):
        future = self.scheduler.every(10, self.note)
        self.clock.advance(5)
        future.reschedule(1, every=2)
        self.clock.advance(5)
        self.assertEqual(self.times, [0, 6, 8, 10])

    def test_cancel_during_a_run(self):
        def cancel_itself():
            self.note()
            return future.cancel()

        future = self.scheduler.every(1, cancel_itself, initial_delay=1)
        self.clock.advance(10)
        self.assertEqual((self.times, future.cancelled()), ([1], True))

    def test_a_day_of_seconds(self):
        future = self.scheduler.every(1, lambda: None, initial_delay=1)
        self.clock.advance(3600)
        self.assertEqual((future.runs, future.skipped), (3600, 0))


class Calendar(Case):
    def test_cron_in_a_zone_that_changes_its_clocks(self):
        future = self.scheduler.cron("0 9 * * *", self.note, zone="Europe/Berlin")
        self.assertEqual(future.next_time, datetime(2026, 3, 29, 7, 0, tzinfo=timezone.utc))
        self.clock.advance(timedelta(days=3))
        self.assertEqual(self.times, [19 * 3600 + day * 86400 for day in range(3)])

    def test_six_fields_and_objects(self):
        cron = hora.Cron("*/20 * * * * *", "UTC")
        self.scheduler.cron(cron, self.note)
        self.clock.advance(60)
        self.assertEqual(self.times, [20, 40, 60])
        self.assertRaises(ValueError, self.scheduler.cron, cron, self.note, zone="UTC")

    def test_the_clock_is_set(self):
        self.scheduler.cron("0 0 18 * * *", self.note, zone=ZoneInfo("UTC"))
        self.clock.set_time(START.replace(hour=18))
        self.clock.settle()
        self.assertEqual(self.times, [6 * 3600])

    def test_suspend(self):
        self.scheduler.after(60, self.note)
        self.scheduler.cron("30 * * * *", self.note, zone="UTC")
        self.clock.suspend(timedelta(hours=1))
        self.clock.settle()
        self.assertEqual(self.times, [3600])
        self.clock.advance(60)
        self.assertEqual(self.times, [3600, 3660])

    def test_reboot(self):
        future = self.scheduler.cron("@reboot", self.note)
        self.clock.advance(86400)
        self.assertEqual((self.times, future.done()), ([0], True))

    def test_refresh_zones(self):
        self.scheduler.cron("0 9 * * *", self.note, zone="Europe/Berlin")
        self.assertFalse(self.scheduler.refresh_zones())


class Mistakes(Case):
    def test_mistakes(self):
        schedule = self.scheduler
        for call, text in [
            (lambda: schedule.every(0, print), "period"),
            (lambda: schedule.every(-1, print, delay=True), "period"),
            (lambda: schedule.every(1, print, missed="maybe"), "missed"),
            (lambda: schedule.every(1, print, missed=0), "missed"),
            (lambda: schedule.every(1, print, overlap=1), "overlap"),
            (lambda: schedule.every(1, print, failure="explode"), "failure"),
            (lambda: schedule.every(1, print, stop_after=2), "stop_after"),
            (lambda: schedule.every(1, print, delay=True, missed="burst"), "missed"),
            (lambda: schedule.every(1, print, spread=0.5), "spread"),
            (lambda: schedule.after(1, print, attempts=2), "retry"),
            (lambda: schedule.cron("0 9 * * MOON", print), "MOON"),
            (lambda: schedule.cron("0 9 * * *", print, zone="Mars/Olympus"), "Mars/Olympus"),
            (lambda: schedule.cron("0 9 * * *", print, dialect="klingon"), "dialect"),
            (lambda: schedule.cron("0 9 * * *", print, dst="never"), "dst"),
            (lambda: schedule.at(datetime(2300, 1, 1, tzinfo=timezone.utc), print), "2262"),
        ]:
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                call()
        self.assertEqual(schedule.stats().accepted, 0)


class End(Case):
    def test_with_waits_for_tasks_that_run_once(self):
        with hora.Scheduler(1) as scheduler:
            series = scheduler.every(60, print, "must not run", initial_delay=60)
            once = scheduler.after(0.05, len, "four")
        self.assertEqual((once.result(0), series.cancelled()), (4, True))

    def test_cancel_futures(self):
        future = self.scheduler.after(60, self.note)
        series = self.scheduler.every(60, self.note, initial_delay=60)
        self.scheduler.shutdown(cancel_futures=True)
        self.assertTrue(future.cancelled() and series.cancelled())
        self.assertEqual(len(concurrent.futures.wait([future, series], 0).done), 2)
        self.assertRaisesRegex(RuntimeError, "after shutdown", self.scheduler.after, 1, print)

    def test_cancel_delayed(self):
        with hora.Scheduler(1, cancel_delayed=True) as scheduler:
            future = scheduler.after(3600, print, "must not run")
        self.assertTrue(future.cancelled())

    def test_continue_periodic(self):
        with hora.Scheduler(1, continue_periodic=True) as scheduler:
            future = scheduler.every(0.01, len, "four", count=3)
        self.assertEqual((future.result(0), future.runs), (4, 3))

    def test_a_failed_initializer(self):
        def fail():
            raise OSError

        with self.assertLogs("concurrent.futures", "CRITICAL"):
            with hora.Scheduler(1, initializer=fail) as scheduler:
                future = scheduler.after(0, print, "must not run")
                self.assertIsInstance(future.exception(TIMEOUT), hora.BrokenThreadPool)

    def test_a_failed_initializer_ends_a_series(self):
        def fail():
            raise OSError

        with self.assertLogs("concurrent.futures", "CRITICAL"):
            with hora.Scheduler(1, initializer=fail) as scheduler:
                future = scheduler.every(1, print, "must not run")
                self.assertIsInstance(future.exception(TIMEOUT), hora.BrokenThreadPool)


if __name__ == "__main__":
    sys.exit(unittest.main())
