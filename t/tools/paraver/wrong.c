/* SPDX-License-Identifier: BSD-3-Clause
 * wrong WRITER DIR STREAM records an impossible event: it leaves a function that it has not
 * entered. The recorder never does this. */
#include "t/writer/producer.h"

#include <stdio.h>

static void window(bool open)
{
    uint64_t more[3] = {UINT64_MAX, 42, 0xffff};
    if (open)
        recorder_set_window(&recorder_self, 0, 1);
    (void)recorder_emit_long(&recorder_self, open ? EV_WINDOW_OPEN : EV_WINDOW_CLOSE,
                             (uint64_t)open << 33, 0, more, 1);
    if (!open)
        recorder_set_window(&recorder_self, STREAM_NO_WINDOW, 0);
}

int main(int argc, char **argv)
{
    enum { FIRST = 0x1000, SECOND = 0x2000, THIRD = 0x3000 };
    if (argc != 4)
        return 2;
    struct producer p;
    producer_create(&p, argv[3], &(struct stream_geometry){0}, NULL);
    producer_start_writer(&p, argv[1], argv[2]);
    producer_attach(&p);
    window(true);
    (void)recorder_emit(&recorder_self, EV_FUNCTION_ENTER, FIRST, 0);
    (void)recorder_emit(&recorder_self, EV_FUNCTION_LEAVE, SECOND, 0);
    (void)recorder_emit(&recorder_self, EV_FUNCTION_ENTER, THIRD, 0);
    (void)recorder_emit(&recorder_self, EV_FUNCTION_LEAVE, THIRD, 0);
    window(false);
    recorder_flush(&recorder_self);
    return producer_finish(&p, STREAM_FINISHED) == WRITER_CLOSED ? 0 : 1;
}
