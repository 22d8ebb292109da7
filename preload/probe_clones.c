/* SPDX-License-Identifier: BSD-3-Clause
 * See probe_clones.h. regtrace-skel makes clones and their skeleton, in memory that no file system knows. */
#include "preload/probe_clones.h"

#include "base/ask.h"
#include "base/log.h"
#include "preload/probe_unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAID ((size_t)4 << 20)
#define NAMED_MAX 3
#define OPENERS_MAX 256
#define HOOK 14 /* bytes: what leads to probe_clone_returning */
#define HEAP ((uintptr_t)512 << 20)

void probe_clone_returning(void) RT_HIDDEN;

__thread uint64_t clone_slots[CLONE_SLOTS];

bool probe_clones_wanted(void)
{
    return process.options.text[OPT_memory][0] != '\0';
}

#if defined(__x86_64__)

static struct {
    const struct clones_head *head; /* with all that follows, as in the file */
    const struct clone_function *functions;
    const struct clone_fixup *fixups;
    const struct clone_place *places;
    const uint8_t *file_code;
    uint8_t *code; /* NULL: there are none */
    uintptr_t bias;
    const char *skeleton;
    size_t skeleton_bytes;
    char name[64];
} clones;

/* --- asking ------------------------------------------------------------------------------------------------------ */

static const void *map_all(int fd, size_t *bytes)
{
    struct stat st;
    void *p = fstat(fd, &st) == 0 && st.st_size > 0
                  ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                  : MAP_FAILED;
    *bytes = p != MAP_FAILED ? (size_t)st.st_size : 0;
    return p != MAP_FAILED ? p : NULL;
}

static bool is_whole(const void *file, size_t bytes)
{
    const struct clones_head *h = file;
    if (bytes < sizeof *h || memcmp(h->magic, CLONES_MAGIC, sizeof CLONES_MAGIC) != 0 ||
        h->version != CLONES_VERSION)
        return false;
    return bytes ==
           sizeof *h +
               ((uint64_t)h->function_count + h->late_count) * sizeof(struct clone_function) +
               h->fixup_count * sizeof(struct clone_fixup) +
               h->place_count * sizeof(struct clone_place) + h->code_bytes;
}

/* Functions that have none: how many, and the first of them. */
static void say_refused(char *said)
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
    char line[640];
    (void)snprintf(line, sizeof line, "%u functions are not recorded for memory traces: %s%s",
                   count, text, count > NAMED_MAX ? ", ..." : "");
    if (count != 0)
        process_warn(line);
}

/* 1: no function is wanted. */
static int ask(const struct probe_image *image, int file, int skeleton, struct rt_error *e)
{
    char program[PATH_MAX], to[64], source[64];
    size_t length = 0;
    if (!process_find_program("regtrace-skel", program)) {
        rt_error_set(e, "%s is not there (it is built where Zydis is)", program);
        return -ENOENT;
    }
    (void)snprintf(to, sizeof to, "/proc/%d/fd/%d", (int)getpid(), file);
    (void)snprintf(source, sizeof source, "/proc/%d/fd/%d", (int)getpid(), skeleton);
    const char *openers[OPENERS_MAX];
    const char *arguments[8 + 2 * OPENERS_MAX + 2] = {
        program,      "--function", process.options.text[OPT_memory], "--clones", to,
        "--skeleton", source};
    size_t n = 7, opener_count = probe_clones_openers(openers, OPENERS_MAX);
    for (size_t i = 0; i < opener_count; i++) {
        arguments[n++] = "--opens";
        arguments[n++] = openers[i];
    }
    arguments[n++] = image->path;
    char *said = mmap(NULL, SAID, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (said == MAP_FAILED) {
        rt_error_set(e, "no memory for what regtrace-skel says");
        return -ENOMEM;
    }
    int rc = ask_program(program, arguments, environ, said, SAID, &length, e);
    if (rc == 0 && strncmp(said, "missing\n", 8) == 0)
        rc = 1;
    else if (rc == 0)
        say_refused(said);
    (void)munmap(said, SAID);
    return rc;
}

static int take(int file, int skeleton, struct rt_error *e)
{
    size_t bytes;
    const void *p = map_all(file, &bytes);
    clones.skeleton = map_all(skeleton, &clones.skeleton_bytes);
    if (p == NULL || clones.skeleton == NULL || !is_whole(p, bytes)) {
        rt_error_set(e, "regtrace-skel is of another version, or there is no memory");
        return -EPROTO;
    }
    clones.head = p;
    clones.functions = (const void *)(clones.head + 1);
    clones.fixups =
        (const void *)(clones.functions + clones.head->function_count + clones.head->late_count);
    clones.places = (const void *)(clones.fixups + clones.head->fixup_count);
    clones.file_code = (const void *)(clones.places + clones.head->place_count);
    return 0;
}

/* --- placing ----------------------------------------------------------------------------------------------------- */

/* Behind all code. */
static size_t hook_at(void)
{
    return (clones.head->code_bytes + 15) & ~(size_t)15;
}

/* jmp *0(%rip), and where to. */
static void put_hook(uint8_t *at)
{
    static const uint8_t code[] = {0xff, 0x25, 0, 0, 0, 0};
    uintptr_t to = (uintptr_t)&probe_clone_returning;
    memcpy(at, code, sizeof code);
    memcpy(at + sizeof code, &to, sizeof to);
}

static int64_t value_of(const struct clone_fixup *f, const uint8_t *at)
{
    if (f->kind == CLONE_CODE)
        return (int64_t)(uintptr_t)(clones.code + f->target);
    if (f->kind == CLONE_THREAD)
        return (const char *)&clone_slots[f->target] - (const char *)__builtin_thread_pointer();
    if (f->kind == CLONE_RETURNS)
        return (clones.code + hook_at()) - (at + 4);
    return (int64_t)(f->target + clones.bias) - (int64_t)((uintptr_t)at + 4 + f->behind);
}

static bool settle(const struct clone_fixup *f)
{
    size_t size = f->kind == CLONE_CODE ? 8 : 4;
    if (f->at + size > clones.head->code_bytes)
        return false;
    uint8_t *at = clones.code + f->at;
    int64_t value = value_of(f, at);
    memcpy(at, &value, size);
    return size == 8 || value == (int32_t)value;
}

static void tell_unwinders(void)
{
    size_t p = 0;
    for (uint32_t k = 0; k < clones.head->function_count + clones.head->late_count; k++) {
        const struct clone_function *f = &clones.functions[k];
        uintptr_t code = (uintptr_t)clones.code;
        probe_unwind_begin(code + f->code, clones.places[p].address + clones.bias, false);
        for (; p < clones.head->place_count && clones.places[p].code < f->code + f->bytes; p++)
            if (clones.places[p].code > f->code)
                probe_unwind_place(code + clones.places[p].code,
                                   clones.places[p].address + clones.bias);
        probe_unwind_end(code + f->code + f->bytes);
    }
}

static int place(const struct probe_image *image, struct rt_error *e)
{
    size_t bytes = (hook_at() + HOOK + 4095) & ~(size_t)4095;
    /* The heap grows behind the image, where nothing else is put. */
    uint8_t *code = probe_map_near(image->from, image->to + HEAP, bytes);
    if (code == MAP_FAILED)
        code = probe_map_near(image->from, image->to, bytes);
    if (code == MAP_FAILED) {
        rt_error_set(e, "there is no free memory within 2 GiB of %s for %" PRIu64 " bytes of code",
                     image->path, clones.head->code_bytes);
        return -ENOMEM;
    }
    clones.code = code;
    clones.bias = image->bias;
    memcpy(code, clones.file_code, clones.head->code_bytes);
    put_hook(code + hook_at());
    bool good = true;
    for (uint64_t k = 0; k < clones.head->fixup_count && good; k++)
        good = settle(&clones.fixups[k]);
    tell_unwinders();
    if (good && mprotect(code, bytes, PROT_READ | PROT_EXEC) == 0)
        return 0;
    rt_error_set(e,
                 good ? "memory cannot be made executable here"
                      : "code of %s is too far away to be reached",
                 image->path);
    clones.code = NULL;
    return -ENOMEM;
}

/* By what is in it: other options make other skeletons. FNV-1a. */
static void name_skeleton(void)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < clones.skeleton_bytes; i++)
        hash = (hash ^ (uint8_t)clones.skeleton[i]) * UINT64_C(1099511628211);
    (void)snprintf(clones.name, sizeof clones.name, "%016" PRIx64 ".c", hash);
}

int probe_clones_make(const struct probe_image *image, struct rt_error *e)
{
    int file = memfd_create("regtrace-clones", MFD_CLOEXEC);
    int skeleton = memfd_create("regtrace-skeleton", MFD_CLOEXEC);
    int rc = file < 0 || skeleton < 0 ? -errno : 0;
    if (rc != 0)
        rt_error_set(e, "no memory file can be made: %s", strerror(errno));
    else
        rc = ask(image, file, skeleton, e);
    if (rc == 0)
        rc = take(file, skeleton, e);
    if (file >= 0)
        (void)close(file);
    if (skeleton >= 0)
        (void)close(skeleton);
    if (rc == 0)
        rc = place(image, e);
    if (rc == 0)
        name_skeleton();
    return rc < 0 ? rc
                  : 0; /* none is wanted of this program: whoever looks for its places says so */
}

/* --- looking up ---------------------------------------------------------------------------------------------------- */

bool probe_clones_exist(void)
{
    return clones.code != NULL;
}

__attribute__((target("general-regs-only"))) static const struct clone_function *
find(const struct clone_function *list, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && list[low].address == address ? &list[low] : NULL;
}

const uint8_t *probe_clone_of(uintptr_t function)
{
    const struct clone_function *f =
        clones.code != NULL
            ? find(clones.functions, clones.head->function_count, function - clones.bias)
            : NULL;
    return f != NULL ? clones.code + f->code : NULL;
}

__attribute__((target("general-regs-only"))) uintptr_t probe_clone_late(uintptr_t back)
{
    const struct clone_function *f = clones.code != NULL
                                         ? find(clones.functions + clones.head->function_count,
                                                clones.head->late_count, back - clones.bias)
                                         : NULL;
    return f != NULL ? (uintptr_t)clones.code + f->code + CLONE_LATE_BEGIN : 0;
}

bool probe_clones_have(uintptr_t at)
{
    return clones.code != NULL && at - (uintptr_t)clones.code < clones.head->code_bytes;
}

/* The first place from that byte of the code on. */
static size_t place_from(uint64_t offset)
{
    size_t low = 0, high = clones.head->place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (clones.places[middle].code < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uintptr_t probe_clone_stands_for(uintptr_t at)
{
    if (!probe_clones_have(at))
        return at;
    size_t behind = place_from(at - (uintptr_t)clones.code + 1);
    return behind != 0 ? clones.places[behind - 1].address + clones.bias : at;
}

uintptr_t probe_clone_return(uintptr_t at)
{
    if (!probe_clones_have(at))
        return 0;
    uint64_t offset = at - (uintptr_t)clones.code;
    size_t low = place_from(offset);
    for (; low < clones.head->place_count && clones.places[low].code == offset; low++)
        if (clones.places[low].returned != 0)
            return clones.places[low].address + clones.bias;
    return 0;
}

const char *probe_clones_skeleton(size_t *bytes, const char **name, uintptr_t *image)
{
    *bytes = clones.skeleton_bytes;
    *name = clones.name;
    *image = clones.bias;
    return clones.skeleton;
}

/* --- the dispatch ---------------------------------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *to, const void *bytes, size_t n)
{
    memcpy(to, bytes, n);
    return to + n;
}

/* mov between %rcx and a slot. Opcode 0x89 stores, 0x8b loads. */
static uint8_t *put_slot(uint8_t *to, uint8_t opcode, enum clone_slot slot)
{
    const uint8_t code[] = {0x64, 0x48, opcode, 0x0c, 0x25};
    int32_t at =
        (int32_t)((const char *)&clone_slots[slot] - (const char *)__builtin_thread_pointer());
    return put(put(to, code, sizeof code), &at, sizeof at);
}

/* jrcxz looks at no flags. */
uint8_t *probe_clone_dispatch(uint8_t *at, const uint8_t *clone)
{
    enum { STORE = 0x89, LOAD = 0x8b, SLOT = 9, JUMP = 5 };
    at = put_slot(at, STORE, CLONE_SPILL);
    at = put_slot(at, LOAD, CLONE_ENTER);
    at = put(at, (const uint8_t[]){0xe3, SLOT + JUMP}, 2); /* jrcxz */
    at = put_slot(at, LOAD, CLONE_SPILL);
    int32_t distance = (int32_t)(clone - (at + JUMP));
    at = put(at, (const uint8_t[]){0xe9}, 1);
    at = put(at, &distance, sizeof distance);
    return put_slot(at, LOAD, CLONE_SPILL);
}

#else

int probe_clones_make(const struct probe_image *image, struct rt_error *e)
{
    (void)image;
    rt_error_set(e, "clones are for x86-64 alone");
    return -ENOTSUP;
}

bool probe_clones_exist(void)
{
    return false;
}

const uint8_t *probe_clone_of(uintptr_t function)
{
    (void)function;
    return NULL;
}

uintptr_t probe_clone_late(uintptr_t back)
{
    (void)back;
    return 0;
}

bool probe_clones_have(uintptr_t at)
{
    (void)at;
    return false;
}

uintptr_t probe_clone_return(uintptr_t at)
{
    (void)at;
    return 0;
}

uintptr_t probe_clone_stands_for(uintptr_t at)
{
    return at;
}

const char *probe_clones_skeleton(size_t *bytes, const char **name, uintptr_t *image)
{
    *bytes = 0;
    *name = "";
    *image = 0;
    return NULL;
}

#endif
