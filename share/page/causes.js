/* SPDX-License-Identifier: BSD-3-Clause
 * What made ranks wait (delays), and what decides how long windows take (the critical path), by
 * activity: an MPI call, the time between two of them, a named region or a function. */

/* Returns the places of the path that a call was made from, without those that start programs:
 * nodes of the call tree where they are known. */
function placesOf(call) {
    if (call.node !== null) return nodesTo(nodes[call.node]).filter((n) => !n.is_mpi);
    return call.call_path
        .filter((p) => !starts.has(`${p.return_offset} ${p.image}`))
        .map((p) => ({ ...p, id: null, text: placeText(p) }));
}

/* Returns how many places both paths begin with. */
function commonPlaces(a, b) {
    let n = 0;
    while (n < a.length && n < b.length && a[n].text === b[n].text) n++;
    return n;
}

function textOf(places) {
    return places.map((p) => p.text).join(" > ");
}

/* Returns "MPI_Send in work, a.c:5", with the places below the first `above` ones. An edge, such as
 * MPI_Init, has no path. */
function callParts(call, above, isEdge) {
    const places = placesOf(call).slice(above);
    if (isEdge || (places.length === 0 && above > 0)) return [pathLink(call.node, call.function)];
    return [pathLink(call.node, `${call.function} in ${textOf(places) || "(unknown)"}`)];
}

/* Returns "rest, called in root_cause, a.c:5"; the caller may be unknown. */
function functionParts(a) {
    return [
        a.function ? findLink(a.function, a.function) : "(no symbol)",
        "return_offset" in a.called_in ? `, called in ${placeText(a.called_in)}` : "",
    ];
}

/* Returns what the thread did, as texts and links. */
function activityParts(a) {
    if (a.kind === "region") return ["region ", findLink(a.region, a.region)];
    if (a.kind === "function") return functionParts(a);
    if (a.kind === "unrecorded") return [`not recorded until ${a.until}`];
    if (a.kind !== "between") return callParts(a.call, 0, false);
    const isCall = (call) => call.node !== null || call.call_path.length > 0,
        same = a.from.node !== null && a.from.node === a.to.node,
        before = placesOf(a.from),
        above = same ? 0 : commonPlaces(before, placesOf(a.to));
    return [
        above > 0 ? `${textOf(before.slice(0, above))} > from ` : "from ",
        ...callParts(a.from, above, !isCall(a.from)),
        " to ",
        ...(same ? ["the next"] : callParts(a.to, above, !isCall(a.to))),
    ];
}

function activityText(a) {
    return activityParts(a)
        .map((p) => (typeof p === "string" ? p : p.textContent))
        .join("");
}

/* Names the function in which an activity is: an MPI function, or that of the program. Between two
 * MPI calls it is the innermost one that calls both. */
function functionOf(a) {
    if (a.kind === "region") return `region ${a.region}`;
    if (a.kind === "function") return a.function || "(no symbol)";
    if (a.kind === "unrecorded") return "not recorded";
    if (a.kind !== "between") return a.call.function;
    const named = (call) => placesOf(call).map((p) => p.inlined || p.caller),
        before = named(a.from),
        after = named(a.to);
    let inner = null;
    for (let i = 0; i < before.length && i < after.length && before[i] === after[i]; i++)
        inner = before[i] || inner;
    return inner ? `${inner}, outside MPI` : "outside MPI";
}

/* Columns of the moment at which an activity mattered most. */
function momentColumns(head, rankHead) {
    return [
        {
            head,
            value: (r) => r.longest_ns,
            show: (r) =>
                r.longest_begin_ns === null
                    ? "-"
                    : timeLink(
                          r.longest_begin_ns,
                          r.longest_ns,
                          duration(r.longest_ns),
                          r.longest_rank,
                      ),
        },
        {
            head: rankHead,
            value: (r) => r.longest_rank,
            show: (r) => (r.longest_rank === null ? "-" : rankLink(r.longest_rank)),
        },
        {
            head: "in window",
            value: (r) => r.longest_window,
            show: (r) => windowLink(r.longest_window),
        },
    ];
}

function costOf(delay) {
    return delay.direct_ns + delay.propagated_ns;
}

/* --- delays ----------------------------------------------------------------------------------- */

function delaySheet() {
    const all = sum(report.delays, costOf) + report.delays_unknown_ns,
        found = (r, text) =>
            r.longest_begin_ns === null
                ? text
                : timeLink(r.longest_begin_ns, r.longest_ns, text, r.rank);
    return sheet(
        [
            { head: "rank", value: (r) => r.rank, show: (r) => rankLink(r.rank) },
            { head: "cost", value: costOf, show: (r) => found(r, duration(costOf(r))) },
            { head: "cost", kind: "bar", value: costOf },
            { head: "share", value: costOf, show: (r) => found(r, percent(costOf(r), all)) },
            {
                head: "direct",
                value: (r) => r.direct_ns,
                show: (r) => found(r, duration(r.direct_ns)),
            },
            {
                head: "propagated",
                value: (r) => r.propagated_ns,
                show: (r) => found(r, duration(r.propagated_ns)),
            },
            { head: "waits", value: (r) => r.waits, show: (r) => found(r, amount(r.waits)) },
            { head: "what it did", kind: "path", value: activityText, show: activityParts },
            ...momentColumns("longest wait", "of rank"),
        ],
        report.delays.map((row, number) => ({ ...row, number })),
        {
            id: (r) => `delay-${r.number}`,
            caption:
                "What ranks did while others waited for them; direct: the waits for this rank; propagated: waits for ranks that were late because they had waited for this one",
        },
    );
}

/* --- the critical path ------------------------------------------------------------------------ */

const critical = report.critical_path;

function onPath(show) {
    return [
        {
            head: "on the path",
            value: (r) => r.path_ns,
            show: (r) => show(r, duration(r.path_ns)),
        },
        { head: "on the path", kind: "bar", value: (r) => r.path_ns },
        {
            head: "share",
            value: (r) => r.path_ns,
            show: (r) => show(r, percent(r.path_ns, critical.length_ns)),
        },
    ];
}

function compared(show) {
    return [
        {
            head: "mean of ranks",
            value: (r) => r.mean_ns,
            show: (r) => show(r, duration(r.mean_ns)),
        },
        {
            head: "imbalance",
            value: (r) => r.imbalance_ns,
            show: (r) => show(r, duration(r.imbalance_ns)),
        },
    ];
}

/* A link to the longest stretch of an activity on the path. */
function stretchLink(r, text) {
    return timeLink(r.longest_begin_ns, r.longest_ns, text, r.longest_rank);
}

function activitySheet() {
    return sheet(
        [
            ...onPath(stretchLink),
            ...compared(stretchLink),
            { head: "activity", kind: "path", value: activityText, show: activityParts },
            ...momentColumns("longest", "of rank"),
        ],
        critical.activities.map((row, number) => ({ ...row, number })),
        {
            id: (r) => `critical-${r.number}`,
            caption:
                "The critical path by call path; mean: time of all ranks in that activity, without waiting; imbalance: how much longer it is on the path",
        },
    );
}

/* Sums of the activities of each function, with the longest stretch of all. */
function byFunction() {
    const found = new Map();
    for (const a of critical.activities) {
        const name = functionOf(a),
            row = found.get(name);
        if (!row) {
            found.set(name, { ...a, name });
            continue;
        }
        row.path_ns += a.path_ns;
        row.mean_ns += a.mean_ns;
        row.imbalance_ns += a.imbalance_ns;
        if (a.longest_ns > row.longest_ns)
            for (const member of ["ns", "begin_ns", "rank", "window"])
                row[`longest_${member}`] = a[`longest_${member}`];
    }
    return [...found.values()].sort((a, b) => b.path_ns - a.path_ns);
}

function criticalFunctionSheet() {
    const isMpi = new Set(report.mpi.map((f) => f.name));
    return sheet(
        [
            {
                head: "function",
                kind: "path",
                value: (r) => r.name,
                show: (r) => (isMpi.has(r.name) ? functionLink(r.name) : stretchLink(r, r.name)),
            },
            ...onPath(stretchLink),
            ...compared(stretchLink),
            ...momentColumns("longest", "of rank"),
        ],
        byFunction(),
        {
            shown: 10,
            caption: "By function; outside MPI: the innermost one that calls both MPI functions",
        },
    );
}

function criticalRankSheet() {
    return sheet(
        [
            { head: "rank", value: (r) => r.rank, show: (r) => rankLink(r.rank) },
            ...onPath((r, text) => rankLink(r.rank, text)),
        ],
        critical.ranks.filter((r) => r.path_ns > 0).sort((a, b) => b.path_ns - a.path_ns),
        { shown: 10, caption: "By rank" },
    );
}

function criticalWindowSheet() {
    const found = (w, text) => timeLink(w.start_ns, w.stop_ns - w.start_ns, text);
    return sheet(
        [
            { head: "window", value: (w) => w.ordinal, show: (w) => windowLink(w.ordinal) },
            {
                head: "length",
                value: (w) => w.stop_ns - w.start_ns,
                show: (w) => found(w, duration(w.stop_ns - w.start_ns)),
            },
            {
                head: "crossings",
                value: (w) => w.crossings,
                show: (w) => found(w, amount(w.crossings)),
            },
            { head: "most by rank", value: (w) => w.rank, show: (w) => rankLink(w.rank) },
            {
                head: "its share",
                value: (w) => w.rank_ns / (w.stop_ns - w.start_ns),
                show: (w) => rankLink(w.rank, percent(w.rank_ns, w.stop_ns - w.start_ns)),
            },
        ],
        critical.windows.filter((w) => !w.partial),
        { shown: 10, caption: "By window; crossings: from rank to rank" },
    );
}

function showCriticalPath(section) {
    const partial = critical.windows.filter((w) => w.partial).length,
        broken = sum(critical.windows, (w) => w.broken);
    if (critical.length_ns > 0)
        section.append(
            note(
                `The critical path of the main threads is ${duration(critical.length_ns)} long: the sequence of activities, without waiting, that decides how long windows take.`,
            ),
            activitySheet(),
            criticalFunctionSheet(),
            element("div", { class: "beside" }, criticalRankSheet(), criticalWindowSheet()),
        );
    else
        section.append(
            note(
                "No critical path is known: no window of all ranks has ended between MPI_Init and MPI_Finalize; record windows there.",
            ),
        );
    if (partial)
        section.append(note(`${counted(partial, "window")} left out, as not all ranks have them.`));
    if (broken)
        section.append(
            note(
                `The path is broken at ${counted(broken, "wait")} for calls in other windows or of other threads: it stays on the rank that waits.`,
            ),
        );
}

function showCauses(section) {
    if (!hasWindows || !report.waits) {
        section.append(note("Where the waits of ranks are unknown, so are their causes."));
        return;
    }
    section.append(element("h3", {}, "Delays"));
    if (report.delays.length) section.append(delaySheet());
    else section.append(note("No rank waited for another one, as far as both sides are in windows."));
    if (report.delays_unknown_ns > 0)
        section.append(
            note(`Of the waits, ${duration(report.delays_unknown_ns)} have no known cause.`),
        );
    section.append(element("h3", {}, "Critical path"));
    showCriticalPath(section);
}
