/* SPDX-License-Identifier: BSD-3-Clause
 * Holds the channels of threads and of the processors that follow them, and reports their
 * changes. */
#include "tools/channels/cells.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- rows and cells --------------------------------------------------------------------------- */

static inline struct cell *cell_of(const struct emu *m, uint32_t row, uint32_t channel)
{
    return &m->cells[(size_t)row * m->channel_count + channel];
}

static inline void touch_cell(struct emu *m, struct cell *c, uint32_t row, uint32_t channel)
{
    if (!c->dirty)
        m->dirty[m->dirty_count++] = (struct dirty_cell){c, row, channel};
    c->dirty = true;
}

static void touch(struct emu *m, uint32_t row, uint32_t channel)
{
    touch_cell(m, cell_of(m, row, channel), row, channel);
}

static inline uint32_t row_of_processor(const struct emu *m, int32_t processor)
{
    return m->thread_count + (uint32_t)processor;
}

static uint32_t tracks_of(enum emu_state s)
{
    return 1u << EMU_ALWAYS | (uint32_t)(s == EMU_RUNNING) << EMU_WHILE_RUNNING |
           (uint32_t)emu_state_is_active(s) << EMU_WHILE_ACTIVE;
}

struct emu *emu_open(const struct emu_channel *channels, uint32_t channel_count, uint32_t threads,
                     uint32_t processors, struct emu_output output)
{
    size_t cells = ((size_t)threads + processors) * channel_count;
    struct emu *m = calloc(1, sizeof *m);
    if (m == NULL || cells > UINT32_MAX) {
        free(m);
        return NULL;
    }
    *m = (struct emu){.channels = channels,
                      .channel_count = channel_count,
                      .thread_count = threads,
                      .processor_count = processors,
                      .output = output,
                      .threads = calloc(threads + 1u, sizeof *m->threads),
                      .processors = calloc(processors + 1u, sizeof *m->processors),
                      .cells = calloc(cells + 1, sizeof *m->cells),
                      .awake = calloc(channel_count + 1u, sizeof *m->awake),
                      .dirty = calloc(cells + 1, sizeof *m->dirty)};
    if (m->threads == NULL || m->awake == NULL || m->processors == NULL || m->cells == NULL ||
        m->dirty == NULL) {
        emu_close(m);
        return NULL;
    }
    for (uint32_t i = 0; i < threads; i++)
        m->threads[i] = (struct channel_thread){.processor = -1, .tracked = tracks_of(EMU_UNKNOWN)};
    for (size_t i = 0; i < cells; i++)
        m->cells[i].shown = NOTHING;
    for (uint32_t k = 0; k < channel_count; k++)
        m->awake[k] = !channels[k].lazy;
    return m;
}

void emu_close(struct emu *m)
{
    if (m == NULL)
        return;
    size_t cells = ((size_t)m->thread_count + m->processor_count) * m->channel_count;
    for (size_t i = 0; m->cells != NULL && i < cells; i++)
        free(m->cells[i].stack);
    free(m->threads);
    free(m->processors);
    free(m->cells);
    free(m->awake);
    free(m->dirty);
    free(m);
}

/* --- shown values ----------------------------------------------------------------------------- */

static inline bool is_enabled(const struct emu *m, uint32_t thread, uint32_t channel)
{
    return (m->threads[thread].tracked >> m->channels[channel].thread & 1) != 0;
}

static inline int64_t held(const struct emu_channel *ch, const struct cell *c)
{
    return c->spoiled ? EMU_BAD : ch->kind == EMU_PUNCTUAL ? 0 : c->value;
}

static inline const struct group *group_of(const struct processor *p, enum emu_track track)
{
    return track == EMU_WHILE_RUNNING ? &p->running : &p->active;
}

static inline int64_t seen_of_processor(const struct emu *m, uint32_t processor, uint32_t channel)
{
    const struct emu_channel *ch = &m->channels[channel];
    if (ch->processor == EMU_ALWAYS)
        return held(ch, cell_of(m, row_of_processor(m, (int32_t)processor), channel));
    const struct group *g = group_of(&m->processors[processor], ch->processor);
    if (g->count == 0)
        return ch->bad;
    if (g->count > 1)
        return EMU_TOO_MANY_THREADS;
    return is_enabled(m, g->numbers, channel) ? held(ch, cell_of(m, g->numbers, channel)) : EMU_BAD;
}

/* Returns the event of a punctual channel to report on that row, or 0. */
static int64_t event_of(const struct emu *m, uint32_t row, uint32_t channel)
{
    const struct emu_channel *ch = &m->channels[channel];
    uint32_t thread = row;
    if (row >= m->thread_count) {
        const struct group *g = group_of(&m->processors[row - m->thread_count], ch->processor);
        if (ch->processor == EMU_ALWAYS || g->count != 1)
            return 0;
        thread = g->numbers;
    }
    return is_enabled(m, thread, channel) ? cell_of(m, thread, channel)->value : 0;
}

/* Reports a cell if its value has changed. Returns whether its channel is punctual. */
static inline bool tell(struct emu *m, const struct dirty_cell *p, int64_t time)
{
    const struct emu_channel *ch = &m->channels[p->channel];
    struct cell *c = p->cell;
    bool processor = p->row >= m->thread_count;
    uint32_t number = processor ? p->row - m->thread_count : p->row;
    int64_t value = ch->bad, was = c->shown;
    if (processor)
        value = seen_of_processor(m, number, p->channel);
    else if (is_enabled(m, number, p->channel))
        value = held(ch, c);
    c->shown = value;
    c->dirty = false;
    int64_t event = ch->kind == EMU_PUNCTUAL ? event_of(m, p->row, p->channel) : 0;
    if (event != 0)
        m->output.shows(m->output.context, processor, number, p->channel, time - 1, event);
    if (event != 0 || value != was)
        m->output.shows(m->output.context, processor, number, p->channel, time, value);
    return ch->kind == EMU_PUNCTUAL;
}

static bool has_cell(const struct emu *m, uint32_t row, uint32_t channel)
{
    return row < m->thread_count || m->channels[channel].on_processor;
}

void emu_begin(struct emu *m, int64_t time)
{
    for (uint32_t row = 0; row < m->thread_count + m->processor_count; row++)
        for (uint32_t k = 0; k < m->channel_count; k++)
            if (has_cell(m, row, k) && m->channels[k].lazy)
                cell_of(m, row, k)->shown = 0;
            else if (has_cell(m, row, k))
                touch(m, row, k);
    emu_emit(m, time);
}

void emu_emit(struct emu *m, int64_t time)
{
    bool events = false;
    for (uint32_t i = 0; i < m->dirty_count; i++)
        events |= tell(m, &m->dirty[i], time);
    for (uint32_t i = 0; events && i < m->dirty_count; i++)
        if (m->channels[m->dirty[i].channel].kind == EMU_PUNCTUAL)
            m->dirty[i].cell->value = 0;
    m->dirty_count = 0;
}

/* --- changes of channels ---------------------------------------------------------------------- */

/* Handles the first change of a lazy channel: processors report the value they have had so far. */
static void wake(struct emu *m, uint32_t channel)
{
    m->awake[channel] = true;
    for (uint32_t i = 0; m->channels[channel].on_processor && i < m->processor_count; i++)
        touch(m, row_of_processor(m, (int32_t)i), channel);
}

/* Marks a thread's cell as changed, and that of its processor if it follows the thread. */
static inline void touch_thread(struct emu *m, struct cell *c, uint32_t thread, uint32_t channel)
{
    const struct emu_channel *ch = &m->channels[channel];
    int32_t processor = m->threads[thread].processor;
    if (!m->awake[channel])
        wake(m, channel);
    touch_cell(m, c, thread, channel);
    if (ch->on_processor && ch->processor != EMU_ALWAYS && processor >= 0)
        touch(m, row_of_processor(m, processor), channel);
}

/* Writes the values of a stack, " 3 2 1 ...", top first. */
static void stack_text(char *out, size_t room, const struct cell *c)
{
    size_t n = 0;
    out[0] = '\0';
    for (uint32_t i = c->depth; i-- > 0 && n + 24 < room;)
        n += (size_t)snprintf(out + n, room - n, " %" PRId64, c->stack[i]);
}

static bool is_kind(const struct emu *m, uint32_t channel, enum emu_kind kind, const char *what,
                    struct rt_error *e)
{
    if (m->channels[channel].kind == kind)
        return true;
    rt_error_set(e, "%s: the channel is of another kind than %s needs", m->channels[channel].name,
                 what);
    return false;
}

static int refuse_value(const struct emu *m, uint32_t channel, int64_t value, int64_t least,
                        struct rt_error *e)
{
    if (value >= least)
        return 0;
    rt_error_set(e, "%s: the value %" PRId64 " is no state (from %" PRId64 " on)",
                 m->channels[channel].name, value, least);
    return -EINVAL;
}

/* Refuses the present value of a channel, unless the channel allows repeats. */
static int refuse_repeat(const struct emu *m, uint32_t channel, const struct cell *c, int64_t value,
                         struct rt_error *e)
{
    const struct emu_channel *ch = &m->channels[channel];
    if (ch->repeats || c->spoiled || c->shown == NOTHING || held(ch, c) != value)
        return 0;
    rt_error_set(e, "%s: it is %" PRId64 " already", ch->name, value);
    return -EINVAL;
}

static bool may_set(const struct emu *m, uint32_t channel, const struct cell *c, int64_t value,
                    struct rt_error *e)
{
    return is_kind(m, channel, EMU_SINGLE, "set", e) &&
           refuse_value(m, channel, value, 0, e) == 0 &&
           refuse_repeat(m, channel, c, value, e) == 0;
}

__attribute__((noinline)) static int set(struct emu *m, struct cell *c, uint32_t thread,
                                         uint32_t channel, int64_t value, struct rt_error *e)
{
    if (!may_set(m, channel, c, value, e))
        return -EINVAL;
    c->value = value;
    c->spoiled = false;
    touch_thread(m, c, thread, channel);
    return 0;
}

int emu_set(struct emu *m, uint32_t thread, uint32_t channel, int64_t value, struct rt_error *e)
{
    struct cell *c = cell_of(m, thread, channel);
    const struct emu_channel *ch = &m->channels[channel];
    if (c->value == value && c->shown == value && !c->spoiled && ch->repeats &&
        ch->kind == EMU_SINGLE)
        return 0; /* the usual case */
    return set(m, c, thread, channel, value, e);
}

int emu_set_processor(struct emu *m, uint32_t processor, uint32_t channel, int64_t value,
                      struct rt_error *e)
{
    uint32_t row = row_of_processor(m, (int32_t)processor);
    struct cell *c = cell_of(m, row, channel);
    if (!may_set(m, channel, c, value, e))
        return -EINVAL;
    c->value = value;
    touch(m, row, channel);
    return 0;
}

int emu_push(struct emu *m, uint32_t thread, uint32_t channel, int64_t value, struct rt_error *e)
{
    struct cell *c = cell_of(m, thread, channel);
    if (!is_kind(m, channel, EMU_STACK, "push", e) || refuse_value(m, channel, value, 1, e) != 0 ||
        refuse_repeat(m, channel, c, value, e) != 0)
        return -EINVAL;
    if (c->stack == NULL)
        c->stack = malloc(EMU_STACK_MAX * sizeof *c->stack);
    if (c->stack == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    if (c->depth == EMU_STACK_MAX) {
        rt_error_set(e, "%s: push of %" PRId64 ": %d values are on the stack already",
                     m->channels[channel].name, value, EMU_STACK_MAX);
        return -ENOSPC;
    }
    c->stack[c->depth++] = c->value = value;
    c->spoiled = false;
    touch_thread(m, c, thread, channel);
    return 0;
}

int emu_pop(struct emu *m, uint32_t thread, uint32_t channel, int64_t value, struct rt_error *e)
{
    struct cell *c = cell_of(m, thread, channel);
    char stack[200];
    if (!is_kind(m, channel, EMU_STACK, "pop", e))
        return -EINVAL;
    if (c->depth == 0 || c->stack[c->depth - 1] != value) {
        stack_text(stack, sizeof stack, c);
        rt_error_set(e, "%s: pop of %" PRId64 ", which is not on top (the stack, top first:%s)",
                     m->channels[channel].name, value, c->depth != 0 ? stack : " empty");
        return -EINVAL;
    }
    c->depth--;
    c->value = c->depth != 0 ? c->stack[c->depth - 1] : c->rest;
    c->spoiled = false;
    touch_thread(m, c, thread, channel);
    return 0;
}

int emu_event(struct emu *m, uint32_t thread, uint32_t channel, int64_t value, struct rt_error *e)
{
    struct cell *c = cell_of(m, thread, channel);
    if (!is_kind(m, channel, EMU_PUNCTUAL, "an event", e) ||
        refuse_value(m, channel, value, 1, e) != 0)
        return -EINVAL;
    if (c->value != 0) {
        rt_error_set(e, "%s: event %" PRId64 " where %" PRId64 " has not been told yet",
                     m->channels[channel].name, value, c->value);
        return -EINVAL;
    }
    c->value = value;
    touch_thread(m, c, thread, channel);
    return 0;
}

void emu_rest(struct emu *m, uint32_t thread, uint32_t channel, int64_t value)
{
    struct cell *c = cell_of(m, thread, channel);
    c->rest = value;
    if (c->depth != 0 || c->value == value)
        return;
    c->value = value;
    touch_thread(m, c, thread, channel);
}

void emu_clear(struct emu *m, uint32_t thread, uint32_t channel, bool spoiled)
{
    struct cell *c = cell_of(m, thread, channel);
    c->depth = 0;
    c->value = c->rest;
    c->spoiled = spoiled && m->channels[channel].kind != EMU_PUNCTUAL;
    touch_thread(m, c, thread, channel);
}

/* --- changes of threads ----------------------------------------------------------------------- */

static void join(struct emu *m, uint32_t thread, uint32_t by)
{
    const struct channel_thread *t = &m->threads[thread];
    if (t->processor < 0)
        return;
    struct processor *p = &m->processors[t->processor];
    if (t->state == EMU_RUNNING) {
        p->running.count += by;
        p->running.numbers ^= thread;
    }
    if (emu_state_is_active(t->state)) {
        p->active.count += by;
        p->active.numbers ^= thread;
    }
}

static void touch_processor(struct emu *m, int32_t processor)
{
    for (uint32_t k = 0; processor >= 0 && k < m->channel_count; k++)
        if (m->awake[k] && m->channels[k].on_processor && m->channels[k].processor != EMU_ALWAYS)
            touch(m, row_of_processor(m, processor), k);
}

static void change(struct emu *m, uint32_t thread, enum emu_state state, int32_t processor)
{
    struct channel_thread *t = &m->threads[thread];
    int32_t before = t->processor;
    join(m, thread, UINT32_MAX); /* UINT32_MAX: subtracts 1 */
    *t = (struct channel_thread){state, processor, tracks_of(state)};
    join(m, thread, 1);
    for (uint32_t k = 0; k < m->channel_count; k++)
        if (m->awake[k] && m->channels[k].thread != EMU_ALWAYS)
            touch(m, thread, k);
    touch_processor(m, before);
    touch_processor(m, processor);
}

int emu_thread_is(struct emu *m, uint32_t thread, enum emu_state state, struct rt_error *e)
{
    enum emu_state now = m->threads[thread].state;
    if (now == EMU_DEAD || now == state) {
        rt_error_set(e, "the thread is %s, and cannot be %s then", emu_state_name(now),
                     emu_state_name(state));
        return -EINVAL;
    }
    change(m, thread, state, m->threads[thread].processor);
    return 0;
}

int emu_thread_moves(struct emu *m, uint32_t thread, int32_t processor, struct rt_error *e)
{
    if (processor < -1 || processor >= (int32_t)m->processor_count) {
        rt_error_set(e, "there is no processor %" PRId32, processor);
        return -EINVAL;
    }
    if (processor != m->threads[thread].processor)
        change(m, thread, m->threads[thread].state, processor);
    return 0;
}

enum emu_state emu_thread_state(const struct emu *m, uint32_t thread)
{
    return m->threads[thread].state;
}

int32_t emu_thread_processor(const struct emu *m, uint32_t thread)
{
    return m->threads[thread].processor;
}

bool emu_is_awake(const struct emu *m, uint32_t channel)
{
    return m->awake[channel];
}

uint32_t emu_running(const struct emu *m, uint32_t processor)
{
    return m->processors[processor].running.count;
}

uint32_t emu_depth(const struct emu *m, uint32_t thread, uint32_t channel)
{
    return cell_of(m, thread, channel)->depth;
}

int emu_end(const struct emu *m, struct rt_error *e)
{
    char stack[200];
    for (uint32_t i = 0; i < m->thread_count; i++) {
        for (uint32_t k = 0; k < m->channel_count; k++) {
            const struct cell *c = cell_of(m, i, k);
            if (c->depth == 0)
                continue;
            stack_text(stack, sizeof stack, c);
            rt_error_set(e, "%s of thread %" PRIu32 ": at the end the stack has (top first):%s",
                         m->channels[k].name, i, stack);
            return -EINVAL;
        }
        if (m->threads[i].state != EMU_DEAD && m->threads[i].state != EMU_UNKNOWN) {
            rt_error_set(e, "thread %" PRIu32 " is %s at the end", i,
                         emu_state_name(m->threads[i].state));
            return -EINVAL;
        }
    }
    return 0;
}
