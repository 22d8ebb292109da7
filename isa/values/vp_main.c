/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-vprofiler: runs plug-ins of value profiling and the decoder, which must stay out of
 * traced programs, writers and tools.
 *
 *   --answer PLUG-IN    Standard input is a socket. Answers each struct values_question with a
 *                       struct values_answer, several at a time, until end of file.
 *   --process PLUG-IN   Standard input is a socket. Answers each frame of traces with a frame of
 *                       tuples (base/format/value_protocol.h).
 *   --format PLUG-IN    Formats lines (isa/values/vp_format.c).
 *   --check PLUG-IN     Prints the plug-in's name if its specification is valid.
 *   --name PLUG-IN      Prints the plug-in's name.
 *
 * Exit status: 0; 1 if the plug-in cannot be loaded or fails (the reason goes to standard error;
 * with --process also into a frame); 2 for a wrong command line. */
#include "base/sys.h"
#include "isa/values/vp.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char usage[] =
    "Usage: regtrace-vprofiler [--limit SECONDS] --answer|--process|--format|--check|--name "
    "PLUG-IN\n"
    "Runs a plug-in of value profiling apart. --check and --name say its name, --check if what it\n"
    "wants to capture is right; the others are for regtrace's own use.\n"
    "PLUG-IN: a path with a slash, or the name of one that came along: vp-addr, vp-args, "
    "vp-classic.\n"
    "--limit: how long a call of the plug-in may take, 8 s unless given.\n";

enum { AT_ONCE = 64 /* questions */, LIMIT = 8, LIMIT_MOST = 3600 };

static int fail(const struct rt_error *e)
{
    (void)fprintf(stderr, "regtrace-vprofiler: %s\n", e->text);
    return 1;
}

/* --- --answer --------------------------------------------------------------------------------- */

static struct vp_spec spec;

/* Answers questions until end of file. A read from a stream socket may end within a question; a
 * packet socket gives whole questions. */
static int answer_all(int fd)
{
    static struct values_question questions[AT_ONCE];
    static struct values_answer answers[AT_ONCE];
    size_t have = 0;
    for (;;) {
        ssize_t n = read(fd, (char *)questions + have, sizeof questions - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 || errno == ECONNRESET ? 0 : -errno;
        have += (size_t)n;
        size_t whole = have / sizeof *questions;
        for (size_t i = 0; i < whole; i++)
            vp_answer(&spec, &questions[i], &answers[i]);
        int rc = whole != 0 ? sys_write_all(fd, answers, whole * sizeof *answers) : 0;
        if (rc != 0)
            return rc == -EPIPE ? 0 : rc;
        have -= whole * sizeof *questions;
        memmove(questions, questions + whole, have);
    }
}

static int answer(struct vp_apart *v)
{
    struct rt_error e = {""};
    v->in = -1;
    v->out = memfd_create("specification", MFD_CLOEXEC);
    v->run = vp_run_spec;
    if (v->out < 0) {
        rt_error_set(&e, "no memory for a specification: %s", strerror(errno));
        return fail(&e);
    }
    int rc = vp_apart(v, &e);
    if (rc == 0)
        rc = vp_spec_receive(&spec, v->out, &e);
    (void)close(v->out);
    if (rc != 0)
        return fail(&e);
    rc = answer_all(STDIN_FILENO);
    if (rc != 0) {
        rt_error_set(&e, "no questions can be answered: %s", strerror(-rc));
        return fail(&e);
    }
    return 0;
}

/* --- other modes ------------------------------------------------------------------------------ */

static int process(struct vp_apart *v)
{
    struct rt_error e = {""};
    v->in = v->out = STDIN_FILENO;
    v->run = vp_run_process;
    if (vp_apart(v, &e) == 0)
        return 0;
    vp_process_failed(STDIN_FILENO, e.text);
    return fail(&e);
}

static int format(struct vp_apart *v)
{
    struct rt_error e = {""};
    v->inits = false;
    v->run = vp_run_format;
    return vp_apart(v, &e) == 0 ? 0 : fail(&e);
}

static int check(struct vp_apart *v)
{
    struct rt_error e = {""};
    v->in = -1;
    v->run = vp_run_name;
    return vp_apart(v, &e) == 0 ? 0 : fail(&e);
}

static int name(struct vp_apart *v)
{
    v->inits = false;
    return check(v);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *option;
        int (*run)(struct vp_apart *v);
    } modes[] = {{"--answer", answer},
                 {"--process", process},
                 {"--format", format},
                 {"--check", check},
                 {"--name", name}};
    struct vp_apart v = {
        .limit = LIMIT, .in = STDIN_FILENO, .out = STDOUT_FILENO, .names = true, .inits = true};
    int i = 1;
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc > 3 && strcmp(argv[1], "--limit") == 0) {
        char *end;
        unsigned long limit = strtoul(argv[2], &end, 10);
        if (*end == '\0' && limit >= 1 && limit <= LIMIT_MOST) {
            v.limit = (unsigned)limit;
            i = 3;
        }
    }
    if (argc == i + 2) {
        v.plugin = argv[i + 1];
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
            if (strcmp(argv[i], modes[m].option) == 0)
                return modes[m].run(&v);
    }
    bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    (void)fputs(usage, help ? stdout : stderr);
    return help ? 0 : 2;
}
