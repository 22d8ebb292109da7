/* SPDX-License-Identifier: BSD-3-Clause
 * The map of an image's code: creates it, answers questions about it, and enters what is known
 * before anything is decoded. */
#include "isa/decode/code_map.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

bool code_append(struct address_list *list, uint64_t address)
{
    if (image_grow((void **)&list->at, list->count, sizeof address) != 0)
        return false;
    list->at[list->count++] = address;
    return true;
}

void code_add(struct code *c, struct address_list *list, uint64_t address)
{
    if (!code_append(list, address))
        c->no_memory = true;
}

void code_sort(struct address_list *list)
{
    size_t kept = 0;
    if (list->count == 0)
        return;
    image_sort(list->at, list->count, sizeof *list->at, 0);
    for (size_t i = 0; i < list->count; i++)
        if (kept == 0 || list->at[kept - 1] != list->at[i])
            list->at[kept++] = list->at[i];
    /* code_append() needs a capacity that is a power of two. */
    size_t room = 1;
    while (room < kept)
        room *= 2;
    uint64_t *smaller = realloc(list->at, room * sizeof *list->at);
    if (smaller != NULL)
        list->at = smaller;
    list->count = kept;
}

size_t code_above(const struct address_list *list, uint64_t address)
{
    size_t n;
    SEARCH_FIRST(n, list->count, list->at[n] <= address);
    return n;
}

bool code_has(const struct address_list *list, uint64_t address)
{
    size_t above = code_above(list, address);
    return above > 0 && list->at[above - 1] == address;
}

const struct code_segment *code_segment_of(const struct code *c, uint64_t address)
{
    for (size_t i = 0; i < c->segment_count; i++)
        if (address - c->segments[i].address < c->segments[i].size)
            return &c->segments[i];
    return NULL;
}

uint8_t *code_at(const struct code *c, uint64_t address)
{
    const struct code_segment *s = code_segment_of(c, address);
    return s != NULL ? &s->flags[address - s->address] : NULL;
}

uint64_t code_next_flagged(const struct code_segment *s, uint64_t n, uint8_t flags)
{
    uint64_t eight;
    for (; n < s->size; n += sizeof eight) {
        memcpy(&eight, s->flags + n, sizeof eight);
        eight &= CODE_EACH(flags);
        if (eight != 0)
            return n + (unsigned)__builtin_ctzll(eight) / 8;
    }
    return s->size;
}

bool code_is_sure(const struct code *c, uint64_t address)
{
    const uint8_t *f = code_at(c, address);
    return f != NULL && (*f & (CODE_START | CODE_UNSURE | CODE_PADDING)) == CODE_START;
}

struct code_range *code_range_of(const struct code *c, uint64_t address)
{
    size_t n;
    SEARCH_FIRST(n, c->range_count, c->ranges[n].start <= address);
    return n > 0 && address < c->ranges[n - 1].end ? &c->ranges[n - 1] : NULL;
}

uint64_t code_before(const struct code *c, uint64_t at, uint64_t floor)
{
    for (uint64_t back = 1; back <= 15 && at - floor >= back; back++) {
        const uint8_t *f = code_at(c, at - back);
        if (f == NULL || (*f & (CODE_START | CODE_BODY)) == 0)
            return 0;
        if ((*f & CODE_START) != 0)
            return at - back;
    }
    return 0;
}

bool code_decode(const struct code *c, uint64_t at, struct instruction *i)
{
    const struct code_segment *s = code_segment_of(c, at);
    uint64_t n = s != NULL ? at - s->address : 0;
    return s != NULL && instruction_read(c->forms, s->bytes + n, s->size - n, at, i);
}

/* --- known before decoding ---------------------------------------------------------------- */

/* Returns whether this is a function of the C or C++ run-time library that never returns. ours: the
 * image defines it; then a name that the language does not reserve may mean anything. */
static bool never_returns(const char *name, bool ours)
{
    static const char *const names[] = {
        "abort",
        "exit",
        "_exit",
        "_Exit",
        "quick_exit",
        "longjmp",
        "_longjmp",
        "siglongjmp",
        "__longjmp_chk",
        "pthread_exit",
        "__assert_fail",
        "__stack_chk_fail",
        "__fortify_fail",
        "__chk_fail",
        "__libc_fatal",
        "_Unwind_Resume",
        "__cxa_throw",
        "__cxa_rethrow",
        "_ZSt9terminatev",
        "__cxa_call_unexpected",
        "__libc_start_main",
        "__cxa_bad_cast",
        "err",
        "errx",
        "__cxa_throw_bad_array_new_length",
        "_gfortran_stop_string",
        "_gfortran_error_stop_string",
        "_gfortran_os_error_at",
        "_gfortran_runtime_error",
        "_gfortran_runtime_error_at",
        "__clang_call_terminate",
    };
    if (strchr("_aelpqs", name[0]) == NULL) /* first letters of the names */
        return false;
    if (ours && (strcmp(name, "err") == 0 || strcmp(name, "errx") == 0))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name[0] == names[i][0] && name[1] == names[i][1] && strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "_ZSt", 4) == 0 && strstr(name, "__throw_") != NULL;
}

static void mark_symbols(struct code *c)
{
    for (size_t i = 0; i < c->image->symbol_count; i++) {
        const struct image_symbol *s = &c->image->symbols[i];
        uint8_t *f = code_at(c, s->address);
        if (f != NULL)
            *f |= CODE_TARGET;
        if (f == NULL || !image_is_function(s))
            continue;
        *f |= CODE_ENTRY;
        if (never_returns(s->name, s->origin != IMAGE_PLT))
            *f |= CODE_NORETURN;
    }
}

static bool add_range(struct code *c, uint64_t start, uint64_t end)
{
    if (image_grow((void **)&c->ranges, c->range_count, sizeof *c->ranges) != 0)
        return false;
    c->ranges[c->range_count++] = (struct code_range){.start = start, .end = end};
    return true;
}

/* Makes ranges from .eh_frame, and from functions with a size between those. */
static bool make_ranges(struct code *c)
{
    const struct image *m = c->image;
    for (size_t i = 0; i < m->range_count; i++)
        if (!add_range(c, m->ranges[i].start, m->ranges[i].end))
            return false;
    size_t frames = c->range_count, next = 0;
    uint64_t end = 0;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct image_symbol *s = &m->symbols[i];
        if (!image_is_function(s) || s->size == 0 || s->address < end ||
            code_at(c, s->address) == NULL || image_range_of(m, s->address) != NULL)
            continue;
        while (next < frames && c->ranges[next].start < s->address)
            next++;
        end = s->address + s->size;
        if (next < frames && end > c->ranges[next].start)
            end = c->ranges[next].start;
        if (!add_range(c, s->address, end))
            return false;
    }
    image_sort(c->ranges, c->range_count, sizeof *c->ranges, offsetof(struct code_range, start));
    return true;
}

static void mark_ranges(struct code *c)
{
    for (size_t i = 0; i < c->image->range_count; i++) {
        uint8_t *f = code_at(c, c->image->ranges[i].start);
        if (f != NULL)
            *f |= CODE_ENTRY | CODE_TARGET;
    }
}

static void follow_known(struct code *c)
{
    const struct image *m = c->image;
    if (m->entry != 0) /* 0 in a library */
        code_follow(c, m->entry);
    for (size_t i = 0; i < m->range_count; i++)
        code_follow(c, m->ranges[i].start);
    for (size_t i = 0; i < m->symbol_count; i++)
        if (image_is_function(&m->symbols[i]))
            code_follow(c, m->symbols[i].address);
    for (size_t i = 0; i < m->landing_pad_count; i++)
        code_follow(c, m->landing_pads[i]);
    for (size_t i = 0; i < m->pointer_count; i++)
        if (m->pointers[i].place == 0)
            code_follow(c, m->pointers[i].value);
}

static void add_word(struct code *c, uint64_t value)
{
    const struct code_range *r = code_at(c, value) != NULL ? code_range_of(c, value) : NULL;
    if (r != NULL && value != r->start)
        code_add(c, &c->words, value);
}

/* Finds stored addresses of labels. In an image at a fixed address, nothing tells pointers from
 * numbers: any word of data may be one. */
static void find_words(struct code *c)
{
    const struct image *m = c->image;
    for (size_t i = 0; i < m->pointer_count; i++)
        add_word(c, m->pointers[i].value);
    for (size_t i = 0; i < m->segment_count && !m->dynamic_type; i++) {
        const struct image_segment *s = &m->segments[i];
        uint64_t value;
        for (uint64_t at = -s->address & 7; !s->code && at + 8 <= s->size; at += 8) {
            memcpy(&value, s->bytes + at, 8);
            add_word(c, value);
        }
    }
    code_sort(&c->words);
}

static bool make_segments(struct code *c)
{
    for (size_t i = 0; i < c->image->segment_count; i++) {
        const struct image_segment *s = &c->image->segments[i];
        if (!s->code)
            continue;
        if (image_grow((void **)&c->segments, c->segment_count, sizeof *c->segments) != 0)
            return false;
        uint8_t *flags = calloc(1, s->size + CODE_SLACK);
        if (flags == NULL)
            return false;
        c->segments[c->segment_count++] =
            (struct code_segment){s->address, s->size, s->bytes, flags};
    }
    return true;
}

struct code *code_begin(const struct image *m)
{
    struct code *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->image = m;
    c->forms = forms_open();
    if (c->forms == NULL || !make_segments(c) || !make_ranges(c)) {
        code_close(c);
        return NULL;
    }
    find_words(c);
    mark_symbols(c);
    mark_ranges(c);
    return c;
}

bool code_is_wanted(const struct code *c, uint64_t address)
{
    const struct code_range *r = c->partial ? code_range_of(c, address) : NULL;
    return !c->partial || (r != NULL && r->wanted);
}

struct code *code_finish(struct code *c)
{
    code_sweep(c);
    if (!c->no_memory)
        return c;
    code_close(c);
    return NULL;
}

struct code *code_open(const struct image *m)
{
    struct code *c = code_begin(m);
    if (c == NULL)
        return NULL;
    follow_known(c);
    code_follow_computed(c);
    return code_finish(c);
}

void code_close(struct code *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->segment_count; i++)
        free(c->segments[i].flags);
    free(c->segments);
    free(c->ranges);
    free(c->indirect.at);
    free(c->data_refs.at);
    free(c->code_refs.at);
    free(c->maybe.at);
    free(c->behind_calls.at);
    free(c->words.at);
    free(c->lea_list);
    free(c->jump_targets);
    free(c->computed);
    free(c->crossings);
    free(c->lost.at);
    free(c->todo.at);
    free(c->done.at);
    forms_close(c->forms);
    free(c);
}
