/* SPDX-License-Identifier: BSD-3-Clause
 * Handles what the reader does, and decides when to paint again. */
const scroll = document.getElementById("scroll"), space = document.getElementById("space"), labels = document.getElementById("labels");
const tip = document.getElementById("tip"), state = document.getElementById("state"), find = document.getElementById("search");
const timings = { frames: 0, last: 0, worst: 0 };
const wishes = new URLSearchParams(location.hash.slice(1));
let waiting = false, figuring = 0;

/* --- painting --------------------------------------------------------------------------------- */

function frame() {
    waiting = false;
    timings.last = paint();
    timings.worst = Math.max(timings.worst, timings.last);
    timings.frames++;
    document.getElementById("where").replaceChildren(...(window.innerWidth < 700 ? [] : [`from ${exact(view.from)}`, element("br")]), `shown ${duration(view.to - view.from)}`);
}

/* Call after a change of the view: paints at the next frame, and updates figures soon. */
function changed() {
    if (!waiting) {
        waiting = true;
        requestAnimationFrame(frame);
    }
    keepView();
    clearTimeout(figuring);
    if (page === "figures" && !document.getElementById("panel").hidden)
        figuring = setTimeout(showFigures, 150);
}

/* Call after a change of rows or lanes: lays out the lines again. */
function relaid() {
    layOut();
    tip.hidden = true;
    space.style.height = Math.max(total, view.height) + "px";
    view.top = scroll.scrollTop;
    const names = lines.map((line) => {
        const style = `top:${line.y}px;height:${line.height}px;line-height:${Math.min(line.height, 20)}px`;
        if (line.kind === "process" || line.kind === "closed")
            return element("button", { style, "aria-expanded": String(line.kind === "process"), title: line.process.pid ? `${line.process.name} on ${line.process.node}, pid ${line.process.pid}` : `${line.process.name}: processors`,
                "data-process": line.process.number, onclick: () => foldProcess(line.process.number) }, `${line.kind === "process" ? "\u25be" : "\u25b8"} ${line.process.name}`);
        if (line.kind === "thread")
            return element("div", { class: "thread", style }, threadName(line.thread));
        if (line.kind === "lane" && line.entry.lane.kind === "curve")
            return element("div", { class: "curve", style: style.replace(/line-height:[0-9.]+px/, "line-height:14px"), title: line.entry.lane.title }, line.entry.lane.title);
        if (line.kind === "lane")
            return element("div", { style: style.replace(/line-height:[0-9.]+px/, `line-height:${Math.min(line.each + 2, 20)}px`), title: line.entry.lane.title }, laneText(line.entry.lane, line.thread));
        return "";
    });
    labels.replaceChildren(...names.filter((n) => n !== ""));
    changed();
}

function foldProcess(number) {
    if (!view.closed.delete(number))
        view.closed.add(number);
    relaid();
    const again = labels.querySelector(`[data-process="${number}"]`);
    if (again)
        again.focus();
}

function foldAll() {
    const all = groups().map((g) => g.number), open = all.some((n) => !view.closed.has(n));
    for (const n of all)
        if (open)
            view.closed.add(n);
        else
            view.closed.delete(n);
    relaid();
}

/* Shows the time in which all ranks have MPI. Start and end, which it leaves out, often are most
 * of a short run. */
function lookBetween() {
    if (meta.init_end === undefined)
        return;
    look(meta.init_end, meta.finalize_begin);
    say("Between the last MPI_Init and the first MPI_Finalize: 0 shows all of the run");
}

/* Switches between rows of threads and rows of processors. */
function switchRows() {
    if (nodes.length === 0)
        return;
    view.processors = !view.processors;
    choose(null);
    search(view.search, false);
    relaid();
    showRows();
    say(!view.processors ? "" : nodes.every((n) => n.threads.every((c) => c.cpu === "several cpus"))
        ? "Threads may run on several processors, so none is told apart: a page made with -cpu observed has them where their events were recorded"
        : "Rows are processors, with the thread that runs there and what it does");
}

function showRows() {
    document.getElementById("rows").setAttribute("aria-pressed", String(view.processors));
}

function resized() {
    const names = window.innerWidth < 700 ? 104 : 150;
    document.documentElement.style.setProperty("--names", names + "px");
    view.width = Math.max(50, scroll.clientWidth - names);
    view.height = Math.max(50, scroll.clientHeight);
    resizePlot();
    space.style.height = Math.max(total, view.height) + "px";
    changed();
}

function say(text) {
    state.textContent = text;
}

/* --- light and dark --------------------------------------------------------------------------- */

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

function useTheme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.getElementById("theme").textContent = dark ? "Light" : "Dark";
    readTheme();
    changed();
}

/* --- names ------------------------------------------------------------------------------------ */

function search(text, go) {
    find.value = text;
    findNames(text);
    const { count } = text === "" ? { count: 0 } : hitBeside(null, true, whole.from);
    document.getElementById("hits").textContent = text === "" ? "" : meta.exact ? `${amount(count)} hits` : `${[...view.matches.values()].reduce((n, s) => n + s.size, 0)} names`;
    changed();
    if (go)
        step(true);
}

/* Goes to the hit after the chosen one, or before it. */
function step(forward) {
    if (view.search === "")
        return;
    const isHit = view.item && view.matches.get(view.item.track.lane) && view.matches.get(view.item.track.lane).has(view.item.value);
    let { hit, count, place: at } = hitBeside(isHit ? view.item : null, forward, view.from);
    if (!hit && count) /* wrap around */
        ({ hit, count, place: at } = hitBeside(null, forward, forward ? whole.from : whole.to));
    if (!hit) {
        say(meta.exact ? `\u201c${view.search}\u201d is nowhere in the rows that are shown` : "This page has summaries where there are many calls: names are marked, but none of these is gone to");
        return;
    }
    document.getElementById("hits").textContent = `${amount(at)} of ${amount(count)}`;
    choose(hit);
    const span = view.to - view.from, length = hit.end - hit.start;
    if (hit.start < view.from || hit.end > view.to || length < span / 400) {
        const wide = Math.max(length * 8, Math.min(span, length === 0 ? span : length * 400));
        look((hit.start + hit.end - wide) / 2, (hit.start + hit.end + wide) / 2);
    }
    const thread = rowOf(hit.track);
    if (view.closed.delete(thread.process))
        relaid();
    const line = lines.find((l) => l.kind === "lane" && l.entry.tracks[hit.track.depth] === hit.track);
    if (line && (line.y < view.top || line.y + line.height > view.top + view.height))
        scroll.scrollTop = line.y - view.height / 2;
}

/* The browser scrolls no further than the last row: names and rows must move alike. */
function scrollRows(y) {
    scroll.scrollTop = y;
    view.top = scroll.scrollTop;
}

/* Opens the rows of a rank, and shows them on top if there are enough rows below. */
function showRank(rank) {
    const process = processes.find((p) => p.rank === rank);
    if (!process)
        return;
    view.closed.delete(process.number);
    relaid();
    const row = lines.find((l) => l.process === process);
    scrollRows(row ? row.y : 0);
    changed();
}

/* Selects a span of time. */
function select(from, to) {
    view.selected = { from: Math.max(from, whole.from), to: Math.min(to, whole.to) };
    changed();
}

function choose(item) {
    view.item = item;
    if (item)
        say(`${item.name}: ${factsOf(item).map(([a, b]) => (a ? `${a} ` : "") + b).join(", ")}`);
    changed();
}

/* --- pointer ---------------------------------------------------------------------------------- */

function showTip(event) {
    const box = plot.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const line = lineAt(y), track = trackAt(line, y), item = itemAt(track, timeAt(x)), bin = item ? null : binAt(track, timeAt(x));
    tip.hidden = !item && !bin;
    if (tip.hidden)
        return;
    const facts = item ? factsOf(item) : bin.facts;
    tip.replaceChildren(element("b", {}, (item || bin).name), element("dl", {}, ...facts.flatMap(([a, b]) => [element("dt", {}, a), element("dd", {}, b)])));
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - width - 6)) + "px";
    tip.style.top = Math.max(4, event.clientY + 18 + height > window.innerHeight ? event.clientY - height - 10 : event.clientY + 18) + "px";
}

let held = null;

plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0)
        return;
    plot.setPointerCapture(event.pointerId);
    held = { x: event.clientX, y: event.clientY, from: view.from, to: view.to, top: scroll.scrollTop, moved: false };
    plot.classList.add("held");
    tip.hidden = true;
});
plot.addEventListener("pointermove", (event) => {
    if (!held) {
        showTip(event);
        return;
    }
    const x = event.clientX - held.x, y = event.clientY - held.y;
    held.moved = held.moved || Math.abs(x) + Math.abs(y) > 4;
    if (!held.moved)
        return;
    const by = x * (held.to - held.from) / view.width;
    look(held.from - by, held.to - by);
    scroll.scrollTop = held.top - y;
});
plot.addEventListener("pointerup", (event) => {
    const clicked = held && !held.moved;
    held = null;
    plot.classList.remove("held");
    if (!clicked)
        return;
    const box = plot.getBoundingClientRect(), y = event.clientY - box.top, track = trackAt(lineAt(y), y);
    const item = itemAt(track, timeAt(event.clientX - box.left));
    view.selected = item && item.end > item.start ? { from: item.start, to: item.end } : null;
    choose(item);
});
plot.addEventListener("dblclick", () => zoomToSelected());
plot.addEventListener("pointerleave", () => { tip.hidden = true; });
plot.addEventListener("wheel", (event) => {
    if (isFramed && !document.hasFocus())
        return; /* the reader scrolls past the frame */
    event.preventDefault();
    const much = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        move((event.deltaX || event.deltaY) * much);
    else
        zoomAt(event.clientX - plot.getBoundingClientRect().left, Math.pow(1.0018, Math.max(-600, Math.min(600, event.deltaY * much))));
}, { passive: false });

let marked = null;

ruler.addEventListener("pointerdown", (event) => {
    ruler.setPointerCapture(event.pointerId);
    marked = timeAt(event.clientX - ruler.getBoundingClientRect().left);
    view.selected = null;
    picked.clear();
    changed();
});
ruler.addEventListener("pointermove", (event) => {
    const time = timeAt(event.clientX - ruler.getBoundingClientRect().left);
    if (marked === null)
        return;
    view.selected = { from: Math.max(Math.min(marked, time), whole.from), to: Math.min(Math.max(marked, time), whole.to) };
    say(`selected: ${duration(view.selected.to - view.selected.from)}`);
    changed();
});
ruler.addEventListener("pointerup", () => {
    marked = null;
    if (view.selected && view.selected.to - view.selected.from < 2 * dot())
        view.selected = null;
    if (view.selected && page !== "figures")
        showPage("figures");
    changed();
});

/* --- keys ------------------------------------------------------------------------------------- */

function zoomToSelected() {
    if (!view.selected)
        return;
    const margin = (view.selected.to - view.selected.from) * 0.05;
    look(view.selected.from - margin, view.selected.to + margin);
}

function nothing() {
    view.selected = null;
    view.item = null;
    picked.clear();
    search("", false);
    say("");
    if (page === "windows")
        showWindows();
}

function switchPanel() {
    const panel = document.getElementById("panel");
    panel.hidden = !panel.hidden;
    document.getElementById("panel-switch").setAttribute("aria-expanded", String(!panel.hidden));
    if (!panel.hidden)
        showPage(page);
    resized();
}

const KEYS = {
    ArrowLeft: (e) => move(e.shiftKey ? -view.width * 0.9 : -60), ArrowRight: (e) => move(e.shiftKey ? view.width * 0.9 : 60),
    ArrowUp: () => { scroll.scrollTop -= 40; }, ArrowDown: () => { scroll.scrollTop += 40; },
    PageUp: () => { scroll.scrollTop -= view.height * 0.9; }, PageDown: () => { scroll.scrollTop += view.height * 0.9; },
    "+": () => zoomAt(view.width / 2, 0.6), "=": () => zoomAt(view.width / 2, 0.6), "-": () => zoomAt(view.width / 2, 1 / 0.6),
    0: () => look(whole.from, whole.to), f: () => look(whole.from, whole.to), s: zoomToSelected, e: foldAll, i: lookBetween, c: switchRows, w: switchPanel, m: switchMessages,
    n: () => step(true), p: () => step(false), "/": () => { find.focus(); find.select(); }, Escape: nothing, "?": () => document.getElementById("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input") || document.getElementById("keys").open;
    if (event.ctrlKey || event.metaKey || event.altKey || (typing && !(event.key === "Escape" && event.target === find)))
        return;
    if (event.target.matches('[role="tab"]') && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
        const names = Object.keys(PAGES);
        showPage(names[(names.indexOf(page) + (event.key === "ArrowRight" ? 1 : names.length - 1)) % names.length], true);
        return;
    }
    if (KEYS[event.key] && !(event.target.closest("aside") && event.key.length > 1 && event.key !== "Escape")) {
        event.preventDefault();
        KEYS[event.key](event);
    }
});

/* --- start ------------------------------------------------------------------------------------ */

function on(id, act) {
    document.getElementById(id).addEventListener("click", act);
}

/* Shows the windows first if they are a small part of the run. */
function lookAtWindows() {
    collectWindows();
    if (!windows.length)
        return;
    const from = Math.min(...windows.map((w) => w.from)), to = Math.max(...windows.map((w) => w.to)), margin = (to - from) * 0.02;
    if (!(to - from < 0.6 * (whole.to - whole.from)) || view.from !== whole.from || view.to !== whole.to)
        return;
    look(from - margin, to + margin);
    say("This is where the windows are: 0 shows all of the run");
}

function arrived() {
    changed();
    if (!store.done)
        return;
    timings.loaded = performance.now();
    if (!wishes.has("from"))
        lookAtWindows();
    if (!meta.exact)
        say("There are more calls than a page holds: this one has summaries of time where there are many (see Channels)");
    search(view.search, false);
    if (page !== "figures")
        showPage(page);
    if (isFramed)
        parent.dispatchEvent(new Event("timeline"));
}

function begin() {
    const working = threads.filter((t) => t.lanes.length !== 0); /* others are of MPI libraries */
    document.title = `${meta.title} - regtrace`;
    document.getElementById("title").replaceChildren(meta.title, element("small", {}, `${amount(meta.events)} events, ${processes.length} process${processes.length === 1 ? "" : "es"}, ${working.length} thread${working.length === 1 ? "" : "s"}, ${duration(meta.to - meta.from)}`));
    document.getElementById("panel").hidden = window.innerWidth < 600;
    document.getElementById("panel-switch").setAttribute("aria-expanded", String(window.innerWidth >= 600));
    on("zoom-in", () => KEYS["+"]());
    on("zoom-out", () => KEYS["-"]());
    on("fit", () => KEYS[0]());
    on("unfold", foldAll);
    on("hit-next", () => step(true));
    on("hit-before", () => step(false));
    on("theme", () => useTheme(document.documentElement.dataset.theme !== "dark"));
    on("panel-switch", switchPanel);
    on("help", KEYS["?"]);
    on("messages", switchMessages);
    on("rows", switchRows);
    on("between", lookBetween);
    document.getElementById("between").hidden = meta.init_end === undefined;
    document.getElementById("rows").hidden = nodes.length === 0;
    document.getElementById("messages").hidden = meta.messages.size === 0;
    for (const name of Object.keys(PAGES))
        on("tab-" + name, () => showPage(name));
    let typing = 0;
    find.addEventListener("input", () => {
        clearTimeout(typing);
        typing = setTimeout(() => search(find.value, false), 200);
    });
    find.addEventListener("keydown", (event) => {
        if (event.key === "Enter") {
            clearTimeout(typing);
            if (view.search !== find.value)
                search(find.value, false);
            step(!event.shiftKey);
        }
    });
    scroll.addEventListener("scroll", () => {
        view.top = scroll.scrollTop;
        tip.hidden = true;
        changed();
    });
    window.addEventListener("resize", resized);
    prefersDark.addEventListener("change", (event) => useTheme(event.matches));
    takeFragment(wishes);
    showRows();
    const top = view.top;
    resized();
    useTheme(prefersDark.matches);
    relaid();
    scrollRows(top);
    showPage("figures");
    timings.shown = performance.now();
    load(arrived).catch((error) => say(`The data could not be read: ${error.message}`));
}

begin();
/* For tests, and for use in the browser's console. */
window.regtrace = { meta, view, store, tracks, threads, cpus, timings, switchRows, showRank, select, useTheme, look, search, step, itemsOf, figuresOf, itemAt, messagesOf, messagesOfItem, describe, choose, paint, pick, lines: () => lines, windows: () => (windows || collectWindows(), windows) };
