/* SPDX-License-Identifier: BSD-3-Clause
 * Runs compiled skeletons over a stream or a recording, as the command line asks. */
#include "isa/memory/replay/replay_command.h"

#include "isa/memory/replay/trace_out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct trace_out out; /* static for its large buffer */

bool replay_command_take_option(struct replay_command *p, int option, const char *value)
{
    struct recording_options *o = &p->options;
    switch (option) {
    case 'r': p->stream = value; break;
    case 'b': p->base = strtoull(value, NULL, 16); break;
    case 'R': p->recording = value; break;
    case 'w': o->first = strtoll(value, NULL, 10); break;
    case 'W': o->last = strtoll(value, NULL, 10); break;
    case 'F': p->format = value; break;
    case 'L': p->skeletons.late = value; break;
    case 'O':
        o->follow.is = true;
        o->follow.answers = STDIN_FILENO;
        o->follow.ask = (int)strtol(value, NULL, 10);
        break;
    case 'A': o->follow.from = strtoull(value, NULL, 10); break;
    case 'N': p->program = (unsigned)strtoul(value, NULL, 10); break;
    case 'x': p->lock = value; break;
    default: return false;
    }
    return true;
}

static enum trace_format format_of(const char *name)
{
    static const char *const names[] = {[TRACE_TEXT] = "text",
                                        [TRACE_LACKEY] = "lackey",
                                        [TRACE_COUNT] = "count",
                                        [TRACE_BINARY] = "binary"};
    for (unsigned k = 0; name != NULL && k < sizeof names / sizeof *names; k++)
        if (strcmp(names[k], name) == 0)
            return (enum trace_format)k;
    return TRACE_TEXT;
}

/* --- streams without a file format ------------------------------------------------------------ */

static int read_stream(void *context, uint8_t *to, size_t room, size_t *got, struct rt_error *e)
{
    const int *fd = context;
    ssize_t n;
    while ((n = read(*fd, to, room)) < 0 && errno == EINTR)
        continue;
    if (n < 0)
        rt_error_set(e, "the stream cannot be read: %s", strerror(errno));
    *got = n > 0 ? (size_t)n : 0;
    return n < 0 ? -EIO : 0;
}

static int replay_stream(const struct replay_command *p, const struct recording_sink *sink,
                         struct rt_error *e)
{
    int fd = open(p->stream, O_RDONLY | O_CLOEXEC);
    struct replay r = {.source = read_stream,
                       .source_context = &fd,
                       .sink = sink->put,
                       .sink_context = sink->context};
    if (fd < 0) {
        rt_error_set(e, "%s cannot be read: %s", p->stream, strerror(errno));
        return -EIO;
    }
    int rc = replay_load(&r, p->skeletons.images[0], 0, &p->base, 1, e);
    rc = rc != 0 ? rc : replay_run(&r, e);
    (void)close(fd);
    free(r.functions);
    return rc;
}

/* --- the replay ------------------------------------------------------------------------------- */

static int code_of(int rc, int write_error)
{
    return write_error == EPIPE ? ACCESSES_UNREAD
           : write_error != 0   ? ACCESSES_UNWRITTEN
           : rc != 0            ? ACCESSES_FAILED
                                : ACCESSES_DONE;
}

bool replay_command_is_meant(const struct replay_command *p)
{
    return p->stream != NULL || p->recording != NULL;
}

/* Returns whether an error need not be reported: a signal ended the process that started this one.
 * That process removed its skeletons, which this one may miss before the signal reaches it. */
static bool is_left_alone(const struct replay_command *p, int rc)
{
    enum { SOON_MS = 1000 };
    const struct recording_follow *f = &p->options.follow;
    struct pollfd asked = {.fd = f->is ? f->ask : -1}; /* POLLERR: nobody reads it */
    return p->recording != NULL && poll(&asked, 1, rc == -ENOENT ? SOON_MS : 0) > 0;
}

void *replay_command_run(void *argument)
{
    struct replay_command *p = argument;
    struct rt_error e = {{0}};
    (void)signal(SIGPIPE, SIG_IGN);
    int rc = trace_out_open(&out, format_of(p->format), STDOUT_FILENO, p->lock, &e);
    out.program = p->program;
    const struct recording_sink sink = trace_out_sink(&out);
    if (rc == 0)
        rc = p->recording != NULL
                 ? recording_replay(p->recording, &p->skeletons, &p->options, &sink, &e)
                 : replay_stream(p, &sink, &e);
    if (out.error == 0 && trace_out_flush(&out) != 0)
        rt_error_set(&e, "the trace cannot be written: %s", strerror(out.error));
    p->code = code_of(rc, out.error);
    if (p->code == ACCESSES_DONE && p->recording != NULL && !out.begun)
        p->code = ACCESSES_NOTHING;
    if (p->code != ACCESSES_DONE && p->code != ACCESSES_NOTHING && p->code != ACCESSES_UNREAD &&
        !out.said && !is_left_alone(p, rc))
        (void)fprintf(stderr, "regtrace-isa: %s\n", e.text);
    trace_out_close(&out);
    return NULL;
}
