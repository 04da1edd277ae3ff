# SPDX-License-Identifier: Apache-2.0
"""How objects and processes end: garbage, leaks, exit, fork, Ctrl-C, other interpreters."""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import unittest
import weakref
from pathlib import Path

import hora

TIMEOUT = 20


def run(program, *flags):
    """Runs a Python program that can import hora; returns its status, output and errors."""
    environment = {**os.environ, "PYTHONPATH": str(Path(hora.__file__).parent.parent)}
    done = subprocess.run([sys.executable, *flags, "-c", program], capture_output=True, text=True,
                          timeout=60, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


class Argument:
    pass


def threads_of_hora():
    return [thread for thread in threading.enumerate() if thread.name.startswith("hora-")]


class Garbage(unittest.TestCase):
    def test_an_executor_without_references_ends(self):
        executor = hora.Executor(3)
        futures = list(map(executor.submit, [time.sleep] * 9, [0.001] * 9))
        threads = list(executor._threads)
        pool = executor._pool
        del executor
        for thread in threads:
            thread.join(TIMEOUT)
        self.assertTrue(pool.is_terminated())
        self.assertEqual([each.result(0) for each in futures], [None] * 9)

    def test_an_executor_in_a_cycle(self):
        executor = hora.Executor(1)
        executor.itself = executor
        executor.submit(len, "").result(TIMEOUT)
        thread, reference = list(executor._threads)[0], weakref.ref(executor)
        del executor
        gc.collect()
        self.assertIsNone(reference())
        thread.join(TIMEOUT)
        self.assertFalse(thread.is_alive())

    def test_an_executor_in_a_cycle_with_its_initializer(self):
        class Owner:
            def __init__(self):
                self.executor = hora.Executor(1, initializer=self.initialize)

            def initialize(self):
                pass

        reference = weakref.ref(Owner())
        gc.collect()
        self.assertIsNone(reference())

    def test_a_task_holds_the_last_reference(self):
        entered, released = threading.Event(), threading.Event()

        def task(executor):
            entered.set()
            released.wait(TIMEOUT)
            return executor.stats().active

        executor = hora.Executor(1)
        future, thread = executor.submit(task, executor), list(executor._threads)[0]
        entered.wait(TIMEOUT)
        del executor
        released.set()
        self.assertEqual(future.result(TIMEOUT), 1)
        thread.join(TIMEOUT)
        self.assertFalse(thread.is_alive())

    def test_arguments_and_results_are_released(self):
        with hora.Executor(1) as executor:
            argument = Argument()
            reference = weakref.ref(argument)
            future = executor.submit(lambda x: x, argument)
            del argument
            self.assertIs(future.result(TIMEOUT), reference())
            executor.submit(len, "").result(TIMEOUT)  # the thread has dropped the task before
            self.assertEqual(sys.getrefcount(future), 2)
            del future
            self.assertIsNone(reference())

    def test_a_cancelled_task_releases_its_arguments_at_once(self):
        entered, released = threading.Event(), threading.Event()
        with hora.Executor(1) as executor:
            executor.submit(lambda: entered.set() or released.wait(TIMEOUT))
            entered.wait(TIMEOUT)
            argument = Argument()
            reference = weakref.ref(argument)
            future = executor.submit(len, argument)
            del argument
            future.cancel()
            self.assertIsNone(reference())
            released.set()

    def test_a_series_releases_everything(self):
        clock = hora.VirtualClock()
        scheduler = hora.Scheduler(1, clock=clock)
        argument = Argument()
        references = [weakref.ref(argument), weakref.ref(scheduler), weakref.ref(clock)]
        future = scheduler.every(1, lambda x: x, argument)
        clock.advance(5)
        future.cancel()
        scheduler.shutdown()
        del scheduler, argument, future, clock
        gc.collect()
        self.assertEqual([reference() for reference in references], [None] * 3)


class MallocInfo(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
        "keepcost")]


def allocated():
    """How many bytes are allocated with malloc, in which the C library keeps its objects."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        raise unittest.SkipTest("this C library has no mallinfo2")
    mallinfo.restype = MallocInfo
    return mallinfo().uordblks


class Leaks(unittest.TestCase):
    """Nothing stays behind per task, per executor or per failure."""

    def test_memory_of_the_c_library(self):
        clock = hora.VirtualClock()

        def action():
            with hora.Executor(1) as executor, hora.Scheduler(1, clock=clock) as scheduler:
                futures = [executor.submit(len, "") for _ in range(20)]
                for each in futures:
                    each.cancel()
                scheduler.every(1, len, "", count=3)
                scheduler.after(1, len, "")
                clock.advance(5)
            hora.Cron("0 9 * * MON-FRI", "Europe/Berlin").next(clock.now())

        for _ in range(40):
            action()
        gc.collect()
        before = allocated()
        for _ in range(100):
            action()
        gc.collect()
        self.assertLess((allocated() - before) / 100, 200)  # a pool, future or zone is larger

    def growth(self, action, repeats=300):
        """How many Python objects and bytes each further call of an action leaves behind."""
        for _ in range(30):
            action()
        gc.collect()
        tracemalloc.start()
        objects, bytes_before = len(gc.get_objects()), tracemalloc.get_traced_memory()[0]
        for _ in range(repeats):
            action()
        gc.collect()
        growth = (len(gc.get_objects()) - objects) / repeats
        growth_of_memory = (tracemalloc.get_traced_memory()[0] - bytes_before) / repeats
        tracemalloc.stop()
        return growth, growth_of_memory

    def check(self, action, repeats=300):
        objects, size = self.growth(action, repeats)
        self.assertLess(objects, 0.2)
        self.assertLess(size, 200)  # a future, a task or an exception is larger

    def test_tasks(self):
        with hora.Executor(1) as executor:

            def action():
                executor.submit(len, "four").result(TIMEOUT)
                executor.submit(len, 3).exception(TIMEOUT)

            self.check(action)

    def test_rejected_and_cancelled_tasks(self):
        entered, released = threading.Event(), threading.Event()
        with hora.Executor(1, queue_size=1) as executor:
            executor.submit(lambda: entered.set() or released.wait(TIMEOUT))
            entered.wait(TIMEOUT)

            def action():
                future = executor.submit(len, "")
                try:
                    executor.submit(len, "")
                except hora.RejectedError:
                    future.cancel()

            self.check(action)
            released.set()

    def test_executors(self):
        def action():
            with hora.Executor(1) as executor:
                executor.submit(len, "").result(TIMEOUT)

        self.check(action, 200)

    def test_schedules(self):
        clock = hora.VirtualClock()
        with hora.Scheduler(1, clock=clock) as scheduler:

            def action():
                future = scheduler.every(1, len, 3, failure="continue", count=2, on_error=lambda _: None)
                clock.advance(2)
                future.exception(0)
                scheduler.after(1, len, "").cancel()

            self.check(action, 200)

    def test_mistakes(self):
        def action():
            for call in (lambda: hora.Cron("x"), lambda: hora.Executor(2, core_workers=1)):
                try:
                    call()
                except ValueError:
                    pass

        self.check(action)

    def test_no_thread_is_left(self):
        for _ in range(20):
            hora.Executor(2).submit(len, "").result(TIMEOUT)
        deadline = time.monotonic() + TIMEOUT
        while threads_of_hora() and time.monotonic() < deadline:
            for thread in threads_of_hora():
                thread.join(TIMEOUT)
        self.assertEqual(threads_of_hora(), [])


class Exit(unittest.TestCase):
    def test_queued_tasks_run(self):
        status, output, errors = run("""if True:
            import hora, time
            executor = hora.Executor(1)
            executor.submit(time.sleep, 0.05)
            for n in range(3):
                executor.submit(print, n)
            """, "-X", "dev")
        self.assertEqual((status, output, errors), (0, "0\n1\n2\n", ""))

    def test_schedulers_do_not_delay_the_exit(self):
        status, output, errors = run("""if True:
            import atexit, hora
            scheduler = hora.Scheduler()
            future = scheduler.after(3600, print, "must not run")
            series = scheduler.every(3600, print, "must not run", initial_delay=3600)
            atexit.register(lambda: print(future.cancelled(), series.cancelled()))
            """, "-X", "dev")
        self.assertEqual((status, output, errors), (0, "True True\n", ""))

    def test_tasks_are_refused_during_the_exit(self):
        status, output, errors = run("""if True:
            import atexit, hora
            def late():
                for submit in (hora.Executor(1).submit, lambda f: hora.Scheduler().after(0, f)):
                    try:
                        submit(print)
                    except RuntimeError as error:
                        print(error)
            atexit.register(late)
            """, "-X", "dev")
        message = "cannot schedule new futures after interpreter shutdown\n"
        self.assertEqual((status, output, errors), (0, message * 2, ""))

    def test_objects_that_live_to_the_end(self):
        status, output, errors = run("""if True:
            import hora
            clock = hora.VirtualClock()
            executor, scheduler = hora.Executor(2, clock=clock), hora.Scheduler(2, clock=clock)
            futures = [executor.submit(len, "") for _ in range(9)]
            series = scheduler.every(1, len, "")
            clock.advance(10)
            cron = hora.Cron("@daily")
            """, "-X", "dev")
        self.assertEqual((status, output, errors), (0, "", ""))


class Fork(unittest.TestCase):
    def test_the_child_has_executors_of_its_own(self):
        status, output, errors = run("""if True:
            import os, sys, hora
            clock = hora.VirtualClock()
            with hora.Executor(2) as executor, hora.Scheduler(1, clock=clock) as scheduler:
                executor.submit(len, "").result()
                future = scheduler.after(1, len, "")
                if os.fork() == 0:
                    for submit in (executor.submit, lambda f, *a: scheduler.after(0, f, *a)):
                        try:
                            submit(len, "")
                        except RuntimeError as error:
                            print(error, flush=True)
                    print(hora.Executor(1).submit(len, "four").result(), flush=True)
                    executor.shutdown()
                    del executor, scheduler, future, clock
                    sys.exit(7)
                print(os.waitstatus_to_exitcode(os.wait()[1]), executor.submit(len, "still").result())
                future.cancel()
            """)
        message = "the object belongs to the parent process\n"
        self.assertEqual((status, output), (0, message * 2 + "4\n7 5\n"), errors)


class Interrupt(unittest.TestCase):
    """Ctrl-C ends each call that waits."""

    def interrupted(self, program):
        program = f"""if True:
            import os, signal, threading, time, hora
            released = threading.Event()
            def interrupt():
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            {program}
            """
        status, output, errors = run(program)
        self.assertEqual((status, output), (0, "interrupted\n"), errors)

    def test_result_and_shutdown(self):
        for call in ("future.result()", "executor.shutdown()"):
            self.interrupted(f"""
            executor = hora.Executor(1)
            future = executor.submit(released.wait)
            interrupt()
            try:
                {call}
            except KeyboardInterrupt:
                print("interrupted")
            released.set()""")

    def test_shutdown_again(self):
        self.interrupted("""
            executor = hora.Executor(1)
            future = executor.submit(released.wait)
            interrupt()
            try:
                executor.shutdown()
            except KeyboardInterrupt:
                print("interrupted")
            threading.Timer(0.1, released.set).start()
            executor.shutdown()
            assert future.done()""")

    def test_a_submission_that_waits_for_room(self):
        self.interrupted("""
            executor = hora.Executor(1, queue_size=1, rejection="block")
            executor.submit(released.wait)
            executor.submit(len, "")
            interrupt()
            try:
                executor.submit(print, "must not run")
            except KeyboardInterrupt:
                print("interrupted")
            released.set()""")

    def test_a_virtual_clock(self):
        self.interrupted("""
            clock = hora.VirtualClock()
            scheduler = hora.Scheduler(1, clock=clock)
            scheduler.after(1, released.wait)
            interrupt()
            try:
                clock.advance(5)
            except KeyboardInterrupt:
                print("interrupted")
            released.set()
            clock.advance(5)""")


class Interpreters(unittest.TestCase):
    def test_other_interpreters_are_refused(self):
        status, output, errors = run("""if True:
            import sys
            if sys.version_info < (3, 13):
                import _xxsubinterpreters as interpreters
                interpreter = interpreters.create(isolated=False)
            else:
                import _interpreters as interpreters
                interpreter = interpreters.create("legacy")
            program = '''if True:
                try:
                    import hora
                except ImportError as error:
                    print(error, flush=True)
                '''
            interpreters.run_string(interpreter, program)
            interpreters.destroy(interpreter)
            """)
        self.assertEqual((status, output), (0, "hora supports only the main interpreter\n"), errors)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(unittest.main())
