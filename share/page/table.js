/* SPDX-License-Identifier: BSD-3-Clause
 * Tables that are sorted by a click on a head, and that show their first rows until all are asked
 * for. */
const SHOWN = 20;
const sheets = [];

/* Shows a row by its id: extends the table that holds it. Returns the element, or null. */
function revealRow(id) {
    const sheet = document.getElementById(id) ? null : sheets.find((s) => s.has(id));
    if (sheet) sheet.showAll();
    return document.getElementById(id);
}

/* Makes a table.
 *
 * columns: { head, value(row), show(row), kind } each. value: what it is sorted by, and shown
 * unless there is show(). kind: "text", "path" or "bar" (a share of the most in the column);
 * else a number.
 * options: caption, id(row): the id of a row, shown: how many rows, title. */
function sheet(columns, rows, options = {}) {
    let sorted = rows,
        all = rows.length <= (options.shown || SHOWN) + 2,
        by = null,
        down = true;
    const peaks = columns.map((c) =>
        c.kind === "bar" ? Math.max(...rows.map((r) => c.value(r) || 0), 0) : 0,
    );
    const ids = options.id ? new Set(rows.map(options.id)) : new Set();
    const heads = columns.map((c, i) =>
        element(
            "th",
            { scope: "col", class: c.kind === "text" || c.kind === "path" ? "text" : false },
            c.kind === "bar"
                ? ""
                : element("button", { onclick: () => sort(i), title: `sort by ${c.head}` }, c.head),
        ),
    );
    const body = element("tbody"),
        more = element(
            "button",
            {
                onclick: () => {
                    all = true;
                    fill();
                },
            },
            `Show all ${amount(rows.length)}`,
        );

    function cell(column, i, row) {
        if (column.kind === "bar")
            return element(
                "td",
                { class: "bar-cell" },
                column.value(row) > 0
                    ? element("span", {
                          class: "bar",
                          style: `width:${(column.value(row) / peaks[i]) * 64}px`,
                      })
                    : "",
            );
        const shown = column.show ? column.show(row) : column.value(row);
        return element(
            "td",
            { class: column.kind || false },
            ...(Array.isArray(shown)
                ? shown
                : [shown === null || shown === undefined ? "-" : shown]),
        );
    }
    function fill() {
        const some = all ? sorted : sorted.slice(0, options.shown || SHOWN);
        body.replaceChildren(
            ...some.map((row) =>
                element(
                    "tr",
                    { id: options.id ? options.id(row) : false },
                    ...columns.map((c, i) => cell(c, i, row)),
                ),
            ),
        );
        more.hidden = all;
    }
    function sort(i) {
        down = by === i ? !down : columns[i].kind !== "text" && columns[i].kind !== "path";
        by = i;
        const of = columns[i].value,
            sign = down ? -1 : 1,
            rank = (v) => (v === null || v === undefined ? -Infinity : v);
        sorted = [...rows].sort(
            (a, b) => sign * (rank(of(a)) < rank(of(b)) ? -1 : rank(of(a)) > rank(of(b)) ? 1 : 0),
        );
        heads.forEach((h, k) =>
            k === i
                ? h.setAttribute("aria-sort", down ? "descending" : "ascending")
                : h.removeAttribute("aria-sort"),
        );
        fill();
    }
    fill();
    sheets.push({
        has: (id) => ids.has(id),
        showAll: () => {
            all = true;
            fill();
        },
    });
    return element(
        "div",
        { class: "sheet" },
        element(
            "table",
            {},
            options.caption ? element("caption", {}, options.caption) : "",
            element("thead", {}, element("tr", {}, ...heads)),
            body,
        ),
        more,
    );
}
