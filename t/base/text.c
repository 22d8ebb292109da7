/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the strings, metadata, options, identity, folders and errors of base/, case by case. */
#include "base/identity.h"
#include "base/options.h"
#include "base/format/stream.h"
#include "t/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char found_key[128], found_value[4096];
static int found_count;

static void visit(void *ctx, const char *key, const char *value)
{
    (void)ctx;
    found_count++;
    (void)snprintf(found_key, sizeof found_key, "%s", key);
    (void)snprintf(found_value, sizeof found_value, "%s", value);
}

static void test_stream_text(void)
{
    struct stream s;
    struct rt_error e = {{0}};
    char path[64], text[2000];
    struct stream_geometry g = {.pool_bytes = 8192,
                                .chunk_bytes = 4096,
                                .string_capacity = 16,
                                .string_bytes = 2048,
                                .meta_bytes = 256};
    (void)snprintf(path, sizeof path, "/tmp/text-test-%d", (int)getpid());
    is_int(stream_create(&s, path, &g, &e), 0, "a small stream is created");
    is_int(stream_create(&(struct stream){0}, path, &g, &e), -EEXIST, "not twice");
    uint32_t id = stream_string_id(&s, "solve");
    ok(id > 1, "a string has an id");
    is_u64(stream_string_id(&s, "solve"), id, "the same text has the same id");
    is_str(stream_string_text(&s, id), "solve", "and gives its text back");
    is_u64(stream_string_id(&s, ""), 0, "the empty text is 0");
    is_str(stream_string_text(&s, 0), "", "0 is the empty text");
    ok(stream_string_text(&s, 15) == NULL || stream_string_id(&s, "x") != 0,
       "a free id has no text");
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    uint32_t cut = stream_string_id(&s, text);
    ok(stream_string_text(&s, cut) != NULL && strlen(stream_string_text(&s, cut)) == 1023,
       "a long text is cut at 1023 bytes");
    for (int i = 0; i < 40; i++) {
        (void)snprintf(text, sizeof text, "string number %d", i);
        id = stream_string_id(&s, text);
    }
    is_u64(id, 1, "a full table gives the id that says so");
    is_str(stream_string_text(&s, 1), "(string table full)", "in words");
    ok(atomic_load(&s.header->strings_lost) > 0, "and counts");
    is_int(stream_meta_put(&s, "a=b", "line\none\\two"), 0, "metadata takes any text");
    stream_meta_each(&s, visit, NULL);
    is_str(found_key, "a=b", "key with an equals sign comes back");
    is_str(found_value, "line\none\\two", "value with a newline comes back");
    ok(stream_meta_get(&s, "a=b", text, sizeof text) && strcmp(text, "line\none\\two") == 0,
       "and is found by its key");
    ok(!stream_meta_get(&s, "a", text, sizeof text), "a key that nobody put is not found");
    memset(text, 'v', 600);
    text[600] = '\0';
    is_int(stream_meta_put(&s, "long", text), -ENOSPC, "too much metadata is refused");
    found_count = 0;
    stream_meta_each(&s, visit, NULL);
    is_int(found_count, 1, "and leaves what was there");
    int fd = open(path, O_RDWR);
    struct stream other;
    is_int(stream_open(&other, fd, &e), 0, "the file opens again");
    other.header->chunks_offset = UINT64_MAX - 100;
    stream_close(&other);
    fd = open(path, O_RDWR);
    is_int(stream_open(&other, fd, &e), -EPROTO, "an offset outside the file is refused");
    (void)close(fd);
    ok(truncate(path, 100) == 0, "truncated");
    fd = open(path, O_RDWR);
    is_int(stream_open(&other, fd, &e), -EPROTO, "a truncated file is refused");
    (void)close(fd);
    (void)unlink(path);
}

static void test_options(void)
{
    struct options o;
    struct rt_error e = {{0}};
    static const struct {
        const char *variable, *message;
    } bad[] = {
        {"REGTRACE_FULL=never", "wait|drop"},
        {"REGTRACE_COMPRESS=11", "0-9"},
        {"REGTRACE_BUFFER=4Q", "whole number"},
        {"REGTRACE_BUFFER=-1", "whole number"},
        {"REGTRACE_DEFAULT_START=yes", "0 or 1"},
        {"REGTRACE_PCONTROL=mpi", "std|ipm|aps|mpip"},
        {"REGTRACE_MAX_SIZE=99999999999999999999", "whole number"},
        {"REGTRACE_MAX_SIZE=1", "at least 128K"},
        {"REGTRACE_MAX_SIZE=131071", "at least 128K"},
        {"REGTRACE_ON_ERROR=die", "refuse|continue"},
    };
    char *none[] = {NULL};
    is_int(options_read(&o, none, &e, NULL, NULL), 0, "no variables: defaults");
    is_u64(o.number[OPT_buffer], 4u << 20, "the stream is 4 MiB by default");
    is_str(o.text[OPT_shm], "/dev/shm", "in /dev/shm");
    char *good[] = {(char *)"REGTRACE_BUFFER=16M", (char *)"REGTRACE_FULL=drop",
                    (char *)"REGTRACE_SHM=", NULL};
    is_int(options_read(&o, good, &e, NULL, NULL), 0, "good values are taken");
    is_u64(o.number[OPT_buffer], 16u << 20, "16M");
    is_str(o.text[OPT_shm], "/dev/shm", "an empty value is the default");
    static const struct {
        const char *variable;
        uint64_t bytes;
    } sizes[] = {{"REGTRACE_BUFFER=7", 7},
                 {"REGTRACE_BUFFER=3K", 3u << 10},
                 {"REGTRACE_BUFFER=3k", 3u << 10},
                 {"REGTRACE_BUFFER=5m", 5u << 20},
                 {"REGTRACE_BUFFER=9G", UINT64_C(9) << 30}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *envp[] = {(char *)sizes[i].variable, NULL};
        ok(options_read(&o, envp, &e, NULL, NULL) == 0 && o.number[OPT_buffer] == sizes[i].bytes,
           "%s: %" PRIu64 " bytes", sizes[i].variable, sizes[i].bytes);
    }
    char *least[] = {(char *)"REGTRACE_MAX_SIZE=128K", NULL};
    ok(options_read(&o, least, &e, NULL, NULL) == 0 && o.number[OPT_max_size] == 128u << 10,
       "the smallest limit of a file's size");
    char *unlimited[] = {(char *)"REGTRACE_MAX_SIZE=0", NULL};
    ok(options_read(&o, unlimited, &e, NULL, NULL) == 0 && o.number[OPT_max_size] == 0,
       "0 is none");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *envp[] = {(char *)bad[i].variable, NULL};
        int rc = options_read(&o, envp, &e, NULL, NULL);
        if (!ok(rc < 0 && strstr(e.text, bad[i].message) != NULL,
                "%s is refused, with what is legal", bad[i].variable))
            diag("rc %d, \"%s\"", rc, e.text);
    }
    ok(option_find("controller_default-start") != NULL, "- and _ are the same in option names");
    is_str(option_nearest("compres"), "compress", "a wrong option gets the nearest");
}

static void test_identity(void)
{
    struct identity id, other;
    char *open_mpi[] = {(char *)"OMPI_COMM_WORLD_RANK=3", (char *)"OMPI_COMM_WORLD_SIZE=8",
                        (char *)"SLURM_PROCID=0", (char *)"PMIX_NAMESPACE=77/1", NULL};
    identity_read(&id, open_mpi, "");
    is_int(id.rank, 3, "rank from Open MPI's variables, not the batch system's");
    is_int(id.size, 8, "size too");
    is_str(id.job, "77_1", "job from PMIx, fit for a file name");
    char *first[] = {(char *)"OMPI_COMM_WORLD_RANK=0", (char *)"PMIX_NAMESPACE=1013186561", NULL};
    identity_read(&id, first, "");
    is_str(id.job, "1013186561", "the job of an mpirun of Open MPI");
    is_int((int)id.world, 1, "and its first world");
    char *third[] = {(char *)"OMPI_COMM_WORLD_RANK=0", (char *)"PMIX_NAMESPACE=1013186563",
                     (char *)"OMPI_PARENT_PORT=1013186562.0:7", NULL};
    identity_read(&id, third, "");
    is_str(id.job, "1013186561", "a world that a spawned one has spawned is of the same job");
    is_int((int)id.world, 3, "as its third world");
    char *spawned[] = {(char *)"PMIX_RANK=0", (char *)"PMIX_NAMESPACE=prterun-h-7@2", NULL};
    char *spawning[] = {(char *)"PMIX_RANK=0", (char *)"PMIX_NAMESPACE=prterun-h-7@1", NULL};
    identity_read(&other, spawned, "");
    identity_read(&id, spawning, "");
    is_str(other.job, id.job, "so it is with prterun");
    is_int((int)other.world, 2, "whose second world that is");
    char *hydra[] = {(char *)"PMI_RANK=1", (char *)"PMI_SIZE=2", NULL};
    identity_read(&id, hydra, "mine");
    is_int(id.rank, 1, "rank from hydra's variables");
    is_str(id.job, "mine", "REGTRACE_RUN names the job");
    char *none[] = {(char *)"PMI_RANK=x", NULL};
    identity_read(&id, none, NULL);
    ok(!id.launched && id.rank == 0 && id.size == 1, "no launcher: rank 0 of 1");
    ok(id.pid_start_time != 0 && id.program[0] != '\0',
       "pid's start time and the program are known");
}

/* Makes the temporary folder of process `pid` with the time stamp of `seconds` ago; writes its path
 * to `out`. */
static void make_temporary(const char *base, const char *name, pid_t pid, int seconds, char *out)
{
    const struct timespec then[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = time(NULL) - seconds}};
    (void)snprintf(out, 128, "%s/%s.tmp-h-%d", base, name, (int)pid);
    ok(mkdir(out, 0777) == 0 && utimensat(AT_FDCWD, out, then, 0) == 0, "%s is there", name);
}

static void test_stale(const struct identity *id, const char *base)
{
    char dead[128], late[128], live[128], own[128], foreign[128], wanted[64], out[PATH_MAX];
    struct rt_error e = {{0}};
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    (void)waitpid(gone, NULL, 0);
    make_temporary(base, "made-38", gone, 3600, dead);
    make_temporary(base, "made-39", gone, 0, late);
    make_temporary(base, "made-40", getppid(), 3600, live);
    make_temporary(base, "made", getpid(), 0, own);
    make_temporary(base, "other", gone, 3600, foreign);
    (void)snprintf(wanted, sizeof wanted, "%s/made", base);
    is_int(identity_make_folder(id, wanted, out, &e), 0, "a folder is made beside what was left");
    is_str(out, wanted, "under its name, though a process of this pid had begun it before");
    ok(access(dead, F_OK) != 0, "what a dead process left of such a folder is removed");
    ok(access(late, F_OK) == 0, "not at once: it may live in another container");
    ok(access(live, F_OK) == 0, "a living one's stays");
    ok(access(own, F_OK) != 0, "nothing stays of its own");
    ok(access(foreign, F_OK) == 0, "that of another name stays");
    (void)rmdir(late);
    (void)rmdir(live);
    (void)rmdir(foreign);
}

static void test_folders(void)
{
    struct identity id = {.pid = (uint32_t)getpid()}, other;
    struct rt_error e = {{0}};
    char base[] = "/tmp/folder-test-XXXXXX", wanted[64], out[PATH_MAX], again[PATH_MAX];
    if (mkdtemp(base) == NULL)
        exit(1);
    (void)snprintf(id.host, sizeof id.host, "h");
    (void)snprintf(id.job, sizeof id.job, "job1");
    other = id;
    (void)snprintf(other.job, sizeof other.job, "job2");
    (void)snprintf(wanted, sizeof wanted, "%s/run", base);
    is_int(identity_make_folder(&id, wanted, out, &e), 0, "the folder is made");
    is_str(out, wanted, "under its name");
    is_int(identity_make_folder(&id, wanted, again, &e), 0, "another rank of the job joins");
    is_str(again, wanted, "in the same folder");
    is_int(identity_make_folder(&other, wanted, again, &e), 0, "another job does not");
    ok(strlen(again) > 2 && strcmp(again + strlen(again) - 2, "-2") == 0, "it gets -2 (%s)", again);
    (void)snprintf(wanted, sizeof wanted, "%s/no/such", base);
    is_int(identity_make_folder(&id, wanted, out, &e), -ENOENT, "a missing parent is an error");
    ok(strstr(e.text, "parent folder") != NULL, "with the reason");
    (void)snprintf(wanted, sizeof wanted, "%s/file", base);
    (void)close(open(wanted, O_CREAT | O_WRONLY, 0600));
    is_int(identity_make_folder(&id, wanted, out, &e), -ENOTDIR, "a file of that name is an error");
    test_stale(&id, base);
    enum { CHILDREN = 32 };
    (void)snprintf(wanted, sizeof wanted, "%s/race", base);
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            id.pid = (uint32_t)getpid();
            _exit(identity_make_folder(&id, wanted, out, &e) == 0 && strcmp(out, wanted) == 0 ? 0
                                                                                              : 1);
        }
    int bad = 0, status;
    for (int i = 0; i < CHILDREN; i++)
        bad += wait(&status) < 0 || status != 0;
    is_int(bad, 0, "32 processes of a job agree on one folder");
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", base);
    ok(system(command) == 0, "cleaned up");
}

int main(void)
{
    test_stream_text();
    test_options();
    test_identity();
    test_folders();
    return done_testing();
}
