# SPDX-License-Identifier: Apache-2.0
"""paths.py - reads docs/internals/paths.txt: the steps of a task and of a timer through the library

The file has one block per path. The first line names it: "path NAME TRACE COLOUR: title", where TRACE is one
of tools/trace-path and COLOUR one of tools/gen-architecture. Lines that start with "    " are its
introduction. Then comes one line per step:

  thread | function | file | label | sentence

thread is caller or worker, or another name of a thread; "worker, meanwhile" says that the step may happen
before or after those of the other threads around it. label is what the diagram shows; steps without one are
only in the text.
"""

import re
from typing import NamedTuple


class Broken(Exception):
    """The file does not have the format above."""


class Step(NamedTuple):
    line: int
    role: str
    is_meanwhile: bool
    function: str
    file: str
    label: str
    sentence: str


class Path(NamedTuple):
    line: int
    name: str
    trace: str
    colour: str
    title: str
    introduction: list
    steps: list


def step_of(file, number, line):
    fields = [field.strip() for field in line.split("|", 4)]
    if len(fields) != 5:
        raise Broken(f"{file}:{number}: a step is thread | function | file | label | sentence")
    role, function, source, label, sentence = fields
    thread, _, meanwhile = role.partition(",")
    if meanwhile.strip() not in ("", "meanwhile"):
        raise Broken(f"{file}:{number}: {meanwhile.strip()}: only meanwhile may follow the thread")
    is_function, is_source = re.fullmatch(r"\w+", function), re.fullmatch(r"src/\w+/[\w/]+\.[ch]", source)
    if not is_function or not is_source or not sentence:
        raise Broken(f"{file}:{number}: a step needs a function, a file of src and a sentence")
    return Step(number, thread.strip(), bool(meanwhile), function, source, label, sentence)


def read_paths(file):
    if not file.exists():
        raise Broken(f"{file} does not exist")
    paths = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        opening = re.fullmatch(r"path (\w+) (\w+) (\w+): (.+)", line)
        if opening:
            paths.append(Path(number, *opening.groups(), [], []))
        elif not paths:
            raise Broken(f"{file}:{number}: expected path NAME TRACE COLOUR: title")
        elif line.startswith("    "):
            paths[-1].introduction.append(line.strip())
        else:
            paths[-1].steps.append(step_of(file, number, line))
    for path in paths:
        if not path.steps:
            raise Broken(f"{file}:{path.line}: the path {path.name} has no steps")
    return paths
