/* SPDX-License-Identifier: BSD-3-Clause
 * Starts regtrace-isa for one recording, answers its questions, and waits for its end. */
#include "tools/memory/replay_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct command_line {
    const char *words[32 + MEMORY_IMAGES];
    unsigned count;
    char first[16], last[16], program[16], control[16], from[32];
};

static void add(struct command_line *c, const char *word)
{
    c->words[c->count++] = word;
    c->words[c->count] = NULL;
}

static void add_option(struct command_line *c, const char *name, const char *value)
{
    add(c, name);
    add(c, value);
}

/* Builds the command line. Returns false if a skeleton cannot be compiled. */
static bool write_line(struct command_line *c, const struct skel_play *how, int control)
{
    struct skel_folder *f = how->folder;
    const struct window_span *w = &f->options->windows;
    const char *built = skel_build(&f->builds, how->recording, -1);
    if (built == NULL)
        return false;
    (void)snprintf(c->first, sizeof c->first, "%d", w->given ? w->first : 0);
    (void)snprintf(c->last, sizeof c->last, "%d", w->given ? w->last : INT32_MAX);
    add(c, f->program);
    add(c, "skel");
    add_option(c, "--recording", how->recording->path);
    add_option(c, "--first", c->first);
    add_option(c, "--last", c->last);
    add_option(c, "--format", how->format);
    (void)snprintf(c->program, sizeof c->program, "%u", how->recording->program);
    add_option(c, "--program", c->program);
    if (how->follows) {
        (void)snprintf(c->control, sizeof c->control, "%d", control);
        (void)snprintf(c->from, sizeof c->from, "%" PRIu64, how->from);
        add_option(c, "--follow", c->control);
        add_option(c, "--from", c->from);
    }
    if (how->lock != NULL)
        add_option(c, "--lock", how->lock);
    if (built[0] != '\0')
        add_option(c, "--late", built);
    add(c, "--");
    for (uint32_t i = 0; i < how->recording->head.image_count; i++) {
        if ((built = skel_build(&f->builds, how->recording, (int)i)) == NULL)
            return false;
        add(c, built);
    }
    return true;
}

/* Closes those of `ends` that are not -1. */
static void close_some(const int *ends, int count)
{
    for (int k = 0; k < count; k++)
        if (ends[k] >= 0)
            (void)close(ends[k]);
}

/* Pipes between us and the process; [0] is the read end. */
struct between {
    int out[2], control[2], answers[2];
};

static bool make_pipes(struct between *b, const struct skel_play *how)
{
    *b = (struct between){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(b->control, O_CLOEXEC) == 0 && (how->out >= 0 || pipe2(b->out, O_CLOEXEC) == 0) &&
        (!how->follows || pipe2(b->answers, O_CLOEXEC) == 0))
        return true;
    close_some((const int *)b, 6);
    return false;
}

/* Runs in the child. exec closes all our descriptors except `control`. A process that does not
 * follow is not told of it, but keeps it open until it ends. */
static _Noreturn void exec_program(const struct command_line *c, const struct between *b, int out)
{
    int in = b->answers[0] >= 0 ? b->answers[0] : open("/dev/null", O_RDONLY | O_CLOEXEC);
    out = out >= 0 ? out : b->out[1];
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (in >= 0 && dup2(in, STDIN_FILENO) >= 0 &&
        (out == STDOUT_FILENO || dup2(out, STDOUT_FILENO) >= 0) &&
        fcntl(b->control[1], F_SETFD, 0) == 0)
        (void)execv(c->words[0], (char *const *)c->words);
    (void)dprintf(STDERR_FILENO, "regtrace skel: %s cannot be run: %s\n", c->words[0],
                  strerror(errno));
    _exit(ACCESSES_FAILED);
}

bool skel_player_start(struct skel_player *p, const struct skel_play *how)
{
    struct command_line c = {.count = 0};
    struct between b;
    *p = (struct skel_player){.pid = -1, .out = -1, .control = -1, .answers = -1};
    bool made = make_pipes(&b, how);
    if (made && !write_line(&c, how, b.control[1])) {
        close_some((const int *)&b, 6);
        return false;
    }
    (void)fflush(stdout);
    p->pid = made ? fork() : -1;
    if (p->pid == 0)
        exec_program(&c, &b, how->out);
    if (p->pid < 0) {
        tool_error("skel", "no process can be made for %s: %s", how->recording->path,
                   strerror(errno));
        if (made)
            close_some((const int *)&b, 6);
        return false;
    }
    close_some((const int[]){b.out[1], b.control[1], b.answers[0]}, 3);
    p->out = b.out[0];
    p->control = b.control[0];
    p->answers = b.answers[1];
    p->from = how->from;
    return true;
}

/* --- processes that follow -------------------------------------------------------------------- */

static void answer(struct skel_player *p, struct skel_folder *f, struct skel_recording *r,
                   uint32_t number, uint64_t from)
{
    int image;
    (void)skel_recording_refresh(r);
    const char *path = skel_build_more(&f->builds, r, number, from, &image);
    if (p->answers >= 0 && path != NULL && path[0] != '\0')
        (void)dprintf(p->answers, "%d %s\n", image, path);
    else if (p->answers >= 0)
        (void)dprintf(p->answers, "none\n");
}

static void take_line(struct skel_player *p, struct skel_folder *f, struct skel_recording *r)
{
    char *end;
    if (strncmp(p->asked, "at ", 3) == 0) {
        p->from = strtoull(p->asked + 3, NULL, 10);
    } else if (strncmp(p->asked, "need ", 5) == 0) {
        uint64_t number = strtoull(p->asked + 5, &end, 10);
        answer(p, f, r, (uint32_t)number, strtoull(end, NULL, 10));
    }
}

bool skel_player_hear(struct skel_player *p, struct skel_folder *f, struct skel_recording *r)
{
    size_t room = sizeof p->asked - 1 - p->asked_bytes;
    ssize_t n = room > 0 ? read(p->control, p->asked + p->asked_bytes, room) : 0;
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false;
    p->asked_bytes += (size_t)n;
    p->asked[p->asked_bytes] = '\0';
    for (char *line; (line = strchr(p->asked, '\n')) != NULL;) {
        *line++ = '\0';
        take_line(p, f, r);
        p->asked_bytes = strlen(line);
        memmove(p->asked, line, p->asked_bytes + 1);
    }
    return true;
}

void skel_player_is_over(struct skel_player *p)
{
    if (p->answers >= 0)
        (void)close(p->answers);
    p->answers = -1;
}

/* --- end of a process ------------------------------------------------------------------------- */

static int reap(struct skel_player *p)
{
    int status = 0;
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close_some((const int[]){p->out, p->control, p->answers}, 3);
    p->pid = p->out = p->control = p->answers = -1;
    return status;
}

int skel_player_wait(struct skel_player *p, struct skel_recording *r)
{
    int status = reap(p);
    if (WIFEXITED(status) && WEXITSTATUS(status) == ACCESSES_NOTHING)
        return ACCESSES_DONE;
    r->had_some = true;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    tool_error("skel", "regtrace-isa was ended by signal %d (%s) at %s", WTERMSIG(status),
               strsignal(WTERMSIG(status)), r->path);
    return ACCESSES_FAILED;
}

void skel_player_stop(struct skel_player *p)
{
    if (p->pid <= 0)
        return;
    (void)kill(p->pid, SIGTERM);
    (void)reap(p);
}
