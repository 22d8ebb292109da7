/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the largest shift by search, and excludes smaller ones by what receives waited for. */
#include "tools/messages/shift.h"

#include "base/search.h"

#include <stdlib.h>

enum {
    TRIES = 4096, /* shifts to try */
    NEAR = 64,    /* nearest smaller shifts, tried one by one */
    NEEDED = 5,
    MANY = 10000
};
#define LATER_NS 2000           /* on one node, a message has arrived after this time */
#define FAR_NS INT64_C(1000000) /* the same between nodes */
#define BY_CHANCE 0.02 /* largest share of receives that are late though their message is there */
#define SURE 1e-7

static const struct likely_send *send_at(const struct shift_run *run, int64_t i)
{
    return &run->from->sends[run->sends[i]];
}

static const struct likely_receive *receive_at(const struct shift_run *run, int64_t i)
{
    return &run->to->receives[run->receives[i]];
}

static int64_t margin_of(const struct shift_run *run)
{
    return run->error_ns != 0 ? FAR_NS + run->error_ns : LATER_NS;
}

/* Returns the number of sends that began before that time. */
static int64_t sends_before(const struct shift_run *run, int64_t ns)
{
    size_t n;
    SEARCH_FIRST(n, run->send_count, send_at(run, (int64_t)n)->ns < ns);
    return (int64_t)n;
}

/* Bounds the shift by time: receive i gets one of the sends that had begun when it completed.
 * Receives after the sender's window give no bound, as further sends may have begun. Returns false
 * if there is no bound. */
static bool bound_by_time(const struct shift_run *run, int64_t *most)
{
    bool any = false;
    for (size_t i = 0; i < run->receive_count; i++) {
        int64_t ns = receive_at(run, (int64_t)i)->received_ns + run->error_ns;
        if (ns > run->from->to)
            continue;
        int64_t bound = sends_before(run, ns) - 1 - (int64_t)i;
        *most = !any || bound < *most ? bound : *most;
        any = true;
    }
    return any;
}

static bool sizes_fit(const struct likely_send *s, const struct likely_receive *r)
{
    return r->bytes == RECEIVED_ANY ? s->bytes <= r->room : s->bytes == r->bytes;
}

static bool fits(const struct shift_run *run, int64_t shift)
{
    const int64_t n = (int64_t)run->receive_count, m = (int64_t)run->send_count;
    int64_t first = shift < 0 ? -shift : 0;
    for (int64_t i = first; i < n && i + shift < m; i++) {
        const struct likely_send *s = send_at(run, i + shift);
        const struct likely_receive *r = receive_at(run, i);
        if (!sizes_fit(s, r) ||
            ((s->flags & LIKELY_SYNCHRONOUS) != 0 && s->end_ns + run->error_ns < r->ns))
            return false;
    }
    for (int64_t j = shift + n > 0 ? shift + n : 0; j < m; j++) { /* received after the window */
        const struct likely_send *s = send_at(run, j);
        if ((s->flags & LIKELY_SYNCHRONOUS) != 0 && s->end_ns + run->error_ns < run->to->to)
            return false;
    }
    return true;
}

void shift_bound(struct shift_run *run)
{
    int64_t shift, least = -(int64_t)run->receive_count + 1;
    run->possible = run->sure = false;
    if (!bound_by_time(run, &shift))
        return;
    for (int tries = 0; shift >= least && tries < TRIES; shift--, tries++)
        if (fits(run, shift)) {
            run->most = shift;
            run->possible = true;
            return;
        }
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Returns the time from which the message of receive i was there, if the shift is `shift` or
 * smaller; INT64_MAX if it is not known. */
static int64_t there(const struct shift_run *run, int64_t i, int64_t shift)
{
    bool small = receive_at(run, i)->bytes <= LIKELY_SMALL;
    if (i + shift >= (int64_t)run->send_count)
        return INT64_MAX;
    if (i + shift < 0)
        return small ? run->from->from : INT64_MAX;
    const struct likely_send *s = send_at(run, i + shift);
    if ((s->flags & LIKELY_BUFFERED) != 0)
        return INT64_MAX;
    return small ? s->end_ns : s->done_ns;
}

/* Returns true if everything else that the receive's call waited for had arrived when the call
 * began. Only then does the time of its return tell when this message arrived: a thread that waits
 * for other things may lose the processor for long. */
static bool waits_for_it_alone(const struct shift_run *run, const struct shift_place *places,
                               uint32_t receive, int64_t begin)
{
    const struct likely_stretch *to = run->to;
    const struct likely_wait *wait = &to->waits[to->receives[receive].wait];
    for (uint32_t k = wait->first; k != 0; k = to->receives[k - 1].next_of_wait) {
        const struct shift_place *place = &places[k - 1];
        if (k - 1 == receive)
            continue;
        if (place->run == NULL || !place->run->possible)
            return false;
        int64_t since = there(place->run, (int64_t)place->at, place->run->most);
        if (since == INT64_MAX || since + margin_of(place->run) > begin)
            return false;
    }
    return wait->kept == wait->complete && !wait->unclear;
}

/* could: receives whose message was there at the begin of the call if `shift` is right. waited:
 * those of them whose send, by run->most, began only later. */
struct count {
    unsigned could, waited;
};

/* Is it more than chance? The binomial probability is at most could! / waited! / (could - waited)!
 * * BY_CHANCE^waited, and for many at most (e could BY_CHANCE / waited)^waited. */
static bool is_no_chance(struct count c)
{
    double p = 1;
    if (c.waited < NEEDED)
        return false;
    for (unsigned i = 0; i < c.waited && p > SURE; i++)
        p *= c.could <= MANY ? BY_CHANCE * (c.could - i) / (i + 1)
                             : 2.7182819 * BY_CHANCE * c.could / c.waited;
    return p <= SURE;
}

static bool is_excluded(const struct shift_run *run, const struct shift_place *places,
                        int64_t shift)
{
    struct count c = {0, 0};
    const int64_t n = (int64_t)run->receive_count, m = (int64_t)run->send_count;
    for (int64_t i = run->most < 0 ? -run->most : 0; i < n && i + run->most < m; i++) {
        const struct likely_receive *r = receive_at(run, i);
        if (r->wait == 0)
            continue;
        const int64_t begin = run->to->waits[r->wait].ns, since = there(run, i, shift);
        if (since == INT64_MAX || since + margin_of(run) > begin ||
            !waits_for_it_alone(run, places, run->receives[i], begin))
            continue;
        c.could++;
        c.waited += send_at(run, i + run->most)->ns > begin + margin_of(run);
    }
    return is_no_chance(c);
}

/* The smaller the shift, the earlier each message was there. Tries the nearest shifts, some smaller
 * ones, and the one that matches nothing. */
void shift_judge(struct shift_run *run, const struct shift_place *places)
{
    const int64_t nothing = -(int64_t)run->receive_count;
    int64_t step = 1, tries = 0;
    run->sure = false;
    if (!run->possible)
        return;
    for (int64_t shift = run->most - 1; shift > nothing; shift -= step) {
        if (fits(run, shift) && !is_excluded(run, places, shift))
            return;
        if (++tries > NEAR)
            step *= 2;
    }
    run->sure = !fits(run, nothing) || is_excluded(run, places, nothing);
}
