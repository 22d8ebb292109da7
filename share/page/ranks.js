/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks, functions, counters and memory traces, as tables. */
const waitsOf = new Map(((hasWindows && report.waits_by_rank) || []).map((w) => [w.rank, w]));

function rankSheet() {
    const lines = (r, text) =>
            data.timeline.why_not === null
                ? link(`lines-${r.rank}`, text, `rank ${r.rank} in the time lines`)
                : text,
        waits = (r) => waitsOf.get(r.rank) || {};
    return sheet(
        [
            { head: "rank", value: (r) => r.rank, show: (r) => lines(r, String(r.rank)) },
            { head: "host", kind: "text", value: (r) => r.host },
            {
                head: "in windows",
                value: (r) => r.window_ns,
                show: (r) => link("windows", duration(r.window_ns)),
            },
            { head: "in MPI", value: (r) => r.mpi_ns, show: (r) => lines(r, duration(r.mpi_ns)) },
            {
                head: "share",
                value: (r) => r.mpi_ns / r.window_ns,
                show: (r) => lines(r, percent(r.mpi_ns, r.window_ns)),
            },
            { head: "in MPI", kind: "bar", value: (r) => r.mpi_ns },
            {
                head: "calls",
                value: (r) => r.mpi_calls,
                show: (r) => link("functions", amount(r.mpi_calls)),
            },
            {
                head: "sent",
                value: (r) => r.mpi_bytes,
                show: (r) => link("messages", bytesText(r.mpi_bytes)),
            },
            {
                head: "received",
                value: (r) => r.mpi_bytes_received,
                show: (r) => link("messages", bytesText(r.mpi_bytes_received)),
            },
            {
                head: "others waited",
                value: (r) => waits(r).others_waited_ns,
                show: (r) =>
                    waits(r).others_waited_ns === undefined
                        ? "-"
                        : link("waits", duration(waits(r).others_waited_ns)),
            },
            {
                head: "itself waited",
                value: (r) => waits(r).waited_ns,
                show: (r) =>
                    waits(r).waited_ns === undefined
                        ? "-"
                        : link("waits", duration(waits(r).waited_ns)),
            },
            { head: "events", value: (r) => r.events, show: (r) => lines(r, amount(r.events)) },
            {
                head: "lost",
                value: (r) => r.lost,
                show: (r) => link("notes", (r.lost_unknown ? "at least " : "") + amount(r.lost)),
            },
            { head: "file", kind: "text", value: (r) => `${baseName(r.file)}: ${r.state}` },
        ],
        ranks,
        { id: (r) => (r.main ? `rank-${r.rank}` : `process-${r.pid}`) },
    );
}

function functionSheet() {
    const all = sum(report.mpi, (f) => f.time_ns);
    return sheet(
        [
            {
                head: "function",
                kind: "text",
                value: (f) => f.name,
                show: (f) => findLink(f.name, f.name),
            },
            {
                head: "calls",
                value: (f) => f.calls,
                show: (f) => findLink(f.name, amount(f.calls)),
            },
            {
                head: "time",
                value: (f) => f.time_ns,
                show: (f) => callsLink(f, duration(f.time_ns)),
            },
            {
                head: "share",
                value: (f) => f.time_ns,
                show: (f) => callsLink(f, percent(f.time_ns, all)),
            },
            { head: "time", kind: "bar", value: (f) => f.time_ns },
            {
                head: "mean of ranks",
                value: (f) => f.mean_ns,
                show: (f) => link("ranks", duration(f.mean_ns)),
            },
            {
                head: "longest",
                value: (f) => f.max_ns,
                show: (f) => rankLink(f.max_rank, duration(f.max_ns)),
            },
            { head: "rank", value: (f) => f.max_rank, show: (f) => rankLink(f.max_rank) },
            {
                head: "imbalance",
                value: (f) => f.imbalance,
                show: (f) =>
                    f.imbalance === null ? "-" : rankLink(f.max_rank, f.imbalance.toFixed(2)),
            },
            { head: "bytes", value: (f) => f.bytes, show: (f) => callsLink(f, bytesText(f.bytes)) },
        ],
        [...report.mpi].sort((a, b) => b.time_ns - a.time_ns),
        {
            id: (f) => `function-${f.name}`,
            caption: "MPI functions, outermost calls; imbalance: longest rank / mean of all ranks",
        },
    );
}

/* A link to the call path on which the function takes most time. */
function callsLink(f, text) {
    const top = most(
        leaves.filter((n) => n.function === f.name),
        (n) => n.total_ns,
    );
    return pathLink(top && top.id, text);
}

function programSheet() {
    const found = (f, text) => (f.function ? findLink(f.function, text) : text);
    return sheet(
        [
            {
                head: "function",
                kind: "path",
                value: (f) => f.function || `${f.offset}`,
                show: (f) => found(f, f.function || f.offset),
            },
            { head: "calls", value: (f) => f.calls, show: (f) => found(f, amount(f.calls)) },
            {
                head: "total",
                value: (f) => f.total_ns,
                show: (f) => found(f, duration(f.total_ns)),
            },
            { head: "self", value: (f) => f.self_ns, show: (f) => found(f, duration(f.self_ns)) },
            { head: "self", kind: "bar", value: (f) => f.self_ns },
            { head: "image", kind: "text", value: (f) => baseName(f.image || "") },
        ],
        report.program_functions,
        {
            caption:
                "Functions of the program; self: without the recorded functions that they call",
        },
    );
}

function showFunctions(section) {
    section.append(functionSheet());
    if (report.program_functions.length) section.append(programSheet());
}

/* --- counters --------------------------------------------------------------------------------- */

/* Counts by event, then by rank. */
const events = new Map();
for (const r of ranks)
    for (const c of r.counters)
        events.set(c.event, [...(events.get(c.event) || []), { ...c, rank: r.rank }]);

/* Shows an event on each rank. */
function showEvent(event) {
    const perSecond = (c) =>
        c.per_second === null ? "-" : `${amount(Math.round(c.per_second))} /s`;
    document.getElementById("event").replaceChildren(
        element("h3", {}, `${event} of each rank`),
        sheet(
            [
                { head: "rank", value: (c) => c.rank, show: (c) => rankLink(c.rank) },
                {
                    head: "count",
                    value: (c) => c.count,
                    show: (c) =>
                        link(
                            `lines-${c.rank}`,
                            amount(c.count),
                            `rank ${c.rank} in the time lines`,
                        ),
                },
                { head: "count", kind: "bar", value: (c) => c.count },
                {
                    head: "in MPI",
                    value: (c) => c.in_mpi,
                    show: (c) => (c.in_mpi === null ? "-" : link("functions", amount(c.in_mpi))),
                },
                {
                    head: "rate",
                    value: (c) => c.per_second,
                    show: (c) => link(`lines-${c.rank}`, perSecond(c)),
                },
                {
                    head: "windows",
                    value: (c) => c.windows,
                    show: (c) => link("windows", amount(c.windows)),
                },
            ],
            events.get(event) || [],
        ),
    );
}

function showCounters(section) {
    if (events.size === 0) {
        section.append(note("No events were counted: regtrace run -events names them."));
        return;
    }
    const eventLink = (e, text) =>
        link(`event-${encodeURIComponent(e.event)}`, text, `${e.event} of each rank`);
    const rows = [...events].map(([event, of]) => ({
        event,
        of,
        total: sum(of, (c) => c.count),
        top: most(of, (c) => c.count),
        in_mpi: of.every((c) => c.in_mpi !== null) ? sum(of, (c) => c.in_mpi) : null,
        running: Math.min(...of.map((c) => c.running_per_mille)),
    }));
    section.append(
        sheet(
            [
                {
                    head: "event",
                    kind: "text",
                    value: (e) => e.event,
                    show: (e) => eventLink(e, e.event),
                },
                {
                    head: "total",
                    value: (e) => e.total,
                    show: (e) => eventLink(e, amount(e.total)),
                },
                {
                    head: "in MPI",
                    value: (e) => e.in_mpi,
                    show: (e) =>
                        e.in_mpi === null ? "-" : eventLink(e, percent(e.in_mpi, e.total)),
                },
                {
                    head: "mean of ranks",
                    value: (e) => e.total / e.of.length,
                    show: (e) => eventLink(e, amount(Math.round(e.total / e.of.length))),
                },
                {
                    head: "most",
                    value: (e) => e.top.count,
                    show: (e) => rankLink(e.top.rank, amount(e.top.count)),
                },
                { head: "rank", value: (e) => e.top.rank, show: (e) => rankLink(e.top.rank) },
                {
                    head: "its counter ran",
                    value: (e) => e.running,
                    show: (e) => eventLink(e, `${(e.running / 10).toFixed(1)} %`),
                },
            ],
            rows,
            { caption: "Events counted in windows, in user mode" },
        ),
        element("div", { id: "event", "aria-live": "polite" }),
    );
    const rates = Object.entries(report.rates || {}).filter(([, v]) => typeof v === "number");
    if (rates.length)
        section.append(
            element(
                "dl",
                { class: "figures" },
                ...rates.flatMap(([name, v]) => [
                    element("dt", {}, name.replaceAll("_", " ")),
                    element("dd", {}, v.toPrecision(4)),
                ]),
            ),
        );
}

/* --- memory traces ---------------------------------------------------------------------------- */

/* How traces of windows end, by the report's members. */
const MEMORY_ENDS = {
    whole: ["whole", ""],
    jumped: [
        "jumped",
        "left by a jump or an exception that nobody followed, before the window ended",
    ],
    no_room: ["no room", "cut off or missing, as the file could not grow (-max-size)"],
    amid: ["in a function", "ended within a function, whose last accesses are missing"],
    never: ["nothing", "opened and closed within a handler of a signal"],
};

/* A run without memory traces has no such part. */
function showMemory(section) {
    const some = ranks.filter((r) => r.memory && r.memory.windows > 0);
    if (some.length === 0) {
        section.remove();
        document.querySelector("nav a[href='#memory']").remove();
        return;
    }
    const ends = Object.keys(MEMORY_ENDS).filter((name) => some.some((r) => r.memory[name] > 0));
    section.append(
        sheet(
            [
                { head: "rank", value: (r) => r.rank, show: (r) => rankLink(r.rank) },
                {
                    head: "windows",
                    value: (r) => r.memory.windows,
                    show: (r) => link("windows", amount(r.memory.windows)),
                },
                {
                    head: "recorded",
                    value: (r) => r.memory.bytes,
                    show: (r) => rankLink(r.rank, bytesText(r.memory.bytes)),
                },
                { head: "recorded", kind: "bar", value: (r) => r.memory.bytes },
                ...ends.map((name) => ({
                    head: MEMORY_ENDS[name][0],
                    value: (r) => r.memory[name],
                    show: (r) => rankLink(r.rank, amount(r.memory[name])),
                })),
            ],
            some,
            {
                caption: [
                    "Windows of threads by how their traces ended",
                    ...ends
                        .filter((name) => MEMORY_ENDS[name][1])
                        .map((name) => `${MEMORY_ENDS[name][0]}: ${MEMORY_ENDS[name][1]}`),
                ].join("; "),
            },
        ),
        note(
            `${bytesText(sum(some, (r) => r.memory.bytes))} in ${counted(
                sum(some, (r) => r.memory.windows),
                "window",
            )} of threads. regtrace skel replay writes the accesses, and regtrace skel stats their footprints, strides and reuse distances.`,
        ),
    );
}
