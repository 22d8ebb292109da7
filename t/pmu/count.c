/* SPDX-License-Identifier: BSD-3-Clause
 * Tests alarms of the control language on a simulated counter, late by seeded skids: hundreds of
 * billions of instructions between edges, which no test can execute. */
#include "controller/controller.h"
#include "pmu/pmu.h"
#include "t/tap.h"

#include <stdlib.h>

/* --- the counter: jumps from interrupt to interrupt ------------------------------------------- */

static struct {
    uint64_t now, interrupt, skid, seed;
} machine;

static int machine_begin(struct pmu_thread *t, int signo, uint32_t tid)
{
    (void)t;
    (void)signo;
    (void)tid;
    machine.interrupt = PMU_NEVER;
    return 0;
}

static void machine_end(struct pmu_thread *t)
{
    (void)t;
}

static uint64_t machine_read(const struct pmu_thread *t)
{
    (void)t;
    return machine.now;
}

static void machine_set(struct pmu_thread *t, uint64_t distance)
{
    (void)t;
    machine.seed = machine.seed * 6364136223846793005u + 1442695040888963407u;
    machine.interrupt = distance == PMU_NEVER
                            ? PMU_NEVER
                            : machine.now + distance + (machine.seed >> 33) % (machine.skid + 1);
}

/* `steps` is true although nothing is stepped in this process: the approach is simulated as
 * well. */
static const struct pmu_backend machine_backend = {.name = "machine",
                                                   .steps = true,
                                                   .begin = machine_begin,
                                                   .end = machine_end,
                                                   .read = machine_read,
                                                   .set = machine_set};

/* --- one thread that waits for its nearest deadline, as preload/count/counting.c does --------- */

struct waiting {
    bool used;
    uint64_t at;
    uint16_t alarm;
    uint32_t generation;
};

struct run {
    struct pmu_thread counter;
    const struct ctl_config *config;
    struct waiting waiting[8];
    uint64_t approaches;              /* stepped instructions */
    unsigned fired, early, late, off; /* off: edges that are not where they were requested */
    uint64_t first, last, largest_lateness, worst_place;
    bool exact;
    uint64_t period, length, start; /* of a uniform alarm; period 0: not checked */
};

static void arm_nearest(struct run *r)
{
    uint64_t nearest = PMU_NEVER;
    for (size_t i = 0; i < 8; i++)
        if (r->waiting[i].used && r->waiting[i].at < nearest)
            nearest = r->waiting[i].at;
    pmu_thread_arm(&r->counter, nearest, r->exact);
}

static uint64_t on_arm(void *context, uint32_t tid, const struct ctl_arming *a)
{
    struct run *r = context;
    (void)tid;
    uint64_t base = a->base != CTL_UNKNOWN ? a->base : machine.now;
    for (size_t i = 0; i < 8; i++)
        if (!r->waiting[i].used) {
            r->waiting[i] = (struct waiting){true, base + a->distance, a->alarm, a->generation};
            break;
        }
    arm_nearest(r);
    return base;
}

static void on_disarm(void *context, uint32_t tid, uint16_t alarm)
{
    struct run *r = context;
    (void)tid;
    for (size_t i = 0; i < 8; i++)
        if (r->waiting[i].used && r->waiting[i].alarm == alarm)
            r->waiting[i].used = false;
    arm_nearest(r);
}

static void on_fire(void *context, const struct ctl_fired *f)
{
    struct run *r = context;
    if (f->requested == CTL_UNKNOWN)
        return;
    uint64_t lateness = f->moment.icount - f->requested;
    r->early += f->moment.icount < f->requested;
    r->off += lateness != 0;
    r->late += f->late;
    r->largest_lateness = lateness > r->largest_lateness ? lateness : r->largest_lateness;
    if (r->period != 0) {
        uint64_t k = f->phase / 2;
        uint64_t place = r->start + k * r->period + (f->phase % 2) * r->length;
        r->worst_place += f->requested != place;
    }
    r->first = r->fired++ == 0 ? f->requested : r->first;
    r->last = f->requested;
}

static void interrupt(struct run *r, struct ctl_thread *thread)
{
    if (r->counter.approaching) {
        r->approaches += r->counter.step.wake - machine.now;
        machine.now = r->counter.step.wake;
    } else {
        machine.now = machine.interrupt;
    }
    machine.interrupt = PMU_NEVER;
    if (!pmu_thread_overflowed(&r->counter))
        return;
    struct ctl_moment m = {.icount = machine.now};
    for (size_t i = 0; i < 8; i++)
        if (r->waiting[i].used && r->waiting[i].at <= machine.now) {
            struct waiting w = r->waiting[i];
            r->waiting[i].used = false;
            ctl_expire(thread, w.alarm, w.generation, &m);
        }
    arm_nearest(r);
}

static void simulate(struct run *r, const char *chain, uint64_t skid)
{
    struct ctl_callbacks callbacks = {.on_fire = on_fire, .on_arm = on_arm, .on_disarm = on_disarm};
    struct rt_error e = {{0}};
    struct ctl_config *config = NULL;
    struct ctl_builder *b = ctl_builder_create(NULL, NULL);
    if (b == NULL || ctl_builder_add_list(b, chain, "test", &e) != 0 ||
        ctl_builder_finish(b, NULL, &config, &e) != 0) {
        ok(false, "%s: %s", chain, e.text);
        exit(1);
    }
    ctl_builder_free(b);
    machine = (typeof(machine)){.interrupt = PMU_NEVER, .skid = skid, .seed = skid + 1};
    r->config = config;
    for (unsigned i = 0; i < ctl_config_alarm_count(config); i++)
        r->exact = r->exact || ctl_config_alarm(config, i)->exact;
    ok(pmu_thread_begin(&r->counter, &machine_backend, 0, 0) == 0, "%s: counts", chain);
    void *shared_memory = aligned_alloc(CTL_ALIGNMENT, (ctl_shared_size(config) + 63) / 64 * 64);
    void *memory = aligned_alloc(CTL_ALIGNMENT, (ctl_thread_size(config) + 63) / 64 * 64);
    struct ctl_shared *shared = ctl_shared_init(config, shared_memory, &callbacks, r);
    struct ctl_moment zero = {.icount = 0};
    struct ctl_thread *thread = ctl_thread_init(shared, memory, 0, &zero);
    for (unsigned n = 0; n < 100000 && (r->counter.approaching || machine.interrupt != PMU_NEVER);
         n++)
        interrupt(r, thread);
    ctl_thread_exit(thread);
    free(memory);
    free(shared_memory);
    ctl_config_free(config);
}

/* 50 windows of 10 billion instructions over 3.82e14, as in a long run of a large program. */
static void test_uniform(uint64_t skid)
{
    const uint64_t period = 7640000000000, length = 10000000000, first = 1000000000;
    struct run r = {.period = period, .length = length, .start = first};
    simulate(&r, "precond:icount:1000000000,uniform:7640000000000:10000000000:50", skid);
    is_int(r.fired, 100 + 1, "50 windows open and close");
    is_int(r.early, 0, "none early");
    ok(r.largest_lateness <= skid, "none later than the skid");
    is_int((intmax_t)r.last, (intmax_t)(first + 49 * period + length),
           "the last close is in place");
    ok(r.worst_place <= 1,
       "each edge is at k periods: skids do not add up"); /* the precond is no edge */
    ok(machine.now > UINT64_C(370000000000000), "over 3.7e14 instructions");
}

static void test_exact(uint64_t skid, unsigned missed)
{
    struct run r = {.period = 0};
    simulate(&r,
             "start:icount:3000000000000:exact,stop:icount:10000000000:exact,"
             "start:icount:7:exact,stop:icount:1:exact,repeat:20",
             skid);
    is_int(r.fired, 80, "20 passes of two windows");
    ok(r.off <= missed, "each edge at the very instruction, but for %u at most", missed);
    is_int(r.late, 0, "none of them late");
    is_int((intmax_t)r.last, 20 * (intmax_t)3010000000008, "the last one is in place");
    ok(r.approaches < 80u * (65536 + 2 * skid + 1024), "few instructions are stepped for that");
    diag("skid up to %" PRIu64 ": %" PRIu64 " instructions stepped an edge", skid,
         r.approaches / 80);
}

int main(void)
{
    /* The process learns the skid: one that is far larger than all before makes edges late, once or
     * twice. */
    test_exact(50000, 0);
    test_exact(100, 0);
    test_exact(0, 0);
    test_exact(1000000, 3);
    test_uniform(0);
    test_uniform(50000);
    struct run r = {.period = 0};
    simulate(&r, "start:icount:0xfffffffffffff000", 20);
    is_int(r.fired, 1, "a distance near 2^64 is not lost");
    return done_testing();
}
