/* SPDX-License-Identifier: BSD-3-Clause
 * gap WRITER DIR STREAM: an MPI process that loses events twice: once within a window, and once
 * from one window into another. gaps.py lists what it records. */
#include "t/writer/producer.h"

#include "base/clock.h"

#include <stdio.h>
#include <time.h>

enum { CALL = 7, OTHER_CALL = 9 }; /* two arbitrary MPI functions */

static void set_window(int32_t ordinal)
{
    recorder_flush(&recorder_self); /* a chunk belongs to one window */
    recorder_set_window(&recorder_self, ordinal, ordinal != STREAM_NO_WINDOW);
}

static void window(bool open, uint64_t ordinal)
{
    uint64_t more[3] = {UINT64_MAX, 42, 0xffff};
    if (open)
        set_window((int32_t)ordinal);
    (void)recorder_emit_long(&recorder_self, open ? EV_WINDOW_OPEN : EV_WINDOW_CLOSE,
                             (uint64_t)open << 33 | ordinal, 0, more, 1);
    if (!open)
        set_window(STREAM_NO_WINDOW);
}

static void put(uint32_t code, uint64_t a, uint64_t b)
{
    (void)recorder_emit(&recorder_self, code, a, b);
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Loses events and says so as the recorder does: after the gap, with the ticks since its start. */
static void lose(int32_t window_then)
{
    uint64_t from = clock_ticks();
    (void)nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    set_window(window_then);
    put(EV_DROPPED, 5, clock_ticks() - from);
}

static void first_window(void)
{
    window(true, 0);
    put(EV_FUNCTION_ENTER, 0x1000, 0);
    put(EV_MPI_PCONTROL, 3, 0);
    put(EVENT_MPI_ENTER(CALL), 0, 0);
    lose(0);
    put(EVENT_MPI_LEAVE(OTHER_CALL), 0, 0); /* entered in the gap */
    put(EV_FUNCTION_LEAVE, 0x2000, 0);      /* entered in the gap, too */
    put(EV_FUNCTION_ENTER, 0x3000, 0);
    put(EV_FUNCTION_LEAVE, 0x3000, 0);
    put(EV_FUNCTION_LEAVE, 0x1000, 0); /* entered before the gap */
    window(false, 0);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct producer p;
    producer_create(&p, argv[3], &(struct stream_geometry){0}, NULL);
    atomic_store(&p.stream.header->rank, 0);
    atomic_store(&p.stream.header->size, 1);
    atomic_store(&p.stream.header->rank_confirmed, 1);
    producer_start_writer(&p, argv[1], argv[2]);
    producer_attach(&p);
    first_window();
    window(true, 1);
    put(EV_REGION_BEGIN, 0, 0);
    lose(2);
    put(EVENT_MPI_ENTER(CALL), 0, 0);
    put(EVENT_MPI_LEAVE(CALL), 0, 0);
    window(false, 2);
    recorder_flush(&recorder_self);
    return producer_finish(&p, STREAM_FINISHED) == WRITER_CLOSED ? 0 : 1;
}
