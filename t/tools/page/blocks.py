# SPDX-License-Identifier: BSD-3-Clause
"""Checks the data in pages, without a browser.

usage: blocks.py LATE.html ODD.html PART.html DAMAGED.html PATH LOG; prints lines "ok|what" or
"no|what|why". PATH is the call path of the late send, LOG has the least and the most
that it cost, in ns."""

import html.parser
import json
import sys


class Scripts(html.parser.HTMLParser):
    """Collects the texts of script elements by their id, and the names of all elements."""

    def __init__(self, path):
        super().__init__()
        self.texts, self.names, self.inside = {}, set(), None
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.inside = dict(attrs).get("id") if tag == "script" else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.texts[self.inside] = self.texts.get(self.inside, "") + data


def ok(good, what, why=""):
    print(f"{'ok' if good else 'no'}|{what}|{why}".replace("\n", " "), flush=True)


def same(got, want, what):
    ok(got == want, what, f"got {str(got)[:300]}, want {str(want)[:300]}")


def places(report, row):
    """Returns a late call's path in the program's file, from the nodes of the call tree."""
    found, node = [], report["call_tree"][row["node"]]["parent"]
    while node is not None:
        at = report["call_tree"][node]
        if at["line"] and "late.c" in at["line"]:
            found.insert(0, f"{at['caller']}, {at['line'].rpartition('/')[2]}")
        node = at["parent"]
    return " > ".join(found)


def late(report, path, log):
    rows = [
        r
        for r in report["late_calls"]
        if r["kind"] == "late sender" and r["function"] == "MPI_Send" and places(report, r) == path
    ]
    same([r["rank"] for r in rows], [1], "the late rank, by its call path")
    with open(log, encoding="ascii") as file:
        least, most = map(float, file.read().split())
    cost = rows[0]["cost_ns"]
    if path.startswith("main"):  # a call site alone has the sends from first() too
        ok(
            least <= cost <= most,
            "its cost is what the program logged",
            f"{cost}, logged are {least} to {most}",
        )
    sites = [s for s in report["message_sites"] if s[:2] == [1, 0]]
    same(
        (sum(s[3] for s in sites), sum(s[4] for s in sites)),
        (64, 256),
        "the call sites of a pair have all of its messages and bytes",
    )
    same(
        [s[3] for s in sites if s[2] == rows[0]["node"]],
        [40] if path.startswith("main") else [60],
        "and this one has its own",
    )


def main():
    late_page, odd_page, part_page, damaged_page, path, log = sys.argv[1:]
    page = Scripts(late_page)
    data = json.loads(page.texts["report"])
    late(data["report"], path, log)
    ok("meta" in page.texts and "data" in page.texts, "the page has time lines")
    odd = Scripts(odd_page)
    text = odd.texts["report"]
    ok(
        "<" not in text and "\\u003cb>bold&amp;" in text,
        "no text has a less-than sign of its own",
        text[:200],
    )
    same(json.loads(text)["title"], "a <b>bold&amp; run", "JSON has it")
    ok(
        any(
            "swap_all<int>" in (n.get("caller") or "")
            for n in json.loads(text)["report"]["call_tree"]
        ),
        "a template's name is in the call tree",
    )
    ok("b" not in odd.names, "and is no element")
    same({w["ordinal"] for w in json.loads(text)["report"]["windows"]}, {0, 1, 2}, "three windows")
    same(
        {w["ordinal"] for w in json.loads(Scripts(part_page).texts["report"])["report"]["windows"]},
        {1},
        "of which -window takes one",
    )
    ranks = json.loads(Scripts(damaged_page).texts["report"])["report"]["ranks"]
    same(
        [("error" in r) for r in sorted(ranks, key=lambda r: r["file"])],
        [False, True],
        "a file that cannot be read is in the page with its error",
    )


main()
