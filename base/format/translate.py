#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Translates enums.def and event_fields.def for readers other than C.

usage: translate.py python | markdown | write | check

python prints the module share/python/regtrace/format.py, markdown the table of fields in
share/doc/schema.md. After a change of a .def file, `write` replaces both; until then `check` fails,
and so does t/style/translated.t."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODULE = os.path.join(ROOT, "share/python/regtrace/format.py")
PAGE = os.path.join(ROOT, "share/doc/schema.md")
BEGIN, END = "<!-- fields: made by base/format/translate.py -->\n", "<!-- end of fields -->\n"
SETS = {
    "WINDOW_REASON": ("WINDOW_REASONS", "why a window ended"),
    "WINDOW_KIND": ("WINDOW_KINDS", "what a window is for"),
    "CONTROL_EVENT": ("CONTROL_EVENTS", "what an alarm does when it fires"),
    "FIRED_FLAG": ("FIRED_FLAGS", "bits of the flags of fired alarms"),
    "LOSS_KIND": ("LOSSES", "why events are not in a file"),
    "MEMORY_END": ("MEMORY_ENDS", "how a window's memory trace ended"),
}


def rows(name, macros):
    """Yields the macro and the arguments of each row of a .def file in this folder."""
    for line in open(os.path.join(HERE, name)):
        found = re.match(r"(%s)\((.*)\)\n$" % "|".join(macros), line)
        if found:
            yield found[1], [word.strip() for word in found[2].split(",")]


def fields():
    """Returns the fields of each event: (word, name, first bit, bits), the second slot's last."""
    events = {}
    for macro, (event, word, name, first, bits, *_) in rows("event_fields.def", ["FIELD", "MORE"]):
        word = word if macro == "FIELD" else "more." + word
        events.setdefault(event, []).append((word, name, int(first), int(bits)))
    return {event: sorted(list_of, key=lambda f: f[0].startswith("more"))
            for event, list_of in events.items()}


def python():
    sets = {macro: {} for macro in SETS}
    for macro, (_, value, text) in rows("enums.def", SETS):
        sets[macro][int(value)] = text.strip('"')
    lines = ["# SPDX-License-Identifier: BSD-3-Clause", "# fmt: off",
             "# Made by base/format/translate.py; do not edit.",
             '"""The numbers and words of rank files, and the fields in the payload of events."""',
             "", "import numpy as np", ""]
    for macro, (name, what) in SETS.items():
        lines.append("%s = {  # %s" % (name, what))
        lines += ['    %d: "%s",' % item for item in sets[macro].items()] + ["}"]
    lines += ["", "# Of each event: field -> word (a or b), first bit, number of bits.",
              "FIELDS = {"]
    for event, list_of in fields().items():
        lines.append('    "%s": {' % event)
        lines += ['        "%s": ("%s", %d, %d),' % (name, word, first, bits)
                  for word, name, first, bits in list_of if not word.startswith("more")]
        lines.append("    },")
    lines += ["}", "", "",
              "def field(words, event, name):",
              '    """Returns a field of events.',
              "",
              "    words: rows of /events, or what else has the unsigned 64-bit words a and b; "
              "event: a name of",
              '    FIELDS. Returns unsigned 64-bit numbers."""',
              "    word, first, bits = FIELDS[event][name]",
              "    return words[word] >> np.uint64(first) & np.uint64((1 << bits) - 1)"]
    return "\n".join(lines) + "\n"


def markdown():
    lines = ["| event | word | bits | field |", "| --- | --- | --- | --- |"]
    for event, list_of in fields().items():
        for word, name, first, bits in list_of:
            where = word.replace("more.", "second slot, ")
            lines.append("| `%s` | %s | %d to %d | `%s` |"
                         % (event, where, first, first + bits - 1, name))
            event = ""
    return "\n".join(line.replace("| `` |", "| |") for line in lines) + "\n"


def page():
    """Returns the page with the table replaced."""
    text = open(PAGE).read()
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n" + markdown() + "\n" + END + rest.split(END)[1]


if sys.argv[1:] == ["python"]:
    sys.stdout.write(python())
elif sys.argv[1:] == ["markdown"]:
    sys.stdout.write(markdown())
elif sys.argv[1:] == ["write"]:
    for path, text in ((PAGE, page()), (MODULE, python())):
        open(path, "w").write(text)
elif sys.argv[1:] == ["check"]:
    stale = [path for path, text in ((PAGE, page()), (MODULE, python()))
             if open(path).read() != text]
    sys.exit("not what base/format/*.def say (translate.py write): %s" % ", ".join(stale)
             if stale else 0)
else:
    sys.exit(__doc__)
