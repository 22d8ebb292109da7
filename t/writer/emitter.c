/* SPDX-License-Identifier: BSD-3-Clause
 * A process for t/writer/live.py that records COUNT events at RATE per second and ends in the given
 * way. Usage: emitter WRITER DIR STREAM COUNT RATE finish|kill|exec */
#include "t/writer/producer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void window(bool open, uint64_t ordinal)
{
    uint64_t more[3] = {UINT64_MAX, 42, 0xffff};
    if (open)
        recorder_set_window(&recorder_self, (int32_t)ordinal, 1);
    (void)recorder_emit_long(&recorder_self, open ? EV_WINDOW_OPEN : EV_WINDOW_CLOSE,
                             ordinal | (uint64_t)open << 33, 0, more, 1);
    if (!open)
        recorder_set_window(&recorder_self, STREAM_NO_WINDOW, 0);
}

int main(int argc, char **argv)
{
    static const char *const meta[] = {"chain.0", "start:pcontrol:a,stop:pcontrol:b", NULL};
    if (argc != 7)
        return 2;
    struct producer p;
    producer_create(&p, argv[3],
                    &(struct stream_geometry){.chunk_bytes = 4096, .pool_bytes = 1u << 20}, meta);
    producer_start_writer(&p, argv[1], argv[2]);
    producer_attach(&p);
    uint64_t count = strtoull(argv[4], NULL, 10);
    long rate = atol(argv[5]);
    window(true, 0);
    for (uint64_t i = 0; i < count; i++) {
        (void)recorder_emit(&recorder_self, EV_MARK_SET, 7, i);
        if (rate > 0 && i % 100 == 99) {
            struct timespec ts = {.tv_nsec = 100 * (1000000000 / rate)};
            (void)nanosleep(&ts, NULL);
        }
    }
    printf("emitted %llu\n", (unsigned long long)count);
    (void)fflush(stdout);
    if (strcmp(argv[6], "kill") == 0)
        (void)raise(SIGKILL);
    window(false, 0);
    recorder_flush(&recorder_self);
    if (strcmp(argv[6], "exec") == 0) {
        atomic_store(&p.stream.header->state, STREAM_EXECED);
        recorder_wake_writer();
        (void)execl("/bin/sleep", "sleep", "20", (char *)NULL);
        return 3;
    }
    return producer_finish(&p, STREAM_FINISHED) == WRITER_CLOSED ? 0 : 1;
}
