# SPDX-License-Identifier: Apache-2.0
"""Executor: a thread pool of hora as a concurrent.futures.Executor.

The threads of a pool are threading.Thread objects, which hora requests when it needs one. A thread refers to
its pool and never to the Executor. So an Executor without references is collected, which shuts its pool
down, and the last thread frees the pool.

When the interpreter exits, all executors are shut down and their threads are joined, before the interpreter
joins other threads. A child of fork does not have the threads: the executors of its parent refuse tasks.
"""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import logging
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures.thread import BrokenThreadPool
from typing import Any, Literal, NamedTuple, Optional, ParamSpec, TypeVar

from hora import _hora
from hora._clock import VirtualClock
from hora._time import FOREVER, Duration, span

P = ParamSpec("P")
T = TypeVar("T")

# What happens to a task that finds neither a thread nor room in the queue.
Rejection = Literal["abort", "caller_runs", "discard", "discard_oldest", "block"]

REJECTIONS: dict[str, int] = {
    "abort": 0,
    "caller_runs": 1,
    "discard": 2,
    "discard_oldest": 3,
    "block": 4,
}
# Messages of hora name the options of the C library, and one that Executor does not have.
NAMES = {
    "core_threads": "core_workers",
    "max_threads": "max_workers",
    "queue_capacity": "queue_size",
    "reject_timeout": "rejection_timeout",
}
BROKEN = "A thread initializer failed, the thread pool is not usable anymore"
# The logger of concurrent.futures, so that programs find the same messages in the same place.
LOGGER = logging.getLogger("concurrent.futures")

_numbers = itertools.count(1)
_live: weakref.WeakSet[Executor] = weakref.WeakSet()
_is_exiting = False


class Stats(NamedTuple):
    """The state of an executor at one moment."""

    threads: int  # current workers
    active: int  # workers that are running a task
    largest: int  # largest number of workers so far
    queued: int  # tasks in the queue; in a scheduler also tasks that are not due
    core_workers: int
    max_workers: int
    accepted: int  # accepted tasks; those below have ended
    done: int  # succeeded
    failed: int  # raised an exception
    cancelled: int
    rejected: int  # dropped later, by "discard_oldest"
    abandoned: int  # dropped because the executor was stopped
    handed_back: int  # cancelled by shutdown(cancel_futures=True)


class Future(concurrent.futures.Future[T]):
    """A concurrent.futures.Future whose cancel also takes the task out of the queue."""

    _task: Optional[_hora.Task] = None

    def cancel(self) -> bool:
        if not super().cancel():
            return False
        if self._task is not None:
            self._task.cancel()
        return True


class _WorkerThread(threading.Thread):
    """A thread that runs a worker.

    Before Python 3.13, a join that Ctrl-C has ended leaves a thread that counts as dead, although it runs.
    has_ended is always right.
    """

    def __init__(self, name: str, worker: _hora.Worker, initializer: Optional[Callable[..., object]],
                 args: tuple[Any, ...]) -> None:
        super().__init__(name=name, daemon=False)
        self.work: Optional[Callable[[], None]] = functools.partial(_work, worker, initializer, args)
        self.has_ended = threading.Event()

    def run(self) -> None:
        work, self.work = self.work, None  # a thread that has ended keeps nothing
        try:
            if work is not None:
                work()
        finally:
            self.has_ended.set()


class _Starter:
    """Starts the threads of one pool, and knows them."""

    def __init__(self, prefix: str, initializer: Optional[Callable[..., object]], args: tuple[Any, ...]):
        self.prefix, self.initializer, self.args = prefix, initializer, args
        self.threads: set[_WorkerThread] = set()
        self.numbers = itertools.count()
        self.prune_at = 64

    def __call__(self, worker: _hora.Worker, name: str) -> None:
        thread_name = f"{self.prefix}_{next(self.numbers)}"
        thread = _WorkerThread(thread_name, worker, self.initializer, self.args)
        if len(self.threads) >= self.prune_at:
            self.prune()
        self.threads.add(thread)
        try:
            thread.start()
        except BaseException:
            if not thread.is_alive():
                self.threads.discard(thread)
            raise

    def prune(self) -> None:
        """Forgets threads that have ended, at a cost that is constant per thread."""
        self.threads.difference_update([each for each in list(self.threads) if each.has_ended.is_set()])
        self.prune_at = max(64, 2 * len(self.threads))

    def join(self) -> None:
        """Waits for all threads, also for those that are started meanwhile."""
        while alive := [each for each in list(self.threads) if not each.has_ended.is_set()]:
            if threading.current_thread() in alive:
                raise RuntimeError("cannot join current thread")
            for thread in alive:
                thread.has_ended.wait()
        for thread in list(self.threads):
            thread.join()


def _work(worker: _hora.Worker, initializer: Optional[Callable[..., object]], args: tuple[Any, ...]) -> None:
    """The life of a worker thread."""
    if initializer is not None:
        try:
            initializer(*args)
        except BaseException:
            LOGGER.critical("Exception in initializer:", exc_info=True)
            worker.pool.fail(functools.partial(BrokenThreadPool, BROKEN))
    worker.run()


def default_workers() -> int:
    """As many as concurrent.futures.ThreadPoolExecutor has by default."""
    return min(32, (os.cpu_count() or 1) + 4)


class Executor(concurrent.futures.Executor):
    """A thread pool with the interface of concurrent.futures and the semantics of the JDK.

    A task takes the first of these paths that is available:

    1. There are fewer than core_workers threads: a new thread starts with it, even if others are idle.
    2. The queue has room: the task is queued.
    3. There are fewer than max_workers threads: a new thread starts with it.
    4. The task is rejected.

    max_workers, thread_name_prefix, initializer and initargs mean the same as for ThreadPoolExecutor. The
    other parameters are:

    core_workers    threads that start before tasks are queued; None means max_workers. Fewer require a
                    queue_size, because an unbounded queue always has room.
    queue_size      tasks that the queue holds; None means any number, 0 means none: each task needs a thread
                    that is idle or new.
    rejection       "abort": submit raises RejectedError. "caller_runs": submit runs the task. "discard": the
                    future fails with RejectedError. "discard_oldest": the same for the first task of the
                    queue, which makes room. "block": submit waits for room.
    rejection_timeout   with "block", how long submit waits before it raises RejectedError; None: any time
    keep_alive      how long threads above core_workers may be idle before they end; None means 60 s
    core_time_out   the other threads end after keep_alive, too
    stealing        each thread has its own queue for the tasks that its tasks submit; see the C header
    name            the name of the pool, and of its threads if there is no thread_name_prefix
    clock           a VirtualClock that measures keep_alive; None means real time
    """

    _is_scheduler = False

    def __init__(
        self,
        max_workers: Optional[int] = None,
        thread_name_prefix: str = "",
        initializer: Optional[Callable[..., object]] = None,
        initargs: tuple[Any, ...] = (),
        *,
        core_workers: Optional[int] = None,
        queue_size: Optional[int] = None,
        rejection: Rejection = "abort",
        rejection_timeout: Optional[Duration] = None,
        keep_alive: Optional[Duration] = None,
        core_time_out: bool = False,
        stealing: bool = False,
        name: str = "",
        clock: Optional[VirtualClock] = None,
    ) -> None:
        workers = default_workers() if max_workers is None else max_workers
        if rejection not in REJECTIONS:
            raise ValueError(f"rejection is {rejection!r}, which is not one of {', '.join(REJECTIONS)}")
        if rejection_timeout is not None and rejection != "block":
            raise ValueError('rejection_timeout has no effect without rejection="block"')
        if queue_size is not None and queue_size < 0:
            raise ValueError("queue_size must not be negative")
        core = workers if core_workers is None else core_workers
        self._open(
            workers, core, thread_name_prefix, initializer, initargs, name, clock,
            max=workers if core != workers else 0,
            keep_alive=(60_000_000_000 if core != workers or core_time_out else 0)
            if keep_alive is None else span(keep_alive),
            core_time_out=core_time_out,
            capacity=0 if queue_size is None else queue_size or -1,
            reject=REJECTIONS[rejection],
            reject_timeout=FOREVER if rejection_timeout is None else span(rejection_timeout),
            stealing=stealing,
        )

    def _open(
        self,
        workers: int,
        core: int,
        prefix: str,
        initializer: Optional[Callable[..., object]],
        initargs: tuple[Any, ...],
        name: str,
        clock: Optional[VirtualClock],
        **options: Any,
    ) -> None:
        """Creates the pool."""
        if workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        if clock is not None and not isinstance(clock, VirtualClock):
            raise TypeError("clock must be a VirtualClock")
        self._name = name or f"hora-{next(_numbers)}"
        self._max_workers = workers
        self._pid = os.getpid()
        self._starter = _Starter(prefix or self._name, initializer, initargs)
        self._clock = clock
        every: dict[str, Any] = {
            "max": 0, "keep_alive": 0, "core_time_out": False, "capacity": 0, "reject": 0,
            "reject_timeout": FOREVER, "stealing": False, "cancel_delayed": False, "continue_periodic": False,
        }
        try:
            self._pool = _hora.Pool(
                start=self._starter, scheduler=self._is_scheduler, name=self._name, core=core,
                clock=None if clock is None else clock._clock, **{**every, **options},
            )
        except ValueError as error:
            raise ValueError(in_python(str(error))) from None
        _live.add(self)

    @property
    def _threads(self) -> set[_WorkerThread]:
        return self._starter.threads

    @property
    def _broken(self) -> bool:
        return self._pool.is_broken()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submits fn(*args, **kwargs) and returns its future.

        Raises RejectedError if the executor has no room, BrokenThreadPool if an initializer has failed, and
        RuntimeError after shutdown.
        """
        if _is_exiting:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        future: Future[T] = Future()
        self._pool.submit(future, fn, args, kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accepts no more tasks.

        Queued tasks still run; with cancel_futures they are cancelled. With `wait` the call returns when
        all tasks have ended and all threads have exited. In the child of a fork it does nothing.
        """
        if os.getpid() != self._pid:
            return
        if cancel_futures:
            self._pool.shutdown_now()
        else:
            self._pool.shutdown()
        if wait:
            self._starter.join()

    def stats(self) -> Stats:
        """The state of the executor: threads, queued tasks, and how many tasks have ended in which way."""
        return Stats(*self._pool.stats())

    def resize(self, core_workers: int, max_workers: Optional[int] = None) -> None:
        """Changes the number of threads; without max_workers, both numbers become core_workers."""
        try:
            self._pool.resize(core_workers, core_workers if max_workers is None else max_workers)
        except ValueError as error:
            raise ValueError(in_python(str(error))) from None

    def __repr__(self) -> str:
        if os.getpid() != self._pid:
            return f"<hora.{type(self).__name__} {self._name} of another process>"
        return f"<hora.{type(self).__name__} {self._pool.describe()}>"

    def __del__(self, getpid: Callable[[], int] = os.getpid) -> None:  # os may be gone when this is called
        pool: Optional[_hora.Pool] = getattr(self, "_pool", None)
        if pool is not None and getpid() == self._pid:
            pool.shutdown()

    def _end(self) -> None:
        """Shuts down because the interpreter exits."""
        self._pool.shutdown()


def in_python(message: str) -> str:
    """A message of hora with the names of the Python parameters."""
    message = message.split("; see grow_after")[0]
    for native, python in NAMES.items():
        message = message.replace(native, python)
    return message


def _at_exit() -> None:
    global _is_exiting
    _is_exiting = True
    executors = list(_live)
    for executor in executors:
        executor._end()
    for executor in executors:
        executor._starter.join()


# As ThreadPoolExecutor: before the interpreter joins threads, which would otherwise wait for tasks for ever.
threading._register_atexit(_at_exit)  # type: ignore[attr-defined]
os.register_at_fork(after_in_child=_live.clear)
