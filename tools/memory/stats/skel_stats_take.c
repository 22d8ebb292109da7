/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel stats`: takes the accesses of a recording as they arrive. An access takes few
 * steps if it is in the same line as the last one of its instruction. */
#include "tools/memory/stats/skel_stats.h"

#include "base/toolkit/array.h"

#include <stdlib.h>
#include <string.h>

#define NO_LINE UINT64_MAX /* no line has this number: lines hold several bytes */

static bool no_memory(void)
{
    tool_error("skel", "there is no memory left: -window, -thread and -rank take less at once");
    return false;
}

/* --- instructions ----------------------------------------------------------------------------- */

static uint64_t kind_of(const struct accesses_record *r)
{
    return (uint64_t)r->bytes << 8 | r->kind;
}

static struct stats_instruction *find_instruction(struct stats_lane *l,
                                                  const struct accesses_record *r)
{
    uint64_t kind = kind_of(r);
    uint32_t number = key_table_find(&l->instruction_keys, kind, r->pc);
    if (number != KEY_NONE)
        return l->instructions[number];
    struct stats_instruction **more = array_grown((void *)l->instructions, l->instruction_count,
                                                  &l->instruction_room,
                                                  sizeof(struct stats_instruction *)),
                             *i = calloc(1, sizeof *i);
    if (more != NULL)
        l->instructions = more;
    if (more == NULL || i == NULL || key_table_add(&l->instruction_keys, kind, r->pc) == KEY_NONE) {
        free(i);
        return NULL;
    }
    *i = (struct stats_instruction){.pc = r->pc, .kind = kind};
    i->lines.words = l->grain->words;
    l->instructions[l->instruction_count++] = i;
    return i;
}

/* --- strides ---------------------------------------------------------------------------------- */

static bool end_run(struct stats_instruction *i)
{
    bool good = i->run == 0 || skel_strides_add(&i->strides, i->stride, i->run);
    i->run = 0;
    return good;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Sets the bits of bytes `first` to `last` of a line. */
static void set_mask(uint64_t *mask, unsigned first, unsigned last)
{
    for (unsigned k = first / 64; k <= last / 64; k++) {
        unsigned from = k == first / 64 ? first % 64 : 0, to = k == last / 64 ? last % 64 : 63;
        mask[k] |= (~UINT64_C(0) >> (63 - (to - from))) << from;
    }
}

static inline __attribute__((always_inline)) bool
touch_again(struct stats_lane *l, struct stats_instruction *i, size_t number)
{
    uint64_t distance = skel_reuse_touch(&l->reuse, number);
    unsigned bucket = skel_reuse_bucket(distance);
    i->reuse[bucket]++;
    l->streams[l->stream_count - 1].sums.reuse[bucket]++;
    return distance != UINT64_MAX;
}

/* Touches `bytes` bytes of a line, from byte `first` on. Some instructions access 0 bytes. */
static inline __attribute__((always_inline)) bool touch_line(struct stats_lane *l,
                                                             struct stats_instruction *i,
                                                             uint64_t line, unsigned first,
                                                             unsigned bytes)
{
    bool is_new;
    size_t number = skel_reuse_find(&l->reuse, line, &is_new);
    i->mask = number != SKEL_REUSE_NONE ? skel_lines_add(&i->lines, line) : NULL;
    if (i->mask == NULL)
        return false;
    i->line = line;
    i->number = number;
    if (bytes > 0) {
        set_mask(i->mask, first, first + bytes - 1);
        set_mask(skel_reuse_mask(&l->reuse, number), first, first + bytes - 1);
    }
    if (!is_new)
        return touch_again(l, i, number);
    i->cold++;
    l->streams[l->stream_count - 1].sums.cold++;
    return true;
}

/* Touches all lines of an access. */
static inline __attribute__((always_inline)) bool
touch_lines(struct stats_lane *l, struct stats_instruction *i, const struct accesses_record *r)
{
    unsigned bits = l->grain->line_bits, first = (unsigned)r->address & ((1u << bits) - 1),
             left = r->bytes;
    uint64_t line = r->address >> bits;
    bool several = false;
    do {
        unsigned room = (1u << bits) - first, bytes = left < room ? left : room;
        if (!touch_line(l, i, line, first, bytes))
            return false;
        left -= bytes;
        several = several || left > 0;
        line = (line + 1) & (~UINT64_C(0) >> bits);
        first = 0;
    } while (left > 0);
    if (several)
        i->line = NO_LINE;
    return true;
}

/* --- accesses --------------------------------------------------------------------------------- */

/* Prepares for the first access of an instruction in a stream, which has no stride and no known
 * line. Sets the last address so that take() finds the stride of the present run, and takes 1 off
 * the run, because take() adds 1. */
static void come_first(struct stats_lane *l, struct stats_instruction *i, uint64_t address)
{
    i->stream = l->stream_count;
    i->line = NO_LINE;
    i->address = address - (uint64_t)i->stride;
    i->run--;
}

static inline __attribute__((always_inline)) bool
take(struct stats_lane *l, struct stats_instruction *i, const struct accesses_record *r)
{
    const struct skel_grain *g = l->grain;
    if (__builtin_expect(i->stream != l->stream_count, 0))
        come_first(l, i, r->address);
    int64_t stride = (int64_t)(r->address - i->address);
    if (stride != i->stride) {
        if (!end_run(i))
            return false;
        i->stride = stride;
    }
    i->run++;
    i->times++;
    i->address = r->address;
    unsigned first = (unsigned)r->address & ((1u << g->line_bits) - 1);
    if (r->address >> g->line_bits != i->line || r->bytes > (1u << g->line_bits) - first ||
        r->bytes == 0)
        return touch_lines(l, i, r);
    if (g->words == 1) {
        uint64_t mask = (~UINT64_C(0) >> (64 - r->bytes)) << first;
        *i->mask |= mask;
        *skel_reuse_mask(&l->reuse, i->number) |= mask;
    } else {
        set_mask(i->mask, first, first + r->bytes - 1);
        set_mask(skel_reuse_mask(&l->reuse, i->number), first, first + r->bytes - 1);
    }
    return touch_again(l, i, i->number);
}

static inline __attribute__((always_inline)) bool
take_list(struct stats_lane *l, const struct accesses_record *list, size_t count)
{
    struct stats_instruction *before = &l->start, *i;
    uint64_t kinds[256] = {0};
    bool good = true;
    for (size_t k = 0; good && k < count; k++, before = i) {
        const struct accesses_record *r = &list[k];
        i = before->next;
        if (__builtin_expect(i == NULL || i->pc != r->pc || i->kind != kind_of(r), 0)) {
            i = find_instruction(l, r);
            if (i == NULL)
                return no_memory();
            before->next = i;
        }
        kinds[r->kind]++;
        good = take(l, i, r);
    }
    struct stats_sums *sums = &l->streams[l->stream_count - 1].sums;
    sums->reads += kinds[ACCESSES_READ];
    sums->writes += kinds[ACCESSES_WRITE];
    sums->both += kinds[ACCESSES_BOTH];
    return good || no_memory();
}

/* Counting marks is faster with popcnt, which not all processors have. */
#ifdef __x86_64__
static __attribute__((target("popcnt"))) bool
take_fast(struct stats_lane *l, const struct accesses_record *list, size_t count)
{
    return take_list(l, list, count);
}
#endif

static bool put(void *context, const struct accesses_record *list, size_t count)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("popcnt"))
        return take_fast(context, list, count);
#endif
    return take_list(context, list, count);
}

/* --- streams ---------------------------------------------------------------------------------- */

static bool goes_on(const struct stats_lane *l, const struct accesses_whose *whose)
{
    const struct stats_stream *s = l->stream_count > 0 ? &l->streams[l->stream_count - 1] : NULL;
    return s != NULL && memcmp(&s->whose, whose, sizeof *whose) == 0;
}

static void end_stream(struct stats_lane *l)
{
    if (l->stream_count > 0)
        skel_reuse_footprint(&l->reuse, &l->streams[l->stream_count - 1].footprint);
}

static bool begin(void *context, const struct accesses_whose *whose)
{
    struct stats_lane *l = context;
    if (goes_on(l, whose))
        return true;
    end_stream(l);
    if ((l->stream_count & (l->stream_count - 1)) == 0) {
        struct stats_stream *more =
            realloc(l->streams, (l->stream_count == 0 ? 1 : 2 * l->stream_count) * sizeof *more);
        if (more == NULL)
            return no_memory();
        l->streams = more;
    }
    l->streams[l->stream_count++] =
        (struct stats_stream){.whose = *whose, .program = l->records.recording->program};
    return skel_reuse_begin(&l->reuse, l->grain) || no_memory();
}

/* Returns the end of a stream that consists of two segments. After a jump the next segment
 * continues, and nothing is lost; any other reason stays. */
static uint32_t end_of_both(uint32_t before, uint32_t now)
{
    bool lost = before != MEMORY_CLOSED && before != MEMORY_JUMPED;
    return lost && (now == MEMORY_CLOSED || now == MEMORY_JUMPED) ? before : now;
}

static bool end(void *context, uint64_t functions, uint32_t how)
{
    const struct stats_lane *l = context;
    struct stats_stream *t = &l->streams[l->stream_count - 1];
    (void)functions;
    t->end = end_of_both(t->end, how);
    return true;
}

const struct skel_records_use stats_records_use = {.begin = begin, .put = put, .end = end};

bool stats_lane_finish(struct stats_lane *l)
{
    bool good = true;
    for (size_t k = 0; good && k < l->instruction_count; k++)
        good = end_run(l->instructions[k]);
    end_stream(l);
    skel_reuse_free(&l->reuse);
    return good || no_memory();
}

void stats_lane_free(struct stats_lane *l)
{
    for (size_t k = 0; k < l->instruction_count; k++) {
        skel_lines_free(&l->instructions[k]->lines);
        skel_strides_free(&l->instructions[k]->strides);
        free(l->instructions[k]);
    }
    free(l->instructions);
    key_table_free(&l->instruction_keys);
    free(l->streams);
    skel_reuse_free(&l->reuse);
    free(l);
}
