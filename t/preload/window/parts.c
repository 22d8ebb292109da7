/* SPDX-License-Identifier: BSD-3-Clause
 * The order in which parts of the library are called: the real table (preload/window/parts.c), with
 * hooks that write down their names. */
#include "preload/affinity.h"
#include "preload/count/counter_records.h"
#include "preload/count/counting.h"
#include "preload/count/profile_part.h"
#include "preload/count/sampling.h"
#include "preload/images/image_records.h"
#include "preload/memory/memory.h"
#include "preload/patch/probes.h"
#include "preload/values/values.h"
#include "preload/window/cuts.h"
#include "preload/window/marks.h"
#include "preload/process.h"
#include "preload/window/parts.h"
#include "t/tap.h"

#include <string.h>

static char said[1024];

static void say(const char *name)
{
    (void)snprintf(said + strlen(said), sizeof said - strlen(said), " %s", name);
}

#define HOOK(name)                                                                                 \
    void name(struct recorder_thread *t, struct preload_thread *pt)                                \
    {                                                                                              \
        (void)t;                                                                                   \
        (void)pt;                                                                                  \
        say(#name);                                                                                \
    }
HOOK(affinity_tell)
HOOK(affinity_forked)
HOOK(counting_thread_ends)
HOOK(counting_forked)
HOOK(counters_ready)
HOOK(counters_opened)
HOOK(counters_closes)
HOOK(counters_thread_ends)
HOOK(cuts_enter)
HOOK(cuts_leave)
HOOK(images_window_opened)
HOOK(memory_opened)
HOOK(memory_closes)
HOOK(memory_thread_ends)
HOOK(probes_window_prepare)
HOOK(probes_window_closed)
HOOK(profile_thread_ends)
HOOK(sampling_ready)
HOOK(sampling_opened)
HOOK(sampling_closes)
HOOK(sampling_gap)
HOOK(sampling_thread_ends)
HOOK(sampling_forked)
HOOK(timers_thread_ends)
HOOK(timers_forget)
HOOK(totals_end)
HOOK(values_thread_ends)
#define FORKED(name)                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        say(#name);                                                                                \
    }
FORKED(images_forked)
FORKED(probes_images_gone)
FORKED(probes_images_loaded)
FORKED(values_images_changed)
FORKED(marks_forked)
FORKED(profile_forget)
FORKED(memory_forked)
FORKED(probes_forked)
FORKED(values_forked)
#define HOLD(name)                                                                                 \
    void name(struct preload_thread *pt, bool held)                                                \
    {                                                                                              \
        (void)pt;                                                                                  \
        say(held ? #name : "-" #name);                                                             \
    }
HOLD(counting_hold)
HOLD(sampling_hold)
static const char *refusing; /* the hook that refuses */
#define PREPARED(name)                                                                             \
    int name(struct rt_error *e)                                                                   \
    {                                                                                              \
        (void)e;                                                                                   \
        say(#name);                                                                                \
        return refusing != NULL && strcmp(refusing, #name) == 0 ? -1 : 0;                          \
    }
PREPARED(counting_prepare)
PREPARED(counters_prepare)
PREPARED(probes_prepare)
PREPARED(profile_prepare)
PREPARED(sampling_prepare)
PREPARED(values_prepare)
PREPARED(values_start)
static const char *claiming; /* the hook that claims a signal */
#define CLAIMED(name)                                                                              \
    bool name(int signo, siginfo_t *info, void *context)                                           \
    {                                                                                              \
        (void)signo;                                                                               \
        (void)info;                                                                                \
        (void)context;                                                                             \
        say(#name);                                                                                \
        return claiming != NULL && strcmp(claiming, #name) == 0;                                   \
    }
CLAIMED(counting_trapped)
CLAIMED(memory_faulted)
CLAIMED(memory_stepped)
CLAIMED(probes_trapped)
CLAIMED(values_faulted)
CLAIMED(values_trapped)
#define WANTED(name, wanted)                                                                       \
    bool name(int signo)                                                                           \
    {                                                                                              \
        return signo == (wanted);                                                                  \
    }
WANTED(counting_wants_signal, SIGIO)
WANTED(memory_is_fault, SIGSEGV)
WANTED(probes_want_signal, SIGTRAP)
WANTED(values_wants_signal, SIGBUS)
#define ROOM(size, made, bytes)                                                                    \
    size_t size(void)                                                                              \
    {                                                                                              \
        return bytes;                                                                              \
    }                                                                                              \
    void made(struct preload_thread *pt, void *room)                                               \
    {                                                                                              \
        char at[32];                                                                               \
        (void)snprintf(at, sizeof at, "%s:%d", #made, (int)((char *)room - (char *)pt));           \
        say(at);                                                                                   \
    }
ROOM(counting_room, counting_thread_made, 16)
ROOM(probe_room_bytes, probe_room_begin, 64)
ROOM(profile_room, profile_thread_made, 32)
ROOM(timers_room, timers_thread_made, 8)

static void check(const char *want, const char *name)
{
    (void)is_str(said, want, name);
    said[0] = '\0';
}

static bool counts;
bool counters_are_on(void)
{
    return counts;
}
bool sampling_is_on(void)
{
    return false;
}
struct process process;
#if defined(__x86_64__)
bool memory_is_traced;
#endif

#if defined(__x86_64__)
#define MEMORY(text) text
#define X86_64_OR(here, elsewhere) here
#else
#define MEMORY(text)
#define X86_64_OR(here, elsewhere) elsewhere
#endif

static struct preload_thread pt;
static struct recorder_thread t;

static void test_process(void)
{
    struct rt_error e;
    int rc = parts_prepare(&e);
    check(" counting_prepare profile_prepare sampling_prepare values_prepare counters_prepare "
          "probes_prepare",
          "the counter of instructions is chosen first");
    refusing = "values_prepare";
    (void)is_int(parts_prepare(&e), rc - 1, "a part refuses");
    check(" counting_prepare profile_prepare sampling_prepare values_prepare",
          "and those after it are not asked");
    rc = parts_start(&e);
    check(X86_64_OR(" values_start", ""), "a helper starts after all parts are prepared");
    (void)is_int(rc, 0, "which none refuses");
    ok(parts_want_signal(SIGTRAP) && parts_want_signal(SIGIO) && !parts_want_signal(SIGUSR1),
       "a signal reaches the library if one part wants it");
    bool claimed = parts_trapped(SIGTRAP, NULL, NULL);
    check(X86_64_OR(" counting_trapped values_trapped memory_stepped probes_trapped",
                    " counting_trapped probes_trapped"),
          "a trap goes to the counter, then to steps, then to places");
    claiming = "counting_trapped";
    ok(!claimed && parts_trapped(SIGTRAP, NULL, NULL), "one part claims it");
    check(" counting_trapped", "and the others do not see it");
    claimed = parts_faulted(SIGSEGV, NULL, NULL);
    check(X86_64_OR(" values_faulted memory_faulted", ""), "a fault ends a sample's step first");
    ok(!claimed, "and nobody claims it");
    parts_images_loaded();
    parts_images_gone();
    check(X86_64_OR(" values_images_changed",
                    "") " probes_images_loaded probes_images_gone profile_forget",
          "code of new images is known before it is patched");
    (void)is_int((int)parts_thread_room(), 120, "rooms of a thread are added");
    parts_thread_made(&pt, (char *)&pt + 8);
    check(
        " counting_thread_made:8 timers_thread_made:24 profile_thread_made:32 probe_room_begin:64",
        "and lie one after another");
}

static void test_windows(void)
{
    parts_window_prepare(&t, &pt);
    check(" sampling_ready counters_ready probes_window_prepare",
          "patching is the last preparation of a window");
    parts_window_opened(&t, &pt);
    check(" affinity_tell images_window_opened cuts_enter sampling_opened "
          "counters_opened" MEMORY(" memory_opened"),
          "a window describes itself, then it measures, and memory is traced last");
    parts_window_closes(&t, &pt);
    check(MEMORY(" memory_closes") " counters_closes sampling_closes cuts_leave",
          "at the end of a window memory comes first, and open calls are left last");
    parts_window_closed(&t, &pt);
    check(" probes_window_closed sampling_gap", "after it, probes go before samples of gaps begin");
}

int main(void)
{
    test_process();
    test_windows();
    parts_thread_ends(&t, &pt);
    check(MEMORY(" memory_thread_ends") " counters_thread_ends" MEMORY(
              " values_thread_ends") " "
                                     "sampling_thread_ends profile_thread_ends timers_thread_ends "
                                     "totals_end "
                                     "counting_thread_ends",
          "a thread's total is read before its counter is closed");
    parts_forked(&t, &pt);
    check(" profile_forget marks_forked images_forked" MEMORY(
              " values_forked memory_forked") " probes_forked counting_forked timers_forget "
                                              "affinity_forked "
                                              "sampling_forked counters_thread_ends",
          "in the child of fork the process comes before the thread");
    parts_forked(&t, NULL);
    check(" profile_forget marks_forked images_forked" MEMORY(
              " values_forked memory_forked") " probes_forked",
          "a thread without a state is left out");
    parts_hold(&pt, true);
    parts_hold(&pt, false);
    check(" counting_hold sampling_hold -counting_hold -sampling_hold",
          "counters and samplers are held and go on");
    bool before = parts_want_all_threads();
    counts = true;
    ok(!before && parts_want_all_threads(), "one part that wants all threads is enough");
    return done_testing();
}
