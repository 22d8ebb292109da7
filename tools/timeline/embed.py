#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the page of `regtrace timeline` as C.

The page is share/timeline/page.html with the style and the scripts inserted. It is cut where the
items and their meanings go.

embed.py SHARE_TIMELINE OUT
"""
import os
import sys

SCRIPTS = ["data.js", "view.js", "paint.js", "figures.js", "messages.js", "panel.js", "main.js"]


def body(folder, name):
    """Returns a file without its first comment, the licence, which the page has once."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        text = file.read()
    return text[text.index("*/") + 2 :].lstrip("\n")


def literal(name, text):
    lines = []
    data = text.encode("utf-8")
    for at in range(0, len(data), 24):
        lines.append("    " + ",".join(str(b) for b in data[at : at + 24]) + ",")
    return f"const char {name}[] = {{\n" + "\n".join(lines) + "\n    0};\n"


def main():
    folder, out = sys.argv[1:]
    with open(os.path.join(folder, "page.html"), encoding="utf-8") as file:
        page = file.read()
    page = page.replace("@STYLE@", body(folder, "style.css"))
    page = page.replace("@SCRIPT@", '"use strict";\n' + "".join(body(folder, s) for s in SCRIPTS))
    if not page.isascii():
        sys.exit(f"embed.py: {folder} has other characters than ASCII, which are written as escapes")
    before, rest = page.split("@DATA@")
    between, after = rest.split("@META@")
    with open(out, "w", encoding="utf-8") as file:
        file.write('/* SPDX-License-Identifier: BSD-3-Clause\n * Made by tools/timeline/embed.py. */\n#include "tools/timeline/page.h"\n\n')
        file.write(literal("timeline_page_before_data", before))
        file.write(literal("timeline_page_before_meta", between))
        file.write(literal("timeline_page_end", after))


main()
