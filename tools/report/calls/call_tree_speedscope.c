/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the call tree as a file for speedscope (https://www.speedscope.app). It has two profiles:
 * the time in MPI, and what of it was waiting for other ranks. */
#include "tools/report/calls/call_tree.h"
#include "tools/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Frames are places and MPI functions, in the order of the nodes that have them first. */
struct speedscope {
    struct report *r;
    struct json j;
    struct key_table frames; /* high: is it an MPI function, low: item */
};

static void json_frame(struct speedscope *s, uint32_t node)
{
    const struct call_place p = call_tree_place(s->r, node);
    json_object_begin(&s->j, NULL);
    json_compact(&s->j);
    json_text(&s->j, "name", p.name);
    if (p.file != NULL) {
        char *file = strndup(p.file, p.file_length);
        json_text(&s->j, "file", file);
        json_uint(&s->j, "line", p.line);
        free(file);
    }
    json_object_end(&s->j);
}

/* Returns whether there is memory. */
static bool json_frames(struct speedscope *s)
{
    const struct call_tree *t = &s->r->call_tree;
    json_array_begin(&s->j, "frames");
    for (uint32_t i = 0; i < t->keys.count; i++) {
        uint32_t count = s->frames.count;
        uint32_t frame = key_table_add(&s->frames, t->nodes[i].is_mpi, t->nodes[i].item);
        if (frame == KEY_NONE)
            return false;
        if (frame == count)
            json_frame(s, i);
    }
    json_array_end(&s->j);
    return true;
}

/* Writes the frames from the outermost one to this node, but those that start programs. */
static void json_stack(struct speedscope *s, uint32_t node)
{
    const struct call_node *n = &s->r->call_tree.nodes[node];
    if (n->parent != KEY_NONE)
        json_stack(s, n->parent);
    if (!call_tree_is_start(s->r, node))
        json_uint(&s->j, NULL, key_table_find(&s->frames, n->is_mpi, n->item));
}

static double value_of(const struct call_node *n, bool waited)
{
    return waited ? n->waited_ns : n->time_ns;
}

static void json_profile(struct speedscope *s, const char *name, bool waited)
{
    const struct call_tree *t = &s->r->call_tree;
    struct json *j = &s->j;
    double all = 0;
    json_object_begin(j, NULL);
    json_text(j, "type", "sampled");
    json_text(j, "name", name);
    json_text(j, "unit", "nanoseconds");
    json_uint(j, "startValue", 0);
    json_array_begin(j, "samples");
    for (uint32_t i = 0; i < t->keys.count; i++) {
        if (!t->nodes[i].is_mpi || value_of(&t->nodes[i], waited) <= 0)
            continue;
        json_array_begin(j, NULL);
        json_compact(j);
        json_stack(s, i);
        json_array_end(j);
    }
    json_array_end(j);
    json_array_begin(j, "weights");
    for (uint32_t i = 0; i < t->keys.count; i++) {
        double ns = t->nodes[i].is_mpi ? value_of(&t->nodes[i], waited) : 0;
        if (ns > 0)
            json_real(j, NULL, ns);
        all += ns;
    }
    json_array_end(j);
    json_real(j, "endValue", all);
    json_object_end(j);
}

int call_tree_print_speedscope(FILE *out, struct report *r)
{
    struct speedscope s = {.r = r, .j = {.out = out, .indented = true}};
    json_object_begin(&s.j, NULL);
    json_text(&s.j, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_text(&s.j, "exporter", "regtrace");
    json_text(&s.j, "name", r->dir);
    json_object_begin(&s.j, "shared");
    bool good = json_frames(&s);
    json_object_end(&s.j);
    json_array_begin(&s.j, "profiles");
    if (good) {
        json_profile(&s, "time in MPI, all ranks together", false);
        json_profile(&s, "waiting for other ranks", true);
    }
    json_array_end(&s.j);
    json_object_end(&s.j);
    key_table_free(&s.frames);
    return good ? 0 : -ENOMEM;
}
