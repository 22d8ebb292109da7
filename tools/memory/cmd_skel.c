/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel`: program skeletons. regtrace-isa does the analysis: it is a separate program
 * beside the library because it contains a disassembler. */
#include "base/toolkit/beside.h"
#include "tools/installed.h"
#include "tools/run/run.h"
#include "tools/memory/skel_command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int wrong_word(const struct skel_options *o, const char *word)
{
    if (o->action == SKEL_NONE)
        tool_error(
            "skel",
            "\"%s\" is no action: skel analyze PROGRAM, skel source PROGRAM, skel replay DIR or "
            "skel stats DIR",
            word);
    else
        tool_error("skel", "one %s at a time: %s and %s were given",
                   o->action >= SKEL_REPLAY ? "run" : "program or library", o->path, word);
    return TOOL_USAGE;
}

static enum skel_action action_of(const char *word)
{
    for (int k = SKEL_NONE + 1; k < SKEL_ACTIONS; k++)
        if (strcmp(skel_actions[k], word) == 0)
            return (enum skel_action)k;
    return SKEL_NONE;
}

static int take_word(struct skel_options *o, const char *word)
{
    if (o->action == SKEL_NONE && (o->action = action_of(word)) != SKEL_NONE)
        return TOOL_OK;
    if (o->action == SKEL_NONE || o->path != NULL)
        return wrong_word(o, word);
    o->path = word;
    return TOOL_OK;
}

static int take_arguments(struct skel_options *o, struct arguments *a, int *code)
{
    for (;;) {
        switch (arguments_next(a)) {
        case ARGUMENT_WORD: *code = take_word(o, a->value); break;
        case ARGUMENT_OPTION: *code = skel_take_option(o, a); break;
        case ARGUMENT_END: return true;
        case ARGUMENT_DONE: *code = TOOL_OK; return false;
        default: *code = TOOL_USAGE; return false;
        }
        if (*code != TOOL_OK)
            return false;
    }
}

/* Looks up a word without a slash in PATH, as a shell does. */
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
        tool_error("skel", "%s", e.text);
        return false;
    }
    bool there = beside_library(library, "regtrace-isa", program);
    if (!there)
        tool_error("skel", "regtrace-isa is not installed beside libregtrace.so: it is built on "
                           "x86-64, where the disassembler Zydis is there");
    return there;
}

static int analyze(const struct skel_options *o)
{
    char program[PATH_MAX], image[PATH_MAX];
    const char *words[11] = {"regtrace-isa", "skel"};
    int n = 2;
    if (!skel_program(program) || !find_image(o->path, image))
        return TOOL_FAILURE;
    if (o->function != NULL) {
        words[n++] = "--function";
        words[n++] = o->function;
    }
    if (o->plan != NULL) {
        words[n++] = "--plan";
        words[n++] = o->plan;
    }
    if (o->action == SKEL_SOURCE)
        words[n++] = "--source";
    if (o->dot)
        words[n++] = "--dot";
    if (o->summary)
        words[n++] = "--summary";
    words[n++] = "--";
    words[n] = image;
    (void)execv(program, (char *const *)words);
    tool_error("skel", "%s cannot be run: %s", program, strerror(errno));
    return TOOL_FAILURE;
}

static int skel_main(int argc, char **argv)
{
    struct skel_options o = {
        .format = "text", .thread = -1, .compress = 1, .line_bytes = 64, .page_bytes = 4096};
    struct arguments a = {.command = &command_skel, .count = argc, .words = argv, .next = 1};
    int code = TOOL_OK;
    if (!take_arguments(&o, &a, &code))
        return code;
    if (o.path == NULL) {
        tool_error(
            "skel",
            "%s: regtrace skel analyze PROGRAM, regtrace skel source PROGRAM, regtrace skel replay "
            "DIR, or regtrace skel stats DIR",
            o.action == SKEL_NONE     ? "what is to be done?"
            : o.action >= SKEL_REPLAY ? "name the folder of a run"
                                      : "name a program or a library");
        return TOOL_USAGE;
    }
    code = skel_check_options(&o);
    if (code != TOOL_OK)
        return code;
    return o.action == SKEL_REPLAY  ? skel_replay(&o)
           : o.action == SKEL_STATS ? skel_stats(&o)
                                    : analyze(&o);
}

static const struct command_option skel_options[] = {
    {"function", "REGEX", "functions whose names an extended regular expression matches", 'f'},
    {"plan", "skeleton|registers|addresses",
     "what would be recorded by regtrace run with this -memory-plan (default skeleton)", 'p'},
    {"summary", NULL, "counts alone, and why functions cannot be analysed", 's'},
    {"dot", NULL, "graphs for dot(1): loops as boxes, recorded outcomes red", 0},
    {"rank", "LIST", "replay, stats: of these ranks (0-3,8)", 'r'},
    {"thread", "N", "replay, stats: of this thread", 't'},
    {"window", "N[-M]", "replay, stats: of these windows", 'w'},
    {"format", "text|lackey|count|binary|hdf5|json|csv",
     "replay: how accesses are written (default text); stats: text, json or csv", 0},
    {"line", "BYTES", "stats: of a cache line (default 64)", 0},
    {"page", "BYTES", "stats: of a page (default 4096)", 0},
    {"output", "FILE", "replay -format hdf5: the new file", 'o'},
    {"force", NULL, "replay -format hdf5: replace FILE if it is there, once the new one is whole",
     0},
    {"compress", "0-9", "replay -format hdf5: deflate level (default 1)", 0},
    {"follow", NULL, "replay: while the program runs, until its processes have ended", 0},
    {"jobs", "N", "replay, stats: so many recordings at once (default: as there are processors)",
     'j'},
    {NULL, NULL, NULL, 0},
};

const struct command command_skel = {
    .name = "skel",
    .summary = "memory traces: what must be recorded of a program, and the accesses of a run",
    .synopsis = "analyze|source [OPTION]... PROGRAM, or replay|stats [OPTION]... DIR",
    .description =
        "Analyses each function of a program or library by itself (Ketterlin and Clauss, program "
        "skeletonization): blocks and loops, each memory access as an expression in what has to be "
        "recorded and in the counters of its loops, each condition likewise. Nothing is run.\n"
        "\n"
        "source writes the skeletons as C: each function with its branches and loops, IN() where "
        "something is recorded, OUT() with the expression of each access. It needs nothing else to "
        "be compiled, neither the program.\n"
        "\n"
        "replay writes the memory accesses of a run that was recorded with -memory (what that "
        "records, memory.md in the documents says), in the order of execution, by rank, process, "
        "thread and window. It compiles the skeletons in the folder (by cc, or what CC names) and "
        "runs them: do that with runs that you trust. Formats: text has lines `PC R|W|M BYTES "
        "ADDRESS`, in hexadecimal but for BYTES, lackey those of valgrind's lackey, without the "
        "instructions; lines that begin with # say of whom, and count has them alone, with how "
        "many "
        "values and outcomes of branches were recorded. binary has records of 24 bytes for a "
        "simulator behind a pipe (memory.md), hdf5 makes a file for h5py "
        "and pandas (schema.md).\n"
        "\n"
        "stats says what those accesses are like, of each instruction (with its expression), loop, "
        "function, stream (what a thread does in a window) and of all: how many bytes, lines and "
        "pages they touch, the most frequent strides from one access of an instruction to the "
        "next, and reuse distances: how many other lines were touched in the stream since a line "
        "was touched last, counted in powers of two, exact. Formats: text for people, json, csv "
        "(memory.md has the columns).\n"
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
        "regtrace skel replay -format binary run | ./simulator\n"
        "regtrace skel replay -format hdf5 -window 0-9 -o accesses.h5 run\n"
        "regtrace skel stats -window 0-9 run | less\n"
        "regtrace skel stats -format csv -line 64 -page 2097152 run > stats.csv\n",
    .exits = "1: the file cannot be read, or has no such function; nothing was recorded, or it is "
             "damaged, or what is made of it cannot be written.",
    .main = skel_main,
};
