# SPDX-License-Identifier: Apache-2.0
"""refpages.py - the reference pages of the site: one page for each public header

Headings and code are Markdown. The prose of comments is HTML, because comments contain characters that mean
something in Markdown. Each public name is an anchor, and has a link wherever a page mentions it.
"""

import re
import sys
import textwrap
from html import escape
from typing import NamedTuple

sys.dont_write_bytecode = True
from apitext import blocks, contract_of, list_items, sentence, split_example, wrapped
from csource import closing, code_of
from publicapi import COMMENT, comment_text, one_line, read_header

MARKED = re.compile(r"`([^`]*)`|\bhora/((?:cpp/)?\w+)\.(hpp|h)\b|\b(?:hora|HORA)_\w+")
# The words that begin a declaration in C++ whose braces are not the body of a function
TYPE = re.compile(r"(?:template <.*?>\s+)?(class|struct|enum|union)\b")
NAME_OF_TYPE = re.compile(r"\b(?:class|struct|enum) (\w+)")
NAME_OF_FUNCTION = re.compile(r"(~?\w+|operator\s*[^\s(]+|operator \w+)\(")


def stem_of_page(path):
    """The page of a header: pool for hora/pool.h, cpp-pool for hora/cpp/pool.hpp."""
    name = path.removeprefix("cpp/").rpartition(".")[0]
    return f"cpp-{name}" if path.endswith(".hpp") else name


class Names:
    """The page and anchor of each public name of C."""

    def __init__(self, headers):
        self.page_of = {name: header.stem for header in headers for item in header.items
                        for name in item.names + item.constants}

    def link(self, name):
        return f'<a href="{self.page_of[name]}.html#{name}"><code>{name}</code></a>'

    def marked(self, text):
        """Running text as HTML, with links for public names and headers."""
        out, position = "", 0
        for match in MARKED.finditer(text):
            out += escape(text[position:match.start()], quote=False)
            position = match.end()
            if match.group(1) is not None:
                out += f"<code>{escape(match.group(1), quote=False)}</code>"
            elif match.group(2):
                page = stem_of_page(f"{match.group(2)}.{match.group(3)}")
                out += f'<a href="{page}.html">{match.group()}</a>'
            elif match.group() in self.page_of:
                out += self.link(match.group())
            else:
                out += match.group()
        return out + escape(text[position:], quote=False)


def code_block(text, language="c"):
    return f"````{language}\n{textwrap.dedent(text)}\n````\n\n"


def use_of(header, snippet, language):
    """The directive that includes a header, and the code with which its comment begins."""
    code = textwrap.dedent(snippet)
    return code_block(f"#include <{header}>" + (f"\n\n{code}" if code else ""), language)


def list_block(block, names):
    items = list(list_items(block))
    if all(re.fullmatch(r"-|\d+\.", tag) for tag, _ in items):
        kind = "ul" if items[0][0] == "-" else "ol"
        rows = "".join(f"<li>{names.marked(text)}</li>" for _, text in items)
    else:
        kind = "dl"
        rows = "".join(f"<dt>{names.marked(tag)}</dt><dd>{names.marked(text)}</dd>" for tag, text in items)
    return f"<{kind}>{rows}</{kind}>\n\n"


def prose(text, names, language="c"):
    out = ""
    for kind, block in blocks(text):
        if kind == "code":
            out += code_block(block, language)
        elif kind == "list":
            out += list_block(block, names)
        else:
            out += f"<p>{names.marked(' '.join(block.split()))}</p>\n\n"
    return out


def label_table(labels, names):
    rows = "".join(f"<dt>{label}</dt><dd>{names.marked(text)}</dd>" for label, text in labels)
    return f'<dl class="contract">{rows}</dl>\n\n' if labels else ""


def heading(item):
    first, *others = item.names
    anchors = "".join(f'<span id="{name}"></span>' for name in others)
    return f"### {', '.join(item.names)} {{#{first}}}\n\n" + (f"<div>{anchors}</div>\n\n" if anchors else "")


def member_rows(item, names):
    rows, after = "", ""
    for member in item.members:
        if not member.terms:
            after += f"<p>{names.marked(member.text)}</p>\n\n"
            continue
        for term in member.terms:
            name = term.split()[0]
            anchor = f' id="{name}"' if name in item.constants else ""
            rows += f"<dt{anchor}><code>{escape(term, quote=False)}</code></dt>"
        rows += f"<dd>{names.marked(sentence(member.text)) if member.text else ''}</dd>"
    return (f"<dl>{rows}</dl>\n\n" if rows else "") + after


def item_section(item, names):
    out = heading(item) + code_block("\n".join(map(wrapped, item.code)))
    if item.kind == "function":
        contract = contract_of(item.text)
        return (out + f"<p>{names.marked(contract.summary)}</p>\n\n" + prose(contract.body, names) +
                label_table(contract.labels, names))
    return out + prose(item.text, names) + member_rows(item, names)


def c_page(header, names, programs):
    """The page of a header of C. programs: (title, path from the folder of the page) of its examples."""
    snippet, description = split_example(header.text)
    out = f"# hora/{header.stem}.h\n\n<p>{names.marked(sentence(header.summary))}</p>\n\n"
    out += use_of(f"hora/{header.stem}.h", snippet, "c")
    out += prose(description, names)
    for title, kinds in (("Types, constants and macros", ("type", "macro")), ("Functions", ("function",))):
        items = [item for item in header.items if item.kind in kinds]
        if items:
            out += f"## {title}\n\n" + "".join(item_section(item, names) for item in items)
    if programs:
        out += "## Examples\n\n" + "".join(f"- [{title}]({path})\n" for title, path in programs)
    return out


# ---- C++ ----

class Entity(NamedTuple):
    comment: str
    code: list    # declarations without bodies
    name: str
    members: list  # (comment, declarations) of a class


def end_of_cpp(code, start):
    """The position after a declaration of C++, and the position of its body, or None."""
    is_type, position, seen_bracket, body = TYPE.match(code, start), start, False, None
    while position < len(code):
        if code[position] == ";":
            return position + 1, body
        if code[position] in "([{":
            if code[position] == "{" and (is_type or seen_bracket) and body is None:
                body = position
            seen_bracket = seen_bracket or code[position] == "("
            position = closing(code, position)
            if body is not None and not is_type:
                return position + 1, body
        position += 1
    return len(code), body


def cpp_groups(text):
    """(comment, declarations) as of publicapi.groups, for C++. A declaration is (code, text of its body)."""
    code, position, found, is_open = code_of(text), 0, [], False
    while position < len(text):
        if match := re.compile(r"\n[ \t]*\n\s*").match(text, position):
            is_open, position = False, match.end()
        elif match := re.compile(r"\s+|#(?:[^\n]*\\\n)*[^\n]*|//[^\n]*|\};?|public:|;").match(text, position):
            position = match.end()
        elif match := COMMENT.match(text, position):
            found.append((comment_text(match.group()), []))
            is_open, position = True, match.end()
        elif re.compile(r"private:|protected:").match(text, position):
            return found
        else:
            end, body = end_of_cpp(code, position)
            if not is_open:
                found.append(("", []))
            is_open = True
            inside = text[body + 1:closing(code, body)] if body is not None else None
            found[-1][1].append((text[position:body if body is not None else end], inside))
            position = end
    return found


def without_details(text):
    """The contents of the namespace hora, without those of hora::detail."""
    out = ""
    code = code_of(text)
    for match in re.finditer(r"^namespace hora \{", code, re.M):
        out += text[match.end():closing(code, match.end() - 1)]
    code = code_of(out)
    while match := re.search(r"^namespace detail \{", code, re.M):
        end = closing(code, match.end() - 1) + 1
        out, code = out[:match.start()] + out[end:], code[:match.start()] + code[end:]
    return out


def signature(declaration):
    """A declaration without the list of initialisers of a constructor."""
    text = one_line(declaration)
    match = re.match(r"(.*\))\s*(noexcept)?\s*: \w+_?\w*[({].*", text)
    text = match.group(1) + (" noexcept" if match.group(2) else "") if match else text
    return text.rstrip(";") + ";"


def member_name(declaration, owner):
    text = one_line(declaration)
    match = NAME_OF_FUNCTION.search(text)
    name = match.group(1) if match else re.sub(r"\s*(=.*|\{.*)?;?$", "", text).split()[-1].lstrip("*&")
    return f"{owner}::{name}"


def entities_of(text):
    for comment, declarations in cpp_groups(without_details(text)):
        for code, body in declarations:
            is_type = TYPE.match(code)
            if is_type and body is None:
                continue  # a declaration of what follows
            name = NAME_OF_TYPE.search(code).group(1) if is_type else member_name(code, "").lstrip(":")
            if "::" in re.split(r"[({]", one_line(code))[0].split()[-1] or not comment:
                continue  # the definition of a member outside of its class
            yield Entity(comment, [signature(code)], name, cpp_groups(body) if is_type else [])


def cpp_members(entity, names):
    out = ""
    for comment, declarations in entity.members:
        shown = [signature(code) for code, _ in declarations]
        shown = [code for code in shown if not code.endswith("= default;") and not code.endswith("= delete;")]
        if comment and not declarations:
            out += prose(comment, names, "cpp")
        elif shown:
            out += code_block("\n".join(map(wrapped, shown)), "cpp") + prose(comment, names, "cpp")
    return out


def cpp_page(path, shown, names):
    text = path.read_text(encoding="utf-8")
    first, _, rest = comment_text(COMMENT.findall(text)[1]).partition("\n")
    snippet, description = split_example(rest.strip("\n"))
    out = f"# {shown}\n\n<p>{names.marked(sentence(first.partition(' - ')[2]))}</p>\n\n"
    out += use_of("hora/hora.hpp", snippet, "cpp")
    out += prose(description, names, "cpp")
    for entity in entities_of(text):
        out += f"### hora::{entity.name} {{#{entity.name}}}\n\n"
        out += code_block("\n".join(map(wrapped, entity.code)), "cpp") + prose(entity.comment, names, "cpp")
        out += cpp_members(entity, names)
    return out


# ---- all ----

OVERVIEW = """# Reference

One page for each public header. The pages are made from the comments of the headers; `man` shows the same
texts. [`hora(1)`](../man/hora.1.md) describes the command, and [`hora(7)`](../man/hora.7.md) gives an
overview of the interface.

"""


def index_page(headers, cpp_summaries):
    out = OVERVIEW + "## C\n\n| header | contents |\n|---|---|\n"
    for header in headers:
        summary = header.summary.replace("|", "\\|").replace("@", "&#64;")
        out += f"| [`hora/{header.stem}.h`]({header.stem}.md) | {summary} |\n"
    out += "\n## C++\n\n| header | contents |\n|---|---|\n"
    for shown, page, summary in cpp_summaries:
        out += f"| [`{shown}`]({page}.md) | {summary} |\n"
    out += "\n## All names of C\n\n"
    names = sorted((name, header.stem) for header in headers for item in header.items
                   for name in item.names + item.constants)
    links = [f'<a href="{stem}.html#{name}">{name}</a>' for name, stem in names]
    return out + '<p class="names">' + "\n".join(links) + "</p>\n"


def write_reference(root, folder, programs):
    """Write all pages into a folder. programs: {stem: [(title, path)]}. Returns [(title, file)], a menu."""
    headers = [read_header(path) for path in sorted((root / "include" / "hora").glob("*.h"))]
    names, menu, summaries = Names(headers), [("Overview", "index.md")], []
    folder.mkdir(parents=True)
    for header in headers:
        (folder / f"{header.stem}.md").write_text(c_page(header, names, programs.get(header.stem, [])))
        menu.append((f"{header.stem}.h", f"{header.stem}.md"))
    base = root / "include" / "hora"
    for path in [base / "hora.hpp", *sorted((base / "cpp").glob("*.hpp"))]:
        inside = path.relative_to(base).as_posix()
        page = stem_of_page(inside)
        (folder / f"{page}.md").write_text(cpp_page(path, f"hora/{inside}", names))
        first = comment_text(COMMENT.findall(path.read_text(encoding="utf-8"))[1]).partition("\n")[0]
        summaries.append((f"hora/{inside}", page, first.partition(" - ")[2]))
        menu.append((inside, f"{page}.md"))
    (folder / "index.md").write_text(index_page(headers, summaries))
    return menu
