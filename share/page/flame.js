/* SPDX-License-Identifier: BSD-3-Clause
 * The flame graph, by d3: callers are above the functions that they call, and the width is time or
 * another metric. MPI functions are the redder the more of their time is waiting. */
const LEVEL = 21;

/* Returns the laid out tree: its root stands for all call paths. */
function flameTree() {
    const root = d3.hierarchy({ id: -1, text: "all call paths", children: withoutStarts(roots) }, (n) => n.children).sum((n) => (n.id < 0 ? 0 : metricOf(n))).sort((a, b) => b.value - a.value || a.data.id - b.data.id);
    return d3.partition()(root);
}

/* A steady colour for a function of the program. */
function flameColour(node) {
    if (node.id < 0)
        return "#c9ced6";
    if (node.is_mpi)
        return d3.interpolateOrRd(0.22 + 0.5 * Math.min(1, node.waited_ns / (node.total_ns || 1)));
    let hash = 0;
    for (const letter of node.caller || node.text)
        hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
    return d3.hsl(200 + hash % 40, 0.45, 0.7 + (hash >> 8) % 12 / 100).toString();
}

function fit(text, width) {
    const letters = Math.floor((width - 8) / 6.3);
    return letters < 3 ? "" : text.length <= letters ? text : text.slice(0, letters - 1) + "\u2026";
}

function flameKeys(event, shown) {
    const at = shown.find((d) => paths.chosen !== null && d.data.id === paths.chosen.id) || shown[0], beside = at.parent ? at.parent.children : [at], place = beside.indexOf(at);
    const next = { ArrowUp: at.parent, ArrowDown: at.children && at.children[0], ArrowLeft: beside[place - 1], ArrowRight: beside[place + 1] }[event.key];
    if (event.key === "Escape")
        choosePath(null);
    else if (next && next.value > 0)
        choosePath(next.data.id < 0 ? null : next.data.id);
    if (event.key.startsWith("Arrow") || event.key === "Escape") {
        event.preventDefault();
        document.querySelector("#flame svg").focus();
    }
}

function drawFlame(picture) {
    const root = flameTree(), width = Math.max(200, picture.clientWidth || 900), all = root.descendants();
    if (root.value === 0) {
        picture.replaceChildren(note("Nothing of this is in the recorded calls."));
        return;
    }
    const focus = all.find((d) => paths.chosen !== null && d.data.id === paths.chosen.id && d.value > 0) || root;
    const scale = d3.scaleLinear([focus.x0, focus.x1], [0, width]), above = new Set(focus.ancestors());
    const left = (d) => Math.max(0, scale(d.x0)), wide = (d) => Math.min(width, scale(d.x1)) - left(d);
    const shown = all.filter((d) => d.value > 0 && (above.has(d) || wide(d) > 0.7));
    const svg = d3.create("svg").attr("class", "flame").attr("width", width).attr("height", (d3.max(shown, (d) => d.depth) + 1) * LEVEL).attr("tabindex", 0)
        .attr("role", "application").attr("aria-label", "Flame graph of call paths: arrows go to callers, called functions and neighbours; Escape shows all");
    const box = svg.selectAll("g").data(shown).join("g").attr("class", (d) => (d === focus && paths.chosen ? "chosen" : null)).attr("transform", (d) => `translate(${left(d)},${d.depth * LEVEL})`);
    box.append("rect").attr("width", wide).attr("height", LEVEL).attr("fill", (d) => flameColour(d.data)).attr("opacity", (d) => (above.has(d) && d !== focus ? 0.55 : 1));
    box.append("text").attr("x", 4).attr("y", LEVEL - 6).text((d) => fit(d.data.text, wide(d)));
    svg.node().addEventListener("keydown", (event) => flameKeys(event, shown));
    box.nodes().forEach((g, i) => {
        const d = shown[i];
        g.addEventListener("click", () => {
            location.hash = d.data.id < 0 ? "#paths" : `#path-${d.data.id}`;
            if (d.data.id < 0)
                choosePath(null);
        });
        g.addEventListener("pointermove", (event) => showTip(event, d.data.text, `${paths.metric.text(d.value)} ${paths.metric.title}, ${percent(d.value, root.value)}`, d.data.id < 0 ? "" : `${counted(d.data.calls, "call")}, waited ${duration(d.data.waited_ns)}`));
        g.addEventListener("pointerleave", hideTip);
    });
    picture.replaceChildren(svg.node(), line("p", element("span", { class: "swatch", style: `background:${d3.interpolateOrRd(0.22)}` }), "MPI function that does not wait ", element("span", { class: "swatch", style: `background:${d3.interpolateOrRd(0.72)}` }), "that waits all of its time for other ranks ",
        element("span", { class: "swatch", style: "background:#9cc3de" }), "function of the program, and the line of its call"));
    picture.lastChild.className = "note";
}
