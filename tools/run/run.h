/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of `regtrace run`: what is checked, how launchers are given the environment, how the child is kept. */
#ifndef REGTRACE_TOOLS_RUN_RUN_H
#define REGTRACE_TOOLS_RUN_RUN_H

#include "base/identity.h"
#include "base/options.h"
#include "tools/tools.h"

#include <limits.h>

struct ctl_config;

/* --- program.c: what kind of program is it ---------------------------------------------------------- */

struct program {
    char path[PATH_MAX]; /* as found through PATH, absolute */
    char executable
        [PATH_MAX]; /* what /proc/PID/exe will say: links resolved, the interpreter of a script */
    char name[64];  /* base name of `executable` */
    /* Library that must come before libregtrace.so in LD_PRELOAD: AddressSanitizer's, if the
     * program needs it; "": none. */
    char runtime[PATH_MAX];
};

/* Find `word` as execvp would and look at it. 0, or -errno with the reason and the remedy: not there, not
 * executable, static (the loader never runs), setuid or with file capabilities (the loader ignores
 * LD_PRELOAD), another machine's. */
RT_MUST_CHECK int program_look(struct program *p, const char *word, struct rt_error *e);

/* The same for one ELF file: can libregtrace.so be preloaded into it? */
RT_MUST_CHECK int program_check_elf(const char *path, struct rt_error *e);

/* --- sanitized.c: programs compiled with -fsanitize= ----------------------------------------- */

/* Sets `runtime`, see struct program. Returns 0, or -ENOEXEC with the reason and the remedy if
 * the program uses a sanitizer that does not work with the library. Ignores files that it cannot
 * read. */
RT_MUST_CHECK int program_look_sanitizer(const char *path, char runtime[PATH_MAX],
                                         struct rt_error *e);

/* --- launcher.c ---------------------------------------------------------------------------------------- */

enum launcher_kind { LAUNCHER_NONE, LAUNCHER_OPENMPI, LAUNCHER_HYDRA, LAUNCHER_OTHER };

/* Is this program one that starts ranks, and whose? An unknown mpirun is asked for its --version. */
enum launcher_kind launcher_kind_of(const struct program *p);

/* Index in words of the first rank program behind the launcher at words[0]; 0 = not found. */
int launcher_find_program(enum launcher_kind kind, int count, char *const *words);

/* Number of ranks asked for by -n, -np, -c; 0 = not said. */
unsigned launcher_ranks(int count, char *const *words);

/* Returns the command with additional words, so that ranks see our environment. Open MPI: -x pairs
 * after the launcher's name and after each ":". Hydra: only LD_PRELOAD, by -genv, so that the
 * launcher itself does not load a sanitizer's runtime. `names`: variables that are set,
 * NULL-terminated. The result is malloc'ed, kept until exec. */
char **launcher_command(enum launcher_kind kind, int count, char **words, const char *preload,
                        const char *const *names);

/* --- installed.c: where our own parts are --------------------------------------------------------------- */

/* Absolute path of libregtrace.so: REGTRACE_LIBRARY, else relative to this program (installed and in a
 * build tree). 0 or -ENOENT with the places looked at. */
RT_MUST_CHECK int installed_library(char out[PATH_MAX], struct rt_error *e);

/* Absolute path of regtrace-writer: `wanted` (option -writer), else relative to the library as it looks itself. */
RT_MUST_CHECK int installed_writer(char out[PATH_MAX], const char *library, const char *wanted,
                                   struct rt_error *e);

/* Absolute path of regtrace-events, which names counted events; false: it is not there. */
bool installed_events(char out[PATH_MAX]);

/* --- control.c ---------------------------------------------------------------------------------------------- */

/* Parse all chains that these options bring. 0 or -errno with the controller's text; without
 * `only_language` also -errno for what this build has no trigger for. *config is the caller's
 * (ctl_config_free). Warnings go to stderr unless quiet. */
RT_MUST_CHECK int run_parse_chains(const struct options *o, bool only_language, bool quiet,
                                   struct ctl_config **config, struct rt_error *e);

/* Can the samples and counters that these options ask for be had here, all at once? one_window: no chain, the run is one
 * window. 0 or -errno with the text. */
RT_MUST_CHECK int run_check_counters(const struct options *o, bool one_window, struct rt_error *e);

/* Can this machine count what -count asks for? 0, or -EINVAL with the reason and the remedy. */
RT_MUST_CHECK int run_check_count(const struct options *o, struct rt_error *e);

/* Can values be captured as these options ask for (-values)? The plug-in is loaded by a process of its own. library: installed_library()'s.
 * 0 or -errno with the text. */
RT_MUST_CHECK int run_check_values(const struct options *o, bool one_window, const char *library,
                                   struct rt_error *e);

/* What was learned of the names of events on the way, to be handed to the ranks by the environment: none of them has
 * to ask again. NULL: nothing. Valid until the next call. */
const char *run_event_codes(const struct identity *id);

/* Does a line of the log end with a warning that was printed then? */
bool run_has_said(const char *line);

/* --- child.c ------------------------------------------------------------------------------------------------- */

/* Wait for a child of ours whose end does not matter. */
void child_wait_quietly(int pid);

/* Run command as a child with signals passed on; returns the wait status, or -errno when it could not start. */
int child_run(const char *path, char *const *command);

/* End this process as the child ended: the same exit code, or the same signal without a second core file. */
_Noreturn void child_end_as(int status);

/* --- run_end.c ------------------------------------------------------------------------------------------------ */

/* How a run ended. The caller owns the texts. */
struct run_end {
    const struct options *options;
    const char *folder; /* the run's */
    const char *taken;  /* folder that -o named and that was in use; NULL: `folder` is it */
    const char *taken_why;
    const char *program;  /* base name of the program to trace; NULL: unknown */
    const char *launcher; /* command that starts the ranks; NULL: none */
    unsigned chains;      /* number of chains in the options */
    int status;           /* from waitpid(); negative: not started */
    bool remove_if_empty, quiet;
};

/* Waits (up to -exit-wait) for writers that still close files, then prints the folder and the log's
 * lines. If nothing was recorded, prints possible reasons. */
void run_print_end(const struct run_end *end);

#endif
