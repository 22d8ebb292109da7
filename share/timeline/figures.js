/* SPDX-License-Identifier: BSD-3-Clause
 * Computes the figures of a span of time, finds the items at the pointer, and searches names. */

/* Calls tell(value, ns, begins) for each box of a track in a span, cut to the span. Returns
 * true; or false if the track has no items, and the bins' values and approximate times are told
 * instead. */
function within(track, from, to, tell) {
    const items = itemsOf(track);
    if (items) {
        for (let i = lowerBound(items.end, from, items.n); i < items.n && items.start[i] < to; i++)
            tell(items.value[i], Math.min(items.end[i], to) - Math.max(items.start[i], from), items.start[i] >= from);
        return true;
    }
    const bins = pick(track, 0);
    for (let i = bins ? lowerBound(bins.end, from, bins.n) : 0; bins && i < bins.n && bins.start[i] < to; i++)
        tell(bins.value[i], (Math.min(bins.end[i], to) - Math.max(bins.start[i], from)) * bins.share[i] / 255, true);
    return false;
}

function sumInto(map, key, ns, begins) {
    const sum = map.get(key) || { ns: 0, self: 0, count: 0 };
    sum.ns += ns;
    sum.self += ns;
    sum.count += begins ? 1 : 0;
    map.set(key, sum);
}

/* Subtracts the time of children from their parents' own time. Parents are in the track above. */
function takeChildren(map, parents, children, from, to) {
    if (!parents || !children)
        return;
    let k = lowerBound(parents.end, from, parents.n);
    for (let i = lowerBound(children.end, from, children.n); i < children.n && children.start[i] < to; i++) {
        while (k < parents.n && parents.end[k] < children.end[i])
            k++;
        if (k === parents.n)
            return;
        const sum = map.get(parents.value[k]);
        if (sum && parents.start[k] <= children.start[i])
            sum.self -= Math.min(children.end[i], to) - Math.max(children.start[i], from);
    }
}

/* Returns the figures of a span: by lane and value, and by thread (ns in windows and in MPI).
 * exact: they come from items alone, not from bins. */
function figuresOf(from, to) {
    const result = { exact: true, byLane: new Map(), byThread: [] };
    for (const thread of threads) {
        const mine = { thread, windows: 0, mpi: 0, calls: 0, bytes: 0 };
        for (const { lane, tracks: deep } of thread.lanes) {
            if (lane.kind === "curve")
                continue;
            if (!result.byLane.has(lane))
                result.byLane.set(lane, new Map());
            const map = result.byLane.get(lane);
            deep.forEach((track, depth) => {
                result.exact = within(track, from, to, (value, ns, begins) => {
                    sumInto(map, value, ns, begins);
                    if (depth === 0 && lane.kind === "calls" && !lane.values[value].startsWith("unknown:")) {
                        mine.mpi += ns;
                        mine.calls += begins ? 1 : 0;
                    } else if (lane.name === "region.window") {
                        mine.windows += ns;
                    }
                }) && result.exact;
            });
            for (let depth = 1; depth < deep.length; depth++)
                takeChildren(map, itemsOf(deep[depth - 1]), itemsOf(deep[depth]), from, to);
        }
        result.byThread.push(mine);
    }
    return result;
}

/* --- items at the pointer --------------------------------------------------------------------- */

function lineAt(y) {
    const at = y + view.top;
    return lines.find((l) => at >= l.y && at < l.y + l.height);
}

function trackAt(line, y) {
    if (!line)
        return null;
    if (line.kind === "closed")
        return line.parts.length ? line.parts[line.parts.length - 1].tracks[0] : null;
    return line.kind === "lane" ? line.entry.tracks[Math.min(line.entry.tracks.length - 1, Math.floor((y + view.top - line.y - 1) / line.each))] : null;
}

/* Returns the item at a time, or one at most two pixels away, or null. Of a curve, returns the last
 * point up to that time. */
function itemAt(track, time) {
    const items = track && itemsOf(track), near = 2 * dot();
    if (!items)
        return null;
    let i = lowerBound(items.end, time, items.n);
    if (track.lane.kind === "curve")
        i = i < items.n && items.start[i] === time ? i : i - 1;
    else if (i > 0 && (i === items.n || items.start[i] > time) && time - items.end[i - 1] < (i < items.n ? items.start[i] - time : Infinity))
        i--;
    if (i < 0 || i >= items.n || (track.lane.kind !== "curve" && (items.start[i] > time + near || items.end[i] < time - near)))
        return null;
    return describe(track, items, i);
}

function describe(track, items, i) {
    const lane = track.lane;
    return { track, i, start: items.start[i], end: items.end[i], value: items.value[i],
        name: lane.kind === "curve" ? amount(items.value[i]) : lane.values[items.value[i]] };
}

const COMMS = { 1: "MPI_COMM_WORLD", 2: "MPI_COMM_SELF" };

function whereText(row) {
    const group = [...processes, ...nodes].find((p) => p.number === row.process);
    return row.cpu ? `${group.name}, ${row.cpu === "several cpus" ? "threads that may run on several processors" : row.cpu}`
        : `${group.name}, ${threadName(row)} (tid ${row.tid})`;
}

/* Returns the facts of an item as rows of name and text. */
function factsOf(item) {
    const { track } = item, { lane } = track, items = track.items;
    const facts = [["", lane.title], ["where", whereText(rowOf(track))], ["from", exact(item.start)]];
    if (item.end !== item.start || (lane.kind !== "curve" && lane.kind !== "ticks"))
        facts.push(["to", exact(item.end)], ["lasts", `${duration(item.end - item.start)} (${amount(Math.round(item.end - item.start))} ns)`]);
    if (lane.kind !== "calls")
        return facts;
    const [peer, tag, comm] = [items.peer[item.i], items.tag[item.i], items.comm[item.i]];
    facts.push(["bytes", amount(items.bytes[item.i])]);
    if (!isNaN(peer))
        facts.push(["peer", peer === -1 ? "-1 (any source, or none)" : peer < 0 ? `${peer} (none)` : `rank ${peer} of the communicator`]);
    if (!isNaN(tag))
        facts.push(["tag", String(tag)]);
    if (comm)
        facts.push(["communicator", COMMS[comm] || `number ${comm}`]);
    return facts;
}

/* Describes the bin at a time, for a track whose items are missing. */
function binAt(track, time) {
    const bins = track && track.lane.kind !== "curve" ? pick(track, dot()) : null;
    if (!bins || !bins.share)
        return null;
    const i = lowerBound(bins.end, time, bins.n);
    if (i === bins.n || bins.start[i] > time)
        return null;
    const part = track.lane.kind === "ticks" ? `${bins.all[i]}${bins.all[i] === 255 ? " or more" : ""} of them`
        : `${Math.max(1, Math.round(bins.share[i] / 2.55))} % of ${duration(bins.end[i] - bins.start[i])}`;
    return { name: track.lane.values[bins.value[i]], facts: [["", track.lane.title], ["most of it", part], ["from", exact(bins.start[i])], ["", "a summary: zoom in for each"]] };
}

/* --- names ------------------------------------------------------------------------------------ */

/* Finds, by lane, the values whose names contain the text. */
function findNames(text) {
    view.search = text;
    view.matches = null;
    if (text === "") {
        readTheme();
        return;
    }
    view.matches = new Map();
    const wanted = text.toLowerCase();
    for (const lane of meta.lanes) {
        const found = new Set();
        lane.values.forEach((name, value) => name.toLowerCase().includes(wanted) && found.add(value));
        if (found.size && lane.kind !== "curve")
            view.matches.set(lane, found);
    }
    readTheme();
}

/* Returns the boxes of a track that match the search. Returns null if no value of its lane
 * matches, or if its items are missing. */
function hitsOf(track) {
    const found = view.matches && view.matches.get(track.lane), items = found && itemsOf(track);
    if (!items)
        return null;
    if (track.hits && track.hits.found === found)
        return track.hits;
    let n = 0;
    for (let i = 0; i < items.n; i++)
        n += found.has(items.value[i]) ? 1 : 0;
    const hits = track.hits = { found, n, start: new Float64Array(n), end: new Float64Array(n), value: new Uint32Array(n) };
    for (let i = 0, k = 0; i < items.n; i++) {
        if (!found.has(items.value[i]))
            continue;
        hits.start[k] = items.start[i];
        hits.end[k] = items.end[i];
        hits.value[k++] = items.value[i];
    }
    return hits;
}

/* Calls tell(track, items, i) for each box that matches the search in the rows that are shown. */
function eachHit(tell) {
    for (const track of tracks) {
        if (cpus.has(track.thread) !== view.processors)
            continue;
        const found = view.matches && view.matches.get(track.lane), items = found && !view.hidden.has(track.lane.number) && itemsOf(track);
        for (let i = 0; items && i < items.n; i++)
            if (found.has(items.value[i]))
                tell(track, items, i);
    }
}

/* Finds the hit after `item`, or after the time `begin` if item is null; or the hit before it.
 * Hits are ordered by time, then by track. Returns the hit (null: none), its place and the
 * number of hits. */
function hitBeside(item, forward, begin) {
    const time = item ? item.start : begin, rank = item ? tracks.indexOf(item.track) : forward ? -1 : 1e9;
    let best = null, bestTime = 0, bestRank = 0, count = 0, before = 0;
    const order = new Map(tracks.map((t, i) => [t, i]));
    eachHit((track, items, i) => {
        count++;
        const start = items.start[i], r = order.get(track), same = start === time && r === rank && item && i === item.i;
        const after = !same && (start > time || (start === time && (r > rank || (r === rank && item && i > item.i))));
        before += after || same ? 0 : 1;
        if (same || after !== forward)
            return;
        const nearer = best === null || (forward ? start < bestTime || (start === bestTime && r < bestRank) : start > bestTime || (start === bestTime && r >= bestRank));
        if (nearer)
            [best, bestTime, bestRank] = [describe(track, items, i), start, r];
    });
    return { hit: best, count, place: forward ? before + (item && best ? 2 : 1) : before };
}
