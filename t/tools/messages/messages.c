/* SPDX-License-Identifier: BSD-3-Clause
 * messages [-count] DIR: prints each message of a run with the marks that held when it was sent and
 * posted: sent, posted, sender, receiver, tag, bytes. Marks of type 1 and 2 number sends and
 * receives; 0: none was set in the window. Then prints what has no partner, by reason: reason,
 * sends, receives; and "marked 1 N" or "marked 2 N" for each mark in a window. -count: ignores the
 * numbers that the recording gives, as if an older regtrace had made it. */
#include "tools/messages/messages.h"

#include "base/format/event_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mark {
    int64_t ns;
    uint64_t value;
};
static struct marks {
    struct mark *all;
    size_t count, room;
} * marks[2]; /* by stream */

static void note(uint32_t which, const struct stream_record *r)
{
    struct marks *k = &marks[which][r->stream];
    if (k->count == k->room) {
        k->room = 2 * k->room + 64;
        k->all = realloc(k->all, k->room * sizeof *k->all);
        if (k->all == NULL)
            abort();
    }
    k->all[k->count++] = (struct mark){r->ns, r->event.b};
}

static uint64_t at(uint32_t which, uint32_t stream, int64_t ns)
{
    const struct marks *k = &marks[which][stream];
    for (size_t i = k->count; i-- > 0;)
        if (k->all[i].ns <= ns)
            return k->all[i].value;
    return 0;
}

static void found(void *context, const struct message *m)
{
    (void)context;
    if (m->send_ns > m->sent_ns || m->receive_ns > m->received_ns || m->send_ns > m->received_ns)
        printf("times are wrong:");
    printf("message %" PRIu64 " %" PRIu64 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRIu64 "\n",
           at(0, m->send_stream, m->send_ns), at(1, m->receive_stream, m->receive_ns), m->sender,
           m->receiver, m->tag, m->bytes);
}

static bool counts; /* -count */

static int read_all(struct streams *s, struct messages *m, struct rt_error *e)
{
    struct stream_record r;
    bool got = true;
    int rc = 0;
    while (rc == 0 && got) {
        rc = streams_next(s, &r, &got, e);
        if (rc != 0 || !got)
            break;
        if (r.event.code == EV_WINDOW_OPEN) {
            r.event.b = 0;
            note(0, &r);
            note(1, &r);
        }
        if (r.event.code == EV_MARK_SET && (r.event.a == 1 || r.event.a == 2))
            note((uint32_t)r.event.a - 1, &r);
        if (r.event.code == EV_MPI_READY && counts)
            r.event.b &= ~EVENT_PUT(EV_MPI_READY, numbered, 1);
        rc = messages_take(m, &r, e);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct rt_error e = {{0}};
    struct rt_run *run = NULL;
    struct streams *s = NULL;
    struct comms *c = NULL;
    struct messages *m = NULL;
    struct unmatched left;
    struct rank_list all = {0};
    uint32_t n = 0;
    counts = argc > 2 && strcmp(argv[1], "-count") == 0;
    argv += counts;
    argc -= counts;
    int rc = argc < 2 || rt_run_open(&run, argv[1], &e) != 0 ||
             streams_open(&s, run, &all, NULL, &e) != 0 || comms_open(&c, s, &e) != 0 ||
             messages_open(&m, s, c, found, NULL, &e) != 0;
    if (rc == 0)
        (void)streams_all(s, &n);
    for (int i = 0; i < 2; i++)
        if ((marks[i] = calloc((size_t)n + 1, sizeof **marks)) == NULL)
            return 1;
    if (rc == 0)
        rc = read_all(s, m, &e);
    if (rc == 0)
        rc = messages_end(m, &left, &e);
    for (int i = 0; rc == 0 && i < UNMATCHED_REASONS; i++)
        if (left.sends[i] != 0 || left.receives[i] != 0)
            printf("left %" PRIu64 " %" PRIu64 " %s\n", left.sends[i], left.receives[i],
                   unmatched_text((enum unmatched_reason)i));
    if (rc != 0)
        fprintf(stderr, "%s\n", e.text);
    for (int i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < n; k++) {
            for (size_t j = 0; rc == 0 && j < marks[i][k].count; j++)
                if (marks[i][k].all[j].value != 0)
                    printf("marked %d %" PRIu64 "\n", i + 1, marks[i][k].all[j].value);
            free(marks[i][k].all);
        }
        free(marks[i]);
    }
    messages_close(m);
    comms_close(c);
    streams_close(s);
    rt_run_close(run);
    return rc != 0;
}
