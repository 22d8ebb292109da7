/* SPDX-License-Identifier: BSD-3-Clause
 * Samples of the program counter, by function. */
#include "tools/emu/models.h"

int sample_at(struct replay *r, const struct emu_record *rec, int64_t *value, struct rt_error *e)
{
    uint32_t number;
    int rc =
        emu_functions_find(r->functions, rec->stream, rec->event.a, rec->event.clock, &number, e);
    *value = number;
    return rc;
}
