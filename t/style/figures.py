#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints figures of the tree: figures.py [SOURCE [BUILD]].

They tell how large and how regular the tree is: one figure a line, name, tab, value. With BUILD
also the figures of objects. Compare two commits by them; no test uses them as bounds."""
import collections
import os
import re
import subprocess
import sys

source = sys.argv[1] if len(sys.argv) > 1 else "."
build = sys.argv[2] if len(sys.argv) > 2 else None
CODE = (".c", ".h", ".S", ".def", ".cc")
WIDTH = 100


def tracked():
    listed = subprocess.run(["git", "-C", source, "ls-files"], capture_output=True, text=True,
                            check=True)
    return [name for name in listed.stdout.split("\n")
            if name and os.path.exists(os.path.join(source, name))]


def text(name):
    with open(os.path.join(source, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def show(name, value):
    print(f"{name}\t{value}")


def is_comment(name, line):
    """Returns true if this line of the file is at least partly a comment, as t/style/layout.t does."""
    if not name.endswith(CODE):
        return re.match(r"\s*#([^a-z]|$)", line) is not None
    line = re.sub(r'"([^"\\]|\\.)*"', "", line)
    return re.match(r"\s*\*[ /]", line) is not None or "/*" in line or "//" in line


def count_words(documents):
    """Returns the words a sentence, without code blocks, tables, headings and lists of options."""
    words = sentences = 0
    for document in documents:
        prose = re.sub(r"```.*?```", "", text(document), flags=re.S)
        lines = [line for line in prose.split("\n")
                 if line.strip() and not re.match(r"\s*[|#<]|    |!\[", line)]
        for sentence in re.split(r"(?<=[.:?!])\s+", " ".join(lines)):
            count = len(re.findall(r"\w+", sentence))
            if count:
                words += count
                sentences += 1
    return words / sentences if sentences else 0


def main():
    files = tracked()
    code = [name for name in files if name.endswith(CODE)]
    ours = [name for name in code if not name.startswith("t/")]
    show("lines of C outside t", sum(text(name).count("\n") for name in ours))
    show("lines of Python outside t", sum(text(name).count("\n") for name in files
                                          if name.endswith(".py") and not name.startswith("t/")))
    show("lines of C, scripts and Python in t",
         sum(text(name).count("\n") for name in files if name.startswith("t/") and
             name.endswith(CODE + (".py", ".t", ".sh"))))
    folders = collections.Counter(os.path.dirname(name) for name in code + [
        name for name in files if name.endswith((".py", ".t", ".sh"))])
    for folder, count in folders.most_common():
        if count > 25:
            show(f"files in {folder}", count)
    names = collections.Counter(os.path.basename(name) for name in ours if name.endswith(".c"))
    show("C files that share a name", sum(n for n in names.values() if n > 1))
    tags = collections.defaultdict(set)
    for name in ours:
        for tag in re.findall(r"\bstruct\s+(\w+)\s*\{", text(name)):
            tags[tag].add(name)
    show("distinct struct names outside t", len(tags))
    show("struct names with more than one definition", sum(len(at) > 1 for at in tags.values()))
    show("calls that decode an instruction",
         sum(len(re.findall(r"ZydisDecoderDecode\w+\(", text(name))) for name in ours))
    wide = collections.Counter(name.split("/")[0] for name in files
                               if name.endswith(CODE + (".py", ".t", ".sh", ".inc", ".am"))
                               for line in text(name).split("\n")
                               if len(line) > WIDTH and is_comment(name, line))
    show(f"comment lines over {WIDTH} columns", sum(wide.values()))
    for folder, count in sorted(wide.items()):
        show(f"comment lines over {WIDTH} columns in {folder}", count)
    documents = [name for name in files if name.startswith("share/doc/") and name.endswith(".md")]
    for document in documents + ["README.md", "CONTRIBUTING.md"]:
        show(f"words a sentence in {document}", f"{count_words([document]):.1f}")
    show("words a sentence in all documents", f"{count_words(documents):.1f}")
    if build:
        objects = [os.path.join(at, name) for at, _, found in os.walk(os.path.join(build, "preload"))
                   for name in found if name.endswith(".o") and at.endswith(".libs")]
        symbols = subprocess.run(["nm", *objects], capture_output=True, text=True, check=True)
        show("variables in preload's objects",
             len(re.findall(r"^\S+ [bBdD] (?!\.)", symbols.stdout, re.M)))


main()
