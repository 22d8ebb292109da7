/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace report --hot`: shows the samples of a run. */
#include "tools/open_run.h"
#include "tools/report/hot/hot.h"
#include "tools/report/report_options.h"

#include <errno.h>

static int print_hot(const struct report_options *o, const char *path, const struct hot *h)
{
    if (o->folded && h->sample_count > 0)
        return hot_print_folded(stdout, h);
    if (o->folded)
        tool_warning("report", "%s: no samples: %s", path, hot_why_none(h));
    else if (o->json)
        hot_print_json(stdout, h);
    else
        hot_print_text(stdout, h, (size_t)o->top);
    return 0;
}

static void skip(void *context, const char *file, const char *why)
{
    (void)context;
    tool_error("report", "%s: %s", file, why);
}

int report_hot(const struct report_options *o, const char *path)
{
    static const struct skipped_files skipped = {.skip = skip};
    struct hot h = {0};
    struct rt_run *run = tool_open_run("report", path, o->wait);
    if (run == NULL)
        return TOOL_FAILURE;
    int rc = hot_collect_run(&h, run, &o->ranks, &o->windows, &skipped);
    bool is_unknown = rc != 0 && h.asked[0] == '\0' && !o->json; /* perhaps of unread files */
    if (rc == -ENOMEM)
        tool_error("report", "out of memory");
    else if (!is_unknown)
        rc = print_hot(o, path, &h) == 0 ? rc : -ENOMEM;
    hot_free(&h);
    rt_run_close(run);
    return rc == 0 ? TOOL_OK : TOOL_FAILURE;
}
