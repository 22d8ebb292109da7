/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the file names of a run: the first process to call MPI_Init owns rank-NNNNN.h5, the others
 * yield, and no two names collide. */
#include "t/tap.h"
#include "writer/claim.h"
#include "writer/empty_folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/regtrace-claims-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static struct claim make(uint32_t pid, int32_t rank, bool mpi)
{
    struct rt_error e = {{0}};
    struct claim c = {.rank = rank,
                      .size = 4,
                      .mpi = mpi,
                      .pid = pid,
                      .pid_start_time = 1,
                      .writer_pid = pid + 1};
    claim_this_host(c.host, c.boot_id);
    (void)snprintf(c.dir, sizeof c.dir, "%s", dir);
    if (claim_register(&c, &e) != 0)
        diag("%s", e.text);
    return c;
}

static const char *take(struct claim *c)
{
    struct rt_error e = {{0}};
    bool first = c->file[0] == '\0';
    char path[PATH_MAX];
    if (claim_take(c, &e) != 0)
        return e.text[0] != '\0' ? strdup(e.text) : "?";
    /* As the writer does: makes the file under a temporary name, then publishes it under its name,
     * which another process may have changed meanwhile. */
    if (first && (claim_new_path(c, path) != 0 ||
                  close(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) != 0 ||
                  claim_publish(c) != 0))
        return "not published";
    return c->file;
}

static bool there(const char *name)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void count_entries(void *context, const struct claim *c)
{
    (void)c;
    ++*(int *)context;
}

/* Another process removes the folder whenever it is empty: each registration finds the folder or
 * makes it. */
static void test_vanishing(void)
{
    struct rt_error e = {{0}};
    char gone[sizeof dir + 8];
    (void)snprintf(gone, sizeof gone, "%s/gone", dir);
    pid_t other = fork();
    if (other == 0)
        for (;;)
            (void)rt_run_remove_empty(gone);
    int registered = 0, rounds = 3000 / slowdown();
    for (int i = 0; i < rounds; i++) {
        struct claim c = {.rank = 0, .size = 1, .pid = 1, .pid_start_time = (uint64_t)i};
        claim_this_host(c.host, c.boot_id);
        (void)snprintf(c.dir, sizeof c.dir, "%s", gone);
        registered += vacant_register(&c, "job", &e) == 0 && there("gone/.regtrace");
        claim_withdraw(&c);
    }
    (void)kill(other, SIGKILL);
    (void)waitpid(other, NULL, 0);
    is_int(registered, rounds, "a folder that is removed meanwhile is made again");
    if (registered != rounds)
        diag("%s", e.text);
}

/* Many processes of one rank at once: each name is taken once. */
static void test_race(void)
{
    enum { PROCESSES = 24 };
    pid_t children[PROCESSES];
    for (uint32_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct claim c = make(5000 + i, 3, i % 5 == 0);
            (void)take(&c);
            c.mpi = i % 5 < 2;
            (void)take(&c);
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++)
        (void)waitpid(children[i], NULL, 0);
    int names = 0;
    char name[80];
    names += there("rank-00003.h5");
    for (uint32_t i = 0; i < PROCESSES; i++)
        for (int n = 0; n < 3; n++) {
            (void)snprintf(name, sizeof name, "rank-00003.%u.%d.h5", 5000 + i, n);
            names += there(name);
        }
    is_int(names, PROCESSES, "24 processes of one rank at once: 24 files");
}

/* The writers of programs that one process executes, one exec after the other, begin at the same
 * time: each has a different key. */
static void test_execs(void)
{
    enum { WRITERS = 8, ROUNDS = 100 };
    int before = 0, after = 0, rounds = ROUNDS / slowdown();
    int rc = claim_each(dir, count_entries, &before);
    for (int round = 0; round < rounds; round++) {
        pid_t children[WRITERS];
        for (int i = 0; i < WRITERS; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                (void)make(7000 + (uint32_t)round, 0, false);
                _exit(0);
            }
        }
        for (int i = 0; i < WRITERS; i++)
            (void)waitpid(children[i], NULL, 0);
    }
    rc += claim_each(dir, count_entries, &after);
    is_int(rc == 0 ? after - before : rc, rounds * WRITERS,
           "8 programs of one process at once: 8 keys");
}

static void test_forked(void)
{
    struct claim forked = make(500, 1, false), parent = make(600, 1, false);
    forked.child = true;
    is_str(take(&forked), "rank-00001.h5", "a forked child comes first");
    is_str(take(&parent), "rank-00001.h5", "its parent takes the name");
    ok(claim_refresh(&forked) == 0 && strcmp(forked.file, "rank-00001.500.0.h5") == 0,
       "the child yields");
    forked.mpi = true;
    is_str(take(&forked), "rank-00001.h5", "unless it calls MPI_Init");
    ok(claim_refresh(&parent) == 0 && strcmp(parent.file, "rank-00001.600.0.h5") == 0,
       "then the parent yields again");
    claim_withdraw(&forked);
    claim_withdraw(&parent);
}

int main(void)
{
    bool last;
    if (mkdtemp(dir) == NULL)
        return 99;
    struct claim shell = make(100, 0, false), mpi = make(200, 0, false),
                 child = make(300, 0, false);
    is_str(take(&shell), "rank-00000.h5",
           "the first process of a rank has its name, provisionally");
    is_str(take(&mpi), "rank-00000.200.0.h5", "the second has a name with its pid");
    mpi.mpi = true;
    is_str(take(&mpi), "rank-00000.h5", "it calls MPI_Init and takes the rank's name");
    ok(claim_refresh(&shell) == 0 && strcmp(shell.file, "rank-00000.100.0.h5") == 0,
       "the first one has yielded");
    ok(there("rank-00000.h5") && there("rank-00000.100.0.h5") && !there("rank-00000.200.0.h5"),
       "the files moved along");
    child.mpi = true;
    is_str(take(&child), "rank-00000.300.0.h5",
           "a second MPI process of the rank (a spawned world) yields");
    is_str(take(&child), "rank-00000.300.0.h5", "asking again changes nothing");
    shell.mpi = true;
    is_str(take(&shell), "rank-00000.100.0.h5",
           "MPI_Init after the owner's does not take the name");

    test_forked();

    struct claim unknown = make(400, -1, false);
    is_str(take(&unknown), "rank-00000.400.0.h5", "without a rank: rank 0");
    unknown.rank = 2;
    unknown.mpi = true;
    is_str(take(&unknown), "rank-00002.h5", "the rank becomes known: the name follows");
    ok(there("rank-00002.h5"), "and so does the file");

    struct claim execed = make(200, 0, false);
    ok(strcmp(execed.key, mpi.key) != 0, "exec: the same pid and start time, another key");
    is_str(take(&execed), "rank-00000.200.0.h5", "exec: another file");

    ok(claim_finish(&shell, CLAIM_CLOSED, 1, &last) == 0 && !last,
       "the first to close is not the last");
    ok(claim_finish(&mpi, CLAIM_CLOSED, 1, &last) == 0 && !last, "nor the second");
    ok(claim_finish(&child, CLAIM_CLOSED, 1, &last) == 0 && !last, "nor the third");
    claim_withdraw(&unknown);
    ok(claim_finish(&execed, CLAIM_CLOSED, 1, &last) == 0 && last, "the last one knows that it is");
    int entries = 0;
    ok(claim_each(dir, count_entries, &entries) == 0 && entries == 4,
       "entries of all but the one withdrawn");
    is_int(claim_writer_lives(&shell, shell.host, shell.boot_id), 0,
           "a pid that never wrote is not alive");
    is_int(claim_writer_lives(&shell, "elsewhere", "other"), -1, "another host: unknown");
    is_int(claim_writer_lives(&shell, shell.host, "other"), 0, "this host after a reboot: dead");
    test_race();
    test_execs();
    test_vanishing();
    (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return done_testing();
}
