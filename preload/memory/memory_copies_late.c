/* SPDX-License-Identifier: BSD-3-Clause
 * Mid-function entries (base/format/copy.h): names the functions that may open windows, and asks
 * for entries wherever a window finds a thread as the process runs. */
#include "preload/memory/copy_images.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "controller/controller.h"
#include "preload/helper.h"
#include "preload/libc/interpose.h"
#include "preload/patch/code/probe_code.h"
#include "preload/patch/code/probe_unwind.h"
#include "preload/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* From the chains' functions, and from the functions that this library offers to the program. */
size_t memory_copies_openers(const char **names, size_t room)
{
    static const char *const own[] = {"MPI_Pcontrol",   "mpi_pcontrol",         "mpi_pcontrol_",
                                      "mpi_pcontrol__", "MPI_PCONTROL",         "mpi_pcontrol_f08_",
                                      "regtrace_start", "regtrace_region_begin"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own && n < room; i++)
        names[n++] = own[i];
    for (unsigned i = 0; i < ctl_config_alarm_count(process.config) && n < room; i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, i);
        if (a->type == CTL_ENTER_FUNC && a->event == CTL_START)
            names[n++] = a->value;
    }
    return n;
}

size_t memory_copies_awaited(const char **names, size_t room)
{
    size_t n = 0;
    for (unsigned i = 0; i < ctl_config_alarm_count(process.config) && n < room; i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, i);
        if (a->type == CTL_ENTER_FUNC && a->event != CTL_START)
            names[n++] = a->value;
    }
    return n;
}

#if defined(__x86_64__)

#define ANSWER_MS                                                                                  \
    30000 /* to decode an image of 100 MB takes seconds; emulated machines take longer */
#define RECEIVED ((size_t)64 << 20)

static struct helper helper = HELPER_NONE;
static const char *arguments[6] = {helper.program, "skel", "--serve", "--plan"};
static bool gone; /* the helper is gone for good */
static bool told; /* the helper knows where skeletons go */
static struct probe_lock late_lock;
static uint8_t *received; /* RECEIVED bytes */

/* Makes the names of this process's files unique: another process may have the same pid later. */
static uint64_t born;

const char *memory_copies_late_name(void)
{
    static char name[48];
    static uint32_t of;
    if (of != process.pid || name[0] == '\0') {
        born = clock_monotonic_ns();
        (void)snprintf(name, sizeof name, "%u-%llx.late.c", process.pid, (unsigned long long)born);
        of = process.pid;
    }
    return name;
}

int copies_late_prepare(struct rt_error *e)
{
    (void)memory_copies_late_name();
    return helper.program[0] != '\0' ? 0 : helper_find(&helper, "regtrace-isa", e);
}

static bool give_up(const char *why)
{
    helper_drop(&helper);
    gone = true;
    log_line(LOG_ERROR, why);
    return false;
}

static void forget_told(void)
{
    told = false;
    for (uint32_t i = 0; i < atomic_load(&copies_image_count); i++)
        copies_images[i].late.told = false;
}

static bool start(void)
{
    if (helper_is_there(&helper))
        return true;
    if (gone)
        return false;
    long p = received != NULL ? (long)received
                              : sys_call6(SYS_mmap, 0, RECEIVED, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p < 0 && p > -4096)
        return give_up("functions that had been entered before their window are recorded from the "
                       "next call on: no memory");
    received = (uint8_t *)p; /* NOLINT: the kernel's address */
    arguments[4] = process.options.text[OPT_memory_plan];
    helper.arguments = arguments;
    forget_told();
    if (helper_start(&helper, -1) != 0)
        return give_up("functions that had been entered before their window are recorded from the "
                       "next call on: regtrace-isa cannot be started in this process");
    return true;
}

/* --- asking ----------------------------------------------------------------------------------- */

static struct copy_question telling;

static bool tell_image(struct copies_image *m, int ms)
{
    if (m->late.told)
        return true;
    telling.kind = COPY_ASK_IMAGE;
    telling.image = (uint32_t)(m - copies_images);
    (void)snprintf(telling.path, sizeof telling.path, "%s", m->path);
    (void)snprintf(telling.functions, sizeof telling.functions, "%s", m->functions_meant);
    telling.site_count = m->site_count;
    memcpy(telling.sites, m->sites, sizeof telling.sites);
    m->late.told = helper_put(&helper, &telling, sizeof telling, ms) == 0;
    return m->late.told;
}

static bool tell_file(void)
{
    if (told)
        return true;
    telling.kind = COPY_ASK_FILE;
    telling.image = 0;
    int n = snprintf(telling.path, sizeof telling.path, "%s/" MEMORY_FOLDER "/%s", process.dir,
                     memory_copies_late_name());
    told = n > 0 && n < (int)sizeof telling.path &&
           helper_put(&helper, &telling, sizeof telling, ANSWER_MS) == 0;
    return told;
}

static bool put_question(struct copies_image *m, const struct copy_question *q)
{
    return tell_file() && tell_image(m, ANSWER_MS) &&
           helper_put(&helper, q, sizeof *q, ANSWER_MS) == 0;
}

/* Asks, and receives the answer's bytes in `received`. Returns false if none will come. */
static bool exchange(struct copies_image *m, const struct copy_question *q, struct copy_answer *a)
{
    if (!put_question(m, q) || helper_get(&helper, a, sizeof *a, ANSWER_MS) != 0 ||
        a->address != q->address || a->bytes > RECEIVED)
        return false;
    return a->bytes == 0 || helper_get(&helper, received, a->bytes, ANSWER_MS) == 0;
}

/* Each place is asked for once, so it is reported once. */
static void say_refused(const char *what)
{
    enum { MOST = 16 };
    static unsigned said;
    if (said++ < MOST)
        log_detail(LOG_ERROR,
                   said < MOST ? "memory traces lack what a function does from a place on"
                               : "memory traces lack what a function does from a place on (further "
                                 "ones are not named)",
                   what);
}

/* --- putting in ------------------------------------------------------------------------------- */

static void tell_unwinders(const struct copies_image *m, const struct copies_image *file,
                           uintptr_t code)
{
    const struct copy_place *p = file->places;
    uint64_t n = file->head->place_count;
    probe_unwind_late_begin();
    probe_unwind_begin(code, p[0].address + m->bias, false);
    for (uint64_t k = 1; k < n; k++)
        if (p[k].code > 0)
            probe_unwind_place(code + p[k].code, p[k].address + m->bias);
    probe_unwind_end(code + file->head->code_bytes);
    probe_unwind_late_end();
}

static void add_places(struct copies_image *m, const struct copies_image *file, uintptr_t code)
{
    struct late_copies *l = &m->late;
    for (uint64_t k = 0; k < file->head->place_count; k++) {
        struct copy_place p = file->places[k];
        p.code += (uint32_t)(code - (uintptr_t)m->code);
        l->places[l->place_count++] = p;
    }
    atomic_store_explicit(&l->places_known, l->place_count, memory_order_release);
}

/* Puts in the code of a mid-function entry. Returns where threads enter it; 0: impossible. */
static uintptr_t put_in(struct copies_image *m, const struct copies_image *file, uint32_t first)
{
    struct late_copies *l = &m->late;
    uintptr_t code = (uintptr_t)m->code + m->own_bytes + l->code_used;
    uint8_t *bytes = (uint8_t *)(uintptr_t)file->file_code; /* in `received` */
    if (file->head->late_count != 1 || file->head->place_count == 0 ||
        l->code_used + file->head->code_bytes > LATE_CODE ||
        l->place_count + file->head->place_count > LATE_PLACES ||
        !copies_settle(m, file, bytes, code, first) ||
        !probe_code_write(code, bytes, file->head->code_bytes))
        return 0;
    l->code_used += (file->head->code_bytes + 15) & ~UINT64_C(15);
    tell_unwinders(m, file, code);
    add_places(m, file, code);
    return code + file->functions[0].code;
}

static void say_no_room(const struct copies_image *m, uint64_t address)
{
    char what[256];
    (void)snprintf(what, sizeof what, "0x%llx of %.160s (there is no room left for copies)",
                   (unsigned long long)address, m->path);
    say_refused(what);
}

static uintptr_t make(struct copies_image *m, struct copy_question *q, bool *refused)
{
    static struct copies_image file;
    struct copy_answer a;
    *refused = true;
    q->number = copies_take_numbers(1);
    if (!start())
        return 0;
    if (!exchange(m, q, &a)) {
        (void)give_up("functions that had been entered before their window are recorded from the "
                      "next call on: regtrace-isa has ended, or does not answer");
        return 0;
    }
    *refused = a.bytes != 0;
    if (a.none != 0 && *refused) {
        received[a.bytes - 1] = '\0';
        say_refused((const char *)received);
    }
    if (a.none != 0 || a.bytes == 0 || !copies_parse(received, a.bytes, &file))
        return 0;
    /* The skeleton and the code that records it come with their final number: add 0. */
    uintptr_t code = put_in(m, &file, 0);
    *refused = code == 0;
    if (code == 0)
        say_no_room(m, q->address);
    return code != 0 && q->kind == COPY_ASK_BEHIND ? code + COPY_LATE_BEGIN : code;
}

static uintptr_t ask(uintptr_t at, enum copy_question_kind kind)
{
    static struct copy_question q;
    uintptr_t code = 0;
    bool unknown;
    struct copies_image *m = copies_image_of(at);
    if (m == NULL || processes_vfork_depth != 0)
        return 0;
    struct probe_locked locked = probe_lock(&late_lock);
    code = memory_copy_known(at, kind, &unknown); /* another thread may have asked */
    if (unknown && m->late.slots_used < LATE_MOST && !gone) {
        struct late_slot *s = copies_late_slot(m, at - m->bias, kind);
        q = (struct copy_question){
            .kind = kind, .image = (uint32_t)(m - copies_images), .address = at - m->bias};
        code = make(m, &q, &s->refused);
        m->late.slots_used += atomic_load(&s->key) == 0;
        s->code = code;
        s->process = process.pid;
        atomic_store_explicit(&s->key, (at - m->bias) << 2 | (uint64_t)kind, memory_order_release);
    }
    probe_unlock(&late_lock, locked);
    return code;
}

static uintptr_t late(uintptr_t at, enum copy_question_kind kind)
{
    bool unknown;
    uintptr_t code = memory_copy_known(at, kind, &unknown);
    return unknown ? ask(at, kind) : code;
}

/* If the helper could not be asked about this place, its function may be selected: the place counts
 * as refused. */
bool memory_copy_refused(uintptr_t at, enum copy_question_kind kind)
{
    bool unknown;
    const struct copies_image *m = copies_image_of(at);
    if (m == NULL || memory_copy_known(at, kind, &unknown) != 0)
        return false;
    return unknown || copies_late_slot(m, at - m->bias, kind)->refused;
}

uintptr_t memory_copy_after(uintptr_t back)
{
    return late(back, COPY_ASK_BEHIND);
}

uintptr_t memory_copy_at(uintptr_t at)
{
    return late(at, COPY_ASK_AT);
}

/* Returns true if windows may open at any point of a thread. Callers of MPI_Pcontrol, and of the
 * functions that open windows, have mid-function entries already. */
static bool opens_anywhere(void)
{
    for (unsigned i = 0; i < ctl_config_alarm_count(process.config); i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, i);
        if (a->event == CTL_START &&
            (a->global || a->bcast || (a->type != CTL_PCONTROL && a->type != CTL_ENTER_FUNC)))
            return true;
    }
    return false;
}

void memory_copies_expect(void)
{
    if (!opens_anywhere() || gone || processes_vfork_depth != 0)
        return;
    struct probe_locked locked = probe_lock(&late_lock);
    uint32_t n = atomic_load_explicit(&copies_image_count, memory_order_acquire);
    bool good = n != 0 && start();
    for (uint32_t k = 0; k < n && good; k++)
        good = tell_image(&copies_images[k], 0);
    probe_unlock(&late_lock, locked);
}

void memory_copies_forked(void)
{
    helper_drop(&helper);
    probe_lock_free(&late_lock);
    gone = false;
}

#endif
