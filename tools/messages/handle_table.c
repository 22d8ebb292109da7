/* SPDX-License-Identifier: BSD-3-Clause
 * Stores the entries of a process in a hash table of handles. */
#include "tools/messages/handle_table.h"

#include <errno.h>
#include <stdlib.h>

static struct handle_entry **bucket(struct handles *p, uint64_t handle)
{
    return &p->buckets[(handle * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

struct handle_entry **handles_find(struct handles *p, int kind, uint64_t handle, int64_t ns)
{
    struct handle_entry **at = bucket(p, handle);
    while (*at != NULL && ((*at)->handle != handle || (int)(*at)->kind != kind || (*at)->ns > ns))
        at = &(*at)->next;
    return *at != NULL ? at : NULL;
}

int handles_add(struct handles *p, const struct handle_entry *what, struct rt_error *e)
{
    struct handle_entry *x = malloc(sizeof *x), **at = bucket(p, what->handle);
    if (x == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    *x = *what;
    x->next = *at;
    *at = x;
    return 0;
}

struct handle_entry handles_take(struct handle_entry **at)
{
    struct handle_entry *x = *at, copy = *x;
    *at = x->next;
    free(x);
    return copy;
}

void handles_free(struct handles *p)
{
    for (int i = 0; i < 256; i++)
        while (p->buckets[i] != NULL)
            (void)handles_take(&p->buckets[i]);
}

void handles_forget(struct handles *p,
                    bool (*which)(const void *context, const struct handle_entry *x),
                    const void *context)
{
    for (int i = 0; i < 256; i++)
        for (struct handle_entry **at = &p->buckets[i]; *at != NULL;)
            if (which(context, *at))
                (void)handles_take(at);
            else
                at = &(*at)->next;
}
