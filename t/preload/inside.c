/* SPDX-License-Identifier: BSD-3-Clause
 * Links the whole traced-process side into a program, so that sanitizers and valgrind see it at
 * work: threads, windows of one thread and of all threads, signals, timers, jumps, fork. A child
 * process does the traced work; its parent reads what was recorded. */
#define REGTRACE_NO_GUARDS
#include "share/include/regtrace.h"
#include "t/tap.h"
#include "t/writer/gave_up.h"
#include "writer/writer.h"

#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, MARKS = 3000, SHORT_LIVED = 40, FORKS = 4, FORKED_MARKS = 20 };
enum { FORKED = 2, ALONE = 10, AMONG_EDGES = 30 }; /* types of marks */

static char folder[] = "/tmp/regtrace-inside-XXXXXX";

/* Runs before the library's own constructor, which is linked into this program too. */
__attribute__((constructor(101))) static void prepare(void)
{
    char writer[4096];
    const char *build = getenv("REGTRACE_BUILD");
    (void)snprintf(writer, sizeof writer, "%s/writer/regtrace-writer", build != NULL ? build : ".");
    if (mkdtemp(folder) == NULL || access(writer, X_OK) != 0) {
        printf("Bail out! no %s or no scratch folder\n", writer);
        exit(99);
    }
    setenv("REGTRACE_WRITER", writer, 1);
    setenv("REGTRACE_DIR", folder, 1);
    setenv("REGTRACE_EXIT_WAIT", "60", 1);
    setenv("REGTRACE_CONTROL",
           "start:signal:SIGUSR1,stop:signal:SIGUSR2,repeat;start:timeout:5ms:tid0,stop:timeout:"
           "5ms:tid0,repeat",
           1);
}

static _Atomic int go_on = 1;
static volatile sig_atomic_t handled;

static void handler(int signo)
{
    (void)signo;
    handled = handled + 1;
    regtrace_region_begin("handler");
    regtrace_region_end("handler");
}

/* Opens and closes windows for all threads while other threads record. */
static void *edges(void *unused)
{
    (void)unused;
    struct timespec pause = {.tv_nsec = 300000};
    while (atomic_load(&go_on)) {
        regtrace_start(1);
        (void)nanosleep(&pause, NULL);
        regtrace_stop(1);
        raise(SIGUSR1);
        raise(SIGUSR2);
    }
    return NULL;
}

/* Opens a window around each mark. The mark is recorded unless a window for all threads closes in
 * that moment. */
static void *work(void *type)
{
    for (long i = 1; i <= MARKS; i++) {
        regtrace_region_begin("work");
        regtrace_start(0);
        regtrace_mark_set((int)(intptr_t)type, i);
        regtrace_stop(0);
        regtrace_region_end("work");
    }
    return NULL;
}

static void work_all(intptr_t first_type)
{
    pthread_t workers[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&workers[i], NULL, work, (void *)(first_type + i)) != 0)
            _exit(3);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i], NULL);
}

static void *leave(void *number)
{
    regtrace_region_begin("short");
    if ((intptr_t)number % 2 == 0)
        pthread_exit(NULL);
    return NULL;
}

static void jump(void)
{
    static jmp_buf back;
    static volatile int jumps;
    (void)setjmp(back);
    regtrace_region_begin("jump");
    jumps = jumps + 1;
    if (jumps < 20)
        longjmp(back, 1);
}

/* Sets several marks, because the timer of the chain may close the window before the mark is
 * set. */
static void mark_forked(void)
{
    for (long i = 1; i <= FORKED_MARKS; i++) {
        regtrace_start(0);
        regtrace_mark_set(FORKED, i);
        regtrace_stop(0);
    }
}

/* Does the traced work. Returns 0, or the number of the step that failed. */
static int traced(void)
{
    pthread_t edge, one;
    (void)signal(SIGUSR1, handler);
    (void)signal(SIGUSR2, handler);
    work_all(ALONE);
    if (pthread_create(&edge, NULL, edges, NULL) != 0)
        return 3;
    work_all(AMONG_EDGES);
    for (intptr_t i = 0; i < SHORT_LIVED; i++)
        if (pthread_create(&one, NULL, leave, (void *)i) == 0)
            pthread_join(one, NULL);
    jump();
    atomic_store(&go_on, 0);
    pthread_join(edge, NULL);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            mark_forked();
            exit(0);
        }
        int status = -1;
        if (waitpid(child, &status, 0) != child || status != 0)
            return 4;
    }
    return handled > 0 ? 0 : 5;
}

/* Returns how many marks of one type a file has, or -1 if their values do not ascend. */
static long marks_of(const struct rt_event *rows, size_t count, uint32_t type)
{
    long n = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].code != EV_MARK_SET || (uint32_t)rows[i].a != type)
            continue;
        if (rows[i].b <= last)
            return -1;
        last = rows[i].b;
        n++;
    }
    return n;
}

static void read_back(void)
{
    struct rt_run *run;
    struct rt_error e = {{0}};
    long complete = 0, among = 0, forked = 0, slow = 0;
    if (!ok(rt_run_open(&run, folder, &e) == 0, "what was recorded can be read")) {
        diag("%s", e.text);
        return;
    }
    for (size_t i = 0; i < rt_run_count(run); i++) {
        struct rt_rank *rank;
        struct rt_event *rows;
        size_t count;
        if (rt_rank_open(&rank, run, i, &e) != 0 ||
            rt_rank_load_events(rank, &rows, &count, &e) != 0) {
            diag("%s", e.text);
            continue;
        }
        slow += gave_up(rank);
        for (uint32_t t = 0; t < THREADS; t++) {
            complete += marks_of(rows, count, ALONE + t) == MARKS;
            among += marks_of(rows, count, AMONG_EDGES + t) > 0;
        }
        forked += marks_of(rows, count, FORKED) > 0;
        free(rows);
        rt_rank_close(rank);
    }
    rt_run_close(run);
    if (slow > 0) {
        skip("all marks are there",
             "a writer was given no processor: it was without progress for 2 s");
        return;
    }
    ok(complete == THREADS, "each thread's marks are there, in order: %ld of %d threads", complete,
       THREADS);
    ok(among == THREADS, "in order among windows for all threads too: %ld of %d threads", among,
       THREADS);
    ok(forked == FORKS, "and those of forked children: %ld of %d", forked, FORKS);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static pid_t owner;

/* Runs after the library's destructor: this process is traced too, and its writer may still use the
 * folder. */
__attribute__((destructor(101))) static void clean_up(void)
{
    struct timespec pause = {.tv_nsec = 20000000};
    for (int i = 0; getpid() == owner && i < 250 && access(folder, F_OK) == 0; i++) {
        (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        (void)nanosleep(&pause, NULL);
    }
}

int main(void)
{
    owner = getpid();
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        exit(traced());
    ok(child > 0 && waitpid(child, &status, 0) == child && status == 0,
       "the traced child ends well");
    diag("status %x", (unsigned)status);
    read_back();
    return done_testing();
}
