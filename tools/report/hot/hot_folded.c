/* SPDX-License-Identifier: BSD-3-Clause
 * Writes samples as folded stacks and as a tree, for flame graphs. Functions that are on the stack
 * together form a tree, whose nodes have the samples that fell there. */
#include "base/toolkit/array.h"
#include "base/toolkit/key_table.h"
#include "tools/report/hot/hot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stack_node {
    uint32_t parent; /* KEY_NONE: the outermost function */
    uint32_t function;
    uint64_t weight;
};

struct stacks {
    struct key_table keys; /* high: parent, low: function */
    struct stack_node *nodes;
    size_t room;
};

static int add_node(struct stacks *s, uint32_t parent, uint32_t function, uint32_t *node)
{
    uint32_t count = s->keys.count;
    *node = key_table_add(&s->keys, parent, function);
    void *nodes = array_grown(s->nodes, count, &s->room, sizeof *s->nodes);
    if (*node == KEY_NONE || nodes == NULL)
        return -ENOMEM;
    s->nodes = nodes;
    if (*node == count)
        s->nodes[count] = (struct stack_node){parent, function, 0};
    return 0;
}

static int add_sample(struct stacks *s, const struct hot *h, const struct hot_sample *x)
{
    uint32_t node = KEY_NONE;
    for (uint32_t f = x->count; f-- > 0;) {
        const struct hot_place *at = hot_frame(h, x, f);
        if (at == NULL)
            continue;
        if (add_node(s, node, at->function, &node) != 0)
            return -ENOMEM;
    }
    if (node != KEY_NONE)
        s->nodes[node].weight += x->weight;
    return 0;
}

static void print_stack(FILE *out, const struct hot *h, const struct stacks *s, uint32_t node)
{
    const struct hot_row *row = &h->functions[s->nodes[node].function];
    if (s->nodes[node].parent != KEY_NONE) {
        print_stack(out, h, s, s->nodes[node].parent);
        (void)fputc(';', out);
    }
    if (row->name != NULL)
        text_write_plain(out, row->name);
    else
        (void)fprintf(out, "(in %s)", addresses_image_name(&h->at, row->image));
}

/* Call stacks_free() also after a failure. */
static int stacks_make(struct stacks *s, const struct hot *h)
{
    int rc = 0;
    *s = (struct stacks){0};
    for (uint64_t i = 0; i < h->sample_count && rc == 0; i++)
        rc = add_sample(s, h, &h->samples[i]);
    return rc;
}

static void stacks_free(struct stacks *s)
{
    key_table_free(&s->keys);
    free(s->nodes);
}

int hot_print_folded(FILE *out, const struct hot *h)
{
    struct stacks s;
    int rc = stacks_make(&s, h);
    for (uint32_t i = 0; rc == 0 && i < s.keys.count; i++)
        if (s.nodes[i].weight > 0) {
            print_stack(out, h, &s, i);
            (void)fprintf(out, " %llu\n", (unsigned long long)s.nodes[i].weight);
        }
    stacks_free(&s);
    return rc;
}

int hot_json_tree(struct json *j, const struct hot *h)
{
    struct stacks s;
    int rc = stacks_make(&s, h);
    json_array_begin(j, "tree");
    for (uint32_t i = 0; rc == 0 && i < s.keys.count; i++) {
        const struct hot_row *row = &h->functions[s.nodes[i].function];
        json_object_begin(j, NULL);
        json_compact(j);
        json_uint_if(j, "parent", s.nodes[i].parent != KEY_NONE, s.nodes[i].parent);
        json_text(j, "function", row->name);
        json_text(j, "image", row->image == NO_IMAGE ? NULL : h->at.images[row->image].path);
        json_uint(j, "self", s.nodes[i].weight);
        json_object_end(j);
    }
    json_array_end(j);
    stacks_free(&s);
    return rc;
}
