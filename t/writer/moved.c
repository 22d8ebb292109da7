/* SPDX-License-Identifier: BSD-3-Clause
 * A run's files are renamed while a reader reads the run: the process that came first takes
 * rank-00000.h5 when it begins to record. A reader that listed the run before opens the files that
 * it listed. While names rotate, each list has every file once. */
#include "t/tap.h"
#include "t/writer/fixture.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST = 10, SECOND = 20, OTHERS = 2000, ROUNDS = 600 };

static _Noreturn void bail(const char *what)
{
    printf("Bail out! %s\n", what);
    (void)fflush(stdout);
    exit(99);
}

static void produce_first(struct fixture *f, struct producer *p)
{
    (void)f;
    (void)p;
    for (uint64_t i = 0; i < FIRST; i++)
        (void)recorder_emit(&recorder_self, EV_MARK_SET, 1, i);
}

static void produce_second(struct fixture *f, struct producer *p)
{
    (void)f;
    (void)p;
    for (uint64_t i = 0; i < SECOND; i++)
        (void)recorder_emit(&recorder_self, EV_MARK_SET, 2, i);
}

static void move(const struct fixture *f, const char *from, const char *to)
{
    char a[PATH_MAX], b[PATH_MAX];
    (void)snprintf(a, sizeof a, "%s/%s", f->dir, from);
    (void)snprintf(b, sizeof b, "%s/%s", f->dir, to);
    if (rename(a, b) != 0)
        bail("cannot rename a file of the run");
}

/* Returns how many marks of a type the i-th file of the run has; -1 if it cannot be read. */
static long marks(struct rt_run *run, size_t i, uint32_t type, const char *name)
{
    struct rt_error e = {{0}};
    struct rt_rank *rank;
    struct rt_event *rows;
    size_t count;
    long n = 0;
    if (rt_rank_open(&rank, run, i, &e) != 0) {
        diag("%s", e.text);
        return -1;
    }
    is_str(rt_rank_info(rank)->file, name, "the opened file says its name of now");
    is_str(rt_run_file(run, i), name, "and so does the run");
    if (rt_rank_load_events(rank, &rows, &count, &e) != 0) {
        diag("%s", e.text);
        n = -1;
    } else {
        for (size_t k = 0; k < count; k++)
            n += rows[k].code == EV_MARK_SET && (uint32_t)rows[k].a == type;
        free(rows);
    }
    rt_rank_close(rank);
    return n;
}

static struct rt_run *list(const struct fixture *f)
{
    struct rt_error e = {{0}};
    struct rt_run *run;
    if (rt_run_open(&run, f->dir, &e) != 0)
        bail(e.text);
    return run;
}

static void test_take_over(struct fixture *f)
{
    (void)fixture_wait(fixture_run(f, produce_first));
    ok(fixture_wait_all(60), "the first is recorded");
    move(f, "rank-00000.h5", "kept");
    (void)fixture_wait(fixture_run(f, produce_second));
    ok(fixture_wait_all(60), "the second is recorded");
    struct rt_run *run = list(f);
    move(f, rt_run_file(run, 0), "other");
    rt_run_close(run);
    move(f, "kept", "rank-00000.h5");
    run = list(f);
    const char *before = rt_run_file(run, 0);
    is_int((long)rt_run_count(run), 1, "one file is there");
    move(f, "rank-00000.h5", "rank-00000.4711.0.h5");
    move(f, "other", "rank-00000.h5");
    is_int(marks(run, 0, 1, "rank-00000.4711.0.h5"), FIRST, "what was listed is opened");
    is_str(before, "rank-00000.h5", "a name that somebody holds stays as it was");
    rt_run_close(run);
    run = list(f);
    is_int((long)rt_run_count(run), 2, "a new list has both");
    is_int(marks(run, 0, 2, "rank-00000.h5"), SECOND, "the one that came first first");
    is_int(marks(run, 1, 1, "rank-00000.4711.0.h5"), FIRST, "then the other");
    rt_run_close(run);
}

/* A file that was replaced as a whole, as recover does, is opened in its new state. */
static void test_replaced(struct fixture *f)
{
    struct rt_run *run = list(f);
    move(f, "rank-00000.4711.0.h5", "rank-00000.h5");
    is_int(marks(run, 0, 1, "rank-00000.h5"), FIRST, "a file in the place of another is opened");
    rt_run_close(run);
}

/* Adds other files, so that the folder is not read in one piece. */
static void fill_folder(const struct fixture *f)
{
    for (int i = 0; i < OTHERS; i++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/other-%05d-%0100d", f->dir, i, i);
        FILE *file = fopen(path, "w");
        if (file == NULL || fclose(file) != 0)
            bail("cannot write into the folder of the run");
    }
}

static void test_round(struct fixture *f)
{
    static const char *const names[] = {"rank-00000.h5", "rank-00000.1.0.h5", "rank-00000.1.1.h5"};
    fill_folder(f);
    /* Renames only while the machine is idle: the process that lists the run must get its turn in
     * between. */
    struct sched_param none = {0};
    pid_t mover = fork();
    if (mover == 0 && sched_setscheduler(0, SCHED_IDLE, &none) != 0)
        _exit(1);
    if (mover == 0)
        for (int i = 0;; i++) {
            move(f, names[i % 3], names[(i + 1) % 3]);
            fixture_sleep_ms((20 + i % 7) * slowdown());
        }
    int wrong = 0, rounds = ROUNDS / slowdown();
    for (int i = 0; i < rounds; i++) {
        struct rt_run *run;
        struct rt_error e = {{0}};
        wrong += rt_run_open(&run, f->dir, &e) != 0 || rt_run_count(run) != 1;
        rt_run_close(run);
    }
    (void)kill(mover, SIGKILL);
    (void)waitpid(mover, NULL, 0);
    is_int(wrong, 0, "while a file gets new names all the time it is listed once");
}

int main(void)
{
    static struct fixture f;
    fixture_begin(&f);
    test_take_over(&f);
    test_replaced(&f);
    test_round(&f);
    fixture_end(&f);
    return done_testing();
}
