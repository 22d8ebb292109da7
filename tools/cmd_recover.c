/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace recover`: finishes the files that killed writers left. */
#include "tools/tools.h"
#include "writer/writer.h"

#include <inttypes.h>
#include <stdlib.h>

struct recover_tally {
    unsigned done, live, failed, incomplete, damaged, missing;
    struct progress progress;
};

/* The library owns the file's name, which is valid until the next call. */
static void show_step(void *context, const char *file, uint64_t rows, uint64_t total)
{
    struct recover_tally *t = context;
    t->progress.what = file;
    progress_update(&t->progress, rows, total);
}

static void print_one(void *context, const struct rt_recovered *r)
{
    struct recover_tally *t = context;
    progress_end(&t->progress);
    switch (r->result) {
    case RT_RECOVER_DONE:
    case RT_RECOVER_STREAM_GONE:
        t->done++;
        t->incomplete += r->result == RT_RECOVER_STREAM_GONE;
        (void)printf(
            "%s: recovered, %" PRIu64 " events from the file and %" PRIu64 " from the stream%s%s\n",
            r->file, r->from_file, r->from_stream, r->text[0] != '\0' ? "; " : "", r->text);
        break;
    case RT_RECOVER_LIVE:
        t->live++;
        (void)printf("%s: left alone, its writer is alive\n", r->file);
        break;
    case RT_RECOVER_FAILED:
        t->failed++;
        tool_error("recover", "%s%s%s", r->file, r->file[0] != '\0' ? ": " : "", r->text);
        break;
    case RT_RECOVER_DAMAGED:
        t->damaged++;
        tool_error("recover",
                   "%s: damaged or changed after it was complete: %s. Nothing else holds its "
                   "events: put a "
                   "good copy in its place; without one, move it away and run recover again, "
                   "which makes regtrace.h5 of the other files",
                   r->file, r->text);
        break;
    case RT_RECOVER_MISSING:
        t->missing++;
        (void)printf("%s: deleted after it was complete; regtrace.h5 is made of the others\n",
                     r->file);
        break;
    }
}

static void print_nothing(const char *dir)
{
    struct rt_run *run;
    const char *shm = getenv("REGTRACE_SHM");
    bool named = shm != NULL && shm[0] != '\0';
    if (rt_run_open(&run, dir, &(struct rt_error){{0}}) == 0) {
        rt_run_close(run);
        (void)printf("nothing to recover in %s: every file is closed, and readable to its end\n",
                     dir);
        return;
    }
    (void)printf("nothing was found of %s: it has no file, and no stream of it is in /dev/shm%s%s. "
                 "If it recorded something, its streams are on another node (run recover there), "
                 "in another folder (name it in REGTRACE_SHM), or gone with a reboot\n",
                 dir, named ? " or " : "", named ? shm : "");
}

static int recover_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_recover, .count = argc, .words = argv, .next = 1};
    const char *dir = NULL;
    struct recover_tally t = {0};
    struct rt_error e = {{0}};
    int code;
    if (!arguments_one_folder(&a, NULL, NULL, "DIR", &dir, &code))
        return code;
    const struct rt_recover_listener listener = {print_one, show_step, &t};
    progress_begin(&t.progress, dir);
    int rc = rt_recover_dir(dir, &listener, &e);
    progress_end(&t.progress);
    if (rc != 0 && e.text[0] != '\0')
        tool_error("recover", "%s", e.text);
    if (rc == 0 && t.done + t.live + t.missing == 0)
        print_nothing(dir);
    return output_finish("recover", rc != 0 || t.failed > 0 ? TOOL_FAILURE : TOOL_OK);
}

static const struct command_option recover_options[] = {{NULL, NULL, NULL, 0}};

const struct command command_recover = {
    .name = "recover",
    .summary = "finish the files that killed writers left",
    .synopsis = "DIR",
    .description =
        "Reads each file that its writer left without closing, drains what the stream "
        "in shared memory still holds, "
        "and puts a complete file in its place; the old one stays until then. Then "
        "regtrace.h5 is built anew. Files "
        "of living writers and closed ones are left alone; closed ones are read as a whole, "
        "and named if they are damaged: then only a copy of them helps. Streams are looked for "
        "in /dev/shm, in the folder that REGTRACE_SHM names, and where other processes of the run "
        "have theirs; what a process recorded whose writer was killed while it started is found "
        "there too. They do not survive a "
        "reboot of their node and are "
        "to be drained on the node that they are on; regtrace prints what is missing. Run this "
        "instead of h5clear, "
        "which can destroy such files.",
    .options = recover_options,
    .examples = "regtrace recover trace",
    .exits = "0 every file is complete or belongs to a living writer, 1 one could not be "
             "recovered or is damaged, 2 wrong usage.",
    .main = recover_main,
};
