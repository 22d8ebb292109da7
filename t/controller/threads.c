/* SPDX-License-Identifier: BSD-3-Clause
 * Tests one automaton with many threads and signal handlers: counts are exact, and each broadcast
 * edge comes once, in order. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "t/controller/helpers.h"
#include "t/tap.h"

#define THREADS 8
#ifdef __SANITIZE_THREAD__
#define SCALE 1
#else
#define SCALE 5
#endif
#define EVENTS 400000u

struct armed {
    uint32_t generation;
    uint16_t alarm;
    bool valid;
};

struct run {
    struct ctl_config *config;
    struct ctl_shared *shared;
    void *shared_memory;
    /* take_fire() logs shared edges here. The automaton's lock protects the log, which the test
     * checks. */
    struct {
        uint8_t event;
        uint64_t pass, phase;
    } * log;
    unsigned logged;
    struct {
        uint64_t starts, stops;
        struct armed armed;
        unsigned turns; /* of the loop that handlers interrupt; atomic */
        char padding[64];
    } local[THREADS + 1];
    unsigned stop; /* atomic */
    unsigned begun;
};

static void take_fire(void *context, const struct ctl_fired *fired)
{
    struct run *run = context;
    const struct ctl_alarm *alarm = ctl_config_alarm(run->config, fired->alarm);
    if (!alarm->global && !alarm->bcast) {
        run->local[fired->tid].starts += fired->event == CTL_START;
        run->local[fired->tid].stops += fired->event == CTL_STOP;
        return;
    }
    if (run->logged < EVENTS) {
        run->log[run->logged].event = fired->event;
        run->log[run->logged].pass = fired->pass;
        run->log[run->logged].phase = fired->phase;
    }
    run->logged++;
}

static uint64_t take_arm(void *context, uint32_t tid, const struct ctl_arming *arming)
{
    struct run *run = context;
    run->local[tid].armed = (struct armed){arming->generation, arming->alarm, true};
    return arming->base;
}

static void take_disarm(void *context, uint32_t tid, uint16_t alarm)
{
    (void)alarm;
    ((struct run *)context)->local[tid].armed.valid = false;
}

static struct run *run_begin(const char *chains)
{
    static const struct ctl_callbacks callbacks = {
        .on_fire = take_fire, .on_arm = take_arm, .on_disarm = take_disarm};
    struct rt_error err = {.text = ""};
    struct run *run = calloc(1, sizeof *run);
    run->config = config_of(chains, NULL, &err);
    run->log = calloc(EVENTS, sizeof *run->log);
    run->shared_memory = aligned_alloc(CTL_ALIGNMENT, ctl_shared_size(run->config));
    run->shared = ctl_shared_init(run->config, run->shared_memory, &callbacks, run);
    return run;
}

static void run_end(struct run *run)
{
    free(run->log);
    free(run->shared_memory);
    ctl_config_free(run->config);
    free(run);
}

struct worker {
    struct run *run;
    uint32_t tid;
    unsigned hits;
    void (*body)(struct worker *, struct ctl_thread *);
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    void *memory = aligned_alloc(CTL_ALIGNMENT, ctl_thread_size(worker->run->config));
    struct ctl_thread *thread = ctl_thread_init(worker->run->shared, memory, worker->tid, NULL);
    worker->body(worker, thread);
    ctl_thread_exit(thread);
    free(memory);
    return NULL;
}

static void run_workers(struct run *run, unsigned hits,
                        void (*body)(struct worker *, struct ctl_thread *))
{
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){run, i, hits, body};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void hit_all(struct worker *worker, struct ctl_thread *thread)
{
    const unsigned count = ctl_config_alarm_count(worker->run->config);
    uint16_t alarms[8];
    for (unsigned i = 0; i < count; i++)
        alarms[i] = (uint16_t)i;
    const struct ctl_moment moment = {.icount = CTL_UNKNOWN};
    for (unsigned i = 0; i < worker->hits; i++)
        ctl_hit(thread, alarms, count, &moment);
}

static void check_global_repeat(void)
{
    const unsigned hits = 20000 * SCALE;
    struct run *run = run_begin("start:address:a:count100:global,repeat");
    run_workers(run, hits, hit_all);
    is_u64(run->logged, (uint64_t)hits * THREADS / 100,
           "global,repeat: as many firings as executions allow");
    bool dense = true;
    for (unsigned i = 0; i < run->logged && i < EVENTS; i++)
        dense = dense && run->log[i].pass == i;
    ok(dense, "one winner a pass, in order");
    run_end(run);
}

/* Both alarms are at one place: each execution counts for exactly one of them. */
static void check_global_pair(void)
{
    const unsigned hits = 6000 * SCALE;
    const uint64_t all = (uint64_t)hits * THREADS;
    struct run *run =
        run_begin("start:address:a:count7:global,stop:address:a:count5:global,repeat");
    run_workers(run, hits, hit_all);
    is_u64(run->logged, (all + 5) / 12 + all / 12,
           "two global alarms at one place share the executions exactly");
    bool right = true;
    for (unsigned i = 0; i < run->logged && i < EVENTS; i++)
        right = right && run->log[i].event == (i % 2 == 0 ? CTL_START : CTL_STOP) &&
                run->log[i].pass == i / 2;
    ok(right, "start and stop alternate");
    run_end(run);
}

static void hit_alternating(struct worker *worker, struct ctl_thread *thread)
{
    const uint16_t places[2] = {0, 1};
    const struct ctl_moment moment = {.icount = CTL_UNKNOWN};
    for (unsigned i = 0; i < worker->hits; i++)
        ctl_hit(thread, &places[(i + worker->tid) % 2], 1, &moment);
}

static void check_bcast(void)
{
    struct run *run = run_begin("start:address:a:bcast,stop:address:b:bcast,repeat");
    run_workers(run, 4000 * SCALE, hit_alternating);
    bool right = run->logged > 1 && run->logged < EVENTS;
    for (unsigned i = 0; i < run->logged && i < EVENTS; i++)
        right = right && run->log[i].event == (i % 2 == 0 ? CTL_START : CTL_STOP) &&
                run->log[i].pass == i / 2;
    if (!ok(right, "bcast: one event a pass, start and stop alternate"))
        diag("%u events", run->logged);
    run_end(run);
}

static void expire_armed(struct worker *worker, struct ctl_thread *thread)
{
    struct run *run = worker->run;
    for (unsigned i = 0; i < worker->hits; i++) {
        ctl_sync(thread, NULL);
        const struct armed armed = run->local[worker->tid].armed;
        if (armed.valid)
            ctl_expire(thread, armed.alarm, armed.generation, NULL);
    }
}

static void check_uniform(void)
{
    struct run *run = run_begin("uniform:100:50:1000");
    run_workers(run, 100000, expire_armed);
    bool right = run->logged == 2000;
    for (unsigned i = 0; i < run->logged && i < EVENTS; i++)
        right = right && run->log[i].phase == i;
    if (!ok(right, "uniform driven by all: 1000 windows, each edge once, in order"))
        diag("%u edges", run->logged);
    run_end(run);
}

static void come_and_go(struct worker *worker, struct ctl_thread *thread)
{
    hit_all(worker, thread);
    void *memory = aligned_alloc(CTL_ALIGNMENT, ctl_thread_size(worker->run->config));
    for (unsigned i = 0; i < 200; i++) {
        struct ctl_thread *short_lived =
            ctl_thread_init(worker->run->shared, memory, THREADS + i, NULL);
        struct worker few = {worker->run, worker->tid, 10, NULL};
        hit_all(&few, short_lived);
        ctl_thread_exit(short_lived);
    }
    free(memory);
}

static void check_come_and_go(void)
{
    const unsigned hits = 1000;
    struct run *run = run_begin("start:address:a:count10:global:bcast,repeat");
    run_workers(run, hits, come_and_go);
    is_u64(run->logged, (uint64_t)THREADS * (hits + 2000) / 10,
           "threads that come and go are counted exactly");
    run_end(run);
}

/* ---- Handlers that interrupt the automaton on its own thread ---- */

static __thread struct ctl_thread *handler_thread;
static __thread unsigned handler_hits;

static void on_signal(int number)
{
    (void)number;
    static const uint16_t alarms[2] = {0, 1};
    const struct ctl_moment moment = {.icount = CTL_UNKNOWN};
    if (handler_thread == NULL)
        return;
    ctl_hit(handler_thread, alarms, 2, &moment);
    handler_hits++;
}

static void hit_interrupted(struct worker *worker, struct ctl_thread *thread)
{
    static const uint16_t alarms[2] = {0, 1};
    const struct ctl_moment moment = {.icount = CTL_UNKNOWN};
    struct run *run = worker->run;
    unsigned hits = 0;
    handler_thread = thread;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_add_fetch(&run->begun, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&run->stop, __ATOMIC_RELAXED)) {
        ctl_hit(thread, alarms, 2, &moment);
        __atomic_store_n(&run->local[worker->tid].turns, hits + 1, __ATOMIC_RELAXED);
        if (++hits % 512 == 0)
            sched_yield(); /* valgrind runs one thread at a time */
    }
    handler_thread = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    /* Each execution counts for one alarm: 3 executions for a start, then 2 for a stop. */
    const uint64_t all = (uint64_t)hits + handler_hits;
    const uint64_t starts = run->local[worker->tid].starts, stops = run->local[worker->tid].stops;
    if (starts != (all + 2) / 5 || stops != all / 5 || handler_hits == 0) {
        diag("thread %u: %u and %u executions, %" PRIu64 " starts, %" PRIu64 " stops", worker->tid,
             hits, handler_hits, starts, stops);
        __atomic_store_n(&run->logged, 1, __ATOMIC_RELAXED);
    }
}

/* Waits until each thread's loop has made a turn, or until `end`: if signals come faster than they
 * are handled, handlers nest without end. */
static void wait_for_turns(struct run *run, unsigned threads, time_t end)
{
    for (unsigned i = 0; i < threads; i++) {
        unsigned *turns = &run->local[i].turns, seen = __atomic_load_n(turns, __ATOMIC_RELAXED);
        while (__atomic_load_n(turns, __ATOMIC_RELAXED) == seen && time(NULL) < end)
            sched_yield();
    }
}

static void check_handlers(void)
{
#ifdef __SANITIZE_THREAD__
    /* ThreadSanitizer's runtime delays handlers and runs them inside atomic operations, where the
     * automaton has blocked the signals. */
    skip("handlers that interrupt the automaton on its own thread",
         "ThreadSanitizer runs handlers where they are blocked");
    return;
#endif
    struct run *run = run_begin("start:address:a:count3,stop:address:a:count2,repeat");
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER}, old;
    sigaction(SIGUSR1, &action, &old);
    pthread_t threads[4];
    struct worker workers[4];
    for (unsigned i = 0; i < 4; i++) {
        workers[i] = (struct worker){run, i, 0, hit_interrupted};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    while (__atomic_load_n(&run->begun, __ATOMIC_ACQUIRE) < 4)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    const time_t end = time(NULL) + 5;
    for (unsigned i = 0; i < 20000 * SCALE && time(NULL) < end; i++) {
        pthread_kill(threads[i % 4], SIGUSR1);
        if (i % 400 == 399)
            wait_for_turns(run, 4, end);
    }
    __atomic_store_n(&run->stop, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    sigaction(SIGUSR1, &old, NULL);
    ok(run->logged == 0,
       "handlers that interrupt the automaton on its own thread: every execution counted once");
    run_end(run);
}

int main(void)
{
    check_global_repeat();
    check_global_pair();
    check_bcast();
    check_uniform();
    check_come_and_go();
    check_handlers();
    return done_testing();
}
