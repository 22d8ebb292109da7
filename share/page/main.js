/* SPDX-License-Identifier: BSD-3-Clause
 * Fills the page, and goes to what the address's fragment names. */
const timings = {};

/* --- light and dark --------------------------------------------------------------------------- */

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

function isDark() {
    return document.documentElement.dataset.theme === "dark";
}

function useTheme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.getElementById("theme").textContent = dark ? "Light" : "Dark";
    if (lines.ready) lines.frame.contentWindow.regtrace.useTheme(dark);
}

/* --- where links lead ------------------------------------------------------------------------- */

/* Kinds of fragments: what they do, and the part that is then shown. */
const ROUTES = [
    [/^path-(\d+)$/, (id) => choosePath(Number(id)), "paths"],
    [/^stack-(\d+)$/, (id) => chooseStack(Number(id)), "samples"],
    [/^pair-(\d+)-(\d+)$/, (from, to) => choosePair(Number(from), Number(to)), "messages"],
    [/^rows-(-?\d+)$/, (ordinal) => showRows(Number(ordinal)), "rows"],
    [/^event-(.+)$/, showEvent, "event"],
    [
        /^time-(-?\d+)-(-?\d+)(?:-(\d+))?$/,
        (from, to, rank) =>
            lookAt(Number(from), Number(to), rank === undefined ? undefined : Number(rank)),
        "timeline",
    ],
    [/^lines-(\d+)$/, (rank) => withLines((page) => page.showRank(Number(rank))), "timeline"],
    [/^find-(.*)$/, (name) => withLines((page) => page.search(name, true)), "timeline"],
];

function mark(row) {
    document.querySelectorAll("tr.target").forEach((r) => r.classList.remove("target"));
    if (row && row.tagName === "TR") row.classList.add("target");
}

function follow() {
    let wanted = location.hash.slice(1);
    try {
        wanted = decodeURIComponent(wanted);
    } catch (error) {
        /* not encoded: as it is */
    }
    for (const [pattern, act, part] of ROUTES) {
        const found = pattern.exec(wanted);
        if (found) {
            act(...found.slice(1));
            document.getElementById(part).scrollIntoView();
            return;
        }
    }
    const row = wanted ? revealRow(wanted) : null;
    mark(row);
    if (row) row.scrollIntoView(row.tagName === "TR" ? { block: "center" } : {});
}

/* A second click on a link leads there again, though the fragment stays. */
document.addEventListener("click", (event) => {
    const to = event.target.closest && event.target.closest("a[href^='#']");
    if (to && to.getAttribute("href") === location.hash) {
        event.preventDefault();
        follow();
    }
});

/* --- start ------------------------------------------------------------------------------------ */

const PARTS = {
    summary: showSummary,
    efficiency: showEfficiency,
    timeline: showTimeline,
    waits: showWaits,
    causes: showCauses,
    paths: showPaths,
    samples: showSamples,
    messages: showMessages,
    windows: showWindows,
    ranks: (section) => section.append(rankSheet()),
    functions: showFunctions,
    counters: showCounters,
    memory: showMemory,
    notes: showNotes,
};

function showHead() {
    const programs = [...new Set(ranks.map((r) => baseName(r.program || "?")))],
        hosts = new Set(ranks.map((r) => r.host)),
        started = report.origin_realtime_ns
            ? new Date(report.origin_realtime_ns / 1e6)
                  .toISOString()
                  .replace("T", " ")
                  .slice(0, 19) + " UTC"
            : "";
    document.title = `${data.title} - regtrace`;
    document.getElementById("title").textContent = data.title;
    document.getElementById("facts").textContent = [
        programs.slice(0, 3).join(", "),
        report.size > 0
            ? counted(report.size, "rank")
            : counted(ranks.length, "process", "processes"),
        `on ${counted(hosts.size, "host")}`,
        started && `started ${started}`,
    ]
        .filter(Boolean)
        .join(", ");
}

/* Draws what has the width of the page. */
function drawPictures() {
    [paths, hot].filter((graph) => graph.place !== null).forEach(drawGraph);
    matrix.draw();
}

/* Marks the part in the list that the reader sees. */
function followScrolling() {
    const seen = new IntersectionObserver(
        (entries) => {
            for (const e of entries.filter((x) => x.isIntersecting))
                document
                    .querySelectorAll("nav a")
                    .forEach((a) =>
                        a.hash === "#" + e.target.id
                            ? a.setAttribute("aria-current", "true")
                            : a.removeAttribute("aria-current"),
                    );
        },
        { rootMargin: "-20% 0px -70%" },
    );
    document.querySelectorAll("section").forEach((s) => seen.observe(s));
}

function begin() {
    useTheme(prefersDark.matches);
    prefersDark.addEventListener("change", (event) => useTheme(event.matches));
    document.getElementById("theme").addEventListener("click", () => useTheme(!isDark()));
    showHead();
    for (const [id, show] of Object.entries(PARTS)) show(document.getElementById(id));
    drawPictures();
    let resizing = 0;
    window.addEventListener("resize", () => {
        clearTimeout(resizing);
        resizing = setTimeout(drawPictures, 150);
    });
    window.addEventListener("hashchange", follow);
    followScrolling();
    timings.shown = performance.now();
    document.addEventListener("DOMContentLoaded", () => {
        follow();
        requestAnimationFrame(() => setTimeout(startTimeline));
    });
}

begin();
/* For tests, and for use in the browser's console. */
window.regtracePage = { data, nodes, windows, late, timings, lines, follow };
