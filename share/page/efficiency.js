/* SPDX-License-Identifier: BSD-3-Clause
 * POP's efficiencies as a tree, with links to the ranks and windows that limit each. */
function factor(name, value, why, ...children) {
    const known = value !== null && value !== undefined;
    const row = element(
        "div",
        { class: "row" },
        element("span", {}, name),
        element("b", {}, known ? link("windows", shareText(value), "by window") : "unknown"),
        element(
            "div",
            { class: "meter" },
            element("i", {
                class: value < 0.8 ? "low" : false,
                style: `width:${known ? Math.max(0, Math.min(1, value)) * 100 : 0}%`,
            }),
        ),
        line("span", ...why),
    );
    return element("li", {}, row, children.length ? element("ul", {}, ...children) : "");
}

/* Names the window in which a factor is lowest; nothing if there is one window alone. */
function lowestWindow(of) {
    const some = (efficiency.windows || []).filter((e) => e[of] !== null);
    const lowest = most(some, (e) => -e[of]);
    return some.length > 1
        ? ["; lowest in window ", windowLink(lowest.ordinal), ` (${shareText(lowest[of])})`]
        : [];
}

function showEfficiency(section) {
    if (efficiency.why_not !== null) {
        section.append(note(`Not known: ${efficiency.why_not}.`));
        return;
    }
    const mostRank = efficiency.most_useful_rank;
    const messages = report.messages || [];
    section.append(
        element(
            "ul",
            { class: "tree" },
            factor(
                "Parallel efficiency",
                efficiency.parallel_efficiency,
                [
                    `${duration(efficiency.useful_ns)} outside MPI on ${counted(efficiency.processes, "process", "processes")} in windows of `,
                    link("windows", duration(efficiency.length_ns)),
                    ...lowestWindow("parallel_efficiency"),
                ],
                factor("Load balance", efficiency.load_balance, [
                    ...(mostRank === null ? [] : ["most work: rank ", rankLink(mostRank)]),
                    ...lowestWindow("load_balance"),
                ]),
                factor(
                    "Communication efficiency",
                    efficiency.communication_efficiency,
                    [
                        "time in MPI: ",
                        link("functions", duration(inMpi)),
                        ...lowestWindow("communication_efficiency"),
                    ],
                    factor("Serialisation", efficiency.serialisation, [
                        "waits for others: ",
                        link("waits", report.waits ? duration(waitedInAll) : "unknown"),
                        ...lowestWindow("serialisation"),
                    ]),
                    factor("Transfer", efficiency.transfer, [
                        "moved: ",
                        link(
                            "messages",
                            report.messages ? bytesText(sum(messages, (m) => m.bytes)) : "unknown",
                        ),
                        ...lowestWindow("transfer"),
                    ]),
                ),
            ),
        ),
        note(
            "Each factor is the product of those below it. Main threads in windows, without MPI_Init and MPI_Finalize; useful time is that outside MPI." +
                (efficiency.dropped ? " Events were dropped: the figures are too low." : "") +
                (efficiency.unfinished_processes
                    ? ` ${counted(efficiency.unfinished_processes, "process", "processes")} that were killed in a window are left out.`
                    : ""),
        ),
    );
}
