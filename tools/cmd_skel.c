/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel`: program skeletons. The analysis is done by regtrace-skel, a program beside the library, since it holds a decoder. */
#include "base/beside.h"
#include "base/options.h"
#include "tools/run.h"
#include "tools/skel.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wrong_word(const struct skel_wishes *w, const char *word)
{
    if (w->action == NULL)
        message_error(
            "skel",
            "\"%s\" is no action: skel analyze PROGRAM, skel source PROGRAM or skel replay "
            "DIR",
            word);
    else
        message_error("skel", "one %s at a time: %s and %s were given",
                      strcmp(w->action, "replay") == 0 ? "run" : "program or library", w->path,
                      word);
    return TOOL_USAGE;
}

/* Of skel replay. */
static int take_replay_option(struct skel_wishes *w, const char *name, const char *value)
{
    struct rt_error e = {{0}};
    uint64_t n = 0;
    int rc = 0;
    if (strcmp(name, "rank") == 0)
        rc = rank_list_parse(&w->ranks, value, &e);
    else if (strcmp(name, "window") == 0)
        rc = window_span_parse(&w->windows, value, &e);
    else if (strcmp(name, "thread") == 0 && (rc = argument_number(value, 0, UINT32_MAX, &n)) != 0)
        rt_error_set(
            &e, "-thread is \"%s\": the number of a thread is legal, as in regtrace report", value);
    else if (strcmp(name, "format") == 0 && strcmp(value, "text") != 0 &&
             strcmp(value, "lackey") != 0 && strcmp(value, "count") != 0 &&
             strcmp(value, "binary") != 0) {
        rt_error_set(&e, "-format is \"%s\": text, lackey, count or binary is legal", value);
        rc = -EINVAL;
    } else if (strcmp(name, "format") == 0)
        w->format = value;
    if (strcmp(name, "thread") == 0)
        w->thread = (int64_t)n;
    if (rc != 0)
        message_error("skel", "%s", e.text);
    return rc != 0 ? TOOL_USAGE : TOOL_OK;
}

static bool is_replay_option(const char *name)
{
    return strcmp(name, "rank") == 0 || strcmp(name, "window") == 0 ||
           strcmp(name, "thread") == 0 || strcmp(name, "format") == 0;
}

/* As regtrace run -memory-plan takes it. */
static int take_plan(struct skel_wishes *w, const char *value)
{
    struct option_row row = option_table[OPT_memory_plan];
    struct rt_error e = {{0}};
    uint64_t n;
    int rc = value[0] != '\0' ? option_check(&row, value, &n, &e) : -EINVAL;
    if (rc != 0)
        message_error("skel", "-plan is \"%s\": legal is %s", value, row.values);
    w->plan = value;
    return rc != 0 ? TOOL_USAGE : TOOL_OK;
}

static int take_option(struct skel_wishes *w, const struct arguments *a)
{
    const char *name = a->option->name;
    regex_t pattern;
    if (is_replay_option(name)) {
        w->of_replay = name;
        return take_replay_option(w, name, a->value);
    }
    if (strcmp(name, "plan") == 0)
        return take_plan(w, a->value);
    if (strcmp(name, "dot") == 0) {
        w->dot = true;
    } else if (strcmp(name, "summary") == 0) {
        w->summary = true;
    } else if (a->value[0] == '\0' || regcomp(&pattern, a->value, REG_EXTENDED | REG_NOSUB) != 0) {
        message_error("skel", "-function is \"%s\": an extended regular expression is legal",
                      a->value);
        return TOOL_USAGE;
    } else {
        regfree(&pattern);
        w->function = a->value;
    }
    return TOOL_OK;
}

static int take_arguments(struct skel_wishes *w, struct arguments *a, int *code)
{
    for (;;) {
        switch (arguments_next(a)) {
        case ARGUMENT_WORD:
            if (w->action == NULL &&
                (strcmp(a->value, "analyze") == 0 || strcmp(a->value, "source") == 0 ||
                 strcmp(a->value, "replay") == 0))
                w->action = a->value;
            else if (w->action != NULL && w->path == NULL)
                w->path = a->value;
            else
                *code = wrong_word(w, a->value);
            break;
        case ARGUMENT_OPTION: *code = take_option(w, a); break;
        case ARGUMENT_END: return true;
        case ARGUMENT_DONE: *code = TOOL_OK; return false;
        default: *code = TOOL_USAGE; return false;
        }
        if (*code != TOOL_OK)
            return false;
    }
}

/* A word without a slash is looked for as a shell does. */
static bool find_image(const char *word, char out[PATH_MAX])
{
    struct program p;
    struct rt_error e = {{0}};
    if (strchr(word, '/') == NULL && access(word, R_OK) != 0 && program_look(&p, word, &e) == 0)
        return snprintf(out, PATH_MAX, "%s", p.executable) < PATH_MAX;
    return snprintf(out, PATH_MAX, "%s", word) < PATH_MAX;
}

bool skel_program(char program[PATH_MAX])
{
    char library[PATH_MAX];
    struct rt_error e = {{0}};
    if (installed_library(library, &e) != 0) {
        message_error("skel", "%s", e.text);
        return false;
    }
    bool there = beside_library(library, "regtrace-skel", program);
    if (!there)
        message_error("skel",
                      "regtrace-skel is not installed beside libregtrace.so: it is built on "
                      "x86-64, where the disassembler Zydis is there");
    return there;
}

static int analyze(const struct skel_wishes *w)
{
    char program[PATH_MAX], image[PATH_MAX];
    const char *words[10] = {"regtrace-skel"};
    int n = 1;
    if (!skel_program(program) || !find_image(w->path, image))
        return TOOL_FAILURE;
    if (w->function != NULL) {
        words[n++] = "--function";
        words[n++] = w->function;
    }
    if (w->plan != NULL) {
        words[n++] = "--plan";
        words[n++] = w->plan;
    }
    if (strcmp(w->action, "source") == 0)
        words[n++] = "--source";
    if (w->dot)
        words[n++] = "--dot";
    if (w->summary)
        words[n++] = "--summary";
    words[n++] = "--";
    words[n] = image;
    (void)execv(program, (char *const *)words);
    message_error("skel", "%s cannot be run: %s", program, strerror(errno));
    return TOOL_FAILURE;
}

static int skel_main(int argc, char **argv)
{
    struct skel_wishes w = {.format = "text", .thread = -1};
    struct arguments a = {.command = &command_skel, .count = argc, .words = argv, .next = 1};
    int code = TOOL_OK;
    if (!take_arguments(&w, &a, &code))
        return code;
    if (w.path == NULL) {
        message_error(
            "skel",
            "%s: regtrace skel analyze PROGRAM, regtrace skel source PROGRAM, or regtrace "
            "skel replay DIR",
            w.action == NULL                  ? "what is to be done?"
            : strcmp(w.action, "replay") == 0 ? "name the folder of a run"
                                              : "name a program or a library");
        return TOOL_USAGE;
    }
    bool replay = strcmp(w.action, "replay") == 0;
    if (replay ? w.dot || w.summary || w.function != NULL || w.plan != NULL : w.of_replay != NULL) {
        message_error("skel", "-%s is not for skel %s",
                      !replay     ? w.of_replay
                      : w.plan    ? "plan"
                      : w.dot     ? "dot"
                      : w.summary ? "summary"
                                  : "function",
                      w.action);
        return TOOL_USAGE;
    }
    if (replay)
        return skel_replay(&w);
    if (w.dot && w.summary) {
        message_error("skel", "-dot and -summary are two kinds of output: one of them is legal");
        return TOOL_USAGE;
    }
    if ((w.dot || w.summary) && strcmp(w.action, "source") == 0) {
        message_error("skel", "-dot and -summary are for skel analyze: skel source writes C");
        return TOOL_USAGE;
    }
    return analyze(&w);
}

static const struct command_option skel_options[] = {
    {"function", "REGEX", "functions whose names an extended regular expression matches", 'f'},
    {"plan", "NAME", "what would be recorded by regtrace run -memory-plan NAME (default skeleton)",
     'p'},
    {"summary", NULL, "counts alone, and why functions cannot be analysed", 's'},
    {"dot", NULL, "graphs for dot(1): loops as boxes, recorded outcomes red", 0},
    {"rank", "LIST", "replay: of these ranks (0-3,8)", 'r'},
    {"thread", "N", "replay: of this thread", 't'},
    {"window", "N[-M]", "replay: of these windows", 'w'},
    {"format", "text|lackey|count|binary", "replay: how accesses are written (default text)", 0},
    {NULL, NULL, NULL, 0},
};

const struct command command_skel = {
    .name = "skel",
    .summary = "memory traces: what must be recorded of a program, and the accesses of a run",
    .synopsis = "analyze|source [OPTION]... PROGRAM, or replay [OPTION]... DIR",
    .description =
        "Analyses each function of a program or library by itself (Ketterlin and Clauss, program "
        "skeletonization): blocks and loops, each memory access as an expression in what has to be "
        "recorded and in the counters of its loops, each condition likewise. Nothing is run.\n"
        "\n"
        "source writes the skeletons as C: each function with its branches and loops, IN() where "
        "something is recorded, OUT() with the expression of each access. It needs nothing else to "
        "be compiled, neither the program.\n"
        "\n"
        "replay writes the memory accesses of a run that was recorded with -memory, in the order "
        "of "
        "execution, thread by thread and window by window: `PC R|W|M BYTES ADDRESS` in hexadecimal "
        "(BYTES decimal), or as valgrind's lackey has them, without the instructions; count gives "
        "sums, and how many values and outcomes of branches they were computed from. Lines that "
        "begin with # say of whom. binary gives records of 24 bytes for a simulator "
        "behind a pipe (share/doc/memory.md has them). It compiles the skeleton in the folder (by "
        "cc, "
        "or "
        "what CC names) and runs it: do that with runs that you trust. Recorded are "
        "functions of the program that match and were entered in the window, from their entry to "
        "their return: not those that had been entered before it opened, nor libraries, nor "
        "handlers of "
        "signals; those that cannot be cloned are named when the program starts.\n"
        "\n"
        "A line `R 8 0x603148 + 8*J + 30416*I` reads 8 bytes there (W: writes, M: both), where I "
        "counts the iterations of the outermost loop from 0 on, J those of the next within it. "
        "`image` is where the file is loaded, rsi.3 the third value that rsi takes, sx32() and "
        "zx32() the low 32 bits with and without their sign. `* record` marks what is to be "
        "recorded, "
        "[record the outcome] a condition that cannot be computed. The static ratio is what is "
        "recorded over all accesses.\n"
        "\n"
        "x86-64 alone.",
    .options = skel_options,
    .examples =
        "regtrace skel analyze -function 'calc.*' ./swim\n"
        "regtrace skel analyze -summary /usr/lib/x86_64-linux-gnu/libm.so.6\n"
        "regtrace skel analyze -function main -dot ./swim | dot -Tsvg -o main.svg\n"
        "regtrace skel source -function 'calc.*' ./swim > swim_skeleton.c\n"
        "regtrace run -o run -memory 'calc.*' -- ./swim && regtrace skel replay run | head\n"
        "regtrace skel replay -format binary run | ./simulator\n",
    .exits = "1: the file cannot be read, or has no such function; nothing was recorded, or it is "
             "damaged.",
    .main = skel_main,
};
