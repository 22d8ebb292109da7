/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of `regtrace run`: checks before the start, the environment of ranks under launchers,
 * the child and its end. */
#ifndef REGTRACE_TOOLS_RUN_RUN_H
#define REGTRACE_TOOLS_RUN_RUN_H

#include "base/identity.h"
#include "base/options.h"
#include "tools/tools.h"

#include <limits.h>

struct ctl_config;

/* --- the program to run: program.c ------------------------------------------------------------ */

struct program {
    char path[PATH_MAX]; /* as found through PATH, absolute */
    /* Target of /proc/PID/exe at run time: links resolved; for a script, its interpreter. */
    char executable[PATH_MAX];
    char name[64]; /* base name of `executable` */
    /* Library that must come before libregtrace.so in LD_PRELOAD: AddressSanitizer's, if the
     * program needs it; "": none. */
    char runtime[PATH_MAX];
};

/* Finds `word` as execvp() does and checks it. Returns 0, or -errno with the reason and the remedy.
 * Fails if the program is:
 * - not there, or not executable
 * - static: the loader never runs
 * - setuid or with file capabilities: the loader ignores LD_PRELOAD
 * - for another machine */
RT_MUST_CHECK int program_look(struct program *p, const char *word, struct rt_error *e);

/* Checks whether libregtrace.so can be preloaded into one ELF file. Returns 0, or -errno as
 * program_look() does. */
RT_MUST_CHECK int program_check_elf(const char *path, struct rt_error *e);

/* --- programs compiled with -fsanitize=: program_sanitizer.c ---------------------------------- */

/* Sets `runtime`, see struct program. Returns 0, or -ENOEXEC with the reason and the remedy if the
 * program uses a sanitizer that does not work with the library. Ignores files that it cannot
 * read. */
RT_MUST_CHECK int program_look_sanitizer(const char *path, char runtime[PATH_MAX],
                                         struct rt_error *e);

/* --- launchers: launcher.c -------------------------------------------------------------------- */

enum launcher_kind { LAUNCHER_NONE, LAUNCHER_OPENMPI, LAUNCHER_HYDRA, LAUNCHER_OTHER };

/* Returns which kind of launcher the program is, if it is one. Runs an unknown mpirun with
 * --version to find out. */
enum launcher_kind launcher_kind_of(const struct program *p);

/* Returns the index in words of the first program of ranks after the launcher at words[0]; 0: not
 * found. */
int launcher_find_program(enum launcher_kind kind, int count, char *const *words);

/* Returns the number of ranks that -n, -np, -c and their long forms ask for; 0: not given. */
unsigned launcher_ranks(int count, char *const *words);

/* Returns the command with additional words, so that ranks see our environment. Open MPI: -x pairs
 * after the launcher's name and after each ":". Hydra: only LD_PRELOAD, by -genv, so that the
 * launcher itself does not load a sanitizer's runtime. `names`: variables that are set,
 * NULL-terminated. The result is malloc'ed, for use until exec; NULL: no memory. */
char **launcher_command(enum launcher_kind kind, int count, char **words, const char *preload,
                        const char *const *names);

/* --- chains and counters: check_chains.c ------------------------------------------------------ */

/* Parses all chains of these options. Unless `only_language`, also checks that this build has the
 * triggers that they need. Returns 0 with *config, which the caller frees by ctl_config_free(), or
 * -errno with the controller's text. Prints warnings to stderr unless `quiet`. */
RT_MUST_CHECK int run_parse_chains(const struct options *o, bool only_language, bool quiet,
                                   struct ctl_config **config, struct rt_error *e);

/* Checks that this machine can provide all samples and counters of these options at the same time.
 * one_window: there is no chain, so the whole run is one window. Returns 0, or -errno with the
 * text. */
RT_MUST_CHECK int run_check_counters(const struct options *o, bool one_window, struct rt_error *e);

/* Checks that this machine can count for -count. Returns 0, or -EINVAL with the reason and the
 * remedy. */
RT_MUST_CHECK int run_check_count(const struct options *o, struct rt_error *e);

/* Checks that values can be captured as these options ask (-values). A separate process loads the
 * plug-in. `library`: from installed_library(). Returns 0, or -errno with the text. */
RT_MUST_CHECK int run_check_values(const struct options *o, bool one_window, const char *library,
                                   struct rt_error *e);

/* Returns what the checks found out about names of events, for the environment of the ranks, so
 * that no rank has to ask again. Returns NULL if there is nothing. Valid until the next call. */
const char *run_event_codes(const struct identity *id);

/* Returns true if the line of the log ends with a warning that run_parse_chains() has printed. */
bool run_has_said(const char *line);

/* --- the end of a run: run_end.c -------------------------------------------------------------- */

/* How a run ended. The caller owns the texts. */
struct run_end {
    const struct options *options;
    const char *folder; /* of the run */
    /* Folder that -o names, if it was in use and `folder` replaces it; else NULL. */
    const char *taken;
    const char *taken_why;
    /* base name of the program to trace; NULL: unknown */
    const char *program;
    /* command that starts the ranks; NULL: none */
    const char *launcher;
    unsigned chains; /* number of chains in the options */
    int status;      /* from waitpid(); negative: not started */
    bool remove_if_empty, quiet;
};

/* Waits, up to -exit-wait, for writers that still close files. Then prints the folder and the lines
 * of the log, or possible reasons if nothing was recorded. */
void run_print_end(const struct run_end *end);

#endif
