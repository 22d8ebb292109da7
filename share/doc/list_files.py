#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes share/doc/dev/files.md and tests.md: what each source file is for, and what each test
shows, by the first sentence of its comment.

usage: list_files.py write | check

After a change of files or of their first comments, `write` makes the pages anew; until then `check`
fails, and so does t/style/translated.t. The folders, their order and their descriptions are those
of the table in share/doc/architecture.md."""
import itertools
import os
import re
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KINDS = (".c", ".S", ".def", ".list", ".py", ".js", ".f90")
HEAD = """<!-- SPDX-License-Identifier: BSD-3-Clause -->
# Files

<!-- Made by share/doc/list_files.py from the first comments of the files; do not edit. -->
What each source file is for. Search this page for a word of your question. A header of the same
name declares what a file exports; a header without such a file is listed.
[architecture](../architecture.md) has the map of the folders.
"""
TESTS_HEAD = """<!-- SPDX-License-Identifier: BSD-3-Clause -->
# Tests

<!-- Made by share/doc/list_files.py from the first comments of the tests; do not edit. -->
What each test shows. Folders of `t/` are named as those of the code that they test.
`make check TESTS=t/FOLDER/NAME.t` runs one of them, `TESTS=t/FOLDER/NAME` one that is in C.
"""
ALSO = [("share/python/regtrace", "the Python package"),
        ("share/timeline", "the script of timeline's pages"),
        ("share/page", "the script of pages of whole runs")]


def folders():
    """Returns (folder, description) for each row of architecture.md's table that has sources."""
    found = []
    for line in open(os.path.join(HERE, "architecture.md")):
        row = re.match(r"\| `([^`]+)/` \| (.*?) \|", line)
        if not row or re.match(r"(share|t)(/|$)", row[1]):
            continue
        parent = os.path.join(ROOT, os.path.dirname(row[1]))
        names = [os.path.basename(row[1])]
        if names[0].isupper():  # one row for several folders: tools/channels/MODEL
            names = sorted(n for n in os.listdir(parent) if os.path.isdir(os.path.join(parent, n)))
        found += [(os.path.join(os.path.dirname(row[1]), name), row[2]) for name in names]
    return found + ALSO


def is_heading(line):
    """Tells whether a line of a script belongs to the first paragraph of its first comment."""
    return line.startswith(("#", "!")) and line != "#" and not line.startswith("#  ")


def sentence(path):
    """Returns the first sentence of a file's first comment, or of its docstring."""
    text = open(path, encoding="utf-8").read(4000)
    found = re.search(r'"""(.*?)"""', text, re.S) if path.endswith(".py") else None
    if found:
        words = found[1].split("\n\n")[0]
    elif not path.endswith(".t") and re.search(r"/\*.*?\*/", text, re.S):
        words = re.sub(r"(?m)^ ?\*", " ", re.search(r"/\*(.*?)\*/", text, re.S)[1])
        words = words.replace("SPDX-License-Identifier: BSD-3-Clause", "")
        words = re.split(r"\n\s*\n", words.strip())[0]
    else:
        lines = [re.match(r"[#!]+ ?(.*)", line)
                 for line in itertools.takewhile(is_heading, text.split("\n"))]
        words = " ".join(m[1] for m in lines
                         if m and "SPDX" not in m[1] and not m[0].startswith("#!"))
    words = " ".join(words.split())
    return re.split(r"(?<=[a-z0-9)`\"'])\.(?= [A-Z`]|$)|:(?= {4})", words)[0].rstrip(".:")


def is_built(path):
    """Tells whether the build made this C file: a build in the source folder leaves it there."""
    return path.endswith((".c", ".h")) and re.search(
        r"[Mm]ade by \S+\.py", open(path, encoding="utf-8").read(300))


def files(folder):
    names = sorted(n for n in os.listdir(os.path.join(ROOT, folder))
                   if not is_built(os.path.join(ROOT, folder, n)))
    sources = [n for n in names if n.endswith(KINDS)]
    stems = {os.path.splitext(n)[0] for n in sources}
    return sorted(sources + [n for n in names if n.endswith(".h") and n[:-2] not in stems])


def entry(folder, name):
    words = sentence(os.path.join(ROOT, folder, name))
    line = f"`{name}`: {words}" if words else f"`{name}`"
    return textwrap.fill(line, 100, initial_indent="- ", subsequent_indent="  ",
                         break_on_hyphens=False, break_long_words=False) + "\n"


def files_page():
    out = [HEAD]
    for folder, holds in folders():
        names = files(folder)
        if not names:
            continue
        holds = holds[0].upper() + holds[1:]
        out.append(f"\n## {folder}/\n\n{holds}{'' if holds.endswith('?') else '.'}\n\n")
        out += [entry(folder, name) for name in names]
    return "".join(out)


def is_test(path):
    if path.endswith(".t"):
        return True
    if not path.endswith((".c", ".cc")):
        return False
    return '#include "t/tap.h"' in open(path, encoding="utf-8").read()


def tests_page():
    out = [TESTS_HEAD]
    for at, below, names in os.walk(os.path.join(ROOT, "t")):
        below.sort()
        folder = os.path.relpath(at, ROOT)
        tests = [n for n in sorted(names) if is_test(os.path.join(at, n))]
        if tests:
            out.append(f"\n## {folder}/\n\n")
            out += [entry(folder, name) for name in tests]
    return "".join(out)


PAGES = {"files.md": files_page, "tests.md": tests_page}


def main():
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit(__doc__)
    for name, page in PAGES.items():
        path = os.path.join(HERE, "dev", name)
        if sys.argv[1] == "write":
            with open(path, "w", encoding="utf-8") as f:
                f.write(page())
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != page():
            sys.exit(f"share/doc/dev/{name} is stale: share/doc/list_files.py write")


main()
