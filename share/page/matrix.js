/* SPDX-License-Identifier: BSD-3-Clause
 * Messages from rank to rank: the matrix (by d3), the chosen pair with the call sites of its
 * messages, and a table. */
const matrix = { by: "bytes", chosen: null, draw: () => {} };
const pairs = report.messages || [];

function pairText(pair) {
    return `rank ${pair.from} to rank ${pair.to}`;
}

function pairOf(from, to) {
    return pairs.find((p) => p.from === from && p.to === to) || { from, to, messages: 0, bytes: 0 };
}

function pairSheet() {
    const shown = (p, text) => link(`pair-${p.from}-${p.to}`, text, "call sites");
    return sheet(
        [
            { head: "from", value: (p) => p.from, show: (p) => rankLink(p.from) },
            { head: "to", value: (p) => p.to, show: (p) => rankLink(p.to) },
            {
                head: "messages",
                value: (p) => p.messages,
                show: (p) => shown(p, amount(p.messages)),
            },
            { head: "bytes", value: (p) => p.bytes, show: (p) => shown(p, bytesText(p.bytes)) },
            { head: "bytes", kind: "bar", value: (p) => p.bytes },
            {
                head: "mean",
                value: (p) => p.bytes / p.messages,
                show: (p) => shown(p, bytesText(p.bytes / p.messages)),
            },
        ],
        [...pairs].sort((a, b) => b.bytes - a.bytes),
        { shown: 10, caption: "Messages of which both ends are in windows" },
    );
}

function showPair() {
    const place = document.getElementById("pair"),
        p = matrix.chosen;
    if (!p) {
        place.replaceChildren(
            note(
                drawn
                    ? "A click on a cell, or the arrows, show a pair of ranks."
                    : "A click on a figure of the table shows the call sites of a pair.",
            ),
        );
        return;
    }
    const rows = (report.message_sites || [])
        .filter((s) => s[0] === p.from && s[1] === p.to)
        .map(([, , node, messages, bytes]) => ({
            node: node === null ? null : nodes[node],
            messages,
            bytes,
        }));
    place.replaceChildren(
        line(
            "h3",
            "Rank ",
            rankLink(p.from),
            " to rank ",
            rankLink(p.to),
            `: ${counted(p.messages, "message")}, ${bytesText(p.bytes)}`,
        ),
        report.message_sites === null
            ? note("There are too many pairs and call sites: those of a pair are not in the page.")
            : sheet(
                  [
                      {
                          head: "sent by",
                          kind: "text",
                          value: (s) => (s.node ? s.node.function : "(unknown)"),
                          show: (s) => (s.node ? functionLink(s.node.function) : "(unknown)"),
                      },
                      {
                          head: "messages",
                          value: (s) => s.messages,
                          show: (s) => pathLink(s.node && s.node.id, amount(s.messages)),
                      },
                      {
                          head: "bytes",
                          value: (s) => s.bytes,
                          show: (s) => pathLink(s.node && s.node.id, bytesText(s.bytes)),
                      },
                      {
                          head: "called in",
                          kind: "path",
                          value: (s) => (s.node ? pathText(s.node) : "(unknown)"),
                          show: (s) =>
                              s.node ? pathLink(s.node.id, pathText(s.node)) : "(unknown)",
                      },
                  ],
                  rows.sort((a, b) => b.bytes - a.bytes),
              ),
    );
}

function choosePair(from, to) {
    matrix.chosen = pairOf(from, to);
    showPair();
    matrix.draw();
}

function matrixKeys(event, size) {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
        event.key
    ];
    if (!by) return;
    event.preventDefault();
    const at = matrix.chosen || { from: 0, to: 0 },
        inside = (n) => Math.max(0, Math.min(size - 1, n));
    choosePair(inside(at.from + by[0]), inside(at.to + by[1]));
    document.querySelector("#matrix svg").focus();
}

function legend(colour, least, peak) {
    const text = matrix.by === "bytes" ? bytesText : amount;
    if (peak < 1.01 * least)
        return element("p", { class: "note" }, `All pairs have ${text(least)}.`);
    return element(
        "p",
        { class: "note" },
        `${text(least)} `,
        ...[0, 0.25, 0.5, 0.75, 1].map((s) =>
            element("span", {
                class: "swatch",
                style: `margin-right:1px;background:${colour(least * Math.pow(peak / least, s))}`,
            }),
        ),
        ` ${text(peak)} (logarithmic)`,
    );
}

function drawMatrix(picture) {
    const size = Math.max(report.size || 0, 1 + d3.max(pairs, (p) => Math.max(p.from, p.to))),
        side = Math.max(3, Math.min(34, Math.floor(520 / size))),
        edge = 46,
        top = 34,
        plot = size * side;
    const of = (p) => Math.max(1, p[matrix.by]),
        least = d3.min(pairs, of),
        peak = Math.max(d3.max(pairs, of), least * 1.001);
    const colour = d3.scaleSequential([Math.log(least), Math.log(peak)], (t) =>
            d3.interpolateYlGnBu(0.18 + 0.82 * t),
        ),
        paint = (v) => colour(Math.log(v));
    const svg = d3
        .create("svg")
        .attr("class", "matrix")
        .attr("width", edge + plot + 12)
        .attr("height", top + plot + 6)
        .attr("tabindex", 0)
        .attr("role", "application")
        .attr("aria-label", "Matrix of messages: arrows choose a pair of ranks");
    const at = d3.scaleLinear([-0.5, size - 0.5], [0, plot]),
        marks = at
            .ticks(Math.min(size, 16))
            .filter((t) => Number.isInteger(t) && t >= 0 && t < size);
    svg.append("text")
        .attr("class", "faint")
        .attr("x", edge + plot / 2)
        .attr("y", 11)
        .attr("text-anchor", "middle")
        .text("to rank");
    svg.append("text")
        .attr("class", "faint")
        .attr("transform", `translate(11,${top + plot / 2}) rotate(-90)`)
        .attr("text-anchor", "middle")
        .text("from rank");
    svg.append("g")
        .selectAll("text")
        .data(marks)
        .join("text")
        .attr("class", "faint")
        .attr("x", (t) => edge + at(t))
        .attr("y", top - 6)
        .attr("text-anchor", "middle")
        .text((t) => t);
    svg.append("g")
        .selectAll("text")
        .data(marks)
        .join("text")
        .attr("class", "faint")
        .attr("x", edge - 6)
        .attr("y", (t) => top + at(t) + 4)
        .attr("text-anchor", "end")
        .text((t) => t);
    svg.append("rect")
        .attr("class", "frame")
        .attr("x", edge)
        .attr("y", top)
        .attr("width", plot)
        .attr("height", plot);
    const cells = svg
        .append("g")
        .selectAll("rect")
        .data(pairs)
        .join("rect")
        .attr("class", "cell")
        .attr("x", (p) => edge + p.to * side)
        .attr("y", (p) => top + p.from * side)
        .attr("width", side - (side > 6 ? 1 : 0))
        .attr("height", side - (side > 6 ? 1 : 0))
        .attr("fill", (p) => paint(of(p)));
    cells.nodes().forEach((cell, i) => {
        cell.addEventListener("click", () => {
            location.hash = `#pair-${pairs[i].from}-${pairs[i].to}`;
        });
        cell.addEventListener("pointermove", (event) =>
            showTip(
                event,
                pairText(pairs[i]),
                counted(pairs[i].messages, "message"),
                bytesText(pairs[i].bytes),
            ),
        );
        cell.addEventListener("pointerleave", hideTip);
    });
    if (matrix.chosen)
        svg.append("rect")
            .attr("class", "chosen")
            .attr("x", edge + matrix.chosen.to * side)
            .attr("y", top + matrix.chosen.from * side)
            .attr("width", side)
            .attr("height", side);
    svg.node().addEventListener("keydown", (event) => matrixKeys(event, size));
    picture.replaceChildren(svg.node(), legend(paint, least, peak));
}

function showMessages(section) {
    if (!report.messages || pairs.length === 0) {
        section.append(
            note(
                !hasWindows
                    ? "Without windows messages are unknown."
                    : report.messages
                      ? "No message has both of its ends in windows."
                      : report.waits
                        ? "There are too many pairs of ranks for a page: regtrace report --json has them."
                        : "Messages are unknown.",
            ),
        );
        return;
    }
    const picture = element("div", { id: "matrix" }),
        detail = element(
            "div",
            {},
            element("div", { id: "pair", "aria-live": "polite" }),
            pairSheet(),
        );
    const by = element(
        "select",
        {
            onchange: () => {
                matrix.by = ["bytes", "messages"][by.selectedIndex];
                matrix.draw();
            },
        },
        element("option", {}, "bytes"),
        element("option", {}, "messages"),
    );
    if (drawn)
        section.append(element("div", { class: "tools" }, element("label", {}, "Colour: ", by)));
    section.append(drawn ? element("div", { class: "beside" }, picture, detail) : detail);
    matrix.draw = () => drawn && drawMatrix(picture);
    showPair();
}
