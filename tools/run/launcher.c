/* SPDX-License-Identifier: BSD-3-Clause
 * Recognizes launchers, finds the program of the ranks among their arguments, and passes our
 * environment through them. */
#include "tools/helper_process.h"
#include "tools/run/run.h"

#include "base/identity.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

/* Writes the beginning of the output of `PATH --version` to `out`; "" if it cannot be run. Uses no
 * shell, so the path needs no quoting. Ends the program after 10 s. */
static void ask_version(const char *path, char out[512])
{
    const char *const words[] = {path, "--version", NULL};
    const struct helper h = {.words = words,
                             .seconds = 10,
                             .in = STDIN_FILENO,
                             .out = HELPER_CAPTURED,
                             .err = HELPER_CAPTURED};
    (void)helper_capture(&h, out, 512);
}

enum launcher_kind launcher_kind_of(const struct program *p)
{
    static const char *const openmpi[] = {"orterun",        "prterun",         "prun",
                                          "mpirun.openmpi", "mpiexec.openmpi", NULL};
    static const char *const hydra[] = {"mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich", NULL};
    static const char *const unclear[] = {"mpirun", "mpiexec", NULL};
    static const char *const other[] = {"srun", "aprun",         "jsrun", "palsrun",
                                        "flux", "mpiexec.slurm", NULL};
    const char *called = identity_base_name(p->path);
    if (is_one_of(p->name, openmpi) || is_one_of(called, openmpi))
        return LAUNCHER_OPENMPI;
    if (is_one_of(p->name, hydra) || is_one_of(called, hydra))
        return LAUNCHER_HYDRA;
    if (is_one_of(p->name, other) || is_one_of(called, other))
        return LAUNCHER_OTHER;
    if (!is_one_of(called, unclear))
        return LAUNCHER_NONE;
    char text[512];
    ask_version(p->path, text);
    if (strstr(text, "Open MPI") != NULL || strstr(text, "OpenRTE") != NULL ||
        strstr(text, "prte") != NULL)
        return LAUNCHER_OPENMPI;
    return strstr(text, "HYDRA") != NULL || strstr(text, "Intel(R) MPI") != NULL ? LAUNCHER_HYDRA
                                                                                 : LAUNCHER_OTHER;
}

/* Options of the launchers that take no value (from their manual pages). Every other option takes
 * one value, except Open MPI's --mca and -gmca and hydra's -genv and -env, which take two. */
static bool takes_nothing(const char *name)
{
    static const char *const none[] = {"oversubscribe",
                                       "allow-run-as-root",
                                       "nooversubscribe",
                                       "use-hwthread-cpus",
                                       "report-bindings",
                                       "bynode",
                                       "byslot",
                                       "bind-to-core",
                                       "bind-to-socket",
                                       "bind-to-none",
                                       "tag-output",
                                       "timestamp-output",
                                       "quiet",
                                       "q",
                                       "verbose",
                                       "v",
                                       "nolocal",
                                       "display-map",
                                       "display-allocation",
                                       "do-not-launch",
                                       "do-not-resolve",
                                       "leave-session-attached",
                                       "merge-stderr-to-stdout",
                                       "continuous",
                                       "enable-recovery",
                                       "disable-recovery",
                                       "novm",
                                       "pernode",
                                       "noprefix",
                                       "debug-devel",
                                       "d",
                                       "get-stack-traces",
                                       "report-state-on-timeout",
                                       "display-topo",
                                       "display-devel-map",
                                       "use-regexp",
                                       "forward-signals-off",
                                       "no-local",
                                       "cpu-bind-none",
                                       "genvall",
                                       "genvnone",
                                       "envall",
                                       "envnone",
                                       "info",
                                       "print-all-exitcodes",
                                       "prepend-rank",
                                       "l",
                                       "enable-x",
                                       "disable-x",
                                       "disable-auto-cleanup",
                                       "disable-hostname-propagation",
                                       "skip-launch-node",
                                       "exclusive",
                                       "O",
                                       "overcommit",
                                       "label",
                                       "unbuffered",
                                       "u",
                                       "overlap",
                                       "s",
                                       "K",
                                       "Q",
                                       "H-none",
                                       NULL};
    return is_one_of(name, none);
}

static int values_of(const char *word)
{
    static const char *const two[] = {"mca",     "gmca", "omca", "pmca", "prtemca",
                                      "pmixmca", "genv", "env",  NULL};
    const char *name = word + (word[1] == '-' ? 2 : 1);
    if (strchr(word, '=') != NULL || takes_nothing(name))
        return 0;
    return is_one_of(name, two) ? 2 : 1;
}

int launcher_find_program(enum launcher_kind kind, int count, char *const *words)
{
    if (kind == LAUNCHER_NONE)
        return 0;
    int i = 1;
    if (kind == LAUNCHER_OTHER && i < count && strcmp(words[i], "run") == 0)
        i++; /* flux run */
    while (i < count && words[i][0] == '-') {
        if (strcmp(words[i], "--") == 0)
            return i + 1 < count ? i + 1 : 0;
        bool short_joined = kind == LAUNCHER_OTHER && words[i][1] != '-' && words[i][2] != '\0';
        i += 1 + (short_joined ? 0 : values_of(words[i]));
    }
    return i < count ? i : 0;
}

unsigned launcher_ranks(int count, char *const *words)
{
    static const char *const names[] = {"-n", "-np", "--np", "-c", "--n", "--ntasks", NULL};
    unsigned sum = 0;
    for (int i = 1; i + 1 < count; i++) {
        uint64_t n;
        if (is_one_of(words[i], names) && argument_number(words[i + 1], 1, 1u << 24, &n) == 0)
            sum += (unsigned)n;
    }
    return sum;
}

/* Returns "LD_PRELOAD=...", malloc'ed. more: the user's own list, or "". */
static char *assign_preload(const char *preload, const char *more)
{
    char *out = NULL;
    int n = asprintf(&out, "LD_PRELOAD=%s%s%s", preload, *more != '\0' ? ":" : "", more);
    return n >= 0 ? out : NULL;
}

/* Puts our library in front of V in the user's own "-x LD_PRELOAD=V", because Open MPI refuses a
 * second one. Returns false if there is none. */
static bool merge_preload(int count, char **words, const char *preload)
{
    bool found = false;
    for (int i = 1; i + 1 < count; i++) {
        if (strcmp(words[i], "-x") != 0 || strncmp(words[i + 1], "LD_PRELOAD", 10) != 0)
            continue;
        const char *rest = words[i + 1] + 10;
        if (*rest != '\0' && *rest != '=')
            continue;
        char *merged = assign_preload(preload, rest[0] == '=' ? rest + 1 : "");
        if (merged != NULL)
            words[i + 1] = merged;
        found = true;
    }
    return found;
}

static size_t add_exports(char **out, size_t n, char *preload, const char *const *names)
{
    if (preload != NULL) {
        out[n++] = (char *)(uintptr_t) "-x";
        out[n++] = preload;
    }
    for (; *names != NULL; names++) {
        out[n++] = (char *)(uintptr_t) "-x";
        out[n++] = (char *)(uintptr_t)*names;
    }
    return n;
}

char **launcher_command(enum launcher_kind kind, int count, char **words, const char *preload,
                        const char *const *names)
{
    size_t contexts = 1, exports = 0;
    for (int i = 1; i < count; i++)
        contexts += strcmp(words[i], ":") == 0;
    while (names[exports] != NULL)
        exports++;
    char **out = calloc((size_t)count + 4 + contexts * 2 * (exports + 1), sizeof *out);
    if (out == NULL)
        return NULL;
    size_t n = 0;
    char *assignment = NULL;
    if (kind == LAUNCHER_HYDRA) {
        out[n++] = words[0];
        out[n++] = (char *)(uintptr_t) "-genv";
        out[n++] = (char *)(uintptr_t) "LD_PRELOAD";
        out[n++] = strdup(preload);
        memcpy(out + n, words + 1, (size_t)(count - 1) * sizeof *out);
        return out;
    }
    if (kind == LAUNCHER_OPENMPI && !merge_preload(count, words, preload))
        assignment = assign_preload(preload, "");
    for (int i = 0; i < count; i++) {
        out[n++] = words[i];
        if (kind == LAUNCHER_OPENMPI && (i == 0 || strcmp(words[i], ":") == 0))
            n = add_exports(out, n, assignment, names);
    }
    return out;
}
