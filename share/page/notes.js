/* SPDX-License-Identifier: BSD-3-Clause
 * How the run was recorded: chains, what was lost, what recording cost, messages of the library;
 * and the licence of d3. */
function estimateSheet(e) {
    const names = [
            ["instructions", amount],
            ["time_ns", duration],
            ["mpi_ns", duration],
            ["mpi_calls", (n) => amount(Math.round(n))],
        ],
        text = (show, v) => (v === null ? "-" : show(v));
    return sheet(
        [
            {
                head: "quantity",
                kind: "text",
                value: ([name]) => name.replace("_ns", " time").replaceAll("_", " "),
            },
            {
                head: "estimate",
                value: ([name]) => e[name].estimate,
                show: ([name, show]) => text(show, e[name].estimate),
            },
            {
                head: "total",
                value: ([name]) => e[name].total,
                show: ([name, show]) => text(show, e[name].total),
            },
        ],
        names,
        {
            caption: `The whole run, estimated from ${counted(e.windows, "window")} (${e.methods.join(", ")})`,
        },
    );
}

function overheadSheet() {
    return sheet(
        [
            { head: "rank", value: (r) => r.rank, show: (r) => rankLink(r.rank) },
            {
                head: "events",
                value: (r) => r.overhead.events_ns,
                show: (r) => rankLink(r.rank, duration(r.overhead.events_ns)),
            },
            {
                head: "slow path",
                value: (r) => r.overhead.slow_path_ns,
                show: (r) =>
                    r.overhead.slow_path_ns === null
                        ? "-"
                        : rankLink(r.rank, duration(r.overhead.slow_path_ns)),
            },
            {
                head: "waiting",
                value: (r) => r.overhead.wait_ns,
                show: (r) => rankLink(r.rank, duration(r.overhead.wait_ns)),
            },
            {
                head: "lost",
                value: (r) => r.lost,
                show: (r) => rankLink(r.rank, (r.lost_unknown ? "at least " : "") + amount(r.lost)),
            },
            {
                head: "of which",
                kind: "text",
                value: (r) =>
                    Object.entries(r.lost_by_kind)
                        .filter(([, n]) => n > 0)
                        .map(([kind, n]) => `${amount(n)} ${kind}`)
                        .join(", ") || "-",
            },
        ],
        ranks,
        {
            shown: 8,
            caption:
                "Own overhead (events: estimated by the cost of one; the rest is measured) and losses",
        },
    );
}

function listOf(title, texts) {
    return texts.length
        ? [element("h3", {}, title), element("ul", {}, ...texts.map((t) => element("li", {}, t)))]
        : [];
}

function licence() {
    const text = document.getElementById("licence");
    return text
        ? element(
              "details",
              {},
              element("summary", {}, `Drawn with d3 ${d3.version} (d3js.org), whose licence is`),
              element("pre", {}, text.textContent),
          )
        : note(
              "Without d3 when regtrace was built: tables stand in place of the flame graph, the matrix and the chart of windows.",
          );
}

function showNotes(section) {
    section.append(
        overheadSheet(),
        ...(report.estimate ? [estimateSheet(report.estimate)] : []),
        ...listOf("Control", report.chains),
        ...listOf(
            "Alarms that never fired",
            report.never_fired.map((n) => `rank ${n.rank}: ${n.text}`),
        ),
        ...listOf("Ranks without a file", report.missing.length ? [report.missing.join(", ")] : []),
        ...listOf(
            "Files that could not be read",
            report.ranks.filter((r) => r.error !== undefined).map((r) => `${r.file}: ${r.error}`),
        ),
        ...listOf("Names", (data.lacks || "").split("\n").filter(Boolean)),
        ...listOf("Messages of the library", report.log),
        note(`Made by regtrace page ${data.version} of ${report.dir}.`),
        licence(),
    );
}
