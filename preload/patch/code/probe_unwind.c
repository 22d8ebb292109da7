/* SPDX-License-Identifier: BSD-3-Clause
 * Tables for unwinders, in the form of .eh_frame and .eh_frame_hdr.
 *
 * libgcc's unwinder, of GCC 12 and later, asks the C library by _dl_find_object(3) where the table
 * for an address is. We interpose that function, and find our tables if it knows none. To register
 * them (__register_frame) would put a lock and a search into every exception of the program. Older
 * unwinders, and those of other projects, ask dl_iterate_phdr(3) for images; our tables are in
 * none.
 *
 * Format: DWARF 5, 6.4; LSB 5.0 Core, "Exception Frames". Numbers of registers: psABI x86-64,
 * 3.6.2. */
#include "preload/patch/code/probe_unwind.h"
#include "preload/patch/code/near.h"

#include "preload/libc/interpose.h"
#include "preload/memory/memory.h"
#include "preload/patch/probe_sites.h"
#include "preload/process.h"
#include "preload/stack/unwind.h"

#include "base/log.h"
#include "base/search.h"
#include "base/sys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define STRETCHES_MAX ((size_t)1 << 17)    /* some 10 MiB of tables */
#define CLUSTER_BYTES ((uintptr_t)3 << 29) /* bytes that one table describes */
#define ALIGNMENT 8u
#define PAGE ((size_t)4096)

enum { RSP = 7, RETURN_ADDRESS = 16 };
enum { /* call frame instructions and operations */
       ADVANCE_LOC2 = 0x03,
       DEF_CFA = 0x0c,
       DEF_CFA_OFFSET = 0x0e,
       VAL_EXPRESSION = 0x16,
       OFFSET = 0x80,
       OP_CONST8U = 0x0e,
};
enum { ABSOLUTE_4 = 0x03, RELATIVE_4 = 0x1b, TABLE_4 = 0x3b }; /* encodings of pointers */

struct unwind_stretch {
    uintptr_t from;
    uint32_t bytes, program; /* offset in `programs` */
    uint32_t program_bytes;
    bool call;
};

/* The descriptions since the last table. */
struct telling {
    struct unwind_stretch *stretches;
    size_t stretch_count, stretch_room;
    uint8_t *programs;
    size_t program_bytes, program_room;
    size_t left_out;
    /* The range that is being described. */
    struct {
        struct unwind_stretch s;
        uintptr_t at;
        bool told;
    } now;
};

static struct telling usual, late;
static __thread struct telling *t = &usual;

static _Atomic(const struct probe_unwind_table *) tables;

/* --- a range of code -------------------------------------------------------------------------- */

/* Makes room for `more` entries. Whole pages by system calls, because handlers ask for it too. */
static bool make_room(void **array, size_t count, size_t more, size_t size, size_t *room)
{
    if (count + more <= *room)
        return true;
    size_t bytes = (2 * (count + more) * size + PAGE - 1) & ~(PAGE - 1);
    long p = *array == NULL ? sys_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                            : sys_call6(SYS_mremap, (long)*array, (long)(*room * size), (long)bytes,
                                        MREMAP_MAYMOVE, 0, 0);
    if (p < 0 && p > -4096)
        return false;
    *array = (void *)p; /* NOLINT: the kernel's address */
    *room = bytes / size;
    return true;
}

static void give_back(void *array, size_t room, size_t size)
{
    if (array != NULL)
        (void)sys_call6(SYS_munmap, (long)array, (long)(room * size), 0, 0, 0, 0);
}

static void put(const void *bytes, size_t n)
{
    void *p = t->programs;
    if (!t->now.told || !make_room(&p, t->program_bytes, n, 1, &t->program_room)) {
        t->now.told = false;
        return;
    }
    t->programs = p;
    memcpy(t->programs + t->program_bytes, bytes, n);
    t->program_bytes += n;
}

static void advance(uintptr_t at)
{
    uint16_t by = (uint16_t)(at - t->now.at);
    const uint8_t code[] = {ADVANCE_LOC2, (uint8_t)by, (uint8_t)(by >> 8)};
    if (by != 0)
        put(code, sizeof code);
    t->now.at = at;
}

/* The caller is at `place`. */
static void put_place(uintptr_t place)
{
    uint8_t code[] = {VAL_EXPRESSION, RETURN_ADDRESS, 9, OP_CONST8U, 0, 0, 0, 0, 0, 0, 0, 0};
    memcpy(code + 4, &place, sizeof place);
    put(code, sizeof code);
}

void probe_unwind_begin(uintptr_t from, uintptr_t place, bool call)
{
    t->now.s =
        (struct unwind_stretch){.from = from, .program = (uint32_t)t->program_bytes, .call = call};
    t->now.at = from;
    t->now.told = t->stretch_count < STRETCHES_MAX;
    if (!call)
        put_place(place);
}

void probe_unwind_pushed(uintptr_t at, unsigned bytes)
{
    unsigned cfa = bytes + (t->now.s.call ? 8 : 0);
    const uint8_t code[] = {DEF_CFA_OFFSET, (uint8_t)(0x80 | (cfa & 0x7f)), (uint8_t)(cfa >> 7)};
    advance(at);
    put(code, sizeof code);
}

void probe_unwind_place(uintptr_t at, uintptr_t place)
{
    if (t->now.s.call)
        return; /* the return address is on the stack */
    advance(at);
    put_place(place);
}

void probe_unwind_end(uintptr_t to)
{
    void *p = t->stretches;
    if (!t->now.told ||
        !make_room(&p, t->stretch_count, 1, sizeof *t->stretches, &t->stretch_room)) {
        t->program_bytes = t->now.s.program;
        t->left_out++;
        return;
    }
    t->stretches = p;
    t->now.s.bytes = (uint32_t)(to - t->now.s.from);
    t->now.s.program_bytes = (uint32_t)(t->program_bytes - t->now.s.program);
    t->stretches[t->stretch_count++] = t->now.s;
}

/* --- a table ---------------------------------------------------------------------------------- */

struct unwind_output {
    uint8_t *at;
};

static void put_32(struct unwind_output *o, int64_t value)
{
    int32_t v = (int32_t)value;
    memcpy(o->at, &v, sizeof v);
    o->at += sizeof v;
}

static void put_bytes(struct unwind_output *o, const void *bytes, size_t n)
{
    memcpy(o->at, bytes, n);
    o->at += n;
}

/* Completes an entry: fills it up with instructions that do nothing, and writes its length. */
static void end_entry(struct unwind_output *o, uint8_t *entry)
{
    while ((o->at - entry) % ALIGNMENT != 0)
        *o->at++ = 0;
    struct unwind_output length = {entry};
    put_32(&length, o->at - entry - 4);
}

/* Writes what the entries of one kind have in common (CIE). If the code stands for a site, the
 * caller is at the site, not at a return address: S. */
static uint8_t *put_common(struct unwind_output *o, bool call)
{
    enum { DATA_ALIGNMENT = 0x78 }; /* -8 */
    static const uint8_t place[] = {
        1, 'z', 'R', 'S', 0, 1, DATA_ALIGNMENT, RETURN_ADDRESS, 1, RELATIVE_4, DEF_CFA, RSP, 0};
    static const uint8_t returns[] = {
        1, 'z',        'R',     0,   1, DATA_ALIGNMENT,          RETURN_ADDRESS,
        1, RELATIVE_4, DEF_CFA, RSP, 8, OFFSET | RETURN_ADDRESS, 1};
    uint8_t *entry = o->at;
    put_32(o, 0);
    put_32(o, 0);
    put_bytes(o, call ? returns : place, call ? sizeof returns : sizeof place);
    end_entry(o, entry);
    return entry;
}

static void put_stretch(struct unwind_output *o, const struct unwind_stretch *s,
                        const uint8_t *common)
{
    uint8_t *entry = o->at;
    put_32(o, 0);
    put_32(o, o->at - common);
    put_32(o, (int64_t)(s->from - (uintptr_t)o->at));
    put_32(o, s->bytes);
    *o->at++ = 0; /* length of the augmentation data */
    put_bytes(o, t->programs + s->program, s->program_bytes);
    end_entry(o, entry);
}

enum { COMMON_BYTES = 32, ENTRY_BYTES = 17 + ALIGNMENT, PAIR_BYTES = 8, HEADER_BYTES = 12 };

static size_t bytes_of(const struct unwind_stretch *s, size_t n)
{
    size_t bytes = HEADER_BYTES + ALIGNMENT + 2 * COMMON_BYTES + 4;
    for (size_t i = 0; i < n; i++)
        bytes += PAIR_BYTES + ENTRY_BYTES + s[i].program_bytes;
    return bytes;
}

static int by_address(const void *a, const void *b)
{
    const struct unwind_stretch *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Writes the tables: .eh_frame_hdr, then .eh_frame. */
static struct probe_unwind_file fill(uint8_t *file, uint8_t *header, const struct unwind_stretch *s,
                                     size_t n)
{
    static const uint8_t encodings[] = {1, RELATIVE_4, ABSOLUTE_4, TABLE_4};
    size_t pairs = HEADER_BYTES + n * PAIR_BYTES;
    uint8_t *frames = header + (pairs + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct unwind_output o = {header}, f = {frames};
    uint8_t *places = put_common(&f, false), *calls = put_common(&f, true);
    put_bytes(&o, encodings, sizeof encodings);
    put_32(&o, frames - o.at);
    put_32(&o, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        put_32(&o, (int64_t)(s[i].from - (uintptr_t)header));
        put_32(&o, f.at - header);
        put_stretch(&f, &s[i], s[i].call ? calls : places);
    }
    put_32(&f, 0);
    return (struct probe_unwind_file){.file = file,
                                      .at_end = f.at,
                                      .text = s[0].from,
                                      .text_bytes = s[n - 1].from + s[n - 1].bytes - s[0].from,
                                      .frames = frames,
                                      .frame_bytes = (size_t)(f.at - frames)};
}

static void make(const struct unwind_stretch *s, size_t n)
{
    size_t own = (sizeof(struct probe_unwind_table) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    size_t bytes =
        (own + PROBE_UNWIND_FILE_HEAD + bytes_of(s, n) + PROBE_UNWIND_FILE_TAIL + PAGE - 1) &
        ~(PAGE - 1);
    uintptr_t end = s[n - 1].from + s[n - 1].bytes;
    uint8_t *at = map_near(s[0].from, end, bytes, PROT_READ | PROT_WRITE);
    if (at == NULL) {
        t->left_out += n;
        return;
    }
    struct probe_unwind_table *table = (struct probe_unwind_table *)(void *)at;
    struct probe_unwind_file f = fill(at + own, at + own + PROBE_UNWIND_FILE_HEAD, s, n);
    size_t file_bytes = probe_gdb_fill(&f);
    *table = (struct probe_unwind_table){atomic_load(&tables),
                                         at + own + PROBE_UNWIND_FILE_HEAD,
                                         n,
                                         {.file = at + own, .bytes = file_bytes}};
    while (!atomic_compare_exchange_weak(&tables, &table->next, table))
        continue;
    probe_gdb_tell(&table->gdb);
}

void probe_unwind_seal(void)
{
    if (t->stretch_count != 0)
        qsort(t->stretches, t->stretch_count, sizeof *t->stretches, by_address);
    for (size_t i = 0, j; i < t->stretch_count; i = j) {
        for (j = i;
             j < t->stretch_count && t->stretches[j].from - t->stretches[i].from < CLUSTER_BYTES;)
            j++;
        make(&t->stretches[i], j - i);
    }
    if (t->left_out != 0)
        log_line(LOG_NOTE, "unwinders and debuggers do not see through the code of some probes: "
                           "there are too many, or no memory near them");
    give_back(t->stretches, t->stretch_room, sizeof *t->stretches);
    give_back(t->programs, t->program_room, 1);
    *t = (struct telling){.stretches = NULL};
}

void probe_unwind_late_begin(void)
{
    t = &late;
}

void probe_unwind_late_end(void)
{
    probe_unwind_seal();
    t = &usual;
}

/* --- an unwinder asks ------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(DLFO_STRUCT_HAS_EH_DBASE)

static int32_t read_32(const uint8_t *at)
{
    int32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* Returns the entry of the range that contains this address, and the range's ends; NULL: there is
 * none. */
static const uint8_t *find(const struct probe_unwind_table *u, uintptr_t at, uintptr_t *from,
                           uintptr_t *to)
{
    const uint8_t *pairs = u->header + HEADER_BYTES;
    size_t n;
    SEARCH_FIRST(n, u->count,
                 (uintptr_t)u->header + (uintptr_t)(intptr_t)read_32(pairs + n * PAIR_BYTES) <= at);
    if (n == 0)
        return NULL;
    const uint8_t *pair = pairs + (n - 1) * PAIR_BYTES, *entry = u->header + read_32(pair + 4);
    *from = (uintptr_t)u->header + (uintptr_t)(intptr_t)read_32(pair);
    *to = *from + (uint32_t)read_32(entry + 12);
    return at < *to ? entry : NULL;
}

static const struct probe_unwind_table *table_of(uintptr_t at, uintptr_t *from, uintptr_t *to)
{
    const struct probe_unwind_table *u = atomic_load_explicit(&tables, memory_order_acquire);
    while (u != NULL && find(u, at, from, to) == NULL)
        u = u->next;
    return u;
}

bool unwind_is_made(uintptr_t at)
{
    uintptr_t from, to;
    return table_of(at, &from, &to) != NULL;
}

const uint8_t *unwind_table(uintptr_t at)
{
    __typeof__(&_dl_find_object) next = NEXT(_dl_find_object);
    struct dl_find_object image;
    uintptr_t from, to;
    const struct probe_unwind_table *u = table_of(at, &from, &to);
    if (u != NULL)
        return u->header;
    return next != NULL && next((void *)at, &image) == 0 ? image.dlfo_eh_frame : NULL; /* NOLINT */
}

PRELOAD_EXPORT int _dl_find_object(void *address, struct dl_find_object *result)
{
    __typeof__(&_dl_find_object) next = NEXT(_dl_find_object);
    int rc = next != NULL ? next(address, result) : -1;
    if (rc == 0 || next == NULL)
        return rc;
    uintptr_t from, to;
    const struct probe_unwind_table *u = table_of((uintptr_t)address, &from, &to);
    if (u == NULL)
        return rc;
    memory_unwound((uintptr_t)address);
    /* Fields that do not depend on the address are this library's. */
    rc = next((void *)(uintptr_t)&probe_unwind_seal, result); /* NOLINT */
    result->dlfo_map_start = (void *)from;                    /* NOLINT */
    result->dlfo_map_end = (void *)to;                        /* NOLINT */
    result->dlfo_eh_frame = (void *)(uintptr_t)u->header;     /* NOLINT */
    return rc;
}

#else

const uint8_t *unwind_table(uintptr_t at)
{
    (void)at;
    return NULL;
}

bool unwind_is_made(uintptr_t at)
{
    (void)at;
    return false;
}

#endif
