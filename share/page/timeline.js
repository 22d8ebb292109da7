/* SPDX-License-Identifier: BSD-3-Clause
 * The time lines in their frame. The frame's page finds the data in this document, and tells when
 * they are there; its times begin with its first event. */
const lines = { frame: null, ready: false, waiting: [] };

/* Does something with the time lines, now or as soon as they are there. */
function withLines(act) {
    if (lines.ready) act(lines.frame.contentWindow.regtrace);
    else lines.waiting.push(act);
}

function lookAt(from, to, rank) {
    withLines((page) => {
        if (rank !== undefined) page.showRank(rank);
        page.look(from - data.timeline.origin_ns, to - data.timeline.origin_ns);
        page.select(from - data.timeline.origin_ns, to - data.timeline.origin_ns);
    });
}

/* Called by the frame once its data are there. */
window.addEventListener("timeline", () => {
    lines.ready = true;
    timings.timeline = performance.now();
    withLines((page) => page.useTheme(isDark()));
    lines.waiting.splice(0).forEach(withLines);
});

function showTimeline(section) {
    if (data.timeline.why_not !== null) {
        section.append(note(`There are no time lines: ${data.timeline.why_not}.`));
        return;
    }
    lines.frame = element("iframe", { id: "frame", title: "Time lines of ranks and threads" });
    section.append(
        lines.frame,
        note(
            "A click into them lets the wheel and the keys act there: the wheel zooms, ? shows all keys." +
                (data.timeline.exact
                    ? ""
                    : " Where there are many calls, they have summaries of small spans of time.") +
                (data.timeline.wrong
                    ? ` ${counted(data.timeline.wrong, "event")} could not be right; what they leave unknown is marked.`
                    : ""),
        ),
    );
}

/* Call once the document is whole. */
function startTimeline() {
    if (lines.frame)
        lines.frame.srcdoc = JSON.parse(document.getElementById("frame-page").textContent);
}
