/* SPDX-License-Identifier: BSD-3-Clause
 * Passes a trace specification from the child that ran prof_init to its parent. */
#include "base/sys.h"
#include "isa/values/vp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* One recorded list, as the child sends it. */
struct sent_spec {
    uint16_t opc;
    uint8_t func, count;
    uint32_t values[VALUES_MOST];
};

static int refuse(const trace_vlist_table_t *t, struct rt_error *e)
{
    if (t->magic != VP_TRACE_MAGIC) {
        rt_error_set(
            e, "what prof_init has given is no specification: trace_vlist_table_init() makes one");
        return -EINVAL;
    }
    if (t->version != VP_TRACE_VERSION || t->opcodes != op_count || t->functions != TRACE_FUNCS) {
        rt_error_set(e, "it was linked with libregtrace-trace.a of another version: link it anew");
        return -EPROTO;
    }
    switch (t->fault.error) {
    case 0: return 0;
    case -ENOTSUP:
        rt_error_set(
            e,
            "load latency (TRACE_LATENCY) is not to be had: it needs a record of the PMU for each "
            "load (PEBS, IBS, SPE), and what is followed is run by copies, which have none");
        break;
    case -ENOSPC:
        rt_error_set(e, "prof_init asks for more than %u values of one instruction", VALUES_MOST);
        break;
    default:
        rt_error_set(e, "prof_init asks for a value (0x%x) or opcode that there is not",
                     t->fault.value);
        break;
    }
    return t->fault.error;
}

static bool is_sound(const struct sent_spec *s)
{
    return s->opc < op_count && s->func < TRACE_FUNCS && s->count <= VALUES_MOST;
}

/* Fills `all` with the recorded lists. Returns their number, or -1 if the table is damaged. */
static int collect(const trace_vlist_table_t *table, struct sent_spec *all)
{
    int count = 0;
    for (unsigned n = 0; n < op_count * TRACE_FUNCS; n++) {
        const struct trace_vlist *l = &table->of[n / TRACE_FUNCS][n % TRACE_FUNCS];
        struct sent_spec *s = &all[count];
        if (l->is_recorded == 0)
            continue;
        s->opc = (uint16_t)(n / TRACE_FUNCS);
        s->func = (uint8_t)(n % TRACE_FUNCS);
        s->count = l->count;
        if (!is_sound(s))
            return -1;
        memcpy(s->values, l->values, sizeof s->values);
        count++;
    }
    return count;
}

int vp_spec_send(const trace_vlist_table_t *table, int fd, struct rt_error *e)
{
    int rc = refuse(table, e), count;
    if (rc != 0)
        return rc;
    struct sent_spec *all = calloc(op_count * TRACE_FUNCS, sizeof *all);
    if (all == NULL) {
        rt_error_set(e, "no memory for the specification");
        return -ENOMEM;
    }
    count = collect(table, all);
    if (count < 0) {
        rt_error_set(e, "the specification of prof_init is damaged");
        rc = -EINVAL;
    } else if (fd >= 0) {
        rc = sys_write_all(fd, all, (size_t)count * sizeof *all);
        if (rc != 0)
            rt_error_set(e, "the specification cannot be handed on: %s", strerror(-rc));
    }
    free(all);
    return rc;
}

static bool keep(struct vp_spec *s, const struct sent_spec *one)
{
    if (!is_sound(one))
        return false;
    struct vp_list *l = &s->of[one->opc][one->func];
    l->is_recorded = true;
    l->count = one->count;
    memcpy(l->values, one->values, sizeof l->values);
    return true;
}

int vp_spec_receive(struct vp_spec *s, int fd, struct rt_error *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size == 0) /* nothing is recorded */
        return 0;
    const size_t bytes = (size_t)st.st_size;
    struct sent_spec *all = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (all == MAP_FAILED) {
        rt_error_set(e, "no memory for the specification");
        return -ENOMEM;
    }
    bool sound = bytes % sizeof *all == 0;
    for (size_t i = 0; i < bytes / sizeof *all && sound; i++)
        sound = keep(s, &all[i]);
    (void)munmap(all, bytes);
    if (!sound)
        rt_error_set(e, "the specification is damaged");
    return sound ? 0 : -EPROTO;
}

int vp_run_spec(struct vp_apart *v, struct rt_error *e)
{
    if (v->table == NULL) /* no prof_init: captures nothing */
        return 0;
    vp_enter(v, "the specification of prof_init");
    int rc = vp_spec_send(v->table, v->out, e);
    vp_leave(v);
    return rc;
}
