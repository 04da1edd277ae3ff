# SPDX-License-Identifier: Apache-2.0
"""pages.py - the fenced blocks of documents, and the outputs that they show"""

import difflib
import re
from typing import NamedTuple

FENCE = re.compile(r"^```(.*)$")
DURATION = re.compile(r"\b\d+(?:\.\d+)? (?:ns|us|ms|s|min|h|d)\b")
OFFSET = re.compile(r"(?<=\d)(?:Z|[+-]\d\d:\d\d)(?!\w)")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Block(NamedTuple):
    line: int  # of the fence
    words: list  # of the fence: language, and what the tests need to know
    text: str
    follows: bool  # only blank lines since the block before it


def blocks_of(text):
    """All fenced blocks of a page."""
    blocks, words, start, lines, follows = [], None, 0, [], False
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line)
        if words is None and fence:
            words, start, lines = fence.group(1).split(), number, []
        elif words is not None and fence and not fence.group(1):
            blocks.append(Block(start, words, "".join(f"{each}\n" for each in lines), follows))
            words, follows = None, True
        elif words is not None:
            lines.append(line)
        elif line.strip():
            follows = False
    if words is not None:
        raise ValueError(f"{start}: the block has no end")
    return blocks


def pattern_of(expected):
    """A regular expression for the expected output."""
    parts = []
    for line in expected.split("\n")[:-1]:
        if line == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(r"[^\n]*".join(re.escape(part) for part in line.split("...")) + r"\n")
    return "".join(parts)


def shape_of(text):
    """The text without what differs from run to run and from machine to machine: all numbers, durations and
    offsets of time zones are the same, and blanks are single."""
    text = NUMBER.sub("0", DURATION.sub("0 s", OFFSET.sub("Z", text)))
    return re.sub(r" +", " ", re.sub(r" +$", "", text, flags=re.M))


def difference(expected, output, is_alike=False):
    """How an output differs from what the page shows; "" if it does not. With is_alike only shapes count."""
    shown, printed = (shape_of(expected), shape_of(output)) if is_alike else (expected, output)
    if re.fullmatch(pattern_of(shown), printed):
        return ""
    return "".join(difflib.unified_diff(expected.splitlines(True), output.splitlines(True), "the page",
                                        "the program"))
