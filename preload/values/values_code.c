/* SPDX-License-Identifier: BSD-3-Clause
 * The instructions of this process that samples have met: what to do with each, and its copy. One
 * thread at a time appends to the table; all threads read it without a lock. */
#include "preload/values/values_code.h"

#if defined(__x86_64__)

#include "base/log.h"
#include "base/spin.h"
#include "base/sys.h"
#include "preload/count/sampling.h"
#include "preload/images/image_records.h"
#include "preload/libc/interpose.h"
#include "preload/patch/code/near.h"
#include "preload/patch/probe_sites.h"
#include "preload/values/values.h"
#include "preload/values/values_ask.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define BLOCK_BYTES ((size_t)64 << 10)
#define BLOCKS_MAX 2048u
#define JUMP_BACK_BYTES 14u

/* --- images ----------------------------------------------------------------------------------- */

#define RANGES_MAX 2048u
static struct range {
    uintptr_t from, to;
} ranges[RANGES_MAX];
static _Atomic uint32_t range_count;
static spin_lock range_lock;
static uintptr_t own_from, own_to;

static bool add_image(const struct loaded_image *m, void *context)
{
    (void)context;
    struct range r;
    for (int next = 0; image_code(m, &next, &r.from, &r.to);) {
        uint32_t n = atomic_load(&range_count), known = 0;
        if (r.from == own_from)
            continue;
        while (known < n && (ranges[known].from != r.from || ranges[known].to != r.to))
            known++;
        if (known < n || n == RANGES_MAX)
            continue;
        ranges[n] = r;
        atomic_store_explicit(&range_count, n + 1, memory_order_release);
    }
    return false;
}

void values_images_changed(void)
{
    if (!values_are_on())
        return;
    uint64_t mask = sys_block_signals();
    spin_take(&range_lock);
    (void)images_each(add_image, NULL);
    spin_give(&range_lock);
    sys_restore_signals(mask);
}

/* --- the table -------------------------------------------------------------------------------- */

static _Atomic uint32_t asking; /* 1: a thread asks */
static uint32_t code_count;

static void *map(size_t bytes, int protection)
{
    long p = sys_call6(SYS_mmap, 0, (long)bytes, protection,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p < 0 && p > -4096 ? NULL : (void *)p; /* NOLINT: the kernel's address */
}

bool values_codes_prepare(void)
{
    if (!images_own_code(&own_from, &own_to))
        return false;
    values_table.slots = map(VALUES_SLOTS * sizeof *values_table.slots, PROT_READ | PROT_WRITE);
    values_table.codes = map(VALUES_CODES_MAX * sizeof *values_table.codes, PROT_READ | PROT_WRITE);
    return values_table.slots != NULL && values_table.codes != NULL;
}

bool values_is_own(uintptr_t address)
{
    return address >= own_from && address < own_to;
}

void values_codes_forked(void)
{
    atomic_store(&asking, 0);
    atomic_store(&range_lock, 0);
}

static void publish(struct values_code *c)
{
    uint32_t slot = values_slot(c->answer.address), there;
    while ((there = atomic_load_explicit(&values_table.slots[slot], memory_order_relaxed)) != 0 &&
           values_table.codes[there - 1].answer.address != c->answer.address)
        slot = (slot + 1) % VALUES_SLOTS;
    atomic_store_explicit(&values_table.slots[slot], c->index + 1, memory_order_release);
}

/* --- copies ----------------------------------------------------------------------------------- */

static struct code_block {
    uint8_t *from;
    size_t used;
} blocks[BLOCKS_MAX];
static unsigned block_count;

static bool reaches(const uint8_t *block, uint64_t target)
{
    uint64_t at = (uintptr_t)block, away = at > target ? at - target : target - at;
    return target == 0 || away < NEAR_REACH;
}

static uint8_t *map_block(uint64_t target)
{
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    return target != 0 ? map_near(target, target, BLOCK_BYTES, all) : map(BLOCK_BYTES, all);
}

/* Takes room for a copy, within reach of the target (0: anywhere). Returns NULL if there is
 * none. */
static uint8_t *take_thunk(uint64_t target)
{
    unsigned n = block_count;
    while (n > 0 && (blocks[n - 1].used + VALUES_THUNK_BYTES > BLOCK_BYTES ||
                     !reaches(blocks[n - 1].from, target)))
        n--;
    if (n == 0) {
        uint8_t *p = block_count < BLOCKS_MAX ? map_block(target) : NULL;
        if (p == NULL)
            return NULL;
        blocks[block_count] = (struct code_block){.from = p};
        n = ++block_count;
    }
    uint8_t *thunk = blocks[n - 1].from + blocks[n - 1].used;
    blocks[n - 1].used += VALUES_THUNK_BYTES;
    return thunk;
}

static bool fix(const struct values_answer *a, uint8_t *thunk)
{
    if (a->fixup_end == 0)
        return true;
    int64_t away = (int64_t)(a->fixup_target - (uintptr_t)(thunk + a->fixup_end));
    int32_t short_away = (int32_t)away;
    if (away != short_away || a->fixup_at + sizeof short_away > VALUES_COPY)
        return false;
    memcpy(thunk + a->fixup_at, &short_away, sizeof short_away);
    return true;
}

static void make_thunk(struct values_code *c)
{
    static const uint8_t jump[6] = {0xff, 0x25, 0, 0, 0, 0}; /* jumps to the address that follows */
    const struct values_answer *a = &c->answer;
    uint8_t *thunk = take_thunk(a->fixup_end != 0 ? a->fixup_target : 0);
    uintptr_t back = (uintptr_t)values_run_back;
    size_t n = a->copy_bytes != 0 ? a->copy_bytes : a->length;
    if (thunk == NULL)
        return;
    memcpy(thunk, a->copy_bytes != 0 ? a->copy : c->code, n);
    if (!fix(a, thunk))
        return;
    memcpy(thunk + n, jump, sizeof jump);
    memcpy(thunk + n + sizeof jump, &back, sizeof back);
    c->thunk = thunk;
}

/* --- kinds ------------------------------------------------------------------------------------ */

struct opcode {
    uint8_t rex, rep, op, modrm;
    bool is_narrow, has_address_size;
    const uint8_t *after; /* first byte after the opcode */
};

static struct opcode split(const uint8_t *code, unsigned length)
{
    struct opcode o = {0};
    const uint8_t *end = code + length;
    for (; code + 1 < end; code++) {
        uint8_t rex = o.rex;
        o.rex = 0; /* it counts only right before the opcode */
        if (*code == 0xf2 || *code == 0xf3)
            o.rep = *code;
        else if (*code == 0x66)
            o.is_narrow = true;
        else if (*code == 0x67)
            o.has_address_size = true;
        else if ((*code & 0xf0) == 0x40)
            o.rex = *code;
        else if (*code != 0x2e && *code != 0x36 && *code != 0x3e && *code != 0x26 &&
                 *code != 0x64 && *code != 0x65) {
            o.rex = rex;
            break;
        }
    }
    o.op = *code;
    o.after = code + 1;
    o.modrm = code + 1 < end ? code[1] : 0;
    return o;
}

/* Handles `add`, `and` and `sub` of a number to rsp, and lea of it to rsp: the copy does the same
 * with rdi. */
static bool renames_stack(struct values_code *c, const struct opcode *o)
{
    struct values_answer *a = &c->answer;
    unsigned digit = o->modrm >> 3 & 7;
    size_t at = (size_t)(o->after - c->code);
    if (o->rex != 0x48 || o->is_narrow || o->has_address_size || o->rep != 0)
        return false;
    memcpy(a->copy, c->code, a->length);
    if ((o->op == 0x83 || o->op == 0x81) && (o->modrm & 0xc7) == 0xc4 &&
        (digit == 0 || digit == 4 || digit == 5)) {
        a->copy[at] = (uint8_t)(o->modrm | 7);
        a->copy_bytes = a->length;
    } else if (o->op == 0x8d && (o->modrm == 0x64 || o->modrm == 0xa4) && o->after[1] == 0x24) {
        a->copy[at] = (uint8_t)((o->modrm & 0xc0) | 0x3f);
        memmove(a->copy + at + 1, a->copy + at + 2, (size_t)a->length - at - 2);
        a->copy_bytes = (uint8_t)(a->length - 1);
    } else {
        return false;
    }
    a->stack_as = 7;
    c->moves_stack = true;
    return true;
}

static bool uses_stack_alone(struct values_code *c, const struct opcode *o)
{
    unsigned low = o->modrm & 7, high = o->modrm >> 3 & 7;
    bool plain = !o->is_narrow && !o->has_address_size && o->rep == 0;
    bool registers = (o->modrm & 0xc0) == 0xc0;
    c->operand = (uint8_t)((o->op & 7u) | (o->rex & 1u) << 3);
    if (plain && (o->op & 0xf8) == 0x50)
        c->kind = KIND_PUSH;
    else if (plain && (o->op & 0xf8) == 0x58 && c->operand != 4)
        c->kind = KIND_POP;
    else if (plain && o->op == 0xc9)
        c->kind = KIND_LEAVE;
    else if (plain && registers && (o->rex & 0xfe) == 0x48 && o->op == 0x89 && high == 4 &&
             (low != 4 || (o->rex & 1) != 0)) {
        c->kind = KIND_FROM_STACK;
        c->operand = (uint8_t)(low | (o->rex & 1u) << 3);
    } else
        return false;
    return true;
}

/* Returns true if the instruction loads rsp: no signal may be deliverable on the stack that it
 * leads to. */
static bool sets_stack(const struct opcode *o)
{
    unsigned low = o->modrm & 7, high = o->modrm >> 3 & 7;
    bool low_is = (o->modrm & 0xc0) == 0xc0 && low == 4 && (o->rex & 1) == 0;
    bool high_is = high == 4 && (o->rex & 4) == 0;
    switch (o->op) {
    case 0x87: return low_is || high_is; /* xchg */
    case 0x89: return low_is;            /* mov */
    case 0x8b:                           /* mov */
    case 0x8d: return high_is;           /* lea */
    case 0x5c:                           /* pop */
    case 0x94: return (o->rex & 1) == 0; /* xchg */
    case 0xc7: return low_is;
    default: return false;
    }
}

/* Finds instructions for which the trap flag does not work, or is not needed. */
static void look_closer(struct values_code *c)
{
    const struct opcode o = split(c->code, c->answer.length);
    bool string = (o.op >= 0xa4 && o.op <= 0xa7) || (o.op >= 0xaa && o.op <= 0xaf);
    c->is_x87 = o.op >= 0xd8 && o.op <= 0xdf;
    if (c->kind == KIND_CONDITION && o.has_address_size && c->answer.condition >= 18)
        c->kind = KIND_STEP;
    if (c->kind != KIND_STEP)
        return;
    if (string && o.rep != 0)
        c->kind = o.has_address_size ? KIND_STOP : KIND_REPEAT;
    else if (o.op == 0x9c || o.op == 0x9d || o.op == 0xcf || o.op == 0x8e)
        c->kind = KIND_STOP; /* the program would see the flag, or its trap would be lost */
    else if (renames_stack(c, &o))
        c->kind = KIND_COPY;
    else if (!uses_stack_alone(c, &o) && sets_stack(&o))
        c->kind = KIND_STOP;
}

static const uint8_t kinds[] = {[VALUES_STRAIGHT] = KIND_COPY,
                                [VALUES_JUMP] = KIND_JUMP,
                                [VALUES_CONDITION] = KIND_CONDITION,
                                [VALUES_CALL] = KIND_CALL,
                                [VALUES_RETURN] = KIND_RETURN,
                                [VALUES_STEP] = KIND_STEP,
                                [VALUES_STOP] = KIND_STOP};

static bool is_register(int index, int highest)
{
    return index >= -1 && index <= highest;
}

/* Checks the bounds of an answer: regtrace-vprofiler may be of another build, or damaged, and the
 * answer must not reach beyond our arrays. */
static bool is_sound(const struct values_answer *a)
{
    bool sound = a->length <= VALUES_CODE && a->item_count <= VALUES_MOST &&
                 a->copy_bytes <= VALUES_COPY && a->fixup_at <= VALUES_COPY - 4 &&
                 a->flow <= VALUES_STOP && a->stack_as < 16 && is_register(a->where.base, 15) &&
                 is_register(a->where.index, a->where.element != 0 ? 31 : 15) &&
                 (a->where.element == 0 || a->where.index >= 0) &&
                 (!a->by_register || a->where.base >= 0) && a->condition <= 20;
    for (unsigned i = 0; sound && i < a->item_count; i++) {
        const struct values_item *item = &a->items[i];
        static const uint8_t most[] = {
            [VALUES_GENERAL] = 16,  [VALUES_VECTOR] = 31,  [VALUES_MASK] = 7,    [VALUES_X87] = 7,
            [VALUES_ADDRESS] = 255, [VALUES_LOADED] = 255, [VALUES_STORED] = 255};
        sound = item->source <= VALUES_STORED && item->index <= most[item->source] &&
                item->lane < 16 && item->size <= 8 && item->shift < 64;
    }
    return sound;
}

static const struct values_code *append(const struct values_question *q,
                                        const struct values_answer *a)
{
    struct values_code *c = &values_table.codes[code_count];
    memset(c, 0, sizeof *c);
    c->answer = *a;
    c->index = code_count;
    c->kind = a->length != 0 && a->length <= q->count ? kinds[a->flow] : KIND_STOP;
    memcpy(c->code, q->bytes, a->length);
    memset(c->mask, 0xff, a->length);
    memcpy(c->bytes, c->code, sizeof c->bytes);
    look_closer(c);
    if (c->kind == KIND_COPY || c->kind == KIND_REPEAT) {
        c->is_exact = c->answer.copy_bytes == 0;
        make_thunk(c);
    }
    code_count++;
    publish(c);
    return c;
}

static unsigned read_code(struct values_thread *v, uint64_t address, uint8_t bytes[16])
{
    unsigned n = 16;
    while (n > 0 && !values_read(v, address, bytes, n))
        n = (address & 4095) + n > 4096 ? (unsigned)(4096 - (address & 4095)) : 0;
    return n;
}

const struct values_code *values_learn(struct values_thread *v, uint64_t address,
                                       enum values_end *why)
{
    struct values_question q = {.address = address};
    struct values_answer a;
    const struct values_code *c = NULL;
    uint32_t nobody = 0;
    *why = values_is_own(address) ? END_BUSY : END_UNKNOWN;
    if (!values_is_code(address))
        return NULL;
    q.count = (uint8_t)read_code(v, address, q.bytes);
    if (q.count == 0)
        return NULL;
    *why = END_UNLEARNED;
    if (!atomic_compare_exchange_strong(&asking, &nobody, 1))
        return NULL;
    uint64_t began = clock_ticks();
    if (code_count < VALUES_CODES_MAX && values_ask(&q, &a) && is_sound(&a))
        c = append(&q, &a);
    sampling_values_waited(clock_ticks() - began);
    atomic_store(&asking, 0);
    return c;
}

/* Uses general registers alone: the processor may hold the program's vector registers. */
__attribute__((target("general-regs-only"))) bool values_is_code(uintptr_t address)
{
    uint32_t n = atomic_load_explicit(&range_count, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (address >= ranges[i].from && address < ranges[i].to)
            return true;
    return false;
}

#endif
