# SPDX-License-Identifier: Apache-2.0
"""paths.py - reads docs/internals/paths.txt: the steps of a task and of a timer through the library

The file has one block per path. Its first line is "path NAME TRACE COLOUR: title", where TRACE is a trace of
tools/trace-path and COLOUR is a colour of tools/gen-architecture. The indented lines after it are the
introduction. Each step is one line, and the indented lines after it continue its sentence:

  thread | function | file | label | sentence

The thread is "caller", "worker" or another name. "caller, meanwhile" means that the step may happen before or
after the steps of the other threads around it. The label is the text in the diagram; a step without a label
appears only in the text.
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
    is_function = re.fullmatch(r"\w+", function)
    is_source = re.fullmatch(r"src/\w+/[\w/]+\.[ch]", source)
    if not is_function or not is_source:
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
        elif line.startswith("    ") and paths[-1].steps:
            step = paths[-1].steps[-1]
            paths[-1].steps[-1] = step._replace(sentence=f"{step.sentence} {line.strip()}".strip())
        elif line.startswith("    "):
            paths[-1].introduction.append(line.strip())
        else:
            paths[-1].steps.append(step_of(file, number, line))
    for path in paths:
        if not path.steps:
            raise Broken(f"{file}:{path.line}: the path {path.name} has no steps")
        for step in path.steps:
            if not step.sentence:
                raise Broken(f"{file}:{step.line}: a step needs a function, a file of src and a sentence")
    return paths
