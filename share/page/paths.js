/* SPDX-License-Identifier: BSD-3-Clause
 * Time in MPI by call path: the flame graph or, without d3, the tree as a list; the chosen path;
 * a table of all. */
const METRICS = [
    { name: "total_ns", title: "time in MPI", text: duration },
    { name: "waited_ns", title: "waiting for other ranks", text: duration },
    { name: "bytes", title: "bytes", text: bytesText },
    { name: "calls", title: "calls", text: amount },
];
/* The graph (flame.js) of the call tree, without what starts programs. */
const paths = {
    metric: METRICS[0],
    setup: false,
    chosen: null,
    place: null,
    fragment: "path",
    part: "paths",
    choose: choosePath,
    roots: () => withoutStarts(roots),
    value: (n) => (n.is_mpi && (paths.setup || !isSetup(n.function)) ? n[paths.metric.name] : 0),
    words: (value) => `${paths.metric.text(value)} ${paths.metric.title}`,
    tip: (n) => [`${counted(n.calls, "call")}, waited ${duration(n.waited_ns)}`],
    /* MPI functions are the redder the more of their time is waiting. */
    colour: (n) =>
        n.is_mpi
            ? d3.interpolateOrRd(0.22 + 0.5 * Math.min(1, n.waited_ns / (n.total_ns || 1)))
            : nameColour(n.caller || n.text),
};

/* Replaces what starts programs by what it calls. */
function withoutStarts(list) {
    return list.flatMap((n) => (n.starts_program ? withoutStarts(n.children) : [n]));
}

function sites() {
    const all = sum(leaves, (n) => n.total_ns);
    return sheet(
        [
            {
                head: "function",
                kind: "text",
                value: (n) => n.function,
                show: (n) => functionLink(n.function),
            },
            {
                head: "calls",
                value: (n) => n.calls,
                show: (n) => findLink(n.function, amount(n.calls)),
            },
            {
                head: "time",
                value: (n) => n.total_ns,
                show: (n) => pathLink(n.id, duration(n.total_ns)),
            },
            {
                head: "share",
                value: (n) => n.total_ns,
                show: (n) => pathLink(n.id, percent(n.total_ns, all)),
            },
            { head: "time", kind: "bar", value: (n) => n.total_ns },
            {
                head: "waited",
                value: (n) => n.waited_ns,
                show: (n) =>
                    n.waited_ns > 0
                        ? timeLink(
                              n.longest_begin_ns,
                              n.longest_ns,
                              duration(n.waited_ns),
                              n.longest_rank,
                          )
                        : "-",
            },
            {
                head: "bytes",
                value: (n) => n.bytes,
                show: (n) => pathLink(n.id, bytesText(n.bytes)),
            },
            {
                head: "called in",
                kind: "path",
                value: pathText,
                show: (n) => pathLink(n.id, pathText(n)),
            },
        ],
        [...leaves].sort((a, b) => b.total_ns - a.total_ns),
        { caption: "MPI calls by call path, all ranks together" },
    );
}

/* The figures of a node, with links to where they come from. */
function nodeFigures(node) {
    const causes = late.filter((r) => r.node !== null && nodesTo(nodes[r.node]).includes(node)),
        site = node.is_mpi ? nodesTo(node).slice(-2, -1)[0] : node,
        all = sum(roots, (n) => n.total_ns);
    const facts = [
        ["time in MPI", [`${duration(node.total_ns)}, ${percent(node.total_ns, all)} of all`]],
        ["calls", [node.is_mpi ? findLink(node.function, amount(node.calls)) : amount(node.calls)]],
        ["bytes", [bytesText(node.bytes)]],
        [
            "waited for others",
            [
                hasWindows ? duration(node.waited_ns) : "unknown",
                ...(node.longest_ns > 0
                    ? [
                          ", the longest ",
                          timeLink(
                              node.longest_begin_ns,
                              node.longest_ns,
                              duration(node.longest_ns),
                              node.longest_rank,
                          ),
                          " by rank ",
                          rankLink(node.longest_rank),
                          " for rank ",
                          rankLink(node.longest_for_rank),
                      ]
                    : []),
            ],
        ],
    ];
    if (causes.length)
        facts.push([
            "others waited for it",
            [link(`late-${causes[0].number}`, duration(sum(causes, (r) => r.cost_ns)))],
        ]);
    if (site && (site.line || site.image))
        facts.push(
            ["source", [site.line || "unknown"]],
            ["image", [`${site.image || "unknown"}, return address ${site.return_offset}`]],
        );
    return element(
        "dl",
        { class: "figures" },
        ...facts.flatMap(([a, b]) => [element("dt", {}, a), element("dd", {}, ...b)]),
    );
}

function showChosen() {
    const place = document.getElementById("path");
    if (paths.chosen === null) {
        place.replaceChildren(
            note(
                drawn
                    ? "A click on a box, or the arrows, show a call path."
                    : "A click on a name shows a call path.",
            ),
        );
        return;
    }
    place.replaceChildren(crumbs(paths, nodesTo(paths.chosen)), nodeFigures(paths.chosen));
}

/* Chooses a node of the call tree; null: none. */
function choosePath(id) {
    paths.chosen = id === null ? null : nodes[id] || null;
    if (paths.chosen && nodesTo(paths.chosen).some((n) => n.is_mpi && isSetup(n.function)))
        paths.setup = document.getElementById("setup").checked = true;
    showChosen();
    drawGraph(paths);
}

function showPaths(section) {
    if (leaves.length === 0) {
        section.append(note("No MPI call was recorded in windows."));
        return;
    }
    paths.place = element("div", { id: "flame" });
    const metric = element(
        "select",
        {
            id: "metric",
            onchange: () => {
                paths.metric = METRICS[metric.selectedIndex];
                drawGraph(paths);
            },
        },
        ...METRICS.map((m) => element("option", {}, m.title)),
    );
    const setup = element("input", {
        type: "checkbox",
        id: "setup",
        onchange: () => {
            paths.setup = setup.checked;
            drawGraph(paths);
        },
    });
    const swatch = (colour, text) => [
        element("span", { class: "swatch", style: `background:${colour}` }),
        text + " ",
    ];
    section.append(
        element(
            "div",
            { class: "tools" },
            element("label", {}, "Width: ", metric),
            element("label", {}, setup, " with MPI_Init and MPI_Finalize"),
            drawn ? element("button", { onclick: () => goTo(paths, { id: -1 }) }, "All") : "",
        ),
        paths.place,
        drawn
            ? note(
                  ...swatch(d3.interpolateOrRd(0.22), "MPI function that does not wait"),
                  ...swatch(d3.interpolateOrRd(0.72), "that waits all of its time for other ranks"),
                  ...swatch("#9cc3de", "function of the program, and the line of its call"),
              )
            : "",
        element("div", { id: "path", "aria-live": "polite" }),
        sites(),
    );
    if (!nodes.some((n) => !n.is_mpi && n.parent !== null))
        section.append(
            note("The run recorded call sites alone: regtrace run -callpath 16 records the paths."),
        );
    showChosen();
}
