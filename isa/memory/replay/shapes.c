/* SPDX-License-Identifier: BSD-3-Clause
 * Prints the tables that isa/memory/source/source_shape.c writes. */
#include "isa/memory/replay/shapes.h"

#include "isa/memory/replay/replay.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

/* These structures are declared in isa/memory/source/prelude.c, too. */
struct skeleton_loop {
    unsigned long long head;
    int parent;
    unsigned depth;
};

struct skeleton_place {
    unsigned long long pc;
    int loop;
};

struct skeleton_shape {
    unsigned number, loop_count, place_count;
    const struct skeleton_loop *loops;
    const struct skeleton_place *places;
};

struct skeleton_text {
    unsigned number;
    const char *const *counters, *const *accesses;
};

static void print_number(FILE *out, int n)
{
    if (n < 0)
        (void)fputs(" -", out);
    else
        (void)fprintf(out, " %x", (unsigned)n);
}

static void print_shape(FILE *out, const struct skeleton_shape *s, const struct skeleton_text *t)
{
    for (unsigned k = 0; k < s->loop_count; k++) {
        (void)fprintf(out, "loop %llx", s->loops[k].head);
        print_number(out, s->loops[k].parent);
        (void)fprintf(out, " %x %s\n", s->loops[k].depth, t != NULL ? t->counters[k] : "");
    }
    for (unsigned k = 0; k < s->place_count; k++) {
        (void)fprintf(out, "place %llx", s->places[k].pc);
        print_number(out, s->places[k].loop);
        (void)fprintf(out, " %s\n", t != NULL ? t->accesses[k] : "");
    }
}

/* A table of structures of `bytes` bytes, each of which begins with the number of its function. */
struct shape_table {
    const char *rows;
    unsigned count;
    size_t bytes;
};

static struct shape_table get_table(void *library, const char *name, size_t bytes)
{
    struct shape_table t = {.bytes = bytes};
    const void *(*get)(unsigned *);
    *(void **)&get = dlsym(library, name);
    if (get != NULL)
        t.rows = get(&t.count);
    return t;
}

static bool is_of(const struct shape_table *t, unsigned k, unsigned number)
{
    return k < t->count && *(const unsigned *)(const void *)(t->rows + k * t->bytes) == number;
}

/* Returns the row of a function, or NULL. Tables mostly have the same order, so row k is tried
 * first. */
static const void *find(const struct shape_table *t, unsigned k, unsigned number)
{
    if (!is_of(t, k, number))
        for (k = 0; k < t->count && !is_of(t, k, number);)
            k++;
    return k < t->count ? t->rows + k * t->bytes : NULL;
}

int shapes_print(const char *skeleton, FILE *out, struct rt_error *e)
{
    unsigned count = 0;
    void *library = replay_library(skeleton, e);
    const struct skeleton_function *list = NULL;
    int rc = library != NULL ? replay_functions(library, skeleton, &list, &count, e) : -EINVAL;
    if (rc != 0)
        return rc;
    const struct shape_table shapes = get_table(library, "skeleton_shapes",
                                                sizeof(struct skeleton_shape)),
                             texts =
                                 get_table(library, "skeleton_texts", sizeof(struct skeleton_text));
    for (unsigned k = 0; k < count; k++) {
        const struct skeleton_shape *s = find(&shapes, k, list[k].number);
        (void)fprintf(out, "function %x %llx %s\n", list[k].image, list[k].address, list[k].name);
        if (s != NULL)
            print_shape(out, s, find(&texts, k, list[k].number));
    }
    if (fflush(out) == 0 && ferror(out) == 0)
        return 0;
    rt_error_set(e, "the loops of %s cannot be written", skeleton);
    return -EIO;
}
