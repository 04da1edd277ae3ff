# SPDX-License-Identifier: Apache-2.0
"""runner.py - start hora run, talk to it, and look at what it does

A test is a script that is given the path of the command. Most tests use a virtual clock: time passes only in
Runner.advance, so they take milliseconds and are exact. A Runner has a directory of its own, with the job file, the
store, the control socket and the logs; jobs run there. It is on a file system in memory if there is one, because the
store waits for the disk. No function sleeps: wait() waits for an event of the runner, gone() for the end of a process,
and both fail after a minute.

A job that must stay in progress reads a line of a Gate, which the test opens.
"""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HORA = os.path.abspath(sys.argv[1])
START = "2026-01-05T00:00:00Z"  # a Monday
PATIENCE = 60
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) and "TMPDIR" not in os.environ else None
SANITIZED = any(name in Path(HORA).read_bytes() for name in (b"__asan_init", b"__tsan_init", b"__msan_init"))
_checks = 0
_failures = []


def check(condition, what):
    global _checks
    _checks += 1
    if not condition:
        _failures.append(what)
        print(f"FAILED: {what}", flush=True)


def equal(got, expected, what):
    check(got == expected, f"{what}\n  expected: {expected!r}\n  got:      {got!r}")


def finish():
    print(f"{_checks - len(_failures)} passed, {len(_failures)} failed")
    sys.exit(1 if _failures else 0)


def is_alive(pid):
    """True if a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid, patience=PATIENCE):
    """Wait for the end of a process, which need not be a child."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    ended = bool(poll.poll(patience * 1000))
    os.close(fd)
    return ended


class Gate:
    """A named pipe in the directory of a runner. A job that reads a line of it, with `read x < gate`, waits until the
    test opens the gate. A job that writes to it, with `echo $$ > told`, tells the test something."""

    def __init__(self, runner, name):
        self.path = runner.directory / name
        if not self.path.exists():
            os.mkfifo(self.path)
            self.path.chmod(0o666)
        self.fd = os.open(self.path, os.O_RDWR)  # so that no side ever waits for the other to open it
        self.rest = b""

    def __del__(self):
        os.close(self.fd)

    def open(self, count=1):
        os.write(self.fd, b"\n" * count)

    def line(self):
        """The next line that a job has written."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        while b"\n" not in self.rest:
            if not poll.poll(PATIENCE * 1000):
                raise RuntimeError(f"nothing was written to {self.path}")
            self.rest += os.read(self.fd, 4096)
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def number(self):
        return int(self.line())


class Runner:
    """A runner with these jobs. `clock` is the start of its virtual clock; None means the clock of the machine."""

    def __init__(self, jobs, clock=START, options=(), directory=None, store=None, environment=None, name="jobs.yaml",
                 start=True):
        self.owns_directory = directory is None
        self.directory = Path(directory or tempfile.mkdtemp(prefix="hora-run-", dir=MEMORY))
        self.directory.chmod(0o755)  # jobs may run as other users
        self.file = self.directory / name
        self.socket_path = self.directory / "control.sock"
        self.store = store or f"sqlite:{self.directory}/state.db"
        self.clock, self.options = clock, list(options)
        self.environment = environment
        self.gate = Gate(self, "gate")  # for jobs that wait
        self.told = Gate(self, "told")  # for jobs that tell
        if jobs is not None:
            self.file.write_text(jobs)
        self.process = None
        if start:
            self.start()

    def start(self, clock=None, wrapper=(), ready=True, json=True):
        words = [*wrapper, HORA, "run", *(["--json"] if json else []), "--store", self.store, "--socket",
                 str(self.socket_path), "--logs", str(self.directory / "logs"), *self.options, str(self.file)]
        if clock or self.clock:
            words[-1:-1] = ["--clock", f"virtual={clock or self.clock}"]
        self.words = words
        self.events, self.lines, self.errors = [], [], ""
        self.event_count, self.is_ready = 0, False  # events without lines of output; the events can be counted
        self.changed = threading.Condition()
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        cwd=self.directory, env={**os.environ, **(self.environment or {})})
        self.readers = [threading.Thread(target=self._read_output, args=[json], daemon=True),
                        threading.Thread(target=self._read_errors, daemon=True)]
        for reader in self.readers:
            reader.start()
        if ready:
            if "--quiet" in words:
                self.until(lambda: self.can_connect() or self.process.poll() is not None, "the runner is ready")
            else:
                self.wait(lambda: any("ready" in line for line in self.lines) or self.process.poll() is not None,
                          "the runner is ready")
            if self.process.poll() is not None:
                self.readers[1].join()
                raise RuntimeError(f"the runner ended at its start: {self.errors}")
            if self.clock:
                self.request("clock", by="0s")  # the durable scheduler has started, too
            self.is_ready = json and "--quiet" not in words

    def _read_output(self, is_json):
        for line in self.process.stdout:
            if not line.endswith(b"\n"):
                break  # it was killed inside of a line
            with self.changed:
                self.lines.append(line.decode().rstrip("\n"))
                if is_json:
                    self.events.append(json.loads(line))
                    self.event_count += self.events[-1]["kind"] != "output"
                self.changed.notify_all()
        self.process.wait()  # so that a thread that is woken sees that it has ended
        with self.changed:
            self.changed.notify_all()

    def _read_errors(self):
        self.errors = self.process.stderr.read().decode(errors="replace")

    # ---- looking ----

    def synchronize(self):
        """Wait until all events are here that the runner has reported so far: an answer of the control socket may be
        faster than the pipe."""
        if self.process.poll() is not None:
            self.readers[0].join(PATIENCE)
            return
        if not self.is_ready:
            return
        try:
            count = self.request("status")["runner"]["events"]
        except (OSError, RuntimeError, KeyError):
            return  # it is ending
        with self.changed:
            self.changed.wait_for(lambda: self.event_count >= count or not self.readers[0].is_alive(), PATIENCE)

    def find(self, kind=None, job=None, since=0, **fields):
        """The events of a kind, of a job, from the index `since` on, with these fields."""
        self.synchronize()
        return self._find(kind, job, since, **fields)

    def _find(self, kind=None, job=None, since=0, **fields):
        return [event for event in self.events[since:]
                if kind in (None, event["kind"]) and job in (None, event.get("job")) and
                all(event.get(name) == value for name, value in fields.items())]

    def texts(self, kind=None, job=None):
        return [event["text"] for event in self.find(kind, job)]

    def starts(self, job=None):
        """The planned times of all starts of a job, without those of its hooks."""
        return [event["planned"] for event in self.find("start", job, hook=None)]

    def output(self, job=None):
        return [event["text"] for event in self.find("output", job)]

    def wait(self, condition, what, patience=PATIENCE):
        with self.changed:
            if not self.changed.wait_for(lambda: condition() or self.process.poll() is not None, patience):
                raise RuntimeError(f"in vain: {what}; the last events: {self.events[-5:]}")
        result = condition()
        if not result:
            raise RuntimeError(f"the runner ended before {what}: {self.errors}")
        return result

    def wait_for(self, kind, job=None, count=1, **fields):
        """Wait until there are so many events of a kind; returns the last one."""
        return self.wait(lambda: self._find(kind, job, **fields)[count - 1:count], f"{count} x {kind} of {job}")[0]

    def until(self, condition, what, patience=PATIENCE):
        """Ask again and again until a condition holds that no event reports."""
        end = time.monotonic() + patience
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"in vain: {what}; the last events: {self.events[-5:]}")

    # ---- talking ----

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(str(self.socket_path))
        return client

    def can_connect(self):
        try:
            self.connect().close()
            return True
        except OSError:
            return False

    def request(self, request, **fields):
        """Ask through the control socket; returns the last line of the answer."""
        with self.connect() as client, client.makefile("rwb") as stream:
            stream.write(json.dumps({"request": request, **fields}).encode() + b"\n")
            stream.flush()
            for line in stream:
                answer = json.loads(line)
                if "ok" in answer:
                    return answer
        raise RuntimeError(f"no answer to {request}: {self.errors}")

    def advance(self, by, settle=True):
        """Let virtual time pass. With `settle` it stands still while a process runs."""
        answer = self.request("clock", by=by, settle=settle)
        check(answer["ok"], f"clock {by}: {answer}")
        self.synchronize()
        return answer.get("now")

    def jobs(self):
        return {job["job"]: job for job in self.request("list")["jobs"]}

    def job(self, name):
        return self.jobs()[name]

    def history(self, job=None, **fields):
        """Run records, the latest first."""
        return self.request("history", **({"job": job} if job else {}), limit=1000, output=True, **fields)["records"]

    def hora(self, *words, **options):
        """Run another command against this runner."""
        return subprocess.run([HORA, *words, "--socket", str(self.socket_path)], capture_output=True, text=True,
                              timeout=PATIENCE, **options)

    # ---- ending ----

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.join()

    def join(self, patience=PATIENCE):
        status = self.process.wait(patience)
        for reader in self.readers:
            reader.join(patience)
        return status

    def stop(self, **fields):
        """Stop it in an orderly way; returns its exit status."""
        if self.process.poll() is None:
            self.request("stop", **fields)
        return self.join()

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        if self.process is not None and self.process.poll() is None:
            if reason[0] is None:
                equal(self.stop(), 0, "the exit status of the runner")
            else:
                self.kill()
        if self.process is not None:
            check("Sanitizer" not in self.errors and "runtime error" not in self.errors, self.errors)
        if reason[0] is None and self.owns_directory and not os.environ.get("HORA_KEEP"):
            shutil.rmtree(self.directory, ignore_errors=True)
