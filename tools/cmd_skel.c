/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel`: program skeletons. The analysis is done by regtrace-skel, a program beside the library, since it holds a decoder. */
#include "base/beside.h"
#include "tools/run.h"
#include "tools/tools.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wishes {
    const char *action, *path, *function;
    bool dot, summary;
};

static int wrong_word(const struct wishes *w, const char *word)
{
    if (w->action == NULL)
        message_error("skel",
                      "\"%s\" is no action: skel analyze PROGRAM or skel source PROGRAM (recording "
                      "and replay are not built yet)",
                      word);
    else
        message_error("skel", "one program or library at a time: %s and %s were given", w->path,
                      word);
    return TOOL_USAGE;
}

static int take_option(struct wishes *w, const struct arguments *a)
{
    const char *name = a->option->name;
    regex_t pattern;
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

static int take_arguments(struct wishes *w, struct arguments *a, int *code)
{
    for (;;) {
        switch (arguments_next(a)) {
        case ARGUMENT_WORD:
            if (w->action == NULL &&
                (strcmp(a->value, "analyze") == 0 || strcmp(a->value, "source") == 0))
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

static int analyze(const struct wishes *w)
{
    char library[PATH_MAX], program[PATH_MAX], image[PATH_MAX];
    struct rt_error e = {{0}};
    const char *words[8] = {"regtrace-skel"};
    int n = 1;
    if (installed_library(library, &e) != 0) {
        message_error("skel", "%s", e.text);
        return TOOL_FAILURE;
    }
    if (!beside_library(library, "regtrace-skel", program) || !find_image(w->path, image)) {
        message_error("skel",
                      "regtrace-skel is not installed beside libregtrace.so: it is built on "
                      "x86-64, where the disassembler Zydis is there");
        return TOOL_FAILURE;
    }
    if (w->function != NULL) {
        words[n++] = "--function";
        words[n++] = w->function;
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
    struct wishes w = {0};
    struct arguments a = {.command = &command_skel, .count = argc, .words = argv, .next = 1};
    int code = TOOL_OK;
    if (!take_arguments(&w, &a, &code))
        return code;
    if (w.path == NULL) {
        message_error("skel", "%s: regtrace skel analyze PROGRAM, or regtrace skel source PROGRAM",
                      w.action == NULL ? "what is to be done?" : "name a program or a library");
        return TOOL_USAGE;
    }
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
    {"summary", NULL, "counts alone, and why functions cannot be analysed", 's'},
    {"dot", NULL, "graphs for dot(1): loops as boxes, recorded outcomes red", 0},
    {NULL, NULL, NULL, 0},
};

const struct command command_skel = {
    .name = "skel",
    .summary = "say what of a program must be recorded to compute its memory accesses",
    .synopsis = "analyze|source [OPTION]... PROGRAM",
    .description =
        "Analyses each function of a program or library by itself (Ketterlin and Clauss, program "
        "skeletonization): blocks and loops, each memory access as an expression in what has to be "
        "recorded and in the counters of its loops, each condition likewise. Nothing is run. "
        "Recording by such plans and replay are not built yet.\n"
        "\n"
        "source writes the skeletons as C: each function with its branches and loops, IN() where "
        "something is recorded, OUT() with the expression of each access. It needs nothing else to "
        "be compiled, neither the program.\n"
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
    .examples = "regtrace skel analyze -function 'calc.*' ./swim\n"
                "regtrace skel analyze -summary /usr/lib/x86_64-linux-gnu/libm.so.6\n"
                "regtrace skel analyze -function main -dot ./swim | dot -Tsvg -o main.svg\n"
                "regtrace skel source -function 'calc.*' ./swim > swim_skeleton.c\n",
    .exits = "1: the file cannot be read, or has no such function.",
    .main = skel_main,
};
