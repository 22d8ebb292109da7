/* SPDX-License-Identifier: BSD-3-Clause
 * Saves what was counted of captured values: as a snapshot that replaces the previous one, and as
 * tables of a rank file. */
#include "writer/values/value_traces.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC "regtrace values"
#define SNAPSHOT_VERSION 1u
#define SAVE_NS UINT64_C(1000000000)
#define SAVE_SHARE 20 /* snapshots take at most this part of the writer's time: 1/20 */

/* Head of a snapshot. Threads, instructions and, for each list, a head and entries follow. The
 * format is for the same build on the same machine: a snapshot with other sizes is not read. */
struct head {
    char magic[16];
    uint32_t version, sizes;
    uint64_t check; /* of the bytes that follow, like FNV-1a by words of 8 bytes */
    uint64_t bytes, random;
    uint32_t threads, instructions, lists, most;
    char why[256]; /* why the plug-in failed; "": it did not */
};

struct saved_thread {
    struct rt_value_thread row;
    struct values_place done;
};

struct saved_list {
    uint64_t values;
    double threshold;
    uint32_t instruction, used;
};

static uint32_t sizes(void)
{
    return (uint32_t)(sizeof(struct saved_thread) + (sizeof(struct values_instruction) << 10) +
                      (sizeof(struct value_entry) << 20));
}

static uint64_t check_of(const char *bytes, size_t count)
{
    uint64_t sum = HASH_BEGIN;
    for (size_t at = 0; at < count; at += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, count - at < 8 ? count - at : 8);
        sum = hash_word(sum, word);
        sum ^= sum >> 32;
    }
    return sum;
}

static uint32_t put_lists(FILE *out, const struct values *v)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i <= v->instruction_most; i++) {
        const struct value_list *l = value_lists_of(&v->lists, i);
        if (l == NULL)
            continue;
        struct saved_list s = {l->values, l->threshold, i, l->used};
        (void)fwrite(&s, sizeof s, 1, out);
        (void)fwrite(l->entries, sizeof *l->entries, l->used, out);
        n++;
    }
    return n;
}

/* Returns all that follows the head, malloc'ed, or NULL if there is no memory. */
static char *body_of(const struct values *v, struct head *h)
{
    char *body = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&body, &bytes);
    if (out == NULL)
        return NULL;
    for (size_t i = 0; i < v->thread_count; i++) {
        struct saved_thread s = {.row = v->threads[i].row, .done = v->threads[i].done};
        (void)fwrite(&s, sizeof s, 1, out);
    }
    if (v->instruction_most > 0)
        (void)fwrite(v->instructions + 1, sizeof *v->instructions, v->instruction_most, out);
    h->lists = put_lists(out, v);
    bool bad = ferror(out) != 0;
    if (fclose(out) != 0 || bad) {
        free(body);
        return NULL;
    }
    h->bytes = bytes;
    h->check = check_of(body, bytes);
    return body;
}

static int put_file(const char *path, const struct head *h, const char *body)
{
    char fresh[PATH_MAX + 8];
    (void)snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *out = fopen(fresh, "we");
    if (out == NULL)
        return -errno;
    errno = 0;
    bool good =
        fwrite(h, sizeof *h, 1, out) == 1 && (h->bytes == 0 || fwrite(body, h->bytes, 1, out) == 1);
    good &= fclose(out) == 0;
    if (good && rename(fresh, path) == 0)
        return 0;
    int rc = errno != 0 ? -errno : -EIO;
    (void)unlink(fresh);
    return rc;
}

int values_snapshot_write(struct values *v)
{
    int rc = value_lists_flush(&v->lists);
    if (rc != 0)
        return rc;
    struct head h = {.magic = MAGIC,
                     .version = SNAPSHOT_VERSION,
                     .sizes = sizes(),
                     .random = v->lists.random,
                     .threads = (uint32_t)v->thread_count,
                     .instructions = v->instruction_most,
                     .most = v->lists.most};
    if (v->child.pid < 0)
        (void)snprintf(h.why, sizeof h.why, "%.255s", v->child.why.text);
    char *body = body_of(v, &h);
    rc = body == NULL ? -ENOMEM : put_file(v->path, &h, body);
    free(body);
    for (size_t i = 0; i < v->thread_count && rc == 0; i++)
        v->threads[i].saved = v->threads[i].done;
    return rc;
}

void values_save(struct values *v, bool now)
{
    uint64_t began = clock_monotonic_ns();
    uint64_t rest = v->save_cost_ns * SAVE_SHARE > SAVE_NS ? v->save_cost_ns * SAVE_SHARE : SAVE_NS;
    if (!v->dirty || v->path[0] == '\0' || (!now && began - v->saved_ns < rest))
        return;
    int rc = values_snapshot_write(v);
    v->saved_ns = clock_monotonic_ns();
    v->save_cost_ns = v->saved_ns - began;
    v->dirty = rc != 0;
    if (rc != 0 && !v->snapshot_failed)
        log_detail(LOG_WARNING, "values that were counted are not safe if the writer is killed",
                   strerror(-rc));
    v->snapshot_failed = rc != 0;
}

struct snapshot_reading {
    const char *at, *end;
};

static bool get(struct snapshot_reading *r, void *to, size_t bytes)
{
    if ((size_t)(r->end - r->at) < bytes)
        return false;
    memcpy(to, r->at, bytes);
    r->at += bytes;
    return true;
}

static bool get_list(struct values *v, struct snapshot_reading *r)
{
    struct saved_list s;
    struct value_entry entries[VALUE_LIST_MOST];
    if (!get(r, &s, sizeof s) || s.used > VALUE_LIST_MOST ||
        !get(r, entries, s.used * sizeof entries[0]))
        return false;
    struct value_list l = {entries, s.used, s.used, s.threshold, s.values};
    return value_lists_restore(&v->lists, s.instruction, &l) == 0;
}

static bool get_all(struct values *v, const struct head *h, struct snapshot_reading *r)
{
    for (uint32_t i = 0; i < h->threads; i++) {
        struct saved_thread s;
        if (!get(r, &s, sizeof s))
            return false;
        struct trace_thread *t = values_thread_of(v, s.row.thread);
        if (t == NULL)
            return false;
        t->row = s.row;
        t->done = t->saved = s.done;
    }
    if (h->instructions > VALUE_INSTRUCTIONS || values_instruction_room(v, h->instructions) != 0 ||
        !get(r, v->instructions + 1, h->instructions * sizeof *v->instructions))
        return false;
    v->instruction_most = h->instructions;
    for (uint32_t i = 0; i < h->lists; i++)
        if (!get_list(v, r))
            return false;
    v->lists.random = h->random;
    v->lists.most =
        h->most >= VALUE_LIST_LEAST && h->most <= VALUE_LIST_MOST ? h->most : VALUE_LIST_MOST;
    if (h->why[0] != '\0') {
        v->child.pid = -1;
        v->told = true;
        rt_error_set(&v->child.why, "%.255s", h->why);
    }
    return true;
}

int values_snapshot_read(struct values *v)
{
    struct head h;
    FILE *in = fopen(v->path, "re");
    if (in == NULL)
        return -ENOENT;
    int rc = -EBADMSG;
    char *body = NULL;
    if (fread(&h, sizeof h, 1, in) == 1 && memcmp(h.magic, MAGIC, sizeof h.magic) == 0 &&
        h.version == SNAPSHOT_VERSION && h.sizes == sizes() && h.bytes < UINT64_C(1) << 30) {
        body = malloc(h.bytes + 1);
        bool whole = body != NULL && fread(body, 1, h.bytes + 1, in) == h.bytes &&
                     check_of(body, h.bytes) == h.check;
        struct snapshot_reading r = {body, whole ? body + h.bytes : body};
        rc = body == NULL ? -ENOMEM : whole && get_all(v, &h, &r) ? 0 : -EBADMSG;
    }
    free(body);
    (void)fclose(in);
    return rc;
}

/* Finds an instruction's image as readers of addresses do: the nearest base below and, of several
 * images there, the latest before the instruction's time. */
static const struct values_image *image_of(const struct values *v,
                                           const struct values_instruction *i)
{
    const struct values_image *found = NULL;
    for (size_t k = 0; k < v->image_count; k++) {
        const struct values_image *m = &v->images[k];
        if (m->base <= i->address && (found == NULL || m->base > found->base ||
                                      (m->base == found->base && m->clock <= i->clock)))
            found = m;
    }
    return found;
}

static int write_instruction(struct values *v, struct rankfile *f, uint32_t number)
{
    const struct values_instruction *i = &v->instructions[number];
    const struct value_list *l = value_lists_of(&v->lists, number);
    const struct values_image *m = image_of(v, i);
    struct rt_value_instruction row = {
        .number = number,
        .image = m != NULL ? m->path : 0,
        .build_id = m != NULL ? m->build_id : 0,
        .length = i->length,
        .address = i->address,
        .offset = m != NULL ? i->address - m->base : i->address,
        .samples = i->samples,
        .periods = i->periods,
        .values = l != NULL ? l->values : 0,
        .threshold = l != NULL ? l->threshold : 0,
    };
    for (unsigned k = 0; k < i->length; k++)
        (void)snprintf(row.code + 2 * (size_t)k, 3, "%02x", i->code[k]);
    int rc = table_append(&f->tables[SCHEMA_VALUE_INSTRUCTIONS], &row, 1);
    for (uint32_t k = 0; l != NULL && k < l->used && rc == 0; k++) {
        const struct value_entry *e = &l->entries[k];
        struct rt_value_hot hot = {.number = number,
                                   .context0 = e->context[0],
                                   .context1 = e->context[1],
                                   .value = e->value,
                                   .count = e->count};
        rc = table_append(&f->tables[SCHEMA_VALUE_HOT], &hot, 1);
    }
    return rc;
}

/* Writes what is missing, as lines of /metadata. */
static int write_lacks(struct values *v, struct rankfile *f)
{
    char text[sizeof v->child.why.text + 96];
    int n = 0;
    if (v->lost_chunks > 0)
        n = snprintf(text, sizeof text, "values.lost_chunks=%llu\n",
                     (unsigned long long)v->lost_chunks);
    if (v->told) {
        for (char *c = v->child.why.text; *c != '\0'; c++)
            *c = *c == '\n' || *c == '\\' ? ' ' : *c;
        n += snprintf(text + n, sizeof text - (size_t)n, "values.failed=%s\n", v->child.why.text);
    }
    return table_append(&f->tables[SCHEMA_METADATA], text, (size_t)n);
}

int values_write(struct values *v, struct rankfile *f)
{
    static const enum schema_table tables[] = {SCHEMA_VALUE_INSTRUCTIONS, SCHEMA_VALUE_HOT,
                                               SCHEMA_VALUE_THREADS};
    int rc = value_lists_flush(&v->lists);
    for (uint32_t i = 1; i <= v->instruction_most && rc == 0; i++)
        if (v->instructions[i].known)
            rc = write_instruction(v, f, i);
    for (size_t i = 0; i < v->thread_count && rc == 0; i++)
        rc = table_append(&f->tables[SCHEMA_VALUE_THREADS], &v->threads[i].row, 1);
    if (rc == 0)
        rc = write_lacks(v, f);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && rc == 0; i++)
        rc = table_flush(&f->tables[tables[i]]);
    return rc;
}
