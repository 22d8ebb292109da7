/* SPDX-License-Identifier: BSD-3-Clause
 * Adds up messages by sender and receiver, and prints them. */
#include "tools/report/message_pairs.h"

#include "tools/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define PAIRS_SHOWN 10
#define RANKS_MOST 2048 /* for more ranks, pairs are not stored; 96 MiB */

int message_pairs_open(struct message_pairs *p, uint32_t ranks, const struct window_span *windows)
{
    *p = (struct message_pairs){.windows = windows, .rank_count = ranks};
    if (ranks > RANKS_MOST)
        return 0;
    p->pairs = calloc((size_t)ranks * ranks + 1, sizeof *p->pairs);
    return p->pairs != NULL ? 0 : -ENOMEM;
}

bool message_pairs_add(struct message_pairs *p, const struct message *m)
{
    if (!window_span_has(p->windows, m->send_window))
        return false;
    p->messages++;
    p->bytes += m->bytes;
    if (p->pairs == NULL || m->sender < 0 || m->receiver < 0 ||
        (uint32_t)m->sender >= p->rank_count || (uint32_t)m->receiver >= p->rank_count)
        return false;
    struct message_pair *x = &p->pairs[(size_t)m->sender * p->rank_count + (uint32_t)m->receiver];
    x->messages++;
    x->bytes += m->bytes;
    return true;
}

void message_pairs_add_lone(struct message_pairs *p, const struct unmatched_end *x)
{
    if (window_span_has(p->windows, x->window))
        (x->is_send ? p->unmatched.sends : p->unmatched.receives)[x->why]++;
}

void message_pairs_free(struct message_pairs *p)
{
    pair_sites_free(&p->sites);
    free(p->pairs);
    *p = (struct message_pairs){0};
}

/* --- as text ---------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b, void *pairs)
{
    const struct message_pair *x = (struct message_pair *)pairs + *(const uint32_t *)a,
                              *y = (struct message_pair *)pairs + *(const uint32_t *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void print_pairs(FILE *out, const struct message_pairs *p)
{
    char span[48];
    size_t n = 0, all = (size_t)p->rank_count * p->rank_count;
    uint32_t *order =
        p->pairs != NULL ? report_room(all + 1, sizeof *order, "messages from rank to rank") : NULL;
    if (order == NULL || p->messages == 0) {
        free(order);
        return;
    }
    for (size_t i = 0; i < all; i++)
        if (p->pairs[i].messages > 0)
            order[n++] = (uint32_t)i;
    qsort_r(order, n, sizeof *order, by_bytes, p->pairs);
    (void)fprintf(out,
                  "\nMessages from rank to rank: %" PRIu64 " message%s, %" PRIu64
                  " bytes, between %zu pair%s%s%s\n  %6s %6s %10s %16s\n",
                  p->messages, p->messages == 1 ? "" : "s", p->bytes, n, n == 1 ? "" : "s",
                  p->windows->given ? ", sent in " : "",
                  p->windows->given ? window_span_text(span, p->windows) : "", "from", "to",
                  "messages", "bytes");
    for (size_t i = 0; i < n && i < PAIRS_SHOWN; i++)
        (void)fprintf(out, "  %6" PRIu32 " %6" PRIu32 " %10" PRIu64 " %16" PRIu64 "\n",
                      order[i] / p->rank_count, order[i] % p->rank_count,
                      p->pairs[order[i]].messages, p->pairs[order[i]].bytes);
    if (n > PAIRS_SHOWN)
        (void)fprintf(out, "  ... %zu more pairs (--json has them)\n", n - PAIRS_SHOWN);
    free(order);
}

static uint64_t sum(const uint64_t counts[UNMATCHED_REASONS])
{
    uint64_t all = 0;
    for (int i = 0; i < UNMATCHED_REASONS; i++)
        all += counts[i];
    return all;
}

uint64_t message_pairs_lone_receives(const struct message_pairs *p)
{
    return sum(p->unmatched.receives);
}

void message_pairs_print(FILE *out, const struct message_pairs *p, uint64_t collectives)
{
    const struct unmatched *u = &p->unmatched;
    print_pairs(out, p);
    if (sum(u->sends) + sum(u->receives) + collectives == 0) {
        if (p->messages > 0)
            (void)fputs(
                "  all matched: each send, receive and collective call has its other side\n", out);
        return;
    }
    (void)fputs("\nMessages and collective calls of which nobody knows the other side\n", out);
    for (int i = 0; i < UNMATCHED_REASONS; i++)
        if (u->sends[i] + u->receives[i] > 0)
            (void)fprintf(
                out, "  %" PRIu64 " sends and %" PRIu64 " receives could not be matched (%s)\n",
                u->sends[i], u->receives[i], unmatched_text((enum unmatched_reason)i));
    if (u->sends[UNMATCHED_ALONE] + u->receives[UNMATCHED_ALONE] > 0)
        (void)fputs("  Waits for them are in no table above: longer windows, and a report of all "
                    "ranks, have more of both sides.\n",
                    out);
    if (collectives > 0)
        (void)fprintf(out,
                      "  %" PRIu64
                      " collective calls could not be compared between ranks (other ranks of their "
                      "communicator made them in no window, or are of another world)\n",
                      collectives);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

void message_pairs_json(struct json *j, const struct message_pairs *p, size_t most_rows)
{
    size_t n = 0, all = p->pairs != NULL ? (size_t)p->rank_count * p->rank_count : 0;
    for (size_t i = 0; i < all; i++)
        n += p->pairs[i].messages > 0;
    if (n > most_rows) {
        json_null(j, "messages");
        json_null(j, "message_sites");
        return;
    }
    json_array_begin(j, "messages");
    for (size_t i = 0; i < all; i++) {
        if (p->pairs[i].messages == 0)
            continue;
        json_object_begin(j, NULL);
        json_compact(j);
        json_uint(j, "from", i / p->rank_count);
        json_uint(j, "to", i % p->rank_count);
        json_uint(j, "messages", p->pairs[i].messages);
        json_uint(j, "bytes", p->pairs[i].bytes);
        json_object_end(j);
    }
    json_array_end(j);
    pair_sites_json(j, &p->sites);
}

void message_pairs_json_lone(struct json *j, const struct message_pairs *p)
{
    json_uint(j, "unmatched_sends", sum(p->unmatched.sends));
    json_uint(j, "unmatched_receives", sum(p->unmatched.receives));
}
