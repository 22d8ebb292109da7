/* SPDX-License-Identifier: BSD-3-Clause
 * Makes one site: what an int3 displaces there and, where that is safe, a jump; and the copies of
 * the displaced instructions. */
#include "isa/plan/site.h"

#include "isa/plan/relocate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { JUMP = 5 };

uint16_t plan_say(struct plan *p, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t n = strlen(text) + 1, last = 0;
    /* Reasons repeat: each text is stored once. */
    for (size_t at = 0; at < p->text_bytes; at += strlen(p->text + at) + 1) {
        if (strcmp(p->text + at, text) == 0)
            return (uint16_t)at;
        last = at;
    }
    if (n > sizeof p->text - p->text_bytes)
        return (uint16_t)last; /* no room: another reason stands for it */
    memcpy(p->text + p->text_bytes, text, n);
    p->text_bytes += n;
    return (uint16_t)(p->text_bytes - n);
}

static bool grow(struct plan *p, void *array, size_t count, size_t size)
{
    if (image_grow(array, count, size) != 0)
        p->no_memory = true;
    return !p->no_memory;
}

static void add_bytes(struct plan *p, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n && grow(p, &p->bytes, p->byte_count, 1); i++)
        p->bytes[p->byte_count++] = bytes[i];
}

static struct isa_copy add_copy(struct plan *p, const struct relocated *r, unsigned displaced)
{
    struct isa_copy copy = {
        .code = (uint32_t)p->byte_count,
        .fixups = (uint32_t)p->fixup_count,
        .steps = (uint32_t)p->step_count,
        .displaced = (uint8_t)displaced,
        .bytes = (uint8_t)r->bytes,
        .fixup_count = (uint8_t)r->fixup_count,
        .step_count = (uint8_t)r->step_count,
    };
    add_bytes(p, r->code, r->bytes);
    for (unsigned i = 0;
         i < r->fixup_count && grow(p, &p->fixups, p->fixup_count, sizeof *p->fixups); i++)
        p->fixups[p->fixup_count++] = r->fixups[i];
    for (unsigned i = 0; i < r->step_count && grow(p, &p->steps, p->step_count, sizeof *p->steps);
         i++)
        p->steps[p->step_count++] = r->steps[i];
    return copy;
}

/* Returns whether control reaches these bytes only from the instruction before, as far as is known:
 * jumps with unknown targets are left to the caller. */
static bool is_only_run_through(const struct code *c, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at++) {
        const uint8_t *f = code_at(c, at);
        if (f == NULL || (*f & (CODE_TARGET | CODE_ENTRY | CODE_DATA)) != 0)
            return false;
    }
    return true;
}

/* Copies the instructions from `at` on that a jump displaces. Returns the number of bytes that are
 * overwritten or that belong to these instructions; 0 if no jump fits. */
static unsigned displace(const struct code *c, uint64_t at, struct relocated *r)
{
    const struct code_range *range = code_range_of(c, at);
    struct instruction i;
    *r = (struct relocated){.bytes = 0};
    if (!is_only_run_through(c, at + 1, at + JUMP))
        return 0;
    while (r->displaced < JUMP && !r->ends) {
        uint64_t next = at + r->displaced;
        if (!code_is_sure(c, next) || !code_decode(c, next, &i) ||
            relocate_add(r, &i, image_at(c->image, next, i.form.length)) != NULL)
            return 0;
        if (r->step_count > 1 && (range == NULL || range->wild))
            return 0;
    }
    if (r->call)
        return i.form.length >= JUMP ? i.form.length : 0;
    /* Padding after a return may be overwritten. After ud2 it may be executed: handlers skip
     * ud2. */
    if (r->displaced < JUMP && i.form.flow == FLOW_END)
        return 0;
    for (uint64_t pad = at + r->displaced; pad < at + JUMP; pad++)
        if ((*code_at(c, pad) & CODE_PADDING) == 0)
            return 0;
    if (relocate_end(r) != NULL)
        return 0;
    return r->displaced < JUMP ? JUMP : r->displaced;
}

static const char *why_not(const struct code *c, uint64_t address)
{
    const uint8_t *f = code_at(c, address);
    if (f == NULL)
        return "is not in code";
    if ((*f & CODE_PADDING) != 0)
        return "is in padding, which nothing reaches";
    if ((*f & (CODE_UNSURE | CODE_DATA)) != 0)
        return "may be data";
    return "is inside of an instruction";
}

static bool is_endbr64(const struct code *c, uint64_t at)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const uint8_t *p = image_at(c->image, at, sizeof endbr64);
    return p != NULL && memcmp(p, endbr64, sizeof endbr64) == 0;
}

const char *plan_make_instruction(struct plan *p, const struct code *c, uint64_t address,
                                  const uint8_t *bytes, size_t n)
{
    struct relocated r = {.bytes = 0};
    struct isa_site s = {.address = address};
    struct instruction i;
    *p = (struct plan){.code = c};
    (void)plan_say(p, "instruction");
    struct forms *forms = forms_open();
    if (forms == NULL)
        return "no memory";
    bool is_one = instruction_read(forms, bytes, n, address, &i);
    forms_close(forms);
    if (!is_one)
        return "is no instruction";
    const char *why = relocate_add(&r, &i, bytes);
    if (why == NULL)
        why = relocate_end(&r);
    if (why != NULL)
        return why;
    add_bytes(p, bytes, i.form.length);
    s.flags = (uint8_t)((r.call ? ISA_SITE_CALL : 0) | (r.syscall ? ISA_SITE_SYSCALL : 0));
    s.one = add_copy(p, &r, i.form.length);
    if (grow(p, &p->sites, p->site_count, sizeof *p->sites))
        p->sites[p->site_count++] = s;
    return p->no_memory ? "no memory" : NULL;
}

/* Makes the copies for int3 and jump. Returns NULL, or the reason why there are none. */
static const char *make_copies(struct plan *p, struct isa_site *s)
{
    const struct code *c = p->code;
    struct relocated r = {.bytes = 0};
    struct instruction i;
    uint64_t at = s->address + s->patch;
    if (!code_decode(c, at, &i))
        return "is no instruction";
    const uint8_t *bytes = image_at(c->image, at, i.form.length);
    s->bytes = (uint32_t)p->byte_count;
    if (i.form.length == 1 && bytes[0] == 0xcc) {
        s->flags |= ISA_SITE_OWN;
        s->one.displaced = 1;
        add_bytes(p, bytes, 1);
        return NULL;
    }
    const char *why = relocate_add(&r, &i, bytes);
    if (why == NULL)
        why = relocate_end(&r);
    if (why != NULL)
        return why;
    struct relocated more;
    unsigned displaced = displace(c, at, &more);
    unsigned patched = displaced != 0 ? displaced : i.form.length;
    add_bytes(p, image_at(c->image, at, patched), patched);
    s->flags |= (uint8_t)((r.call ? ISA_SITE_CALL : 0) | (r.syscall ? ISA_SITE_SYSCALL : 0));
    s->one = add_copy(p, &r, i.form.length);
    if (displaced != 0)
        s->jump = add_copy(p, &more, displaced);
    return NULL;
}

void plan_add_site(struct plan *p, uint64_t address, uint8_t flags)
{
    const struct code *c = p->code;
    struct isa_site s = {.address = address, .flags = flags};
    const char *why = NULL;
    if (!code_is_sure(c, address)) {
        why = why_not(c, address);
    } else {
        const uint8_t *after = code_at(c, address + 4);
        if (is_endbr64(c, address) && after != NULL && code_is_sure(c, address + 4) &&
            (*after & (CODE_TARGET | CODE_ENTRY)) == 0) {
            s.patch = 4;
            s.flags |= ISA_SITE_ENDBR;
        }
        why = make_copies(p, &s);
    }
    if (why != NULL) {
        s.flags |= ISA_SITE_REFUSED;
        s.reason = plan_say(p, "%s", why);
        p->refused++;
    }
    if (grow(p, &p->sites, p->site_count, sizeof *p->sites))
        p->sites[p->site_count++] = s;
}
