/* SPDX-License-Identifier: BSD-3-Clause
 * The helpers that the writer's tests share. */
#include "t/writer/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void bail(const char *what)
{
    printf("Bail out! %s\n", what);
    (void)fflush(stdout);
    exit(99);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static struct fixture *live;
static pid_t owner;

/* Removes mounts and files if a test bails out. Children of the test are not the owner. */
static void clean_up(void)
{
    if (live == NULL || getpid() != owner)
        return;
    (void)umount2(live->dir, MNT_DETACH);
    fixture_end(live);
}

void fixture_begin(struct fixture *f)
{
    static unsigned n;
    if (owner == 0)
        (void)atexit(clean_up);
    owner = getpid();
    live = f;
    *f = (struct fixture){0};
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(f->dir, sizeof f->dir, "%s/regtrace-writer-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(f->dir) == NULL)
        bail("no scratch folder");
    (void)snprintf(f->stream, sizeof f->stream, "/dev/shm/regtrace-test-%d-%u", (int)getpid(), n++);
    f->shared =
        mmap(NULL, sizeof *f->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (f->shared == MAP_FAILED)
        bail("no shared memory");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void fixture_end(struct fixture *f)
{
    live = NULL;
    (void)nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)unlink(f->stream);
    (void)munmap(f->shared, sizeof *f->shared);
}

const char *fixture_writer(void)
{
    static char path[PATH_MAX];
    const char *asked = getenv("REGTRACE_WRITER"), *build = getenv("REGTRACE_BUILD");
    (void)snprintf(path, sizeof path, "%s%s",
                   asked != NULL   ? asked
                   : build != NULL ? build
                                   : ".",
                   asked != NULL ? "" : "/writer/regtrace-writer");
    if (access(path, X_OK) != 0)
        bail("no regtrace-writer: set REGTRACE_BUILD to the build folder");
    return path;
}

pid_t fixture_run(struct fixture *f, void (*body)(struct fixture *f, struct producer *p))
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct producer p;
    producer_create(&p, f->stream, &f->geometry, f->meta);
    producer_start_writer(&p, fixture_writer(), f->dir);
    atomic_store(&f->shared->writer, p.writer);
    producer_attach(&p);
    body(f, &p);
    _exit(0);
}

static int crashes;

static void look_for_crash(int status)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    for (size_t i = 0; WIFSIGNALED(status) && i < sizeof signals / sizeof signals[0]; i++)
        crashes += WTERMSIG(status) == signals[i];
}

int fixture_crashes(void)
{
    return crashes;
}

int fixture_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    look_for_crash(status);
    return status;
}

static void note(void *context, const struct rt_recovered *r)
{
    *(struct rt_recovered *)context = *r;
}

int fixture_recover(struct fixture *f, struct rt_recovered *r)
{
    struct answer {
        int rc;
        struct rt_recovered r;
    } *answer =
        mmap(NULL, sizeof *answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (answer == MAP_FAILED)
        bail("no shared memory");
    *answer = (struct answer){.rc = -ECHILD, .r = {.result = RT_RECOVER_FAILED}};
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct rt_error e = {{0}};
        const struct rt_recover_listener listener = {.report = note, .context = &answer->r};
        answer->rc = rt_recover_dir(f->dir, &listener, &e);
        _exit(0);
    }
    (void)fixture_wait(pid);
    *r = answer->r;
    int rc = answer->rc;
    (void)munmap(answer, sizeof *answer);
    return rc;
}

void fixture_sleep_ms(long ms)
{
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
        ;
}

bool fixture_wait_all(int seconds)
{
    for (int i = 0; i < seconds * 200; i++) {
        pid_t pid;
        int status;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            look_for_crash(status);
        if (pid < 0 && errno == ECHILD)
            return true;
        fixture_sleep_ms(5);
    }
    return false;
}

char *fixture_log(const struct fixture *f)
{
    char path[PATH_MAX];
    char *text = calloc(1, 65536);
    (void)snprintf(path, sizeof path, "%s/regtrace.log", f->dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && text != NULL)
        (void)!read(fd, text, 65535);
    if (fd >= 0)
        (void)close(fd);
    return text;
}

struct rt_rank *fixture_open(struct fixture *f)
{
    struct rt_error e = {{0}};
    struct rt_run *run;
    struct rt_rank *rank;
    if (rt_run_open(&run, f->dir, &e) != 0 || rt_rank_open(&rank, run, 0, &e) != 0)
        bail(e.text);
    rt_run_close(run);
    return rank;
}
