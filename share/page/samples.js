/* SPDX-License-Identifier: BSD-3-Clause
 * Samples (REGTRACE_SAMPLE): the flame graph of functions, and tables of functions and lines. */
const stacks = data.samples.tree.map((row, id) => ({
    ...row,
    id,
    within: row.self,
    text: row.function || `(in ${row.image ? baseName(row.image) : "no image"})`,
    children: [],
}));
const stackRoots = stacks.filter((n) => n.parent === null);

for (const node of stacks) if (node.parent !== null) stacks[node.parent].children.push(node);
for (const node of [...stacks].reverse())
    if (node.parent !== null) stacks[node.parent].within += node.within;

/* Returns a number of periods in the unit of the run. */
function periodsText(periods) {
    const { period, unit } = data.samples;
    return period === null
        ? counted(periods, "sample")
        : unit.startsWith("ns")
          ? duration(periods * period) + unit.slice(2)
          : `${amount(periods * period)} ${unit}`;
}

/* The graph (flame.js) of the stacks. */
const hot = {
    chosen: null,
    place: null,
    fragment: "stack",
    part: "samples",
    choose: chooseStack,
    roots: () => stackRoots,
    value: (n) => n.self,
    words: periodsText,
    tip: (n) => [`in itself ${periodsText(n.self)}`],
    colour: (n) => nameColour(n.text),
};

function stackTo(node) {
    return node.parent === null ? [node] : [...stackTo(stacks[node.parent]), node];
}

function chooseStack(id) {
    hot.chosen = id === null ? null : stacks[id] || null;
    const n = hot.chosen,
        facts = n
            ? [
                  [
                      "with what it calls",
                      `${periodsText(n.within)}, ${percent(n.within, data.samples.periods)}`,
                  ],
                  ["in itself", `${periodsText(n.self)}, ${percent(n.self, data.samples.periods)}`],
                  ["image", n.image || "unknown"],
              ]
            : [];
    document
        .getElementById("stack")
        .replaceChildren(
            ...(n
                ? [
                      crumbs(hot, stackTo(n)),
                      element(
                          "dl",
                          { class: "figures" },
                          ...facts.flatMap(([a, b]) => [
                              element("dt", {}, a),
                              element("dd", {}, b),
                          ]),
                      ),
                  ]
                : []),
        );
    drawGraph(hot);
}

/* A link to the stack on which the function has most samples of its own. */
function stackLink(name, image, text) {
    const top = most(
        stacks.filter((n) => n.function === name && n.image === image),
        (n) => n.self,
    );
    return top ? link(`stack-${top.id}`, text) : text;
}

function hotSheet() {
    const all = data.samples.periods,
        within = data.samples.functions.some((f) => f.with_callees !== null);
    return sheet(
        [
            {
                head: "self",
                value: (f) => f.self,
                show: (f) => stackLink(f.function, f.image, percent(f.self, all)),
            },
            { head: "self", kind: "bar", value: (f) => f.self },
            ...(within
                ? [
                      {
                          head: "with %",
                          value: (f) => f.with_callees,
                          show: (f) => stackLink(f.function, f.image, percent(f.with_callees, all)),
                      },
                  ]
                : []),
            {
                head: "function",
                kind: "path",
                value: (f) => f.function || "(unknown)",
                show: (f) => stackLink(f.function, f.image, f.function || "(unknown)"),
            },
            { head: "image", kind: "text", value: (f) => baseName(f.image || "") },
        ],
        data.samples.functions,
        { caption: "Samples by function; with: in it and in what it calls" },
    );
}

function lineSheet() {
    return sheet(
        [
            {
                head: "self",
                value: (l) => l.self,
                show: (l) => link("samples", percent(l.self, data.samples.periods)),
            },
            { head: "self", kind: "bar", value: (l) => l.self },
            { head: "line", kind: "path", value: (l) => l.line || "(unknown)" },
            { head: "image", kind: "text", value: (l) => baseName(l.image || "") },
        ],
        data.samples.lines,
        { caption: "Samples by source line" },
    );
}

function showSamples(section) {
    if (data.samples.samples === 0) {
        section.append(note("The run has no samples: regtrace run -sample cpu:10ms takes them."));
        return;
    }
    hot.place = element("div", { id: "hot" });
    section.append(
        note(
            `${counted(data.samples.samples, "sample")} (${data.samples.sample}), all ranks together.`,
        ),
        hot.place,
        element("div", { id: "stack", "aria-live": "polite" }),
        hotSheet(),
        lineSheet(),
    );
}
