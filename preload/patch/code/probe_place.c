/* SPDX-License-Identifier: BSD-3-Clause
 * Puts plans into the memory of this process: copies of instructions near their image, and probes
 * at the sites. */
#include "preload/libc/interpose.h"
#include "preload/memory/memory_copies.h"
#include "preload/patch/code/near.h"
#include "preload/patch/code/probe_code.h"
#include "preload/patch/code/probe_unwind.h"
#include "preload/patch/plans/probe_plans.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((uintptr_t)4096)
#define COPY_ALIGNMENT 16u

static const uint8_t *table(const struct isa_plan *p, const struct isa_table *t)
{
    return (const uint8_t *)p + t->offset;
}

bool probe_displaced_copy(const struct isa_plan *p, const struct isa_copy *c, uintptr_t bias,
                          uint8_t *to, uintptr_t address)
{
    if (c->code + (uint64_t)c->bytes > p->code.count ||
        c->fixups + (uint64_t)c->fixup_count > p->fixups.count)
        return false;
    memcpy(to, table(p, &p->code) + c->code, c->bytes);
    for (unsigned i = 0; i < c->fixup_count; i++) {
        struct isa_fixup f;
        memcpy(&f, table(p, &p->fixups) + (c->fixups + i) * sizeof f, sizeof f);
        if (f.at + 4u > c->bytes || !isa_fixup_apply(&f, to, address, bias))
            return false;
    }
    return true;
}

static size_t room_of(const struct isa_copy *c)
{
    return (c->bytes + COPY_ALIGNMENT - 1) / COPY_ALIGNMENT * COPY_ALIGNMENT;
}

struct isa_site probe_plan_site(const struct isa_plan *p, size_t i)
{
    struct isa_site s;
    memcpy(&s, table(p, &p->sites) + i * sizeof s, sizeof s);
    return s;
}

bool probe_may_jump;

static struct unsealed_area {
    void *at;
    size_t bytes;
} * unsealed;
static size_t unsealed_count;

void probe_seal(void)
{
    for (size_t i = 0; i < unsealed_count; i++)
        (void)mprotect(unsealed[i].at, unsealed[i].bytes, PROT_READ | PROT_EXEC);
    free(unsealed);
    unsealed = NULL;
    unsealed_count = 0;
    probe_unwind_seal();
}

static struct isa_step step_of(const struct isa_plan *p, const struct isa_copy *c, unsigned i)
{
    struct isa_step step;
    memcpy(&step, table(p, &p->steps) + (c->steps + i) * sizeof step, sizeof step);
    return step;
}

/* Describes a copy: its instructions stand for the original ones, and the jump at its end for the
 * instruction after them. */
static void tell_unwinders(const struct isa_plan *p, const struct isa_copy *c, const uint8_t *copy,
                           const struct probe_site *row)
{
    enum { JUMP = 5 };
    uintptr_t from = (uintptr_t)copy, last = from;
    probe_unwind_begin(from, row->at, (row->flags & ISA_SITE_CALL) != 0);
    for (unsigned i = 1; i < c->step_count && c->steps + (uint64_t)i < p->steps.count; i++) {
        struct isa_step step = step_of(p, c, i);
        last = from + step.to;
        probe_unwind_place(last, row->at + step.from);
    }
    if (from + c->bytes > last + JUMP)
        probe_unwind_place(from + c->bytes - JUMP, row->at + c->displaced);
    probe_unwind_end(from + c->bytes);
}

/* Fills in a block's head: the original bytes, and where in the copy the instructions after the
 * first are. */
static void fill_block(const struct isa_plan *p, const struct isa_site *s, struct probe_block *b)
{
    unsigned n = s->jump.displaced < sizeof b->bytes ? s->jump.displaced : sizeof b->bytes;
    *b = (struct probe_block){.stub = NULL, .fast = 0};
    memcpy(b->bytes, table(p, &p->code) + s->bytes, n);
    memset(b->steps, PROBE_NO_STEP, sizeof b->steps);
    for (unsigned i = 0; i < s->jump.step_count && s->jump.steps + i < p->steps.count; i++) {
        struct isa_step step = step_of(p, &s->jump, i);
        if (step.from >= 1 && step.from <= sizeof b->steps)
            b->steps[step.from - 1] = step.to;
    }
}

/* Places a block and the copy of what a jump displaces, if memory holds the file's bytes. */
static void place_jump(const struct probe_image *image, const struct isa_plan *p,
                       const struct isa_site *s, uint8_t **to, struct probe_site *row)
{
    const uint8_t *text = (const uint8_t *)row->at; /* NOLINT: the program's text */
    uint8_t *copy = *to + PROBE_BLOCK_BYTES;
    if (!probe_may_jump || s->jump.displaced == 0 ||
        s->bytes + (uint64_t)s->jump.displaced > p->code.count ||
        memcmp(text, table(p, &p->code) + s->bytes, s->jump.displaced) != 0 ||
        !probe_displaced_copy(p, &s->jump, image->bias, copy, (uintptr_t)copy))
        return;
    fill_block(p, s, (struct probe_block *)(void *)*to);
    tell_unwinders(p, &s->jump, copy, row);
    row->block = *to;
    row->room = s->jump.displaced;
    *to += PROBE_BLOCK_BYTES + room_of(&s->jump);
}

static bool place_one(const struct probe_image *image, const struct isa_plan *p,
                      const struct isa_site *s, uint8_t **to, struct probe_site *row)
{
    bool own = (s->flags & ISA_SITE_OWN) != 0;
    *row = (struct probe_site){.at = s->address + image->bias + s->patch,
                               .displaced = s->one.displaced,
                               .flags = s->flags,
                               .after = s->patch,
                               .byte = PROBE_INT3};
    if ((s->flags & ISA_SITE_REFUSED) != 0 || (!own && s->one.displaced == 0) ||
        s->bytes >= p->code.count)
        return false;
    if (own)
        return true;
    row->byte = table(p, &p->code)[s->bytes];
    row->copy = *to;
    if (!probe_displaced_copy(p, &s->one, image->bias, *to, (uintptr_t)*to))
        return false;
    tell_unwinders(p, &s->one, *to, row);
    *to += room_of(&s->one);
    place_jump(image, p, s, to, row);
    return true;
}

/* A list of all copies that have been placed. Entries are never removed. */
struct placed {
    uintptr_t at;
    size_t bytes;
    const struct placed *next;
};
static _Atomic(const struct placed *) all_placed;

bool probe_place_is_copy(uintptr_t at)
{
    const struct placed *p = atomic_load_explicit(&all_placed, memory_order_acquire);
    for (; p != NULL; p = p->next)
        if (at - p->at < p->bytes)
            return true;
    return false;
}

/* Adds a copy to the list. Only one thread at a time may call it. */
static bool note_placed(const uint8_t *code, size_t bytes)
{
    struct placed *p = malloc(sizeof *p);
    if (p == NULL)
        return false;
    *p = (struct placed){(uintptr_t)code, bytes, atomic_load(&all_placed)};
    atomic_store_explicit(&all_placed, p, memory_order_release);
    return true;
}

static void note_refused(const struct isa_plan *p, const struct isa_site *s,
                         struct probe_refused *refused)
{
    if (refused->count++ != 0)
        return;
    refused->address = s->address;
    (void)snprintf(refused->reason, sizeof refused->reason, "%s",
                   (s->flags & ISA_SITE_REFUSED) != 0
                       ? (const char *)table(p, &p->text) + s->reason
                       : "a copy of it cannot reach what it refers to");
}

int probe_place(const struct probe_image *image, const struct isa_plan *plan,
                const uint16_t *alarms, unsigned alarm_count, struct probe_sites *to,
                struct probe_refused *refused, struct rt_error *e)
{
    size_t n = plan->sites.count, bytes = PAGE;
    for (size_t i = 0; i < n; i++) {
        struct isa_site s = probe_plan_site(plan, i);
        bytes += room_of(&s.one);
        if (probe_may_jump && s.jump.displaced != 0)
            bytes += PROBE_BLOCK_BYTES + room_of(&s.jump);
    }
    bytes = (bytes + PAGE - 1) & ~(PAGE - 1);
    struct probe_site *rows = realloc(to->rows, (to->count + n * alarm_count + 1) * sizeof *rows);
    if (rows == NULL) {
        rt_error_set(e, "no memory for %zu probes", n);
        return -ENOMEM;
    }
    to->rows = rows;
    uint8_t *code = map_near(image->from, image->to, bytes, PROT_READ | PROT_WRITE), *at = code;
    if (code == NULL) {
        rt_error_set(e, "there is no free memory within 2 GiB of %s for its probes", image->path);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        struct isa_site s = probe_plan_site(plan, i);
        struct probe_site row;
        bool placed = place_one(image, plan, &s, &at, &row);
        if (!placed)
            note_refused(plan, &s, refused);
        for (unsigned k = 0; placed && k < alarm_count; k++) {
            row.alarm = alarms[k];
            rows[to->count++] = row;
        }
    }
    if (mprotect(code, bytes, PROT_READ | PROT_EXEC) != 0 ||
        mprotect(code, bytes, PROT_READ | PROT_WRITE) != 0) {
        rt_error_set(e, "memory cannot be made executable here: %s", strerror(errno));
        return -errno;
    }
    struct unsealed_area *areas = realloc(unsealed, (unsealed_count + 1) * sizeof *areas);
    if (areas == NULL || !note_placed(code, bytes)) {
        rt_error_set(e, "no memory for %zu probes", n);
        return -ENOMEM;
    }
    unsealed = areas;
    unsealed[unsealed_count++] = (struct unsealed_area){code, bytes};
    return 0;
}

static size_t same_place(const struct probe_site *rows, size_t count, size_t i)
{
    size_t j = i;
    while (j < count && rows[j].at == rows[i].at)
        j++;
    return j;
}

/* Gives all rows of a site the jump to the block of `with`, one of these rows. Returns false if
 * there is no code for it, or (unless alone) if the jump cannot be written while other threads
 * run. */
static bool jump_there(struct probe_site *first, size_t count, const struct probe_site *with,
                       bool alone)
{
    uint8_t *block = with->block;
    const uint8_t *entry = probe_jump_code(block, first, (unsigned)count);
    struct probe_site as = *first;
    as.block = block;
    as.entry = entry;
    as.jumped = with->room;
    if (entry == NULL || (!alone && !probe_can_poke(&as)))
        return false;
    for (size_t k = 0; k < count; k++) {
        first[k].block = block;
        first[k].entry = entry;
        first[k].jumped = as.jumped;
    }
    return true;
}

/* Returns true if memory traces use this site: an instrumented copy begins here, or the function is
 * selected and no copy begins here. last: the last row of the site. */
static bool has_copy(const struct probe_site *last)
{
    return last->alarm == PROBE_COPIED || memory_copy_misses(last->at - last->after);
}

void probe_choose(struct probe_site *rows, size_t count, bool alone)
{
    uintptr_t covered = 0;
    for (size_t i = 0, j; i < count; i = j) {
        j = same_place(rows, count, i);
        size_t with = i;
        while (with < j && rows[with].block == NULL)
            with++;
        if (with == j || rows[i].at < covered ||
            (j < count && rows[j].at < rows[i].at + rows[with].room))
            continue;
        /* Probes of functions come and go with windows while other threads run. Threads that leave
         * instrumented copies may go on at any of the displaced instructions. Both need a jump that
         * can be written while others run. */
        if (jump_there(&rows[i], j - i, &rows[with],
                       alone && probe_is_of_alarms(&rows[i]) && !has_copy(&rows[j - 1])))
            covered = rows[i].at + rows[i].jumped;
    }
}

static void write_probe(const struct probe_site *s, bool jump)
{
    uint8_t code[16] = {PROBE_INT3};
    probe_text_write(s->at, code, jump && s->jumped != 0 ? probe_jump_bytes(s, code) : 1);
}

/* Writes an int3 to sites whose jump could not be written, because the kernel does not let
 * /proc/self/mem override protections. */
static void make_up(const struct probe_site *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].jumped != 0 && probe_is_first(rows, i) &&
            memcmp((const void *)rows[i].at, /* NOLINT: the program's text */
                   ((const struct probe_block *)(const void *)rows[i].block)->bytes, 5) == 0)
            write_probe(&rows[i], false);
}

int probe_patch(const struct probe_site *rows, size_t count, bool alone, uint64_t *changed)
{
    probe_text_open();
    for (size_t i = 0; i < count; i++) {
        const struct probe_site *s = &rows[i];
        uint8_t now = *(const volatile uint8_t *)s->at; /* NOLINT: the program's text */
        if (!probe_is_first(rows, i) || s->copy == NULL)
            continue;
        if (now != s->byte)
            (*changed)++;
        else if (alone || s->jumped == 0)
            write_probe(s, alone);
    }
    if (!alone) {
        probe_text_flush();
        probe_poke_in(rows, count);
        make_up(rows, count);
    }
    return probe_text_close() ? 0 : -EACCES;
}
