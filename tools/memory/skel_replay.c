/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel replay`: skeletons of the run's folder are compiled, and regtrace-skel runs them over what threads have recorded. */
#include "base/format/accesses.h"
#include "base/sys.h"
#include "tools/memory/skel_player.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The head of records. enum accesses_exit. */
static int begin_binary(void)
{
    struct accesses_record head = {
        .address = ACCESSES_VERSION, .bytes = sizeof head, .kind = ACCESSES_HEAD};
    memcpy(&head.pc, ACCESSES_MAGIC, sizeof head.pc);
    if (isatty(STDOUT_FILENO) == 1) {
        message_error("skel", "-format binary is for programs: redirect it to a file, or to a "
                              "simulator by a pipe");
        return ACCESSES_FAILED;
    }
    return skel_put(&head, sizeof head);
}

/* --- a program that runs: recordings by turns, as they grow ------------------------------------------------------------- */

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
    const struct skel_use use = {.format = f->wishes->format,
                                 .opens = to_stdout,
                                 .begins = nothing_begins,
                                 .ended = as_it_ended};
    return skel_follow(f, &use);
}

/* --- all of it ------------------------------------------------------------------------------------------------------------ */

/* enum accesses_exit. */
static int write_stdout(struct skel_folder *f)
{
    const struct skel_wishes *w = f->wishes;
    int status = strcmp(w->format, "binary") == 0 ? begin_binary() : ACCESSES_DONE;
    if (status != ACCESSES_DONE)
        return status;
    return w->follow ? follow(f) : skel_ordered(f);
}

int skel_replay(const struct skel_wishes *w)
{
    struct skel_folder f;
    struct sigaction before;
    int status = ACCESSES_FAILED, code = skel_folder_open(&f, w);
    bool hdf5 = strcmp(w->format, "hdf5") == 0;
    f.builds.counts = strcmp(w->format, "count") == 0;
    if (code == TOOL_OK && !w->follow) {
        code = skel_folder_look(&f, false);
        if (f.count == 0 && code == TOOL_OK)
            code = skel_folder_lacks(&f);
    }
    /* Of a file: all of it, or none. */
    bool goes_on = w->follow ? code == TOOL_OK : f.count > 0 && (code == TOOL_OK || !hdf5);
    /* A reader that leaves, a compiler's end: what was started ends before this process does. */
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
    if (goes_on)
        status = hdf5 ? skel_hdf5(&f) : write_stdout(&f);
    if (goes_on && !hdf5 && status == ACCESSES_DONE && !skel_folder_had_some(&f))
        code = skel_folder_lacks(&f);
    skel_folder_close(&f);
    (void)sigaction(SIGPIPE, &before, NULL);
    if (status == ACCESSES_UNREAD) /* as if this process had written it all itself */
        (void)raise(SIGPIPE);
    return status == ACCESSES_DONE ? code : TOOL_FAILURE;
}
