/* SPDX-License-Identifier: BSD-3-Clause
 * The first part: figures of the whole run, and what the reader should look at first. */
/* Without MPI_Init and MPI_Finalize, which are most of a short run. */
const setupNs = sum(
    report.mpi.filter((f) => isSetup(f.name)),
    (f) => f.time_ns,
);
const inWindows = sum(ranks, (r) => r.window_ns) - setupNs,
    inMpi = sum(ranks, (r) => r.mpi_ns) - setupNs;
const late = (report.late_calls || []).map((row, number) => ({ ...row, number }));
const waitedInAll = sum(report.waits || [], (w) => w.total_ns);

function shareText(share) {
    return share === null || share === undefined ? "unknown" : `${(100 * share).toFixed(1)} %`;
}

function card(fragment, figure, text) {
    return element(
        "a",
        { href: "#" + fragment },
        element("b", {}, figure),
        element("span", {}, text),
    );
}

function cards() {
    const messages = report.messages || [],
        withoutSetup = setupNs > 0 ? ", without MPI_Init and MPI_Finalize" : "",
        all = [
            card(
                "efficiency",
                shareText(efficiency.parallel_efficiency),
                efficiency.why_not === null
                    ? "parallel efficiency"
                    : `parallel efficiency: ${efficiency.why_not}`,
            ),
            hasWindows
                ? card(
                      "functions",
                      percent(inMpi, inWindows),
                      `of the time in windows is in MPI: ${duration(inMpi)}${withoutSetup}`,
                  )
                : card("functions", duration(inMpi), `in MPI, all ranks together${withoutSetup}`),
            card(
                "waits",
                report.waits && hasWindows ? duration(waitedInAll) : "unknown",
                "ranks waited for others, all together",
            ),
        ];
    if (late.length)
        all.push(
            card(
                "late-0",
                `rank ${late[0].rank}`,
                `made others wait most in one place: ${duration(late[0].cost_ns)}`,
            ),
        );
    if (report.messages && hasWindows)
        all.push(
            card(
                "messages",
                amount(sum(messages, (m) => m.messages)),
                `messages of ${bytesText(sum(messages, (m) => m.bytes))}`,
            ),
        );
    all.push(
        card(
            "windows",
            windows ? amount(windows.length) : "many",
            windows && windows.length === 1 ? "window" : "windows of the recording",
        ),
    );
    all.push(
        card(
            "notes",
            amount(report.events),
            report.lost
                ? `events recorded, ${amount(report.lost)} lost`
                : "events recorded, none lost",
        ),
    );
    return element("div", { class: "cards" }, ...all);
}

/* Says who came late, where, and what it cost. */
function lateFinding(row) {
    return line(
        "li",
        element("b", {}, "Rank ", rankLink(row.rank), ` came late to ${row.function}`),
        `: in ${counted(row.waits, "case")} others waited `,
        link(`late-${row.number}`, duration(row.cost_ns)),
        ` for it (${row.kind}), the longest time `,
        timeLink(row.longest_begin_ns, row.longest_ns, duration(row.longest_ns), row.longest_rank),
        " by rank ",
        rankLink(row.longest_rank),
        element("br"),
        element("span", { class: "path" }, "called in ", pathLink(row.node, latePathText(row))),
    );
}

function balanceFinding() {
    if (
        efficiency.most_useful_rank === null ||
        efficiency.processes < 2 ||
        efficiency.load_balance > 0.95
    )
        return null;
    return line(
        "li",
        element("b", {}, "Work is not balanced"),
        ": rank ",
        rankLink(efficiency.most_useful_rank),
        ` works ${duration(efficiency.most_useful_ns)} outside MPI, `,
        link("ranks", `${(1 / efficiency.load_balance).toFixed(2)} times the mean`),
        "; load balance is ",
        link("efficiency", shareText(efficiency.load_balance)),
    );
}

function windowFinding() {
    const some = (windows || []).filter(
        (w) =>
            w.efficiency && w.efficiency.parallel_efficiency !== null && w.efficiency.length_ns > 0,
    );
    const lost = (w) => w.efficiency.length_ns * (1 - w.efficiency.parallel_efficiency),
        worst = most(some, lost);
    if (!worst || some.length < 2) return null;
    return line(
        "li",
        element("b", {}, "Window ", windowLink(worst.ordinal), " loses most"),
        `: it lasts `,
        timeLink(worst.from, worst.to - worst.from, duration(worst.to - worst.from)),
        ` with a parallel efficiency of ${shareText(worst.efficiency.parallel_efficiency)}`,
    );
}

function siteFinding() {
    const top = most(
        leaves.filter((n) => !isSetup(n.function)),
        (n) => n.total_ns,
    );
    return (
        top &&
        line(
            "li",
            element("b", {}, functionLink(top.function), " takes most of the time in MPI"),
            " (without start and end): ",
            pathLink(top.id, duration(top.total_ns)),
            ` in ${counted(top.calls, "call")}`,
            report.waits && hasWindows && ", of which ",
            report.waits &&
                hasWindows &&
                (top.waited_ns > 0
                    ? timeLink(
                          top.longest_begin_ns,
                          top.longest_ns,
                          `${duration(top.waited_ns)} is waiting`,
                          top.longest_rank,
                      )
                    : "none is known to be waiting"),
            element("br"),
            element("span", { class: "path" }, "called in ", pathLink(top.id, pathText(top))),
        )
    );
}

function showSummary(section) {
    const findings = [
        ...late
            .slice(0, 3)
            .filter((row, i) => i === 0 || row.cost_ns >= 0.05 * waitedInAll)
            .map(lateFinding),
        balanceFinding(),
        windowFinding(),
        siteFinding(),
        report.lost > 0 &&
            line(
                "li",
                element("b", {}, link("notes", counted(report.lost, "event")), " were lost"),
                ": times and calls are too low",
            ),
    ].filter(Boolean);
    section.append(cards(), element("ol", { class: "findings" }, ...findings));
}
