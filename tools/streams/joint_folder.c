/* SPDX-License-Identifier: BSD-3-Clause
 * Writes, reads, touches and removes the files of the folder OUT.parts. */
#include "tools/streams/joint_folder.h"

#include "base/clock.h"
#include "base/identity.h"
#include "tools/streams/joint_processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process whose file has not been touched for GONE_SECONDS is gone: network file systems may show
 * a new time a minute late. */
enum { TOUCH_SECONDS = 5, GONE_SECONDS = 180, OWN_FILES = 16 };
#define SECOND_NS UINT64_C(1000000000)

static struct {
    char path[PATH_MAX];
    char here[PATH_MAX];
    /* Files of this process, for the signal handler. */
    char own[OWN_FILES][PATH_MAX];
    volatile sig_atomic_t owned;
    uint32_t number;
    volatile pid_t owner; /* 0: it has no files yet */
} folder;

const char *joint_folder(void)
{
    return folder.path;
}

static void make_own(const char *path)
{
    for (int i = 0; i < folder.owned; i++)
        if (strcmp(folder.own[i], path) == 0)
            return;
    if (folder.owned == OWN_FILES)
        return;
    (void)snprintf(folder.own[folder.owned], PATH_MAX, "%s", path);
    folder.owned++;
}

void joint_path(char out[PATH_MAX], const char *what, uint32_t number)
{
    int n = snprintf(out, PATH_MAX, "%s/%s-%" PRIu32, folder.path, what, number);
    if (n >= PATH_MAX)
        out[0] = '\0'; /* joint_open_folder() has refused it */
    else if (number == folder.number)
        make_own(out);
}

int joint_is_whole(const char *path, struct rt_error *e)
{
    char unfinished[PATH_MAX + 16];
    (void)snprintf(unfinished, sizeof unfinished, "%s.unfinished", path);
    if (rename(unfinished, path) == 0)
        return 0;
    int rc = -errno;
    rt_error_set(e, "%s cannot be written: %s", path, strerror(errno));
    return rc;
}

int joint_write(const char *what, uint32_t number, const void *bytes, size_t size,
                struct rt_error *e)
{
    char path[PATH_MAX], unfinished[PATH_MAX + 16];
    joint_path(path, what, number);
    (void)snprintf(unfinished, sizeof unfinished, "%s.unfinished", path);
    int fd = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool good = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    if (good)
        return joint_is_whole(path, e);
    int rc = errno != 0 ? -errno : -EIO;
    rt_error_set(e, "%s cannot be written: %s", path, strerror(-rc));
    if (fd >= 0)
        (void)unlink(unfinished);
    return rc;
}

long joint_read_bytes(const char *what, uint32_t number, void *bytes, size_t size)
{
    char path[PATH_MAX];
    joint_path(path, what, number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, bytes, size);
    long rc = n < 0 ? -errno : (long)n;
    (void)close(fd);
    return rc;
}

long joint_read(const char *what, uint32_t number, char *text, size_t room)
{
    long n = joint_read_bytes(what, number, text, room - 1);
    text[n > 0 ? n : 0] = '\0';
    return n;
}

/* --- live processes --------------------------------------------------------------------------- */

int part_here_write(uint32_t number, const struct part_here *here, struct rt_error *e)
{
    return joint_write("here", number, here, sizeof *here, e);
}

int part_here_read(uint32_t number, struct part_here *here)
{
    return joint_read_bytes("here", number, here, sizeof *here) == (long)sizeof *here ? 0 : -EIO;
}

bool part_is_there(const struct part_here *other, struct part_watch *watch, uint32_t number,
                   const struct part_here *self)
{
    char path[PATH_MAX];
    struct stat st;
    if (strncmp(other->host, self->host, sizeof other->host) == 0)
        return identity_start_time(other->pid) == other->start;
    uint64_t now = clock_monotonic_ns();
    joint_path(path, "here", number);
    bool there = stat(path, &st) == 0;
    if (watch->seen_ns == 0 || (there && (st.st_mtim.tv_sec != watch->touched_s ||
                                          st.st_mtim.tv_nsec != watch->touched_ns))) {
        *watch = (struct part_watch){.seen_ns = now};
        if (there) {
            watch->touched_s = st.st_mtim.tv_sec;
            watch->touched_ns = st.st_mtim.tv_nsec;
        }
    }
    return now - watch->seen_ns < GONE_SECONDS * SECOND_NS;
}

static void *touch(void *nothing)
{
    for (;;) {
        (void)nanosleep(&(struct timespec){.tv_sec = TOUCH_SECONDS}, NULL);
        (void)utimensat(AT_FDCWD, folder.here, NULL, 0);
    }
    return nothing;
}

/* Starts the thread that touches here-K. This process forks readers of files, so the thread takes
 * no lock that a fork could leave locked. */
static int keep_touching(struct rt_error *e)
{
    pthread_t thread;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&thread, NULL, touch, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        rt_error_set(e, "no thread can be started: %s", strerror(rc));
    else
        (void)pthread_detach(thread);
    return -rc;
}

/* --- removing --------------------------------------------------------------------------------- */

/* Uses only system calls and string functions that are async-signal-safe. The last process to leave
 * removes the folder too, since rmdir() fails before. */
static void remove_own(void)
{
    for (int i = 0; i < folder.owned; i++) {
        char unfinished[PATH_MAX + 16];
        size_t n = strlen(folder.own[i]);
        memcpy(unfinished, folder.own[i], n);
        memcpy(unfinished + n, ".unfinished", sizeof ".unfinished");
        (void)unlink(folder.own[i]);
        (void)unlink(unfinished);
    }
    (void)rmdir(folder.path);
}

void joint_signalled(void)
{
    if (folder.owner == getpid())
        remove_own();
}

/* Returns whether regtrace uses such a name in the folder. */
static bool is_ours(const char *name)
{
    static const char *const names[] = {"here-",   "go-",      "part-",  "text-", "lines-",
                                        "failed-", "failure-", "place-", "done-", "end-"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void empty(void)
{
    DIR *d = opendir(folder.path);
    if (d == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(d)) != NULL;)
        if (is_ours(entry->d_name))
            (void)unlinkat(dirfd(d), entry->d_name, 0);
    (void)closedir(d);
}

void joint_remove(bool all)
{
    if (folder.path[0] == '\0')
        return;
    if (all)
        empty();
    remove_own();
    folder.owned = 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The folder exists: fails if a live job uses it, empties it if that job is gone. */
static int take_over(const struct part_here *self, struct rt_error *e)
{
    struct part_here first;
    struct part_watch watch = {.seen_ns = 0};
    if (part_here_read(0, &first) == 0 && strncmp(first.host, self->host, sizeof first.host) == 0 &&
        part_is_there(&first, &watch, 0, self)) {
        rt_error_set(e,
                     "another conversion (pid %" PRIu32
                     ") is at work in %s: wait for it, or give another name to what is to be made",
                     first.pid, folder.path);
        return -EBUSY;
    }
    empty();
    return 0;
}

static int make(const struct part_here *self, struct rt_error *e)
{
    if (mkdir(folder.path, 0777) == 0)
        return 0;
    if (errno == EEXIST)
        return take_over(self, e);
    int rc = -errno;
    rt_error_set(e, "cannot make the folder %s: %s; give what is to be made another place",
                 folder.path, strerror(errno));
    return rc;
}

int joint_open_folder(const char *out, uint32_t number, const struct part_here *self,
                      struct rt_error *e)
{
    size_t length = strlen(out);
    while (length > 1 && out[length - 1] == '/')
        length--;
    if (length + 64 > sizeof folder.path) {
        rt_error_set(e, "the name of what is to be made is too long");
        return -ENAMETOOLONG;
    }
    (void)snprintf(folder.path, sizeof folder.path, "%.*s.parts", (int)length, out);
    folder.number = number;
    joint_path(folder.here, "here", number);
    int rc = number == 0 ? make(self, e) : 0;
    if (rc != 0) { /* no file in the folder is this process's */
        folder.path[0] = '\0';
        folder.owned = 0;
        return rc;
    }
    folder.owner = getpid();
    if (number == 0)
        rc = part_here_write(0, self, e);
    return rc == 0 ? keep_touching(e) : rc;
}
