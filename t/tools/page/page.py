# SPDX-License-Identifier: BSD-3-Clause
"""Checks pages in a browser.

usage: page.py RUN LATE.html ODD.html DAMAGED.html MEMORY.html PATH FROM LOG EFFICIENCY.json
REPORT.json; prints lines "ok|what" or "no|what|why". PATH is the call path of the late send, FROM
that of the receive before it. LOG has the least and the most that it cost, in ns. MEMORY.html is
"-" if there is no run with memory traces; the file memory-bytes has what its ranks recorded."""

import json
import re
import sys

import regtrace
from browser import Browser
from page_checks import READY, bytes_of, go, ns, ok, same, text

# --- the late rank --------------------------------------------------------------------------------


def diagnosed(b, path, log):
    """Returns the id of the row of the late call. Busy machines make other calls late too."""
    with open(log, encoding="ascii") as file:
        least, most = map(float, file.read().split())
    rows = b.run(
        "[...document.querySelectorAll('tr[id^=late-]')].map((r) => [r.id, ...[...r.cells].map((d) => d.innerText)])"
    )
    row = next((r for r in rows if r[2:5] == ["late sender", "MPI_Send", path]), [None] * 10)
    same(row[1], "1", "the late rank, by its call path")
    if path.startswith("main"):  # a call site alone has the sends from first() too
        ok(
            0.99 * least <= ns(row[6]) <= 1.01 * most,
            "its cost is what the program logged, in the digits that are shown",
            f"{row[6]}, logged are {least} to {most}",
        )
    findings = b.run(
        "[...document.querySelectorAll('#summary .findings li')].map((l) => l.innerText)"
    )
    costs = [ns(r[6]) for r in rows]
    if rows.index(row) == 0 or (rows.index(row) < 3 and ns(row[6]) > 0.06 * sum(costs)):
        ok(
            any(
                f.startswith("Rank 1 came late to MPI_Send") and path in f and row[6] in f
                for f in findings
            ),
            "the findings have the rank, the function, the call path and the cost",
            str(findings),
        )
    return row[0]


def causes(b, run, path, before, log):
    """The part about causes has what the late rank did before the send, and what it cost."""
    with open(log, encoding="ascii") as file:
        most = float(file.read().split()[1])
    rows = b.run(
        "[...document.querySelectorAll('tr[id^=delay-]')].map((r) => [r.id, ...[...r.cells].map((d) => d.innerText)])"
    )
    did = f"from MPI_Recv in {before} to MPI_Send in {path}"
    row = next((r for r in rows if r[8] == did), [None] * 12)
    same((row[1], row[10]), ("1", "0"), "what the late rank did, by its call path, and who waited")
    if not path.startswith("main"):  # a call site alone has the sends from first() too
        return
    ok(
        2900000 <= ns(row[2]) <= 1.05 * most,
        "its cost is that of the sleep or more, at most what the program logged and 5 %",
        f"{row[2]}, logged are at most {most}",
    )
    moment(b, run, f"document.querySelector('#{row[0]} td:nth-child(9) a')")
    b.run(f"document.querySelector('#{row[0]} td:nth-child(8) a:last-child').click()")
    b.frame()
    same(text(b, "#path .crumbs"), path + " > MPI_Send", "its activity leads to the call path")


def function_causes(b, page, slept):
    """What a late rank did is the recorded function, with the line that called it."""
    if page == "-":
        return
    b.open(page, ready=READY)
    rows = b.run(
        "[...document.querySelectorAll('tr[id^=delay-]')].map((r) => [...r.cells].map((d) => d.innerText))"
    )
    costs = [ns(r[1]) for r in rows if (r[0], r[7]) == ("1", slept)]
    ok(
        len(costs) == 1 and costs[0] >= 2900000,
        "a recorded function, what called it, and the cost of its sleep or more",
        str(rows),
    )


def critical(b, report):
    """The tables of the critical path have the figures of `regtrace report --json`."""
    path = report["critical_path"]
    tables = b.run(
        "[...document.querySelectorAll('#causes table')].map((t) => [...t.tBodies[0].rows].map((r) => [...r.cells].map((d) => d.innerText)))"
    )[1:]
    longest = max(path["activities"], key=lambda a: a["path_ns"])
    ok(
        abs(ns(tables[0][0][0]) - longest["path_ns"]) <= 0.01 * longest["path_ns"],
        "the critical path by activity",
        f"{tables[0][0]} and {longest}",
    )
    functions = {r[0]: ns(r[1]) for r in tables[1]}
    for name in {a["call"]["function"] for a in path["activities"] if a["kind"] == "MPI"}:
        want = sum(
            a["path_ns"]
            for a in path["activities"]
            if a["kind"] == "MPI" and a["call"]["function"] == name
        )
        if want > 0:
            ok(
                abs(functions[name] - want) <= 0.01 * want,
                f"{name} on the critical path",
                f"{functions[name]} and {want}",
            )
    between = "main, outside MPI" if "main, outside MPI" in functions else "outside MPI"
    outside = sum(
        a["path_ns"]
        for a in path["activities"]
        if a["kind"] == "between" and a["from"]["call_path"] and a["to"]["call_path"]
    )
    ok(functions[between] >= 3e6, "the sleep is outside MPI", str(functions))
    ok(
        between == "outside MPI" or abs(functions[between] - outside) <= 0.01 * outside,
        "with all that main's functions did",
        f"{functions} and {outside}",
    )
    same(
        {r[0] for r in tables[2]},
        {str(r["rank"]) for r in path["ranks"] if r["path_ns"] > 0},
        "the ranks on the critical path",
    )
    same(
        [r[0] for r in tables[3]],
        [str(w["ordinal"]) for w in path["windows"] if not w["partial"]],
        "its windows",
    )


def moment(b, run, link):
    """The link shows a receive of rank 0 that lasts as long as the sleep or longer."""
    calls = run.mpi_calls()
    receives = calls[
        (calls["function"] == "MPI_Recv") & (calls["rank"] == 0) & (calls["duration_ns"] >= 3000000)
    ]
    origin = int(run.events()["time_ns"].min())
    b.run(f"{link}.click()")
    b.frame()
    view = b.run(
        "(() => { const v = regtracePage.lines.frame.contentWindow.regtrace.view; return [v.from, v.to]; })()"
    )
    shown = [
        r
        for r in receives.itertuples()
        if view[0] < r.begin_ns - origin < view[1] <= view[0] + 2.3 * r.duration_ns + 2000
    ]
    ok(shown, "the time lines show that moment", f"{view} of {receives}")
    shown.sort(key=lambda r: abs(r.begin_ns - origin - view[0] - 0.27 * (view[1] - view[0])))
    middle = (shown[0].begin_ns + shown[0].end_ns) / 2 - origin
    name = b.run(
        f"""(() => {{ const page = regtracePage.lines.frame.contentWindow.regtrace, track = page.tracks.find((t) => page.threads[t.thread] && page.threads[t.thread].rank === 0 && t.lane.name === "mpi.function");
        return page.itemAt(track, {middle}).name; }})()"""
    )
    same(name, "MPI_Recv", "in which the receive is")


# --- links ----------------------------------------------------------------------------------------

LINKS = """(() => {
    const wrong = [];
    let links = 0;
    document.querySelectorAll(".sheet > button").forEach((b) => b.click());
    for (const a of document.querySelectorAll("a[href^='#']")) {
        const to = decodeURIComponent(a.getAttribute("href").slice(1));
        links++;
        const routed = /^time-(-?\\d+)-(-?\\d+)(-\\d+)?$/.test(to) || /^(find-.+|lines-\\d+|rows-\\d+|event-.+)$/.test(to) || (/^path-(\\d+)$/.test(to) && regtracePage.nodes[+to.slice(5)])
            || (/^pair-(\\d+)-(\\d+)$/.test(to) && regtracePage.data.report.messages.some((m) => to === `pair-${m.from}-${m.to}`));
        if (!routed && !document.getElementById(to))
            wrong.push(to);
    }
    return [links, wrong];
})()"""

# Cells with a number and without a link, by the head of their column.
UNLINKED = """(() => {
    const heads = {};
    for (const table of document.querySelectorAll("table"))
        for (const row of table.tBodies[0].rows)
            [...row.cells].forEach((cell, i) => {
                if (/^[\\d.,]+( \\S+)?$/.test(cell.innerText.trim()) && !cell.querySelector("a"))
                    heads[table.tHead.rows[0].cells[i].innerText] = cell.innerText;
            });
    return heads;
})()"""


def links(b):
    count, wrong = b.run(LINKS)
    ok(count > 60, f"{count} links")
    same(wrong, [], "each leads somewhere")
    same(
        sorted(b.run(UNLINKED)),
        ["thread"],
        "all figures in tables are links, but numbers of threads",
    )
    go(b, "#window-0")
    same(
        b.run("document.querySelector('tr.target').id"),
        "window-0",
        "a link to a window marks its row",
    )
    go(b, "#rank-1")
    same(
        b.run("[...document.querySelectorAll('tr.target')].map((r) => r.id)"),
        ["rank-1"],
        "one to a rank marks that alone",
    )
    b.run("history.back()")
    b.wait("location.hash === '#window-0' && document.querySelector('tr.target').id === 'window-0'")
    ok(True, "the browser's way back leads back")
    go(b, "#find-MPI_Sendrecv")
    same(
        b.run("regtracePage.lines.frame.contentWindow.regtrace.view.item.name"),
        "MPI_Sendrecv",
        "a link to a function finds its calls in the time lines",
    )


# --- pictures -------------------------------------------------------------------------------------


def flame(b, path, row):
    count = "document.querySelectorAll('#flame g rect').length"
    go(b, "#paths")
    b.run(
        "(() => { const m = document.getElementById('metric'); m.selectedIndex = 3; m.dispatchEvent(new Event('change')); })()"
    )
    widths = b.run(
        """(() => { const all = [...document.querySelectorAll("#flame g")].map((g) => [g.textContent, g.querySelector("rect").width.baseVal.value]);
        const of = (name) => all.filter(([t]) => t === name).reduce((n, [, w]) => n + w, 0); return [of("MPI_Recv"), of("MPI_Send")]; })()"""
    )
    ok(
        widths[0] > 100 and abs(widths[0] - widths[1]) < 20,
        "in the flame graph of calls, MPI_Recv is as wide as MPI_Send, but for narrow boxes without names",
        str(widths),
    )
    all_of_them = b.run(count)
    ok(all_of_them > 10, f"it has {all_of_them} boxes")
    b.run(f"document.querySelector('#{row} td:nth-child(4) a').click()")
    b.frame()
    same(text(b, "#path .crumbs"), path + " > MPI_Send", "a link to a call path chooses it")
    ok("others waited for it" in text(b, "#path"), "and says what it cost others")
    ok(b.run(count) < all_of_them, "the flame graph shows it alone")
    b.run("document.querySelector('#flame svg').focus()")
    b.key("ArrowUp")
    same(text(b, "#path .crumbs"), path, "an arrow goes to the caller")
    b.key("Escape")
    same(b.run(count), all_of_them, "Escape shows all")
    b.run("document.getElementById('setup').click()")
    ok(b.run(count) > all_of_them, "a switch adds MPI_Init and MPI_Finalize")


def cells(b):
    same(
        b.run("document.querySelectorAll('#matrix rect.cell').length"),
        2,
        "the matrix has two cells",
    )
    go(b, "#pair-1-0")
    ok(
        text(b, "#pair h3").startswith("Rank 1 to rank 0: 64 messages, 256 B"),
        "a link to a pair shows its messages",
        text(b, "#pair"),
    )
    counts = b.run(
        "[...document.querySelectorAll('#pair td:nth-child(2)')].map((d) => Number(d.innerText))"
    )
    same(sum(counts), 64, "and their call sites")
    b.run("document.querySelector('#matrix svg').focus()")
    b.key("ArrowUp")
    b.key("ArrowRight")
    ok(
        text(b, "#pair h3").startswith("Rank 0 to rank 1: 64 messages, 256 B"),
        "arrows go to another one",
        text(b, "#pair h3"),
    )


def samples(b, has_library):
    """burn<int> has samples. How many depends on how long MPI waits here, by spinning."""
    row = b.run(
        """(() => { const row = [...document.querySelectorAll("#samples tbody tr")].find((r) => r.innerText.includes("burn<int>")); row.querySelector("a").click(); return [...row.cells].map((c) => c.innerText); })()"""
    )
    b.frame()
    ok(float(row[2].rstrip(" %")) > 0, "samples are by function", str(row))
    ok(
        re.match(r".*main > .*burn<int>", text(b, "#stack .crumbs")),
        "with a link to the stack",
        text(b, "#stack"),
    )
    if has_library:
        ok(
            "burn<int>" in b.run("document.querySelector('#hot svg g.chosen').textContent"),
            "in the flame graph of samples",
            text(b, "#hot"),
        )


def factors(b, path):
    with open(path, encoding="utf-8") as file:
        run = json.load(file)["runs"][0]
    got = b.run("[...document.querySelectorAll('#efficiency .row > b')].map((x) => x.innerText)")
    want = [
        run[name]
        for name in (
            "parallel_efficiency",
            "load_balance",
            "communication_efficiency",
            "serialisation",
            "transfer",
        )
    ]
    same(got, [f"{100 * share:.1f} %" for share in want], "the efficiencies are those of report")


def memory(b, page):
    """A page of a run with memory traces. The other pages have no such part."""
    same(
        b.run(
            "[!!document.querySelector('#memory'), !!document.querySelector('nav a[href=\"#memory\"]')]"
        ),
        [False, False],
        "a run without memory traces has no part about them",
    )
    if page == "-":
        return
    b.open(page, ready=READY)
    heads = b.run("[...document.querySelectorAll('#memory th')].map((h) => h.innerText)")
    rows = b.run(
        "[...document.querySelectorAll('#memory tbody tr')].map((r) => [...r.cells].map((c) => c.innerText))"
    )
    same(heads, ["rank", "windows", "recorded", "", "whole", "no room"], "memory traces by rank")
    same(
        [r[:2] + r[4:] for r in rows],
        [["0", "2", "2", "0"], ["1", "3", "2", "1"]],
        "their windows, and how they ended",
    )
    with open("memory-bytes", encoding="ascii") as file:
        want = [int(n) for n in file.read().split()]
    recorded = [bytes_of(r[2]) for r in rows]
    ok(
        want[0] > 0 and all(abs(a - b) <= 0.01 * b for a, b in zip(recorded, want)),
        "and as many bytes as replay reads",
        f"{recorded} and {want}",
    )


def looks(b):
    unnamed = b.run(
        """[...document.querySelectorAll("button, input, select, [tabindex='0'], iframe")].filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.title || e.labels && e.labels.length)).map((e) => e.outerHTML)"""
    )
    same(unnamed, [], "all that can be focused has a name")
    b.prefer("dark")
    b.wait(
        "document.documentElement.dataset.theme === 'dark' && regtracePage.lines.frame.contentDocument.documentElement.dataset.theme === 'dark'"
    )
    ok(True, "dark where that is preferred, with the time lines")
    b.prefer("light")
    sorted_by = "[...document.querySelectorAll('#ranks tbody tr')].map((r) => r.id)"
    b.run("document.querySelector('#ranks thead button').click()")
    same(b.run(sorted_by), ["rank-1", "rank-0"], "a click on a head sorts by it")
    b.run("document.querySelector('#ranks thead button').click()")
    same(b.run(sorted_by), ["rank-0", "rank-1"], "and a second one the other way")


def complaints(b):
    same(b.errors, [], "the browser has no complaint")
    same(
        [r for r in b.requests if not r.startswith(("file://", "about:", "data:"))],
        [],
        "and has asked nobody",
    )


def without_library(page, out):
    """Writes the page without d3."""
    with open(page, encoding="utf-8") as file:
        parts = file.read()
    begin = parts.find('<script id="licence"')
    if begin >= 0:
        end = parts.index("</script>", parts.index("<script>", begin)) + len("</script>")
        parts = parts[:begin] + parts[end:]
    with open(out, "w", encoding="utf-8") as file:
        file.write(parts)
    return begin >= 0


def tables(b, path, row):
    """A page without d3."""
    same(b.run("typeof d3"), "undefined", "a page without d3")
    same(b.run("document.querySelectorAll('svg').length"), 0, "has no pictures")
    ok("Without d3" in text(b, "#notes"), "and says why")
    ok(
        b.run("document.querySelectorAll('#causes table').length") >= 5,
        "and what caused waits, with the critical path, as tables",
    )
    ok(
        "MPI_Send" in text(b, "#flame .branches"),
        "it has the call tree as a list",
        text(b, "#flame"),
    )
    b.run(f"document.querySelector('#{row} td:nth-child(4) a').click()")
    b.frame()
    same(text(b, "#path .crumbs"), path + " > MPI_Send", "whose paths are chosen likewise")
    same(
        b.run("document.querySelectorAll('#messages .sheet tbody tr').length"),
        2,
        "and the messages as a table",
    )


def main():
    run, late, odd, damaged, memory_page, functions, slept = sys.argv[1:8]
    path, before, log, efficiency, report = sys.argv[8:]
    with open(report, encoding="utf-8") as file:
        report = json.load(file)
    has_library = without_library(late, "plain.html")
    with Browser() as b:
        b.open(late, ready=READY)
        row = diagnosed(b, path, log)
        factors(b, efficiency)
        opened = regtrace.open(run)
        moment(b, opened, f"document.querySelector('#{row} td:nth-child(6) a')")
        if has_library:
            flame(b, path, row)
            cells(b)
        causes(b, opened, path, before, log)
        critical(b, report)
        looks(b)
        links(b)
        b.open(odd, ready=READY)
        same(text(b, "h1"), "a <b>bold&amp; run", "the name of a run is text")
        same(b.run("document.querySelectorAll('h1 *, td b').length"), 0, "and no element")
        ok("swap_all<int>" in text(b, "#paths table"), "so are names of functions")
        same(b.run("regtracePage.windows.map((w) => w.ordinal)"), [0, 1, 2], "its windows")
        go(b, "#event-task-clock")
        same(
            b.run("document.querySelectorAll('#event tbody tr').length"),
            2,
            "a link to an event shows its counts by rank",
        )
        samples(b, has_library)
        b.open(damaged, ready=READY)
        ok("rank-00001.h5" in text(b, "#notes"), "a file that cannot be read is named")
        memory(b, memory_page)
        function_causes(b, functions, slept)
        complaints(b)
    with Browser(width=500, height=800, dark=True) as b:
        b.open("plain.html", ready=READY)
        tables(b, path, row)
        same(
            b.run("document.documentElement.scrollWidth <= 500"),
            True,
            "a narrow window needs no scrolling to the side",
        )
        complaints(b)


main()
