/* SPDX-License-Identifier: BSD-3-Clause
 * Paints the plot. Boxes, bins, ticks and curves are written into pixels directly, about as many as
 * there are pixels at most; then come texts, and the selection. */

/* --- colours ---------------------------------------------------------------------------------- */

const theme = { dark: false, back: 0, line: 0, mixed: 0, front: "#000", faint: "#000", select: "", accent: "#000" };

function colourOf(lane, value) {
    return lane.colours[value] || "#808080";
}

function parse(colour) {
    const n = parseInt(colour.slice(1), 16);
    return [n >> 16, n >> 8 & 255, n & 255];
}

/* Returns the colour as a pixel holds it (little-endian), mixed with some of the background. */
function packed(rgb, back, part) {
    const mix = (i) => Math.round(rgb[i] * part + back[i] * (1 - part));
    return (255 << 24 | mix(2) << 16 | mix(1) << 8 | mix(0)) >>> 0;
}

/* By lane, the colours of its values: fill, edge (darker) and text. Values that do not match the
 * search are pale. */
let paints = new Map();

function paintOf(lane) {
    let paint = paints.get(lane);
    if (paint)
        return paint;
    const n = Math.max(lane.values.length, 1), back = parse(theme.backText);
    paint = { fill: new Uint32Array(n), edge: new Uint32Array(n), text: new Array(n) };
    const matches = view.matches && view.matches.get(lane);
    for (let v = 0; v < n; v++) {
        const rgb = parse(colourOf(lane, v)), on = !view.matches || (matches && matches.has(v));
        const strength = on ? 1 : 0.25;
        paint.fill[v] = packed(rgb, back, lane.values[v] === "Tracing Disabled" ? 0.5 * strength : strength);
        paint.edge[v] = packed(rgb.map((c) => c * 0.62), back, strength);
        const light = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
        paint.text[v] = !on ? theme.faint : light > 125 ? "#000000" : "#ffffff";
    }
    paints.set(lane, paint);
    return paint;
}

function readTheme() {
    const style = getComputedStyle(document.documentElement), get = (name) => style.getPropertyValue(name).trim();
    theme.backText = get("--back");
    theme.back = packed(parse(theme.backText), [0, 0, 0], 1);
    theme.line = packed(parse(get("--line")), [0, 0, 0], 1);
    theme.soft = packed(parse(get("--soft")), [0, 0, 0], 1);
    theme.mixed = packed(parse(get("--faint")), parse(theme.backText), view.matches ? 0.15 : 0.55);
    theme.curve = packed(parse(get("--accent")), [0, 0, 0], 1);
    theme.front = get("--front");
    theme.faint = get("--faint");
    theme.accent = get("--accent");
    theme.select = get("--select");
    paints = new Map();
}

/* --- pixels ----------------------------------------------------------------------------------- */

const plot = document.getElementById("plot"), ruler = document.getElementById("ruler");
const canvas = plot.getContext("2d", { alpha: false });
let image = null, dots = null, wide = 0, high = 0, ratio = 1;
let texts = [];

function resizePlot() {
    ratio = window.devicePixelRatio || 1;
    wide = Math.max(1, Math.round(view.width * ratio));
    high = Math.max(1, Math.round(view.height * ratio));
    for (const [element, height] of [[plot, view.height], [ruler, 34]]) {
        element.style.width = view.width + "px";
        element.style.height = height + "px";
        element.width = wide;
        element.height = Math.round(height * ratio);
    }
    image = canvas.createImageData(wide, high);
    dots = new Uint32Array(image.data.buffer);
}

function fill(x0, x1, y0, y1, colour) {
    y0 = Math.max(y0, 0);
    y1 = Math.min(y1, high);
    if (x1 - x0 < 4) {
        for (let y = y0; y < y1; y++)
            for (let i = y * wide + x0, end = y * wide + x1; i < end; i++)
                dots[i] = colour;
    } else {
        for (let y = y0; y < y1; y++)
            dots.fill(colour, y * wide + x0, y * wide + x1);
    }
}

/* --- tracks ----------------------------------------------------------------------------------- */

function paintItems(items, lane, y0, y1, scale) {
    const { start, end, value } = items, paint = paintOf(lane);
    let last = -1, lastTime = 0;
    for (let i = lowerBound(end, view.from, items.n); i < items.n && start[i] <= view.to; i++) {
        const x0 = Math.max(0, Math.floor((start[i] - view.from) * scale)), x1 = Math.min(wide, Math.max(x0 + 1, Math.round((end[i] - view.from) * scale)));
        const time = end[i] - start[i];
        if (x0 >= wide || (x0 === last && x1 === x0 + 1 && time <= lastTime))
            continue;
        last = x0;
        lastTime = time;
        fill(x0, x1, y0, y1, paint.fill[value[i]]);
        if (x1 - x0 > 2 * ratio)
            fill(x0, x0 + 1, y0, y1, paint.edge[value[i]]);
        if (x1 - x0 > 22 * ratio && y1 - y0 >= 11 * ratio)
            texts.push([shortText(lane, value[i]), x0, x1, y0, y1, paint.text[value[i]]]);
    }
}

/* A pixel column shows the fullest of its bins: from the bottom the value that fills it most,
 * then all others in grey. */
function paintBins(bins, lane, y0, y1, scale) {
    const { start, end, value, share, all } = bins, paint = paintOf(lane), height = y1 - y0;
    let last = -1, lastAll = 0;
    for (let i = lowerBound(end, view.from, bins.n); i < bins.n && start[i] <= view.to; i++) {
        const x0 = Math.max(0, Math.floor((start[i] - view.from) * scale)), x1 = Math.min(wide, Math.max(x0 + 1, Math.floor((end[i] - view.from) * scale)));
        if (x0 >= wide || (x0 === last && x1 === x0 + 1 && all[i] <= lastAll))
            continue;
        last = x0;
        lastAll = all[i];
        const of = Math.max(1, Math.round(height * share[i] / 255)), whole = Math.max(of, Math.round(height * all[i] / 255));
        fill(x0, x1, y1 - of, y1, paint.fill[value[i]]);
        fill(x0, x1, y0, y1 - whole, theme.back);
        if (whole > of)
            fill(x0, x1, y1 - whole, y1 - of, theme.mixed);
        if (x1 - x0 > 22 * ratio && height >= 11 * ratio && share[i] === 255)
            texts.push([shortText(lane, value[i]), x0, x1, y0, y1, paint.text[value[i]]]);
    }
}

/* Shows hits of the search also where they do not fill most of a bin. One hit per pixel column is
 * enough. */
function paintHits(track, lane, y0, y1, scale) {
    const hits = hitsOf(track), paint = paintOf(lane);
    for (let i = hits ? lowerBound(hits.end, view.from, hits.n) : 0; hits && i < hits.n && hits.start[i] <= view.to;) {
        const x0 = Math.max(0, Math.floor((hits.start[i] - view.from) * scale)), x1 = Math.min(wide, Math.max(x0 + 1, Math.floor((hits.end[i] - view.from) * scale)));
        if (x0 >= wide)
            return;
        fill(x0, x1, y0, y1, paint.fill[hits.value[i]]);
        const next = lowerBound(hits.end, view.from + x1 / scale, hits.n);
        i = next > i ? next : i + 1;
    }
}

function paintTicks(data, lane, y0, y1, scale) {
    const { start, end, value } = data, paint = paintOf(lane), bins = data.share !== undefined;
    const thick = Math.max(1, Math.round(ratio));
    for (let i = lowerBound(end, view.from, data.n); i < data.n && start[i] <= view.to; i++) {
        const x0 = Math.max(0, Math.floor((start[i] - view.from) * scale));
        if (x0 < wide)
            fill(x0, Math.min(wide, x0 + thick), bins && data.all[i] < 2 ? y0 + 1 : y0, y1, paint.fill[value[i]]);
    }
}

/* Returns [least, most] of a curve, from its coarsest data. */
function rangeOf(track) {
    if (track.range)
        return track.range;
    const data = pick(track, Infinity);
    if (!data)
        return [0, 1];
    let least = 0, most = 1;
    for (let i = 0; i < data.n; i++) {
        least = Math.min(least, data.least ? data.least[i] : data.value[i]);
        most = Math.max(most, data.most ? data.most[i] : data.value[i]);
    }
    return track.range = [least, most];
}

/* A value holds until the next one. */
function paintCurve(data, track, y0, y1, scale) {
    const [least, most] = rangeOf(track), height = y1 - y0 - 2;
    const yOf = (v) => y1 - 1 - Math.round((v - least) / (most - least) * height);
    let i = Math.max(0, lowerBound(data.start, view.from, data.n) - 1), y = null, x = 0;
    for (; i < data.n && data.start[i] <= view.to; i++) {
        const at = Math.min(wide - 1, Math.max(0, Math.floor((data.start[i] - view.from) * scale)));
        const now = yOf(data.value[i]), high = data.most ? yOf(data.most[i]) : now, low = data.least ? yOf(data.least[i]) : now;
        if (y !== null)
            fill(x, at + 1, y, y + 1, theme.curve);
        fill(at, at + 1, Math.min(high, y === null ? high : y), Math.max(low, y === null ? low : y) + 1, theme.curve);
        x = at;
        y = now;
    }
    if (y !== null)
        fill(x, Math.round(Math.min(wide, (whole.to - view.from) * scale)), y, y + 1, theme.curve);
}

function paintTrack(track, lane, y0, y1) {
    const ns = dot() / ratio, data = track && pick(track, ns);
    if (!data || y1 <= 0 || y0 >= high)
        return;
    if (lane.kind === "curve")
        paintCurve(data, track, y0, y1, 1 / ns);
    else if (lane.kind === "ticks")
        paintTicks(data, lane, y0, y1, 1 / ns);
    else if (data.share) {
        paintBins(data, lane, y0, y1, 1 / ns);
        paintHits(track, lane, y0, y1, 1 / ns);
    }
    else
        paintItems(data, lane, y0, y1, 1 / ns);
}

function paintLine(line) {
    const at = (y) => Math.round((line.y - view.top + y) * ratio);
    if (line.kind === "process")
        fill(0, wide, Math.max(0, at(0)), at(0) + 1, theme.line);
    if (line.kind === "closed") {
        fill(0, wide, Math.max(0, at(0)), at(0) + 1, theme.line);
        for (const part of line.parts) {
            const [top, bottom] = part.lane.name === "region.window" ? [2, 5] : part.lane.name === "mpi.activity" ? [17, 20] : [5, 17];
            paintTrack(part.tracks[0], part.lane, at(top), at(bottom));
        }
    }
    if (line.kind === "lane")
        line.entry.tracks.forEach((track, depth) => paintTrack(track, line.entry.lane, at(1 + depth * line.each), at((depth + 1) * line.each)));
}

/* --- texts and overlays ----------------------------------------------------------------------- */

const TEXTS_MAX = 600;

function paintTexts() {
    canvas.setTransform(1, 0, 0, 1, 0, 0);
    canvas.font = `${Math.round(10.5 * ratio)}px system-ui, "DejaVu Sans", sans-serif`;
    canvas.textBaseline = "middle";
    const letter = 5.9 * ratio;
    if (texts.length > TEXTS_MAX) /* keep the widest boxes */
        texts = texts.sort((a, b) => b[2] - b[1] - (a[2] - a[1])).slice(0, TEXTS_MAX);
    for (const [text, x0, x1, y0, y1, colour] of texts) {
        const room = Math.floor((x1 - x0 - 5 * ratio) / letter);
        if (room < 2)
            continue;
        canvas.fillStyle = colour;
        canvas.fillText(text.length <= room ? text : text.slice(0, room - 1) + "\u2026", x0 + 3 * ratio, (y0 + y1) / 2 + ratio, x1 - x0 - 4 * ratio);
    }
    texts = [];
}

function paintSelection(context, height) {
    if (!view.selected)
        return;
    const x0 = xOf(view.selected.from) * ratio, x1 = xOf(view.selected.to) * ratio;
    context.fillStyle = theme.select;
    context.fillRect(x0, 0, Math.max(1, x1 - x0), height);
    context.fillStyle = theme.accent;
    context.fillRect(Math.round(x0), 0, 1, height);
    context.fillRect(Math.round(x1), 0, 1, height);
}

function paintChosen() {
    const chosen = view.item;
    const line = chosen && lines.find((l) => l.kind === "lane" && l.entry.tracks[chosen.track.depth] === chosen.track);
    if (!line)
        return;
    const x0 = xOf(chosen.start) * ratio, x1 = Math.max(x0 + 3, xOf(chosen.end) * ratio), y = (line.y - view.top + 1 + chosen.track.depth * line.each) * ratio;
    canvas.strokeStyle = theme.front;
    canvas.lineWidth = 2 * ratio;
    canvas.strokeRect(x0, y, x1 - x0, (line.each - 1) * ratio);
}

function paintRuler() {
    const context = ruler.getContext("2d"), height = ruler.height;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, wide, height);
    const least = dot() * 110;
    let step = Math.pow(10, Math.floor(Math.log10(least)));
    step *= [1, 2, 5, 10].find((f) => f * step >= least);
    step = Math.max(step, 1);
    const [unit, size] = UNITS.find(([, s]) => Math.max(view.to - view.from, 1) >= s * 0.9) || UNITS[3];
    const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
    context.font = `${Math.round(11 * ratio)}px system-ui, "DejaVu Sans", sans-serif`;
    context.textBaseline = "top";
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
        const x = Math.round(xOf(t) * ratio);
        context.fillStyle = theme.faint;
        context.fillRect(x, height - 8 * ratio, 1, 8 * ratio);
        context.fillStyle = theme.front;
        context.fillText(`${(t / size).toFixed(digits)} ${unit}`, x + 4 * ratio, 8 * ratio);
    }
    paintSelection(context, height);
}

/* Paints everything. Returns the ms that it took. */
function paint() {
    const begun = performance.now();
    dots.fill(theme.back);
    for (const line of lines)
        if (line.y + line.height > view.top && line.y < view.top + view.height)
            paintLine(line);
    canvas.putImageData(image, 0, 0);
    paintTexts();
    paintSelection(canvas, high);
    paintChosen();
    paintMessages();
    paintRuler();
    return performance.now() - begun;
}
