/* SPDX-License-Identifier: BSD-3-Clause
 * Compares walks up the stack, from signals at arbitrary moments, with libgcc's unwinder,
 * backtrace(3): each frame of each walk. */
#include "preload/stack/unwind.h"

#include "preload/stack/untabled.h"

#include "t/tap.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(DLFO_STRUCT_HAS_EH_DBASE)

#define APART __attribute__((noinline, noclone))
enum { FRAMES = 128, SHOWN = 5 };

const uint8_t *unwind_table(uintptr_t at)
{
    struct dl_find_object image;
    return _dl_find_object((void *)at, &image) == 0 ? image.dlfo_eh_frame : NULL; /* NOLINT */
}

/* All code here has a table. */
bool untabled_frame(uintptr_t at, bool interrupted, struct untabled_frame *out)
{
    (void)at, (void)interrupted, (void)out;
    return false;
}

extern const char __executable_start, etext; /* the linker's: bounds of the program's own code */

static volatile sig_atomic_t walks, same, frames, outside, patchable;
static volatile double sink;
static char said[4096];

static void differ(void *const *theirs, int from, int n, const uintptr_t *ours, int count)
{
    static int shown;
    size_t at = strlen(said);
    if (shown++ >= SHOWN)
        return;
    for (int i = 0; i < n - from || i < count; i++)
        at += (size_t)snprintf(said + at, sizeof said - at, "%lx/%lx ",
                               i < n - from ? (unsigned long)theirs[from + i] : 0,
                               i < count ? (unsigned long)ours[i] : 0);
    (void)snprintf(said + at, sizeof said - at, "\n");
}

/* Walks the interrupted stack. backtrace() also has the frames of the handler and of the kernel's
 * return from it; after them comes the interrupted instruction. */
static void handle(int signo, siginfo_t *info, void *context)
{
    void *theirs[FRAMES];
    uintptr_t ours[FRAMES];
    const ucontext_t *uc = context;
    (void)signo;
    (void)info;
    int n = backtrace(theirs, FRAMES), from = 0, count = 0;
    while (from < n && (uintptr_t)theirs[from] != (uintptr_t)uc->uc_mcontext.gregs[REG_RIP])
        from++;
    struct unwind w;
    unwind_begin_context(&w, context);
    do {
        ours[count++] = w.r[UNWIND_RETURN];
        if (w.back != NULL && *w.back == w.r[UNWIND_RETURN])
            patchable++;
    } while (count < FRAMES - from && unwind_up(&w));
    walks++;
    frames += count;
    uintptr_t at = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    outside += at < (uintptr_t)&__executable_start || at >= (uintptr_t)&etext;
    bool equal = from < n && count == n - from;
    for (int i = 0; equal && i < count; i++)
        equal = ours[i] == (uintptr_t)theirs[from + i];
    same += equal;
    if (!equal)
        differ(theirs, from, n, ours, count);
}

APART int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

APART double recurse(int depth, double x)
{
    char *room = __builtin_alloca((size_t)(depth * 16 + 16));
    memset(room, depth, 16);
    if (depth == 0)
        return sin(x) + pow(x, 1.1) + room[3];
    return recurse(depth - 1, x + 1) * 0.5 + room[1];
}

/* Has an aligned frame, which the unwind tables describe by expressions. */
APART double aligned(double x)
{
    double v[8] __attribute__((aligned(64)));
    for (int i = 0; i < 8; i++)
        v[i] = recurse(i, x + i);
    return v[0] + v[7];
}

APART void write_text(int i)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%d %f %s %zu", i, i * 0.3, "words",
                   strlen("words") + (size_t)i);
    sink += strtod(text, NULL);
}

static void work(void)
{
    int list[64];
    for (int i = 0; i < 64; i++)
        list[i] = i * 7919 % 64;
    qsort(list, 64, sizeof *list, compare);
    sink += aligned(list[3]);
    write_text(list[5]);
    free(malloc((size_t)(100 + list[7])));
    sink += (double)getppid();
}

/* Walks from a call on. The frames must stay while they are walked, so the calls are no tail
 * calls. */
APART bool here(int depth)
{
    void *theirs[FRAMES];
    struct unwind w;
    volatile bool good = true;
    if (depth > 0) {
        good = here(depth - 1);
        return good;
    }
    int n = backtrace(theirs, FRAMES);
    unwind_begin_here(&w);
    for (int i = 1; i < n; i++)
        good = good && unwind_up(&w) && w.r[UNWIND_RETURN] == (uintptr_t)theirs[i] &&
               *w.back == (uintptr_t)theirs[i];
    ok(good && n > 7, "from a call on, %d frames, each with the word that leads there", n);
    ok(!unwind_up(&w), "and none above");
    return good;
}

int main(void)
{
    struct sigaction a = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct itimerval every = {{0, 200}, {0, 200}}, none = {{0, 0}, {0, 0}};
    (void)here(5);
    (void)sigaction(SIGALRM, &a, NULL);
    (void)setitimer(ITIMER_REAL, &every, NULL);
    while (walks < 3000)
        work();
    (void)setitimer(ITIMER_REAL, &none, NULL);
    ok(same == walks, "%d walks of %d from signals are as backtrace(3) has them", (int)same,
       (int)walks);
    if (same != walks)
        diag("%s", said);
    diag("%d frames, %d walks from within libraries", (int)frames, (int)outside);
    ok(frames > 5 * walks && outside > walks / 50, "of many frames, from libraries too");
    ok(patchable == frames - walks, "each caller's word lies where it is said to");
    return done_testing();
}

#else

int main(void)
{
    skip("walks", "stacks are walked on x86-64 with _dl_find_object(3)");
    return done_testing();
}

#endif
