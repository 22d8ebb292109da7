/* SPDX-License-Identifier: BSD-3-Clause
 * See skel_player.h. */
#include "tools/skel_player.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct command_line {
    const char *words[32 + MEMORY_IMAGES];
    unsigned count;
    char first[16], last[16];
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

/* False: it cannot be compiled. */
static bool write_line(struct command_line *c, const struct skel_play *how)
{
    struct skel_folder *f = how->folder;
    const struct window_span *w = &f->wishes->windows;
    const char *built = skel_build(&f->builds, how->recording, -1);
    if (built == NULL)
        return false;
    (void)snprintf(c->first, sizeof c->first, "%d", w->given ? w->first : 0);
    (void)snprintf(c->last, sizeof c->last, "%d", w->given ? w->last : INT32_MAX);
    add(c, f->program);
    add_option(c, "--recording", how->recording->path);
    add_option(c, "--first", c->first);
    add_option(c, "--last", c->last);
    add_option(c, "--format", how->format);
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

/* Descriptors of ours are closed by exec, but for `control`, whose number nobody knows. */
static _Noreturn void become(const struct command_line *c, int out, int control)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
        (out == STDOUT_FILENO || dup2(out, STDOUT_FILENO) >= 0) && fcntl(control, F_SETFD, 0) == 0)
        (void)execv(c->words[0], (char *const *)c->words);
    (void)dprintf(STDERR_FILENO, "regtrace skel: %s cannot be run: %s\n", c->words[0],
                  strerror(errno));
    _exit(ACCESSES_FAILED);
}

static void close_both(const int ends[2])
{
    for (int k = 0; k < 2; k++)
        if (ends[k] >= 0)
            (void)close(ends[k]);
}

static bool begin(struct skel_player *p, const struct command_line *c, int out)
{
    int pipes[2] = {-1, -1}, control[2] = {-1, -1};
    bool good = pipe2(control, O_CLOEXEC) == 0 && (out >= 0 || pipe2(pipes, O_CLOEXEC) == 0);
    (void)fflush(stdout);
    p->pid = good ? fork() : -1;
    if (p->pid == 0)
        become(c, out >= 0 ? out : pipes[1], control[1]);
    if (p->pid < 0) {
        message_error("skel", "no process can be made for %s: %s", c->words[0], strerror(errno));
        close_both(pipes);
        close_both(control);
        return false;
    }
    if (pipes[1] >= 0)
        (void)close(pipes[1]);
    (void)close(control[1]);
    p->out = pipes[0];
    p->control = control[0];
    return true;
}

bool skel_player_start(struct skel_player *p, const struct skel_play *how)
{
    struct command_line c = {.count = 0};
    *p = (struct skel_player){.pid = -1, .out = -1, .control = -1};
    return write_line(&c, how) && begin(p, &c, how->out);
}

static int reap(struct skel_player *p)
{
    int status = 0;
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close_both((int[2]){p->out, p->control});
    *p = (struct skel_player){.pid = -1, .out = -1, .control = -1};
    return status;
}

int skel_player_wait(struct skel_player *p, const struct skel_recording *r)
{
    int status = reap(p);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    message_error("skel", "regtrace-skel was ended by signal %d (%s) at %s", WTERMSIG(status),
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
