/* SPDX-License-Identifier: BSD-3-Clause
 * Plans put into the memory of this process: copies of instructions near their image, and the first bytes of sites. */
#include "preload/probe_sites.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((uintptr_t)4096)
#define STRIDE ((uintptr_t)1 << 20)
#define COPY_ALIGNMENT 16u
#define INT3 0xcc

void *probe_map_near(uintptr_t from, uintptr_t to, size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    uintptr_t end = (to + PAGE - 1) & ~(PAGE - 1), size = end - from;
    for (uintptr_t away = 0; size + away + bytes < PROBE_REACH; away += STRIDE) {
        const uintptr_t places[] = {end + away, (from & ~(PAGE - 1)) - away - bytes};
        for (int i = 0; i < 2; i++) {
            void *at = (void *)(places[i] & ~(PAGE - 1)); /* NOLINT: an address of our choice */
            void *p = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
            if (p == at)
                return p;
            if (p != MAP_FAILED)
                (void)munmap(p, bytes); /* a kernel that does not know the flag */
        }
    }
    return MAP_FAILED;
}

static const uint8_t *table(const struct isa_plan *p, const struct isa_table *t)
{
    return (const uint8_t *)p + t->offset;
}

bool probe_copy(const struct isa_plan *p, const struct isa_copy *c, uintptr_t bias, uint8_t *to,
                uintptr_t address)
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

static struct area {
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
}

/* A block and the copy of what a jump displaces, where the file says what is there. */
static void place_jump(const struct probe_image *image, const struct isa_plan *p,
                       const struct isa_site *s, uint8_t **to, struct probe_site *row)
{
    const uint8_t *text = (const uint8_t *)row->at; /* NOLINT: the program's text */
    uint8_t *copy = *to + PROBE_BLOCK_BYTES;
    if (!probe_may_jump || s->jump.displaced == 0 ||
        s->bytes + (uint64_t)s->jump.displaced > p->code.count ||
        memcmp(text, table(p, &p->code) + s->bytes, s->jump.displaced) != 0 ||
        !probe_copy(p, &s->jump, image->bias, copy, (uintptr_t)copy))
        return;
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
                               .behind = s->patch,
                               .byte = INT3};
    if ((s->flags & ISA_SITE_REFUSED) != 0 || (!own && s->one.displaced == 0) ||
        s->bytes >= p->code.count)
        return false;
    if (own)
        return true;
    row->byte = table(p, &p->code)[s->bytes];
    row->copy = *to;
    if (!probe_copy(p, &s->one, image->bias, *to, (uintptr_t)*to))
        return false;
    *to += room_of(&s->one);
    place_jump(image, p, s, to, row);
    return true;
}

int probe_place(const struct probe_image *image, const struct isa_plan *plan,
                const uint16_t *alarms, unsigned alarm_count, struct probe_sites *to,
                uint64_t *refused, struct rt_error *e)
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
    uint8_t *code = probe_map_near(image->from, image->to, bytes), *at = code;
    if (code == MAP_FAILED) {
        rt_error_set(e, "there is no free memory within 2 GiB of %s for its probes", image->path);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        struct isa_site s = probe_plan_site(plan, i);
        struct probe_site row;
        bool placed = place_one(image, plan, &s, &at, &row);
        *refused += !placed;
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
    struct area *areas = realloc(unsealed, (unsealed_count + 1) * sizeof *areas);
    if (areas == NULL) {
        rt_error_set(e, "no memory for %zu probes", n);
        return -ENOMEM;
    }
    unsealed = areas;
    unsealed[unsealed_count++] = (struct area){code, bytes};
    return 0;
}

static size_t same_place(const struct probe_site *rows, size_t count, size_t i)
{
    size_t j = i;
    while (j < count && rows[j].at == rows[i].at)
        j++;
    return j;
}

void probe_choose(struct probe_site *rows, size_t count)
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
        const uint8_t *entry = probe_jump_code(rows[with].block, &rows[i], (unsigned)(j - i));
        for (size_t k = i; k < j && entry != NULL; k++) {
            rows[k].entry = entry;
            rows[k].jumped = rows[with].room;
            covered = rows[k].at + rows[k].jumped;
        }
    }
}

/* By /proc/self/mem the kernel writes where the mapping itself may not be written, and copies the page first. */
static bool write_text(int fd, uintptr_t at, const uint8_t *bytes, size_t n)
{
    if (fd >= 0 && pwrite(fd, bytes, n, (off_t)at) == (ssize_t)n)
        return true;
    void *page = (void *)(at & ~(PAGE - 1)); /* NOLINT: an address of the program's */
    size_t room = ((at + n + PAGE - 1) & ~(PAGE - 1)) - (at & ~(PAGE - 1));
    if (mprotect(page, room, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        ((volatile uint8_t *)at)[i] = bytes[i]; /* NOLINT */
    (void)mprotect(page, room, PROT_READ | PROT_EXEC);
    return true;
}

bool probe_write(uintptr_t at, const uint8_t *bytes, size_t n)
{
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    bool done = write_text(fd, at, bytes, n);
    if (fd >= 0)
        (void)close(fd);
    return done;
}

static bool write_probe(int fd, const struct probe_site *s)
{
    uint8_t code[16] = {INT3};
    if (s->jumped == 0)
        return write_text(fd, s->at, code, 1);
    bool call = (s->flags & ISA_SITE_CALL) != 0;
    unsigned length = call ? s->jumped : 5;
    int32_t distance = (int32_t)((intptr_t)s->entry - (intptr_t)(s->at + length));
    if (call) {
        isa_call_bytes(code, length, distance);
    } else {
        code[0] = 0xe9;
        memcpy(code + 1, &distance, sizeof distance);
    }
    return write_text(fd, s->at, code, length);
}

int probe_patch(const struct probe_site *rows, size_t count, uint64_t *changed)
{
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC), rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct probe_site *s = &rows[i];
        uint8_t now = *(const volatile uint8_t *)s->at; /* NOLINT: the program's text */
        bool done = i > 0 && rows[i - 1].at == s->at;   /* for another alarm */
        if (done || s->copy == NULL)
            continue;
        if (now != s->byte)
            (*changed)++;
        else if (!write_probe(fd, s))
            rc = -EACCES;
    }
    if (fd >= 0)
        (void)close(fd);
    return rc;
}
