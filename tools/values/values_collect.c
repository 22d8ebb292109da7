/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the value tables of rank files, and merges what belongs to the same place of the same
 * image. */
#include "tools/values/value_profiles.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool values_is_name(const char *plugin)
{
    return plugin[0] != '\0' && strchr(plugin, '/') == NULL;
}

static int add_value(struct values_list *l, const struct rt_value_hot *h, double threshold)
{
    struct values_value *more = array_grown(l->values, l->count, &l->room, sizeof *more);
    if (more == NULL)
        return -ENOMEM;
    l->values = more;
    l->values[l->count++] = (struct values_value){.context = {h->context0, h->context1},
                                                  .value = h->value,
                                                  .times = (double)h->count * threshold};
    l->estimated |= threshold > 1;
    l->threshold = threshold > l->threshold ? threshold : l->threshold;
    return 0;
}

static int find_item(struct values_profile *p, const struct rt_rank *rank,
                     const struct rt_value_instruction *i, uint32_t *item)
{
    const char *build_id = i->build_id != 0 ? rt_rank_string(rank, i->build_id) : "";
    int rc = i->image != 0 ? addresses_place(&p->at, rt_rank_string(rank, i->image), build_id,
                                             i->offset, item)
                           : addresses_place(&p->at, NULL, "", i->address, item);
    if (rc == 0 && *item >= p->item_room) {
        size_t room = 2 * p->item_room + 256;
        struct profile_item *more = realloc(p->items, room * sizeof *more);
        if (more == NULL)
            return -ENOMEM;
        memset(more + p->item_room, 0, (room - p->item_room) * sizeof *more);
        p->items = more;
        p->item_room = room;
    }
    return rc;
}

static struct values_argument *find_argument(struct values_profile *p, uint32_t item,
                                             uint32_t number)
{
    for (size_t i = 0; i < p->argument_count; i++)
        if (p->arguments[i].function == item && p->arguments[i].number == number)
            return &p->arguments[i];
    struct values_argument *more = realloc(p->arguments, (p->argument_count + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    p->arguments = more;
    more[p->argument_count] = (struct values_argument){.function = item, .number = number};
    return &more[p->argument_count++];
}

/* Adds a value of vp-args. Its first context is the number of the argument, its second the address
 * of the called function. For a returned value the second is 0, and the instruction itself is in
 * the function. The function is an item of p->at until values_resolve(). */
static int add_argument(struct values_profile *p, const struct rt_value_hot *h, uint32_t item,
                        double threshold)
{
    int rc = h->context1 != 0   ? addresses_find(&p->at, h->context1, UINT64_MAX, &item)
             : h->context0 != 0 ? addresses_place(&p->at, NULL, "", 0, &item) /* function unknown */
                                : 0;
    if (rc != 0 || h->context0 > 6)
        return rc;
    struct values_argument *a = find_argument(p, item, (uint32_t)h->context0);
    if (a == NULL)
        return -ENOMEM;
    struct rt_value_hot plain = *h;
    plain.context0 = plain.context1 = 0;
    a->list.total += (uint64_t)((double)h->count * threshold + 0.5);
    return add_value(&a->list, &plain, threshold);
}

/* Replaces callers by image and place, because their addresses differ between processes. Addresses
 * in no image stay. */
static int place_callers(struct values_profile *p, struct values_value *v)
{
    int rc = 0;
    for (unsigned n = 0; n < 2 && rc == 0; n++) {
        uint32_t item;
        if (v->context[n] == 0)
            continue;
        rc = addresses_find(&p->at, v->context[n], UINT64_MAX, &item);
        if (rc == 0 && p->at.items[item].image != NO_IMAGE) {
            v->caller[n] = item + 1;
            v->context[n] = 0;
        }
    }
    return rc;
}

static bool has_callers(const struct rt_rank *rank)
{
    const char *wanted = rt_rank_metadata(rank, "option.vcontext");
    return wanted != NULL && strncmp(wanted, "caller", strlen("caller")) == 0;
}

static int add_instruction(struct values_profile *p, const struct rt_rank *rank,
                           const struct rt_value_instruction *i, const struct rt_value_hot *hot,
                           size_t hot_count, bool arguments)
{
    bool callers = !arguments && has_callers(rank);
    uint32_t item;
    int rc = find_item(p, rank, i, &item);
    if (rc != 0)
        return rc;
    struct profile_item *q = &p->items[item];
    q->samples += i->samples;
    q->periods += i->periods;
    q->list.total += i->values;
    memcpy(q->code, i->code, sizeof q->code);
    for (size_t k = 0; k < hot_count && rc == 0; k++) {
        p->has_contexts |= hot[k].context0 != 0 || hot[k].context1 != 0;
        rc = arguments ? add_argument(p, &hot[k], item, i->threshold)
                       : add_value(&p->items[item].list, &hot[k], i->threshold);
        struct values_list *l = &p->items[item].list;
        if (rc == 0 && callers)
            rc = place_callers(p, &l->values[l->count - 1]);
    }
    return rc;
}

static void add_totals(struct values_profile *p, const struct rt_rank *rank)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    const char *lost = rt_rank_metadata(rank, "values.lost_chunks");
    const char *failed = rt_rank_metadata(rank, "values.failed");
    for (size_t i = 0; i < t->value_thread_count; i++) {
        const struct rt_value_thread *v = &t->value_threads[i];
        p->samples += v->samples;
        p->captured += v->captured;
        p->without[0] += v->unknown;
        p->without[1] += v->unlearned;
        p->without[2] += v->not_run;
        p->without[3] += v->busy;
        p->without[4] += v->skipped;
        p->damaged += v->damaged;
        p->unprocessed += v->unprocessed;
        p->strange += v->strange;
    }
    p->lost_chunks += lost != NULL ? strtoull(lost, NULL, 10) : 0;
    if (failed != NULL && p->failed == NULL)
        p->failed = strdup(failed);
}

/* A process whose values have been added. */
struct values_process {
    char host[80];
    uint32_t pid;
    uint64_t began_ns; /* first calibration of its clock: differs after exec, too */
};

/* Notes the process. Returns 0 if its values have been added already, by a file that may have those
 * of a whole process; otherwise 1, or -ENOMEM. */
static int note_process(struct values_profile *p, const struct rt_rank *rank)
{
    const struct rt_rank_info *info = rt_rank_info(rank);
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    struct values_process now = {.pid = info->pid};
    (void)snprintf(now.host, sizeof now.host, "%s", info->host);
    now.began_ns = t->calibration_count > 0 ? t->calibration[0].realtime_ns : 0;
    for (size_t i = 0; i < p->ranks && p->of_more; i++) {
        const struct values_process *o = &p->processes[i];
        if (o->pid == now.pid && o->began_ns == now.began_ns && strcmp(o->host, now.host) == 0)
            return 0;
    }
    struct values_process *more =
        array_grown(p->processes, p->ranks, &p->process_room, sizeof *more);
    if (more == NULL)
        return -ENOMEM;
    p->processes = more;
    more[p->ranks++] = now;
    return 1;
}

int values_collect(struct values_profile *p, const struct rt_rank *rank, bool arguments,
                   struct rt_error *e)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    const char *plugin = rt_rank_metadata(rank, "values");
    if (plugin == NULL || plugin[0] == '\0')
        return 0;
    if (p->plugin[0] != '\0' && strcmp(p->plugin, plugin) != 0) {
        rt_error_set(e, "its values are of the plug-in %s, those before of %s: list them apart",
                     plugin, p->plugin);
        return -EINVAL;
    }
    (void)snprintf(p->plugin, sizeof p->plugin, "%s", plugin);
    enum rt_file_state state = rt_rank_info(rank)->state;
    if (state == RT_FILE_LIVE || state == RT_FILE_ABANDONED) {
        p->open_files++;
        return 0;
    }
    p->of_more |= rt_rank_metadata(rank, "split.window") != NULL;
    int rc = note_process(p, rank);
    if (rc == 0)
        return 0;
    if (rc > 0) {
        add_totals(p, rank);
        rc = addresses_begin_rank(&p->at, rank);
    }
    size_t from = 0;
    for (size_t i = 0; i < t->value_instruction_count && rc == 0; i++) {
        const struct rt_value_instruction *row = &t->value_instructions[i];
        while (from < t->value_hot_count && t->value_hot[from].number < row->number)
            from++;
        size_t end = from;
        while (end < t->value_hot_count && t->value_hot[end].number == row->number)
            end++;
        rc = add_instruction(p, rank, row, t->value_hot + from, end - from, arguments);
        from = end;
    }
    if (rc == -ENOMEM)
        rt_error_set(e, "out of memory");
    return rc;
}

/* --- after all files are read ----------------------------------------------------------------- */

static uint32_t find_function(struct values_profile *p, char *name, uint32_t image)
{
    for (size_t i = p->function_count; i-- > 0;) {
        const struct values_function *f = &p->functions[i];
        bool same = name == NULL ? f->name == NULL : f->name != NULL && strcmp(f->name, name) == 0;
        if (same && f->image == image) {
            free(name);
            return (uint32_t)i;
        }
    }
    struct values_function *more = realloc(p->functions, (p->function_count + 1) * sizeof *more);
    if (more == NULL) {
        free(name);
        return UINT32_MAX;
    }
    p->functions = more;
    more[p->function_count] = (struct values_function){.name = name, .image = image};
    return (uint32_t)p->function_count++;
}

static int by_value(const void *a, const void *b)
{
    const struct values_value *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    for (unsigned n = 0; n < 2; n++) {
        if (x->context[n] != y->context[n])
            return x->context[n] < y->context[n] ? -1 : 1;
        if (x->caller[n] != y->caller[n])
            return x->caller[n] < y->caller[n] ? -1 : 1;
    }
    return 0;
}

static int by_times(const void *a, const void *b)
{
    const struct values_value *x = a, *y = b;
    if (x->times < y->times || x->times > y->times)
        return x->times < y->times ? 1 : -1;
    return by_value(a, b);
}

static void merge(struct values_list *l, bool contexts)
{
    size_t kept = 0;
    if (l->count == 0)
        return;
    for (size_t i = 0; i < l->count && !contexts; i++) {
        l->values[i].context[0] = l->values[i].context[1] = 0;
        l->values[i].caller[0] = l->values[i].caller[1] = 0;
    }
    qsort(l->values, l->count, sizeof *l->values, by_value);
    for (size_t i = 1; i < l->count; i++) {
        if (by_value(&l->values[kept], &l->values[i]) == 0)
            l->values[kept].times += l->values[i].times;
        else
            l->values[++kept] = l->values[i];
    }
    l->count = kept + 1;
    qsort(l->values, l->count, sizeof *l->values, by_times);
}

static int resolve_item(struct values_profile *p, uint32_t item, uint32_t *function, char **line)
{
    const struct address *at = &p->at.items[item];
    struct image_symbols *s =
        at->image != NO_IMAGE ? addresses_symbols(&p->at.images[at->image]) : NULL;
    char *name = NULL;
    if (s != NULL)
        image_symbols_find(s, at->offset, &name, line);
    *function = find_function(p, name, at->image);
    return *function == UINT32_MAX ? -ENOMEM : 0;
}

static int by_function(const void *a, const void *b)
{
    const struct values_argument *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int append(struct values_list *to, struct values_list *from)
{
    struct values_value *more = realloc(to->values, (to->count + from->count + 1) * sizeof *more);
    if (more == NULL)
        return -ENOMEM;
    to->values = more;
    memcpy(more + to->count, from->values, from->count * sizeof *more);
    to->count = to->room = to->count + from->count;
    to->total += from->total;
    to->estimated |= from->estimated;
    to->threshold = from->threshold > to->threshold ? from->threshold : to->threshold;
    free(from->values);
    *from = (struct values_list){0};
    return 0;
}

/* Finds the functions of arguments, and merges their lists: several instructions of a function
 * return, or call it. */
static int resolve_arguments(struct values_profile *p, bool contexts)
{
    size_t kept = 0;
    int rc = 0;
    for (size_t i = 0; i < p->argument_count && rc == 0; i++)
        rc = resolve_item(p, p->arguments[i].function, &p->arguments[i].function, NULL);
    if (rc != 0 || p->argument_count == 0)
        return rc;
    qsort(p->arguments, p->argument_count, sizeof *p->arguments, by_function);
    for (size_t i = 1; i < p->argument_count && rc == 0; i++) {
        if (by_function(&p->arguments[kept], &p->arguments[i]) == 0)
            rc = append(&p->arguments[kept].list, &p->arguments[i].list);
        else
            p->arguments[++kept] = p->arguments[i];
    }
    p->argument_count = kept + 1;
    for (size_t i = 0; i < p->argument_count; i++)
        merge(&p->arguments[i].list, contexts);
    return rc;
}

int values_resolve(struct values_profile *p, bool contexts)
{
    int rc = 0;
    size_t items = p->at.count < p->item_room ? p->at.count : p->item_room;
    for (size_t i = 0; i < items && rc == 0; i++) {
        struct profile_item *q = &p->items[i];
        if (q->samples == 0)
            continue; /* not captured: only the address of a function or a caller */
        merge(&q->list, contexts);
        rc = resolve_item(p, (uint32_t)i, &q->function, &q->line);
        if (rc == 0) {
            p->functions[q->function].samples += q->samples;
            p->functions[q->function].periods += q->periods;
        }
    }
    return rc != 0 ? rc : resolve_arguments(p, contexts);
}

void values_profile_free(struct values_profile *p)
{
    for (size_t i = 0; i < p->item_room; i++) {
        free(p->items[i].list.values);
        free(p->items[i].line);
    }
    for (size_t i = 0; i < p->function_count; i++)
        free(p->functions[i].name);
    for (size_t i = 0; i < p->argument_count; i++)
        free(p->arguments[i].list.values);
    addresses_free(&p->at);
    free(p->items);
    free(p->functions);
    free(p->arguments);
    free(p->failed);
    free(p->processes);
    *p = (struct values_profile){0};
}
