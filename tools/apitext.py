# SPDX-License-Identifier: Apache-2.0
"""apitext.py - the structure of the comments of public headers, for tools/gen-man and tools/gen-site"""

import re
from typing import NamedTuple

LABELS = r"\b(Ownership|Threads|Blocks|Errors):"
WIDTH = 72  # of code, so that it fits into 80 columns with the indentation of a page


class Contract(NamedTuple):
    summary: str  # the first line, without the name
    body: str
    labels: list  # (label, text)


def sentence(text):
    """The text with a capital letter, unless it begins with code, and with a full stop."""
    text = text[:1].upper() + text[1:] if re.match(r"[a-z]+[ ,;:.]", text) else text
    return text if text.endswith(".") else text + "."


def list_items(block):
    """(tag, text) of each item of a list. A tag is a bullet, a number, or what precedes the last wide gap."""
    for item in re.split(r"\n  (?=\S)", block[2:]):
        first, _, rest = item.partition("\n")
        rest = " ".join(rest.split())
        if bullet := re.match(r"(-|\d+\.) (.*)", first):
            tag, text = bullet.groups()
        else:
            tag, text = re.match(r"(.*\S)\s{2,}(\S.*)|(.*)", first).group(1, 2)
            tag, text = tag or first, text or ""
        yield tag, f"{text} {rest}".strip()


def blocks(text):
    """(kind, text) of each block: paragraphs, and lists and code, which are indented by two and by four."""
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if block.startswith("    "):
            yield "code", block
        elif block.startswith("  "):
            yield "list", block
        elif block:
            yield "paragraph", block


def wrapped(code):
    """A declaration in lines of at most WIDTH characters, broken after commas."""
    first, *rest = code.split(", ")
    lines = [first]
    for part in rest:
        if len(lines[-1]) + len(part) + 2 <= WIDTH:
            lines[-1] += ", " + part
        else:
            lines[-1] += ","
            lines.append("    " + part)
    return "\n".join(lines)


def contract_of(text):
    """The parts of the comment of a function."""
    body, *rest = re.split(LABELS, text)
    summary, _, body = body.partition("\n")
    labels = [(label, sentence(" ".join(words.split()))) for label, words in zip(rest[::2], rest[1::2])]
    return Contract(sentence(summary.partition(" - ")[2]), body, labels)


def split_example(text):
    """(example, rest) of an opening comment: it may begin with a block of code."""
    parts = re.split(r"\n\s*\n(?!    )", text, maxsplit=1) if text.startswith("    ") else ["", text]
    return parts[0], parts[1] if len(parts) > 1 else ""


def read_programs(table):
    """{stem of a header: paths of programs}"""
    programs = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            stem, file = line.split()
            programs.setdefault(stem, []).append(table.parent / file)
    return programs
