/* SPDX-License-Identifier: BSD-3-Clause
 * Instrumented copies of whole images: regtrace-isa makes them and their skeletons, in memory
 * files that no file system shows, and this file places them near their image. */
#include "preload/memory/copy_images.h"

#if defined(__x86_64__)

#include "base/hash.h"
#include "base/toolkit/ask.h"
#include "base/toolkit/map.h"
#include "base/identity.h"
#include "base/log.h"
#include "preload/libc/interpose.h"
#include "preload/life.h"
#include "preload/patch/code/near.h"
#include "preload/patch/code/probe_unwind.h"
#include "preload/process.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SAID ((size_t)4 << 20)
#define NAMED_MAX 3
#define OPENERS_MAX 256

static _Atomic uint32_t numbers;

uint32_t copies_take_numbers(uint32_t count)
{
    return atomic_fetch_add(&numbers, count);
}

/* --- which functions -------------------------------------------------------------------------- */

bool memory_copies_functions(const struct probe_image *image, char regex[COPY_PATTERN_ROOM])
{
    static char pattern[OPTION_PATTERN_ROOM], of[OPTION_PATTERN_ROOM];
    const char *rest = process.options.text[OPT_memory], *name = identity_base_name(image->path);
    size_t n = 0;
    int rc = 0;
    regex[0] = '\0';
    while ((rest = option_pattern(rest, pattern, of, &rc)) != NULL)
        if (of[0] == '\0' ? image->is_program : fnmatch(of, name, 0) == 0)
            n += (size_t)snprintf(regex + n, n < COPY_PATTERN_ROOM ? COPY_PATTERN_ROOM - n : 0,
                                  n != 0 ? "|(%s)" : "(%s)", pattern);
    return n != 0 && n < COPY_PATTERN_ROOM;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* Warns about the functions without a copy: their number, and the names of the first ones. */
static void say_refused(char *said, const char *path)
{
    char text[512];
    size_t n = 0;
    unsigned count = 0;
    for (char *line = strtok(said, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *name = strncmp(line, "none\t", 5) == 0 ? line + 5 : NULL, *why;
        if (name == NULL || (why = strchr(name, '\t')) == NULL)
            continue;
        *why++ = '\0';
        if (count++ < NAMED_MAX && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%.60s (%.80s)", n != 0 ? ", " : "",
                                  name, why);
    }
    if (count == 0)
        return;
    char line[700];
    (void)snprintf(line, sizeof line,
                   "%u functions of %.60s are not recorded for memory traces: %s%s", count,
                   identity_base_name(path), text, count > NAMED_MAX ? ", ..." : "");
    process_warn(line);
}

static size_t add_names(const char **arguments, size_t n, const char *option,
                        size_t (*list)(const char **names, size_t room))
{
    const char *names[OPENERS_MAX];
    size_t count = list(names, OPENERS_MAX);
    for (size_t i = 0; i < count; i++) {
        arguments[n++] = option;
        arguments[n++] = names[i];
    }
    return n;
}

static size_t add_sites(const char **arguments, size_t n, const struct copies_image *m,
                        char room[COPY_SITES_MAX][20])
{
    for (uint32_t i = 0; i < m->site_count; i++) {
        (void)snprintf(room[i], sizeof room[i], "%" PRIx64, m->sites[i]);
        arguments[n++] = "--site";
        arguments[n++] = room[i];
    }
    return n;
}

/* Returns 0, -errno, or 1 if no function is selected. */
static int ask(const struct probe_image *image, const struct copies_image *m, int file,
               int skeleton, struct rt_error *e)
{
    enum { FIXED = 11 }; /* arguments that do not depend on the image */
    static char sites[COPY_SITES_MAX][20];
    char program[PATH_MAX], to[64], source[64];
    size_t length = 0;
    if (!process_find_program("regtrace-isa", program)) {
        rt_error_set(e, "%s is not there (it is built where Zydis is)", program);
        return -ENOENT;
    }
    (void)snprintf(to, sizeof to, "/proc/%d/fd/%d", (int)getpid(), file);
    (void)snprintf(source, sizeof source, "/proc/%d/fd/%d", (int)getpid(), skeleton);
    const char *arguments[FIXED + 4 * OPENERS_MAX + 2 * COPY_SITES_MAX + 3] = {
        program,      "skel",
        "--function", m->functions_meant,
        "--plan",     process.options.text[OPT_memory_plan],
        "--copies",   to,
        "--skeleton", source,
        "--kept"};
    size_t n = FIXED;
    n = add_names(arguments, n, "--opens", memory_copies_openers);
    size_t openers = n;
    n = add_names(arguments, n, "--awaits", memory_copies_awaited);
    if (openers - FIXED == 2 * OPENERS_MAX || n - openers == 2 * OPENERS_MAX)
        arguments[n++] = "--tokens"; /* there may be more names */
    n = add_sites(arguments, n, m, sites);
    arguments[n++] = image->path;
    char *said = mmap(NULL, SAID, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (said == MAP_FAILED) {
        rt_error_set(e, "no memory for what regtrace-isa says");
        return -ENOMEM;
    }
    int rc = ask_program(program, arguments, environ, said, SAID, &length, e);
    if (rc == 0 && strncmp(said, "missing\n", 8) == 0)
        rc = 1;
    else if (rc == 0)
        say_refused(said, image->path);
    (void)munmap(said, SAID);
    return rc;
}

static bool is_whole(const void *file, size_t bytes)
{
    const struct copies_head *h = file;
    if (bytes < sizeof *h || memcmp(h->magic, COPIES_MAGIC, sizeof COPIES_MAGIC) != 0 ||
        h->version != COPIES_VERSION)
        return false;
    return bytes == sizeof *h +
                        ((uint64_t)h->function_count + h->late_count + h->site_count) *
                            sizeof(struct copy_function) +
                        h->fixup_count * sizeof(struct copy_fixup) +
                        h->place_count * sizeof(struct copy_place) + h->code_bytes;
}

bool copies_parse(const void *file, size_t bytes, struct copies_image *out)
{
    if (file == NULL || !is_whole(file, bytes))
        return false;
    out->head = file;
    out->functions = (const void *)(out->head + 1);
    out->fixups = (const void *)(out->functions + out->head->function_count +
                                 out->head->late_count + out->head->site_count);
    out->places = (const void *)(out->fixups + out->head->fixup_count);
    out->file_code = (const void *)(out->places + out->head->place_count);
    return true;
}

static int take(int file, int skeleton, struct copies_image *m, struct rt_error *e)
{
    size_t bytes;
    const void *p = map_fd(file, &bytes);
    m->skeleton = map_fd(skeleton, &m->skeleton_bytes);
    if (m->skeleton != NULL && copies_parse(p, bytes, m))
        return 0;
    rt_error_set(e, "regtrace-isa is of another version, or there is no memory");
    return -EPROTO;
}

/* --- placing ---------------------------------------------------------------------------------- */

size_t copies_hooks_at(const struct copies_image *m)
{
    return (m->head->code_bytes + 15) & ~(size_t)15;
}

/* Writes the hooks' jumps: jmp *0(%rip), and the target after it. */
static void put_hooks(uint8_t *at)
{
    static const uint8_t code[] = {0xff, 0x25, 0, 0, 0, 0};
    static void (*const to[COPIES_HOOKS])(void) = {memory_copy_returning, memory_copy_jumping,
                                                   memory_copy_leaving, memory_copy_losing};
    for (unsigned k = 0; k < COPIES_HOOKS; k++, at += COPIES_HOOK_BYTES) {
        memcpy(at, code, sizeof code);
        memcpy(at + sizeof code, &to[k], sizeof to[k]);
    }
}

/* Returns true if an alarm stands at the function's entry. Calls must then go through the entry. */
static bool is_awaited(uintptr_t function)
{
    enum { FURTHEST = 16 }; /* a probe may stand after endbr64 */
    const struct probe_sites *all = probe_sites_now();
    const struct probe_site *s = all != NULL ? probe_sites_from(all, function) : NULL;
    for (; s != NULL && s < all->rows + all->count && s->at <= function + FURTHEST; s++)
        if (probe_is_of_alarms(s))
            return true;
    return false;
}

static uintptr_t way_to(const struct copies_image *m, uint64_t function)
{
    uintptr_t at = function + m->bias;
    const uint8_t *copy = m->linked ? memory_copy_of(at) : NULL;
    return copy != NULL && !is_awaited(at) ? (uintptr_t)copy : at;
}

/* `m` is the image that the code is for, and whose hooks the code uses. */
static int64_t value_of(const struct copies_image *m, const struct copy_fixup *f, uintptr_t code)
{
    uintptr_t at = code + f->at;
    switch ((enum copy_fixup_kind)f->kind) {
    case COPY_THREAD:
        return (const char *)&copy_slots[f->target] - (const char *)__builtin_thread_pointer();
    case COPY_RETURNS:
    case COPY_JUMPS:
    case COPY_LEAVES:
    case COPY_LOST:
        return (int64_t)((uintptr_t)m->code + copies_hooks_at(m) +
                         (f->kind - COPY_RETURNS) * COPIES_HOOK_BYTES) -
               (int64_t)(at + 4);
    case COPY_FUNCTION: return (int64_t)way_to(m, f->target) - (int64_t)(at + 4);
    case COPY_IMAGE:
    default: return (int64_t)(f->target + m->bias) - (int64_t)(at + 4 + f->after);
    }
}

bool copies_settle(const struct copies_image *m, const struct copies_image *file, uint8_t *code,
                   uintptr_t at, uint32_t first)
{
    for (uint64_t k = 0; k < file->head->fixup_count; k++) {
        const struct copy_fixup *f = &file->fixups[k];
        if (f->at + 4 > file->head->code_bytes)
            return false;
        if (f->kind == COPY_NUMBER) {
            uint32_t number;
            memcpy(&number, code + f->at, sizeof number);
            number += first;
            memcpy(code + f->at, &number, sizeof number);
            continue;
        }
        int64_t value = value_of(m, f, at);
        int32_t distance = (int32_t)value;
        memcpy(code + f->at, &distance, sizeof distance);
        if (value != distance)
            return false;
    }
    return true;
}

static void tell_unwinders(const struct copies_image *m)
{
    size_t p = 0;
    for (uint32_t k = 0; k < m->head->function_count + m->head->late_count + m->head->site_count;
         k++) {
        const struct copy_function *f = &m->functions[k];
        uintptr_t code = (uintptr_t)m->code;
        if (f->bytes == 0)
            continue;
        probe_unwind_begin(code + f->code, m->places[p].address + m->bias, false);
        for (; p < m->head->place_count && m->places[p].code < f->code + f->bytes; p++)
            if (m->places[p].code > f->code)
                probe_unwind_place(code + m->places[p].code, m->places[p].address + m->bias);
        probe_unwind_end(code + f->code + f->bytes);
    }
}

static void *map_private(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p != MAP_FAILED ? p : NULL;
}

static int place(const struct probe_image *image, struct copies_image *m, struct rt_error *e)
{
    size_t own = (copies_hooks_at(m) + COPIES_HOOKS * COPIES_HOOK_BYTES + 4095) & ~(size_t)4095;
    m->late = (struct late_copies){.places = map_private(LATE_PLACES * sizeof *m->late.places),
                                   .slots = map_private(LATE_SLOTS * sizeof *m->late.slots)};
    uint8_t *code = map_near(image->from, image->to, own + LATE_CODE, PROT_READ | PROT_WRITE);
    if (code == NULL || m->late.places == NULL || m->late.slots == NULL) {
        rt_error_set(e, "there is no free memory within 2 GiB of %s for %" PRIu64 " bytes of code",
                     image->path, m->head->code_bytes);
        return -ENOMEM;
    }
    m->code = code;
    m->own_bytes = own;
    memcpy(code, m->file_code, m->head->code_bytes);
    put_hooks(code + copies_hooks_at(m));
    bool good = copies_settle(m, m, code, (uintptr_t)code, m->first);
    tell_unwinders(m);
    if (good && mprotect(code, own + LATE_CODE, PROT_READ | PROT_EXEC) == 0)
        return 0;
    rt_error_set(e,
                 good ? "memory cannot be made executable here"
                      : "code of %s is too far away to be reached",
                 image->path);
    return -ENOMEM;
}

/* Names the skeleton by its contents: other options make other skeletons. */
static void name_skeleton(struct copies_image *m)
{
    (void)snprintf(m->name, sizeof m->name, "%016" PRIx64 ".c",
                   hash_bytes(HASH_BEGIN, m->skeleton, m->skeleton_bytes));
}

/* Direct calls do not pass the entry, where the alarm stands. */
static void check_awaited(const struct copies_image *m)
{
    for (uint32_t k = 0; k < m->head->function_count; k++)
        if (m->functions[k].direct != 0 && is_awaited(m->functions[k].address + m->bias))
            log_line(LOG_ERROR, "an alarm stands where memory traces do not look: it does not fire "
                                "in their windows");
}

/* No thread runs in the copies yet. */
static void link_calls(struct copies_image *m)
{
    check_awaited(m);
    m->linked = mprotect(m->code, m->own_bytes, PROT_READ | PROT_WRITE) == 0;
    for (uint64_t k = 0; m->linked && k < m->head->fixup_count; k++) {
        const struct copy_fixup *f = &m->fixups[k];
        int64_t value = f->kind == COPY_FUNCTION ? value_of(m, f, (uintptr_t)m->code) : INT64_MAX;
        int32_t distance = (int32_t)value;
        if (value == distance)
            memcpy(m->code + f->at, &distance, sizeof distance);
    }
    (void)mprotect(m->code, m->own_bytes, PROT_READ | PROT_EXEC);
}

void memory_copies_link(void)
{
    for (uint32_t i = 0; i < atomic_load(&copies_image_count); i++)
        if (!copies_images[i].linked)
            link_calls(&copies_images[i]);
}

static int make(const struct probe_image *image, struct copies_image *m, struct rt_error *e)
{
    int file = memfd_create("regtrace-copies", MFD_CLOEXEC);
    int skeleton = memfd_create("regtrace-skeleton", MFD_CLOEXEC);
    int rc = file < 0 || skeleton < 0 ? -errno : 0;
    if (rc != 0)
        rt_error_set(e, "no memory file can be made: %s", strerror(errno));
    else
        rc = ask(image, m, file, skeleton, e);
    if (rc == 0)
        rc = take(file, skeleton, m, e);
    if (file >= 0)
        (void)close(file);
    if (skeleton >= 0)
        (void)close(skeleton);
    return rc;
}

static bool has_site(const struct copies_image *m, uint64_t address)
{
    uint32_t i = 0;
    while (i < m->site_count && m->sites[i] != address)
        i++;
    return i < m->site_count;
}

static int take_sites(struct copies_image *m, const struct probe_sites *alarms, struct rt_error *e)
{
    for (size_t i = 0; i < alarms->count; i++) {
        const struct probe_site *s = &alarms->rows[i];
        uintptr_t at = s->at - s->after;
        if (!probe_is_place(s) || at < m->from || at >= m->to || has_site(m, at - m->bias))
            continue;
        if (m->site_count == COPY_SITES_MAX) {
            rt_error_set(e,
                         "alarms stand at more than %u places of %s: with memory traces "
                         "(REGTRACE_MEMORY) name fewer",
                         COPY_SITES_MAX, m->path);
            return -E2BIG;
        }
        m->sites[m->site_count++] = at - m->bias;
    }
    return 0;
}

int memory_copies_make(const struct probe_image *image, const struct probe_sites *alarms,
                       struct rt_error *e)
{
    static char functions[COPY_PATTERN_ROOM];
    uint32_t n = atomic_load(&copies_image_count);
    if (!memory_copies_functions(image, functions))
        return 0;
    if (n == MEMORY_IMAGES) {
        rt_error_set(e, "more than %d images: name fewer (REGTRACE_MEMORY)", MEMORY_IMAGES);
        return -E2BIG;
    }
    struct copies_image *m = &copies_images[n];
    *m = (struct copies_image){.from = image->from,
                               .to = image->to,
                               .bias = image->bias,
                               .path = strdup(image->path),
                               .functions_meant = strdup(functions)};
    int rc = take_sites(m, alarms, e);
    rc = rc != 0 ? rc : copies_late_prepare(e);
    rc = rc != 0 ? rc : make(image, m, e);
    /* 1: nothing is selected; the code that looks for its sites reports that. */
    if (rc != 0)
        return rc < 0 ? rc : 0;
    m->count = m->head->number_count;
    m->first = copies_take_numbers(m->count);
    name_skeleton(m);
    rc = place(image, m, e);
    if (rc == 0)
        atomic_store_explicit(&copies_image_count, n + 1, memory_order_release);
    return rc;
}

/* --- descriptions ----------------------------------------------------------------------------- */

uint32_t memory_copies_images(struct memory_image *out, uint32_t room)
{
    uint32_t n = atomic_load_explicit(&copies_image_count, memory_order_acquire);
    for (uint32_t i = 0; i < n && i < room; i++) {
        const struct copies_image *m = &copies_images[i];
        out[i] = (struct memory_image){.bias = m->bias, .first = m->first, .count = m->count};
        memcpy(out[i].skeleton, m->name, sizeof out[i].skeleton);
    }
    return n;
}

const char *memory_copies_skeleton(uint32_t image, size_t *bytes)
{
    *bytes = copies_images[image].skeleton_bytes;
    return copies_images[image].skeleton;
}

static bool note_image(const struct loaded_image *m, void *context)
{
    bool *there = context;
    for (uint32_t i = 0; i < atomic_load(&copies_image_count); i++)
        there[i] = there[i] || copies_images[i].bias == m->bias;
    return false;
}

void memory_copies_gone(void)
{
    bool there[MEMORY_IMAGES] = {false};
    (void)images_each(note_image, there);
    for (uint32_t i = 0; i < atomic_load(&copies_image_count); i++)
        if (!there[i])
            atomic_store(&copies_images[i].to, 0);
}

#endif
