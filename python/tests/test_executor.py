# SPDX-License-Identifier: Apache-2.0
"""Executor: what concurrent.futures promises, and what hora adds."""

import asyncio
import concurrent.futures
import contextvars
import sys
import threading
import traceback
import unittest
from concurrent.futures import CancelledError

import hora

TIMEOUT = 20


class Blocker:
    """A task that runs until it is released."""

    def __init__(self):
        self.entered, self.released = threading.Event(), threading.Event()

    def __call__(self):
        self.entered.set()
        return self.released.wait(TIMEOUT)


def occupied(**options):
    """An executor with one thread, which is busy, and the task that keeps it busy."""
    executor, blocker = hora.Executor(1, **options), Blocker()
    executor.submit(blocker)
    assert blocker.entered.wait(TIMEOUT)
    return executor, blocker


class Futures(unittest.TestCase):
    def test_futures_are_those_of_concurrent_futures(self):
        with hora.Executor(2) as executor:
            self.assertIsInstance(executor, concurrent.futures.Executor)
            futures = [executor.submit(pow, 2, n) for n in range(20)]
            self.assertIsInstance(futures[0], concurrent.futures.Future)
            done, pending = concurrent.futures.wait(futures, TIMEOUT)
            self.assertEqual((len(done), len(pending)), (20, 0))
            results = {each.result() for each in concurrent.futures.as_completed(futures, TIMEOUT)}
            self.assertEqual(results, {2**n for n in range(20)})

    def test_exceptions_have_the_traceback_of_the_task(self):
        def broken_task():
            raise LookupError("no")

        with hora.Executor(1) as executor:
            error = executor.submit(broken_task).exception(TIMEOUT)
        self.assertIsInstance(error, LookupError)
        self.assertIn("broken_task", [frame.name for frame in traceback.extract_tb(error.__traceback__)])

    def test_base_exceptions_reach_the_future_and_the_thread_continues(self):
        with hora.Executor(1) as executor:
            for kind in (SystemExit, KeyboardInterrupt, GeneratorExit):
                with self.assertRaises(kind):
                    executor.submit(self.raise_one, kind).result(TIMEOUT)
            self.assertEqual(executor.submit(len, "four").result(TIMEOUT), 4)
            self.assertEqual(executor.stats().largest, 1)

    @staticmethod
    def raise_one(kind):
        raise kind

    def test_cancel_takes_the_task_out_of_the_queue(self):
        executor, blocker = occupied(queue_size=1)
        with executor:
            cancelled = executor.submit(print, "must not run")
            with self.assertRaises(hora.RejectedError):
                executor.submit(len, "")
            self.assertTrue(cancelled.cancel())
            # Waiting calls are told at once, not when a thread reaches the task.
            self.assertEqual(concurrent.futures.wait([cancelled], TIMEOUT).done, {cancelled})
            replacement = executor.submit(len, "four")
            self.assertEqual(executor.stats().cancelled, 1)
            blocker.released.set()
            self.assertEqual(replacement.result(TIMEOUT), 4)

    def test_a_running_task_is_not_cancelled(self):
        executor, blocker = occupied()
        with executor:
            running = executor.submit(blocker)
            executor2, blocker2 = hora.Executor(1), Blocker()
            with executor2:
                future = executor2.submit(blocker2)
                blocker2.entered.wait(TIMEOUT)
                self.assertTrue(future.running())
                self.assertFalse(future.cancel())
                blocker2.released.set()
                self.assertTrue(future.result(TIMEOUT))
            self.assertTrue(running.cancel())
            blocker.released.set()

    def test_context_variables_are_untouched(self):
        variable = contextvars.ContextVar("variable", default="default")
        variable.set("of the submitter")
        with hora.Executor(1) as executor:
            self.assertEqual(executor.submit(variable.get).result(TIMEOUT), "default")
            context = contextvars.copy_context()
            self.assertEqual(executor.submit(context.run, variable.get).result(TIMEOUT), "of the submitter")

    def test_threads_are_python_threads_with_lasting_local_data(self):
        local = threading.local()

        def count():
            local.value = getattr(local, "value", 0) + 1
            return local.value, threading.current_thread()

        with hora.Executor(1, "prefix") as executor:
            results = [executor.submit(count).result(TIMEOUT) for _ in range(3)]
        self.assertEqual([value for value, _ in results], [1, 2, 3])
        self.assertEqual({thread.name for _, thread in results}, {"prefix_0"})
        self.assertNotIsInstance(results[0][1], threading._DummyThread)

    def test_asyncio(self):
        async def run(executor):
            loop = asyncio.get_running_loop()
            both = loop.run_in_executor(executor, pow, 2, 5), asyncio.wrap_future(executor.submit(pow, 2, 6))
            return await asyncio.gather(*both)

        with hora.Executor(2) as executor:
            self.assertEqual(asyncio.run(run(executor)), [32, 64])

    def test_map(self):
        with hora.Executor(2) as executor:
            self.assertEqual(list(executor.map(pow, (2, 3), (3, 2), chunksize=7)), [8, 9])
            blocker = Blocker()
            with self.assertRaises(concurrent.futures.TimeoutError):
                list(executor.map(lambda _: blocker(), [1], timeout=0))
            blocker.released.set()


class Rejection(unittest.TestCase):
    def full(self, rejection, **options):
        executor, blocker = occupied(queue_size=1, rejection=rejection, **options)
        return executor, blocker, executor.submit(len, "queued")

    def test_abort(self):
        executor, blocker, queued = self.full("abort")
        with executor:
            self.assertRaises(hora.RejectedError, executor.submit, len, "")
            blocker.released.set()
            self.assertEqual(queued.result(TIMEOUT), 6)

    def test_caller_runs(self):
        executor, blocker, _ = self.full("caller_runs")
        with executor:
            future = executor.submit(threading.get_ident)
            self.assertEqual(future.result(0), threading.get_ident())
            blocker.released.set()

    def test_discard(self):
        executor, blocker, queued = self.full("discard")
        with executor:
            future = executor.submit(print, "must not run")
            self.assertIsInstance(future.exception(0), hora.RejectedError)
            blocker.released.set()
            self.assertEqual(queued.result(TIMEOUT), 6)

    def test_discard_oldest(self):
        executor, blocker, queued = self.full("discard_oldest")
        with executor:
            future = executor.submit(len, "newest")
            self.assertIsInstance(queued.exception(0), hora.RejectedError)
            blocker.released.set()
            self.assertEqual(future.result(TIMEOUT), 6)

    def test_block_waits_for_room(self):
        executor, blocker, _ = self.full("block")
        with executor:
            threading.Timer(0.12, blocker.released.set).start()  # longer than one slice of the wait
            self.assertEqual(executor.submit(len, "blocked").result(TIMEOUT), 7)

    def test_block_gives_up(self):
        executor, blocker, _ = self.full("block", rejection_timeout=0.01)
        with executor:
            self.assertRaises(hora.RejectedError, executor.submit, len, "")
            blocker.released.set()

    def test_block_ends_with_shutdown(self):
        executor, blocker, _ = self.full("block")
        threading.Timer(0.02, executor.shutdown, kwargs={"wait": False}).start()
        with self.assertRaisesRegex(RuntimeError, "after shutdown"):
            executor.submit(len, "")
        blocker.released.set()
        executor.shutdown()

    def test_block_refuses_to_deadlock(self):
        with hora.Executor(1, queue_size=1, rejection="block") as executor:

            def submit_two():
                executor.submit(len, "")
                executor.submit(len, "")

            with self.assertRaisesRegex(RuntimeError, "deadlock"):
                executor.submit(submit_two).result(TIMEOUT)

    def test_no_queue_at_all(self):
        with hora.Executor(2, core_workers=0, queue_size=0) as executor:
            blockers = [Blocker(), Blocker()]
            futures = [executor.submit(each) for each in blockers]
            self.assertRaises(hora.RejectedError, executor.submit, len, "")
            for each in blockers:
                each.released.set()
            self.assertTrue(all(each.result(TIMEOUT) for each in futures))

    def test_surplus_threads_start_when_the_queue_is_full(self):
        with hora.Executor(3, core_workers=1, queue_size=1) as executor:
            blockers = [Blocker() for _ in range(4)]
            for each in blockers:
                executor.submit(each)
            self.assertEqual(executor.stats().threads, 3)
            for each in blockers:
                each.released.set()


class Settings(unittest.TestCase):
    def test_mistakes_name_the_parameter(self):
        cases = [
            ({"max_workers": 0}, "max_workers"),
            ({"max_workers": 2, "core_workers": 3, "queue_size": 1}, "core_workers"),
            ({"max_workers": 3, "core_workers": 2}, "max_workers"),
            ({"rejection": "explode"}, "explode"),
            ({"rejection_timeout": 1}, "rejection_timeout"),
            ({"queue_size": -1}, "queue_size"),
            ({"keep_alive": float("nan")}, "not a number"),
            ({"keep_alive": -1}, "keep_alive"),
        ]
        for options, text in cases:
            with self.subTest(options), self.assertRaisesRegex(ValueError, text) as caught:
                hora.Executor(**options)
            self.assertNotRegex(str(caught.exception), "core_threads|max_threads|grow_after|capacity")
        self.assertRaises(TypeError, hora.Executor, initializer=3)
        self.assertRaises(TypeError, hora.Executor, 1, clock=3)

    def test_resize(self):
        with hora.Executor(4) as executor:
            for size in (1, 7, 2, 2):
                executor.resize(size)
                self.assertEqual(executor.stats()[4:6], (size, size))
        with hora.Executor(4, core_workers=2, queue_size=5) as executor:
            for core, largest in ((5, 8), (1, 2), (0, 1)):
                executor.resize(core, largest)
                self.assertEqual(executor.stats()[4:6], (core, largest))
            self.assertRaisesRegex(ValueError, "core_workers", executor.resize, 3, 2)

    def test_idle_threads_end(self):
        clock = hora.VirtualClock()
        with hora.Executor(4, core_time_out=True, keep_alive=60, clock=clock) as executor:
            concurrent.futures.wait([executor.submit(len, "") for _ in range(4)])
            clock.advance(59)
            self.assertEqual(executor.stats().threads, 4)
            clock.advance(1)
            self.assertEqual(executor.stats().threads, 0)
            self.assertEqual(executor.submit(len, "four").result(TIMEOUT), 4)

    def test_stealing(self):
        with hora.Executor(2, stealing=True) as executor:

            def fibonacci(n):
                if n < 2:
                    return n
                return executor.submit(fibonacci, n - 1), executor.submit(fibonacci, n - 2)

            def value(result):
                return result if isinstance(result, int) else sum(value(each.result()) for each in result)

            self.assertEqual(value(executor.submit(fibonacci, 10).result(TIMEOUT)), 55)

    def test_stats_and_repr(self):
        with hora.Executor(2, name="named") as executor:
            executor.submit(len, "").result(TIMEOUT)
            executor.submit(len, 3).exception(TIMEOUT)
            self.assertRegex(repr(executor), "<hora.Executor named.*Running")
        stats = executor.stats()
        self.assertEqual((stats.accepted, stats.done, stats.failed, stats.threads), (2, 1, 1, 0))


class Initializer(unittest.TestCase):
    def test_each_thread_is_initialized_once(self):
        seen = []
        with hora.Executor(3, initializer=seen.append, initargs=("x",)) as executor:
            concurrent.futures.wait([executor.submit(len, "") for _ in range(30)])
        self.assertEqual(seen, ["x"] * 3)

    def test_a_failure_breaks_the_executor(self):
        def fail():
            raise OSError("no")

        with self.assertLogs("concurrent.futures", "CRITICAL") as logs:
            with hora.Executor(1, initializer=fail) as executor:
                futures = []
                with self.assertRaises(hora.BrokenThreadPool):
                    for _ in range(1_000_000):
                        futures.append(executor.submit(print, "must not run"))
                for future in futures:
                    self.assertIsInstance(future.exception(TIMEOUT), hora.BrokenThreadPool)
        self.assertIn("OSError: no", logs.output[0])


class Shutdown(unittest.TestCase):
    def test_submit_after_shutdown(self):
        for rejection in ("abort", "discard", "caller_runs", "block"):
            executor = hora.Executor(1, queue_size=1, rejection=rejection)
            executor.shutdown()
            with self.assertRaisesRegex(RuntimeError, "cannot schedule new futures after shutdown"):
                executor.submit(len, "")

    def test_queued_tasks_run(self):
        executor, blocker = occupied()
        queued = [executor.submit(len, "four") for _ in range(5)]
        executor.shutdown(wait=False)
        executor.shutdown(wait=False)
        blocker.released.set()
        executor.shutdown()
        self.assertEqual([each.result(0) for each in queued], [4] * 5)

    def test_cancel_futures(self):
        executor, blocker = occupied()
        queued = [executor.submit(len, "four") for _ in range(5)]
        executor.shutdown(wait=False, cancel_futures=True)
        self.assertTrue(all(each.cancelled() for each in queued))
        self.assertEqual(len(concurrent.futures.wait(queued, 0).done), 5)
        self.assertRaises(CancelledError, queued[0].result)
        blocker.released.set()
        executor.shutdown()
        self.assertEqual(executor.stats().done, 1)

    def test_a_task_cannot_wait_for_its_own_thread(self):
        with hora.Executor(1) as executor:
            with self.assertRaisesRegex(RuntimeError, "join"):
                executor.submit(executor.shutdown).result(TIMEOUT)

    def test_no_thread_can_be_started(self):
        executor = hora.Executor(1)
        original = threading.Thread.start

        def start(thread):
            if thread.name.startswith("hora-"):
                raise RuntimeError("can't start new thread")
            original(thread)

        threading.Thread.start = start
        try:
            with self.assertRaisesRegex(RuntimeError, "can't start new thread"):
                executor.submit(len, "")
        finally:
            threading.Thread.start = original
        self.assertEqual(executor._threads, set())
        self.assertEqual(executor.submit(len, "four").result(TIMEOUT), 4)
        executor.shutdown()

    def test_an_interrupt_while_a_thread_starts(self):
        """start() may raise after it has started the thread; the task runs once or not at all."""
        for has_started in (False, True):
            executor, ran = hora.Executor(1), []
            original = threading.Thread.start

            def start(thread):
                if has_started:
                    original(thread)
                raise KeyboardInterrupt

            threading.Thread.start = start
            try:
                self.assertRaises(KeyboardInterrupt, executor.submit, ran.append, 1)
            finally:
                threading.Thread.start = original
            self.assertEqual(executor.submit(len, "four").result(TIMEOUT), 4)
            executor.shutdown()
            self.assertLessEqual(len(ran), 1)
            self.assertEqual(executor.stats().accepted, sum(executor.stats()[7:13]))


if __name__ == "__main__":
    sys.exit(unittest.main())
