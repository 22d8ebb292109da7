/* SPDX-License-Identifier: BSD-3-Clause
 * Implements `regtrace prv`: writes a run as traces for Paraver. */
#include "tools/streams/joint_processes.h"
#include "tools/paraver/prv.h"
#include "tools/output.h"
#include "tools/channels/replay_options.h"

#include <inttypes.h>
#include <unistd.h>

static bool is_ours(const char *folder)
{
    static const char *const names[] = {"thread.prv", "cpu.prv"};
    char path[PATH_MAX + 16];
    bool ours = true;
    for (unsigned i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ours = ours && access(path, F_OK) == 0;
    }
    return ours;
}

static const struct output_kind kind = {.option = "output", .folder = true, .is_ours = is_ours};

static int write_prv(const struct conversion *command, struct event_replay *r, const char *out)
{
    struct prv_found found;
    struct rt_error e = {{0}};
    struct output o;
    bool first = joint_is_first(); /* it assembles the parts of all processes */
    int rc = first ? output_begin(&o, out, &kind, command->force, &e) : 0;
    if (rc == 0)
        rc = prv_write(r, first ? o.working : out, &found, &e);
    if (first)
        rc = output_end(&o, rc, &e);
    if (rc != 0) {
        tool_error("prv", "%s", e.text);
        return TOOL_FAILURE;
    }
    (void)printf("%s: thread.prv and cpu.prv, %" PRIu64 " lines of %" PRIu64 " events, %" PRIu64
                 " messages\n",
                 out, found.lines, found.replay.events, found.messages);
    for (int i = 0; i < UNMATCHED_REASONS; i++)
        if (found.unmatched.sends[i] + found.unmatched.receives[i] != 0)
            (void)printf("no line for %" PRIu64 " sends and %" PRIu64 " receives: %s\n",
                         found.unmatched.sends[i], found.unmatched.receives[i],
                         unmatched_text((enum unmatched_reason)i));
    if (found.replay.wrong == 0)
        return TOOL_OK;
    tool_warning(command->command,
                 "%" PRIu64 " events could not be right; what they leave unknown is marked",
                 found.replay.wrong);
    return TOOL_FAILURE;
}

static int prv_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_prv, .count = argc, .words = argv, .next = 1};
    static struct conversion command;
    static char out[PATH_MAX];
    struct rt_run *run;
    struct event_replay *replay;
    int code;
    joint_enter();
    command = (struct conversion){.command = "prv", .wait = 10};
    if (!arguments_one_folder(&a, replay_take_option, &command, "DIR", &command.path, &code))
        return joint_end(code);
    code = replay_begin(&command, command.out, "/prv", &run, &replay);
    if (code != TOOL_OK)
        return joint_end(code);
    output_name(out, command.out, rt_run_dir(run), "/prv");
    code = write_prv(&command, replay, out);
    replay_close(replay);
    rt_run_close(run);
    return joint_end(output_finish("prv", code));
}

static const struct command_option prv_options[] = {
    {"output", "DIR", "the new folder (default: prv in the run's folder)", 'o'},
#include "tools/channels/replay_options.def"
    {NULL, NULL, NULL, 0},
};

const struct command command_prv = {
    .name = "prv",
    .summary = "write a run for Paraver",
    .synopsis = "[--output DIR] [--force] [--policy POLICY] [--cpu WHERE] [--rank LIST] "
                "[--messages WHICH] [--wait SECONDS] DIR",
    .description =
        "DIR is the folder of a run, its regtrace.h5, or one rank file. The new folder gets "
        "thread.prv, whose rows are processes and threads, and cpu.prv, whose rows are processors, "
        "each with its labels (.pcf) and names of rows (.row), and a view of each channel in cfg. "
        "States are what a thread does (running, waiting for a message, not recorded ...), events "
        "are MPI functions and what they are given, functions of the program, windows, regions, "
        "marks, alarms, signals, counters and samples; lines of communication are messages from "
        "their "
        "sender's call to their receiver's, if both ends are in windows: those that have no line "
        "are "
        "counted, by reason.\n\n"
        "The folder has another name, DIR.unfinished-PID, until it is whole. The same run gives "
        "the same files, byte by byte." PARTS_DESCRIPTION,
    .options = prv_options,
    .examples = "regtrace prv trace && wxparaver trace/prv/thread.prv\n"
                "regtrace prv --policy salvage -o crashed-prv crashed",
    .exits =
        "0 fine, 1 the run is not whole or something could not be right, or a file could not be "
        "read or written, 2 wrong usage.",
    .main = prv_main,
};
