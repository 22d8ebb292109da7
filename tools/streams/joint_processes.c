/* SPDX-License-Identifier: BSD-3-Clause
 * Implements the meeting of processes in the folder OUT.parts. */
#include "tools/streams/joint_processes.h"

#include "base/clock.h"
#include "base/identity.h"
#include "tools/streams/joint_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { SAID = sizeof((struct rt_error *)0)->text };
enum { SHORT_NS = 1000000, LONG_NS = 100000000, MEETING_SECONDS = 120, LEAVING_SECONDS = 10 };
#define SECOND_NS UINT64_C(1000000000)

static struct {
    uint32_t number, count;
    struct part_here self;
    struct part_here *others; /* by number, once all have met */
    struct part_watch *watch;
    uint64_t meeting; /* 0: has not met */
    int said;         /* memfd of its stderr; -1: stderr is as it was */
    bool delivered;
} parts = {.count = 1, .said = -1};

uint32_t joint_count(void)
{
    return parts.count;
}

uint32_t joint_number(void)
{
    return parts.number;
}

bool joint_is_first(void)
{
    return parts.number == 0;
}

uint64_t joint_meeting(void)
{
    return parts.meeting;
}

/* --- the group's processes -------------------------------------------------------------------- */

/* In a batch script SLURM_NTASKS is the number of processes that srun would start, but the script
 * itself runs alone. So only a Slurm step's own variables count. */
static int32_t size_of(const struct identity *id)
{
    bool slurm = strcmp(id->rank_variable, "SLURM_PROCID") == 0;
    if (!slurm && id->size > 0)
        return id->size;
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS"), *procid = getenv("SLURM_PROCID");
    bool its = tasks != NULL && procid != NULL && strtol(procid, NULL, 10) == id->rank;
    return its ? (int32_t)strtol(tasks, NULL, 10) : 1;
}

/* Discards standard output and redirects stderr into a memfd. */
static void be_silent(void)
{
    int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    parts.said = memfd_create("said", MFD_CLOEXEC);
    if (none >= 0)
        (void)dup2(none, STDOUT_FILENO);
    if (none >= 0)
        (void)close(none);
    if (parts.said >= 0)
        (void)dup2(parts.said, STDERR_FILENO);
}

void joint_enter(void)
{
    struct identity id;
    const char *off = getenv("REGTRACE_PARTS");
    identity_read(&id, environ, "");
    if ((off != NULL && strcmp(off, "0") == 0) || !id.launched)
        return;
    int32_t size = size_of(&id);
    if (size < 2 || id.rank >= size)
        return;
    parts.count = (uint32_t)size;
    parts.number = (uint32_t)id.rank;
    parts.self = (struct part_here){.pid = id.pid, .start = id.pid_start_time};
    (void)snprintf(parts.self.host, sizeof parts.self.host, "%s", id.host);
    if (getrandom(&parts.self.token, sizeof parts.self.token, 0) != sizeof parts.self.token)
        parts.self.token = clock_monotonic_ns() ^ (uint64_t)id.pid << 40;
    parts.self.token |= 1;
    if (parts.number != 0)
        be_silent();
}

/* --- waiting ---------------------------------------------------------------------------------- */

static uint64_t patience_ns(void)
{
    const char *text = getenv("REGTRACE_PARTS_WAIT");
    char *end;
    unsigned long n = text != NULL ? strtoul(text, &end, 10) : 0;
    bool good = text != NULL && end != text && *end == '\0' && n > 0 && n <= 86400;
    return (good ? n : MEETING_SECONDS) * SECOND_NS;
}

struct pause {
    uint64_t limit; /* CLOCK_MONOTONIC */
    long ns;
};

/* Sleeps, longer each time. Returns false if the limit is reached. */
static bool again(struct pause *p)
{
    if (clock_monotonic_ns() >= p->limit)
        return false;
    (void)nanosleep(&(struct timespec){.tv_nsec = p->ns}, NULL);
    p->ns = p->ns < LONG_NS / 2 ? 2 * p->ns : LONG_NS;
    return true;
}

/* Returns whether any process has failed, with its reason in *e. */
static bool has_failed(struct rt_error *e)
{
    char text[sizeof e->text];
    if (joint_read("failure", 0, text, sizeof text) <= 0)
        return false;
    rt_error_set(e, "%s", text);
    return true;
}

/* link() keeps the first failure; waiting processes read only that file. */
static int tell_failure(const char *text)
{
    char own[PATH_MAX], first[PATH_MAX];
    struct rt_error e;
    joint_path(own, "failed", parts.number);
    joint_path(first, "failure", 0);
    int rc = joint_write("failed", parts.number, text, strlen(text), &e);
    return rc != 0 || link(own, first) == 0 || errno == EEXIST ? rc : -errno;
}

/* Checks that no process has failed, that the first process has not ended, that the folder is still
 * that of this meeting, and that process `number` lives. */
static int look_around(uint32_t number, struct rt_error *e)
{
    char text[32];
    struct part_here here;
    if (has_failed(e))
        return -ECANCELED;
    if (parts.number != 0 && joint_read("end", 0, text, sizeof text) >= 0) {
        rt_error_set(e, "the first process has ended");
        return -ECANCELED;
    }
    if (part_here_read(parts.number, &here) != 0 || here.token != parts.self.token) {
        rt_error_set(
            e,
            "%s is gone, or another conversion works there: give what is to be made another name",
            joint_folder());
        return -ECANCELED;
    }
    if (part_is_there(&parts.others[number], &parts.watch[number], number, &parts.self))
        return 0;
    rt_error_set(e,
                 "process %" PRIu32 " of %" PRIu32 " (%s, pid %" PRIu32
                 ") is gone, and with it its part of the run: convert it again, or with "
                 "REGTRACE_PARTS=0 by one process",
                 number, parts.count, parts.others[number].host, parts.others[number].pid);
    return -ECANCELED;
}

int joint_wait(const char *what, uint32_t number, struct rt_error *e)
{
    char path[PATH_MAX];
    struct pause p = {UINT64_MAX, SHORT_NS};
    joint_path(path, what, number);
    for (;;) {
        if (access(path, R_OK) == 0)
            return 0;
        int rc = look_around(number, e);
        /* Process `number` may have written the file and ended since the check above. */
        if (rc != 0)
            return access(path, R_OK) == 0 ? 0 : rc;
        (void)again(&p);
    }
}

int joint_tell(const char *what, const char *text, struct rt_error *e)
{
    return joint_write(what, parts.number, text, strlen(text), e);
}

int joint_hear(const char *what, char *text, size_t room, struct rt_error *e)
{
    int rc = joint_wait(what, 0, e);
    if (rc == 0 && joint_read(what, 0, text, room) < 0) {
        rt_error_set(e, "%s is gone", joint_folder());
        rc = -ECANCELED;
    }
    return rc;
}

/* --- the meeting ------------------------------------------------------------------------------ */

static int never_came(uint32_t number, struct rt_error *e)
{
    rt_error_set(
        e,
        "process %" PRIu32 " of %" PRIu32 " has not come to %s within %" PRIu64
        " s (REGTRACE_PARTS_WAIT): all that the launcher started convert one run together, "
        "each a part; REGTRACE_PARTS=0 has each of them convert a run on its own",
        number, parts.count, joint_folder(), patience_ns() / SECOND_NS);
    return -ETIMEDOUT;
}

/* The file `go`: the token of each process that takes part in this meeting, by process. */
struct go {
    uint64_t meeting;
    uint64_t tokens[];
};

static struct go *go_alloc(size_t *bytes)
{
    *bytes = sizeof(struct go) + parts.count * sizeof(uint64_t);
    return calloc(1, *bytes);
}

static int gather(struct go *go, size_t bytes, struct rt_error *e)
{
    struct pause p = {clock_monotonic_ns() + patience_ns(), SHORT_NS};
    go->tokens[0] = go->meeting = parts.self.token;
    parts.others[0] = parts.self;
    for (uint32_t k = 1; k < parts.count; k++) {
        while (part_here_read(k, &parts.others[k]) != 0)
            if (!again(&p))
                return never_came(k, e);
        go->tokens[k] = parts.others[k].token;
    }
    return joint_write("go", 0, go, bytes, e);
}

/* The first process may empty the folder when it comes, so this process writes its here-K again
 * whenever it is missing. */
static int join(struct go *go, size_t bytes, struct rt_error *e)
{
    struct pause p = {clock_monotonic_ns() + patience_ns(), SHORT_NS};
    struct part_here here;
    bool came = false;
    for (;;) {
        int rc = 0;
        if (part_here_read(parts.number, &here) != 0 || here.token != parts.self.token)
            rc = part_here_write(parts.number, &parts.self, e);
        if (came && access(joint_folder(), F_OK) != 0) {
            rt_error_set(e, "the first process has ended");
            return -ECANCELED;
        }
        came |= rc == 0;
        if (rc == 0 && joint_read_bytes("go", 0, go, bytes) == (long)bytes &&
            go->tokens[parts.number] == parts.self.token)
            break;
        if (!again(&p))
            return never_came(0, e);
    }
    for (uint32_t k = 0; k < parts.count; k++)
        if (part_here_read(k, &parts.others[k]) != 0)
            parts.others[k] = (struct part_here){.token = go->tokens[k], .host = "?"};
    return 0;
}

int joint_meet(const char *out, struct rt_error *e)
{
    size_t bytes;
    struct go *go = go_alloc(&bytes);
    parts.others = calloc(parts.count, sizeof *parts.others);
    parts.watch = calloc(parts.count, sizeof *parts.watch);
    int rc = go != NULL && parts.others != NULL && parts.watch != NULL ? 0 : -ENOMEM;
    if (rc != 0)
        rt_error_set(e, "no memory");
    if (rc == 0)
        rc = joint_open_folder(out, parts.number, &parts.self, e);
    if (rc == 0)
        rc = parts.number == 0 ? gather(go, bytes, e) : join(go, bytes, e);
    if (rc == 0)
        parts.meeting = go->meeting;
    else if (parts.number == 0)
        joint_remove(true);
    free(go);
    return rc;
}

void joint_delivered(void)
{
    parts.delivered = true;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Copies the last message without "regtrace COMMAND: ", which the first process puts in front. */
static void last_said(char text[SAID])
{
    static const char begin[] = "\nregtrace ";
    char all[8 * SAID] = "\n";
    ssize_t n = pread(parts.said, all + 1, sizeof all - 2, 0);
    size_t length = 1 + (n > 0 ? (size_t)n : 0);
    length -= all[length - 1] == '\n';
    all[length] = '\0';
    const char *from = NULL;
    for (const char *p = all; (p = strstr(p, begin)) != NULL; p++)
        from = p;
    from = from != NULL ? strstr(from, ": ") : NULL;
    (void)snprintf(text, SAID, "%s", from != NULL ? from + 2 : "a process has failed");
}

/* Launchers end a job when its first process fails. The first process, which reports the failure,
 * must end before any other process does, so the others wait here. */
static int follow(int status)
{
    char text[SAID];
    struct pause p = {UINT64_MAX, SHORT_NS};
    struct part_here here;
    if (status != 0 && !parts.delivered) {
        last_said(text);
        if (tell_failure(text) != 0)
            return status;
    }
    for (;;) {
        if (joint_read("end", 0, text, sizeof text) > 0)
            return (int)strtol(text, NULL, 10);
        if (part_here_read(parts.number, &here) != 0 || here.token != parts.self.token)
            return status; /* the folder is gone */
        if (!part_is_there(&parts.others[0], &parts.watch[0], 0, &parts.self)) {
            /* The first process may have written `end` just now: read again. */
            if (joint_read("end", 0, text, sizeof text) > 0)
                return (int)strtol(text, NULL, 10);
            return status != 0 ? status : 1;
        }
        (void)again(&p);
    }
}

static bool all_have_left(void)
{
    struct part_here here;
    for (uint32_t k = 1; k < parts.count; k++)
        if (part_here_read(k, &here) == 0 && here.token == parts.others[k].token &&
            part_is_there(&here, &parts.watch[k], k, &parts.self))
            return false;
    return true;
}

static void lead(int status)
{
    char text[16];
    struct rt_error e;
    struct pause p = {clock_monotonic_ns() + LEAVING_SECONDS * SECOND_NS, SHORT_NS};
    (void)fflush(NULL);
    (void)snprintf(text, sizeof text, "%d", status);
    if (joint_write("end", 0, text, strlen(text), &e) == 0)
        while (!all_have_left() && again(&p))
            ;
    joint_remove(true);
}

/* Ends a process that has not met the others. Launchers end a job when its first process fails, and
 * usually the first process fails for the same reason as this one: give it time to report it. The
 * first process always reports wrong arguments, so this one returns 0 for them. */
static int unheard(int status)
{
    enum { WRONG_USAGE = 2, SPEECH_SECONDS = 3 };
    if (parts.number == 0)
        return status;
    joint_remove(false);
    if (status == WRONG_USAGE)
        return 0;
    if (status != 0)
        (void)sleep(SPEECH_SECONDS);
    return status;
}

int joint_end(int status)
{
    if (parts.count == 1)
        return status;
    if (parts.meeting == 0) {
        status = unheard(status);
    } else if (parts.number == 0) {
        lead(status);
    } else {
        status = follow(status);
        joint_remove(false);
    }
    free(parts.others);
    free(parts.watch);
    parts.others = NULL;
    parts.watch = NULL;
    parts.count = 1;
    return status;
}
