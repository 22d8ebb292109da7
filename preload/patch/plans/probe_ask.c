/* SPDX-License-Identifier: BSD-3-Clause
 * Asks regtrace-isa for plans; isa/plan/sites_main.c describes the lines of its answer. */
#include "preload/life.h"
#include "preload/patch/plans/probe_plans.h"

#include "base/toolkit/ask.h"
#include "base/toolkit/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define QUESTIONS_MAX 1000u
/* Address space for the answers: plans come inline if no folder can keep them. Less is taken if
 * address space is limited (ulimit -v). */
#define ANSWER_ROOM ((size_t)256 << 20)
#define ANSWER_ROOM_LEAST ((size_t)1 << 20)

static void take_plan(struct probe_answer *a, const void *bytes, size_t n)
{
    a->plan = isa_plan_read(bytes, n, NULL);
    a->bytes = n;
    if (a->plan != NULL)
        return;
    (void)munmap((void *)(uintptr_t)bytes, n);
    (void)snprintf(a->reason, sizeof a->reason, "regtrace-isa is of another version");
}

static void map_plan(struct probe_answer *a, const char *path)
{
    size_t bytes;
    const void *p = map_path(path, &bytes);
    if (p != NULL)
        take_plan(a, p, bytes);
    else
        (void)snprintf(a->reason, sizeof a->reason, "its plan %.400s cannot be read: %s", path,
                       strerror(errno));
}

static void copy_plan(struct probe_answer *a, const char *bytes, size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        (void)snprintf(a->reason, sizeof a->reason, "no memory");
        return;
    }
    memcpy(p, bytes, n);
    take_plan(a, p, n);
}

/* Returns field n of a line in which NULs have replaced the tabs; "" if there is none. */
static const char *field(const char *line, const char *end, unsigned n)
{
    while (n-- > 0 && line < end)
        line += strlen(line) + 1;
    return line < end ? line : "";
}

/* Reads one line, and the plan after it if the plan comes inline. Returns the end of what it has
 * read. */
static char *take_line(char *line, char *end, struct probe_answer *const *answers, unsigned count,
                       unsigned *next)
{
    char *stop = memchr(line, '\n', (size_t)(end - line));
    if (stop == NULL)
        return end;
    *stop = '\0';
    for (char *c = line; c < stop; c++)
        *c = *c == '\t' ? '\0' : *c;
    bool plan = strcmp(line, "plan") == 0, first = plan || strcmp(line, "!") == 0;
    if (first ? *next == count : *next == 0)
        return stop + 1;
    *next += first;
    struct probe_answer *a = answers[*next - 1];
    if (plan && field(line, stop, 5)[0] == '=') {
        size_t n = strtoull(field(line, stop, 5) + 1, NULL, 10);
        if (n >= (size_t)(end - stop))
            return end;
        copy_plan(a, stop + 1, n);
        return stop + 1 + n + 1;
    }
    if (plan)
        map_plan(a, field(line, stop, 5));
    else if (first || strcmp(line, "say") == 0)
        (void)snprintf(a->reason, sizeof a->reason, "%.500s", field(line, stop, 2));
    return stop + 1;
}

bool probe_can_ask(char path[PATH_MAX])
{
#if defined(__x86_64__)
    return process_find_program("regtrace-isa", path);
#else
    path[0] = '\0';
    return false;
#endif
}

static int ask(bool kept, const struct probe_question *const *questions, unsigned count, char *out,
               size_t room, size_t *length, struct rt_error *e)
{
    static const char *arguments[3 * QUESTIONS_MAX + 4];
    char path[PATH_MAX];
    unsigned n = 0;
    if (!probe_can_ask(path)) {
        rt_error_set(e,
                     "regtrace-isa, the program that finds places in machine code, is not there: "
                     "%s (it is built where Zydis and elfutils are)",
                     path);
        return -ENOENT;
    }
    arguments[n++] = path;
    arguments[n++] = "sites";
    if (!kept)
        arguments[n++] = "--no-cache";
    for (unsigned i = 0; i < count; i++) {
        if (i == 0 || questions[i]->image != questions[i - 1]->image) {
            if (i != 0)
                arguments[n++] = "--";
            arguments[n++] = questions[i]->image->path;
        }
        arguments[n++] = questions[i]->request;
    }
    arguments[n] = NULL;
    return ask_program(path, arguments, environ, out, room, length, e);
}

/* Set before main: the path of regtrace-isa, and the variable that finds its libraries. */
static char isa_path[PATH_MAX];
static char *isa_environment[2];

void probe_ask_prepare(void)
{
    const char *libraries = getenv("LD_LIBRARY_PATH");
    if (!probe_can_ask(isa_path))
        isa_path[0] = '\0';
    if (libraries != NULL && asprintf(&isa_environment[0], "LD_LIBRARY_PATH=%s", libraries) < 0)
        isa_environment[0] = NULL;
}

int probe_ask_instruction(uintptr_t at, const uint8_t *bytes, unsigned n,
                          struct probe_answer *answer, struct rt_error *e)
{
    static char out[8192];
    char address[24], text[32];
    size_t length = 0;
    unsigned next = 0;
    (void)snprintf(address, sizeof address, "0x%lx", (unsigned long)at);
    for (unsigned i = 0; i < n; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    const char *const arguments[] = {isa_path, "sites", "--instruction", address, text, NULL};
    memset(answer, 0, sizeof *answer);
    if (isa_path[0] == '\0')
        return -ENOENT;
    int rc = ask_program_with(isa_path, arguments, isa_environment, out, sizeof out, &length, e);
    for (char *line = out, *end = out + length; rc == 0 && line < end;)
        line = take_line(line, end, &answer, 1, &next);
    return rc == 0 && (answer->plan == NULL || answer->plan->sites.count != 1) ? -EINVAL : rc;
}

/* Asks regtrace-isa the questions that have no answer yet, all at once. */
static int ask_rest(bool kept, const struct probe_question *const *questions,
                    struct probe_answer *const *answers, unsigned count, struct rt_error *e)
{
    size_t length = 0;
    size_t room = 2 * ANSWER_ROOM;
    char *out = MAP_FAILED;
    while (out == MAP_FAILED && (room /= 2) >= ANSWER_ROOM_LEAST)
        out = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (out == MAP_FAILED) {
        rt_error_set(e, "no memory for the answers of regtrace-isa");
        return -ENOMEM;
    }
    int rc = ask(kept, questions, count, out, room, &length, e);
    unsigned next = 0;
    for (char *line = out, *end = out + length; rc == 0 && line < end;)
        line = take_line(line, end, answers, count, &next);
    (void)munmap(out, room);
    if (rc == 0 && next != count) {
        rt_error_set(e, "regtrace-isa left questions unanswered");
        rc = -EPROTO;
    }
    return rc;
}

/* Answers questions from the cache, and moves the unanswered ones to the front. Returns their
 * number. */
static unsigned find_kept(const struct probe_question **questions, struct probe_answer **answers,
                          unsigned count)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++)
        if (!probe_kept_find(questions[i], answers[i])) {
            questions[n] = questions[i];
            answers[n++] = answers[i];
        }
    return n;
}

int probe_ask(bool kept, const struct probe_question *questions, unsigned count,
              struct probe_answer *answers, struct rt_error *e)
{
    static const struct probe_question *rest[QUESTIONS_MAX];
    static struct probe_answer *to[QUESTIONS_MAX];
    if (count > QUESTIONS_MAX) {
        rt_error_set(e, "there are too many questions for regtrace-isa at once");
        return -E2BIG;
    }
    memset(answers, 0, count * sizeof *answers);
    for (unsigned i = 0; i < count; i++) {
        rest[i] = &questions[i];
        to[i] = &answers[i];
    }
    unsigned n = kept ? find_kept(rest, to, count) : count;
    if (n != 0 && kept) {
        /* every process with these questions claims the first one */
        probe_kept_claim(&questions[0]);
        n = find_kept(rest, to, n);
    }
    int rc = n != 0 ? ask_rest(kept, rest, to, n, e) : 0;
    probe_kept_release();
    return rc;
}

void probe_answer_free(struct probe_answer *a)
{
    if (a->plan != NULL)
        (void)munmap((void *)(uintptr_t)a->plan, a->bytes);
    a->plan = NULL;
}
