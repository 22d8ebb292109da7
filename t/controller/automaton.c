/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the automaton's rules: each by a short script of executions, with firings that were derived
 * from the rules by hand.
 *
 * A script consists of words:
 *   +3        thread 3 begins
 *   -3        thread 3 ends
 *   3:foo     thread 3 executes address foo
 *   3:foo,bar one execution is both foo and bar
 *   3@500     thread 3 has retired 500 instructions; each count interrupts exactly
 *   3!500     the same, but found at 500 only (skid)
 *   3>500     the icount of thread 3 is 500, and no interrupt has come yet
 *   3t        the timeouts of thread 3 expire
 *   3~        thread 3 syncs
 *   3^50      thread 3 reports 50 instructions to the global icount
 *   3o        a stale expiry comes
 *   ?         asks how many chains have an armed alarm in any thread
 *
 * Firings are words too: tid, event, then * bcast, ! late, ? precond, D default start, =N requested
 * icount, #N pass (if not 0). The answer to "?" is "N armed". */
#include "controller/automaton/state.h"
#include "t/controller/helpers.h"
#include "t/tap.h"

#define THREADS 1100
#define ARMED 16

struct armed {
    uint16_t alarm;
    uint32_t generation;
    uint64_t requested; /* icount */
    bool timeout, global;
};

struct machine {
    struct ctl_config *config;
    struct ctl_shared *shared;
    struct ctl_thread *threads[THREADS];
    void *memory[THREADS];
    uint64_t icount[THREADS];
    struct armed armed[THREADS][ARMED];
    unsigned armed_count[THREADS];
    struct armed stale[THREADS];
    unsigned sync_asked;
    char log[4096];
};

static void log_fire(void *context, const struct ctl_fired *fired)
{
    struct machine *machine = context;
    char word[128], requested[32] = "", pass[32] = "";
    if (fired->requested != CTL_UNKNOWN)
        snprintf(requested, sizeof requested, "=%" PRIu64, fired->requested);
    if (fired->pass != 0)
        snprintf(pass, sizeof pass, "#%" PRIu64, fired->pass);
    snprintf(word, sizeof word, "%s%u%s%s%s%s%s%s%s", machine->log[0] != '\0' ? " " : "",
             fired->tid, ctl_event_name((enum ctl_event)fired->event), fired->bcast ? "*" : "",
             fired->late ? "!" : "", fired->precond ? "?" : "", fired->default_start ? "D" : "",
             requested, pass);
    if (strlen(machine->log) + strlen(word) < sizeof machine->log)
        strcat(machine->log, word);
}

static void forget(struct machine *machine, uint32_t tid, uint16_t alarm)
{
    struct armed *list = machine->armed[tid];
    for (unsigned i = 0; i < machine->armed_count[tid]; i++) {
        if (list[i].alarm == alarm) {
            machine->stale[tid] = list[i];
            list[i] = list[--machine->armed_count[tid]];
            return;
        }
    }
}

static uint64_t take_arm(void *context, uint32_t tid, const struct ctl_arming *arming)
{
    struct machine *machine = context;
    const struct ctl_alarm *alarm = ctl_config_alarm(machine->config, arming->alarm);
    uint64_t base = arming->base != CTL_UNKNOWN ? arming->base : machine->icount[tid];
    forget(machine, tid, arming->alarm);
    machine->armed[tid][machine->armed_count[tid]++] =
        (struct armed){arming->alarm, arming->generation, base + arming->distance,
                       alarm->type == CTL_TIMEOUT, arming->global};
    return base;
}

static void take_disarm(void *context, uint32_t tid, uint16_t alarm)
{
    forget(context, tid, alarm);
}

static void take_sync(void *context)
{
    ((struct machine *)context)->sync_asked++;
}

static struct ctl_moment moment_at(uint64_t icount)
{
    return (struct ctl_moment){.icount = icount};
}

/* Delivers the expiries that are due, the earliest first. */
static void run_to(struct machine *machine, unsigned tid, uint64_t icount, bool skid)
{
    for (;;) {
        struct armed *first = NULL;
        for (unsigned i = 0; i < machine->armed_count[tid]; i++) {
            struct armed *one = &machine->armed[tid][i];
            if (!one->timeout && !one->global && one->requested <= icount &&
                (first == NULL || one->requested < first->requested))
                first = one;
        }
        if (first == NULL)
            break;
        const struct armed due = *first;
        forget(machine, tid, due.alarm);
        machine->icount[tid] = skid ? icount : due.requested;
        const struct ctl_moment moment = moment_at(machine->icount[tid]);
        ctl_expire(machine->threads[tid], due.alarm, due.generation, &moment);
    }
    machine->icount[tid] = icount;
}

static void run_timeouts(struct machine *machine, unsigned tid)
{
    const struct ctl_moment moment = moment_at(machine->icount[tid]);
    struct armed due[ARMED];
    unsigned count = 0;
    for (unsigned i = 0; i < machine->armed_count[tid]; i++) {
        if (machine->armed[tid][i].timeout)
            due[count++] = machine->armed[tid][i];
    }
    for (unsigned i = 0; i < count; i++) {
        forget(machine, tid, due[i].alarm);
        ctl_expire(machine->threads[tid], due[i].alarm, due[i].generation, &moment);
    }
}

static void execute(struct machine *machine, unsigned tid, const char *places)
{
    uint16_t alarms[32];
    unsigned count = 0;
    for (unsigned i = 0; i < ctl_config_alarm_count(machine->config); i++) {
        const struct ctl_alarm *alarm = ctl_config_alarm(machine->config, i);
        char list[64], *rest = list, *one;
        snprintf(list, sizeof list, "%s", places);
        while ((one = strsep(&rest, ",")) != NULL) {
            if (alarm->type == CTL_ADDRESS && strcmp(one, alarm->value) == 0)
                alarms[count++] = (uint16_t)i;
        }
    }
    const struct ctl_moment moment = moment_at(machine->icount[tid]);
    ctl_hit(machine->threads[tid], alarms, count, &moment);
}

static void run_word(struct machine *machine, const char *word)
{
    unsigned tid = (unsigned)strtoul(word + (word[0] == '+' || word[0] == '-'), NULL, 10);
    const char *rest = word + strcspn(word, ":@!>t~^o?");
    uint64_t number = strtoull(rest[0] != '\0' ? rest + 1 : "", NULL, 10);
    struct ctl_moment moment = moment_at(machine->icount[tid]);
    _Atomic uint32_t armed;
    switch (word[0] == '+' || word[0] == '-' ? word[0] : rest[0]) {
    case '+':
        if (machine->memory[tid] == NULL)
            machine->memory[tid] = aligned_alloc(CTL_ALIGNMENT, ctl_thread_size(machine->config));
        machine->threads[tid] =
            ctl_thread_init(machine->shared, machine->memory[tid], tid, &moment);
        break;
    case '-': ctl_thread_exit(machine->threads[tid]); break;
    case ':': execute(machine, tid, rest + 1); break;
    case '@':
    case '!': run_to(machine, tid, number, rest[0] == '!'); break;
    case '>': machine->icount[tid] = number; break;
    case 't': run_timeouts(machine, tid); break;
    case '?':
        ctl_chains_armed(machine->shared, &armed);
        snprintf(machine->log + strlen(machine->log), sizeof machine->log - strlen(machine->log),
                 "%s%u armed", machine->log[0] != '\0' ? " " : "", armed);
        break;
    case '~': ctl_sync(machine->threads[tid], &moment); break;
    case '^':
        machine->icount[tid] += number;
        moment.icount = machine->icount[tid];
        for (unsigned i = 0; i < ctl_config_alarm_count(machine->config); i++) {
            if (ctl_thread_armed(machine->threads[tid],
                                 ctl_config_alarm(machine->config, i)->chain) == i) {
                ctl_advance(machine->threads[tid], (uint16_t)i, number, &moment);
                break;
            }
        }
        break;
    case 'o':
        ctl_expire(machine->threads[tid], machine->stale[tid].alarm, machine->stale[tid].generation,
                   &moment);
        break;
    default: diag("unknown word %s", word); abort();
    }
}

static void machine_end(struct machine *machine)
{
    for (unsigned i = 0; i < THREADS; i++)
        free(machine->memory[i]);
    free(machine->shared);
    ctl_config_free(machine->config);
    free(machine);
}

static struct machine *machine_begin(const char *chains, uint32_t rank)
{
    static const struct ctl_callbacks callbacks = {log_fire, take_arm, take_disarm, take_sync};
    struct rt_error err = {.text = ""};
    struct machine *machine = calloc(1, sizeof *machine);
    machine->config = config_of(chains, NULL, &err);
    if (machine->config == NULL) {
        diag("%s", err.text);
        abort();
    }
    ctl_config_set_rank(machine->config, rank);
    void *memory = aligned_alloc(CTL_ALIGNMENT, ctl_shared_size(machine->config));
    machine->shared = ctl_shared_init(machine->config, memory, &callbacks, machine);
    return machine;
}

static void run_script(struct machine *machine, const char *script)
{
    char words[1024], *rest = words, *word;
    snprintf(words, sizeof words, "%s", script);
    while ((word = strsep(&rest, " ")) != NULL) {
        if (word[0] != '\0')
            run_word(machine, word);
    }
}

struct rule {
    const char *what, *chains, *script, *want;
};

static const struct rule rules[] = {
    /* Counting and arming */
    {"an alarm fires once", "start:address:a", "+0 0:a 0:a", "0start"},
    {"count delays", "start:address:a:count3", "+0 0:a 0:a 0:a 0:a", "0start"},
    {"other places do not count", "start:address:a:count2", "+0 0:a 0:b 0:c 0:a", "0start"},
    {"each thread counts by itself", "start:address:a:count2", "+0 +1 0:a 1:a 1:a 0:a",
     "1start 0start"},
    {"the next alarm is armed by the one before", "start:address:a,stop:address:b",
     "+0 0:b 0:a 0:b 0:b", "0start 0stop"},
    {"an alarm counts only while armed", "start:address:a,stop:address:b:count2",
     "+0 0:b 0:b 0:a 0:b 0:b", "0start 0stop"},
    {"an execution is not seen by what it arms (Pin: seen)", "start:address:a,stop:address:a",
     "+0 0:a 0:a 0:a", "0start 0stop"},
    {"not in one execution of two places either", "start:address:a,stop:address:b",
     "+0 0:a,b 0:a,b", "0start 0stop"},
    {"chains do not see each other", "start:address:a;stop:address:a", "+0 0:a", "0start 0stop"},
    {"a late thread runs the chain from its first instruction", "start:address:a,stop:address:b",
     "+0 0:a 0:b +1 1:b 1:a 1:b", "0start 0stop 1start 1stop"},
    {"precond fires with its flag and opens nothing", "precond:address:a,start:address:b",
     "+0 0:b 0:a 0:b", "0precond? 0start"},
    {"ends of chains stay ended", "start:address:a,stop:address:b", "+0 0:a 0:b 0:a 0:b",
     "0start 0stop"},
    /* Chains armed in any thread */
    {"armed: in one thread is enough", "start:address:a:tid1;start:address:b",
     "? +0 ? +1 ? +1000 ? 0:b ? 1:b ? 1:a ?",
     "0 armed 1 armed 2 armed 2 armed 0start 2 armed 1start 1 armed 1start 0 armed"},
    {"armed: threads that ended do not count", "start:address:a:tid1", "+0 +1 ? -1 ?",
     "1 armed 0 armed"},
    {"armed: a thread that has not looked since a bcast is moved", "start:address:a:bcast",
     "+0 +1 ? 0:a ?", "1 armed 0start* 0 armed"},
    {"armed: by a bcast, in a thread that has not looked since",
     "start:address:a:bcast,stop:address:b:tid1", "+0 +1 0:a ? 1:b ?",
     "0start* 1 armed 1stop 0 armed"},
    {"armed: in the winner of a global alarm alone", "start:address:a:count2:global,stop:address:b",
     "+0 +1 0:a 1:a ? 1:b ?", "1start 1 armed 1stop 0 armed"},
    {"armed: not while it waits", "start:address:a,stop:address:b,name:n;start:address:c,waitfor:n",
     "+0 ? 0:a ? 0:b ? 0:c ?", "1 armed 0start 1 armed 0stop 1 armed 0start 0 armed"},
    /* repeat */
    {"repeat is endless", "start:address:a,repeat", "+0 0:a 0:a 0:a", "0start 0start#1 0start#2"},
    {"repeat:N is N passes in total", "start:address:a,stop:address:b,repeat:2",
     "+0 0:a 0:b 0:a 0:b 0:a 0:b", "0start 0stop 0start#1 0stop#1"},
    {"repeat counts again from 0", "start:address:a:count2,repeat", "+0 0:a 0:a 0:a 0:a 0:a",
     "0start 0start#1"},
    {"passes are each thread's own", "start:address:a,repeat:2", "+0 +1 0:a 0:a 0:a 1:a",
     "0start 0start#1 1start"},
    {"a repeated pair at one place alternates", "start:address:a,stop:address:a,repeat",
     "+0 0:a 0:a 0:a 0:a", "0start 0stop 0start#1 0stop#1"},
    {"repeat:1 is one pass", "start:address:a,repeat:1", "+0 0:a 0:a", "0start"},
    /* tid */
    {"tid ignores other threads", "start:address:a:tid1", "+0 +1 0:a 1:a 0:a", "1start"},
    {"tid with count counts that thread alone", "start:address:a:tid1:count2",
     "+0 +1 0:a 1:a 0:a 0:a 1:a", "1start"},
    {"the next after a tid alarm is that thread's", "start:address:a:tid1,stop:address:b",
     "+0 +1 1:a 0:b 1:b", "1start 1stop"},
    {"helper threads get no alarms", "start:address:a", "+0 +1000 1000:a 0:a", "0start"},
    {"unless a tid names them", "start:address:a:tid1000,stop:address:b",
     "+0 +1000 +1001 1001:a 1000:a 1000:b", "1000start 1000stop"},
    {"bcast does not arm helper threads", "start:address:a:bcast,stop:address:b",
     "+0 +1000 0:a 1000:b 0:b", "0start* 0stop"},
    /* bcast */
    {"bcast: one event, the next is armed for all", "start:address:a:bcast,stop:address:b",
     "+0 +1 0:a 1:a 1:b 0:b", "0start* 1stop 0stop"},
    {"bcast: threads made later get the next too", "start:address:a:bcast,stop:address:b",
     "+0 0:a +1 1:a 1:b", "0start* 1stop"},
    {"bcast: the counter is zeroed for all", "start:address:a:bcast:count2,repeat",
     "+0 +1 0:a 1:a 0:a 0:a 1:a 0:a 1:a", "0start* 0start*#1"},
    {"bcast moves threads that are behind",
     "precond:address:p,start:address:a:bcast,stop:address:b", "+0 +1 0:p 0:a 1:p 1:a 1:b",
     "0precond? 0start* 1stop"},
    {"bcast: one event a pass", "start:address:a:bcast,stop:address:b:bcast,repeat",
     "+0 +1 0:a 1:a 1:b 0:b 0:a 1:a", "0start* 1stop* 0start*#1"},
    {"after a bcast each thread goes on by itself",
     "start:address:a:bcast,stop:address:b,threadid:address:c", "+0 +1 0:a 0:b 1:c 1:b 0:c 1:c",
     "0start* 0stop 1stop 0threadid 1threadid"},
    {"a bcast firing is judged against what others did", "start:address:a:bcast,repeat:2",
     "+0 +1 0:a 1:a 0:a 1:a", "0start* 1start*#1"},
    {"the bcast piece", "start:address:a,bcast,stop:address:b", "+0 +1 0:a 1:b", "0start* 1stop"},
    {"bcast with tid: that thread fires for all", "start:address:a:bcast:tid1,stop:address:b",
     "+0 +1 0:a 1:a 0:b", "1start* 0stop"},
    /* global */
    {"global: one counter over all threads, one winner", "start:address:a:count3:global",
     "+0 +1 +2 0:a 1:a 2:a 0:a", "2start"},
    {"global: the winner goes on alone", "start:address:a:count2:global,stop:address:b",
     "+0 +1 0:a 1:a 0:b 1:b", "1start 1stop"},
    {"global with bcast: all go on", "start:address:a:count2:global:bcast,stop:address:b",
     "+0 +1 0:a 1:a 0:b 1:b", "1start* 0stop 1stop"},
    {"global before global: armed for all",
     "start:address:a:count2:global,stop:address:b:count2:global", "+0 +1 0:a 1:a 0:b 1:b",
     "1start 1stop"},
    {"global with repeat counts from 0 again (Pin: keeps the old)",
     "start:address:a:count3:global,repeat", "+0 +1 0:a 0:a 1:a 1:a 0:a 1:a", "1start 1start#1"},
    {"a global alarm is armed for all by one",
     "precond:address:p,start:address:a:count2:global:bcast", "+0 +1 0:p 1:a 1:a",
     "0precond? 1start*"},
    {"threads made later share the counter", "start:address:a:count3:global:bcast,stop:address:b",
     "+0 0:a 0:a +1 1:a +2 2:b", "1start* 2stop"},
    {"a winner's chain comes back to the global alarm for all",
     "start:address:a:count2:global,stop:address:b,repeat", "+0 +1 0:a 1:a 1:b 0:a 0:a 0:b",
     "1start 1stop 0start#1 0stop#1"},
    {"global: an execution is not seen by what it arms",
     "start:address:a:count2:global,stop:address:a:count2:global", "+0 0:a 0:a 0:a 0:a",
     "0start 0stop"},
    {"idle threads of a global chain stay idle for late threads",
     "start:address:a:count2:global,stop:address:b", "+0 0:a 0:a +1 1:b 0:b", "0start 0stop"},
    /* name, waitfor */
    {"waitfor begins after all passes",
     "precond:address:f,precond:address:g,repeat:2,name:c1;start:address:b,waitfor:c1",
     "+0 0:b 0:f 0:g 0:b 0:f 0:g 0:b", "0precond? 0precond? 0precond?#1 0precond?#1 0start"},
    {"waitfor is for the thread that finished", "start:address:a,name:x;stop:address:b,waitfor:x",
     "+0 +1 0:a 1:b 0:b 1:a 1:b", "0start 0stop 1start 1stop"},
    {"for all where it ended with bcast", "start:address:a:bcast,name:x;stop:address:b,waitfor:x",
     "+0 +1 0:a 1:b 0:b +2 2:b", "0start* 1stop 0stop 2stop"},
    {"for all where it ended with global",
     "start:address:a:count2:global,name:x;stop:address:b,waitfor:x", "+0 +1 0:a 1:a 0:b 1:b",
     "1start 0stop 1stop"},
    {"forward references", "stop:address:b,waitfor:x;start:address:a,name:x", "+0 0:b 0:a 0:b",
     "0start 0stop"},
    {"a waitfor chain may begin with global (Pin: never fires)",
     "start:address:a,name:x;stop:address:b:count2:global:bcast,waitfor:x",
     "+0 +1 1:b 0:a 1:b 0:b 1:a", "0start 0stop* 1start"},
    {"waitfor in a row",
     "precond:address:a,name:x;precond:address:b,waitfor:x,name:y;start:address:c,waitfor:y",
     "+0 0:c 0:b 0:a 0:c 0:b 0:c", "0precond? 0precond? 0start"},
    {"two may wait for one",
     "precond:address:a,name:x;start:address:b,waitfor:x;stop:address:b,waitfor:x", "+0 0:a 0:b",
     "0precond? 0start 0stop"},
    {"the execution that ends a chain is not seen by those that waited",
     "precond:address:a,name:x;start:address:a,waitfor:x", "+0 0:a 0:a", "0precond? 0start"},
    {"an endless chain never ends", "precond:address:a,repeat,name:x;start:address:b,waitfor:x",
     "+0 0:a 0:a 0:b", "0precond? 0precond?#1"},
    /* Default start */
    {"no start: a default start in each thread", "stop:address:a", "+0 +1 0:a",
     "0startD 1startD 0stop"},
    {"not in helper threads", "stop:address:a", "+1000 +0", "0startD"},
    {"none where a chain has a start", "start:address:a", "+0 +1", ""},
    /* icount */
    {"icount counts from the thread's first instruction", "start:icount:100", "+0 0@99 0@100 0@500",
     "0start=100"},
    {"the second from the first's requested count", "start:icount:100,stop:icount:50", "+0 0@1000",
     "0start=100 0stop=150"},
    {"no drift with skid: requested counts stay exact", "start:icount:100,stop:icount:50,repeat",
     "+0 0!120 0!170 0!251", "0start=100 0stop=150 0start=250#1"},
    {"what is past already fires at once, late", "start:icount:100,stop:icount:10", "+0 0!117",
     "0start=100 0stop!=110"},
    {"an edge that no count equals is not skipped (ChampSim #455)",
     "start:icount:100,stop:icount:50,start:icount:100,stop:icount:50",
     "+0 0!101 0!163 0!256 0!999", "0start=100 0stop=150 0start=250 0stop=300"},
    {"just reached is at once, not late", "start:icount:100,stop:icount:0", "+0 0@100",
     "0start=100 0stop=100"},
    {"a backlog catches up edge by edge", "start:icount:10,repeat:4", "+0 0!35",
     "0start=10 0start!=20#1 0start!=30#2"},
    {"count multiplies icount", "start:icount:100:count3", "+0 0@299 0@300", "0start=300"},
    {"after another type it counts from that execution", "start:address:a,stop:icount:50",
     "+0 0>30 0:a 0@79 0@80", "0start 0stop=80"},
    {"threads have their own icounts", "start:icount:100", "+0 +1 1@100 0@100",
     "1start=100 0start=100"},
    {"a late thread counts from its first instruction", "start:icount:100", "+0 0@100 +1 1@100",
     "0start=100 1start=100"},
    {"bcast icount: others count from where they learn of it",
     "start:icount:100:bcast,stop:icount:50", "+0 +1 1@30 0@100 1@40 1~ 1@89 1@90 0@150",
     "0start*=100 1stop=90 0stop=150"},
    {"icount:0 fires at the first instruction", "start:icount:0,stop:icount:5", "+0 0@5",
     "0start=0 0stop=5"},
    {"an expiry of an arming that is over is ignored", "start:icount:100:bcast,repeat",
     "+0 +1 0@100 1~ 1o 1@99 1@100", "0start*=100 1start*=100#1"},
    {"regions of one thread: absolute counts",
     "start:icount:100:tid0,stop:icount:50:tid0;start:icount:400:tid0,stop:icount:9:tid0",
     "+0 +1 1@900 0@900", "0start=100 0stop=150 0start=400 0stop=409"},
    {"global icount: over all threads", "start:icount:100:global:bcast,stop:icount:50:global:bcast",
     "+0 +1 0^60 1^39 1^1 0^30 1^20", "1start*=40 1stop*=60"},
    {"global icount: an overshoot counts for the next",
     "start:icount:100:global:bcast,stop:icount:50:global:bcast", "+0 +1 0^60 1^70 0^19 0^1",
     "1start*=40 0stop*=80"},
    {"global icount: an overshoot past the next fires it at once",
     "start:icount:100:global:bcast,stop:icount:50:global:bcast,repeat", "+0 0^260",
     "0start*=100 0stop*=150 0start*=250#1"},
    {"global icount with waitfor keeps the overshoot",
     "start:icount:10:global:bcast,name:x;stop:icount:30:global:bcast,waitfor:x",
     "+0 0^25 0^14 0^1", "0start*=10 0stop*=40"},
    /* timeout */
    {"timeout", "start:timeout:5,stop:timeout:5", "+0 0t 0t 0t", "0start 0stop"},
    {"timeout with repeat waits again (Pin: fires at once)", "start:timeout:5,repeat", "+0 0t 0t",
     "0start 0start#1"},
    {"a bcast timeout fires once; the others' armings are over", "start:timeout:5:bcast,repeat",
     "+0 +1 0t 1t 1t 0t", "0start* 1start*#1"},
    /* uniform */
    {"uniform: the first window at once, start to start", "uniform:800:500:2", "+0 0@5000",
     "0start*=0 0stop*=500 0start*=800 0stop*=1300"},
    {"after a precond", "precond:icount:200,uniform:800:500:2", "+0 0@5000",
     "0precond?=200 0start*=200 0stop*=700 0start*=1000 0stop*=1500"},
    {"period equal to length", "uniform:500:500:2", "+0 0@5000",
     "0start*=0 0stop*=500 0start*=500 0stop*=1000"},
    {"after N windows the next alarm is armed", "uniform:10:5:1,start:address:a", "+0 0:a 0@5 0:a",
     "0start*=0 0stop*=5 0start"},
    {"the first thread to reach the number drives all, counters reset", "uniform:100:50:2",
     "+0 +1 1@30 0@50 1@40 1~ 1@90 0@60 0~ 0@200 1@200",
     "0start*=0 0stop*=50 1start*=90 0stop*=110"},
    {"late threads take part", "uniform:100:50:1", "+0 0@10 +1 1@50", "0start*=0 1stop*=50"},
    {"uniform with tid: that thread alone drives", "uniform:100:50:1:tid1", "+0 0@500 +1 1@50",
     "1start*=0 1stop*=50"},
    {"uniform with repeat", "uniform:100:50:1,repeat:2", "+0 0@5000",
     "0start*=0 0stop*=50 0start*=50#1 0stop*=100#1"},
    {"uniform with skid does not drift", "uniform:100:50:2", "+0 0!53 0!104 0!151",
     "0start*=0 0stop*=50 0start*=100 0stop*=150"},
    {"uniform after a chain", "precond:address:a,name:x;uniform:100:50:1,waitfor:x",
     "+0 +1 0>7 0:a 0@57", "0precond? 0start*=7 0stop*=57"},
    /* Kinds of events */
    {"warm-up and statistics",
     "warmup-start:address:a,warmup-stop:address:b,stats-emit-reset:address:c", "+0 0:a 0:b 0:c",
     "0startD 0warmup-start 0warmup-stop 0stats-emit-reset"},
};

static void check_rule(const struct rule *rule)
{
    struct machine *machine = machine_begin(rule->chains, 0);
    run_script(machine, rule->script);
    if (!ok(strcmp(machine->log, rule->want) == 0, "%s", rule->what))
        diag("%s | %s\n#  want %s\n#  got  %s", rule->chains, rule->script, rule->want,
             machine->log);
    machine_end(machine);
}

/* ---- Rules that a script does not show ---- */

static void check_ranks(void)
{
    static const struct rule rows[] = {
        {"rank 0: the alarm exists", "start:address:a:ranks0,stop:address:b", "+0 0:a 0:b",
         "0start 0stop"},
        {"rank 1: the chain does not go past it", "start:address:a:ranks0,stop:address:b",
         "+0 0:a 0:b", ""},
        {"rank 1: a global alarm neither", "start:address:a:count1:global:ranks0", "+0 0:a", ""},
        {"rank 1: an icount neither", "start:icount:5:ranks0", "+0 0@50", ""},
    };
    for (unsigned i = 0; i < 4; i++) {
        struct machine *machine = machine_begin(rows[i].chains, i == 0 ? 0 : 1);
        run_script(machine, rows[i].script);
        is_str(machine->log, rows[i].want, rows[i].what);
        machine_end(machine);
    }
}

static void check_sync_asked(void)
{
    struct machine *machine = machine_begin("start:address:a:bcast,stop:timeout:5:bcast", 0);
    run_script(machine, "+0 +1 0:a");
    bool asked =
        machine->sync_asked == 1 && machine->armed_count[0] == 1 && machine->armed_count[1] == 0;
    run_script(machine, "1~");
    ok(asked && machine->armed_count[1] == 1,
       "a broadcast timeout asks for a sync, which arms it in the other thread");
    run_script(machine, "0t");
    bool other_knows = machine->armed_count[1] == 1;
    run_script(machine, "1~");
    ok(other_knows && machine->armed_count[1] == 0 && machine->sync_asked == 1,
       "when it fired elsewhere, the sync disarms it");
    machine_end(machine);
    machine = machine_begin("start:address:a:bcast,stop:address:b", 0);
    run_script(machine, "+0 +1 0:a");
    is_int(machine->sync_asked, 0, "no machinery, no sync asked");
    machine_end(machine);
}

/* Each row gives one digit per thread after each part of its script: 1 if no alarm can fire any
 * more. */
static void check_over(void)
{
    static const struct {
        const char *chains, *script[3], *over[3];
    } rows[] = {
        {"start:address:a,stop:address:b", {"+0 +1 0:a", "0:b", "1:a 1:b"}, {"00", "10", "11"}},
        {"start:address:a,stop:address:b,repeat:2", {"+0 0:a 0:b", "0:a", "0:b"}, {"0", "0", "1"}},
        {"start:address:a,stop:address:b,repeat", {"+0", "0:a 0:b", "0:a 0:b"}, {"0", "0", "0"}},
        {"start:address:a:bcast,stop:address:b:bcast",
         {"+0 +1 0:a", "0:b", "1~"},
         {"00", "10", "11"}},
        {"start:address:a:bcast,stop:address:b",
         {"+0 +1 0:a 1~", "0:b", "1:b"},
         {"00", "00", "00"}},
        {"start:address:a:count2:global", {"+0 +1 0:a", "1:a", "0~"}, {"00", "01", "11"}},
        {"start:address:a:tid1", {"+0 +1", "1:a", "0:a"}, {"10", "11", "11"}},
        {"start:address:a,name:x;start:address:b,waitfor:x", {"+0", "0:a", "0:b"}, {"0", "0", "1"}},
        {"uniform:10:5:1", {"+0", "0@5", "0@5"}, {"0", "1", "1"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct machine *machine = machine_begin(rows[i].chains, 0);
        for (int k = 0; k < 3; k++) {
            char got[THREADS + 1] = "", what[128];
            snprintf(what, sizeof what, "over: %s, step %d", rows[i].chains, k);
            run_script(machine, rows[i].script[k]);
            for (size_t t = 0; t < strlen(rows[i].over[k]); t++)
                strcat(got, ctl_thread_is_over(machine->threads[t]) ? "1" : "0");
            is_str(got, rows[i].over[k], what);
        }
        machine_end(machine);
    }
}

struct unfired {
    enum ctl_unfired why[16];
    uint64_t reached[16];
    unsigned count;
};

static void take_unfired(void *context, const struct ctl_alarm *alarm, enum ctl_unfired why,
                         uint64_t reached)
{
    struct unfired *unfired = context;
    unfired->why[alarm->index] = why;
    unfired->reached[alarm->index] = reached;
    unfired->count++;
}

static void check_never_fired(void)
{
    struct machine *machine = machine_begin("start:address:a,stop:address:b:count5;"
                                            "start:address:c:count7:global,stop:address:d;"
                                            "start:address:e;"
                                            "start:address:f:count9;"
                                            "start:address:g:ranks3,stop:address:h",
                                            0);
    run_script(machine, "+0 +1 0:a 0:b 0:b 1:c 0:c 0:c 1:f 1:f 1:f -1 0:f");
    struct unfired unfired = {.count = 0};
    ctl_never_fired(machine->shared, take_unfired, &unfired);
    is_int(unfired.count, 7, "seven alarms never fired");
    ok(unfired.why[1] == CTL_COUNT_SHORT && unfired.reached[1] == 2, "2 of 5");
    ok(unfired.why[2] == CTL_COUNT_SHORT && unfired.reached[2] == 3,
       "3 of 7, all threads together");
    ok(unfired.why[3] == CTL_NEVER_ARMED, "what stands after was never armed");
    ok(unfired.why[4] == CTL_NEVER_HIT, "armed and never hit");
    ok(unfired.why[5] == CTL_COUNT_SHORT && unfired.reached[5] == 3,
       "the best of any thread, also of one that ended");
    ok(unfired.why[6] == CTL_OTHER_RANK && unfired.why[7] == CTL_NEVER_ARMED, "of another rank");
    ok(ctl_alarm_fired(machine->shared, 0) == 1 && ctl_alarm_fired(machine->shared, 1) == 0,
       "how often each fired");
    machine_end(machine);
}

/* Forks half-way. The child continues where its thread was, and its alarms are armed anew. */
static void check_fork(void)
{
    struct machine *machine = machine_begin("start:address:a:count3,stop:timeout:5", 0);
    uint64_t mask = 0;
    run_script(machine, "+0 +1 0:a 0:a");
    ctl_fork_prepare(machine->shared, &mask);
    ctl_fork_parent(machine->shared, &mask);
    run_script(machine, "0:a");
    machine->armed_count[0] = 0; /* the child loses the armed timeout */
    ctl_fork_prepare(machine->shared, &mask);
    ctl_fork_child(machine->shared, machine->threads[0], &mask, NULL);
    is_int(machine->armed_count[0], 1, "the child's timeout is armed anew");
    run_script(machine, "0t");
    is_str(machine->log, "0start 0stop", "and the chain goes on");
    /* Another thread held the lock at a fork that the automaton did not see. */
    shared_of(machine->shared)->lock = 1;
    ctl_after_fork(machine->shared, machine->threads[0], NULL);
    run_script(machine, "+2 2:a 2:a 2:a");
    is_str(machine->log, "0start 0stop 2start", "a fork without prepare leaves no lock behind");
    machine_end(machine);
}

/* A trampoline decrements the counter itself and calls the slow path only when the alarm is due. */
static void check_trampoline(void)
{
    struct machine *machine = machine_begin("start:address:a:count2,stop:address:b", 0);
    run_script(machine, "+0");
    struct ctl_thread *thread = machine->threads[0];
    int64_t *a = (int64_t *)(void *)((char *)thread + ctl_left_offset(0));
    int64_t *b = (int64_t *)(void *)((char *)thread + ctl_left_offset(1));
    const uint16_t first = 0, second = 1;
    const struct ctl_moment moment = moment_at(CTL_UNKNOWN);
    bool parked = --*b > 0 && --*b > 0; /* not armed: decremented without effect */
    bool not_due = --*a > 0;
    int64_t value = --*a;
    ctl_hit_slow(thread, &first, 1, &moment, 0, 1);
    int64_t due = --*b;
    ctl_hit_slow(thread, &second, 1, &moment, 0, 1);
    ok(parked && not_due && value == 0 && due == 0, "counters tell when to come");
    is_str(machine->log, "0start 0stop", "and the firings are the same");
    machine_end(machine);
}

/* A signal handler runs between the decrement and the slow path, and finds the alarm due itself. */
static void check_interrupted(void)
{
    struct machine *machine = machine_begin("start:address:a:count2,stop:address:a,repeat", 0);
    run_script(machine, "+0 0:a");
    struct ctl_thread *thread = machine->threads[0];
    const uint16_t alarms[] = {0, 1};
    const struct ctl_moment moment = moment_at(CTL_UNKNOWN);
    int64_t value = ctl_left_decrement(&thread->left[0]);
    ctl_hit(thread, alarms, 2, &moment); /* the handler's execution */
    ctl_hit_slow(thread, alarms, 2, &moment, 0, 1);
    is_int(value, 0, "the counter had come to 0");
    is_str(machine->log, "0start 0stop",
           "an interrupted execution is counted once, after the handler's");
    machine_end(machine);
}

static void check_backlog(void)
{
    struct machine *machine = machine_begin("start:icount:1,repeat", 0);
    run_script(machine, "+0");
    struct armed due = machine->armed[0][0];
    const struct ctl_moment moment = moment_at((uint64_t)1 << 40);
    ctl_expire(machine->threads[0], due.alarm, due.generation, &moment);
    uint64_t fired = ctl_alarm_fired(machine->shared, 0);
    ok(fired == BACKLOG_MAX + 1 && ctl_backlogs_cut(machine->shared) == 1,
       "a backlog of 2^40 edges is cut, and that is counted");
    ok(machine->armed_count[0] == 1 && machine->armed[0][0].requested == ((uint64_t)1 << 40) + 1,
       "and the chain counts from the actual icount");
    machine_end(machine);
    machine = machine_begin("start:icount:10:global:bcast,repeat", 0);
    run_script(machine, "+0 0^1099511627776");
    fired = ctl_alarm_fired(machine->shared, 0);
    run_script(machine, "0^9");
    bool quiet = ctl_alarm_fired(machine->shared, 0) == fired;
    run_script(machine, "0^1");
    ok(fired == BACKLOG_MAX + 1 && quiet && ctl_alarm_fired(machine->shared, 0) == fired + 1,
       "a backlog of a global icount is cut too");
    machine_end(machine);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        check_rule(&rules[i]);
    check_ranks();
    check_sync_asked();
    check_over();
    check_never_fired();
    check_fork();
    check_trampoline();
    check_interrupted();
    check_backlog();
    return done_testing();
}
