/* SPDX-License-Identifier: BSD-3-Clause
 * Tests whether the main job works: library, loader, writer, a real recording read back. Also looks
 * for MPI and Python. */
#include "tools/installed.h"
#include "tools/doctor/doctor.h"
#include "writer/writer.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void look_library(struct finding *f)
{
    char path[PATH_MAX];
    struct rt_error e = {{0}};
    if (installed_library(path, &e) == 0)
        finding_set(f, FINDING_OK, "%.800s", path);
    else
        finding_set(f, FINDING_BROKEN, "%.800s", e.text);
}

static void remove_tree(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *entry; d != NULL && (entry = readdir(d)) != NULL;) {
        char path[PATH_MAX];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            snprintf(path, sizeof path, "%s/%s", dir, entry->d_name) >= (int)sizeof path)
            continue;
        if (unlink(path) != 0 && (errno == EISDIR || errno == EPERM))
            remove_tree(path);
    }
    if (d != NULL)
        (void)closedir(d);
    (void)rmdir(dir);
}

/* A temporary folder for a trial recording of `true`, away from the user's files, and the
 * environment variables that select it. */
struct scratch {
    char base[2048], folder[2080];
    char preload[PATH_MAX + 16], variable[2112];
};

static int scratch_begin(struct scratch *s, struct rt_error *e)
{
    const char *tmp = getenv("TMPDIR");
    char library[PATH_MAX];
    (void)snprintf(s->base, sizeof s->base, "%.2000s/regtrace-doctor-XXXXXX",
                   tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    int rc = installed_library(library, e);
    if (rc == 0 && mkdtemp(s->base) == NULL) {
        rc = -errno;
        rt_error_set(e, "%s: %s (TMPDIR names another place)", s->base, strerror(-rc));
    }
    (void)snprintf(s->folder, sizeof s->folder, "%s/trial", s->base);
    (void)snprintf(s->variable, sizeof s->variable, "REGTRACE_DIR=%s", s->folder);
    (void)snprintf(s->preload, sizeof s->preload, "LD_PRELOAD=%s", library);
    return rc;
}

/* Runs `true` with the library and up to three more variables. Returns its status, with the first
 * line of its output in `out`. */
static int scratch_run(const struct scratch *s, const char *const more[3], char *out, size_t room)
{
    const char *const variables[] = {s->preload,
                                     s->variable,
                                     "REGTRACE_RUN=doctor",
                                     "REGTRACE_INCLUDE=",
                                     "REGTRACE_EXCLUDE=",
                                     more[0],
                                     more[1],
                                     more[2],
                                     NULL};
    const char *const argv[] = {"true", NULL};
    int status = doctor_run(argv, variables, out, room);
    out[strcspn(out, "\n")] = '\0';
    return status;
}

/* Runs `true` in a temporary folder with two more variables. Returns false if that could not be
 * tried; the finding then has the reason. */
static bool try_true(struct finding *f, enum finding_level level, const char *first,
                     const char *second, int *status, char *out, size_t room)
{
    static struct scratch s;
    const char *const more[3] = {first, second, NULL};
    struct rt_error e = {{0}};
    if (scratch_begin(&s, &e) != 0) {
        finding_set(f, level, "not tried: %.700s", e.text);
        return false;
    }
    *status = scratch_run(&s, more, out, room);
    remove_tree(s.base);
    return true;
}

static void look_loader(struct finding *f)
{
    char out[400];
    int rc;
    if (!try_true(f, FINDING_BROKEN, "REGTRACE_DEFAULT_START=0", "REGTRACE_CONTROL=", &rc, out,
                  sizeof out))
        return;
    if (rc != 0)
        finding_set(f, FINDING_BROKEN, "true with the library preloaded ended with %d: %s", rc,
                    out[0] != '\0' ? out : "no message");
    else if (strstr(out, "cannot be preloaded") != NULL)
        finding_set(f, FINDING_BROKEN, "%s", out);
    else if (out[0] != '\0')
        finding_set(f, FINDING_LIMITED, "a program with the library preloaded runs, but says: %s",
                    out);
    else
        finding_set(f, FINDING_OK,
                    "a program with the library preloaded runs and ends as without it");
}

/* Tests an alarm at a place that the program reaches. The chain never fires, so nothing is
 * recorded. */
static void look_probes(struct finding *f)
{
#if defined(__x86_64__)
    char out[800];
    int rc;
    if (!try_true(f, FINDING_NOTE, "REGTRACE_CONTROL=start:address:main:count1000000",
                  "REGTRACE_PMU=none", &rc, out, sizeof out))
        return;
    if (rc == 0 && out[0] == '\0')
        finding_set(f, FINDING_OK, "alarms that name places and functions of a program work");
    else
        finding_set(f, FINDING_NOTE, "alarms that name places of a program: %s (status %d)",
                    out[0] != '\0' ? out : "no message", rc);
#else
    finding_set(f, FINDING_NOTE, "alarms that name places of a program are for x86-64 alone");
#endif
}

static void look_writer(struct finding *f)
{
    char library[PATH_MAX], path[PATH_MAX];
    struct rt_error e = {{0}};
    const char *compressor = rt_compressor(1);
    if (installed_library(library, &e) == 0 &&
        installed_writer(path, library, getenv("REGTRACE_WRITER"), &e) == 0)
        finding_set(
            f, FINDING_OK, "%.800s; it compresses by %s%s", path, compressor,
            strcmp(compressor, "ISA-L") == 0
                ? ""
                : ", which takes several times as long as ISA-L (Debian: libisal-dev at the "
                  "build, libisal2 later)");
    else
        finding_set(f, FINDING_BROKEN, "%.800s", e.text);
}

/* Judges the recording of the trial, which has one window, of the default start, opened and
 * closed. */
static void judge_recording(struct finding *f, const char *dir)
{
    struct rt_run *run = NULL;
    struct rt_rank *rank = NULL;
    struct rt_error e = {{0}};
    if (rt_run_open(&run, dir, &e) != 0 || rt_rank_open(&rank, run, 0, &e) != 0) {
        finding_set(f, FINDING_BROKEN, "a program was run, its recording cannot be read: %.700s",
                    e.text);
    } else {
        const struct rt_rank_info *info = rt_rank_info(rank);
        bool good = info->state == RT_FILE_CLOSED && info->event_count > 0;
        finding_set(f, good ? FINDING_OK : FINDING_BROKEN,
                    "a program was recorded into HDF5 and read back: %llu events, %s",
                    (unsigned long long)info->event_count,
                    good ? "file closed" : "but the file is not closed");
    }
    rt_rank_close(rank);
    rt_run_close(run);
}

static void look_trial(struct finding *f)
{
    static struct scratch s;
    /* With a chain the recording is kept, though the program records nothing. */
    static const char *const more[3] = {"REGTRACE_CONTROL=stop:signal:USR1",
                                        "REGTRACE_DEFAULT_START=1", NULL};
    char out[400];
    struct rt_error e = {{0}};
    if (scratch_begin(&s, &e) != 0) {
        finding_set(f, FINDING_BROKEN, "not tried: %.700s", e.text);
        return;
    }
    int rc = scratch_run(&s, more, out, sizeof out);
    if (rc != 0)
        finding_set(f, FINDING_BROKEN, "a traced program ended with %d: %s", rc, out);
    else
        judge_recording(f, s.folder);
    remove_tree(s.base);
}

static void look_mpi_libraries(struct finding *f)
{
    static const char *const patterns[] = {"/usr/lib/*/libmpi.so.*",      "/usr/lib*/libmpi.so.*",
                                           "/usr/lib/*/libmpich.so.*",    "/usr/lib*/libmpich.so.*",
                                           "/usr/lib*/*/lib/libmpi.so.*", "/opt/*/lib/libmpi.so.*",
                                           "/usr/local/lib/libmpi*.so.*"};
    glob_t g = {0};
    size_t used = 0;
    char text[700] = "";
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        (void)glob(patterns[i], i == 0 ? 0 : GLOB_APPEND, NULL, &g);
    for (size_t i = 0; i < g.gl_pathc && used < sizeof text - 1; i++) {
        int n =
            snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "", g.gl_pathv[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    globfree(&g);
    if (text[0] == '\0')
        finding_set(f, FINDING_NOTE,
                    "none in the usual folders; programs bring theirs through modules or rpath");
    else
        finding_set(f, FINDING_OK, "%s", text);
}

static void look_launchers(struct finding *f)
{
    static const char *const names[] = {"mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich",
                                        "srun"};
    static const char *const kinds[] = {"", "Open MPI", "hydra", "other"};
    char text[700] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct program p;
        int rc = program_look(&p, names[i], NULL);
        if (rc != 0)
            continue;
        int n = snprintf(text + used, sizeof text - used, "%s%s (%s)", used > 0 ? ", " : "",
                         names[i], kinds[launcher_kind_of(&p)]);
        used += n > 0 && (size_t)n < sizeof text - used ? (size_t)n : 0;
    }
    if (used == 0)
        finding_set(f, FINDING_NOTE, "no mpirun, mpiexec or srun in PATH");
    else
        finding_set(f, FINDING_OK, "%s", text);
}

static void look_python(struct finding *f)
{
    static const char *const pythons[] = {"python3", "/usr/bin/python3"};
    char out[300];
    for (size_t i = 0; i < 2; i++) {
        const char *const argv[] = {pythons[i], "-c",
                                    "import h5py; print('h5py', h5py.__version__, "
                                    "'with HDF5', h5py.version.hdf5_version)",
                                    NULL};
        const char *const none[] = {NULL};
        if (doctor_run(argv, none, out, sizeof out) == 0) {
            out[strcspn(out, "\n")] = '\0';
            finding_set(f, FINDING_OK, "%s has %s", pythons[i], out);
            return;
        }
    }
    finding_set(f, FINDING_NOTE,
                "no python3 with h5py: the Python package cannot be used (python3-h5py)");
}

const struct examination examinations_job[] = {
    {"library", look_library},     {"loader", look_loader}, {"writer", look_writer},
    {"probes", look_probes},       {"trial", look_trial},   {"MPI", look_mpi_libraries},
    {"launchers", look_launchers}, {"Python", look_python}, {NULL, NULL},
};
