/* SPDX-License-Identifier: BSD-3-Clause
 * The requests of nonblocking collective calls that are not complete yet, by process and handle. */
#ifndef REGTRACE_TOOLS_WAITS_COLLECTIVE_REQUESTS_H
#define REGTRACE_TOOLS_WAITS_COLLECTIVE_REQUESTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct meeting;

struct collective_request {
    uint64_t handle;
    uint32_t process, stream; /* of the call that made it */
    int64_t made_ns;          /* when that call ended */
    struct meeting *meeting;
};

struct collective_requests;

/* Returns NULL without memory. */
struct collective_requests *collective_requests_open(void);
void collective_requests_close(struct collective_requests *t);
/* Returns 0 or -ENOMEM. */
RT_MUST_CHECK int collective_requests_add(struct collective_requests *t,
                                          const struct collective_request *r);
/* Takes out the newest request of this handle that was there at a time; call it again for older
 * ones. The library may give a handle to its next request before an event shows that the wait for
 * the one before has ended. Returns false if there is none. */
bool collective_requests_take(struct collective_requests *t, uint32_t process, uint64_t handle,
                              int64_t ns, struct collective_request *taken);
/* Takes out some request that a thread's call made, or that belongs to a meeting; call it again for
 * others. Return false if there is none. */
bool collective_requests_take_of(struct collective_requests *t, uint32_t stream,
                                 struct collective_request *taken);
bool collective_requests_take_in(struct collective_requests *t, const struct meeting *meeting,
                                 struct collective_request *taken);

#endif
