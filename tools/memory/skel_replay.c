/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel replay`: compiles the skeletons of a run's folder and runs them, in regtrace-isa,
 * over what threads have recorded. */
#include "base/format/accesses.h"
#include "base/sys.h"
#include "tools/memory/replay_process.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Writes the head record. Returns enum accesses_exit. */
static int begin_binary(void)
{
    struct accesses_record head = {
        .address = ACCESSES_VERSION, .bytes = sizeof head, .kind = ACCESSES_HEAD};
    memcpy(&head.pc, ACCESSES_MAGIC, sizeof head.pc);
    if (isatty(STDOUT_FILENO) == 1) {
        tool_error("skel", "-format binary is for programs: redirect it to a file, or to a "
                           "simulator by a pipe");
        return ACCESSES_FAILED;
    }
    return skel_put(&head, sizeof head);
}

/* --- recordings of a program that still runs -------------------------------------------------- */

static int to_stdout(void *context, size_t i)
{
    (void)context;
    (void)i;
    return STDOUT_FILENO;
}

static bool nothing_begins(void *context, size_t i, struct skel_player *p)
{
    (void)context;
    (void)i;
    (void)p;
    return true;
}

static int as_it_ended(void *context, size_t i, int status)
{
    (void)context;
    (void)i;
    return status;
}

static int follow(struct skel_folder *f)
{
    const struct skel_use use = {.format = f->options->format,
                                 .opens = to_stdout,
                                 .begins = nothing_begins,
                                 .ended = as_it_ended};
    return skel_follow(f, &use);
}

/* --- the command ------------------------------------------------------------------------------ */

/* Returns enum accesses_exit. */
static int write_stdout(struct skel_folder *f)
{
    const struct skel_options *o = f->options;
    int status = strcmp(o->format, "binary") == 0 ? begin_binary() : ACCESSES_DONE;
    if (status != ACCESSES_DONE)
        return status;
    return o->follow ? follow(f) : skel_ordered(f);
}

int skel_replay(const struct skel_options *o)
{
    struct skel_folder f;
    struct sigaction before;
    int status = ACCESSES_FAILED, code = skel_folder_open(&f, o);
    bool hdf5 = strcmp(o->format, "hdf5") == 0;
    f.builds.counts = strcmp(o->format, "count") == 0;
    if (code == TOOL_OK && !o->follow) {
        code = skel_folder_look(&f, false);
        if (f.count == 0 && code == TOOL_OK)
            code = skel_folder_lacks(&f);
    }
    /* An HDF5 file holds everything or is not made; other formats go on without damaged
     * recordings. */
    bool goes_on = o->follow ? code == TOOL_OK : f.count > 0 && (code == TOOL_OK || !hdf5);
    /* If a reader closes its end or a compiler ends, this process must first end what it started:
     * ignore SIGPIPE. */
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
    if (goes_on)
        status = hdf5 ? skel_hdf5(&f) : write_stdout(&f);
    if (goes_on && !hdf5 && status == ACCESSES_DONE && !skel_folder_had_some(&f))
        code = skel_folder_lacks(&f);
    skel_folder_close(&f);
    (void)sigaction(SIGPIPE, &before, NULL);
    if (status == ACCESSES_UNREAD) /* end as if this process had written the output itself */
        (void)raise(SIGPIPE);
    return status == ACCESSES_DONE ? code : TOOL_FAILURE;
}
