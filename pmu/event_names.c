/* SPDX-License-Identifier: BSD-3-Clause
 * Finds counted events by name. This file knows the kernel's generic names and raw codes; it asks
 * the program regtrace-events for others, and caches the answers, which can be passed on. */
#include "pmu/backend.h"

#include "base/toolkit/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_MISSES(cache)                                                                        \
    ((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

/* Names as in perf-list(1). */
static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} generic[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE_MISSES(PERF_COUNT_HW_CACHE_L1D)},
    {"LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE_MISSES(PERF_COUNT_HW_CACHE_LL)},
    {"dTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE_MISSES(PERF_COUNT_HW_CACHE_DTLB)},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
};

/* Cached answers. An event without codes is not available, and its meaning says why. */
enum { ANSWERS = 20, ANSWER_ROOM = 16 << 10 };
static struct pmu_event answers[ANSWERS];
static unsigned answer_count;

static bool (*find_program)(char path[PATH_MAX]);
static char *const *program_environment;

static void kernel_event(struct pmu_event *out, const char *name, size_t length, uint32_t type,
                         uint64_t config)
{
    *out = (struct pmu_event){.source = "kernel", .count = 1};
    out->code[0] = (struct pmu_code){.type = type, .config = config};
    out->sign[0] = 1;
    (void)snprintf(out->name, sizeof out->name, "%.*s", (int)length, name);
}

static bool is_known_here(const char *text, size_t length, struct pmu_event *out)
{
    for (size_t i = 0; i < sizeof generic / sizeof *generic; i++)
        if (strlen(generic[i].name) == length && strncmp(generic[i].name, text, length) == 0) {
            kernel_event(out, text, length, generic[i].type, generic[i].config);
            return true;
        }
    if (text[0] != 'r' || length < 2 || length > 17 ||
        strspn(text + 1, "0123456789abcdefABCDEF") < length - 1)
        return false;
    kernel_event(out, text, length, PERF_TYPE_RAW, strtoull(text + 1, NULL, 16));
    return true;
}

static const struct pmu_event *answer_of(const char *text, size_t length)
{
    for (unsigned i = 0; i < answer_count; i++)
        if (strlen(answers[i].name) == length && strncmp(answers[i].name, text, length) == 0)
            return &answers[i];
    return NULL;
}

/* --- answers of regtrace-events --------------------------------------------------------------- */

static bool read_codes(const char *at, struct pmu_event *out)
{
    if (at[0] == '!')
        return at[1] == '\0';
    while (*at != '\0') {
        unsigned long long number[4] = {0};
        if ((*at != '+' && *at != '-') || out->count == PMU_PARTS)
            return false;
        out->sign[out->count] = *at == '-' ? -1 : 1;
        for (int i = 0; i < 4; i++) {
            char *end;
            number[i] = strtoull(at + 1, &end, 16);
            if (end == at + 1 || (i < 3 && *end != '.'))
                return false;
            at = end;
        }
        out->code[out->count++] = (struct pmu_code){.type = (uint32_t)number[0],
                                                    .config = number[1],
                                                    .config1 = number[2],
                                                    .config2 = number[3]};
    }
    return out->count != 0;
}

/* Takes one line of four fields. Ignores a malformed line: its name stays unknown. */
static void take_answer(char *line, const char *separator)
{
    char *field[4];
    for (int i = 0; i < 4; i++) {
        field[i] = line;
        line += strcspn(line, i < 3 ? separator : "");
        if (i < 3 && *line == '\0')
            return;
        *line++ = '\0';
    }
    struct pmu_event e = {.source = strcmp(field[2], "PAPI") == 0 ? "PAPI" : "libpfm4"};
    if (answer_count == ANSWERS || strlen(field[1]) >= sizeof e.name ||
        answer_of(field[1], strlen(field[1])) != NULL || !read_codes(field[0], &e))
        return;
    (void)snprintf(e.name, sizeof e.name, "%s", field[1]);
    (void)snprintf(e.meaning, sizeof e.meaning, "%s", field[3]);
    answers[answer_count++] = e;
}

static void take_answers(char *text, char newline, const char *separator)
{
    while (*text != '\0') {
        char *end = strchrnul(text, newline), *next = *end != '\0' ? end + 1 : end;
        *end = '\0';
        take_answer(text, separator);
        text = next;
    }
}

void pmu_names_prepare(bool (*find)(char path[PATH_MAX]), char *const *environment)
{
    find_program = find;
    program_environment = environment;
}

void pmu_names_take(const char *given, const char *boot_id)
{
    size_t n = strlen(boot_id);
    if (given == NULL || n == 0 || strncmp(given, boot_id, n) != 0 || given[n] != ';')
        return;
    char *copy = strdup(given + n + 1);
    if (copy != NULL)
        take_answers(copy, ';', "|");
    free(copy);
}

bool pmu_names_give(const char *boot_id, char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "%s", boot_id);
    for (unsigned i = 0; i < answer_count && n < room; i++) {
        const struct pmu_event *e = &answers[i];
        n += (size_t)snprintf(out + n, room - n, ";%s", e->count == 0 ? "!" : "");
        for (unsigned c = 0; c < e->count && n < room; c++)
            n += (size_t)snprintf(
                out + n, room - n, "%c%x.%llx.%llx.%llx", e->sign[c] < 0 ? '-' : '+',
                e->code[c].type, (unsigned long long)e->code[c].config,
                (unsigned long long)e->code[c].config1, (unsigned long long)e->code[c].config2);
        size_t from = n;
        if (n < room)
            n += (size_t)snprintf(out + n, room - n, "|%s|%s|", e->name, e->source);
        for (const char *p = e->meaning; *p != '\0' && n + 1 < room; p++)
            out[n++] = *p == ';' || *p == '|' ? ',' : *p;
        if (n < room)
            out[n] = '\0';
        if (strchr(e->name, ';') != NULL || strchr(e->name, '|') != NULL)
            out[n = from] = '\0'; /* not a name of an event */
    }
    return answer_count != 0 && n < room;
}

/* Asks for all names at once. If that is impossible, *why gets the reason. */
static void ask(const char *const *names, unsigned count, struct rt_error *why)
{
    char path[PATH_MAX];
    const char *arguments[PMU_COUNTERS + 2] = {path};
    char *text = malloc(ANSWER_ROOM);
    size_t length;
    if (find_program == NULL || !find_program(path))
        rt_error_set(why, "regtrace-events, the program that knows the names of PAPI and libpfm4, "
                          "is not beside the library");
    else if (text != NULL) {
        for (unsigned i = 0; i < count && i < PMU_COUNTERS; i++)
            arguments[i + 1] = names[i];
        if (ask_program(path, arguments, program_environment, text, ANSWER_ROOM, &length, why) == 0)
            take_answers(text, '\n', "\t");
    }
    free(text);
}

/* If PAPI counts nothing because the kernel forbids it, the kernel's remedy helps: append it. */
static void explain_refusal(const struct pmu_event *e, struct rt_error *why)
{
    struct rt_error kernel = {{0}};
    struct pmu_event any;
    rt_error_set(why, "%s", e->meaning);
    if (strcmp(e->source, "PAPI") != 0 || !is_known_here("instructions", 12, &any))
        return;
    int fd = pmu_perf_open(pmu_perf_attr(any.code[0]));
    if (fd >= 0) {
        pmu_perf_close(fd);
        return;
    }
    pmu_perf_explain(fd, any.code[0].type, &kernel);
    rt_error_set(why, "%s; %s", e->meaning, kernel.text);
}

/* Returns whether the event happens in the kernel only. Counts cover user mode, so it would be
 * 0. */
static bool is_of_the_kernel(const struct pmu_event *e)
{
    for (unsigned i = 0; i < e->count; i++)
        if (e->code[i].type == PERF_TYPE_TRACEPOINT ||
            (e->code[i].type == PERF_TYPE_SOFTWARE &&
             (e->code[i].config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
              e->code[i].config == PERF_COUNT_SW_CPU_MIGRATIONS)))
            return true;
    return false;
}

bool pmu_event_find(const char *text, size_t length, struct pmu_event *out, struct rt_error *why)
{
    char name[PMU_NAME];
    const char *list[] = {name};
    rt_error_set(why, "nobody knows its name");
    if (is_known_here(text, length, out))
        return true;
    if (length == 0 || length >= sizeof name || text[0] == '-' || memchr(text, '\t', length))
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)length, text);
    if (answer_of(name, length) == NULL)
        ask(list, 1, why);
    const struct pmu_event *found = answer_of(name, length);
    if (found == NULL)
        return false;
    *out = *found;
    if (found->count == 0)
        explain_refusal(found, why);
    else if (is_of_the_kernel(found))
        rt_error_set(why, "it happens in the kernel, and what is counted is the program in user "
                          "mode: it would be 0");
    return found->count != 0 && !is_of_the_kernel(found);
}

void pmu_events_expect(const char *list)
{
    static char names[PMU_COUNTERS][PMU_NAME];
    const char *unknown[PMU_COUNTERS];
    unsigned count = 0;
    struct pmu_event known;
    struct rt_error why;
    for (const char *at = list; *at != '\0' && count < PMU_COUNTERS;) {
        size_t n = strcspn(at, ",");
        if (n > 0 && n < PMU_NAME && at[0] != '-' && !is_known_here(at, n, &known) &&
            answer_of(at, n) == NULL) {
            (void)snprintf(names[count], PMU_NAME, "%.*s", (int)n, at);
            unknown[count] = names[count];
            count++;
        }
        at += n + (at[n] == ',');
    }
    if (count > 1)
        ask(unknown, count, &why);
}

void pmu_event_describe(const struct pmu_event *e, char *out, size_t room)
{
    size_t n = (size_t)snprintf(out, room, "%s: %s%s", e->source,
                                e->meaning[0] != '\0' ? e->meaning : e->name, " (");
    for (unsigned c = 0; c < e->count && n < room; c++)
        n += (size_t)snprintf(out + n, room - n, "%stype %u config 0x%llx", c == 0 ? "" : "; ",
                              e->code[c].type, (unsigned long long)e->code[c].config);
    if (n < room)
        (void)snprintf(out + n, room - n, ")");
}

bool pmu_names_about(char *papi, char *pfm, size_t room)
{
    char path[PATH_MAX], text[4096];
    const char *arguments[] = {path, "--about", NULL};
    struct rt_error why = {{0}};
    bool found = false;
    size_t length;
    (void)snprintf(
        papi, room,
        "regtrace-events is not beside libregtrace.so, nor in ../libexec/regtrace from there");
    pfm[0] = '\0';
    if (find_program == NULL || !find_program(path))
        return false;
    if (ask_program(path, arguments, program_environment, text, sizeof text, &length, &why) != 0) {
        (void)snprintf(papi, room, "%s", why.text);
        return false;
    }
    for (char *line = text; *line != '\0';) {
        char *end = strchrnul(line, '\n'), *tab = memchr(line, '\t', (size_t)(end - line)),
             *meaning = memrchr(line, '\t', (size_t)(end - line));
        if (tab != NULL && meaning != NULL) {
            bool is_papi = strncmp(tab + 1, "PAPI", 4) == 0;
            (void)snprintf(is_papi ? papi : pfm, room, "%.*s", (int)(end - meaning - 1),
                           meaning + 1);
            found = found || (is_papi && line[0] != '!');
        }
        line = end + (*end != '\0');
    }
    return found;
}
