/* SPDX-License-Identifier: BSD-3-Clause
 * Writes a comparison of two runs as one page that a browser opens without a network: tables that
 * are sorted by their columns and filtered by a text. */
#include "tools/diff/diff.h"

#include "tools/json.h"

#include <inttypes.h>
#include <math.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>regtrace diff</title>\n"
    "<style>\n"
    "body{font:14px/1.4 sans-serif;margin:1.5em;color:#222}\n"
    "h2{font-size:1.1em;margin:1.6em 0 .4em}\n"
    "table{border-collapse:collapse}\n"
    "th{cursor:pointer;text-align:right;border-bottom:1px solid #888}\n"
    "th,td{padding:.1em .6em;white-space:nowrap}\n"
    "td{text-align:right;font-variant-numeric:tabular-nums}\n"
    "th:first-child,td:first-child{text-align:left;white-space:normal;min-width:20em}\n"
    "tr:hover td{background:#eef}\n"
    ".more,.less,.sure{font-weight:bold}.more{color:#b00020}.less{color:#00701a}\n"
    ".hidden{display:none}\n"
    "</style></head><body>\n";

/* Without a script the tables are as they are. */
static const char tail[] =
    "<script>\n"
    "'use strict';\n"
    "const cells = (row, i) => row.children[i].dataset.v ?? row.children[i].textContent;\n"
    "for (const table of document.querySelectorAll('table')) {\n"
    "  const body = table.tBodies[0];\n"
    "  table.tHead.rows[0].addEventListener('click', event => {\n"
    "    const th = event.target.closest('th'), i = th.cellIndex;\n"
    "    const down = th.dataset.down = th.dataset.down === '1' ? '' : '1';\n"
    "    const order = (a, b) => i === 0 ? cells(b, i).localeCompare(cells(a, i))\n"
    "                                 : cells(a, i) - cells(b, i);\n"
    "    body.append(...[...body.rows].sort((a, b) => down ? order(b, a) : order(a, b)));\n"
    "  });\n"
    "}\n"
    "const sure = document.getElementById('sure'), find = document.getElementById('find');\n"
    "const hide = (element, is) => element.classList.toggle('hidden', is);\n"
    "function filter() {\n"
    "  const text = find.value.toLowerCase();\n"
    "  let left = 0;\n"
    "  for (const table of document.querySelectorAll('table')) {\n"
    "    let rows = 0;\n"
    "    for (const row of table.tBodies[0].rows) {\n"
    "      const has = row.firstElementChild.textContent.toLowerCase().includes(text);\n"
    "      hide(row, !has || sure.checked && !row.classList.contains('any'));\n"
    "      rows += !row.classList.contains('hidden');\n"
    "    }\n"
    "    hide(table, rows === 0);\n"
    "    hide(table.previousElementSibling, rows === 0);\n"
    "    left += rows;\n"
    "  }\n"
    "  hide(document.getElementById('none'), left > 0);\n"
    "}\n"
    "sure.addEventListener('change', filter);\n"
    "find.addEventListener('input', filter);\n"
    "</script></body></html>\n";

/* sorted: by what the column is sorted; NAN comes last. */
static void write_number(FILE *out, const char *kind, double sorted, const char *text)
{
    (void)fprintf(out, "<td class=\"%s\" data-v=\"%.17g\">%s</td>", kind,
                  isnan(sorted) ? -1e308 : sorted, text);
}

static void write_figure(FILE *out, const struct diff_figure *f, enum diff_quantity q)
{
    char text[32], difference[40];
    double x = f->value[1] - f->value[0], percent = diff_percent(f);
    const char *kind = !f->is_significant ? "" : q != DIFF_TIME ? "sure" : x > 0 ? "more" : "less";
    if (f->value[0] == 0 && f->value[1] == 0) {
        (void)fputs("<td data-v=\"0\">-</td><td data-v=\"0\">-</td><td data-v=\"0\"></td>"
                    "<td data-v=\"0\"></td><td data-v=\"0\"></td>",
                    out);
        return;
    }
    write_number(out, "", f->value[0], diff_value_text(text, q, f->value[0]));
    write_number(out, "", f->value[1], diff_value_text(text, q, f->value[1]));
    write_number(out, kind, x, diff_difference_text(difference, q, f));
    write_number(out, kind, f->value[0] > 0 ? percent : 1e308, diff_change_text(text, f));
    write_number(out, "", f->noise, isnan(f->noise) ? "?" : diff_value_text(text, q, f->noise));
}

static void write_row(FILE *out, const struct diff_row *r, const bool has[DIFF_QUANTITIES])
{
    bool any = false;
    for (int q = 0; q < DIFF_QUANTITIES; q++)
        any |= r->of[q].is_significant;
    (void)fputs(any ? "<tr class=\"any\"><td>" : "<tr><td>", out);
    text_write_markup(out, diff_row_text(r));
    (void)fputs("</td>", out);
    for (int q = 0; q < DIFF_QUANTITIES; q++)
        if (has[q])
            write_figure(out, &r->of[q], (enum diff_quantity)q);
    (void)fputs("</tr>\n", out);
}

static void write_table(FILE *out, const struct diff *d, enum diff_table table)
{
    const char *const heads[DIFF_QUANTITIES] = {"time", diff_count_name(table), "bytes"};
    bool has[DIFF_QUANTITIES], any = false;
    for (int q = 0; q < DIFF_QUANTITIES; q++) {
        has[q] = diff_has(d, table, (enum diff_quantity)q);
        any |= has[q];
    }
    if (!any)
        return;
    (void)fprintf(out, "<h2>%s</h2>\n<table id=\"%s\"><thead><tr><th></th>",
                  diff_table_title(table), diff_table_name(table));
    for (int q = 0; q < DIFF_QUANTITIES; q++)
        if (has[q])
            (void)fprintf(out,
                          "<th>%s 1</th><th>%s 2</th><th>difference</th><th>change</th>"
                          "<th>noise</th>",
                          heads[q], heads[q]);
    (void)fputs("</tr></thead><tbody>\n", out);
    for (size_t i = 0; i < d->row_count; i++)
        if (d->rows[i].table == table)
            write_row(out, &d->rows[i], has);
    (void)fputs("</tbody></table>\n", out);
}

static void write_run(FILE *out, const struct diff *d, int run)
{
    (void)fprintf(out, "<p>run %d: ", run + 1);
    text_write_markup(out, d->run[run].report.dir);
    (void)fprintf(out,
                  "; %" PRIu32 " processes, %zu windows; not compared: ", d->run[run].processes,
                  d->run[run].window_count);
    if (diff_left_out(d, run) == 0)
        (void)fputs("none", out);
    diff_write_left_out(out, d, run);
    (void)fputs("</p>\n", out);
}

void diff_print_html(FILE *out, const struct diff *d)
{
    (void)fputs(head, out);
    (void)fputs("<h1>regtrace diff</h1>\n", out);
    write_run(out, d, 0);
    write_run(out, d, 1);
    (void)fprintf(out,
                  "<p>%zu windows of both compared%s. %s In the tables the marked ones are "
                  "bold.</p>\n",
                  d->window_count, d->is_per_rank ? ", by their means over processes" : "",
                  diff_noise_text(d));
    if (diff_chains_differ(d))
        (void)fputs("<p><b>" DIFF_CHAINS_DIFFER "</b></p>\n", out);
    (void)fputs("<p>Click on a column to sort by it. <label><input type=\"checkbox\" id=\"sure\"> "
                "only marked rows</label> <label>with the text "
                "<input id=\"find\"></label></p>\n"
                "<p id=\"none\" class=\"hidden\">No row of any table matches.</p>\n",
                out);
    for (int table = 0; table < DIFF_TABLES; table++)
        write_table(out, d, (enum diff_table)table);
    (void)fputs(tail, out);
}
