# SPDX-License-Identifier: Apache-2.0
"""follow.py - follow a page as a reader does: write its files, run its commands, and compare what they print

The opening text of tests/guide/commands says what the words of the fences mean. The commands of a page share
a folder and a shell: what a block exports or where it goes with cd is so for the blocks that follow. A runner
starts in that shell, too, and the blocks that follow run beside it.
"""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

from pages import blocks_of, difference

ROOT = Path(__file__).resolve().parent.parent.parent
END_SECONDS = 60
LOOK_SECONDS = 10
# The beginnings of commands that show a mistake, with their exit status
FAILS = {"hora cron check '0 0 24 * * *'": 1, "hora run copy --wait": 3, "hora explain copy": 1}
# A command that fails is noted with its status, and the next one runs.
TRAP = """trap 'status=$?; printf "%s\\t%s\\n" "$status" "$BASH_COMMAND" >>"{failed}"' ERR\n"""
# What the shell is to know at the next block
KEEP = """{{ export -p; printf 'cd %q\\n' "$PWD"; }} >"{state}"\n"""
LOOKING = re.compile(r"(?:hora (?:status|list|next|history|logs|explain)|cat)(?: |$)")


class Place(NamedTuple):
    """Where the commands of a page run."""
    folder: Path        # the folder of the page, as this process sees it
    notes: Path         # a folder for notes about the commands
    home: str           # the home folder, as the commands see it
    options: dict       # of subprocess
    owner: int = None   # the user who owns the files of the page, if this is another one
    root: Path = Path("/")  # the root folder of the commands
    prefix: tuple = ()  # the words before each command, which lead to that root


def is_only(command, text):
    """Whether each line of a block starts with a command, apart from those after a backslash."""
    return all(command.match(line) for line in text.replace("\\\n", "").splitlines())


class Runner:
    """A runner in the background: it collects what the runner prints."""

    def __init__(self, line, words, expected, status, options):
        self.line, self.expected, self.status, self.output = line, expected, status, ""
        self.ready = threading.Event()
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, **options)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.ready.wait(END_SECONDS)

    def read(self):
        for line in self.process.stdout:
            self.output += line
            if " ready: " in line:
                self.ready.set()
        self.ready.set()  # there will be no more

    def end(self):
        """Returns the exit status."""
        if self.process.poll() is None and self.status == 0:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.reader.join()
        return self.process.wait()


class Page:
    """The blocks of a page, which share a folder and a shell."""

    def __init__(self, path, place):
        self.path, self.place = path, place
        self.runner, self.used, self.faults, self.crontab = None, 0, 0, None
        self.failed, self.state = place.notes / "failed", place.notes / "state"
        self.empty(self.state)

    @staticmethod
    def empty(file):
        """Makes an empty file, into which every user may write."""
        file.write_text("")
        file.chmod(0o666)

    def inside(self, path):
        """The path of a file, as the commands see it."""
        return Path("/") / path.relative_to(self.place.root)

    def shell(self, text):
        """The words that run a text in the shell of the page."""
        return [*self.place.prefix, "bash", "-c", f'. "{self.inside(self.state)}"\n{text}']

    def fault(self, line, what):
        print(f"{self.path}:{line}: {what}")
        self.faults += 1

    def write(self, name, text):
        """Writes a file of the page."""
        file = self.place.folder / name
        file.write_text(text, encoding="utf-8")
        if self.place.owner is not None:
            os.chown(file, self.place.owner, self.place.owner)

    def general(self, text):
        """An output as the pages show it."""
        return text.replace(self.place.home, "/home/you").replace(socket.gethostname(), "server")

    def difference(self, expected, output):
        """How an output differs from what the page shows; "" if it does not, or if the page shows nothing."""
        if expected is None:
            return ""
        return difference(expected.text, self.general(output), is_alike=expected.words[1:] == ["like"])

    def compare(self, line, expected, output):
        what = self.difference(expected, output)
        if what:
            self.fault(line, f"prints something else\n{what}")

    # ---- files ----

    def check_jobs(self, block, form):
        name = block.words[1] if len(block.words) > 1 else f"block{block.line}.{form}"
        self.write(name, block.text)
        if form == "crontab" and self.crontab is None:
            self.crontab = name
            self.write("crontab -l", block.text)
        words = ["--crontab", "user"] if form == "crontab" else []
        self.must_accept(block, "hora", "check", *words, name)

    def check_unit(self, block):
        comments = re.compile(r"^(#.*)?\n", re.M)
        file = ROOT / block.words[1] if len(block.words) == 2 else None
        if file is None or not file.is_file():
            self.fault(block.line, "not the name of a file of the repository")
        elif comments.sub("", block.text) != comments.sub("", file.read_text(encoding="utf-8")):
            self.fault(block.line, f"{block.words[1]} contains something else")

    def must_accept(self, block, *command):
        self.used += 1
        done = subprocess.run(self.shell(f"exec {shlex.join(command)}"), capture_output=True, text=True,
                              check=False, **self.place.options)
        if done.returncode != 0:
            self.fault(block.line, f"is not accepted\n{done.stdout}{done.stderr}")

    def use_file(self, block, output):
        """Uses a block that is not of commands, and what the page shows below it."""
        if block.words == ["yaml", "rules"]:
            if shutil.which("promtool"):
                self.write("rules.yaml", block.text)
                self.must_accept(block, "promtool", "check", "rules", "rules.yaml")
        elif block.words[:1] == ["ini"]:
            self.check_unit(block)
        elif block.words[:1] in (["yaml"], ["crontab"]):
            self.check_jobs(block, block.words[0])

    # ---- commands ----

    def end_runner(self):
        if self.runner is None:
            return
        status = self.runner.end()
        if status != self.runner.status:
            self.fault(self.runner.line, f"the runner has exit status {status}\n{self.runner.output}")
        self.compare(self.runner.line, self.runner.expected, self.runner.output)
        self.runner = None

    def run(self, block, expected):
        self.used += 1
        if block.words[1:2] == ["runner"]:
            self.end_runner()
            status = -signal.SIGKILL if block.words[2:] == ["killed"] else 0
            self.runner = Runner(block.line, self.shell(f"exec {block.text}"), expected, status,
                                 self.place.options)
            return
        end = time.monotonic() + (LOOK_SECONDS if self.runner and is_only(LOOKING, block.text) else 0)
        while True:
            output = self.run_once(block.text)
            wrong = self.wrong_statuses(block.text)
            if time.monotonic() >= end or not (wrong or self.difference(expected, output)):
                break
        if wrong:
            self.fault(block.line, "\n".join([*wrong, output[-4000:]]))
        else:
            self.compare(block.line, expected, output)

    def run_once(self, text):
        """Returns the output of a block."""
        self.empty(self.failed)
        text = (TRAP.format(failed=self.inside(self.failed)) + text + "trap - ERR\n"
                + KEEP.format(state=self.inside(self.state)))
        done = subprocess.run(self.shell(text), text=True, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **self.place.options)
        if done.returncode != 0:  # it has not come to the end
            self.failed.write_text(f"{done.returncode}\tthe shell\n")
        return done.stdout

    def wrong_statuses(self, text):
        found = dict.fromkeys(line for line in self.failed.read_text().splitlines())
        wrong = []
        for line in found:
            status, command = line.split("\t", 1)
            expected = [code for beginning, code in FAILS.items() if command.startswith(beginning)]
            if [int(status)] != expected:
                wrong.append(f"exit status {status}: {command}")
        for beginning, code in FAILS.items():
            if beginning in text and not any(line.startswith(f"{code}\t{beginning}") for line in found):
                wrong.append(f"does not fail: {beginning}")
        return wrong

    def wants(self, block):
        """Whether a block of commands is run."""
        return True

    def use(self, text):
        """Uses the blocks of the page."""
        blocks = blocks_of(text)
        for block, after in zip(blocks, [*blocks[1:], None]):
            is_output = after is not None and after.words[:1] == ["text"] and after.follows
            output = after if is_output else None
            if block.words[:1] != ["sh"]:
                self.use_file(block, output)
            elif self.wants(block):
                self.run(block, output)
        self.end_runner()
