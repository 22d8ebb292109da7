/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel replay`: skeletons of the run's folder are compiled, and regtrace-skel runs them over what threads have recorded. */
#include "base/accesses.h"
#include "base/sys.h"
#include "tools/skel.h"

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

int skel_replay(const struct skel_wishes *w)
{
    struct skel_folder f;
    struct sigaction before;
    int code = skel_folder_open(&f, w), status = ACCESSES_DONE;
    if (f.count == 0)
        return code;
    f.builds.counts = strcmp(w->format, "count") == 0;
    if (strcmp(w->format, "hdf5") == 0) {
        code = code == TOOL_OK ? skel_hdf5(&f) : code; /* all of it, or none */
        skel_folder_close(&f);
        return code;
    }
    /* A reader that leaves: what was started ends before this process does. */
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &before);
    if (strcmp(w->format, "binary") == 0)
        status = begin_binary();
    if (status == ACCESSES_DONE)
        status = skel_ordered(&f);
    skel_folder_close(&f);
    (void)sigaction(SIGPIPE, &before, NULL);
    if (status == ACCESSES_UNREAD) /* as if this process had written it all itself */
        (void)raise(SIGPIPE);
    return status == ACCESSES_DONE ? code : TOOL_FAILURE;
}
