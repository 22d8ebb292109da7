/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-writer: a traced process starts it for itself; it outlives that process and leaves a
 * closed rank file. */
#include "base/toolkit/coverage.h"
#include "writer/session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char usage[] = "Usage: regtrace-writer --stream-fd FD --dir DIR\n"
                            "Started by libregtrace.so; not for people. See regtrace(1).\n";

struct writer_arguments {
    int stream_fd;
    const char *dir;
};

static bool parse_number(const char *text, int *out)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < 0 || v > 1 << 20)
        return false;
    *out = (int)v;
    return true;
}

static bool parse(int argc, char **argv, struct writer_arguments *a)
{
    *a = (struct writer_arguments){-1, NULL};
    for (int i = 1; i + 1 < argc; i += 2) {
        bool ok = true;
        if (strcmp(argv[i], "--stream-fd") == 0)
            ok = parse_number(argv[i + 1], &a->stream_fd);
        else if (strcmp(argv[i], "--dir") == 0)
            a->dir = argv[i + 1];
        else
            ok = false;
        if (!ok)
            return false;
    }
    return argc % 2 == 1 && a->stream_fd >= 0 && a->dir != NULL;
}

/* Ignores the signals that end a job (terminal, batch system, full disk, closed pipe), so that they
 * do not end the writer before its rank. */
static void ignore_signals(void)
{
    static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,
                                  SIGUSR1, SIGUSR2, SIGXFSZ, SIGTSTP};
    sigset_t none;
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        (void)signal(ignored[i], SIG_IGN);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
    static struct writer_session session;
    struct writer_arguments a;
    if (!parse(argc, argv, &a)) {
        (void)fputs(usage, argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    ignore_signals();
    (void)prctl(PR_SET_NAME, "regtrace-writer", 0, 0, 0);
    int rc = session_run(&session, a.stream_fd, a.dir);
    /* Skip HDF5's exit handlers: they may write again to a file that failed. A complete file is
     * closed already. */
    coverage_write();
    _exit(rc);
}
