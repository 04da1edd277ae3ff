# SPDX-License-Identifier: Apache-2.0
"""csource.py - what the tools of this folder need to know about C sources: comments, strings, API functions."""

import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(match):
    """Spaces in place of a comment or literal, with its line breaks; quotes stay, so that literals stay visible."""
    text = match.group()
    inside = re.sub(r"[^\n]", " ", text)
    return text[0] + inside[1:-1] + text[-1] if text[0] in "\"'" else inside


def code_of(text):
    """The text without comments and without the contents of literals; every line stays where it was."""
    return TOKEN.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


class Function(NamedTuple):
    name: str
    line: int
    comment: str      # the comment right before it, "" if there is none
    declaration: str  # without HORA_API and HORA_NODISCARD, in lines of at most 80 characters


def api_functions(text):
    """All functions that a public header exports, in their order."""
    code = code_of(text)
    functions = []
    for match in re.finditer(r"^(?:HORA_NODISCARD\s+)?HORA_API\b[^;{]*;", code, re.M):
        name = re.search(r"\b(hora_\w+)\s*\(", match.group())
        if not name:
            continue
        before = text[: match.start()].rstrip()
        comment = before[before.rindex("/*"):] if before.endswith("*/") else ""
        declaration = re.sub(r"\b(HORA_API|HORA_NODISCARD)\b", "", code[match.start(): match.end()])
        declaration = textwrap.fill(" ".join(declaration.split()), 80, subsequent_indent="    ")
        functions.append(Function(name.group(1), line_of(text, match.start()), comment, declaration))
    return functions


def public_headers(root):
    return sorted((root / "include" / "hora").glob("*.h"))


class Report:
    """Collects findings as "file:line: what" and gives the exit status."""

    def __init__(self, root):
        self.root = root
        self.count = 0

    def add(self, path, line, what):
        path = Path(path)
        shown = path.relative_to(self.root) if path.is_absolute() and path.is_relative_to(self.root) else path
        print(f"{shown}:{line}: {what}")
        self.count += 1

    def finish(self, tool, good):
        if self.count:
            sys.exit(f"{tool}: {self.count} found")
        print(f"{tool}: {good}")


def arguments(usage, positional=0):
    """The root of the repository (--root DIR, default: the one this tool stands in) and `positional` further words."""
    words = sys.argv[1:]
    root = Path(__file__).resolve().parent.parent
    if words and words[0] in ("-h", "--help"):
        print(usage.strip())
        sys.exit(0)
    if words and words[0] == "--root":
        root = Path(words[1]).resolve()
        words = words[2:]
    if len(words) != positional:
        sys.exit(usage.strip())
    return root, words
