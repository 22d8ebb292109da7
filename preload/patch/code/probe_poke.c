/* SPDX-License-Identifier: BSD-3-Clause
 * Writes jumps over instructions, and removes them, while other threads execute them.
 *
 * If a jump displaces one instruction, the order is that of the Linux kernel's text_poke_bp(): an
 * int3 to the first byte, then the rest, then the first byte. In between, membarrier(2) (SYNC_CORE)
 * makes every processor drop what it has fetched.
 *
 * If a jump displaces several instructions, a thread may stand at a later one for as long as it
 * likes, and would go on in the middle of the jump. So the jump's distance is chosen to have an
 * int3 as each of its bytes (instruction punning; Chamith et al., PLDI 2017). A thread that stands
 * there traps, and goes on at the same instruction of the copy (probe_trap.c). Few distances are
 * left (can()), so the targets of an image's jumps are about as far apart as its sites. Each target
 * holds a jump to the code of its site. No thread need be stopped, signalled or waited for. */
#include "preload/patch/code/near.h"
#include "preload/patch/code/probe_code.h"
#include "preload/patch/code/probe_unwind.h"

#include "base/sys.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define JUMP 5u
#define CHUNK ((uintptr_t)1 << 20)
#define CHUNKS 1024u
#define FAR (1 << 30) /* bytes above a jump that leave the heap enough room */

static bool ready;
static struct probe_lock poke_lock;
/* Numbers of the chunks of memory that jumps lead to. */
static uintptr_t chunks[CHUNKS];
static unsigned chunk_count;

static void sync_cores(void)
{
    (void)sys_call6(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0, 0, 0);
}

void probe_poke_prepare(void)
{
    ready = sys_call6(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0,
                      0, 0) == 0;
}

/* --- targets of jumps ------------------------------------------------------------------------- */

static bool have_chunk(uintptr_t number)
{
    for (unsigned i = chunk_count; i-- > 0;)
        if (chunks[i] == number)
            return true;
    if (chunk_count == CHUNKS || number == 0 ||
        map_at(number * CHUNK, CHUNK, PROT_READ | PROT_EXEC, MAP_NORESERVE) == NULL)
        return false;
    chunks[chunk_count++] = number;
    return true;
}

/* Makes the target of a site's jump with this distance: a jump in our memory to the site's code.
 * Returns false if that is impossible. */
static bool lead(const struct probe_site *s, int32_t distance)
{
    uintptr_t to = s->at + JUMP + (uintptr_t)(intptr_t)distance;
    uint8_t code[JUMP] = {0xe9};
    int64_t on = (int64_t)((uintptr_t)s->entry - (to + JUMP));
    int32_t field = (int32_t)on;
    if (field != on || (distance < 0) != (to < s->at) || !have_chunk(to / CHUNK) ||
        !have_chunk((to + JUMP - 1) / CHUNK))
        return false;
    memcpy(code + 1, &field, sizeof field);
    if (!probe_code_write(to, code, sizeof code))
        return false;
    probe_unwind_begin(to, s->at, false);
    probe_unwind_end(to + JUMP);
    return true;
}

static bool can(const struct probe_site *s)
{
    /* Values to try for the highest byte of the distance. If an instruction begins at that byte, a
     * thread may stand there, so the byte must be an int3, the first of these. A target above the
     * program must lie below the heap's end or FAR away, because the heap grows upwards. */
    static const uint8_t highest[] = {PROBE_INT3, 0xd8, 0xe8, 0xf4, 0x0c, 0x18,
                                      0x24,       0x30, 0x74, 0x64, 0x54, 0x44};
    static const uint8_t none[4] = {PROBE_NO_STEP, PROBE_NO_STEP, PROBE_NO_STEP, PROBE_NO_STEP};
    const struct probe_block *b = (const struct probe_block *)s->block;
    if (!ready || s->jumped == 0)
        return false;
    if (b->distance != 0 || memcmp(b->steps, none, sizeof none) == 0)
        return true;
    unsigned tries = b->steps[3] == PROBE_NO_STEP ? sizeof highest : 1;
    for (unsigned i = 0; i < tries; i++) {
        int32_t distance = (int32_t)((uint32_t)highest[i] << 24 | 0xccccccu);
        bool is_free =
            distance < 0 || distance >= FAR || s->at + (uintptr_t)distance + CHUNK < heap_end();
        if (is_free && lead(s, distance))
            return probe_code_write((uintptr_t)&b->distance, (const uint8_t *)&distance,
                                    sizeof distance);
    }
    return false;
}

bool probe_can_poke(const struct probe_site *first)
{
    struct probe_locked locked = probe_lock(&poke_lock);
    bool yes = can(first);
    probe_unlock(&poke_lock, locked);
    return yes;
}

void probe_poke_forked(void)
{
    probe_lock_free(&poke_lock);
}

unsigned probe_jump_bytes(const struct probe_site *s, uint8_t code[16])
{
    const struct probe_block *b = (const struct probe_block *)s->block;
    bool call = (s->flags & ISA_SITE_CALL) != 0;
    unsigned length = call ? s->jumped : JUMP;
    int32_t distance =
        b->distance != 0 ? b->distance : (int32_t)((intptr_t)s->entry - (intptr_t)(s->at + length));
    if (call)
        isa_call_bytes(code, length, distance);
    else {
        code[0] = 0xe9;
        memcpy(code + 1, &distance, sizeof distance);
    }
    return length;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Does an instruction begin this many bytes after the first byte? */
static bool begins(const struct probe_site *s, unsigned after)
{
    const struct probe_block *b = (const struct probe_block *)s->block;
    return after <= sizeof b->steps && b->steps[after - 1] != PROBE_NO_STEP;
}

/* One step of a change at one site; length: of the jump. */
typedef void change(const struct probe_site *s, const uint8_t *code, unsigned length);

static void stop_first(const struct probe_site *s, const uint8_t *code, unsigned length)
{
    (void)code;
    (void)length;
    probe_text_write(s->at, (const uint8_t[]){PROBE_INT3}, 1);
}

static void stop_all(const struct probe_site *s, const uint8_t *code, unsigned length)
{
    stop_first(s, code, length);
    for (unsigned i = 1; i < length; i++)
        if (begins(s, i))
            probe_text_write(s->at + i, (const uint8_t[]){PROBE_INT3}, 1);
}

static void write_tail(const struct probe_site *s, const uint8_t *code, unsigned length)
{
    probe_text_write(s->at + 1, code + 1, length - 1);
}

/* Writes all bytes at which no instruction begins: no thread is there. */
static void write_inside(const struct probe_site *s, const uint8_t *code, unsigned length)
{
    for (unsigned i = 1; i < length; i++)
        if (!begins(s, i))
            probe_text_write(s->at + i, code + i, 1);
}

static void write_beginnings(const struct probe_site *s, const uint8_t *code, unsigned length)
{
    for (unsigned i = 1; i < length; i++)
        if (begins(s, i))
            probe_text_write(s->at + i, code + i, 1);
}

static void write_first(const struct probe_site *s, const uint8_t *code, unsigned length)
{
    (void)length;
    probe_text_write(s->at, code, 1);
}

/* As memcmp(3): the program may have its own, with a probe. */
static bool are_same(const volatile uint8_t *a, const uint8_t *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* Does memory hold these bytes? It does not if the image is gone and the memory is used for other
 * things. */
static bool holds(const struct probe_site *s, const uint8_t *code, unsigned length)
{
    uint8_t now[16];
    return probe_text_read(s->at, now, length) && are_same(now, code, length);
}

/* Takes one step of the change at each site with a jump, then makes every processor see it. in: the
 * jumps are being written, otherwise removed. Leaves a site alone whose first byte is not `first`.
 * If first is -1, leaves a site alone that does not have all of the old bytes: those of the
 * program, or, on removal, those of the jump. */
static void each(const struct probe_site *rows, size_t count, bool in, int first, change *how)
{
    for (size_t i = 0; i < count; i++) {
        const struct probe_site *s = &rows[i];
        const uint8_t *old = ((const struct probe_block *)s->block)->bytes;
        uint8_t jump[16], before[16], byte = (uint8_t)first;
        if (s->jumped == 0 || !probe_is_first(rows, i))
            continue;
        unsigned length = probe_jump_bytes(s, before); /* before it gets another distance */
        if (!can(s))
            continue;
        (void)probe_jump_bytes(s, jump);
        if (first >= 0 ? holds(s, &byte, 1)
                       : holds(s, in ? old : before, length) || (!in && holds(s, jump, length)))
            how(s, in ? jump : old, length);
    }
    probe_text_flush();
    sync_cores();
}

void probe_poke_in(const struct probe_site *rows, size_t count)
{
    struct probe_locked locked = probe_lock(&poke_lock);
    each(rows, count, true, -1, stop_all);
    each(rows, count, true, PROBE_INT3, write_tail);
    each(rows, count, true, PROBE_INT3, write_first);
    probe_unlock(&poke_lock, locked);
}

void probe_poke_out(const struct probe_site *rows, size_t count)
{
    struct probe_locked locked = probe_lock(&poke_lock);
    each(rows, count, false, -1, stop_first);
    each(rows, count, false, PROBE_INT3, write_inside);
    each(rows, count, false, PROBE_INT3, write_beginnings);
    each(rows, count, false, PROBE_INT3, write_first);
    probe_unlock(&poke_lock, locked);
}
