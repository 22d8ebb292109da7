/* SPDX-License-Identifier: BSD-3-Clause
 * Holds the view: the span of time, open and closed rows, shown lanes. Computes where each line of
 * the plot lies. */
const view = {
    from: meta.from, to: Math.max(meta.to, meta.from + 1), top: 0, width: 1, height: 1,
    closed: new Set(), hidden: new Set(), selected: null, item: null, search: "", matches: null, messages: false, processors: false,
};
const whole = { from: view.from, to: view.to };
const NARROWEST = 20; /* ns over the whole width */

/* --- rows ------------------------------------------------------------------------------------- */

const ORDER = ["ovni.tid", "region.window", "region.alarm", "ovni.flush", "region.pcontrol", "region.name", "region.mark", "mpi.activity", "mpi.function",
    "func.name", "region.signal", "sample.function", "pmu."];
const BOX = 15, FLAME = 14;

function orderOf(lane) {
    const i = ORDER.findIndex((name) => lane.name.startsWith(name));
    return i < 0 ? ORDER.length : i;
}

function heightOf(lane) {
    return lane.kind === "curve" ? 30 : lane.kind === "ticks" ? 11 : lane.name === "mpi.activity" ? 9 : lane.name === "region.window" ? 12 : BOX;
}

const SHORT = { "region.window": "windows", "region.alarm": "alarms", "ovni.flush": "recorder", "ovni.tid": "thread", "region.pcontrol": "MPI_Pcontrol", "region.name": "regions",
    "mpi.activity": "state", "mpi.function": "MPI calls", "func.name": "functions", "region.signal": "signals", "sample.function": "samples" };

function laneText(lane, row) {
    return row.cpu && lane.name === "ovni.tid" ? row.cpu : SHORT[lane.name] || lane.title;
}

/* Threads by process, each with its lanes; a lane has its tracks by depth. */
const processes = [];
meta.threads.forEach((thread, number) => {
    let process = processes[processes.length - 1];
    if (!process || process.number !== thread.process)
        processes.push(process = { number: thread.process, rank: thread.rank, pid: thread.pid, node: meta.nodes[thread.node], threads: [] });
    process.threads.push({ ...thread, index: number, lanes: [] });
});
const threads = processes.flatMap((p) => p.threads);

/* Nodes with their processors: rows in place of processes with their threads. */
const nodes = [], cpus = new Map();
for (const { row, node, number } of meta.processors) {
    let group = nodes.find((n) => n.node === meta.nodes[node]);
    if (!group)
        nodes.push(group = { number: -1 - node, node: meta.nodes[node], name: meta.nodes[node], threads: [] });
    const cpu = { cpu: number < 0 ? "several cpus" : `cpu ${number}`, process: group.number, index: row, lanes: [] };
    group.threads.push(cpu);
    cpus.set(row, cpu);
}

/* Returns the thread or the processor that the track belongs to. */
function rowOf(track) {
    return threads[track.thread] || cpus.get(track.thread);
}

function groups() {
    return view.processors ? nodes : processes;
}

for (const track of tracks) {
    const lanesOf = rowOf(track).lanes;
    let entry = lanesOf.find((l) => l.lane === track.lane);
    if (!entry)
        lanesOf.push(entry = { lane: track.lane, tracks: [] });
    entry.tracks[track.depth] = track;
}
for (const row of [...threads, ...cpus.values()])
    row.lanes.sort((a, b) => orderOf(a.lane) - orderOf(b.lane) || a.lane.number - b.lane.number);
for (const process of processes) {
    const same = processes.filter((p) => p.rank === process.rank);
    process.name = `rank ${process.rank}` + (same.length > 1 ? ` (${process.pid})` : "");
}
for (const group of [...processes, ...nodes])
    group.main = group.threads.reduce((a, b) => (weight(b) > weight(a) ? b : a));

function weight(thread) {
    return thread.lanes.reduce((n, l) => n + (l.lane.kind === "calls" ? 1e6 : 0) + (thread.cpu ? l.tracks[0].count : l.tracks.length), 0);
}

function threadName(thread) {
    return thread.name ? `thread ${thread.thread}, ${thread.name}` : `thread ${thread.thread}`;
}

/* Returns the lanes in the one line of a closed process: windows, MPI state, and calls. */
function summary(process) {
    const of = (name) => process.main.lanes.find((l) => l.lane.name === name);
    if (view.processors)
        return [of("mpi.activity"), of("ovni.tid")].filter(Boolean);
    return [of("region.window"), of("mpi.activity"), of("mpi.function") || of("func.name") || of("region.name")].filter(Boolean);
}

let lines = [], total = 0;

/* Computes the lines from the top: kind, y, height. */
function layOut() {
    lines = [];
    let y = 0;
    const add = (line) => {
        line.y = y;
        y += line.height;
        lines.push(line);
    };
    for (const process of groups()) {
        if (view.closed.has(process.number)) {
            add({ kind: "closed", process, thread: process.main, height: 20, parts: summary(process) });
            continue;
        }
        add({ kind: "process", process, height: 20 });
        const some = process.threads.filter((t) => t.lanes.length !== 0);
        for (const thread of some) {
            if (some.length > 1 && !thread.cpu)
                add({ kind: "thread", process, thread, height: 15 });
            for (const entry of thread.lanes) {
                if (view.hidden.has(entry.lane.number))
                    continue;
                const each = entry.lane.name === "func.name" ? FLAME : heightOf(entry.lane);
                add({ kind: "lane", process, thread, entry, each, height: each * entry.tracks.length + 2 });
            }
        }
        add({ kind: "space", process, height: 4 });
    }
    total = y;
}

/* --- time ------------------------------------------------------------------------------------- */

function dot() {
    return (view.to - view.from) / view.width; /* ns */
}
function xOf(time) {
    return (time - view.from) / dot();
}
function timeAt(x) {
    return view.from + x * dot();
}

/* Shows a span of time, at least NARROWEST wide and within the run. */
function look(from, to) {
    if (!(from <= to))
        return;
    let span = Math.min(Math.max(to - from, NARROWEST), whole.to - whole.from || 1);
    const middle = (from + to) / 2;
    from = to - from === span ? from : middle - span / 2;
    from = Math.min(Math.max(from, whole.from), whole.to - span);
    view.from = from;
    view.to = from + span;
    changed();
}

function zoomAt(x, factor) {
    const time = timeAt(x), span = (view.to - view.from) * factor;
    if (span < NARROWEST && factor < 1)
        return;
    look(time - x / view.width * span, time + (1 - x / view.width) * span);
}

function move(dots) {
    const by = dots * dot();
    look(view.from + by, view.to + by);
}

/* --- the view in the address's fragment ------------------------------------------------------- */

let keeping = 0;

function keepView() {
    if (isFramed)
        return;
    clearTimeout(keeping);
    keeping = setTimeout(() => {
        const parts = [`from=${Math.round(view.from)}`, `to=${Math.round(view.to)}`];
        if (view.top)
            parts.push(`top=${Math.round(view.top)}`);
        if (view.selected)
            parts.push(`select=${Math.round(view.selected.from)}-${Math.round(view.selected.to)}`);
        if (view.search)
            parts.push(`find=${encodeURIComponent(view.search)}`);
        parts.push(`closed=${[...view.closed].join(".")}`);
        if (view.processors)
            parts.push("rows=processors");
        if (view.hidden.size)
            parts.push(`hidden=${[...view.hidden].join(".")}`);
        try {
            history.replaceState(null, "", "#" + parts.join("&"));
        } catch (error) { /* too often, or not allowed here: the address keeps its old fragment */ }
    }, 250);
}

function takeFragment(wished) {
    const numbers = (name) => new Set((wished.get(name) || "").split(".").filter((x) => x !== "").map(Number));
    const from = parseFloat(wished.get("from")), to = parseFloat(wished.get("to"));
    const select = (wished.get("select") || "").split("-").map(Number);
    view.closed = wished.has("closed") ? numbers("closed") : processes.length > 8 ? new Set(processes.map((p) => p.number)) : new Set();
    view.hidden = numbers("hidden");
    view.processors = wished.get("rows") === "processors" && nodes.length > 0;
    view.top = parseFloat(wished.get("top")) || 0;
    view.search = wished.get("find") || "";
    view.selected = select.length === 2 && select[0] < select[1] ? { from: select[0], to: select[1] } : null;
    layOut();
    if (from < to)
        look(from, to);
    else
        look(whole.from, whole.to);
}
