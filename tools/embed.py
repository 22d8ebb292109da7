#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the pages of `regtrace timeline` and `regtrace page` as C.

A page is the page.html of its folder with the style and the scripts inserted. It is cut where the
data of a run go.

embed.py timeline SHARE OUT
embed.py page SHARE OUT LIBRARY LICENCE

LIBRARY is d3's minified file, "" for a page with tables alone; LICENCE is the file with its
licence.
"""
import json
import os
import sys

TIMELINE = [
    "timeline/common.js",
    "timeline/data.js",
    "timeline/view.js",
    "timeline/paint.js",
    "timeline/figures.js",
    "timeline/messages.js",
    "timeline/panel.js",
    "timeline/main.js",
]
PAGE = [
    "timeline/common.js",
    "page/data.js",
    "page/links.js",
    "page/table.js",
    "page/summary.js",
    "page/efficiency.js",
    "page/matrix.js",
    "page/flame.js",
    "page/paths.js",
    "page/samples.js",
    "page/waits.js",
    "page/causes.js",
    "page/windows.js",
    "page/ranks.js",
    "page/notes.js",
    "page/timeline.js",
    "page/main.js",
]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def body(share, name):
    """Returns a file without its first comment, the licence, which the page has once."""
    text = read(os.path.join(share, name))
    return text[text.index("*/") + 2 :].lstrip("\n")


def literal(name, text):
    lines = []
    # Whether char is signed differs between processors, so that a number would be wrong on some.
    data = [str(b) if b < 128 else f"'\\x{b:02x}'" for b in text.encode("utf-8")]
    for at in range(0, len(data), 24):
        lines.append("    " + ",".join(data[at : at + 24]) + ",")
    return f"const char {name}[] = {{\n" + "\n".join(lines) + "\n    0};\n"


def filled(share, folder, scripts):
    page = read(os.path.join(share, folder, "page.html"))
    page = page.replace("@STYLE@", body(share, folder + "/style.css"))
    page = page.replace("@SCRIPT@", '"use strict";\n' + "".join(body(share, s) for s in scripts))
    if not page.isascii():
        sys.exit(
            f"embed.py: {folder} has other characters than ASCII, which are written as escapes"
        )
    return page


def write(out, header, names, parts):
    with open(out, "w", encoding="utf-8") as file:
        file.write(
            "/* SPDX-License-Identifier: BSD-3-Clause\n * Made by tools/embed.py. */\n"
            f'#include "{header}"\n\n'
        )
        for name, text in zip(names, parts):
            file.write(literal(name, text))


def timeline(share, out):
    before, rest = filled(share, "timeline", TIMELINE).split("@DATA@")
    between, after = rest.split("@META@")
    write(
        out,
        "tools/timeline/page.h",
        ["timeline_page_before_data", "timeline_page_before_meta", "timeline_page_end"],
        [before, between, after],
    )


def library_elements(library, licence):
    """Returns the elements with the library and its licence; none without a library."""
    if not library:
        return ""
    script, text = read(library), read(licence)
    if "</script" in script or "<!--" in script or "</script" in text:
        sys.exit(f"embed.py: {library} or {licence} has text that ends an HTML element")
    return f'<script id="licence" type="text/plain">{text}</script>\n<script>\n{script}</script>\n'


def page(share, out, library, licence):
    text = filled(share, "page", PAGE)
    # The time line's page goes into a frame. It finds the data in the page around it.
    frame = filled(share, "timeline", TIMELINE).replace("@DATA@", "").replace("@META@", "")
    text = text.replace("@FRAME@", json.dumps(frame).replace("<", "\\u003c"))
    text = text.replace("@LIBRARY@", library_elements(library, licence))
    before, rest = text.split("@REPORT@")
    between, after = rest.split("@TIMELINE@")
    write(
        out,
        "tools/page/page_parts.h",
        ["page_before_report", "page_before_timeline", "page_end"],
        [before, between, after],
    )


if __name__ == "__main__":
    {"timeline": timeline, "page": page}[sys.argv[1]](*sys.argv[2:])
