/* SPDX-License-Identifier: BSD-3-Clause
 * Checks all chains together: names, circles, one uniform, what this build can do, and warnings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/language/language.h"

void builder_warn(struct ctl_builder *builder, const char *fmt, ...)
{
    char text[1024];
    if (builder->warn == NULL)
        return;
    va_list arguments;
    va_start(arguments, fmt);
    vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    builder->warn(builder->warn_context, text);
}

static int fail_at(const struct ctl_builder *builder, size_t chain, size_t offset,
                   struct rt_error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

static int fail_at(const struct ctl_builder *builder, size_t chain, size_t offset,
                   struct rt_error *err, const char *fmt, ...)
{
    const struct built_chain *built = &builder->chains[chain];
    va_list arguments;
    va_start(arguments, fmt);
    chain_fail(err, built->chain.origin, chain + 1, built->source, built->source + offset, fmt,
               arguments);
    va_end(arguments);
    return -EINVAL;
}

/* ---- Names ---- */

struct named_chain {
    const char *name;
    size_t chain;
};

static int compare_named(const void *a, const void *b)
{
    const struct named_chain *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : left->chain < right->chain ? -1 : left->chain > right->chain;
}

static int compare_key(const void *key, const void *element)
{
    return strcmp(key, ((const struct named_chain *)element)->name);
}

static int unknown_waitfor(struct ctl_builder *builder, const struct named_chain *names,
                           size_t count, size_t chain, struct rt_error *err)
{
    const struct built_chain *built = &builder->chains[chain];
    struct span wanted = {built->waitfor_name, strlen(built->waitfor_name)};
    const char *nearest = NULL;
    unsigned best = UINT32_MAX;
    char legal[300] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned distance = name_distance(wanted, names[i].name);
        if (distance < best) {
            best = distance;
            nearest = names[i].name;
        }
        if (used < sizeof legal)
            used += (size_t)snprintf(legal + used, sizeof legal - used, "%s%s", i != 0 ? ", " : "",
                                     names[i].name);
    }
    if (count == 0)
        return fail_at(
            builder, chain, built->waitfor_at, err,
            "waitfor of an unknown chain '%s'; no chain has a name (give one ',name:%s')",
            built->waitfor_name, built->waitfor_name);
    bool near = best * 2 <= wanted.length || best <= 1;
    return fail_at(builder, chain, built->waitfor_at, err,
                   "waitfor of an unknown chain '%s'%s%s%s; named chains are: %s",
                   built->waitfor_name, near ? ", did you mean '" : "", near ? nearest : "",
                   near ? "'?" : "", legal);
}

static int resolve_names(struct ctl_builder *builder, struct named_chain *names,
                         struct rt_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < builder->chain_count; i++) {
        if (builder->chains[i].chain.name[0] != '\0')
            names[count++] = (struct named_chain){builder->chains[i].chain.name, i};
    }
    qsort(names, count, sizeof *names, compare_named);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(names[i].name, names[i - 1].name) == 0)
            return fail_at(builder, names[i].chain, builder->chains[names[i].chain].name_at, err,
                           "the name '%s' is already that of chain %zu", names[i].name,
                           names[i - 1].chain + 1);
    }
    for (size_t i = 0; i < builder->chain_count; i++) {
        if (builder->chains[i].waitfor_name == NULL)
            continue;
        const struct named_chain *found =
            bsearch(builder->chains[i].waitfor_name, names, count, sizeof *names, compare_key);
        if (found == NULL)
            return unknown_waitfor(builder, names, count, i, err);
        builder->chains[i].chain.waitfor = (uint16_t)found->chain;
    }
    return 0;
}

static int circle(const struct ctl_builder *builder, size_t chain, struct rt_error *err)
{
    const struct built_chain *built = &builder->chains[chain];
    bool itself = built->chain.waitfor == chain;
    return fail_at(builder, chain, built->waitfor_at, err,
                   itself ? "the chain waits for itself%s" : "this chain waits for itself, by '%s'",
                   itself ? "" : built->waitfor_name);
}

/* Chains that wait for each other would never start. seen[chain]: 1 + the chain from which the walk
 * came to it. The walk visits each chain once, because intervals make rows of thousands. */
static int check_circles(struct ctl_builder *builder, size_t *seen, struct rt_error *err)
{
    size_t first = SIZE_MAX; /* lowest chain in a circle */
    for (size_t i = 0; i < builder->chain_count; i++) {
        size_t at = i;
        while (seen[at] == 0 && builder->chains[at].chain.waitfor != CTL_NO_ALARM) {
            seen[at] = i + 1;
            at = builder->chains[at].chain.waitfor;
        }
        if (seen[at] != i + 1)
            continue;
        for (size_t start = at, more = 1; more != 0; more = at != start) {
            first = at < first ? at : first;
            at = builder->chains[at].chain.waitfor;
        }
    }
    return first != SIZE_MAX ? circle(builder, first, err) : 0;
}

static const struct ctl_alarm *uniform_of(const struct ctl_builder *builder, size_t chain)
{
    const struct ctl_chain *c = &builder->chains[chain].chain;
    for (size_t i = 0; builder->chains[chain].has_uniform && i < c->alarm_count; i++)
        if (builder->alarms[c->first_alarm + i].type == CTL_UNIFORM)
            return &builder->alarms[c->first_alarm + i];
    return NULL;
}

static bool share_a_rank(const struct ctl_alarm *a, const struct ctl_alarm *b)
{
    if (a->range_count == 0 || b->range_count == 0)
        return true;
    for (unsigned i = 0; i < a->range_count; i++)
        for (unsigned k = 0; k < b->range_count; k++)
            if (a->ranks[i].first <= b->ranks[k].last && b->ranks[k].first <= a->ranks[i].last)
                return true;
    return false;
}

/* Allows one uniform for each rank: two in one process would drive each other's windows. */
static int check_uniform(struct ctl_builder *builder, struct rt_error *err)
{
    for (size_t i = 0; i < builder->chain_count; i++) {
        const struct ctl_alarm *mine = uniform_of(builder, i);
        for (size_t k = 0; mine != NULL && k < i; k++) {
            const struct ctl_alarm *other = uniform_of(builder, k);
            if (other != NULL && share_a_rank(mine, other))
                return fail_at(
                    builder, i, builder->chains[i].uniform_at, err,
                    "a second uniform; chain %zu has one, and only one is allowed in all "
                    "chains of a rank (the token ranksLIST tells ranks apart)",
                    k + 1);
        }
    }
    return 0;
}

struct ctl_capabilities ctl_capabilities_of_build(void)
{
    return (struct ctl_capabilities){.unavailable_reason = {
#define X(type, why) [type] = why,
#include "base/not_built.def"
#undef X
                                     }};
}

static int check_capabilities(struct ctl_builder *builder,
                              const struct ctl_capabilities *capabilities, struct rt_error *err)
{
    for (size_t i = 0; i < builder->alarm_count; i++) {
        const struct ctl_alarm *alarm = &builder->alarms[i];
        const char *reason = capabilities->unavailable_reason[alarm->type];
        if (alarm->type == CTL_UNIFORM && reason == NULL)
            reason = capabilities->unavailable_reason[CTL_ICOUNT];
        if (reason != NULL)
            return fail_at(builder, alarm->chain, builder->alarm_at[i], err,
                           "%s is not available: %s", ctl_type_name((enum ctl_type)alarm->type),
                           reason);
        if (alarm->exact && capabilities->exact_reason != NULL)
            return fail_at(builder, alarm->chain, builder->alarm_at[i], err,
                           "'exact' is not available: %s", capabilities->exact_reason);
    }
    return 0;
}

int check_chains(struct ctl_builder *builder, const struct ctl_capabilities *capabilities,
                 struct rt_error *err)
{
    struct named_chain *names = calloc(builder->chain_count + 1, sizeof *names);
    if (names == NULL) {
        rt_error_set(err, "out of memory");
        return -ENOMEM;
    }
    int status = resolve_names(builder, names, err);
    free(names);
    size_t *seen = status == 0 ? calloc(builder->chain_count + 1, sizeof *seen) : NULL;
    if (status == 0 && seen == NULL) {
        rt_error_set(err, "out of memory");
        return -ENOMEM;
    }
    if (status == 0)
        status = check_circles(builder, seen, err);
    free(seen);
    if (status == 0)
        status = check_uniform(builder, err);
    if (status == 0 && capabilities != NULL)
        status = check_capabilities(builder, capabilities, err);
    return status;
}

/* ---- Warnings ---- */

static bool is_execution_type(const struct ctl_alarm *alarm)
{
    return alarm->type != CTL_ICOUNT && alarm->type != CTL_TIMEOUT &&
           alarm->type != CTL_INTERACTIVE && alarm->type != CTL_UNIFORM;
}

static bool same_place(const struct ctl_alarm *a, const struct ctl_alarm *b)
{
    return a->type == b->type && a->value_kind == b->value_kind && a->number == b->number &&
           a->second == b->second && a->byte_count == b->byte_count &&
           memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0 && strcmp(a->value, b->value) == 0;
}

static void warn_neighbours(struct ctl_builder *builder, const struct ctl_alarm *before,
                            const struct ctl_alarm *alarm)
{
    size_t chain = (size_t)alarm->chain + 1;
    bool reaches_all = before->bcast || alarm->global || (before->global && before->bcast);
    if (alarm->tid != CTL_ANY_TID && before->tid != CTL_ANY_TID && before->tid != alarm->tid &&
        !reaches_all)
        builder_warn(builder,
                     "chain %zu: '%s' can never be armed: '%s' fires in thread %u and arms it "
                     "there alone (write ':bcast' "
                     "at the first)",
                     chain, alarm->text, before->text, before->tid);
    if (before->event == CTL_START && alarm->event == CTL_STOP && is_execution_type(alarm) &&
        same_place(before, alarm))
        builder_warn(builder,
                     "chain %zu: '%s' and '%s' are one place: the window opens at one execution "
                     "and closes at a later one",
                     chain, before->text, alarm->text);
}

/* A firing in one chain hides no execution from another chain, so one execution can fire a start
 * and a stop at one place. */
static void warn_across(struct ctl_builder *builder, const struct ctl_alarm *alarm)
{
    for (size_t i = 0; i < builder->alarm_count && i < 2000; i++) {
        const struct ctl_alarm *other = &builder->alarms[i];
        if (alarm->event == CTL_START && other->event == CTL_STOP && other->chain != alarm->chain &&
            is_execution_type(alarm) && same_place(alarm, other) && alarm->count == other->count) {
            builder_warn(builder,
                         "chains %u and %u: '%s' and '%s' are one place; where both are armed, one "
                         "execution fires both",
                         alarm->chain + 1u, other->chain + 1u, alarm->text, other->text);
            return;
        }
    }
}

static void warn_waitfor(struct ctl_builder *builder, const struct built_chain *built,
                         size_t number)
{
    if (built->waitfor_name == NULL)
        return;
    const struct ctl_chain *awaited = &builder->chains[built->chain.waitfor].chain;
    if (awaited->repeat == CTL_ENDLESS)
        builder_warn(builder,
                     "chain %zu waits for chain '%s', which repeats without end: it never starts",
                     number, awaited->name);
}

/* Statistics are snapshots of counters: without counters there is nothing to show. */
static void warn_stats(struct ctl_builder *builder)
{
    for (size_t i = 0; builder->no_events && i < builder->alarm_count; i++) {
        const struct ctl_alarm *alarm = &builder->alarms[i];
        if (alarm->event != CTL_STATS_EMIT && alarm->event != CTL_STATS_RESET &&
            alarm->event != CTL_STATS_EMIT_RESET)
            continue;
        builder_warn(builder,
                     "chain %u has a %s, and no events are counted that it could tell of: name "
                     "them with -events (REGTRACE_EVENTS), for example instructions,cycles",
                     alarm->chain + 1u, ctl_event_name((enum ctl_event)alarm->event));
        return;
    }
}

void warn_chains(struct ctl_builder *builder)
{
    if (builder->warn == NULL)
        return;
    warn_stats(builder);
    bool opens = false, closes = false;
    for (size_t i = 0; i < builder->chain_count; i++)
        warn_waitfor(builder, &builder->chains[i], i + 1);
    for (size_t i = 0; i < builder->alarm_count; i++) {
        const struct ctl_alarm *alarm = &builder->alarms[i];
        opens = opens || alarm->event == CTL_START;
        closes = closes || alarm->event == CTL_STOP;
        if (alarm->position > 0)
            warn_neighbours(builder, &builder->alarms[i - 1], alarm);
        /* Not for regions files: they make thousands of chains, and may end one region where the
         * next begins. */
        if (builder->chains[alarm->chain].chain.label[0] == '\0' && i < 2000)
            warn_across(builder, alarm);
    }
    if (closes && !opens && !builder->default_start)
        builder_warn(builder,
                     "no chain has a start and the default start is off: no window will ever open");
}
