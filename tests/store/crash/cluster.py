# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL primary with a standby, for the failover test.

The primary is at first the server that tests/store/postgres/server has started. Each failover crashes the
primary, promotes the standby, and makes a new standby of it, so that the two ports take turns. All servers
run as the user of the first one, listen on Unix sockets in its folder, and are stopped by close().
"""

import os
import shutil
import signal
import subprocess
import time

LIMIT = 60  # seconds for everything that a server does
PORTS = (5432, 5433)


def as_user(command, **options):
    """Runs a command as the user of the server: PostgreSQL refuses root."""
    user = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--"]
    return subprocess.run((user if os.geteuid() == 0 else []) + command, check=True,
                          cwd=os.environ["HORA_TEST_POSTGRES_DIRECTORY"], stdout=subprocess.DEVNULL, **options)


def control(data, *arguments):
    """Runs pg_ctl."""
    program = os.path.join(os.environ["HORA_TEST_POSTGRES_BIN"], "pg_ctl")
    log = os.path.join(os.environ["HORA_TEST_POSTGRES_DIRECTORY"], "log")
    as_user([program, "-D", data, "-w", "-t", str(LIMIT), "-s", "-l", log, *arguments])


class Cluster:
    def __init__(self, synchronous):
        self.folder = os.environ["HORA_TEST_POSTGRES_DIRECTORY"]
        self.synchronous = synchronous
        self.primary = 0  # index of its port
        self.address = (f"postgres:///postgres?host={self.folder},{self.folder}"
                        f"&port={PORTS[0]},{PORTS[1]}&user=hora")
        self.start_standby()

    def data(self, index):
        return os.path.join(self.folder, "data" if index == 0 else "data1")

    def sql(self, index, statement):
        done = subprocess.run(["psql", "-XAtq", "-h", self.folder, "-p", str(PORTS[index]), "-U", "hora",
                               "postgres", "-c", statement], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def await_true(self, index, condition, what):
        end = time.monotonic() + LIMIT
        while self.sql(index, f"SELECT {condition}") != "t":
            if time.monotonic() > end:
                raise RuntimeError(what)
            time.sleep(0.02)

    def start_standby(self):
        """Copies the primary, and waits until the copy follows it."""
        data = self.data(1 - self.primary)
        shutil.rmtree(data, ignore_errors=True)
        as_user([os.path.join(os.environ["HORA_TEST_POSTGRES_BIN"], "pg_basebackup"), "-h", self.folder, "-p",
                 str(PORTS[self.primary]), "-U", "hora", "-D", data, "-R", "-c", "fast", "-X", "stream"])
        with open(os.path.join(data, "postgresql.auto.conf"), "a", encoding="utf-8") as settings:
            settings.write(f"port = {PORTS[1 - self.primary]}\nsynchronous_standby_names = ''\n")
        control(data, "start")
        self.await_true(self.primary, "count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'",
                        "the standby does not follow the primary")
        if self.synchronous:
            self.sql(self.primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.sql(self.primary, "SELECT pg_reload_conf()")
            self.await_true(self.primary, "count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'",
                            "the standby is not synchronous")

    def await_replica(self):
        """Waits until the standby has all that has been committed so far."""
        end = self.sql(self.primary, "SELECT pg_current_wal_insert_lsn()")
        self.await_true(1 - self.primary, f"pg_last_wal_replay_lsn() >= '{end}'", "the standby is late")

    def fail_over(self, lag):
        """Crashes the primary and promotes the standby, which has missed the last `lag` seconds."""
        receiver = int(self.sql(1 - self.primary, "SELECT pid FROM pg_stat_wal_receiver"))
        if lag > 0:
            os.kill(receiver, signal.SIGSTOP)
            time.sleep(lag)
        control(self.data(self.primary), "stop", "-m", "immediate")
        if lag > 0:
            os.kill(receiver, signal.SIGCONT)
        self.primary = 1 - self.primary
        control(self.data(self.primary), "promote")

    def close(self):
        """Stops the servers."""
        for index in (0, 1):
            if os.path.exists(os.path.join(self.data(index), "postmaster.pid")):
                control(self.data(index), "stop", "-m", "immediate")
