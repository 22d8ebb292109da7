/* SPDX-License-Identifier: BSD-3-Clause
 * Draws messages as lines from their sends to the ends of their receives: those of a chosen call
 * always, all of the view if the switch is on. */
const LINES_MAX = 2000, FACTS_MAX = 12;
let mail = null;

/* Returns all messages, ordered by their sends, or null if they have not arrived or the page lacks
 * them. Times are ns. */
function messagesOf() {
    const { at, size, count } = meta.messages;
    if (mail || size === 0 || at + size > store.ready)
        return mail;
    const all = { n: count, send: new Float64Array(count), sent: new Float64Array(count), receive: new Float64Array(count), received: new Float64Array(count),
        from: new Uint32Array(count), to: new Uint32Array(count), bytes: new Float64Array(count), tag: new Float64Array(count), comm: new Uint32Array(count) };
    let last = 0;
    place = at;
    for (let i = 0; i < count; i++) {
        all.send[i] = last += signed();
        all.sent[i] = last + number();
        all.received[i] = last + signed();
        all.receive[i] = all.received[i] - number();
        all.from[i] = number();
        all.to[i] = number();
        all.bytes[i] = number();
        all.tag[i] = signed();
        all.comm[i] = number();
    }
    return mail = all;
}

/* Returns the messages that a call sends, posts or completes. */
function messagesOfItem(item) {
    const all = item && item.track.lane.kind === "calls" ? messagesOf() : null, found = [], thread = item && item.track.thread;
    for (let i = 0; all && i < all.n; i++) {
        const inside = (time) => time >= item.start && time <= item.end;
        if ((all.from[i] === thread && inside(all.send[i])) || (all.to[i] === thread && (inside(all.receive[i]) || inside(all.received[i]))))
            found.push(i);
    }
    return found;
}

/* Returns, by thread, the middle of the line that shows its calls, if one does. */
function rowsOfThreads() {
    const rows = new Map();
    for (const line of lines) {
        if (line.kind === "closed")
            line.process.threads.forEach((t) => rows.set(t.index, line.y + 11));
        else if (line.kind === "lane" && line.entry.lane.kind === "calls")
            rows.set(line.thread.index, line.y + line.each / 2);
    }
    return rows;
}

function paintMessage(all, i, rows) {
    const y0 = rows.get(all.from[i]), y1 = rows.get(all.to[i]);
    if (y0 === undefined || y1 === undefined)
        return;
    const a = xOf(all.send[i]) * ratio, b = (y0 - view.top) * ratio, c = xOf(all.received[i]) * ratio, d = (y1 - view.top) * ratio;
    const turn = Math.atan2(d - b, c - a), size = 6 * ratio;
    canvas.moveTo(a, b);
    canvas.lineTo(c, d);
    canvas.lineTo(c - size * Math.cos(turn - 0.4), d - size * Math.sin(turn - 0.4));
    canvas.moveTo(c, d);
    canvas.lineTo(c - size * Math.cos(turn + 0.4), d - size * Math.sin(turn + 0.4));
}

function strokeMessages(all, which, width, colour) {
    const rows = rowsOfThreads();
    /* A wider line of the background's colour makes an edge, visible on any box. */
    for (const [w, c] of [[width + 2, theme.backText], [width, colour]]) {
        canvas.beginPath();
        for (const i of which)
            paintMessage(all, i, rows);
        canvas.strokeStyle = c;
        canvas.lineWidth = w * ratio;
        canvas.stroke();
    }
}

/* Draws the messages on their way in the view; only each n-th if there are too many. */
function paintMessages() {
    const all = view.messages || view.item ? messagesOf() : null;
    view.lines = null;
    if (!all)
        return;
    if (view.messages) {
        const seen = [];
        for (let i = 0; i < all.n; i++)
            if (all.received[i] >= view.from && all.send[i] <= view.to)
                seen.push(i);
        const each = Math.ceil(seen.length / LINES_MAX);
        const drawn = each > 1 ? seen.filter((_, k) => k % each === 0) : seen;
        strokeMessages(all, drawn, 1, theme.front);
        view.lines = { seen: seen.length, drawn: drawn.length };
    }
    const chosen = messagesOfItem(view.item);
    if (chosen.length)
        strokeMessages(all, chosen.slice(0, LINES_MAX), 2, theme.accent);
}

function messageText(i) {
    const all = messagesOf(), name = (stream) => processes.find((p) => p.number === threads[stream].process).name, size = meta.messages.sizes[all.comm[i]];
    return `${name(all.from[i])} to ${name(all.to[i])}: ${amount(all.bytes[i])} bytes, tag ${all.tag[i]}, communicator of ${size || "?"}; sent from ${exact(all.send[i])}, `
        + `posted ${exact(all.receive[i])}, received ${exact(all.received[i])} (${duration(all.received[i] - all.send[i])})`;
}

/* Returns the elements for the panel. */
function messageFacts(item) {
    const found = messagesOfItem(item);
    const rows = found.slice(0, FACTS_MAX).map((i) => element("li", {}, messageText(i)));
    return found.length === 0 ? [] : [element("h2", {}, found.length === 1 ? "Its message" : `Its ${amount(found.length)} messages`), element("ul", {}, ...rows),
        ...(found.length > FACTS_MAX ? [element("p", { class: "note" }, `and ${amount(found.length - FACTS_MAX)} more`)] : [])];
}

function messageNote() {
    const { count, size, unmatched } = meta.messages;
    const left = unmatched.map((u) => element("li", {}, `${u.why}: ${amount(u.sends)} sends, ${amount(u.receives)} receives`));
    const text = `${amount(count)} of which both ends are known` + (count > 0 && size === 0 ? ", more than this page holds: -window, -from with -to, or -rank make smaller pages" : "") + ".";
    return [element("h2", {}, "Messages"), element("p", { class: "note" }, text), ...(left.length ? [element("p", { class: "note" }, "Without a partner:"), element("ul", { class: "note" }, ...left)] : [])];
}

function switchMessages() {
    if (meta.messages.size === 0)
        return;
    view.messages = !view.messages;
    document.getElementById("messages").setAttribute("aria-pressed", String(view.messages));
    requestAnimationFrame(() => requestAnimationFrame(() => say(!view.messages || !view.lines ? ""
        : view.lines.drawn < view.lines.seen ? `${amount(view.lines.drawn)} of the ${amount(view.lines.seen)} messages on their way here are drawn: zoom in for all`
            : `${amount(view.lines.seen)} messages are on their way here`)));
    changed();
}
