/* SPDX-License-Identifier: BSD-3-Clause
 * Makes links from figures to where they come from. Their fragments are what main.js goes to:
 * path-NODE, pair-FROM-TO, window-ORDINAL, rank-RANK, function-NAME, late-ROW, time-FROM-TO-RANK,
 * find-NAME, or a part of the page. */
function link(fragment, text, title) {
    return element("a", { href: "#" + fragment, title: title || false }, text);
}

function rankLink(rank, text) {
    return link(`rank-${rank}`, text === undefined ? String(rank) : text, `rank ${rank}`);
}

function windowLink(ordinal, text) {
    return ordinal === null
        ? "-"
        : link(`window-${ordinal}`, text || String(ordinal), `window ${ordinal}`);
}

/* A link to a node of the call tree; plain text if it is not known. */
function pathLink(id, text) {
    return id === null || id === undefined ? text : link(`path-${id}`, text, "in the call tree");
}

function functionLink(name) {
    return link(`function-${name}`, name, `all calls of ${name}`);
}

function findLink(name, text) {
    return link(`find-${encodeURIComponent(name)}`, text, `${name} in the time lines`);
}

/* A link to a moment in the time lines, with what lies around it; with a rank, to its row. */
function timeLink(from, length, text, rank) {
    if (from === null || data.timeline.why_not !== null) return text;
    const margin = Math.max(length * 0.6, 500);
    return link(
        `time-${Math.floor(from - margin)}-${Math.ceil(from + length + margin)}` +
            (rank === undefined ? "" : `-${rank}`),
        text,
        "in the time lines",
    );
}

/* Makes a text with links: an array of texts and elements, without those that are false. */
function line(name, ...parts) {
    return element(name, {}, ...parts.filter((p) => p !== false && p !== null));
}

/* Returns "1 call", "2 calls". */
function counted(n, what, plural) {
    return `${amount(n)} ${n === 1 ? what : plural || what + "s"}`;
}

function note(...parts) {
    return element("p", { class: "note" }, ...parts);
}

/* --- the tip at the pointer ------------------------------------------------------------------- */

const tip = document.getElementById("tip");

function showTip(event, head, ...lines) {
    tip.replaceChildren(element("b", {}, head), ...lines.map((l) => element("div", {}, l)));
    tip.hidden = false;
    tip.style.left =
        Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 6)) + "px";
    tip.style.top =
        Math.max(
            4,
            event.clientY + 20 + tip.offsetHeight > window.innerHeight
                ? event.clientY - tip.offsetHeight - 10
                : event.clientY + 18,
        ) + "px";
}

function hideTip() {
    tip.hidden = true;
}
