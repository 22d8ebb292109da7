/* SPDX-License-Identifier: BSD-3-Clause
 * The table of all events but MPI's, made from event_table.def. */
#include "base/format/event.h"

#include <stddef.h>

const struct event_text event_table[] = {
#define X(name, m, c, v, label, a, b) {EVENT_CODE(m, c, v), #name, label, a, b},
#include "base/format/event_table.def"
#undef X
    {0, NULL, NULL, NULL, NULL},
};

const struct event_text *event_find(uint32_t code)
{
    for (const struct event_text *t = event_table; t->code != 0; t++)
        if (t->code == code)
            return t;
    return NULL;
}
