/* SPDX-License-Identifier: BSD-3-Clause
 * The library's entry point. Before main it decides whether this program is traced, reads and
 * checks all options, and refuses what it cannot serve. The rest waits until there is something to
 * record. */
#include "preload/affinity.h"
#include "preload/count/counting.h"
#include "preload/count/profile_part.h"
#include "preload/count/sampling.h"
#include "preload/images/image_records.h"
#include "preload/libc/interpose.h"
#include "preload/images/loaded_images.h"
#include "preload/libc/signals.h"
#include "preload/life.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"
#include "preload/thread.h"
#include "preload/window/control_events.h"
#include "preload/window/interrupts.h"
#include "preload/window/parts.h"
#include "preload/window/triggers.h"
#include "preload/window/windows.h"

#include "base/log.h"
#include "base/toolkit/beside.h"
#include "base/toolkit/sanitizer.h"
#include "base/sys.h"
#include "mpi/mpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WARNINGS_KEPT 16

struct process process;

extern char **environ;

static bool program_is_wanted(struct rt_error *e, bool *failed)
{
    const char *include = process.options.text[OPT_include],
               *exclude = process.options.text[OPT_exclude];
    const char *name = process.id.program;
    int left_out = exclude[0] != '\0' ? option_matches(exclude, name) : 0;
    int asked_for = include[0] != '\0' ? option_matches(include, name) : !plumbing_is(&process.id);
    *failed = left_out < 0 || asked_for < 0;
    if (*failed)
        rt_error_set(e, "REGTRACE_INCLUDE, REGTRACE_EXCLUDE: no memory to compare %s with them",
                     name);
    return !*failed && left_out == 0 && asked_for != 0;
}

static void say(const char *what, const char *text)
{
    if (!identity_speaks(&process.id))
        return;
    char line[2400];
    int n = snprintf(line, sizeof line, "regtrace: %s%s\n", what, text);
    (void)sys_write_all(2, line, (size_t)(n < (int)sizeof line ? n : (int)sizeof line - 1));
}

static void unknown_variable(void *ctx, const char *name, const char *nearest)
{
    (void)ctx;
    char text[256];
    (void)snprintf(text, sizeof text, "regtrace has no variable %s; did you mean %s?", name,
                   nearest);
    if (!process_is_child())
        say("warning: ", text);
}

static char warnings[WARNINGS_KEPT][640];
static unsigned warning_count;

/* Stores the warning for the log of the run. All processes have the same chains, so one process of
 * the run writes the warnings there. */
static void chain_warning(void *ctx, const char *text)
{
    (void)ctx;
    if (warning_count < WARNINGS_KEPT)
        (void)snprintf(warnings[warning_count++], sizeof warnings[0], "%s", text);
}

void process_warn(const char *text)
{
    chain_warning(NULL, text);
    if (!process_is_child())
        say("warning: ", text);
}

const char *process_chain_warning(unsigned i)
{
    return i < warning_count ? warnings[i] : NULL;
}

static bool find_events_program(char path[PATH_MAX])
{
    return process_find_program("regtrace-events", path);
}

static int read_chains(struct rt_error *e)
{
    int rc = ctl_config_of_options(&process.options, counting_machine(), chain_warning, NULL,
                                   &process.config, e);
    if (rc == 0)
        ctl_config_set_rank(process.config, (uint32_t)(process.id.rank > 0 ? process.id.rank : 0));
    return rc;
}

static int make_automaton(struct rt_error *e)
{
    static const struct ctl_callbacks callbacks = {
        .on_fire = control_alarm_fired,
        .on_arm = alarm_armed,
        .on_disarm = alarm_disarmed,
        .on_sync_needed = interrupt_other_threads,
    };
    size_t bytes = ctl_shared_size(process.config);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        rt_error_set(e, "no memory for the control chains: %s", strerror(errno));
        return -ENOMEM;
    }
    process.shared = ctl_shared_init(process.config, memory, &callbacks, NULL);
    return 0;
}

/* Reports a wrong option or chain, and ends the process before main. With
 * REGTRACE_ON_ERROR=continue it returns, and the program runs untraced. */
static void refuse(const struct rt_error *e)
{
    const char *policy = identity_env(environ, "REGTRACE_ON_ERROR");
    bool go_on = policy != NULL && strcmp(policy, "continue") == 0;
    say(go_on ? "running untraced: " : "", e->text);
    if (go_on)
        return;
    if (identity_speaks(&process.id))
        say("", "the program was not started (REGTRACE_ON_ERROR=continue runs it untraced)");
    identity_let_speak(&process.id);
    (void)sys_call6(SYS_exit_group, 2, 0, 0, 0, 0, 0);
}

/* Refuses a program that contains the runtime of an unsupported sanitizer. */
static int check_sanitizers(struct rt_error *e)
{
    for (const struct sanitizer *s = sanitizers_refused; s->symbol != NULL; s++)
        if (dlsym(RTLD_DEFAULT, s->symbol) != NULL) {
            rt_error_set(e, SANITIZER_REFUSED, s->name, s->option, s->option);
            return -ENOTSUP;
        }
    (void)dlerror(); /* the program must not see our dlsym() error */
    return 0;
}

/* Checks what a recording needs, as `regtrace run` does: the writer, the folder for streams, the
 * folder of the run. A child may have left for a root or a user where these are missing, and a
 * relative folder may belong to another working directory: such programs run unrecorded. */
static int check_places(struct rt_error *e)
{
    const char *dir = process.options.text[OPT_dir];
    int rc = process_find_writer(e);
    if (identity_env(environ, "REGTRACE_PARENT") != NULL)
        return 0;
    if (rc == 0)
        rc = beside_streams(process.options.text[OPT_shm], e);
    if (rc == 0 && dir[0] == '/')
        rc = identity_try_folder(&process.id, dir, e);
    return rc;
}

static bool set_up(void)
{
    struct rt_error e = {{0}};
    bool failed = false;
    identity_read(&process.id, environ, identity_env(environ, "REGTRACE_RUN"));
    process.pid = process.id.pid;
    if (plumbing_is(&process.id) && identity_env(environ, "REGTRACE_INCLUDE") == NULL) {
        plumbing_note(&process.id);
        return false;
    }
    int rc = options_read(&process.options, environ, &e,
                          identity_speaks(&process.id) ? unknown_variable : NULL, NULL);
    if (rc == 0 && !program_is_wanted(&e, &failed)) {
        if (failed)
            refuse(&e);
        return false;
    }
    pmu_names_prepare(find_events_program, environ);
    pmu_names_take(identity_env(environ, PMU_NAMES_VARIABLE), process.id.boot_id);
    if (rc == 0)
        rc = check_sanitizers(&e);
    if (rc == 0)
        rc = read_chains(&e);
    if (rc == 0)
        rc = controller_log_prepare(&e);
    if (rc == 0)
        rc = parts_prepare(&e);
    if (rc == 0)
        rc = check_places(&e);
    if (rc == 0)
        rc = make_automaton(&e);
    if (rc == 0)
        rc = parts_start(&e);
    if (rc != 0) {
        refuse(&e);
        return false;
    }
    images_note_all();
    process.follow = process.options.number[OPT_follow] != 0;
    return true;
}

/* Fixes the absolute name of the folder now, because the program may change its working directory
 * before there is something to record. */
static void decide_folder(void)
{
    char name[256], here[PATH_MAX] = "";
    const char *asked = process.options.text[OPT_dir];
    const char *parent = identity_env(environ, "REGTRACE_PARENT");
    (void)snprintf(process.parent_dir, sizeof process.parent_dir, "%s", parent ? parent : "");
    identity_folder_name(&process.id, name);
    if (asked[0] == '\0')
        asked = name;
    if (asked[0] != '/' && getcwd(here, sizeof here) == NULL)
        here[0] = '\0';
    int n = snprintf(process.wanted_dir, sizeof process.wanted_dir, "%s%s%s", here,
                     here[0] != '\0' ? "/" : "", asked);
    if (n >= (int)sizeof process.wanted_dir)
        process.wanted_dir[0] = '\0';
}

bool process_is_one_window(void)
{
    return ctl_config_chain_count(process.config) == 0 && ctl_config_default_start(process.config);
}

bool process_is_idle(void)
{
    return ctl_config_chain_count(process.config) == 0 &&
           !ctl_config_default_start(process.config) && process.options.number[OPT_count] == 0 &&
           !sampling_in_gaps() && !profile_is_on();
}

bool process_is_idle_now(void)
{
    return process_is_idle() && !atomic_load_explicit(&process.forced, memory_order_relaxed);
}

void process_force(void)
{
    atomic_store(&process.forced, true);
    atomic_store(&mpi_asleep, 0);
}

bool process_links_mpi(void)
{
    bool found = preload_next("PMPI_Init") != NULL;
    (void)dlerror(); /* the program must not see our dlsym() error */
    return found;
}

static bool has_named_calls(const struct loaded_image *m, void *context)
{
    (void)context;
    return image_has_named_calls(m->info);
}

/* A writer that starts before main takes no time of the program's first event. */
bool process_wants_early_start(void)
{
    static const enum ctl_type without_mpi[] = {CTL_TIMEOUT,    CTL_SIGNAL, CTL_INTERACTIVE,
                                                CTL_IMAGE_LOAD, CTL_ICOUNT, CTL_UNIFORM};
    for (size_t i = 0; i < sizeof without_mpi / sizeof *without_mpi; i++)
        if (ctl_config_uses(process.config, without_mpi[i]))
            return true;
    if (process.options.number[OPT_count] != 0)
        return true;
    return !process_is_idle() && (process.links_mpi || parts_want_all_threads() ||
                                  probe_functions_wanted() || images_each(has_named_calls, NULL));
}

/* Did dlmopen() load this copy of the library into a namespace other than the first? Such a copy
 * does nothing. It stands beside the copy that traces, and may be unmapped while its signals and
 * timers are still to come. */
static bool is_second_copy(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    Lmid_t space = LM_ID_BASE;
    return dladdr1((const void *)&is_second_copy, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 &&
           map != NULL && dlinfo(map, RTLD_DI_LMID, &space) == 0 && space != LM_ID_BASE;
}

__attribute__((constructor)) static void regtrace_constructor(void)
{
    int keep = errno;
    bool acts = getauxval(AT_SECURE) == 0 && !is_second_copy();
    if (acts)
        absent_functions_hide();
    if (!acts || !set_up()) {
        errno = keep;
        return;
    }
    stack_of_process();
    clock_init(strcmp(process.options.text[OPT_clock], "monotonic") == 0);
    affinity_process_begins();
    recorder_sync = windows_sync;
    recorder_watch_forks();
    triggers_prepare(process.config);
    process.links_mpi = process_links_mpi();
    decide_folder();
    longjmp_resolve();
    saved_masks_resolve();
    process_install_mpi_hooks();
    counting_steps_begin();
    mpi_recorded = (uint32_t)process.options.number[OPT_record_mpi];
    /* A program that may open windows by itself needs numbers of its messages from MPI_Init on. */
    mpi_windows_possible = ctl_config_chain_count(process.config) != 0 ||
                           ctl_config_default_start(process.config) ||
                           images_each(has_named_calls, NULL);
    atomic_store(&mpi_asleep, process_is_idle() && (mpi_recorded == 0 || !mpi_windows_possible));
    if (signals_install() != 0)
        log_line(
            LOG_WARNING,
            "no real-time signal is free: timeout, interactive and broadcast timers do not work");
    /* Read this before the thread begins, because the thread may be stepped from then on. */
    bool images = ctl_config_uses(process.config, CTL_IMAGE_LOAD);
    known_thread_expected();
    probes_thread_begins();
    log_share();
    process.traced = true;
    if (process_wants_early_start())
        (void)thread_self();
    /* Do not single-step: this handles many sites. */
    unsigned own = counting_own_begin_if(false);
    counting_measure_own();
    if (images)
        triggers_images_at_start();
    probes_begin();
    errno = keep;
    process.activated = true;
    counting_own_end(own);
    struct preload_thread *counted = thread_count_from_here();
    if (counted != NULL)
        pmu_go(&counted->counting.counter);
}

__attribute__((destructor)) static void regtrace_destructor(void)
{
    process_finish(RT_WINDOW_PROGRAM_END, true);
}
