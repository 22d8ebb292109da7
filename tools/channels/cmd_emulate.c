/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace emulate`: writes the state changes of all channels as HDF5. */
#include "tools/channels/h5.h"
#include "tools/streams/joint_processes.h"
#include "tools/output.h"
#include "tools/channels/replay_options.h"

#include <inttypes.h>

static const struct output_kind kind = {.option = "output"};

static bool name_file(const struct conversion *command, const struct rt_run *run,
                      char path[PATH_MAX])
{
    int n = command->out != NULL ? snprintf(path, PATH_MAX, "%s", command->out)
                                 : snprintf(path, PATH_MAX, "%s/channels.h5", rt_run_dir(run));
    if (n >= PATH_MAX)
        tool_error(command->command, "the name of what is to be made is too long");
    return n < PATH_MAX;
}

/* Rebuilds regtrace.h5, so that it links to channels.h5. This too is written under a temporary
 * name, which no signal may leave behind. */
static int link_file(const struct conversion *command, const struct rt_run *run)
{
    struct rt_error e = {{0}};
    if (command->out != NULL)
        return TOOL_OK;
    output_hold_signals();
    int rc = rt_index_build(rt_run_dir(run), &e);
    output_release_signals();
    if (rc == 0)
        return TOOL_OK;
    tool_error(command->command, "channels.h5 is complete, but regtrace.h5 does not reach it: %s",
               e.text);
    return TOOL_FAILURE;
}

static int write_channels(const struct conversion *command, const struct rt_run *run,
                          struct event_replay *r, const char *path)
{
    struct h5_found found;
    struct rt_error e = {{0}};
    struct output o;
    /* The run's channels.h5 is replaced; a file that the user names is replaced only with
     * -force. */
    int rc = output_begin(&o, path, &kind, command->force || command->out == NULL, &e);
    if (rc == 0) {
        rc = h5_write(r, &command->options, o.working, &found, &e);
        rc = output_end(&o, rc, &e);
    }
    if (rc != 0) {
        tool_error(command->command, "%s", e.text);
        return TOOL_FAILURE;
    }
    int code = link_file(command, run);
    (void)printf("%s: %" PRIu32 " channels, %" PRIu64 " changes, %" PRIu64 " messages of %" PRIu64
                 " events\n",
                 path, found.channels, found.changes, found.messages, found.replay.events);
    if (found.replay.wrong == 0)
        return code;
    tool_warning(command->command,
                 "%" PRIu64 " events could not be right; what they leave unknown is marked",
                 found.replay.wrong);
    return TOOL_FAILURE;
}

static int emulate_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_emulate, .count = argc, .words = argv, .next = 1};
    static struct conversion command;
    static char path[PATH_MAX];
    struct rt_run *run;
    struct event_replay *replay;
    int code;
    joint_enter();
    command = (struct conversion){.command = "emulate", .wait = 10};
    if (!arguments_one_folder(&a, replay_take_option, &command, "DIR", &command.path, &code))
        return joint_end(code);
    code = replay_begin(&command, command.out, "/channels.h5", &run, &replay);
    if (code != TOOL_OK)
        return joint_end(code);
    if (joint_is_first()) /* the other processes have read their parts of the run for this one */
        code = name_file(&command, run, path) ? write_channels(&command, run, replay, path)
                                              : TOOL_FAILURE;
    replay_close(replay);
    rt_run_close(run);
    return joint_end(output_finish("emulate", code));
}

static const struct command_option emulate_options[] = {
    {"output", "FILE",
     "the new file (default: channels.h5 in the run's folder, which is made anew and regtrace.h5 "
     "reaches)",
     'o'},
    {"matches", NULL, "only /messages, /unmatched and /waits, without channels: faster", 0},
#include "tools/channels/replay_options.def"
    {NULL, NULL, NULL, 0},
};

const struct command command_emulate = {
    .name = "emulate",
    .summary = "write what channels show as HDF5",
    .synopsis =
        "[--output FILE] [--matches] [--force] [--policy POLICY] [--cpu WHERE] [--rank LIST] "
        "[--messages WHICH] [--wait SECONDS] DIR",
    .description =
        "DIR is the folder of a run, its regtrace.h5, or one rank file. A channel is what a "
        "timeline shows of each thread and each processor, one number at each moment: the MPI "
        "function, bytes and peer, the function of the program, the window, regions, marks, "
        "counters, samples, states of threads. The file has the changes of each channel that was "
        "used, /channels/thread/NAME and /channels/cpu/NAME, rows of time (ns since the run's "
        "first "
        "event), row and state; /rows says which threads and processors the rows are, /labels what "
        "states mean, /messages which send was received by which receive, /unmatched which sends "
        "and "
        "receives have no partner, /waits which call of a rank waited for another rank.\n\n"
        "The file has another name, FILE.unfinished-PID, until it is whole. The same run gives the "
        "same file, byte by byte." PARTS_DESCRIPTION,
    .options = emulate_options,
    .examples = "regtrace emulate trace && h5ls -r trace/channels.h5\n"
                "regtrace emulate --policy salvage -o crashed.h5 crashed",
    .exits =
        "0 fine, 1 the run is not whole or something could not be right, or a file could not be "
        "read or written, 2 wrong usage.",
    .main = emulate_main,
};
