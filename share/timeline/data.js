/* SPDX-License-Identifier: BSD-3-Clause
 * Holds the run: what items mean, and the items, which arrive piece by piece.
 * tools/timeline/tracks.h, page.c and message_lines.h define the encoding. In the page of
 * `regtrace page`, this page is in a frame, and the document around it has the data. */
const isFramed = window.frameElement !== null, source = isFramed ? parent.document : document;
const meta = JSON.parse(source.getElementById("meta").textContent);

const store = { bytes: new Uint8Array(meta.bytes), ready: 0, done: meta.bytes === 0 };

for (const lane of meta.lanes)
    if (lane.name === "region.window")
        lane.title = "Window"; /* the page shows ordinals, not the channel's values */

/* Returns the name of a value for narrow places. */
function shortText(lane, value) {
    return lane.short[value] || lane.values[value];
}

const lanes = new Map(meta.lanes.map((lane) => [lane.number, lane]));

const tracks = meta.tracks.map((t) => {
    const track = { thread: t[0], lane: lanes.get(t[1]), depth: t[2], count: t[3], at: t[4], size: t[5], levels: [], items: null };
    for (let i = 6; i < t.length; i += 4)
        track.levels.push({ width: t[i], count: t[i + 1], at: t[i + 2], size: t[i + 3], bins: null });
    return track;
});

/* Decodes a piece of base64. */
function bytesOf(text) {
    if (Uint8Array.fromBase64)
        return Uint8Array.fromBase64(text);
    const plain = atob(text), bytes = new Uint8Array(plain.length);
    for (let i = 0; i < bytes.length; i++)
        bytes[i] = plain.charCodeAt(i);
    return bytes;
}

/* Inflates the data of the page into `store`. Calls arrived() as bytes become ready. */
async function load(arrived) {
    if (typeof DecompressionStream === "undefined")
        throw new Error("this browser cannot inflate data (DecompressionStream); Firefox 113, Chromium 80, Safari 16.4 and later can");
    const text = source.getElementById("data").textContent, piece = 1 << 20;
    const stream = new DecompressionStream("deflate"), writer = stream.writable.getWriter(), reader = stream.readable.getReader();
    const feed = async () => {
        for (let i = 0; i < text.length; i += piece)
            await writer.write(bytesOf(text.slice(i, i + piece)));
        await writer.close();
    };
    const fed = feed();
    fed.catch(() => {});
    for (let shown = 0; ;) {
        const got = await reader.read();
        if (got.done)
            break;
        store.bytes.set(got.value, store.ready);
        store.ready += got.value.length;
        if (performance.now() - shown > 200) {
            shown = performance.now();
            arrived();
        }
    }
    await fed;
    if (store.ready !== meta.bytes)
        throw new Error(`the data of this page is not whole: ${store.ready} of ${meta.bytes} bytes`);
    store.done = true;
    arrived();
}

let place = 0;

function number() {
    const bytes = store.bytes;
    let byte = bytes[place++], value = byte & 127;
    for (let unit = 128; byte > 127; unit *= 128) {
        byte = bytes[place++];
        value += (byte & 127) * unit;
    }
    return value;
}

function signed() {
    const value = number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/* Reads a number that may be absent: NaN. */
function optional() {
    const value = number();
    return value === 0 ? NaN : (value - 1) % 2 === 0 ? (value - 1) / 2 : -value / 2;
}

/* Returns the items of a track, or null if they have not arrived or the page lacks them. Times are
 * ns. */
function itemsOf(track) {
    if (track.items || track.size === 0 || track.at + track.size > store.ready)
        return track.items;
    const n = track.count, kind = track.lane.kind, calls = kind === "calls", curve = kind === "curve", points = curve || kind === "ticks";
    const start = new Float64Array(n), end = points ? start : new Float64Array(n);
    const value = curve ? new Float64Array(n) : new Uint32Array(n);
    const bytes = calls ? new Float64Array(n) : null, peer = calls ? new Float32Array(n) : null;
    const tag = calls ? new Float64Array(n) : null, comm = calls ? new Uint16Array(n) : null;
    let time = 0, last = 0;
    place = track.at;
    for (let i = 0; i < n; i++) {
        time += number();
        start[i] = time;
        if (!points) {
            time += number();
            end[i] = time;
        }
        value[i] = last = curve ? last + signed() : number();
        if (calls) {
            bytes[i] = number();
            peer[i] = optional();
            tag[i] = optional();
            comm[i] = number();
        }
    }
    track.items = { n, start, end, value, bytes, peer, tag, comm };
    return track.items;
}

/* Returns the bins of a level, or null if they have not arrived. Times are ns. */
function binsOf(track, level) {
    if (level.bins || level.at + level.size > store.ready)
        return level.bins;
    const n = level.count, curve = track.lane.kind === "curve", width = level.width;
    const start = new Float64Array(n), end = new Float64Array(n), value = curve ? new Float64Array(n) : new Uint32Array(n);
    const share = new Uint8Array(curve ? 0 : n), all = new Uint8Array(curve ? 0 : n);
    const least = new Float64Array(curve ? n : 0), most = new Float64Array(curve ? n : 0);
    let bin = 0, last = 0;
    place = level.at;
    for (let i = 0; i < n; i++) {
        bin += number();
        start[i] = meta.from + bin * width;
        if (curve) {
            bin++;
            value[i] = last += signed();
            least[i] = last - number();
            most[i] = last + number();
        } else {
            bin += number();
            value[i] = number();
            share[i] = store.bytes[place++];
            all[i] = store.bytes[place++];
        }
        end[i] = meta.from + bin * width;
    }
    level.bins = { n, start, end, value, share, all, least, most, width };
    return level.bins;
}

/* Returns what to draw a track from if a pixel is `dot` ns wide: the widest bins that fit a
 * pixel, or else the items. Data that have not arrived are replaced by the finest that have.
 * Returns null if nothing has arrived. */
function pick(track, dot) {
    let best = null;
    for (const level of track.levels) {
        best = binsOf(track, level) || best;
        if (best !== null && best.width <= dot)
            return best;
    }
    return itemsOf(track) || best;
}

/* Returns the index of the first of n sorted values that is >= x, or n. */
function lowerBound(values, x, n) {
    let low = 0, high = n;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (values[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
