/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps requests in a hash table with chains, the newest first. */
#include "tools/waits/collective_requests.h"

#include <errno.h>
#include <stdlib.h>

enum { PLACES = 1024 };

struct node {
    struct node *next;
    struct collective_request request;
};

struct collective_requests {
    struct node *places[PLACES];
    size_t count;
};

struct collective_requests *collective_requests_open(void)
{
    return calloc(1, sizeof(struct collective_requests));
}

static void take_out(struct collective_requests *t, struct node **at,
                     struct collective_request *taken)
{
    struct node *x = *at;
    *taken = x->request;
    *at = x->next;
    t->count--;
    free(x);
}

void collective_requests_close(struct collective_requests *t)
{
    struct collective_request taken;
    for (size_t i = 0; t != NULL && i < PLACES; i++)
        while (t->places[i] != NULL)
            take_out(t, &t->places[i], &taken);
    free(t);
}

static struct node **place_of(struct collective_requests *t, uint32_t process, uint64_t handle)
{
    uint64_t h = (handle ^ (uint64_t)process << 48) * UINT64_C(0x9e3779b97f4a7c15);
    return &t->places[(h >> 32) % PLACES];
}

int collective_requests_add(struct collective_requests *t, const struct collective_request *r)
{
    struct node **place = place_of(t, r->process, r->handle), *x = malloc(sizeof *x);
    if (x == NULL)
        return -ENOMEM;
    *x = (struct node){.next = *place, .request = *r};
    *place = x;
    t->count++;
    return 0;
}

bool collective_requests_take(struct collective_requests *t, uint32_t process, uint64_t handle,
                              int64_t ns, struct collective_request *taken)
{
    for (struct node **at = place_of(t, process, handle); *at != NULL; at = &(*at)->next) {
        const struct collective_request *r = &(*at)->request;
        if (r->process != process || r->handle != handle || r->made_ns > ns)
            continue;
        take_out(t, at, taken);
        return true;
    }
    return false;
}

/* Takes out a request of a thread, or else of a meeting. */
static bool take_any(struct collective_requests *t, uint32_t stream, const struct meeting *meeting,
                     struct collective_request *taken)
{
    for (size_t i = 0; t->count > 0 && i < PLACES; i++)
        for (struct node **at = &t->places[i]; *at != NULL; at = &(*at)->next)
            if ((*at)->request.stream == stream || (*at)->request.meeting == meeting) {
                take_out(t, at, taken);
                return true;
            }
    return false;
}

bool collective_requests_take_of(struct collective_requests *t, uint32_t stream,
                                 struct collective_request *taken)
{
    return take_any(t, stream, NULL, taken);
}

bool collective_requests_take_in(struct collective_requests *t, const struct meeting *meeting,
                                 struct collective_request *taken)
{
    return take_any(t, UINT32_MAX, meeting, taken);
}
