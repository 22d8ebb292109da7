/* SPDX-License-Identifier: BSD-3-Clause
 * Stores the entries of a process in a hash table of handles. */
#include "tools/messages/handle_table.h"

#include <errno.h>
#include <stdlib.h>

static struct entry **bucket(struct handles *p, uint64_t handle)
{
    return &p->buckets[(handle * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

struct entry **find_entry(struct handles *p, int kind, uint64_t handle, int64_t ns)
{
    struct entry **at = bucket(p, handle);
    while (*at != NULL && ((*at)->handle != handle || (int)(*at)->kind != kind || (*at)->ns > ns))
        at = &(*at)->next;
    return *at != NULL ? at : NULL;
}

int add_entry(struct handles *p, const struct entry *what, struct rt_error *e)
{
    struct entry *x = malloc(sizeof *x), **at = bucket(p, what->handle);
    if (x == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    *x = *what;
    x->next = *at;
    *at = x;
    return 0;
}

struct entry take_entry(struct entry **at)
{
    struct entry *x = *at, copy = *x;
    *at = x->next;
    free(x);
    return copy;
}

void handles_free(struct handles *p)
{
    for (int i = 0; i < 256; i++)
        while (p->buckets[i] != NULL)
            (void)take_entry(&p->buckets[i]);
}

void handles_forget(struct handles *p, bool (*which)(const void *context, const struct entry *x),
                    const void *context)
{
    for (int i = 0; i < 256; i++)
        for (struct entry **at = &p->buckets[i]; *at != NULL;)
            if (which(context, *at))
                (void)take_entry(at);
            else
                at = &(*at)->next;
}
