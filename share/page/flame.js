/* SPDX-License-Identifier: BSD-3-Clause
 * Flame graphs, by d3: callers are above the functions that they call, and the width is time or
 * another metric. Without d3: nested lists.
 *
 * A graph is an object: place (the element that holds the picture), roots(), value(node): its own
 * value without what it calls, words(value), colour(node), tip(node): an array of lines, chosen (a
 * node or null), choose(id or null), fragment: of links to a node, part: of the page. A node has an
 * id, text and children. */
const LEVEL = 21;

/* A steady colour for a function, by its name. */
function nameColour(name) {
    let hash = 0;
    for (const letter of name) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
    return d3.hsl(200 + (hash % 40), 0.45, 0.7 + ((hash >> 8) % 12) / 100).toString();
}

function fit(text, width) {
    const letters = Math.floor((width - 8) / 6.3);
    return letters < 3 ? "" : text.length <= letters ? text : text.slice(0, letters - 1) + "\u2026";
}

/* Goes to a node, or with the root of the picture to all of it. */
function goTo(graph, node) {
    location.hash = node.id < 0 ? `#${graph.part}` : `#${graph.fragment}-${node.id}`;
    if (node.id < 0) graph.choose(null);
}

function flameKeys(event, graph, shown) {
    const at =
            shown.find((d) => graph.chosen !== null && d.data.id === graph.chosen.id) || shown[0],
        beside = at.parent ? at.parent.children : [at],
        place = beside.indexOf(at);
    const next = {
        ArrowUp: at.parent,
        ArrowDown: at.children && at.children[0],
        ArrowLeft: beside[place - 1],
        ArrowRight: beside[place + 1],
        Escape: shown[0],
    }[event.key];
    if (!event.key.startsWith("Arrow") && event.key !== "Escape") return;
    event.preventDefault();
    if (next && next.value > 0) graph.choose(next.data.id < 0 ? null : next.data.id);
    graph.place.firstChild.focus();
}

/* Returns the laid out tree: its root stands for all call paths. */
function flameTree(graph) {
    const root = d3
        .hierarchy({ id: -1, text: "all call paths", children: graph.roots() }, (n) => n.children)
        .sum((n) => (n.id < 0 ? 0 : graph.value(n)));
    return d3.partition()(root.sort((a, b) => b.value - a.value || a.data.id - b.data.id));
}

function drawFlame(graph) {
    const root = flameTree(graph),
        width = Math.max(200, graph.place.clientWidth || 900),
        all = root.descendants();
    if (root.value === 0) {
        graph.place.replaceChildren(note("Nothing of this is in the recorded calls."));
        return;
    }
    const focus =
        all.find((d) => graph.chosen !== null && d.data.id === graph.chosen.id && d.value > 0) ||
        root;
    const scale = d3.scaleLinear([focus.x0, focus.x1], [0, width]),
        above = new Set(focus.ancestors());
    const left = (d) => Math.max(0, scale(d.x0)),
        wide = (d) => Math.min(width, scale(d.x1)) - left(d);
    const shown = all.filter((d) => d.value > 0 && (above.has(d) || wide(d) > 0.7));
    const svg = d3
        .create("svg")
        .attr("class", "flame")
        .attr("width", width)
        .attr("height", (d3.max(shown, (d) => d.depth) + 1) * LEVEL)
        .attr("tabindex", 0)
        .attr("role", "application")
        .attr(
            "aria-label",
            "Flame graph of call paths: arrows go to callers, called functions and neighbours; Escape shows all",
        );
    const box = svg
        .selectAll("g")
        .data(shown)
        .join("g")
        .attr("class", (d) => (d === focus && graph.chosen ? "chosen" : null))
        .attr("transform", (d) => `translate(${left(d)},${d.depth * LEVEL})`);
    box.append("rect")
        .attr("width", wide)
        .attr("height", LEVEL)
        .attr("fill", (d) => (d.data.id < 0 ? "#c9ced6" : graph.colour(d.data)))
        .attr("opacity", (d) => (above.has(d) && d !== focus ? 0.55 : 1));
    box.append("text")
        .attr("x", 4)
        .attr("y", LEVEL - 6)
        .text((d) => fit(d.data.text, wide(d)));
    svg.node().addEventListener("keydown", (event) => flameKeys(event, graph, shown));
    box.nodes().forEach((g, i) => {
        const d = shown[i];
        g.addEventListener("click", () => goTo(graph, d.data));
        g.addEventListener("pointermove", (event) =>
            showTip(
                event,
                d.data.text,
                `${graph.words(d.value)}, ${percent(d.value, root.value)}`,
                ...(d.data.id < 0 ? [] : graph.tip(d.data)),
            ),
        );
        g.addEventListener("pointerleave", hideTip);
    });
    graph.place.replaceChildren(svg.node());
}

/* --- without d3 ------------------------------------------------------------------------------- */

function branches(graph, list, sums, all) {
    const some = list.filter((n) => sums.get(n) > 0).sort((a, b) => sums.get(b) - sums.get(a));
    return element(
        "ul",
        { class: "branches" },
        ...some.map((n) => {
            const head = [
                link(`${graph.fragment}-${n.id}`, n.text),
                ` ${graph.words(sums.get(n))}, ${percent(sums.get(n), all)}`,
            ];
            return element(
                "li",
                {},
                ...(n.children.length
                    ? [
                          element(
                              "details",
                              { open: "" },
                              element("summary", {}, ...head),
                              branches(graph, n.children, sums, all),
                          ),
                      ]
                    : head),
            );
        }),
    );
}

function drawList(graph) {
    const sums = new Map(),
        add = (n) => {
            const value = graph.value(n) + sum(n.children, add);
            sums.set(n, value);
            return value;
        };
    const all = sum(graph.roots(), add);
    graph.place.replaceChildren(branches(graph, graph.roots(), sums, all));
}

function drawGraph(graph) {
    (drawn ? drawFlame : drawList)(graph);
}

/* Links to the nodes from the outermost one on. */
function crumbs(graph, path) {
    return element(
        "div",
        { class: "crumbs" },
        ...path.flatMap((n, i) => [i ? " > " : "", link(`${graph.fragment}-${n.id}`, n.text)]),
    );
}
