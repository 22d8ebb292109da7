/* SPDX-License-Identifier: BSD-3-Clause
 * What the pages of `regtrace timeline` and `regtrace page` share: elements, and numbers as text. */
function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {}))
        if (key === "style") /* the page allows styles only as properties */
            made.style.cssText = value;
        else if (key.startsWith("on"))
            made.addEventListener(key.slice(2), value);
        else if (value !== false)
            made.setAttribute(key, value);
    made.append(...children);
    return made;
}

const UNITS = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]];

/* Returns a duration with four significant digits. */
function duration(ns) {
    for (const [name, size] of UNITS)
        if (Math.abs(ns) >= size || size === 1)
            return `${size === 1 ? Math.round(ns) : (ns / size).toPrecision(4)} ${name}`;
    return "0 ns";
}

/* Returns a time exact to the ns: "1.234 567 890 s". */
function exact(ns) {
    const whole = Math.round(ns), sign = whole < 0 ? "-" : "", all = Math.abs(whole);
    const rest = String(all % 1e9).padStart(9, "0");
    return `${sign}${Math.floor(all / 1e9)}.${rest.slice(0, 3)} ${rest.slice(3, 6)} ${rest.slice(6)} s`;
}

function amount(n) {
    return n.toLocaleString("en-US");
}

function percent(part, of) {
    return of > 0 ? (100 * part / of).toFixed(1) + " %" : "-";
}
