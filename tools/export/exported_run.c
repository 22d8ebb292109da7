/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the exported run: opens it, groups its threads by process, makes their titles; creates and
 * closes output files. */
#include "tools/export/export.h"
#include "tools/open_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void export_fail(struct export *x, int rc, const char *fmt, ...)
{
    va_list args;
    if (x->rc != 0)
        return;
    x->rc = rc;
    va_start(args, fmt);
    (void)vsnprintf(x->e.text, sizeof x->e.text, fmt, args);
    va_end(args);
}

static void leave_out(void *context, const char *file, const char *why)
{
    struct export *x = context;
    tool_error("export", "%s: %s", file, why);
    x->tally.files_left_out++;
}

/* Makes the table of processes. Streams of one file are adjacent. */
static int group(struct export *x)
{
    x->processes = calloc(x->count + 1u, sizeof *x->processes);
    x->process_of = calloc(x->count + 1u, sizeof *x->process_of);
    if (x->processes == NULL || x->process_of == NULL) {
        export_fail(x, -ENOMEM, "no memory");
        return x->rc;
    }
    for (uint32_t i = 0; i < x->count; i++) {
        if (i == 0 || x->all[i].rank != x->all[i - 1].rank)
            x->processes[x->process_count++] =
                (struct export_process){.rank = x->all[i].rank, .first_stream = i};
        x->process_of[i] = x->process_count - 1;
        x->processes[x->process_count - 1].stream_count++;
    }
    return 0;
}

int export_open(struct export *x, const struct rt_run *run, const struct export_options *options)
{
    bool messages = options->format->message != NULL;
    struct rt_error why = {{0}};
    size_t unread;
    *x = (struct export){.options = options, .origin = tool_run_origin(run, &unread, &why)};
    if (messages)
        export_messages_read(x, run);
    uint32_t before = x->count;
    const struct skipped_files skipped = {leave_out, x};
    if (x->rc == 0)
        x->rc = streams_open(&x->streams, run, &options->ranks, &skipped, &x->e);
    if (x->rc != 0)
        return x->rc;
    if (unread > x->tally.files_left_out) {
        export_fail(x, -EIO, "where time begins is not known: %s", why.text);
        return x->rc;
    }
    x->all = streams_all(x->streams, &x->count);
    if (messages && x->count != before) {
        export_fail(x, -EAGAIN,
                    "the run has changed while it was read: export it when it has ended");
        return x->rc;
    }
    if (messages && (x->rc = comms_open(&x->comms, x->streams, &x->e)) != 0)
        return x->rc;
    x->functions = function_numbers_open(x->streams);
    if (x->functions == NULL) {
        export_fail(x, -ENOMEM, "no memory");
        return x->rc;
    }
    return group(x);
}

void export_close(struct export *x)
{
    function_numbers_close(x->functions);
    comms_close(x->comms);
    export_messages_free(&x->messages);
    streams_close(x->streams);
    for (unsigned i = 0; i < EXPORT_KINDS; i++)
        names_free(&x->names[i]);
    names_free(&x->titles);
    names_free(&x->mark_keys);
    free(x->mark_labels);
    free(x->processes);
    free(x->process_of);
}

const struct rt_rank_info *export_info(const struct export *x, uint32_t stream)
{
    return rt_rank_info(x->all[stream].rank);
}

void export_process_title(const struct export *x, uint32_t process, char out[160])
{
    const struct rt_rank_info *info = rt_rank_info(x->processes[process].rank);
    if (info->is_main)
        (void)snprintf(out, 160, "rank %" PRId32, info->rank);
    else if (info->world > 1)
        (void)snprintf(out, 160, "rank %" PRId32 " of world %" PRIu32 ", process %" PRIu32,
                       info->rank, info->world, info->pid);
    else
        (void)snprintf(out, 160, "rank %" PRId32 ", process %" PRIu32, info->rank, info->pid);
}

void export_thread_title(const struct export *x, uint32_t stream, char out[160])
{
    const struct thread_stream *s = &x->all[stream];
    const char *name = s->thread != NULL ? rt_rank_string(s->rank, s->thread->name) : "";
    (void)snprintf(out, 160, "thread %" PRId32 "%s%.100s%s", s->number, name[0] != '\0' ? " (" : "",
                   name, name[0] != '\0' ? ")" : "");
}

FILE *export_create(struct export *x, const char *path)
{
    FILE *f = fopen(path, "we");
    if (f == NULL)
        export_fail(x, -errno, "%s cannot be written: %s", path, strerror(errno));
    return f;
}

void export_close_file(struct export *x, FILE *f, const char *path)
{
    if (f == NULL)
        return;
    bool wrong = ferror(f) != 0;
    errno = 0;
    if (fclose(f) != 0 || wrong)
        export_fail(x, errno != 0 ? -errno : -EIO,
                    "%s could not be written: %s; is there room on the disk?", path,
                    errno != 0 ? strerror(errno) : "write error");
}
