# SPDX-License-Identifier: BSD-3-Clause
"""Checks pages in a browser.

usage: page.py SMALL SMALL.html LARGE LARGE.html FEW.html DROP.html SEEN.html; prints lines
"ok|what" or "no|what|why"."""

import sys
import time

import regtrace
from browser import Browser


def ok(good, what, why=""):
    print(f"{'ok' if good else 'no'}|{what}|{why}".replace("\n", " "), flush=True)


def same(got, want, what):
    ok(got == want, what, f"got {str(got)[:300]}, want {str(want)[:300]}")


SUMS = """(() => {
    const result = {};
    for (const track of regtrace.tracks.filter((t) => t.lane.name === LANE)) {
        const items = regtrace.itemsOf(track), rank = regtrace.threads[track.thread].rank;
        for (let i = 0; i < items.n; i++) {
            const key = [rank, regtrace.threads[track.thread].thread, track.depth, track.lane.values[items.value[i]]].join("/");
            const sum = result[key] = result[key] || [0, 0, 0];
            sum[0]++;
            sum[1] += items.end[i] - items.start[i];
            sum[2] += items.bytes ? items.bytes[i] + 7 * (items.peer[i] || 0) + 13 * (items.tag[i] || 0) + 17 * items.comm[i] : 0;
        }
    }
    return result;
})()"""


def sums(browser, lane):
    return {k: tuple(v) for k, v in browser.run(SUMS.replace("LANE", repr(lane))).items()}


def given(row):
    """Returns the sum of a call's arguments that SUMS computes."""
    number = lambda v: 0 if str(v) in ("<NA>", "nan", "None") else int(v)  # noqa: E731
    return number(row.bytes) + 7 * number(row.peer) + 13 * number(row.tag) + 17 * number(row.comm)


def wanted(frame, name, more=None):
    found = {}
    for row in frame.itertuples():
        key = f"{row.rank}/{row.thread}/{row.depth}/{getattr(row, name)}"
        count, length, amount = found.get(key, (0, 0, 0))
        found[key] = (count + 1, length + int(row.duration_ns), amount + (more(row) if more else 0))
    return found


def near(got, want):
    """Returns whether both are the same, apart from the ns by which clocks are rounded."""
    return got.keys() == want.keys() and all(got[k][0] == want[k][0] and abs(got[k][1] - want[k][1]) <= 2 * want[k][0] and got[k][2] == want[k][2] for k in want)


def figures(b, run):
    calls = run.mpi_calls()
    got, want = sums(b, "mpi.function"), wanted(calls, "function", given)
    ok(near(got, want), f"{len(calls)} MPI calls by rank, thread, depth and name: how many, how long, bytes, peers, tags and communicators", f"{got} and {want}")
    ok(len(calls) > 100, "which are many")
    functions = run.functions()
    got, want = sums(b, "func.name"), wanted(functions, "function")
    ok(near(got, want), f"{len(functions)} functions likewise, each at its depth", f"{list(got.items())[:6]} and {list(want.items())[:6]}")
    regions = run.regions()
    got, want = sums(b, "region.name"), wanted(regions, "name") if "depth" in regions else None
    if want is not None:
        ok(near(got, want), f"{len(regions)} regions likewise", f"{list(got.items())[:6]} and {list(want.items())[:6]}")
    windows = run.windows()
    got = b.run("regtrace.windows().map((w) => [w.name, w.count, Math.round(w.time)])")
    want = [[f"window {o}", len(g), int(g["duration_ns"].sum())] for o, g in windows.groupby("ordinal")]
    ok([g[:2] for g in sorted(got)] == [w[:2] for w in sorted(want)] and all(abs(g[2] - w[2]) < 3 * w[1] for g, w in zip(sorted(got), sorted(want))),
       f"{len(want)} windows: threads and times", f"{got[:4]} and {want[:4]}")
    got = b.run("""(() => { const f = regtrace.figuresOf(regtrace.meta.from, regtrace.meta.to); return f.byThread.filter((t) => t.calls).map((t) => [t.thread.rank, t.calls, t.mpi]); })()""")
    top = calls[calls["depth"] == 0].groupby("rank")["duration_ns"].agg(["count", "sum"])
    ok([[g[0], g[1]] for g in got] == [[int(r), int(v["count"])] for r, v in top.iterrows()] and all(abs(g[2] - top.loc[g[0], "sum"]) <= 2 * g[1] for g in got),
       "figures of all of the time: calls and time in MPI of each rank", f"{got} and {top}")
    begin, end = int(calls["begin_ns"].quantile(0.4)), int(calls["begin_ns"].quantile(0.6))
    origin = int(run.windows()["start_ns"].min()) - 0
    first = b.run("(() => { let best = Infinity; for (const t of regtrace.tracks.filter((t) => t.lane.name === 'mpi.function')) best = Math.min(best, regtrace.itemsOf(t).start[0]); return best; })()")
    shift = int(calls["begin_ns"].min()) - first
    outer = calls[calls["depth"] == 0]
    cut = (outer["end_ns"].clip(upper=end) - outer["begin_ns"].clip(lower=begin)).clip(lower=0)
    want = {int(r): int(v) for r, v in cut.groupby(outer["rank"]).sum().items()}
    got = dict(b.run(f"regtrace.figuresOf({begin - shift}, {end - shift}).byThread.filter((t) => t.mpi).map((t) => [t.thread.rank, t.mpi])"))
    ok(got.keys() == want.keys() and all(abs(got[k] - want[k]) <= 2 * len(outer) for k in want), "figures of a part of it: boxes are cut at its ends", f"{got} and {want}, {origin}")
    own = b.run("""(() => { let own = 0, outer = 0; const f = regtrace.figuresOf(regtrace.meta.from, regtrace.meta.to);
        for (const [lane, map] of f.byLane) if (lane.name === "func.name") for (const s of map.values()) own += s.self;
        for (const t of regtrace.tracks) if (t.lane.name === "func.name" && t.depth === 0) { const i = regtrace.itemsOf(t); for (let k = 0; k < i.n; k++) outer += i.end[k] - i.start[k]; }
        return [own, outer]; })()""")
    same(round(own[0]), round(own[1]), "own times of all functions are together the time of the outermost")


LEVELS = """(() => {
    const wrong = [];
    let levels = 0, most = 0;
    for (const track of regtrace.tracks) {
        const items = regtrace.itemsOf(track);
        for (const level of track.levels) {
            const bins = regtrace.pick(track, level.width);
            if (bins.width !== level.width || !bins.share || track.lane.kind === "ticks")
                continue;
            levels++;
            let k = 0, sum = 0, time = 0, last = -1;
            for (let i = 0; i < items.n; i++) {
                time += items.end[i] - items.start[i];
                while (k < bins.n && bins.end[k] <= items.start[i]) k++;
                if (k === bins.n || bins.start[k] > items.start[i]) wrong.push([track.lane.name, level.width, i]);
            }
            for (let i = 0; i < bins.n; i++) {
                sum += (bins.end[i] - bins.start[i]) * bins.all[i] / 255;
                if (bins.start[i] < last || bins.share[i] === 0 || bins.share[i] > bins.all[i]) wrong.push(["bin", i]);
                last = bins.end[i];
            }
            /* Shares are of 255, and at least 1. */
            if (Math.abs(sum - time) > bins.n * level.width / 255 + items.n) wrong.push([track.lane.name, level.width, sum, time]);
        }
    }
    return [levels, wrong.slice(0, 5)];
})()"""

DRAWN = """(() => {
    let most = 0;
    const { view, tracks, pick } = regtrace;
    for (let span = regtrace.meta.to - regtrace.meta.from, at = 0; span > 1000; span /= 3)
        for (const track of tracks)
            for (at = 0; at < 5; at++) {
                const from = regtrace.meta.from + (regtrace.meta.to - regtrace.meta.from - span) * at / 4, data = pick(track, span / view.width);
                let n = 0;
                for (let i = 0; i < data.n; i++) n += data.end[i] >= from && data.start[i] <= from + span ? 1 : 0;
                most = Math.max(most, n / view.width);
            }
    return most;
})()"""


def levels(b):
    count, wrong = b.run(LEVELS)
    ok(count > 10, f"{count} levels of detail")
    same(wrong, [], "in each level each box has a bin where it begins, and all shares are together the time of the boxes")
    most = b.run(DRAWN)
    ok(0.1 < most < 6, f"at no width more than a few boxes or bins are drawn of a track for each dot ({most:.2f})")


MESSAGES = """(() => {
    const all = regtrace.messagesOf(), rank = (i) => regtrace.threads[i].rank, wrong = [];
    /* If one call ends when the next begins, both are there at that time. Where a clock ticks every
     * 10 ns, this happens. */
    const ends = (thread, name, time) => regtrace.tracks.filter((t) => t.thread === thread && t.lane.name === "mpi.function" && t.depth === 0).some((t) => {
        const items = regtrace.itemsOf(t);
        let low = 0, high = items.n;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (items.end[middle] < time) low = middle + 1; else high = middle;
        }
        for (let i = low; i < items.n && items.start[i] <= time; i++)
            if (t.lane.values[items.value[i]] === name) return true;
        return false;
    });
    const to_next = (i) => rank(all.to[i]) === (rank(all.from[i]) + 1) % 3;
    for (let i = 0; i < all.n; i++)
        for (const [why, right] of [["rank", to_next(i)], ["bytes", all.bytes[i] === 4096], ["tag", all.tag[i] === 7], ["received before it was sent", all.received[i] >= all.send[i]],
            ["no send", ends(all.from[i], "MPI_Isend", all.send[i])], ["no receive", ends(all.to[i], "MPI_Irecv", all.receive[i])], ["no wait", ends(all.to[i], "MPI_Waitall", all.received[i])]])
            if (!right) wrong.push([why, i, all.from[i], all.to[i], all.send[i], all.receive[i], all.received[i]]);
    const left = regtrace.meta.messages.unmatched.reduce((n, u) => n + u.sends, 0);
    return [all.n, left, wrong.length, wrong.slice(0, 3)];
})()"""


def messages(b):
    """Each of 3 ranks sends 500 x 3 messages in a ring."""
    count, left, wrong, first = b.run(MESSAGES)
    same(count + left, 4500, f"{count} messages are matched, and {left} counted that are not: all that were sent")
    ok(count >= 4400, "nearly all are matched", str(count))
    same((wrong, first), (0, []), "each goes to the next rank, from a send to the end of a wait")
    b.key("m")
    b.run("regtrace.look(regtrace.meta.from, regtrace.meta.to)")
    b.frame()
    seen = b.run("regtrace.view.lines")
    ok(seen["seen"] == count and 1000 < seen["drawn"] <= 2000, "of many some are drawn, and the page says how many", str(seen))
    one = b.run("""(() => { const all = regtrace.messagesOf(), i = 1000, track = regtrace.tracks.find((t) => t.thread === all.from[i] && t.lane.name === "mpi.function" && t.depth === 0);
        regtrace.choose(regtrace.itemAt(track, all.send[i])); return regtrace.messagesOfItem(regtrace.view.item).length; })()""")
    same(one, 1, "a send has its one message")
    b.key("m")


DROPPED = """(() => {
    const of = (name) => regtrace.tracks.find((t) => t.lane.name === name && t.depth === 0), ticks = of("ovni.flush"), calls = of("func.name");
    const drops = regtrace.itemsOf(ticks), wrong = [];
    let count = 0;
    regtrace.look(regtrace.meta.from, regtrace.meta.from + 100);
    for (let i = 0; i < drops.n; i++) {
        if (ticks.lane.values[drops.value[i]] !== "events were dropped") continue;
        const item = regtrace.itemAt(calls, drops.start[i] - 500);
        count++;
        if (!item || !item.name.startsWith("unknown:") || item.end - item.start < 500) wrong.push([drops.start[i], item && item.name]);
    }
    return [count, wrong.length, wrong.slice(0, 3)];
})()"""


def between(b, run):
    calls = run.mpi_calls()
    b.key("0")
    b.key("i")
    got = b.run("[regtrace.view.from, regtrace.view.to]")
    first = b.run("(() => { let best = Infinity; for (const t of regtrace.tracks.filter((t) => t.lane.name === 'mpi.function')) best = Math.min(best, regtrace.itemsOf(t).start[0]); return best; })()")
    shift = int(calls["begin_ns"].min()) - first
    want = [int(calls[calls["function"] == "MPI_Init"]["end_ns"].max()) - shift, int(calls[calls["function"] == "MPI_Finalize"]["begin_ns"].min()) - shift]
    ok(all(abs(g - w) <= 4 for g, w in zip(got, want)), "i: from the last MPI_Init to the first MPI_Finalize", f"{got} and {want}")
    b.key("0")


def dropped(b):
    count, wrong, first = b.run(DROPPED)
    ok(count > 0, f"events were dropped {count} times")
    same((wrong, first), (0, []), "before each time nothing is known, instead of what was there when the first of them was lost")


RUNS = """(() => {
    const result = {};
    for (const track of regtrace.tracks.filter((t) => t.lane.name === "ovni.tid")) {
        const items = regtrace.itemsOf(track), cpu = regtrace.cpus.get(track.thread).cpu;
        for (let i = 0; i < items.n; i++) {
            const key = cpu + "/" + track.lane.values[items.value[i]];
            result[key] = (result[key] || 0) + items.end[i] - items.start[i];
        }
    }
    return result;
})()"""

DOES = """(() => {
    const name = (t) => { const process = regtrace.threads.filter((o) => o.process === t.process && o.lanes.length); return `rank ${t.rank}` + (process.length > 1 ? `.${t.thread}` : ""); };
    const wrong = [];
    let seen = 0;
    for (const track of regtrace.tracks.filter((t) => t.lane.name === "ovni.tid")) {
        const items = regtrace.itemsOf(track), states = regtrace.tracks.find((t) => t.thread === track.thread && t.lane.name === "mpi.activity");
        for (let i = 0; i < items.n; i++) {
            const who = track.lane.values[items.value[i]], time = (items.start[i] + items.end[i]) / 2;
            regtrace.look(time - 10, time + 10); /* what is there, not what is near */
            const thread = regtrace.threads.find((t) => name(t) === who), own = thread && regtrace.tracks.find((t) => t.thread === thread.index && t.lane.name === "mpi.activity");
            const got = regtrace.itemAt(states, time), want = own ? regtrace.itemAt(own, time) : { name: "Several threads" };
            seen++;
            if ((got && got.name) !== (want && want.name)) wrong.push([who, time, got && got.name, want && want.name]);
        }
    }
    return [seen, wrong.length, wrong.slice(0, 3)];
})()"""


def who_ran(run):
    """Returns ns by processor and by the threads there, from the events of the files alone.

    A thread is where its last event was recorded."""
    events = run.events()
    events = events.sort_values(["time_ns", "rank", "process"], kind="stable")
    left = events.groupby(["rank", "thread"]).size().to_dict()
    several = {rank: len(group["thread"].unique()) > 1 for rank, group in events.groupby("rank")}
    where, there, since, total = {}, {}, {}, {}

    def name_of(rank, thread):
        return f"rank {rank}.{thread}" if several[rank] else f"rank {rank}"

    def change(cpu, now):
        who = there.setdefault(cpu, set())
        if cpu in since and who:
            name = name_of(*next(iter(who))) if len(who) == 1 else f"{len(who)} threads"
            total[f"cpu {cpu}/{name}"] = total.get(f"cpu {cpu}/{name}", 0) + now - since[cpu]
        since[cpu] = now
        return who

    for e in events.itertuples():
        key, cpu, now = (e.rank, e.thread), int(e.cpu), e.time_ns
        if where.get(key) != cpu:
            if key in where:
                change(where[key], now).discard(key)
            change(cpu, now).add(key)
            where[key] = cpu
        left[key] -= 1
        if left[key] == 0:
            change(cpu, now).discard(key)
    return {k: v for k, v in total.items() if v > 0}


def processors(b, run):
    got, want = b.run(RUNS), who_ran(run)
    changes = 4 * len(run.events())
    ok(want and all(abs(got.get(k, 0) - want.get(k, 0)) <= changes for k in want.keys() | got.keys()),
       f"{len(want)} threads, or numbers of them, on processors: how long each", f"{got} and {want}")
    seen, wrong, first = b.run(DOES)
    ok(seen > 0, f"{seen} times somebody began to run")
    same((wrong, first), (0, []), "and the processor's state is what that one did")
    b.key("c")
    same(b.run("[regtrace.view.processors, regtrace.lines()[0].kind, regtrace.lines().every((l) => !l.thread || l.thread.cpu)]"), [True, "process", True], "c: rows are processors")
    same(b.run("document.getElementById('rows').getAttribute('aria-pressed')"), "true", "which the switch shows")
    time.sleep(0.5)
    ok("rows=processors" in b.run("location.hash"), "and the address keeps")
    lines = b.run("regtrace.lines().length")
    b.key("e")
    ok(b.run("regtrace.lines().length") < lines, "they are closed as others are")
    b.key("e")
    b.key("c")
    same(b.run("[regtrace.view.processors, regtrace.lines().some((l) => l.thread && l.thread.cpu)]"), [False, False], "and c again: of threads")


def summaries(b, run):
    same(b.run("regtrace.meta.exact"), False, "a page of no more boxes than it is told to")
    got = dict(b.run("""regtrace.tracks.filter((t) => t.lane.name === "mpi.function" && t.depth === 0).map((t) => {
        const data = regtrace.pick(t, 0);
        let sum = 0;
        for (let i = 0; i < data.n; i++) sum += (data.end[i] - data.start[i]) * (data.all ? data.all[i] / 255 : 1);
        return [regtrace.threads[t.thread].rank, [sum, data.all ? data.n * data.width / 255 : 0, data.n]];
    })"""))
    calls = run.mpi_calls()
    want = calls[calls["depth"] == 0].groupby("rank")["duration_ns"].agg(["sum", "count"])
    ok(got.keys() == set(want.index) and all(abs(s - want.loc[r, "sum"]) <= most + 2 * want.loc[r, "count"] for r, (s, most, _) in got.items()),
       "has the time in MPI of each rank", f"{got} and {want}")
    ok(all(n < want.loc[r, "count"] * 0.7 for r, (_, _, n) in got.items()), "in fewer bins than there are calls", f"{got}")
    same(b.run("document.getElementById('panel').hidden"), True, "a narrow window has no panel at first")
    b.key("w")
    b.wait("document.getElementById('page-figures').innerText.includes('Of summaries')")
    ok(True, "and says that they are summaries")


def colour_at(b, x, y):
    """Reads a dot of a copy: browsers complain of many readings of the canvas itself."""
    return b.run(f"""(() => {{
        const copy = new OffscreenCanvas(1, 1).getContext("2d", {{ willReadFrequently: true }});
        copy.drawImage(document.getElementById("plot"), {x}, {y}, 1, 1, 0, 0, 1, 1);
        return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
    }})()""")


def painted(b):
    """Checks that a dot in the middle of a long box has the colour of the box."""
    found = b.run("""(() => {
        const line = regtrace.lines().find((l) => l.kind === "lane" && l.entry.lane.kind === "calls"), track = line.entry.tracks[0], items = regtrace.itemsOf(track);
        let best = 0;
        for (let i = 0; i < items.n; i++) best = items.end[i] - items.start[i] > items.end[best] - items.start[best] ? i : best;
        const length = items.end[best] - items.start[best];
        regtrace.look(items.start[best] - length, items.end[best] + length);
        return [line.y + 3, line.entry.lane.colours[items.value[best]], line.entry.lane.values[items.value[best]], items.start[best], items.end[best],
            (items.start[best] + length * 0.6 - regtrace.view.from) / (regtrace.view.to - regtrace.view.from) * regtrace.view.width];
    })()""")
    b.frame()
    want = [int(found[1][i : i + 2], 16) for i in (1, 3, 5)]
    same(colour_at(b, round(found[5]), round(found[0] - b.run("regtrace.view.top"))), want, f"the longest call, {found[2]}, is painted in its colour")
    box = b.run("(() => { const r = document.getElementById('plot').getBoundingClientRect(); return [r.left, r.top]; })()")
    b.mouse("mouseMoved", box[0] + found[5], box[1] + found[0])
    b.frame()
    tip = b.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText")
    start = f"{int(found[3]) // 10**9}.{int(found[3]) % 10**9:09d}"
    ok(found[2] in tip and start in tip.replace(" ", ""), "the pointer there shows its name and its begin to the ns", tip)
    b.click(box[0] + found[5], box[1] + found[0])
    same(b.run("[regtrace.view.selected.from, regtrace.view.selected.to]"), found[3:5], "a click selects its time")


def row_of_last_rank(b):
    """The last rank is asked for: no further rows are below, so the view cannot have it on top.
    Its box is painted beside its name all the same."""
    b.run("regtrace.choose(null)")
    b.key("Escape")
    b.run("regtrace.showRank(Math.max(...regtrace.threads.map((t) => t.rank)))")
    b.frame()
    found = b.run("""(() => {
        const line = regtrace.lines().filter((l) => l.kind === "lane" && l.entry.lane.kind === "calls").at(-1), items = regtrace.itemsOf(line.entry.tracks[0]);
        let best = 0;
        for (let i = 0; i < items.n; i++) best = items.end[i] - items.start[i] > items.end[best] - items.start[best] ? i : best;
        regtrace.look(items.start[best], items.end[best]);
        const name = [...document.querySelectorAll("#labels > *")].find((e) => parseFloat(e.style.top) === line.y), plot = document.getElementById("plot").getBoundingClientRect();
        return [name.getBoundingClientRect().top - plot.top + 3, line.entry.lane.colours[items.value[best]]];
    })()""")
    b.frame()
    want = [int(found[1][i : i + 2], 16) for i in (1, 3, 5)]
    same(colour_at(b, 5, round(found[0])), want, "a call of the last rank is painted beside its name")


def keys(b):
    b.run("document.activeElement.blur()")
    b.key("Escape")
    same(b.run("regtrace.view.selected"), None, "Escape: nothing is selected")
    b.key("0")
    span = "regtrace.view.to - regtrace.view.from"
    all_of_it = b.run(span)
    same(all_of_it, b.run("regtrace.meta.to - regtrace.meta.from"), "0: all of the time")
    b.key("+")
    ok(0.3 < b.run(span) / all_of_it < 0.9, "+ zooms in")
    before = b.run("regtrace.view.from")
    b.key("ArrowRight")
    ok(b.run("regtrace.view.from") > before, "an arrow moves on")
    b.key("ArrowLeft")
    ok(abs(b.run("regtrace.view.from") - before) < 2, "the other one back")
    box = b.run("(() => { const r = document.getElementById('plot').getBoundingClientRect(); return [r.left, r.top, r.width]; })()")
    at = "regtrace.view.from + 0.25 * (regtrace.view.to - regtrace.view.from)"
    there, wide = b.run(at), b.run(span)
    b.mouse("mouseWheel", box[0] + box[2] * 0.25, box[1] + 100, deltaX=0, deltaY=-300)
    b.wait(f"{span} < {wide} * 0.8")
    ok(abs(b.run(at) - there) < wide * 0.01, "the wheel zooms where the pointer is")
    before, wide = b.run("regtrace.view.from"), b.run(span)
    b.drag(box[0] + 400, box[1] + 100, box[0] + 300, box[1] + 100)
    ok(abs(b.run("regtrace.view.from") - before - wide * 100 / box[2]) < wide * 0.02, "dragging moves")
    b.drag(box[0] + 100, box[1] - 20, box[0] + 300, box[1] - 20)
    part = b.run(f"(regtrace.view.selected.to - regtrace.view.selected.from) / ({span})")
    ok(abs(part - 200 / box[2]) < 0.01, "dragging on the ruler selects", str(part))
    b.wait("document.getElementById('page-figures').innerText.startsWith('Selected')")
    ok(True, "of which the panel shows figures")


def names(b, calls):
    want = int((calls["function"] == "MPI_Allreduce").sum())
    b.key("0")  # a search goes to the first call that is shown, and n goes round after the last
    b.key("/")
    for letter in "allreduce":
        b.key(letter)
    b.key("Enter")
    b.wait("document.getElementById('hits').textContent.includes(' of ')")
    same(b.run("document.getElementById('hits').textContent").split(" of ")[1].replace(",", ""), str(want), "a search finds all calls of that name")
    b.run("document.activeElement.blur()")
    same(b.run("regtrace.view.item.name"), "MPI_Allreduce", "and goes to one")
    starts = [b.run("regtrace.view.item.start")]
    for _ in range(5):
        b.key("n")
        starts.append(b.run("regtrace.view.item.start"))
    ok(starts == sorted(starts) and len(set(map(tuple, [[s] for s in starts]))) > 1, "n goes on in time", str(starts))
    b.key("p")
    same(b.run("regtrace.view.item.start"), starts[4], "p goes back")
    b.key("Escape")


def looks(b):
    same(b.run("document.documentElement.dataset.theme"), "light", "light where that is preferred")
    b.prefer("dark")
    b.wait("document.documentElement.dataset.theme === 'dark'")
    b.frame()
    ok(True, "dark where that is preferred")
    b.run("document.getElementById('theme').click()")
    same(b.run("document.documentElement.dataset.theme"), "light", "and the switch changes it")
    lines = b.run("regtrace.lines().length")
    b.key("e")
    ok(b.run("regtrace.lines().length") < lines, "e closes all rows")
    b.key("e")
    same(b.run("regtrace.lines().length"), lines, "and opens them")
    b.run("document.querySelector('#labels button').focus()")
    b.key("Enter")
    ok(b.run("regtrace.lines().length") < lines, "the name of a rank closes its rows, by the keyboard too")
    b.run("document.getElementById('tab-windows').click()")
    rows = b.run("document.querySelectorAll('#page-windows tr.row').length")
    same(rows, b.run("regtrace.windows().length"), "the table has all windows")
    b.run("document.querySelectorAll('#page-windows tr.row')[1].click()")
    same(b.run("regtrace.view.selected.from"), b.run("regtrace.windows()[1].from"), "a click there selects one")
    unnamed = b.run("""[...document.querySelectorAll("button, input, [tabindex='0']")].filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels && e.labels.length)).map((e) => e.outerHTML)""")
    same(unnamed, [], "all that can be focused has a name")


def main():
    small, small_page, large, large_page, few_page, drop_page, seen_page = sys.argv[1:]
    with Browser() as b:
        b.open(small_page)
        run = regtrace.open(small)
        figures(b, run)
        calls = run.mpi_calls()
        sends = int(((calls["function"] == "MPI_Isend") & (calls["peer"] >= 0)).sum())
        same(b.run("[regtrace.meta.messages.count, document.getElementById('messages').hidden]"), [sends, False], "all messages of a run with calls outside its windows")
        same(b.run("document.getElementById('between').hidden"), True, "nor a button to what lies between MPI_Init and MPI_Finalize, which lie outside")
        painted(b)
        row_of_last_rank(b)
        keys(b)
        names(b, run.mpi_calls())
        looks(b)
        b.run("regtrace.look(regtrace.meta.from + 1e6, regtrace.meta.from + 3e6)")
        time.sleep(0.5)
        fragment = b.run("location.hash")
        b.open(small_page, fragment)
        same(b.run("[regtrace.view.from - regtrace.meta.from, regtrace.view.to - regtrace.meta.from]"), [1e6, 3e6], "the address keeps what was looked at")
        b.open(seen_page)
        processors(b, run)
        same(b.errors, [], "the browser has no complaint")
        same([r for r in b.requests if not r.startswith(("file://", "about:", "data:"))], [], "and has asked nobody")
    with Browser(width=500, height=800, dark=True) as b:
        b.open(large_page)
        same(b.run("document.documentElement.scrollWidth <= 500"), True, "a narrow window needs no scrolling to the side")
        figures(b, regtrace.open(large))
        levels(b)
        between(b, regtrace.open(large))
        messages(b)
        b.open(few_page)
        summaries(b, regtrace.open(large))
        b.open(drop_page)
        dropped(b)
        same(b.errors, [], "the browser has no complaint")


main()
