/* SPDX-License-Identifier: BSD-3-Clause
 * Values as their plug-in writes them: regtrace-vprofiler --format is asked, a line for each answer, and given up when it fails. */
#include "tools/run.h"
#include "tools/values.h"

#include "base/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static void give_up(struct values_format *f, const char *why)
{
    if (f->why.text[0] == '\0')
        rt_error_set(&f->why, "%s", why);
    if (f->to != NULL)
        (void)fclose(f->to);
    if (f->from != NULL)
        (void)fclose(f->from);
    f->to = f->from = NULL;
    if (f->pid > 0) {
        (void)kill(f->pid, SIGKILL);
        child_wait_quietly(f->pid);
    }
    f->pid = 0;
}

static _Noreturn void become(int in, int out, const char *program, const char *plugin)
{
    (void)signal(SIGPIPE, SIG_DFL);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
        _exit(126);
    (void)execl(program, program, "--format", plugin, (char *)NULL);
    _exit(127);
}

static bool find_program(char path[PATH_MAX])
{
    char library[PATH_MAX];
    struct rt_error e;
    return installed_library(library, &e) == 0 &&
           beside_library(library, "regtrace-vprofiler", path);
}

void values_format_begin(struct values_format *f, const char *plugin)
{
    char program[PATH_MAX];
    int to[2], from[2];
    *f = (struct values_format){0};
    if (plugin == NULL)
        return;
    if (!find_program(program)) {
        rt_error_set(&f->why, "regtrace-vprofiler is not installed (it is built where the "
                              "disassembler Zydis is there)");
        return;
    }
    if (pipe2(to, O_CLOEXEC) != 0)
        return;
    if (pipe2(from, O_CLOEXEC) != 0) {
        (void)close(to[0]);
        (void)close(to[1]);
        return;
    }
    (void)signal(SIGPIPE, SIG_IGN); /* its end is seen by what it does not answer */
    (void)fflush(NULL);
    f->pid = fork();
    if (f->pid == 0)
        become(to[0], from[1], program, plugin);
    (void)close(to[0]);
    (void)close(from[1]);
    f->to = fdopen(to[1], "w");
    f->from = fdopen(from[0], "r");
    if (f->pid < 0 || f->to == NULL || f->from == NULL)
        give_up(f, "no process could be started for the plug-in");
    else
        (void)values_format_preface(f, "90"); /* is it there at all? */
}

/* "+TEXT": the text; "-": NULL; "!...", which only one value or instruction is about: `plain`. */
static const char *answer(struct values_format *f, const char *plain)
{
    struct pollfd p = {.fd = fileno(f->from), .events = POLLIN};
    int ready = 0;
    if (fflush(f->to) == 0)
        do
            ready = poll(&p, 1, PATIENCE_MS);
        while (ready < 0 && errno == EINTR);
    if (ready == 0)
        give_up(f, "the plug-in gives no answer");
    else if (ready < 0 || fgets(f->line, sizeof f->line, f->from) == NULL)
        give_up(f, "the plug-in's process has ended");
    if (f->pid == 0)
        return plain;
    size_t n = strcspn(f->line, "\n");
    for (int c; f->line[n] != '\n' && (c = getc(f->from)) != '\n' && c != EOF;) {
    }
    f->line[n] = '\0';
    return f->line[0] == '+' ? f->line + 1 : f->line[0] == '-' ? NULL : plain;
}

const char *values_format_preface(struct values_format *f, const char *code)
{
    if (f->pid == 0)
        return "";
    (void)fprintf(f->to, "I %s\n", code);
    return answer(f, "");
}

const char *values_format_value(struct values_format *f, uint64_t value)
{
    static char plain[24];
    const char *text = NULL;
    (void)snprintf(plain, sizeof plain, "0x%" PRIx64, value);
    if (f->pid != 0) {
        (void)fprintf(f->to, "V %" PRIx64 "\n", value);
        text = answer(f, plain);
    }
    return text != NULL ? text : plain;
}

void values_format_end(struct values_format *f)
{
    give_up(f, "");
}
