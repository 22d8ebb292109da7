/* SPDX-License-Identifier: BSD-3-Clause
 * Who waited for whom: calls that came late, call paths that waited, kinds, ranks. */
function lateSheet() {
    return sheet(
        [
            { head: "rank", value: (r) => r.rank, show: (r) => rankLink(r.rank) },
            { head: "kind", kind: "text", value: (r) => r.kind },
            {
                head: "function",
                kind: "text",
                value: (r) => r.function,
                show: (r) => functionLink(r.function),
            },
            {
                head: "called in",
                kind: "path",
                value: latePathText,
                show: (r) => pathLink(r.node, latePathText(r)),
            },
            {
                head: "waits",
                value: (r) => r.waits,
                show: (r) => pathLink(r.node, amount(r.waits)),
            },
            {
                head: "cost",
                value: (r) => r.cost_ns,
                show: (r) =>
                    timeLink(r.longest_begin_ns, r.longest_ns, duration(r.cost_ns), r.rank),
            },
            { head: "cost", kind: "bar", value: (r) => r.cost_ns },
            {
                head: "longest",
                value: (r) => r.longest_ns,
                show: (r) =>
                    timeLink(
                        r.longest_begin_ns,
                        r.longest_ns,
                        duration(r.longest_ns),
                        r.longest_rank,
                    ),
            },
            {
                head: "of rank",
                value: (r) => r.longest_rank,
                show: (r) => rankLink(r.longest_rank),
            },
            {
                head: "in window",
                value: (r) => r.longest_window,
                show: (r) => windowLink(r.longest_window),
            },
        ],
        late,
        {
            id: (r) => `late-${r.number}`,
            caption:
                "Calls that came late; cost: how long other ranks waited for them, all together",
        },
    );
}

function waitingSheet() {
    const rows = leaves.filter((n) => n.waited_ns > 0).sort((a, b) => b.waited_ns - a.waited_ns);
    return sheet(
        [
            {
                head: "waited",
                value: (n) => n.waited_ns,
                show: (n) =>
                    timeLink(
                        n.longest_begin_ns,
                        n.longest_ns,
                        duration(n.waited_ns),
                        n.longest_rank,
                    ),
            },
            { head: "waited", kind: "bar", value: (n) => n.waited_ns },
            {
                head: "of its time",
                value: (n) => n.waited_ns / n.total_ns,
                show: (n) => pathLink(n.id, percent(n.waited_ns, n.total_ns)),
            },
            {
                head: "function",
                kind: "text",
                value: (n) => n.function,
                show: (n) => functionLink(n.function),
            },
            {
                head: "called in",
                kind: "path",
                value: pathText,
                show: (n) => pathLink(n.id, pathText(n)),
            },
            {
                head: "longest",
                value: (n) => n.longest_ns,
                show: (n) =>
                    timeLink(
                        n.longest_begin_ns,
                        n.longest_ns,
                        duration(n.longest_ns),
                        n.longest_rank,
                    ),
            },
            {
                head: "by rank",
                value: (n) => n.longest_rank,
                show: (n) => rankLink(n.longest_rank),
            },
            {
                head: "for rank",
                value: (n) => n.longest_for_rank,
                show: (n) => rankLink(n.longest_for_rank),
            },
            {
                head: "in window",
                value: (n) => n.longest_window,
                show: (n) => windowLink(n.longest_window),
            },
        ],
        rows,
        { caption: "Where ranks waited, by call path" },
    );
}

function kindSheet() {
    return sheet(
        [
            { head: "kind", kind: "text", value: (w) => w.kind },
            {
                head: "function",
                kind: "text",
                value: (w) => w.function,
                show: (w) => functionLink(w.function),
            },
            {
                head: "waits",
                value: (w) => w.waits,
                show: (w) => findLink(w.function, amount(w.waits)),
            },
            {
                head: "total",
                value: (w) => w.total_ns,
                show: (w) =>
                    timeLink(w.longest_begin_ns, w.longest_ns, duration(w.total_ns), w.rank),
            },
            { head: "total", kind: "bar", value: (w) => w.total_ns },
            {
                head: "longest",
                value: (w) => w.longest_ns,
                show: (w) =>
                    timeLink(w.longest_begin_ns, w.longest_ns, duration(w.longest_ns), w.rank),
            },
            { head: "by rank", value: (w) => w.rank, show: (w) => rankLink(w.rank) },
            { head: "for rank", value: (w) => w.for_rank, show: (w) => rankLink(w.for_rank) },
            {
                head: "in window",
                value: (w) => w.longest_window,
                show: (w) => windowLink(w.longest_window),
            },
        ],
        [...report.waits].sort((a, b) => b.total_ns - a.total_ns),
        {
            caption:
                "Kinds of waits; late sender: before the message was sent; late receiver: in MPI_Ssend before the receive was posted; collective: before the last rank came",
        },
    );
}

function showWaits(section) {
    if (!hasWindows) {
        section.append(note("Without windows the waits of ranks are unknown."));
        return;
    }
    if (!report.waits) {
        section.append(
            note(
                report.waits_why_not !== null
                    ? `The waits of ranks are unknown: ${report.waits_why_not}.`
                    : "No MPI call was recorded.",
            ),
        );
        return;
    }
    if (report.waits.length === 0) {
        section.append(
            note("No rank waited for another one, as far as both sides are in windows."),
        );
        return;
    }
    section.append(
        element("h3", {}, "Who came late"),
        lateSheet(),
        element("h3", {}, "Who waited"),
        waitingSheet(),
        kindSheet(),
    );
    const left = report.unmatched_sends + report.unmatched_receives,
        unknown = [
            left &&
                `${amount(report.unmatched_sends)} sends and ${amount(report.unmatched_receives)} receives`,
            report.unmatched_collectives &&
                `${amount(report.unmatched_collectives)} collective calls`,
        ].filter(Boolean);
    if (unknown.length)
        section.append(
            note(
                `Nobody knows the other side of ${unknown.join(" and ")}: regtrace report has the reasons.`,
            ),
        );
}
