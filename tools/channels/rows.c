/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the threads, nodes and processors of a run. */
#include "tools/channels/models.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

static int add_node(struct event_replay *r, const char *host, uint32_t *node, struct rt_error *e)
{
    for (*node = 0; *node < r->node_count; ++*node)
        if (strcmp(r->nodes[*node], host) == 0)
            return 0;
    const char **more = realloc((void *)r->nodes, (r->node_count + 1u) * sizeof *more);
    if (more == NULL)
        return replay_no_memory(e);
    r->nodes = more;
    r->nodes[r->node_count++] = host;
    return 0;
}

static int make_threads(struct event_replay *r, struct rt_error *e)
{
    r->all = streams_all(r->streams, &r->thread_count);
    r->threads = calloc(r->thread_count + 1u, sizeof *r->threads);
    r->rows = calloc(r->thread_count + 1u, sizeof *r->rows);
    if (r->threads == NULL || r->rows == NULL)
        return replay_no_memory(e);
    for (uint32_t i = 0; i < r->thread_count; i++) {
        const struct thread_stream *s = &r->all[i];
        const struct rt_rank_info *info = rt_rank_info(s->rank);
        struct replay_thread *t = &r->threads[i];
        r->file_count += i == 0 || s->rank != r->all[i - 1].rank;
        *t = (struct replay_thread){
            .rank = s->rank,
            .number = s->number,
            .file = r->file_count - 1,
            .pid = info->pid,
            .tid = s->thread != NULL ? s->thread->kernel_tid : 0,
            .name = s->thread != NULL ? rt_rank_string(s->rank, s->thread->name) : ""};
        r->rows[i].left = s->rows;
        int rc = add_node(r, info->host, &t->node, e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

struct set {
    uint8_t *has; /* by number of the processor */
    uint32_t size;
};

/* Adds the numbers of a list such as "0-3,8". Ignores text that is no list. */
static int add_list(struct set *s, const char *list, struct rt_error *e)
{
    for (const char *p = list; p != NULL && *p >= '0' && *p <= '9';) {
        char *end;
        unsigned long first = strtoul(p, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last < first || last > 1 << 20)
            return 0;
        if (last >= s->size) {
            uint8_t *more = realloc(s->has, last + 1);
            if (more == NULL)
                return replay_no_memory(e);
            memset(more + s->size, 0, last + 1 - s->size);
            s->has = more;
            s->size = (uint32_t)last + 1;
        }
        memset(s->has + first, 1, last + 1 - first);
        p = *end == ',' ? end + 1 : end;
    }
    return 0;
}

static int add_processors(struct event_replay *r, uint32_t node, const struct set *s,
                          struct rt_error *e)
{
    uint32_t n = r->processor_count;
    struct replay_processor *p = realloc(r->processors, (n + s->size + 1u) * sizeof *p);
    if (p == NULL)
        return replay_no_memory(e);
    r->processors = p;
    r->first_processor[node] = (int32_t)n;
    for (uint32_t i = 0; i < s->size; i++)
        if (s->has[i])
            p[n++] = (struct replay_processor){node, (int32_t)i};
    p[n++] = (struct replay_processor){node, -1};
    r->processor_count = n;
    return 0;
}

/* Finds the processors that any process of the node could run on when it began. */
static int make_processors(struct event_replay *r, struct rt_error *e)
{
    r->first_processor = calloc(r->node_count + 1u, sizeof *r->first_processor);
    int rc = r->first_processor != NULL ? 0 : replay_no_memory(e);
    for (uint32_t node = 0; rc == 0 && node < r->node_count; node++) {
        struct set s = {NULL, 0};
        for (uint32_t i = 0; rc == 0 && i < r->thread_count; i++)
            if (r->threads[i].node == node &&
                (i == 0 || r->threads[i].file != r->threads[i - 1].file))
                rc = add_list(&s, rt_rank_metadata(r->threads[i].rank, "affinity"), e);
        if (rc == 0)
            rc = add_processors(r, node, &s, e);
        free(s.has);
    }
    if (rc == 0)
        r->first_processor[r->node_count] = (int32_t)r->processor_count;
    return rc;
}

int32_t replay_processor_row(const struct event_replay *r, uint32_t node, int32_t number)
{
    int32_t first = r->first_processor[node], last = r->first_processor[node + 1] - 1;
    const struct replay_processor *list = r->processors + first;
    size_t n, count = (size_t)(last - first);
    SEARCH_FIRST(n, count, list[n].number < number);
    return n < count && list[n].number == number ? first + (int32_t)n : last;
}

/* Returns the row of the only processor that the thread's process could run on; if there were
 * several, the row of the virtual one. */
static int32_t bound_to(const struct event_replay *r, const struct replay_thread *t)
{
    const char *list = rt_rank_metadata(t->rank, "affinity");
    char *end;
    long one = list != NULL ? strtol(list, &end, 10) : -1;
    return replay_processor_row(r, t->node,
                                list != NULL && end != list && *end == '\0' ? (int32_t)one : -1);
}

int replay_make_rows(struct event_replay *r, struct rt_error *e)
{
    int rc = make_threads(r, e);
    if (rc == 0)
        rc = make_processors(r, e);
    for (uint32_t i = 0; rc == 0 && i < r->thread_count; i++)
        r->rows[i].bound = bound_to(r, &r->threads[i]);
    return rc;
}
