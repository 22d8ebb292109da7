/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace doctor`: says what works on this machine, what does not and why, and whether a program
 * can be traced. */
#include "tools/helper_process.h"
#include "tools/installed.h"
#include "tools/doctor/doctor.h"
#include "tools/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN_SECONDS = 20, MOST_VARIABLES = 8 };

void finding_set(struct finding *f, enum finding_level level, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(f->text, sizeof f->text, fmt, args);
    va_end(args);
    f->level = level;
}

void doctor_read_line(const char *path, char *out, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, room - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

int doctor_run(const char *const argv[], const char *const *variables, char *out, size_t room)
{
    const char *all[MOST_VARIABLES + 2] = {"LD_PRELOAD"};
    for (size_t i = 0; i < MOST_VARIABLES && variables[i] != NULL; i++)
        all[i + 1] = variables[i];
    const struct helper h = {.words = argv,
                             .variables = all,
                             .seconds = RUN_SECONDS,
                             .in = STDIN_FILENO,
                             .out = HELPER_CAPTURED,
                             .err = HELPER_CAPTURED};
    return helper_capture(&h, out, room);
}

static const char *level_name(enum finding_level level)
{
    static const char *const names[] = {"ok", "note", "limited", "broken"};
    return names[level];
}

/* Looks at what the loader would map with our library preloaded. LD_TRACE_LOADED_OBJECTS runs
 * nothing of the program (ld.so(8)). */
static void look_loaded(const char *path, struct finding *f)
{
    static char out[65536];
    char library[PATH_MAX], preload[PATH_MAX + 16] = "LD_PRELOAD=";
    if (installed_library(library, NULL) == 0)
        (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    const char *const variables[] = {preload, "LD_TRACE_LOADED_OBJECTS=1", NULL};
    const char *const argv[] = {path, NULL};
    (void)doctor_run(argv, variables, out, sizeof out);
    bool ours = strstr(out, "libregtrace.so") != NULL;
    const char *mpi = strstr(out, "libmpich") != NULL ? "it links MPICH"
                      : strstr(out, "libmpi.so") != NULL
                          ? "it links Open MPI or an MPI with its names"
                          : "it links no MPI itself (it may load one later)";
    if (ours)
        finding_set(f, FINDING_OK, "%s: dynamically linked, the library gets in; %s", path, mpi);
    else
        finding_set(f, FINDING_BROKEN, "%s: the loader does not take the library in: %.300s", path,
                    out);
}

static void look_program(const char *word, struct finding *f)
{
    struct program p;
    struct rt_error e = {{0}};
    if (program_look(&p, word, &e) != 0) {
        finding_set(f, FINDING_BROKEN, "%.800s", e.text);
        return;
    }
    if (launcher_kind_of(&p) != LAUNCHER_NONE)
        finding_set(f, FINDING_NOTE,
                    "%s starts ranks and is not traced itself; name the program of the ranks",
                    word);
    else
        look_loaded(p.executable, f);
}

struct doctor_output {
    struct json json;
    bool as_json;
    enum finding_level worst;
};

static void show(struct doctor_output *o, const char *name, const struct finding *f)
{
    o->worst = f->level > o->worst ? f->level : o->worst;
    if (!o->as_json) {
        (void)printf("%-8s %-11s %s\n", level_name(f->level), name, f->text);
        (void)fflush(stdout);
        return;
    }
    json_object_begin(&o->json, NULL);
    json_compact(&o->json);
    json_text(&o->json, "name", name);
    json_text(&o->json, "level", level_name(f->level));
    json_text(&o->json, "text", f->text);
    json_object_end(&o->json);
}

static void examine(struct doctor_output *o, const struct examination *list)
{
    for (; list->name != NULL; list++) {
        struct finding f = {0};
        list->look(&f);
        show(o, list->name, &f);
    }
}

static int doctor_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_doctor, .count = argc, .words = argv, .next = 1};
    struct doctor_output o = {.json = {.out = stdout, .indented = true}};
    const char *program = NULL;
    for (enum argument_kind kind; (kind = arguments_next(&a)) != ARGUMENT_END;) {
        if (kind == ARGUMENT_DONE || kind == ARGUMENT_WRONG)
            return kind == ARGUMENT_DONE ? TOOL_OK : TOOL_USAGE;
        if (kind == ARGUMENT_OPTION)
            o.as_json = true;
        else if (program == NULL)
            program = a.value;
        else {
            tool_error("doctor", "one program at a time; \"%s\" is a second one", a.value);
            return TOOL_USAGE;
        }
    }
    if (o.as_json) {
        json_object_begin(&o.json, NULL);
        json_array_begin(&o.json, "findings");
    }
    examine(&o, examinations_machine);
    examine(&o, examinations_job);
    if (program != NULL) {
        struct finding f = {0};
        look_program(program, &f);
        show(&o, "program", &f);
    }
    if (o.as_json) {
        json_array_end(&o.json);
        json_bool(&o.json, "works", o.worst != FINDING_BROKEN);
        json_object_end(&o.json);
    } else {
        (void)puts(o.worst == FINDING_BROKEN
                       ? "\nThe main job cannot work here: see the lines that begin with broken."
                       : "\nThe main job works here.");
    }
    return output_finish("doctor", o.worst == FINDING_BROKEN ? TOOL_FAILURE : TOOL_OK);
}

static const struct command_option doctor_options[] = {
    {"json", NULL, "the findings as one JSON object", 0},
    {NULL, NULL, NULL, 0},
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "say what works on this machine, what does not and why",
    .synopsis = "[--json] [PROGRAM]",
    .description = "Looks at the machine (memory file system, clock, counters, limits, filters of "
                   "a container), at the installation (library, "
                   "loader, writer), records a tiny program into a temporary folder and reads it "
                   "back, and looks for MPI "
                   "and Python. With PROGRAM also whether that program can be traced: static and "
                   "setuid programs cannot.\n\n"
                   "Lines begin with ok, note (for the record), limited (works, less well) or "
                   "broken (the main job cannot work), "
                   "and say what to do.",
    .options = doctor_options,
    .examples = "regtrace doctor\nregtrace doctor ./app",
    .exits = "0 the main job can work, 1 it cannot, 2 wrong usage.",
    .main = doctor_main,
};
