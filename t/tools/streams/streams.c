/* SPDX-License-Identifier: BSD-3-Clause
 * streams DIR: prints each event of a run in the order in which the emulator gets it: ns, rank,
 * thread, row, code. */
#include "tools/streams/streams.h"

#include <inttypes.h>
#include <stdio.h>

static void skip(void *context, const char *file, const char *why)
{
    (void)context;
    printf("left out: %s: %s\n", file, why);
}

int main(int argc, char **argv)
{
    struct rt_error e = {{0}};
    struct rt_run *run = NULL;
    struct streams *s = NULL;
    struct rank_list all = {0};
    struct stream_record r;
    bool got = true;
    const struct skipped_files skipped = {skip, NULL};
    uint32_t n;
    if (argc < 2 || rt_run_open(&run, argv[1], &e) != 0 ||
        streams_open(&s, run, &all, argc > 2 ? &skipped : NULL, &e) != 0) {
        fprintf(stderr, "%s\n", e.text);
        rt_run_close(run);
        return 1;
    }
    const struct thread_stream *streams = streams_all(s, &n);
    int rc = 0;
    while (rc == 0 && got) {
        rc = streams_next(s, &r, &got, &e);
        if (rc == 0 && got)
            printf("%" PRId64 " %" PRId32 " %" PRId32 " %" PRIu64 " %" PRIu32 "\n", r.ns,
                   rt_rank_info(streams[r.stream].rank)->rank, streams[r.stream].number, r.row,
                   r.event.code);
    }
    if (rc != 0)
        fprintf(stderr, "%s\n", e.text);
    streams_close(s);
    rt_run_close(run);
    return rc != 0;
}
