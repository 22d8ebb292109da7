/* SPDX-License-Identifier: BSD-3-Clause
 * Takes options and opens the replay for the commands that replay a run. */
#include "tools/channels/replay_options.h"

#include "tools/messages/messages.h"
#include "tools/streams/joint_processes.h"
#include "tools/output.h"
#include "tools/open_run.h"

#include <string.h>

static void print_error(void *command, const char *text)
{
    tool_warning(command, "%s", text);
}

static void print_skipped(void *command, const char *file, const char *why)
{
    tool_warning(command, "%s is left out: %s", file, why);
}

static bool take_policy(struct conversion *command, const char *value)
{
    static const char *const names[] = {"strict", "lint", "salvage"};
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(value, names[i]) == 0) {
            command->options.policy = (enum emu_policy)i;
            return true;
        }
    tool_error(command->command, "-policy is \"%s\": strict, lint and salvage are legal", value);
    return false;
}

static bool take_cpu(struct conversion *command, const char *value)
{
    command->options.observed = strcmp(value, "observed") == 0;
    if (command->options.observed || strcmp(value, "bound") == 0)
        return true;
    tool_error(command->command, "-cpu is \"%s\": bound and observed are legal", value);
    return false;
}

int replay_take_option(void *options, const struct arguments *a)
{
    struct conversion *command = options;
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    bool good = true;
    if (strcmp(name, "policy") == 0) {
        good = take_policy(command, a->value);
    } else if (strcmp(name, "cpu") == 0) {
        good = take_cpu(command, a->value);
    } else if (strcmp(name, "rank") == 0) {
        good = rank_list_parse(&command->options.ranks, a->value, &e) == 0;
        if (!good)
            tool_error(command->command, "-rank: %s", e.text);
    } else if (strcmp(name, "messages") == 0) {
        good = messages_choose(a->value);
        if (!good)
            tool_error(command->command, "-messages is \"%s\": all and none are legal", a->value);
    } else if (strcmp(name, "output") == 0) {
        command->out = a->value;
        good = a->value[0] != '\0';
        if (!good)
            tool_error(command->command,
                       "-output is empty: the name of what is to be made is legal");
    } else if (strcmp(name, "matches") == 0) {
        command->options.no_channels = true;
    } else if (strcmp(name, "force") == 0) {
        command->force = true;
    } else {
        good = argument_number(a->value, 0, 86400, &command->wait) == 0;
        if (!good)
            tool_error(command->command, "-wait is \"%s\": seconds from 0 to 86400 are legal",
                       a->value);
    }
    return good ? TOOL_OK : TOOL_USAGE;
}

int replay_begin(const struct conversion *command, const char *out, const char *ending,
                 struct rt_run **run, struct event_replay **replay)
{
    static char name[PATH_MAX];
    struct rt_error e = {{0}};
    struct replay_options options = command->options;
    options.told = print_error;
    options.context = (void *)(uintptr_t)command->command;
    options.skipped = (struct skipped_files){print_skipped, options.context};
    *run = tool_open_run(command->command, command->path, command->wait);
    if (*run == NULL)
        return TOOL_FAILURE;
    output_name(name, out, rt_run_dir(*run), ending);
    output_catch_signals();
    if ((joint_count() == 1 || joint_meet(name, &e) == 0) &&
        replay_open(replay, *run, &options, &e) == 0) {
        uint32_t threads;
        (void)replay_threads(*replay, &threads);
        if (threads != 0)
            return TOOL_OK;
        tool_error(command->command, "none of the ranks asked for (-rank) is in %s", command->path);
        replay_close(*replay);
        rt_run_close(*run);
        return TOOL_FAILURE;
    }
    tool_error(command->command, "%s", e.text);
    rt_run_close(*run);
    return TOOL_FAILURE;
}
