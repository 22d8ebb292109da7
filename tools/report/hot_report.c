/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace report --hot`: reads the samples of a run and shows them. */
#include "tools/open_run.h"
#include "tools/report/hot.h"
#include "tools/report/options.h"

static int hot_rank(struct hot *h, const struct report_options *o, const struct rt_run *run,
                    size_t i)
{
    struct rt_rank *rank = NULL;
    struct rt_error e = {{0}};
    int rc = rt_rank_open(&rank, run, i, &e);
    if (rc == 0 && rank_list_has(&o->ranks, rt_rank_info(rank)->rank))
        rc = hot_collect(h, rank, &o->windows, &e);
    rt_rank_close(rank);
    if (rc != 0)
        tool_error("report", "%s: %s", rt_run_file(run, i), e.text);
    return rc;
}

int report_hot(const struct report_options *o, const char *path)
{
    struct hot h = {0};
    struct progress p;
    int code = TOOL_OK;
    struct rt_run *run = tool_open_run("report", path, o->wait);
    if (run == NULL)
        return TOOL_FAILURE;
    progress_begin(&p, "reading samples");
    for (size_t i = 0; i < rt_run_count(run); i++) {
        if (hot_rank(&h, o, run, i) != 0)
            code = TOOL_FAILURE;
        progress_update(&p, i + 1, rt_run_count(run));
    }
    progress_end(&p);
    if (hot_resolve(&h) != 0) {
        tool_error("report", "out of memory");
        code = TOOL_FAILURE;
    } else if (o->folded && h.sample_count == 0) {
        tool_warning("report", "%s: no samples: they need -sample (REGTRACE_SAMPLE)", path);
    } else if (o->folded) {
        code = hot_print_folded(stdout, &h) == 0 ? code : TOOL_FAILURE;
    } else if (o->json) {
        hot_print_json(stdout, &h);
    } else {
        hot_print_text(stdout, &h, (size_t)o->top);
    }
    hot_free(&h);
    rt_run_close(run);
    return code;
}
