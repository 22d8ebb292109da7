/* SPDX-License-Identifier: BSD-3-Clause
 * Compares what several threads record with what the rank file returns: rows, windows, alarms,
 * strings, losses, clock. */
#include "t/tap.h"
#include "t/writer/fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, EVENTS = 30000 };

static struct fixture fixture;

static void window_edge(bool open, int ordinal)
{
    struct recorder_thread *t = &recorder_self;
    uint64_t more[3] = {open ? 1000 : UINT64_MAX, open ? 1003 : 5005, open ? 0 : 1};
    if (open)
        recorder_set_window(t, ordinal, 1);
    (void)recorder_emit_long(t, open ? EV_WINDOW_OPEN : EV_WINDOW_CLOSE,
                             (uint64_t)ordinal | (open ? UINT64_C(1) << 33 : 0), 7, more, 1);
    if (!open)
        recorder_set_window(t, STREAM_NO_WINDOW, 0);
}

static void *record(void *arg)
{
    uint32_t number = (uint32_t)(uintptr_t)arg;
    struct recorder_thread *t = &recorder_self;
    (void)recorder_thread_attach(t, false);
    uint32_t name = stream_string_id(&recorder_stream, number % 2 != 0 ? "odd" : "even");
    t->row->name = name;
    atomic_store(&t->row->instructions, UINT64_C(6000000000) + t->tid);
    uint64_t fired[3] = {1000, 1003, 2};
    (void)recorder_emit_long(t, EV_FIRED, 0 | (uint64_t)0 << 8 | (uint64_t)t->tid << 24, 0x401000,
                             fired, 1);
    window_edge(true, (int)number);
    for (uint64_t i = 0; i < EVENTS; i++)
        (void)recorder_emit(t, EV_MARK_SET, number, i);
    window_edge(false, (int)number);
    (void)recorder_emit(t, EV_MPI_COMM, 5 | UINT64_C(1) << 32, 2);
    (void)recorder_emit(t, EVENT_MPI_ENTER(13), 0, 0);
    recorder_thread_end(t);
    return NULL;
}

static void produce(struct fixture *f, struct producer *p)
{
    pthread_t threads[THREADS];
    (void)f;
    for (uintptr_t i = 0; i < THREADS; i++)
        (void)pthread_create(&threads[i], NULL, record, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    /* Metadata that come after the writer has opened the file must arrive, too. */
    (void)stream_meta_put(&p->stream, "late.key", "late=value\nsecond line");
    atomic_store(&p->stream.header->rank, 0);
    atomic_store(&p->stream.header->size, 1);
    _exit(producer_finish(p, STREAM_FINISHED) == WRITER_CLOSED ? 0 : 1);
}

static void check_rows(struct rt_rank *rank)
{
    struct rt_error e = {{0}};
    struct rt_event *rows;
    size_t count;
    uint64_t next[THREADS + 1] = {0}, clock[THREADS + 1] = {0};
    bool order = true, windows = true, clocks = true;
    if (!ok(rt_rank_load_events(rank, &rows, &count, &e) == 0, "events can be read"))
        diag("%s", e.text);
    for (size_t i = 0; i < count; i++) {
        uint32_t tid = (uint32_t)rows[i].thread;
        if (tid > THREADS)
            continue;
        clocks &= rows[i].clock >= clock[tid];
        clock[tid] = rows[i].clock;
        if (rows[i].code != EV_MARK_SET)
            continue;
        order &= rows[i].b == next[rows[i].a]++;
        windows &= rows[i].window == (int32_t)rows[i].a;
    }
    bool all = true;
    for (int i = 1; i <= THREADS; i++)
        all &= next[i] == EVENTS;
    ok(all, "every event is there");
    ok(order, "each thread's events are in order");
    ok(windows, "each event has its window");
    ok(clocks, "clocks of a thread do not go back");
    is_u64(count, THREADS * (EVENTS + 5), "multi-slot records are one row");
    free(rows);
}

static void check_tables(struct rt_rank *rank)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    bool good = t->window_count == THREADS, regions = good;
    for (size_t i = 0; i < t->window_count; i++) {
        const struct rt_window *w = &t->windows[i];
        good &= w->firing == 1 && w->bcast == 0 && w->start_requested == 1000 &&
                w->start_icount == 1003 && w->stop_requested == RT_NULL && w->stop_icount == 5005 &&
                w->chain == 3 && w->stop_alarm == 1 && w->reason == RT_WINDOW_ALARM &&
                !w->truncated && w->stop_clock > w->start_clock && w->start_late == 7;
        regions &= strcmp(rt_rank_string(rank, w->region), "17 of=all") == 0 && w->weight == 0.25 &&
                   w->multiplier == 4.5;
    }
    ok(good, "windows have both edges with what was asked and reached");
    ok(regions, "and the region, weight and multiplier of their chain");
    good = t->fired_count == THREADS;
    for (size_t i = 0; i < t->fired_count; i++)
        good &= t->fired[i].alarm == 0 && t->fired[i].chain == 3 && t->fired[i].pass == 2 &&
                t->fired[i].ip == 0x401000 && t->fired[i].requested == 1000 &&
                t->fired[i].actual == 1003;
    ok(good, "fired alarms are rows");
    is_u64(t->alarm_count, 2, "alarms come from metadata");
    is_str(t->alarm_count == 2 ? t->alarms[1].text : "", "stop:pcontrol:\"a,b\"",
           "an alarm's text");
    good = t->thread_count == THREADS + 1;
    for (size_t i = 1; i < t->thread_count; i++)
        good &=
            t->threads[i].rows == EVENTS + 5 && t->threads[i].recorded == EVENTS + 5 &&
            t->threads[i].ended != 0 &&
            t->threads[i].instructions == UINT64_C(6000000000) + (uint64_t)t->threads[i].thread &&
            strlen(rt_rank_string(rank, t->threads[i].name)) >= 3;
    ok(good, "the thread table counts rows as the thread did and knows names");
    is_u64(t->comm_count, THREADS, "communicators are rows");
    is_u64(t->loss_count, 0, "nothing was lost");
    const char *label;
    is_str(rt_rank_function(rank, EVENT_MPI_ENTER(13), &label), event_mpi_name(13),
           "an MPI function has its name");
    is_str(label, "enter", "and its label");
    is_str(rt_rank_function(rank, EV_FIRED, NULL), "EV_FIRED", "so have our own codes");
    is_str(rt_rank_function(rank, EVENT_MPI_ENTER(900), NULL), "?",
           "an unknown code is said to be unknown");
    is_str(rt_rank_metadata(rank, "late.key"), "late=value\nsecond line",
           "late metadata arrives unescaped");
    is_str(rt_rank_string(rank, 0), "", "string 0 is empty");
    is_str(rt_rank_string(rank, 4094), "?", "an unknown string is said to be unknown");
    ok(t->calibration_count >= 3, "calibration points at start, opening and end");
    int64_t ns = rt_rank_ns(rank, t->calibration[t->calibration_count - 1].ticks);
    int64_t want = (int64_t)t->calibration[t->calibration_count - 1].monotonic_ns;
    ok(ns - want < 2 && want - ns < 2, "the last calibration point maps to its own time");
}

int main(void)
{
    static const char *const meta[] = {"alarm.0",
                                       "3\t0\tstart\tpcontrol\tstart:pcontrol:x",
                                       "alarm.1",
                                       "3\t1\tstop\tpcontrol\tstop:pcontrol:\"a,b\"",
                                       "chain_region.3",
                                       "17 of=all\t0.25\t4.5",
                                       "chain_region.4",
                                       "",
                                       NULL};
    fixture_begin(&fixture);
    fixture.meta = meta;
    fixture.geometry.pool_bytes = 8u << 20; /* all events fit: a slow writer causes no drops */
    int status = fixture_wait(fixture_run(&fixture, produce));
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
       "the writer closed its file while the process waited");
    ok(fixture_wait_all(10), "the writer ended");
    ok(access(fixture.stream, F_OK) != 0, "the stream is gone");
    struct rt_rank *rank = fixture_open(&fixture);
    is_int(rt_rank_info(rank)->state, RT_FILE_CLOSED, "the file is closed");
    is_str(rt_rank_info(rank)->end_reason, "finished", "the end was a normal one");
    is_int(rt_rank_info(rank)->size, 1, "rank and size of the end");
    check_rows(rank);
    check_tables(rank);
    rt_rank_close(rank);
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/regtrace.h5", fixture.dir);
    ok(access(path, R_OK) == 0, "regtrace.h5 was built");
    char *log = fixture_log(&fixture);
    is_str(log, "", "nothing was logged");
    free(log);
    (void)snprintf(path, sizeof path, "%s/ctl", fixture.dir);
    ok(access(path, F_OK) != 0, "the control folder is gone");
    fixture_end(&fixture);
    return done_testing();
}
