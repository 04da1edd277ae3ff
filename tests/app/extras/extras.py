# SPDX-License-Identifier: Apache-2.0
"""extras.py - the driver of driver.c, and an HTTP server that behaves as told"""

import json
import os
import queue
import socket
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from command import check, equal, finish  # noqa: F401 - for the tests

DRIVER = sys.argv[1]
PATIENCE = 100  # seconds; only a test that fails waits so long
SECOND = 1_000_000_000


class Driver:
    """A driver process. Events come at any time; a reply follows each command."""

    def __init__(self, environment=None, prefix=(), **settings):
        inherited = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        # Python ignores SIGXFSZ, and so shall the driver.
        self.process = subprocess.Popen([*prefix, DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        restore_signals=False, env={**inherited, **(environment or {})})
        self.replies, self.events, self.all_events = queue.Queue(), queue.Queue(), []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self._write(settings)
        self.is_ready = self._reply() is not None

    def _write(self, command):
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def _read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if "reply" in message:
                self.replies.put(message)
            else:
                self.all_events.append(message)
                self.events.put(message)
        self.replies.put(None)

    def _reply(self):
        reply = self.replies.get(timeout=PATIENCE)
        return None if reply is None else reply["reply"]

    def do(self, command, **arguments):
        self._write({"do": command, **arguments})
        return self._reply()

    def event(self, part=""):
        """Wait for an event whose text has this in it."""
        while part not in (event := self.events.get(timeout=PATIENCE))["text"]:
            pass
        return event

    def ping(self, address, path="/start", rid="r", body=None):
        self.do("send", address=address, path=path, rid=rid, body=body)

    def run_until(self, is_done, what, seconds=0):
        """Let virtual time pass, in steps of `seconds`, until a condition holds; without steps, ask again."""
        for _ in range(1000000):
            counts = self.do("counts")
            if is_done(counts):
                return counts
            if seconds:
                self.do("pass", ns=int(seconds * SECOND))
        raise TimeoutError(what)

    def end(self, timeout=0.0):
        """End it; returns how many seconds pings took to end. Checks that it ended well and printed no error."""
        took = self.do("end", timeout=int(timeout * SECOND))
        self.process.stdin.close()
        status = self.process.wait(timeout=PATIENCE)
        self.reader.join()
        error = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        equal((status, error), (0, ""), "the end of the driver")
        return (took or 0) / SECOND


class Request:
    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ")
        self.path, _, self.query = self.target.partition("?")
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.body = body


class Server:
    """An HTTP server at a port of 127.0.0.1. `behave(number, request)` returns what to do with a request: a status, (status,
    headers), "hang" until the end, or "reset"; number counts from 1. With `tls`, an ssl.SSLContext, it is one of HTTPS."""

    def __init__(self, behave=lambda number, request: 200, tls=None):
        self.behave, self.tls = behave, tls
        self.requests, self.times = queue.Queue(), []
        self.count, self.active, self.most_active, self.lock = 0, 0, 0, threading.Lock()
        self.ended = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=500)
        self.port = self.listener.getsockname()[1]
        self.address = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            connection = self.tls.wrap_socket(connection, server_side=True) if self.tls else connection
        except OSError:
            return
        with connection, connection.makefile("rb") as stream:
            try:
                while self._answer(connection, stream):
                    pass
            except OSError:
                pass

    def _answer(self, connection, stream):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            if not line:
                return False
            head += line
        request = Request(head[:-4], b"")
        request.body = stream.read(int(request.headers.get("content-length", "0")))
        with self.lock:
            self.count += 1
            number = self.count
            self.active += 1
            self.most_active = max(self.most_active, self.active)
        try:
            self.requests.put(request)
            return self._do(connection, self.behave(number, request))
        finally:
            with self.lock:
                self.active -= 1

    def _do(self, connection, what):
        if what == "hang":
            self.ended.wait(PATIENCE)
            return False
        if what == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            return False
        status, headers = what if isinstance(what, tuple) else (what, "")
        connection.sendall(f"HTTP/1.1 {status} x\r\nContent-Length: 2\r\n{headers}\r\nOK".encode())
        return True

    def next(self):
        return self.requests.get(timeout=PATIENCE)

    def close(self):
        self.ended.set()
        self.listener.close()
