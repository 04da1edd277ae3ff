# SPDX-License-Identifier: Apache-2.0
"""Who is measured: the programs, in which packages their libraries come, and what each of them cannot do"""

import re
import shutil
import subprocess
import sys
import threading
from collections import namedtuple
from pathlib import Path

from plan import begins

SOURCES = Path(__file__).resolve().parent
JARS = Path("/usr/share/java")
NETTY = [JARS / "netty-common.jar"]
QUARTZ = [JARS / name for name in ("quartz2.jar", "slf4j-api.jar", "slf4j-nop.jar")]
HEAP = ["-Xms2g", "-Xmx2g"]  # of a JVM: its size does not change while something is measured
MOST_SECONDS = 120  # for one answer; a subject that takes longer is stuck
NOT_INSTALLED = 77  # the exit status that says so

Metric = namedtuple("Metric", "name unit better")

# subject: (program, Debian package of what it measures). A program that is not there was left out by CMake.
POOLS = {"libuv": ("pools-libuv", "libuv1-dev"), "glib": ("pools-glib", "libglib2.0-dev"),
         "apr": ("pools-apr", "libaprutil1-dev"), "asio": ("pools-asio", "libboost-dev"),
         "tbb": ("pools-tbb", "libtbb-dev"), "thread_pool": ("pools-thread_pool", "libthread-pool-dev"),
         "go-chan": ("pools-go", "golang-go"), "go-spawn": ("pools-go", "golang-go"),
         "tokio": ("pools-tokio", "cargo, rustc and librust-tokio-dev")}
TIMERS = {"libuv": ("timers-libuv", "libuv1-dev"), "glib": ("timers-glib", "libglib2.0-dev"),
          "apr": ("timers-apr", "libaprutil1-dev"), "asio": ("timers-asio", "libboost-dev"),
          "libevent": ("timers-libevent", "libevent-dev"), "libev": ("timers-libev", "libev-dev"),
          "go": ("timers-go", "golang-go"),
          "tokio": ("timers-tokio", "cargo, rustc and librust-tokio-dev")}
TASKS = {name: (program.replace("pools-", "tasks-"), package) for name, (program, package) in POOLS.items()
         if name not in ("libuv", "apr")}
DELAY = {"pthread": ("delay-pthread", None), "boost": ("delay-boost", "libboost-thread-dev")}
# subject: Debian package. Whether they are there turns out when they are asked.
CRONS = {"quartz": "libquartz2-java and openjdk-17-jdk-headless", "systemd": "systemd",
         "croniter": "python3-croniter"}
TAKES_A_NAME = {"pools-go", "tasks-go", "queues"}  # programs of several subjects

# Other uses of hora: (subject, program, beginnings of the workloads' names).
VARIANTS = [("hora-measured", "pools-hora-measured", ["W1"]), ("hora-named", "pools-hora-named", ["W1"]),
            ("hora-scheduler", "pools-hora-scheduler", ["W1"]),
            ("hora-spin", "pools-hora-spin", ["W2"]), ("futex", "pools-futex", ["W2"]),
            ("hora-timer", "timers-hora-timer", ["W3.cancel", "W3.window", "W6.memory"]),
            ("hora-future", "timers-hora-future", ["W4"]),
            ("hora-steal", "tasks-hora-steal", ["W9", "W10", "W12"])]
ONLY_HORA = ["W5.slack"]  # workloads that no peer has a setting for
IN_OWN_MEMORY = ["W3.reuse", "W6.array"]  # workloads for timers in memory of the caller

FLOORS = {"futex", "limit"}  # no library: what the machine does at best

NO_BATCH = "it has no call that submits many tasks and waits for all of them"
NO_GROUP = "it has no group of tasks"
NO_FUTURE = "its tasks have no results and no handles"
ONE_TYPE_PER_FORM = "each form is a type of its own, and a thousand of them take minutes to compile"

# What a library cannot do: (subject, beginnings of the workloads' names, why).
LEFT_OUT = [
    ("apr", ["W4.fire.100k", "W4.fire.1M", "W4.fire.4M"],
     "it searches the place of a new timer from the first one on: a million would take hours"),
    ("netty-1ms", ["W5"], "it has no repeating timers"),
    *((name, IN_OWN_MEMORY, "its timers are not in memory of the caller, and each is used once")
      for name in ("jdk", "jdk-keep", "netty-1ms", "apr", "tokio")),
    *((name, ["W6.array"], "its timers are not in memory of the caller") for name in ("glib", "go")),
    ("libuv", ["W9", "W10", "W11", "W12"], "only the thread of a loop may submit, and tasks have no results"),
    ("glib", ["W9", "W12.submit"], NO_FUTURE),
    ("glib", ["W11"], "a pool has one function for all tasks"),
    ("apr", ["W9", "W10", "W11", "W12"],
     "tasks have no results, and a million that submit others, or wait in the queue, take it minutes"),
    ("asio", ["W9.group", "W9.completion"], NO_GROUP),
    ("asio", ["W9.batch"], NO_BATCH),
    ("asio", ["W11"], ONE_TYPE_PER_FORM),
    ("tbb", ["W9.batch"], NO_BATCH),
    ("thread_pool", ["W9.group", "W9.completion"], NO_GROUP),
    ("thread_pool", ["W9.batch"], NO_BATCH),
    ("thread_pool", ["W11"], ONE_TYPE_PER_FORM),
    ("tokio", ["W9.group"], "its JoinSet is in W9.completion"),
    ("tokio", ["W9.batch"], NO_BATCH),
    ("tokio", ["W9.latch"], "it has no latch"),
    ("tokio", ["W11"], ONE_TYPE_PER_FORM),
    *((name, ["W9.batch"], NO_BATCH) for name in ("go-chan", "go-spawn")),
    *((name, ["W9.latch"], "its WaitGroup is in W9.group") for name in ("go-chan", "go-spawn")),
    ("go-chan", ["W12"], "a channel never grows; it has the memory for all its elements from the start"),
    ("go-spawn", ["W12"], "five million goroutines that wait take more than 10 GB"),
]


# What a reader of a row must know: (subject, beginnings of the workloads' names, what).
NOTES = [
    ("hora", ["W3.cancel", "W3.window", "W6.memory"],
     "each timer is new and has a future, as in the JDK; hora-timer allocates each hora_timer with malloc"),
    ("hora", IN_OWN_MEMORY, "hora_timer in memory of the caller, as in libuv, libevent, libev and Asio"),
    ("hora", ["W4"], "without futures; hora-future has one per timer, as the JDK does"),
    ("netty-1ms", ["W4", "W7"], "the wheel turns every millisecond, whether a timer is due or not"),
    ("libuv", ["W4"], "one thread schedules and runs timers; insert is without the time of running them"),
]

# subject: the Debian package whose version is that of the subject
PACKAGES = {"libuv": "libuv1-dev", "glib": "libglib2.0-dev", "apr": "libaprutil1-dev", "asio": "libboost-dev",
            "boost": "libboost-thread-dev", "tbb": "libtbb-dev", "thread_pool": "libthread-pool-dev",
            "libevent": "libevent-dev", "libev": "libev-dev", "tokio": "librust-tokio-dev",
            "netty-1ms": "libnetty-java", "quartz": "libquartz2-java", "systemd": "systemd",
            "croniter": "python3-croniter"}


class Failed(Exception):
    """A subject ended, or got stuck, while it was measured."""


class Subject:
    """A process that measures one workload whenever it is asked."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @property
    def pid(self):
        return self.process.pid

    def send(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except OSError:
            raise Failed(f"{self.name} ended while it measured") from None

    def answer(self):
        """The values up to the line that ends an answer."""
        limit = threading.Timer(MOST_SECONDS, self.process.kill)
        limit.start()
        results = []
        try:
            for line in self.process.stdout:
                if line == ".\n":
                    return results
                name, value, unit, better = line.split()
                results.append((Metric(name, unit, better), float(value)))
        finally:
            limit.cancel()
        raise Failed(f"{self.name} ended while it measured")

    def ask(self, command):
        self.send(command)
        return self.answer()

    def end(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        if self.process.wait() != 0:
            raise Failed(f"{self.name} ended with status {self.process.returncode}")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Programs:
    """What there is to run, and how. Says what is missing."""

    def __init__(self, build, only_hora, before=None):
        self.folder = build / "bench" / "programs"
        self.before = before / "bench" / "programs" if before else None
        if self.before and not self.before.is_dir():
            sys.exit(f"bench: {self.before} has not been built")
        for needed in ("queues", "pools-hora", "tasks-hora", "timers-hora", "timers-hora-timer",
                       "timers-hora-future", "delay-hora", "cron-hora", "limits"):
            if not (self.folder / needed).exists():
                sys.exit(f"bench: {self.folder / needed} has not been built")
        self.only_hora = only_hora or before is not None
        self.classes = None if self.only_hora else compile_java(build / "bench" / "classes")
        self.missing = set()
        self.crons = {"hora": [self.folder / "cron-hora"]}  # those that answer; compare_crons adds to them

    def all_workloads(self):
        programs = ("limits", "pools-hora", "timers-hora", "delay-hora", "tasks-hora", "cron-hora", "queues")
        return [name for program in programs
                for name in subprocess.run([self.folder / program, "--list"], check=True, capture_output=True,
                                           text=True).stdout.split()]

    def native(self, name, program, package, workload):
        path = self.folder / program
        if not path.exists():
            if name not in self.missing:
                print(f"bench: {name} is left out: not installed when this was built (Debian: {package}), or "
                      "built for release only")
            self.missing.add(name)
            return {}
        return {name: [path, name, workload] if program in TAKES_A_NAME else [path, workload]}

    def java(self, java_class, names, workload):
        if not self.classes:
            return {}
        if not all_exist(NETTY) and "netty-1ms" in names:
            if "netty-1ms" not in self.missing:
                print("bench: netty-1ms is left out: not installed (Debian: libnetty-java)")
            self.missing.add("netty-1ms")
            names = [name for name in names if name != "netty-1ms"]
        return {name: ["java", *HEAP, "-cp", class_path(self.classes, *NETTY), java_class, name, workload]
                for name in names}

    def cron_command(self, name):
        """How a peer with cron expressions is started, or None if it is known not to be there."""
        if name == "quartz":
            if not self.classes or not all_exist(QUARTZ):
                return None
            rows = SOURCES / "cron" / "rows.tsv"
            return ["java", "-cp", class_path(self.classes, *QUARTZ), "Quartz", rows]
        is_script = name == "croniter"
        program = SOURCES / "cron" / "croniter_peer.py" if is_script else self.folder / f"cron-{name}"
        return [program] if program.exists() else None

    def compare_crons(self):
        """Asks all that have cron expressions for all answers, and leaves out peers that have none.

        Returns what a reader must know."""
        if self.only_hora:
            return []
        ours = answers("hora", self.crons["hora"])
        return [self.compare_cron(name, package, ours) for name, package in CRONS.items()]

    def compare_cron(self, name, package, ours):
        command = self.cron_command(name)
        try:
            theirs = answers(name, command) if command else set()
        except Failed as failure:
            return f"Left out: {name} in cron: {failure}."
        if not theirs:
            return (f"Left out: {name} in cron: not installed, or a version that is not known "
                    f"(Debian: {package}).")
        self.crons[name] = command
        return (f"Cron: {name} gives hora's answer to {len(ours & theirs)} of the {len(theirs)} questions "
                "that it can be asked.")

    def with_before(self, commands):
        """Each of hora's commands, and beside it the same command of the build that it is compared with."""
        if not self.before:
            return commands
        return commands | {name.replace("hora", "before"): [self.before / command[0].name, *command[1:]]
                           for name, command in commands.items()}

    def own_commands(self, own, workload):
        """hora in all ways that fit the workload. Beside a build before, or alone, only the main ones."""
        program = "timers-hora-timer" if begins(workload, IN_OWN_MEMORY) else own
        commands = self.native("hora", program, None, workload)
        for name, variant, beginnings in VARIANTS:
            is_main = variant.startswith("timers-") and self.before and (self.before / variant).exists()
            if begins(workload, beginnings) and (is_main or not self.only_hora):
                commands |= self.native(name, variant, None, workload)
        return self.with_before(commands)

    def commands(self, workload):
        """The command that measures this workload, for each subject."""
        kind = workload.split(".")[0]
        if kind == "limit":
            return {"limit": [self.folder / "limits", workload]}
        if kind == "cron":
            return self.with_before({name: [*command, workload] for name, command in self.crons.items()})
        if kind in ("W1", "W2"):
            own, peers, java = "pools-hora", POOLS, ("Pools", ["jdk", "jdk-fjp"])
        elif kind in ("W9", "W10", "W11", "W12"):
            own, peers, java = "tasks-hora", TASKS, ("Tasks", ["jdk", "jdk-fjp"])
        elif kind == "W8":
            own, peers, java = "delay-hora", DELAY, ("Delay", ["jdk"])
        elif kind.startswith("W"):
            own, peers, java = "timers-hora", TIMERS, ("Timers", ["jdk", "netty-1ms"])
            if kind == "W3":
                java[1].insert(1, "jdk-keep")
        else:
            own, peers, java = "queues", {"pthread": ("queues", None)}, ("Queues", ["jdk"])
            if ".array." in workload:  # the JDK's is unfair unless asked; hora's is always fair
                java[1].append("jdk-fair")
        commands = self.own_commands(own, workload)
        if self.only_hora or begins(workload, ONLY_HORA):
            return commands
        for name, (program, package) in peers.items():
            commands |= self.native(name, program, package, workload)
        commands |= self.java(*java, workload)
        left_out = {name for name, beginnings, _ in LEFT_OUT if begins(workload, beginnings)}
        return {name: command for name, command in commands.items() if name not in left_out}


def compile_java(folder):
    if not (shutil.which("java") and shutil.which("javac")):
        print("bench: no JDK is installed (Debian: openjdk-17-jdk-headless); it is left out")
        return None
    needs = {"Netty.java": NETTY, "Quartz.java": QUARTZ}
    files = [file for file in sorted(SOURCES.rglob("*.java")) if all_exist(needs.get(file.name, []))]
    subprocess.run(["javac", "-cp", class_path(*NETTY, *QUARTZ), "-d", folder, *files], check=True)
    return folder


def all_exist(files):
    return all(file.exists() for file in files)


def class_path(*places):
    return ":".join(map(str, places))


def answers(name, command):
    """What a program says to all questions about cron expressions: a set of lines.

    Empty if what it needs is not installed."""
    try:
        result = subprocess.run([*command, "--answers"], capture_output=True, text=True, check=False,
                                timeout=MOST_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise Failed(f"{name} does not answer: {failure}") from None
    if result.returncode not in (0, NOT_INSTALLED):
        raise Failed(f"{name} ended with status {result.returncode} while it was asked for answers")
    return set(result.stdout.splitlines()) if result.returncode == 0 else set()


def output_of(*command):
    """All that a command prints, or nothing if it is not there or fails."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=MOST_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout + result.stderr


def version_of(name):
    """The version of what a subject measures, or None if it is hora, or the machine, or not known."""
    if name.startswith("jdk"):
        return next(iter(re.findall(r'version "(.*?)"', output_of("java", "-version"))), None)
    if name.startswith("go"):
        return next(iter(re.findall(r"go([\d.]+)", output_of("go", "version"))), None)
    if name in PACKAGES:
        return output_of("dpkg-query", "--show", "--showformat", "${Version}", PACKAGES[name]) or None
    return None


def versions_of(names):
    """{subject: version} of those whose version is known, in their order."""
    found = {name: version_of(name) for name in names}
    return {name: version for name, version in found.items() if version}
