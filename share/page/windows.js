/* SPDX-License-Identifier: BSD-3-Clause
 * Windows by ordinal: a chart of useful time and time in MPI (by d3), a table, and the rows of the
 * chosen window. */
const CHARTED = 1000;

function endOf(w) {
    return Math.max(w.to, w.from);
}

function drawWindows(picture) {
    const width = Math.max(240, Math.min(1100, picture.clientWidth || 900)),
        height = 150,
        left = 62,
        bottom = 26;
    const band = d3
            .scaleBand(
                windows.map((w) => w.ordinal),
                [left, width - 8],
            )
            .paddingInner(windows.length > 200 ? 0 : 0.15),
        mean = (w) => w.length_ns / w.rows.length;
    const unit = UNITS.find(([, size]) => d3.max(windows, mean) >= size) || UNITS[3],
        y = d3.scaleLinear([0, d3.max(windows, mean) || 1], [height - bottom, 8]);
    const svg = d3
        .create("svg")
        .attr("class", "chart")
        .attr("width", width)
        .attr("height", height)
        .attr("role", "img")
        .attr("aria-label", "Mean time of a thread in each window: outside MPI and in MPI");
    svg.append("g")
        .attr("class", "axis")
        .attr("transform", `translate(${left - 2},0)`)
        .call(
            d3
                .axisLeft(y)
                .ticks(4)
                .tickFormat((v) => `${+(v / unit[1]).toPrecision(3)} ${unit[0]}`),
        );
    svg.append("g")
        .attr("class", "axis")
        .attr("transform", `translate(0,${height - bottom})`)
        .call(
            d3
                .axisBottom(band)
                .tickValues(
                    windows
                        .map((w) => w.ordinal)
                        .filter((o, i) => i % Math.ceil(windows.length / 20) === 0),
                ),
        );
    for (const w of windows) {
        const inside = w.mpi_ns / w.rows.length,
            part = (name, from, to) =>
                svg
                    .append("rect")
                    .attr("class", name)
                    .attr("x", band(w.ordinal))
                    .attr("width", Math.max(1, band.bandwidth()))
                    .attr("y", y(to))
                    .attr("height", Math.max(0, y(from) - y(to)));
        for (const bar of [
            part("useful", 0, mean(w) - inside),
            part("mpi", mean(w) - inside, mean(w)),
        ]) {
            bar.node().addEventListener("click", () => {
                location.hash = `#window-${w.ordinal}`;
            });
            bar.node().addEventListener("pointermove", (event) =>
                showTip(
                    event,
                    `window ${w.ordinal}`,
                    `${duration(mean(w))} in the mean of ${counted(w.rows.length, "thread")}`,
                    `${duration(inside)} in MPI, ${percent(w.mpi_ns, w.length_ns)}`,
                ),
            );
            bar.node().addEventListener("pointerleave", hideTip);
        }
    }
    picture.replaceChildren(
        svg.node(),
        line(
            "p",
            element("span", { class: "swatch", style: "background:var(--good)" }),
            "outside MPI ",
            element("span", { class: "swatch", style: "background:var(--bad);opacity:0.55" }),
            "in MPI, mean of the threads that have the window",
        ),
    );
    picture.lastChild.className = "note";
}

function windowSheet() {
    const of = (name) => (w) => (w.efficiency ? w.efficiency[name] : null),
        factorColumn = (head, name) => ({
            head,
            value: of(name),
            show: (w) => link("efficiency", shareText(of(name)(w))),
        });
    const longest = (w) => w.spread && w.spread.outside_mpi_ns;
    return sheet(
        [
            {
                head: "window",
                value: (w) => w.ordinal,
                show: (w) => timeLink(w.from, endOf(w) - w.from, String(w.ordinal)),
            },
            {
                head: "threads",
                value: (w) => w.rows.length,
                show: (w) => link(`rows-${w.ordinal}`, amount(w.rows.length), "each of them"),
            },
            {
                head: "begins",
                value: (w) => w.from,
                show: (w) => timeLink(w.from, endOf(w) - w.from, duration(w.from)),
            },
            {
                head: "first to last",
                value: (w) => endOf(w) - w.from,
                show: (w) => timeLink(w.from, endOf(w) - w.from, duration(endOf(w) - w.from)),
            },
            {
                head: "in MPI",
                value: (w) => w.mpi_ns / w.length_ns,
                show: (w) => link(`rows-${w.ordinal}`, percent(w.mpi_ns, w.length_ns)),
            },
            {
                head: "most work",
                value: (w) => (longest(w) ? longest(w).most : null),
                show: (w) =>
                    longest(w) ? link(`rows-${w.ordinal}`, duration(longest(w).most)) : "-",
            },
            {
                head: "by rank",
                value: (w) => (longest(w) ? longest(w).most_rank : null),
                show: (w) => (longest(w) ? rankLink(longest(w).most_rank) : "-"),
            },
            factorColumn("parallel", "parallel_efficiency"),
            factorColumn("balance", "load_balance"),
            factorColumn("comm.", "communication_efficiency"),
            factorColumn("serial.", "serialisation"),
            factorColumn("transfer", "transfer"),
        ],
        windows,
        {
            id: (w) => `window-${w.ordinal}`,
            caption: "Windows over all threads, and their efficiencies",
        },
    );
}

/* Shows the window of each thread. */
function showRows(ordinal) {
    const w = windows.find((x) => x.ordinal === ordinal),
        place = document.getElementById("rows");
    if (!w || !place) return;
    const length = (r) => (r.stop_ns === null ? null : r.stop_ns - r.start_ns),
        found = (r, text) => timeLink(r.start_ns, length(r) || 0, text, r.rank);
    place.replaceChildren(
        element("h3", {}, `Window ${ordinal} of each thread`),
        sheet(
            [
                { head: "rank", value: (r) => r.rank, show: (r) => rankLink(r.rank) },
                { head: "thread", value: (r) => r.thread },
                {
                    head: "begins",
                    value: (r) => r.start_ns,
                    show: (r) => found(r, duration(r.start_ns)),
                },
                {
                    head: "length",
                    value: length,
                    show: (r) => (length(r) === null ? "open" : found(r, duration(length(r)))),
                },
                {
                    head: "in MPI",
                    value: (r) => r.mpi_ns,
                    show: (r) => found(r, duration(r.mpi_ns)),
                },
                { head: "in MPI", kind: "bar", value: (r) => r.mpi_ns },
                {
                    head: "calls",
                    value: (r) => r.mpi_calls,
                    show: (r) => found(r, amount(r.mpi_calls)),
                },
                { head: "opened by", kind: "path", value: (r) => r.start_alarm || r.opened_by },
                { head: "closed by", kind: "path", value: (r) => r.stop_alarm || r.closed_by },
            ],
            w.rows,
            { caption: w.rows[0].region ? `region ${w.rows[0].region}` : "" },
        ),
    );
}

function showWindows(section) {
    if (windows === null || windows.length === 0) {
        section.append(
            note(
                windows
                    ? "No window was opened."
                    : "There are too many windows for a page: regtrace report --all has them, and -window makes a page of some.",
            ),
        );
        return;
    }
    const picture = element("div", {});
    section.append(picture, windowSheet(), element("div", { id: "rows", "aria-live": "polite" }));
    if (drawn && windows.length > 1 && windows.length <= CHARTED) drawWindows(picture);
    if (windows.length === 1) showRows(windows[0].ordinal);
}
