/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the rules of ovni's emulator on small streams. Each expected result is derived by hand:
 * "t0@10=2" says that thread 0 shows 2 from 10 ns on; "p" stands for a processor. */
#include "t/tap.h"
#include "tools/channels/emu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STATE, CALLS, HERE, LOAD, MARKS, CHANNELS };

static const struct emu_channel channels[CHANNELS] = {
    [STATE] = {"state", "", EMU_SINGLE, EMU_ALWAYS, false, EMU_ALWAYS, false, 0, false},
    [CALLS] = {"calls", "", EMU_STACK, EMU_WHILE_RUNNING, true, EMU_WHILE_RUNNING, false, 0, false},
    [HERE] = {"here", "", EMU_SINGLE, EMU_WHILE_ACTIVE, true, EMU_WHILE_ACTIVE, true, 9, false},
    [LOAD] = {"load", "", EMU_SINGLE, EMU_ALWAYS, true, EMU_ALWAYS, false, 0, false},
    [MARKS] = {"marks", "", EMU_PUNCTUAL, EMU_WHILE_RUNNING, true, EMU_WHILE_RUNNING, false, 0,
               false},
};

static char seen[4096];
static uint32_t wanted; /* the channel that note() records */

static void note(void *context, bool processor, uint32_t row, uint32_t channel, int64_t time,
                 int64_t value)
{
    size_t n = strlen(seen);
    (void)context;
    if (channel == wanted)
        (void)snprintf(seen + n, sizeof seen - n, "%s%c%" PRIu32 "@%" PRId64 "=%" PRId64,
                       n != 0 ? " " : "", processor ? 'p' : 't', row, time, value);
}

/* Opens an emulator of two threads and two processors; note() records one channel. */
static struct emu *begin(uint32_t channel)
{
    struct emu *m = emu_open(channels, CHANNELS, 2, 2, (struct emu_output){note, NULL});
    wanted = channel;
    seen[0] = '\0';
    if (m == NULL)
        abort();
    emu_begin(m, 0);
    seen[0] = '\0';
    return m;
}

static void end(struct emu *m, const char *expected, const char *what)
{
    is_str(seen, expected, what);
    emu_close(m);
}

static struct rt_error why;

/* Fails the test if a call that must work has failed. */
static void do_it(int rc)
{
    if (rc != 0)
        ok(false, "%s", why.text);
}

static void refused(int rc, const char *text, const char *what)
{
    ok(rc < 0 && strcmp(why.text, text) == 0, "%s", what);
    if (strcmp(why.text, text) != 0)
        diag("%s", why.text);
}

static void test_example(void)
{
    /* The example of ovni's emulator, by its hooks: foo pushes 2; bar, which foo calls, pushes
     * 1. */
    struct emu *m = begin(CALLS);
    do_it(emu_thread_is(m, 0, EMU_RUNNING, &why));
    emu_emit(m, 1);
    do_it(emu_push(m, 0, CALLS, 2, &why));
    emu_emit(m, 10);
    do_it(emu_push(m, 0, CALLS, 1, &why));
    emu_emit(m, 20);
    do_it(emu_pop(m, 0, CALLS, 1, &why));
    emu_emit(m, 30);
    do_it(emu_pop(m, 0, CALLS, 2, &why));
    emu_emit(m, 40);
    end(m, "t0@10=2 t0@20=1 t0@30=2 t0@40=0", "foo and bar: 0, 2, 1, 2, 0");
}

static void test_beginning(void)
{
    struct emu *m = emu_open(channels, CHANNELS, 1, 1, (struct emu_output){note, NULL});
    seen[0] = '\0';
    wanted = HERE;
    emu_begin(m, 5);
    emu_emit(m, 6);
    end(m, "t0@5=9 p0@5=9", "all is reported at the beginning, disabled as it is, and once");
}

static void test_thread_tracking(void)
{
    static const enum emu_state states[] = {EMU_RUNNING, EMU_PAUSED,  EMU_COOLING,
                                            EMU_WARMING, EMU_RUNNING, EMU_DEAD};
    struct emu *m = begin(CALLS);
    do_it(emu_push(m, 0, CALLS, 4, &why));
    emu_emit(m, 1);
    for (unsigned i = 0; i < 6; i++) {
        do_it(emu_thread_is(m, 0, states[i], &why));
        emu_emit(m, 10 * (i + 1));
    }
    end(m, "t0@10=4 t0@20=0 t0@50=4 t0@60=0",
        "a channel that follows running threads: disabled it shows 0, enabled again what it held");
    m = begin(HERE);
    do_it(emu_set(m, 0, HERE, 4, &why));
    emu_emit(m, 1);
    for (unsigned i = 0; i < 6; i++) {
        do_it(emu_thread_is(m, 0, states[i], &why));
        emu_emit(m, 10 * (i + 1));
    }
    end(m, "t0@10=4 t0@20=9 t0@30=4 t0@60=9",
        "active threads: cooling and warming as well; disabled it shows its own value");
    m = begin(STATE);
    do_it(emu_set(m, 0, STATE, 4, &why));
    emu_emit(m, 1);
    do_it(emu_thread_is(m, 0, EMU_RUNNING, &why));
    emu_emit(m, 2);
    end(m, "t0@1=4", "a channel that follows nothing is always enabled");
    m = begin(CALLS);
    do_it(emu_thread_is(m, 0, EMU_RUNNING, &why));
    do_it(emu_push(m, 0, CALLS, 4, &why));
    emu_emit(m, 1);
    do_it(emu_thread_is(m, 0, EMU_PAUSED, &why));
    do_it(emu_push(m, 0, CALLS, 5, &why));
    emu_emit(m, 2);
    do_it(emu_thread_is(m, 0, EMU_RUNNING, &why));
    emu_emit(m, 3);
    end(m, "t0@1=4 t0@2=0 t0@3=5", "what changes while disabled is seen when it is enabled again");
}

static void test_processors(void)
{
    struct emu *m = begin(CALLS);
    do_it(emu_thread_moves(m, 0, 1, &why));
    do_it(emu_thread_is(m, 0, EMU_RUNNING, &why));
    do_it(emu_push(m, 0, CALLS, 3, &why));
    emu_emit(m, 1);
    do_it(emu_thread_moves(m, 1, 1, &why));
    do_it(emu_thread_is(m, 1, EMU_RUNNING, &why));
    emu_emit(m, 2);
    do_it(emu_push(m, 1, CALLS, 8, &why));
    emu_emit(m, 3);
    do_it(emu_thread_is(m, 0, EMU_PAUSED, &why));
    emu_emit(m, 4);
    do_it(emu_thread_moves(m, 1, 0, &why));
    emu_emit(m, 5);
    do_it(emu_thread_is(m, 1, EMU_DEAD, &why));
    emu_emit(m, 6);
    end(m, "t0@1=3 p1@1=3 p1@2=777 t1@3=8 t0@4=0 p1@4=8 p1@5=0 p0@5=8 t1@6=0 p0@6=0",
        "a processor shows its one running thread, 777 for more, 0 for none");
    m = begin(HERE);
    do_it(emu_thread_moves(m, 0, 0, &why));
    do_it(emu_thread_is(m, 0, EMU_COOLING, &why));
    do_it(emu_set(m, 0, HERE, 3, &why));
    emu_emit(m, 1);
    do_it(emu_thread_moves(m, 1, 0, &why));
    do_it(emu_thread_is(m, 1, EMU_WARMING, &why));
    emu_emit(m, 2);
    do_it(emu_thread_is(m, 0, EMU_PAUSED, &why));
    emu_emit(m, 3);
    end(m, "t0@1=3 p0@1=3 t1@2=0 p0@2=777 t0@3=9 p0@3=0", "likewise its active threads");
    m = begin(LOAD);
    do_it(emu_set_processor(m, 1, LOAD, 2, &why));
    emu_emit(m, 1);
    end(m, "p1@1=2", "a channel of the processor's own is set by the model");
}

/* A channel that shows active threads on the processor, and running threads on the thread. */
static void test_bad(void)
{
    static const struct emu_channel mixed[1] = {
        {"mixed", "", EMU_SINGLE, EMU_WHILE_RUNNING, true, EMU_WHILE_ACTIVE, false, 0, false}};
    struct emu *m = emu_open(mixed, 1, 1, 1, (struct emu_output){note, NULL});
    wanted = 0;
    emu_begin(m, 0);
    seen[0] = '\0';
    do_it(emu_thread_moves(m, 0, 0, &why));
    do_it(emu_thread_is(m, 0, EMU_RUNNING, &why));
    do_it(emu_set(m, 0, 0, 5, &why));
    emu_emit(m, 1);
    do_it(emu_thread_is(m, 0, EMU_COOLING, &why));
    emu_emit(m, 2);
    end(m, "t0@1=5 p0@1=5 t0@2=0 p0@2=666",
        "the one thread that a processor follows has its channel disabled: 666");
}

static void test_punctual(void)
{
    struct emu *m = begin(MARKS);
    do_it(emu_thread_moves(m, 0, 0, &why));
    do_it(emu_thread_is(m, 0, EMU_RUNNING, &why));
    emu_emit(m, 1);
    do_it(emu_event(m, 0, MARKS, 6, &why));
    emu_emit(m, 100);
    emu_emit(m, 200);
    do_it(emu_event(m, 0, MARKS, 6, &why));
    emu_emit(m, 300);
    do_it(emu_event(m, 1, MARKS, 6, &why)); /* this thread is not running */
    emu_emit(m, 400);
    end(m, "t0@99=6 t0@100=0 p0@99=6 p0@100=0 t0@299=6 t0@300=0 p0@299=6 p0@300=0",
        "an event is seen 1 ns before its time, for 1 ns, on the processor too");
}

static void test_refusals(void)
{
    struct emu *m = begin(CALLS);
    do_it(emu_push(m, 0, CALLS, 1, &why));
    do_it(emu_push(m, 0, CALLS, 2, &why));
    refused(emu_pop(m, 0, CALLS, 1, &why),
            "calls: pop of 1, which is not on top (the stack, top first: 2 1)",
            "a pop of what is not on top says what is there");
    do_it(emu_pop(m, 0, CALLS, 2, &why));
    do_it(emu_pop(m, 0, CALLS, 1, &why));
    refused(emu_pop(m, 0, CALLS, 1, &why),
            "calls: pop of 1, which is not on top (the stack, top first: empty)",
            "a pop of an empty stack");
    refused(emu_push(m, 0, CALLS, 0, &why), "calls: the value 0 is no state (from 1 on)",
            "0 is not pushed");
    refused(emu_set(m, 0, HERE, -1, &why), "here: the value -1 is no state (from 0 on)",
            "nor are values below 0 set");
    refused(emu_event(m, 0, MARKS, 0, &why), "marks: the value 0 is no state (from 1 on)",
            "nor is 0 an event");
    refused(emu_push(m, 0, STATE, 1, &why), "state: the channel is of another kind than push needs",
            "each kind has its calls");
    do_it(emu_set(m, 0, STATE, 4, &why));
    refused(emu_set(m, 0, STATE, 4, &why), "state: it is 4 already", "the same value twice");
    do_it(emu_set(m, 0, HERE, 4, &why));
    is_int(emu_set(m, 0, HERE, 4, &why), 0, "but where the channel allows it");
    do_it(emu_push(m, 0, CALLS, 3, &why));
    refused(emu_push(m, 0, CALLS, 3, &why), "calls: it is 3 already", "on a stack likewise");
    refused(emu_thread_moves(m, 0, 2, &why), "there is no processor 2", "an unknown processor");
    do_it(emu_thread_is(m, 0, EMU_DEAD, &why));
    refused(emu_thread_is(m, 0, EMU_RUNNING, &why),
            "the thread is dead, and cannot be running then", "nobody rises from the dead");
    for (int i = 0; i < EMU_STACK_MAX; i++)
        do_it(emu_push(m, 1, CALLS, 1 + i % 2, &why));
    refused(emu_push(m, 1, CALLS, 1, &why), "calls: push of 1: 512 values are on the stack already",
            "a stack ends at 512");
    emu_close(m);
}

static void test_end(void)
{
    struct emu *m = begin(CALLS);
    is_int(emu_end(m, &why), 0, "threads that were never seen are no fault at the end");
    do_it(emu_thread_is(m, 1, EMU_RUNNING, &why));
    refused(emu_end(m, &why), "thread 1 is running at the end", "those that live are");
    do_it(emu_push(m, 1, CALLS, 3, &why));
    refused(emu_end(m, &why), "calls of thread 1: at the end the stack has (top first): 3",
            "and what is left on a stack");
    emu_clear(m, 1, CALLS, true);
    do_it(emu_thread_is(m, 1, EMU_DEAD, &why));
    is_int(emu_end(m, &why), 0, "what is spoiled has no stack");
    emu_close(m);
}

static void test_spoiled(void)
{
    struct emu *m = begin(CALLS);
    do_it(emu_thread_is(m, 0, EMU_RUNNING, &why));
    do_it(emu_push(m, 0, CALLS, 3, &why));
    emu_emit(m, 1);
    emu_clear(m, 0, CALLS, true);
    emu_emit(m, 2);
    do_it(emu_push(m, 0, CALLS, 3, &why));
    emu_emit(m, 3);
    do_it(emu_pop(m, 0, CALLS, 3, &why));
    emu_emit(m, 4);
    end(m, "t0@1=3 t0@2=666 t0@3=3 t0@4=0", "after a fault 666 is seen until the next change");
}

int main(void)
{
    test_example();
    test_beginning();
    test_thread_tracking();
    test_processors();
    test_bad();
    test_punctual();
    test_refusals();
    test_end();
    test_spoiled();
    return done_testing();
}
