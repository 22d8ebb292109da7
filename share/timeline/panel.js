/* SPDX-License-Identifier: BSD-3-Clause
 * Makes the panel: figures of the selected time, the table of windows, the choice of channels. */
function table(heads, rows) {
    return element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((h) => element("th", { scope: "col" }, h)))), element("tbody", {}, ...rows));
}

function share(part, of) {
    return element("td", { class: "share" }, element("span", { class: "bar", style: `width:${Math.max(0, Math.min(1, part / (of || 1))) * 50}px` }));
}

const ROWS_MAX = 40;

/* --- times ------------------------------------------------------------------------------------ */

function laneTable(lane, map, most, counted) {
    const flat = lane.kind === "ticks", sorted = [...map.entries()].sort((a, b) => (flat ? b[1].count - a[1].count : b[1].self - a[1].self) || a[0] - b[0]);
    const rows = sorted.slice(0, ROWS_MAX).map(([value, sum]) => element("tr", { class: "row", title: lane.values[value] + " (a click finds it)", onclick: () => search(lane.values[value], true) },
        element("td", {}, element("span", { class: "dot", style: `background:${colourOf(lane, value)}` }), shortText(lane, value)),
        element("td", {}, counted ? amount(sum.count) : ""), ...(flat ? [] : [element("td", {}, counted ? duration(sum.self) : ""), element("td", {}, duration(sum.ns)), share(sum.self, most)])));
    const more = sorted.length > ROWS_MAX ? [element("p", { class: "note" }, `and ${amount(sorted.length - ROWS_MAX)} more`)] : [];
    return [element("h2", {}, lane.title), table(flat ? ["name", "times"] : ["name", "times", "own time", "in all", ""], rows), ...more];
}

function rankTable(figures, span) {
    const rows = figures.byThread.filter((t) => t.windows > 0 || t.mpi > 0).slice(0, 400).map((t) => {
        const process = processes.find((p) => p.number === t.thread.process), rest = Math.max(0, t.windows - t.mpi);
        return element("tr", {}, element("td", {}, process.name + (process.threads.filter((o) => o.lanes.length).length > 1 ? `.${t.thread.thread}` : "")), element("td", {}, duration(t.windows)),
            element("td", {}, figures.exact ? amount(t.calls) : ""), element("td", {}, duration(t.mpi)), element("td", {}, percent(t.mpi, t.mpi + rest)), share(t.mpi, span));
    });
    return [element("h2", {}, "Ranks and threads"), table(["", "in windows", "MPI calls", "in MPI", "", ""], rows)];
}

function showFigures() {
    const page = document.getElementById("page-figures"), { from, to } = view.selected || view, span = to - from;
    const begun = performance.now(), figures = figuresOf(from, to);
    const parts = [element("p", { class: "note" }, view.selected ? "Selected: " : "What is seen: ", `${exact(from)} to ${exact(to)}, `, element("b", {}, duration(span)),
        view.selected ? "" : ". Drag on the ruler to select a time.")];
    if (!store.done)
        parts.push(element("p", { class: "note" }, "The data are still coming."));
    else if (!figures.exact)
        parts.push(element("p", { class: "note" }, "Of summaries: of each small span what fills most of it, so that times are a little less than they were, and calls are not counted. -window, -from with -to, or -rank make pages with each call, -most larger ones."));
    if (view.item)
        parts.push(element("h2", {}, view.item.name), element("table", { class: "facts" }, ...factsOf(view.item).map(([a, b]) => element("tr", {}, element("td", {}, a), element("td", {}, b)))), ...messageFacts(view.item));
    const wanted = ["mpi.function", "func.name", "region.name", "mpi.activity", "sample.function", "region.mark", "region.alarm"];
    parts.push(...rankTable(figures, span));
    for (const name of wanted)
        for (const [lane, map] of figures.byLane)
            if (lane.name.startsWith(name) && map.size)
                parts.push(...laneTable(lane, map, Math.max(...[...map.values()].map((s) => s.self)), figures.exact));
    page.replaceChildren(...parts);
    page.dataset.ms = (performance.now() - begun).toFixed(1);
}

/* --- windows ---------------------------------------------------------------------------------- */

let windows = null;
const picked = new Set();

/* Collects the windows by ordinal: first begin, last end, number of threads, their time. */
function collectWindows() {
    const lane = meta.lanes.find((l) => l.name === "region.window"), found = new Map();
    for (const thread of lane ? threads : []) {
        const entry = thread.lanes.find((l) => l.lane === lane), items = entry && itemsOf(entry.tracks[0]);
        for (let i = 0; items && i < items.n; i++) {
            const value = items.value[i], all = found.get(value) || { name: lane.values[value], from: Infinity, to: -Infinity, count: 0, time: 0 };
            all.from = Math.min(all.from, items.start[i]);
            all.to = Math.max(all.to, items.end[i]);
            all.time += items.end[i] - items.start[i];
            all.count++;
            found.set(value, all);
        }
    }
    windows = [...found.values()].sort((a, b) => a.from - b.from || a.to - b.to);
}

function pickWindow(w, more) {
    if (!more)
        picked.clear();
    if (more && picked.has(w))
        picked.delete(w);
    else
        picked.add(w);
    const all = [...picked];
    view.selected = all.length ? { from: Math.min(...all.map((x) => x.from)), to: Math.max(...all.map((x) => x.to)) } : null;
    if (view.selected && !more) {
        const margin = (view.selected.to - view.selected.from) * 0.05;
        look(view.selected.from - margin, view.selected.to + margin);
    }
    showWindows();
    changed();
}

function showWindows() {
    const page = document.getElementById("page-windows");
    if (!store.done) {
        page.replaceChildren(element("p", { class: "note" }, "The data are still coming."));
        return;
    }
    if (!windows)
        collectWindows();
    const asked = (document.getElementById("window-find") || { value: "" }).value.trim(), wanted = asked.toLowerCase();
    const some = windows.filter((w) => wanted === "" || w.name.toLowerCase().includes(wanted)), shown = some.slice(0, 500);
    const rows = shown.map((w) => element("tr", { class: "row", tabindex: 0, "aria-selected": String(picked.has(w)),
        onclick: (e) => pickWindow(w, e.ctrlKey || e.metaKey || e.shiftKey),
        onkeydown: (e) => (e.key === "Enter" || e.key === " ") && (e.preventDefault(), e.stopPropagation(), pickWindow(w, e.ctrlKey || e.shiftKey)) },
    element("td", {}, w.name), element("td", {}, amount(w.count)), element("td", {}, duration(w.from)), element("td", {}, duration(w.to - w.from)), element("td", {}, duration(w.time / w.count))));
    const find = element("input", { id: "window-find", type: "search", placeholder: "Find a window", "aria-label": "Find a window", value: asked, oninput: showWindows });
    const focused = document.activeElement && document.activeElement.id === "window-find", total = [...picked].reduce((n, w) => n + w.time, 0);
    page.replaceChildren(find, element("p", { class: "note" }, windows.length ? `${amount(windows.length)} windows` + (some.length > shown.length ? `, the first ${shown.length} of ${amount(some.length)} found` : "")
        + ". A click looks at one and selects its time; with Ctrl several." + (picked.size > 1 ? ` ${picked.size} picked, ${duration(total)} of all threads.` : "")
        : "No windows are here, or only summaries of them."),
    table(["window", "threads", "begins", "first to last", "mean"], rows));
    if (focused) {
        find.focus();
        find.setSelectionRange(asked.length, asked.length);
    }
}

/* --- channels --------------------------------------------------------------------------------- */

function showLanes() {
    const rows = [...meta.lanes].sort((a, b) => orderOf(a) - orderOf(b)).map((lane) => {
        const box = element("input", { type: "checkbox", onchange: () => {
            if (box.checked)
                view.hidden.delete(lane.number);
            else
                view.hidden.add(lane.number);
            relaid();
        } });
        box.checked = !view.hidden.has(lane.number);
        const n = tracks.reduce((sum, t) => sum + (t.lane === lane && (lane.name === "ovni.tid" || !cpus.has(t.thread)) ? t.count : 0), 0);
        return element("label", { class: "lane" }, box, lane.title, element("span", { class: "note" }, `${lane.name}, ${amount(n)}`));
    });
    const realtime = meta.realtime ? new Date(meta.realtime / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "unknown";
    const states = meta.lanes.find((l) => l.name === "mpi.activity");
    const legend = states ? [element("h2", {}, "States"), ...states.values.map((text, value) => element("div", {}, element("span", { class: "dot", style: `display:inline-block;width:10px;height:10px;margin-right:6px;background:${colourOf(states, value)}` }), text))] : [];
    document.getElementById("page-lanes").replaceChildren(element("h2", {}, "Shown"), ...rows, ...legend, ...messageNote(), element("h2", {}, "Summaries"),
        element("p", { class: "note" }, "Where boxes are narrower than a dot, a column stands for a small span of time: its height is how much of the span is filled, its colour what fills most of it, grey the rest."),
        element("h2", {}, "Run"), element("p", { class: "note" }, `${meta.title}: ${amount(meta.events)} events, ${amount(meta.items)} boxes, ticks and points; time 0 is the first event, ${realtime}; on ${meta.nodes.join(", ")}.`
            + (meta.exact ? "" : ` They are more than a page holds: where there are many this one has summaries of small spans of time.`)));
}

/* --- pages of the panel ----------------------------------------------------------------------- */

const PAGES = { figures: showFigures, windows: showWindows, lanes: showLanes };
let page = "figures";

function showPage(name, focus) {
    page = name;
    for (const each of Object.keys(PAGES)) {
        const tab = document.getElementById("tab-" + each);
        tab.setAttribute("aria-selected", String(each === name));
        tab.tabIndex = each === name ? 0 : -1;
        if (each === name && focus)
            tab.focus();
        document.getElementById("page-" + each).hidden = each !== name;
    }
    PAGES[name]();
}
