# SPDX-License-Identifier: Apache-2.0
"""command.py - run the command hora, and compare what it says

A test is a script that is given the path of the command. It calls the functions of this file, and finish() in the end, which
prints what was not as expected and gives the exit status.
"""

import os
import subprocess
import sys
from pathlib import Path

HORA = sys.argv[1]
DATA = Path(__file__).resolve().parent.parent / "cron"
_checks = 0
_failures = []


class Answer:
    def __init__(self, done):
        self.status, self.bytes = done.returncode, done.stdout
        self.out, self.err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def run(*words, stdin="", env=None):
    """Run hora with these arguments."""
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    environment = {**os.environ, **(env or {})}
    answer = Answer(subprocess.run([HORA, *words], input=data, capture_output=True, timeout=250, env=environment))
    check("Sanitizer" not in answer.err and "runtime error" not in answer.err, f"{words}: {answer.err}")
    check(answer.status in (0, 1, 2), f"{words}: status {answer.status}")
    return answer


def check(condition, what):
    global _checks
    _checks += 1
    if not condition:
        _failures.append(what)


def equal(got, expected, what):
    check(got == expected, f"{what}\n  expected: {expected!r}\n  got:      {got!r}")


def expect(words, out, status=0, stdin=""):
    """Run hora: it prints exactly this, and nothing to standard error."""
    answer = run(*words, stdin=stdin)
    equal((answer.status, answer.out, answer.err), (status, out, ""), f"hora {words}")


def expect_trouble(words, error, status=2, stdin=""):
    """Run hora: it prints nothing, and an error that has these words in it."""
    answer = run(*words, stdin=stdin)
    equal((answer.status, answer.out), (status, ""), f"hora {words}")
    check(error in answer.err, f"hora {words}\n  expected error: {error}\n  got:            {answer.err}")


def ask(command, questions, *options):
    """The answers of --tsv to questions, each a tuple of columns."""
    answer = run("cron", command, "--tsv", *options, stdin="".join("\t".join(q) + "\n" for q in questions))
    equal((answer.status, answer.err), (0, ""), f"hora cron {command} --tsv")
    lines = answer.out.split("\n")
    equal(lines.pop(), "", "the last line has an end")
    equal(len(lines), len(questions), "one line answers one line")
    return lines


def rows(name):
    """The rows of a file of tests/cron: lists of columns."""
    lines = (DATA / name).read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def finish():
    for failure in _failures[:20]:
        print(failure)
    print(f"{_checks} checks, {len(_failures)} failed")
    sys.exit(1 if _failures or _checks == 0 else 0)
