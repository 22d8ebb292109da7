/* SPDX-License-Identifier: BSD-3-Clause
 * See shapes.h; isa/skel/source_shape.c writes what is read here. */
#include "isa/skel/shapes.h"

#include "isa/skel/replay.h"

#include <dlfcn.h>
#include <errno.h>

/* As isa/skel/prelude.c has them. */
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

static void print_number(FILE *out, int n)
{
    if (n < 0)
        (void)fputs(" -", out);
    else
        (void)fprintf(out, " %x", (unsigned)n);
}

static void print_shape(FILE *out, const struct skeleton_shape *s)
{
    for (unsigned k = 0; k < s->loop_count; k++) {
        (void)fprintf(out, "loop %llx", s->loops[k].head);
        print_number(out, s->loops[k].parent);
        (void)fprintf(out, " %x\n", s->loops[k].depth);
    }
    for (unsigned k = 0; k < s->place_count; k++) {
        (void)fprintf(out, "place %llx", s->places[k].pc);
        print_number(out, s->places[k].loop);
        (void)fputc('\n', out);
    }
}

static const struct skeleton_shape *find(const struct skeleton_shape *list, unsigned count,
                                         unsigned number)
{
    for (unsigned k = 0; k < count; k++)
        if (list[k].number == number)
            return &list[k];
    return NULL;
}

int shapes_print(const char *skeleton, FILE *out, struct rt_error *e)
{
    unsigned count = 0, shape_count = 0;
    void *library = replay_library(skeleton, e);
    const struct skeleton_function *list = NULL;
    int rc = library != NULL ? replay_functions(library, skeleton, &list, &count, e) : -EINVAL;
    if (rc != 0)
        return rc;
    const struct skeleton_shape *(*shapes)(unsigned *);
    *(void **)&shapes = dlsym(library, "skeleton_shapes");
    const struct skeleton_shape *all = shapes != NULL ? shapes(&shape_count) : NULL;
    for (unsigned k = 0; k < count; k++) {
        /* Both tables come in the same order, mostly. */
        const struct skeleton_shape *s = k < shape_count && all[k].number == list[k].number
                                             ? &all[k]
                                             : find(all, shape_count, list[k].number);
        (void)fprintf(out, "function %x %llx %s\n", list[k].image, list[k].address, list[k].name);
        if (s != NULL)
            print_shape(out, s);
    }
    if (fflush(out) == 0 && ferror(out) == 0)
        return 0;
    rt_error_set(e, "the loops of %s cannot be written", skeleton);
    return -EIO;
}
