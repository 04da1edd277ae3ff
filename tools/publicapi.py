# SPDX-License-Identifier: Apache-2.0
"""publicapi.py - what a public header declares, together with the comments that document it

A comment documents the declarations that follow it without an empty line. Names that start with hora__ or
HORA__ are internal. A forward declaration with the comment "hora/x.h" is documented in that header.
"""

import re
import sys
from typing import NamedTuple

sys.dont_write_bytecode = True
from csource import closing, code_of

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DEFINE = re.compile(r"#define (\w+)(\([^)]*\))?(?:[^\n]*\\\n)*[^\n]*")
EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")
SKIPPED = re.compile(r"(?!\n[ \t]*\n)\s|#(?!define\b)[^\n]*|HORA_(?:BEGIN|END)_DECLS\n")
FORWARD = re.compile(r"[ \t]*/\* (?:see )?hora/\w+\.h \*/")
NOT_FOR_C = re.compile(r"defined\((__cplusplus|HORA_WHOLE)\)")  # HORA_WHOLE: only while hora itself is built
TABLE_ROW = re.compile(r'\bX\((HORA_\w+), [^,]+, "([^"]*)"\)')


class Member(NamedTuple):
    terms: list  # fields or constants, as they are declared; none if the comment stands alone
    text: str


class Item(NamedTuple):
    kind: str        # "function", "type" or "macro"
    names: list      # without the constants
    constants: list
    code: list       # the declarations, without comments, attributes and bodies
    text: str
    members: list


class Header(NamedTuple):
    stem: str     # "pool" for hora/pool.h
    summary: str
    text: str     # the opening comment without its first line
    items: list


def comment_text(comment):
    """The lines of a comment without its decoration."""
    first, *rest = comment.removeprefix("/*").removesuffix("*/").split("\n")
    rest = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in rest]
    return "\n".join([first.strip(), *rest]).strip("\n")


def c_part(text):
    """What a compiler for C with the extensions of GNU reads: of each #if, the first branch that applies."""
    taken, done, lines = [], [], []
    for line in text.split("\n"):
        word = re.match(r"#(if|ifdef|ifndef|elif|else|endif)\b(.*)", line)
        applies = word and not NOT_FOR_C.match(word.group(2).strip())
        if not word:
            lines += [line] if all(taken) else []
        elif word.group(1) == "endif":
            taken.pop()
            done.pop()
        elif word.group(1) in ("elif", "else"):
            taken[-1] = applies and not done[-1]
            done[-1] = done[-1] or applies
        else:
            taken.append(applies)
            done.append(applies)
    return "\n".join(lines)


def end_of_declaration(code, start, separator):
    """The position after a declaration: after its separator, or after the body of a function."""
    position = start
    while position < len(code):
        if code[position] == separator:
            return position + 1
        if code[position] in "([{":
            is_body = code[position] == "{" and code[start:position].rstrip().endswith(")")
            position = closing(code, position)
            if is_body:
                return position + 1
        position += 1
    return len(code)


def pieces(text, separator):
    """(kind, text) of each comment, declaration and gap, in their order."""
    code, position = code_of(text), 0
    while position < len(text):
        if match := SKIPPED.match(text, position):
            position = match.end()
        elif match := EMPTY_LINES.match(text, position):
            yield "gap", ""
            position = match.end()
        elif match := COMMENT.match(text, position):
            yield "comment", comment_text(match.group())
            position = match.end()
        elif match := DEFINE.match(text, position):
            yield "declaration", match.group()
            position = match.end()
        else:
            end = end_of_declaration(code, position, separator)
            forward = FORWARD.match(text, end)
            if not forward:
                yield "declaration", text[position:end]
            position = forward.end() if forward else end


def groups(text, separator=";"):
    """(comment, declarations) for each comment and the declarations that follow it without a gap."""
    found, is_open = [], False
    for kind, piece in pieces(text, separator):
        if kind == "comment":
            found.append((piece, []))
        elif kind == "declaration":
            if not is_open:
                found.append(("", []))
            found[-1][1].append(piece)
        is_open = kind != "gap"
    return found


def one_line(code):
    return " ".join(code_of(code).split())


def is_public(name):
    return not name.startswith(("hora__", "HORA__", "__"))


def macro_code(define):
    """A macro with its parameters, or with its value if that fits on one line."""
    name, parameters = define.groups()
    if parameters or "\n" in define.group():
        return name + (parameters or "")
    return " ".join(define.group().split())


def macros(comment, defines):
    """One item for all macros that share a comment; none if they are internal."""
    found = [DEFINE.match(define) for define in defines]
    found = [match for match in found if is_public(match.group(1)) and not match.group(1).endswith("_H")]
    if not found:
        return []
    return [Item("macro", [match.group(1) for match in found], [], [macro_code(match) for match in found],
                 comment, [])]


def function(comment, declaration):
    head = code_of(declaration).partition("{")[0]
    head = one_line(re.sub(r"\b(HORA_API|HORA_NODISCARD|static inline)\b", "", head)).rstrip(";")
    name = re.search(r"\b(\w+)\(", head).group(1)
    return [Item("function", [name], [], [head + ";"], comment, [])] if is_public(name) else []


def members_of(body, is_enum, rows):
    """The fields of a struct or the constants of an enum. The rows of a table can take their place."""
    if rows and re.search(r"\bHORA_\w+_TABLE\(", body):
        return [Member([name], text) for name, text in rows]
    members = []
    for comment, declarations in groups(body, "," if is_enum else ";"):
        members.append(Member([one_line(code).rstrip(",;") for code in declarations], comment))
    return members


def type_item(comment, declaration, rows):
    code, members, constants = code_of(declaration), [], []
    shown = one_line(declaration)
    is_enum = re.match(r"(typedef )?enum\b", code)
    if "{" in code:
        start = code.index("{")
        end = closing(code, start)
        members = members_of(declaration[start + 1: end], is_enum, rows)
        shown = one_line(code[:start] + "{ ... }" + code[end + 1:])
    if is_enum:
        constants = [term.split()[0] for member in members for term in member.terms]
    if not any(member.text for member in members):
        members = members if is_enum else []  # the contents of a private struct
    name = re.search(r"^enum (\w+)|\(\*(\w+)\)\(|(\w+);$", shown)
    return [Item("type", [next(filter(None, name.groups()))], constants, [shown], comment, members)]


def items_of(text):
    """All public declarations of a header, in their order."""
    rows, items = TABLE_ROW.findall(text), []
    for comment, declarations in groups(text):
        items += macros(comment, [code for code in declarations if code.startswith("#define")])
        for code in declarations:
            if code.startswith(("typedef", "enum")):
                items += type_item(comment, code, rows)
            elif re.match(r"(HORA_NODISCARD\s+)?(HORA_API|static inline)\b", code):
                items += function(comment, code)
    return items


def read_header(path):
    text = c_part(path.read_text(encoding="utf-8"))
    opening = comment_text(COMMENT.findall(text)[1])
    first, _, rest = opening.partition("\n")
    return Header(path.stem, first.partition(" - ")[2], rest.strip("\n"), items_of(text))
