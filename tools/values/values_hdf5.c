/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the profile that is merged over threads, ranks and runs to one HDF5 file. */
#include "tools/values/value_profiles.h"

#include <errno.h>
#include <stdlib.h>

struct rows {
    struct rt_profile_image *images;
    struct rt_profile_instruction *instructions;
    struct rt_profile_hot *hot;
};

static void put_context(const struct values_profile *p, const struct values_value *v, unsigned n,
                        uint32_t *image, uint64_t *context)
{
    const struct address *at = v->caller[n] != 0 ? &p->at.items[v->caller[n] - 1] : NULL;
    *image = at != NULL ? at->image + 1 : 0;
    *context = at != NULL ? at->offset : v->context[n];
}

static size_t put_list(const struct values_profile *p, const struct values_list *l, uint32_t row,
                       struct rt_profile_hot *out)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct values_value *v = &l->values[i];
        out[i] = (struct rt_profile_hot){.instruction = row, .value = v->value, .times = v->times};
        put_context(p, v, 0, &out[i].image0, &out[i].context0);
        put_context(p, v, 1, &out[i].image1, &out[i].context1);
    }
    return l->count;
}

static void fill(const struct values_profile *p, const uint32_t *items, size_t count,
                 struct rows *r)
{
    size_t hot = 0;
    for (size_t i = 0; i < p->at.image_count; i++)
        r->images[i] = (struct rt_profile_image){p->at.images[i].path, p->at.images[i].build_id};
    for (size_t i = 0; i < count; i++) {
        const struct profile_item *q = &p->items[items[i]];
        const struct address *at = &p->at.items[items[i]];
        r->instructions[i] =
            (struct rt_profile_instruction){.image = at->image == NO_IMAGE ? 0 : at->image + 1,
                                            .offset = at->offset,
                                            .samples = q->samples,
                                            .periods = q->periods,
                                            .values = q->list.total,
                                            .threshold = q->list.threshold,
                                            .code = q->code,
                                            .function = p->functions[q->function].name,
                                            .line = q->line};
        hot += put_list(p, &q->list, (uint32_t)i, r->hot + hot);
    }
}

int values_write_profile(const char *path, struct values_profile *p, const struct values_options *o,
                         uint64_t *instructions, uint64_t *values, struct rt_error *e)
{
    size_t count = 0, hot = 0;
    uint32_t *items = values_sorted(o, p, &count);
    for (size_t i = 0; items != NULL && i < count; i++)
        hot += p->items[items[i]].list.count;
    struct rows r = {calloc(p->at.image_count + 1, sizeof *r.images),
                     calloc(count + 1, sizeof *r.instructions), calloc(hot + 1, sizeof *r.hot)};
    int rc = -ENOMEM;
    if (items == NULL || r.images == NULL || r.instructions == NULL || r.hot == NULL) {
        rt_error_set(e, "out of memory");
    } else {
        fill(p, items, count, &r);
        const struct rt_profile all = {.plugin = p->plugin,
                                       .processes = p->ranks,
                                       .samples = p->samples,
                                       .captured = p->captured,
                                       .unknown = p->without[0],
                                       .unlearned = p->without[1],
                                       .not_run = p->without[2],
                                       .busy = p->without[3],
                                       .skipped = p->without[4],
                                       .damaged = p->damaged,
                                       .unprocessed = p->unprocessed,
                                       .strange = p->strange,
                                       .images = r.images,
                                       .image_count = p->at.image_count,
                                       .instructions = r.instructions,
                                       .instruction_count = count,
                                       .hot = r.hot,
                                       .hot_count = hot};
        rc = rt_profile_write(path, &all, e);
        *instructions = count;
        *values = hot;
    }
    free(items);
    free(r.images);
    free(r.instructions);
    free(r.hot);
    return rc;
}
