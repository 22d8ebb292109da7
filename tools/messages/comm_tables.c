/* SPDX-License-Identifier: BSD-3-Clause
 * Joins the rows of /comms of all files by identity. */
#include "tools/messages/comm_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A row of /comms, with its process. */
struct comm_row {
    uint64_t identity;
    uint32_t side, rank, size, process, id, groups;
};

/* The communicator that a process calls by an id. */
struct comm_name {
    uint32_t comm, side;
};

struct process_comms {
    const struct rt_rank *file;
    struct comm_name *names; /* by id */
    uint32_t name_count;
};

struct comms {
    struct process_comms *processes;
    uint32_t process_count;
    uint32_t *process_of; /* by stream */
    struct comm *all;
    uint32_t count;
    uint32_t *members; /* processes */
    size_t member_count;
};

/* No world has more ranks: a larger value means that the column is damaged. */
enum { RANKS_MAX = 1 << 26 };

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

static int by_identity(const void *a, const void *b)
{
    const struct comm_row *x = a, *y = b;
    if (x->identity != y->identity)
        return x->identity < y->identity ? -1 : 1;
    if (x->side != y->side)
        return x->side < y->side ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

/* Finds the processes. The streams of one file are adjacent. */
static int find_processes(struct comms *c, const struct streams *streams, struct rt_error *e)
{
    uint32_t n;
    const struct thread_stream *all = streams_all(streams, &n);
    c->processes = calloc((size_t)n + 1, sizeof *c->processes);
    c->process_of = calloc((size_t)n + 1, sizeof *c->process_of);
    if (c->processes == NULL || c->process_of == NULL)
        return no_memory(e);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || all[i].rank != all[i - 1].rank)
            c->processes[c->process_count++].file = all[i].rank;
        c->process_of[i] = c->process_count - 1;
    }
    return 0;
}

/* Collects the rows that have an identity. */
static int collect(struct comms *c, struct comm_row **rows, size_t *count, struct rt_error *e)
{
    size_t n = 0;
    for (uint32_t p = 0; p < c->process_count; p++)
        n += rt_rank_tables(c->processes[p].file)->comm_count;
    *count = 0;
    *rows = calloc(n + 1, sizeof **rows);
    if (*rows == NULL)
        return no_memory(e);
    for (uint32_t p = 0; p < c->process_count; p++) {
        const struct rt_rank_tables *t = rt_rank_tables(c->processes[p].file);
        uint32_t most = 0;
        for (size_t i = 0; i < t->comm_count; i++) {
            const struct rt_comm *row = &t->comms[i];
            if (row->identity == 0 || row->size > RANKS_MAX || row->rank >= RANKS_MAX ||
                row->id > UINT16_MAX)
                continue;
            (*rows)[(*count)++] =
                (struct comm_row){row->identity, (row->sides & 3) == 3, row->rank, row->size, p,
                                  row->id,       (row->sides & 1) + 1};
            most = row->id > most ? row->id : most;
        }
        c->processes[p].name_count = most + 1;
        c->processes[p].names = malloc(((size_t)most + 1) * sizeof *c->processes[p].names);
        if (c->processes[p].names == NULL)
            return no_memory(e);
        for (uint32_t i = 0; i <= most; i++)
            c->processes[p].names[i] = (struct comm_name){NO_COMM, 0};
    }
    return 0;
}

/* Do two processes claim the same rank of a communicator? That happens if another world looks the
 * same; which of them is right is unknown. */
static bool is_double(const struct comm_row *rows, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (rows[i].side == rows[i - 1].side && rows[i].rank == rows[i - 1].rank &&
            rows[i].process != rows[i - 1].process)
            return true;
    return false;
}

/* Adds the communicator of these rows, which have one identity. A row's size is that of its own
 * group if there is one group, and that of the other group if there are two. */
static int add_comm(struct comms *c, const struct comm_row *rows, size_t n, struct rt_error *e)
{
    struct comm *m = &c->all[c->count];
    *m = (struct comm){.identity = rows[0].identity, .sides = rows[0].groups};
    for (size_t i = 0; i < n; i++) {
        uint32_t *own = &m->size[rows[i].side], *told = &m->size[rows[i].side ^ (m->sides - 1)];
        *told = rows[i].size > *told ? rows[i].size : *told;
        *own = rows[i].rank + 1 > *own ? rows[i].rank + 1 : *own;
    }
    size_t more = (size_t)m->size[0] + m->size[1];
    uint32_t *members = realloc(c->members, (c->member_count + more + 1) * sizeof *members);
    if (members == NULL)
        return no_memory(e);
    c->members = members;
    m->first[0] = (uint32_t)c->member_count;
    m->first[1] = m->first[0] + m->size[0];
    for (size_t i = 0; i < more; i++)
        members[c->member_count + i] = NO_PROCESS;
    for (size_t i = 0; i < n; i++) {
        members[m->first[rows[i].side] + rows[i].rank] = rows[i].process;
        c->processes[rows[i].process].names[rows[i].id] =
            (struct comm_name){c->count, rows[i].side};
    }
    c->member_count += more;
    c->count++;
    return 0;
}

int comms_open(struct comms **comms, const struct streams *streams, struct rt_error *e)
{
    struct comms *c = calloc(1, sizeof *c);
    struct comm_row *rows = NULL;
    size_t n = 0;
    int rc = c != NULL ? find_processes(c, streams, e) : no_memory(e);
    if (rc == 0)
        rc = collect(c, &rows, &n, e);
    if (rc == 0 && (c->all = calloc(n + 1, sizeof *c->all)) == NULL)
        rc = no_memory(e);
    if (rc == 0)
        qsort(rows, n, sizeof *rows, by_identity);
    for (size_t i = 0, end; rc == 0 && i < n; i = end) {
        for (end = i + 1; end < n && rows[end].identity == rows[i].identity;)
            end++;
        if (!is_double(rows + i, end - i))
            rc = add_comm(c, rows + i, end - i, e);
    }
    free(rows);
    if (rc != 0) {
        comms_close(c);
        c = NULL;
    }
    *comms = c;
    return rc;
}

void comms_close(struct comms *c)
{
    if (c == NULL)
        return;
    for (uint32_t i = 0; i < c->process_count; i++)
        free(c->processes[i].names);
    free(c->processes);
    free(c->process_of);
    free(c->all);
    free(c->members);
    free(c);
}

const struct comm *comms_all(const struct comms *c, uint32_t *count)
{
    *count = c->count;
    return c->all;
}

uint32_t comms_processes(const struct comms *c)
{
    return c->process_count;
}

uint32_t comms_process_of(const struct comms *c, uint32_t stream)
{
    return c->process_of[stream];
}

const struct rt_rank *comms_file(const struct comms *c, uint32_t process)
{
    return c->processes[process].file;
}

int32_t comms_world_rank(const struct comms *c, uint32_t process)
{
    return rt_rank_info(c->processes[process].file)->rank;
}

uint32_t comms_find(const struct comms *c, uint32_t process, uint32_t id, uint32_t *side)
{
    const struct process_comms *p = &c->processes[process];
    struct comm_name found = id < p->name_count ? p->names[id] : (struct comm_name){NO_COMM, 0};
    *side = found.side;
    return found.comm;
}

uint32_t comms_process(const struct comms *c, uint32_t comm, uint32_t side, int32_t rank)
{
    const struct comm *m = &c->all[comm];
    return rank >= 0 && side < m->sides && (uint32_t)rank < m->size[side]
               ? c->members[m->first[side] + (uint32_t)rank]
               : NO_PROCESS;
}
