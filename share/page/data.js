/* SPDX-License-Identifier: BSD-3-Clause
 * Holds the run: the members that regtrace-report(1) describes, and what follows from them. Times
 * are ns since the run's origin. */
const data = JSON.parse(document.getElementById("report").textContent);
const report = data.report,
    efficiency = data.efficiency;
const ranks = report.ranks.filter((r) => r.error === undefined);
const drawn = typeof d3 !== "undefined"; /* without it there are tables alone */

function sum(rows, of) {
    return rows.reduce((n, row) => n + (of(row) || 0), 0);
}

function most(rows, of) {
    return rows.reduce((best, row) => (best === null || of(row) > of(best) ? row : best), null);
}

function baseName(path) {
    return path.slice(path.lastIndexOf("/") + 1);
}

function bytesText(bytes) {
    let unit = 0;
    for (; bytes >= 10000 && unit < 5; unit++) bytes /= 1024;
    return `${unit ? bytes.toFixed(1) : amount(Math.round(bytes))} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}

/* --- call paths ------------------------------------------------------------------------------- */

function placeText(place) {
    const at =
        place.caller ||
        (place.image
            ? `${baseName(place.image)}+${place.return_offset}`
            : place.return_offset || "(unknown)");
    return (
        (place.inlined ? `${place.inlined} inlined in ` : "") +
        at +
        (place.line
            ? `, ${baseName(place.line)}`
            : place.caller && place.image
              ? ` in ${baseName(place.image)}`
              : "")
    );
}

/* Nodes of the call tree by number. A leaf is an MPI function, with the figures of its calls; the
 * others have the sums of what they call. */
const nodes = report.call_tree.map((row, id) => ({
    ...row,
    id,
    is_mpi: "function" in row,
    text: "function" in row ? row.function || "?" : placeText(row),
    children: [],
}));
const roots = [];
const SUMS = ["calls", "bytes", "total_ns", "waited_ns"];

for (const node of nodes) {
    if (!node.is_mpi)
        SUMS.forEach((name) => {
            node[name] = 0;
        });
    (node.parent === null ? roots : nodes[node.parent].children).push(node);
}
for (const node of [...nodes].reverse())
    if (node.parent !== null)
        SUMS.forEach((name) => {
            nodes[node.parent][name] += node[name];
        });

const leaves = nodes.filter((n) => n.is_mpi);

/* Returns the nodes from main to this one, without those that start programs. */
function nodesTo(node) {
    const up = [];
    for (let n = node; n; n = n.parent === null ? null : nodes[n.parent])
        if (!n.starts_program) up.unshift(n);
    return up;
}

/* Returns the places from main to the call of an MPI function: "main, a.c:9 > work, a.c:5". */
function pathText(node) {
    return (
        nodesTo(node)
            .filter((n) => !n.is_mpi)
            .map((n) => n.text)
            .join(" > ") || "(unknown)"
    );
}

const starts = new Set(
    nodes.filter((n) => n.starts_program).map((n) => `${n.return_offset} ${n.image}`),
);

/* Returns the call path of a row of late calls, whose node is unknown if its call is outside
 * windows. */
function latePathText(row) {
    return row.node !== null
        ? pathText(nodes[row.node])
        : row.call_path
              .filter((p) => !starts.has(`${p.return_offset} ${p.image}`))
              .map(placeText)
              .join(" > ") || "(unknown)";
}

function isSetup(name) {
    return /^MPI_(Init|Init_thread|Finalize)$/.test(name);
}

/* --- windows ---------------------------------------------------------------------------------- */

/* Without windows, as in a profile or a counting run, nobody knows waits and messages. */
const hasWindows = report.windows === null || report.windows.length > 0;

/* Windows by ordinal: what all ranks have of it, with the efficiencies. null: too many. */
const windows =
    report.windows &&
    (() => {
        const found = new Map(),
            factors = new Map((efficiency.windows || []).map((e) => [e.ordinal, e])),
            spreads = new Map(report.windows_over_ranks.map((u) => [u.ordinal, u]));
        for (const row of report.windows) {
            if (!found.has(row.ordinal))
                found.set(row.ordinal, {
                    ordinal: row.ordinal,
                    rows: [],
                    from: Infinity,
                    to: -Infinity,
                    mpi_ns: 0,
                    length_ns: 0,
                    efficiency: factors.get(row.ordinal),
                    spread: spreads.get(row.ordinal),
                });
            const w = found.get(row.ordinal);
            w.rows.push(row);
            w.from = Math.min(w.from, row.start_ns);
            w.to = Math.max(w.to, row.stop_ns === null ? row.start_ns : row.stop_ns);
            w.mpi_ns += row.mpi_ns;
            w.length_ns += row.stop_ns === null ? 0 : row.stop_ns - row.start_ns;
        }
        return [...found.values()].sort((a, b) => a.ordinal - b.ordinal);
    })();
