# SPDX-License-Identifier: Apache-2.0
"""csource.py - common parts of the tools: reading C sources, reports, arguments"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

MACRO = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)  # with its continuation lines
SIGNATURE = re.compile(r"\b(\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*$")  # a name and its parameters, at the end


def blank(match):
    """Spaces in place of a comment or literal. Line breaks stay, and so do the quotes of literals."""
    text = match.group()
    inside = re.sub(r"[^\n]", " ", text)
    return text[0] + inside[1:-1] + text[-1] if text[0] in "\"'" else inside


def code_of(text):
    """The text without comments and without the contents of literals. Line numbers do not change."""
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


def closing(code, start):
    """The position of the bracket that closes the one at start."""
    depth = 0
    for match in re.finditer(r"[(\[{]|[)\]}]", code[start:]):
        depth += 1 if match.group() in "([{" else -1
        if depth == 0:
            return start + match.start()
    return len(code) - 1


def without_macros(code):
    """The code with blanks in place of preprocessor lines. Line numbers do not change."""
    return MACRO.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)


class Definition(NamedTuple):
    name: str
    line: int     # of its name
    lines: int    # from the opening bracket of its body to the closing one
    is_static: bool
    start: int    # the positions of its body in the text
    end: int


def function_definitions(text):
    """All functions that a source or header defines, in their order."""
    code = without_macros(code_of(text))
    found, position = [], 0
    while (start := code.find("{", position)) >= 0:
        end = closing(code, start)
        # The text between the last complete item and the body: return type, name, parameters.
        head_start = max(code.rfind(";", position, start), position - 1) + 1
        head = code[head_start:start]
        name = SIGNATURE.search(re.sub(r"\b__attribute__\s*\(\(.*?\)\)\s*$", "", head))
        if name and name.group(1) not in ("if", "while", "for", "switch"):
            line, lines = line_of(code, head_start + name.start(1)), code.count("\n", start, end) + 1
            is_static = bool(re.search(r"\bstatic\b|\bHORA__INLINE\b", head))
            found.append(Definition(name.group(1), line, lines, is_static, start, end))
        position = end + 1
    return found


def extracted(folder, repository, revision):
    """Write the files of a commit into folder. Returns an error message, or "" on success."""
    git = ["git", "-C", str(repository)]
    found = subprocess.run([*git, "rev-parse", "--verify", "--quiet", revision + "^{commit}"],
                           capture_output=True, text=True, check=False)
    if found.returncode != 0:
        return f"{repository} has no commit {revision}"
    archive = subprocess.Popen([*git, "archive", found.stdout.strip()], stdout=subprocess.PIPE)
    unpacked = subprocess.run(["tar", "-x", "-C", str(folder)], stdin=archive.stdout, check=False)
    is_good = archive.wait() == 0 and unpacked.returncode == 0
    return "" if is_good else f"the files of {revision} cannot be extracted"


class Report:
    """Prints findings as "file:line: what", counts them, and ends the tool with the right exit status."""

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
    """The root of the repository (--root DIR; default: the one that contains this tool) and the other words.
    There must be `positional` other words."""
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
