/* SPDX-License-Identifier: BSD-3-Clause
 * Asks the plug-in how to write values: runs regtrace-vprofiler --format, which answers each
 * question by a line, and gives it up when it fails. */
#include "tools/helper_process.h"
#include "tools/installed.h"
#include "tools/values/value_profiles.h"

#include "base/toolkit/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static void give_up(struct values_format *f, const char *why)
{
    if (f->why.text[0] == '\0')
        rt_error_set(&f->why, "%s", why);
    if (f->to != NULL)
        (void)fclose(f->to);
    if (f->pid > 0)
        (void)close(f->from);
    f->to = NULL;
    f->ahead = 0;
    if (f->pid > 0) {
        (void)kill(f->pid, SIGKILL);
        helper_wait(f->pid);
    }
    f->pid = 0;
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
    /* A missing answer shows that the process has ended. */
    (void)signal(SIGPIPE, SIG_IGN);
    const char *const words[] = {program, "--format", plugin, NULL};
    const struct helper h = {.words = words, .in = to[0], .out = from[1], .err = STDERR_FILENO};
    f->pid = helper_start(&h);
    (void)close(to[0]);
    (void)close(from[1]);
    f->to = fdopen(to[1], "w");
    f->from = from[0];
    if (f->pid < 0)
        (void)close(from[0]);
    if (f->pid < 0 || f->to == NULL)
        give_up(f, "no process could be started for the plug-in");
    else
        (void)values_format_preface(f, "90"); /* checks that the process answers */
}

/* Reads one byte of the answers. Sends the buffered questions only when no answer is left to
 * read. */
static bool next_byte(struct values_format *f, char *c)
{
    struct pollfd p = {.fd = f->from, .events = POLLIN};
    int ready = 1;
    ssize_t n = 0;
    if (f->at == f->end) {
        if (fflush(f->to) == 0)
            do
                ready = poll(&p, 1, PATIENCE_MS);
            while (ready < 0 && errno == EINTR);
        if (ready == 0) {
            give_up(f, "the plug-in gives no answer");
            return false;
        }
        do
            n = read(f->from, f->read, sizeof f->read);
        while (n < 0 && errno == EINTR);
        if (n <= 0) {
            give_up(f, "the plug-in's process has ended");
            return false;
        }
        f->at = 0;
        f->end = (size_t)n;
    }
    *c = f->read[f->at++];
    return true;
}

/* Reads an answer. "+TEXT": returns the text. "-": returns NULL. "!...": an error about this one
 * value or instruction, returns `plain`. */
static const char *answer(struct values_format *f, const char *plain)
{
    size_t n = 0;
    char c = '\0';
    while (c != '\n') {
        if (!next_byte(f, &c))
            return plain;
        if (c != '\n' && n < sizeof f->line - 1)
            f->line[n++] = c;
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
        if (f->ahead == 0)
            (void)fprintf(f->to, "V %" PRIx64 "\n", value);
        f->ahead -= f->ahead > 0;
        text = answer(f, plain);
    }
    return text != NULL ? text : plain;
}

void values_format_ahead(struct values_format *f, const struct values_list *list, size_t count)
{
    /* The pipes hold so many questions and answers, whatever the answers are. */
    enum { MOST = 256 };
    if (f->pid == 0)
        return;
    f->ahead = (uint32_t)(count < MOST ? count : MOST);
    for (uint32_t i = 0; i < f->ahead; i++)
        (void)fprintf(f->to, "V %" PRIx64 "\n", list->values[i].value);
}

const char *values_format_instruction(struct values_format *f, const char *code, uint64_t offset)
{
    if (f->pid == 0)
        return NULL;
    (void)fprintf(f->to, "D %s %" PRIx64 "\n", code, offset);
    return answer(f, NULL);
}

void values_format_end(struct values_format *f)
{
    give_up(f, "");
}
