/* SPDX-License-Identifier: BSD-3-Clause
 * Implements the model of the program's functions; sample/ uses it too. */
#include "tools/channels/models.h"

int func_at(struct event_replay *r, const struct stream_record *rec, int64_t *value,
            struct rt_error *e)
{
    uint32_t number;
    int rc = function_numbers_find(r->functions, rec->stream, rec->event.a, rec->event.clock,
                                   &number, e);
    *value = number;
    return rc;
}

static int64_t last_function(const struct event_replay *r, uint32_t channel)
{
    (void)channel;
    return function_numbers_count(r->functions);
}

static const char *function_text(const struct event_replay *r, uint32_t channel, int64_t value,
                                 char room[64])
{
    (void)channel;
    (void)room;
    return function_numbers_name(r->functions, value);
}

const struct labels labels_of_functions = {
    .known = last_function, .unrecorded = "Not recorded", .text = function_text};
