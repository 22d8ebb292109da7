/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace dump`: prints every event as a line of text or of JSON, in the order of time, rank by
 * rank. */
#include "tools/addresses.h"
#include "tools/event_description.h"
#include "tools/json.h"
#include "tools/open_run.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_ROWS 65536

struct dump_options {
    const char *path, *code;
    bool json;
    bool has_thread;
    uint64_t thread, wait;
    struct rank_list ranks;
    struct window_span windows;
};

/* The rank that is being printed. */
struct showing {
    const struct rt_rank *rank;
    struct addresses *addresses;
    const struct rt_fired **fired; /* sorted by row */
};

struct kept_event {
    struct rt_event event;
    uint64_t row; /* in /events */
};

struct dump_kept {
    struct kept_event *rows;
    size_t count, room;
};

static int take_option(void *options, const struct arguments *a)
{
    struct dump_options *o = options;
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    if (strcmp(name, "json") == 0) {
        o->json = true;
    } else if (strcmp(name, "rank") == 0) {
        if (rank_list_parse(&o->ranks, a->value, &e) != 0) {
            tool_error("dump", "-rank: %s", e.text);
            return TOOL_USAGE;
        }
    } else if (strcmp(name, "thread") == 0) {
        o->has_thread = true;
        if (argument_number(a->value, 0, INT32_MAX, &o->thread) != 0) {
            tool_error("dump", "-thread is \"%s\": give the number of a thread, 0 or more",
                       a->value);
            return TOOL_USAGE;
        }
    } else if (strcmp(name, "window") == 0) {
        if (window_span_parse(&o->windows, a->value, &e) != 0) {
            tool_error("dump", "-window: %s", e.text);
            return TOOL_USAGE;
        }
    } else if (strcmp(name, "code") == 0) {
        o->code = a->value;
    } else if (argument_number(a->value, 0, 86400, &o->wait) != 0) {
        tool_error("dump", "-wait is \"%s\": seconds from 0 to 86400 are legal", a->value);
        return TOOL_USAGE;
    }
    return TOOL_OK;
}

/* Matches the shell pattern against the event's name, or against its code: two letters and two
 * hexadecimal digits. */
static bool code_matches(const struct dump_options *o, const struct rt_rank *rank, uint32_t code)
{
    if (o->code == NULL)
        return true;
    char letters[8];
    (void)snprintf(letters, sizeof letters, "%c%c%02x", EVENT_MODEL(code), EVENT_CATEGORY(code),
                   EVENT_VALUE(code));
    return fnmatch(o->code, rt_rank_function(rank, code, NULL), 0) == 0 ||
           fnmatch(o->code, letters, 0) == 0;
}

static bool is_wanted(const struct dump_options *o, const struct rt_rank *rank,
                      const struct rt_event *ev)
{
    if (o->has_thread && ev->thread != (int32_t)o->thread)
        return false;
    if (!window_span_has(&o->windows, ev->window))
        return false;
    return code_matches(o, rank, ev->code);
}

static int keep_events(struct dump_kept *k, const struct dump_options *o, struct rt_rank *rank,
                       struct rt_error *e)
{
    struct rt_event *block = calloc(BLOCK_ROWS, sizeof *block);
    int rc = block != NULL ? 0 : -ENOMEM;
    size_t got = 1;
    struct progress p;
    progress_begin(&p, "reading events");
    for (uint64_t row = 0; rc == 0 && got > 0; row += got) {
        rc = rt_rank_read_events(rank, row, BLOCK_ROWS, block, &got, e);
        if (rc == 0 && k->count + got > k->room) {
            size_t room = 2 * (k->count + got);
            struct kept_event *more = realloc(k->rows, room * sizeof *more);
            if (more == NULL) {
                rc = -ENOMEM;
                rt_error_set(
                    e, "no memory for %zu events; choose fewer by -window, -thread or -code", room);
                break;
            }
            k->rows = more;
            k->room = room;
        }
        for (size_t i = 0; rc == 0 && i < got; i++)
            if (is_wanted(o, rank, &block[i]))
                k->rows[k->count++] = (struct kept_event){block[i], row + i};
        progress_update(&p, row, rt_rank_info(rank)->event_count);
    }
    progress_end(&p);
    free(block);
    return rc;
}

/* qsort() is not stable: `index` keeps events with the same clock in the order of the file. */
struct dump_order {
    uint64_t clock;
    size_t index;
};

/* A text from the program may contain anything. Prints it on one line, without characters that
 * control a terminal. Leaves bytes from 0x80 on as they are, for UTF-8. */
static void print_quoted(const char *key, const char *text)
{
    (void)printf(" %s=\"", key);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p < 0x20 || *p == 0x7f)
            (void)printf("\\x%02x", *p);
        else if (*p == '"' || *p == '\\')
            (void)printf("\\%c", *p);
        else
            (void)putchar(*p);
    }
    (void)putchar('"');
}

static int by_clock(const void *a, const void *b)
{
    const struct dump_order *x = a, *y = b;
    if (x->clock != y->clock)
        return x->clock < y->clock ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_row(const void *a, const void *b)
{
    uint64_t x = (*(const struct rt_fired *const *)a)->row,
             y = (*(const struct rt_fired *const *)b)->row;
    return x < y ? -1 : x > y;
}

static int sort_fired(struct showing *s)
{
    const struct rt_rank_tables *t = rt_rank_tables(s->rank);
    s->fired = calloc(t->fired_count + 1, sizeof *s->fired);
    if (s->fired == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < t->fired_count; i++)
        s->fired[i] = &t->fired[i];
    qsort((void *)s->fired, t->fired_count, sizeof *s->fired, by_row);
    return 0;
}

static void describe(struct event_description *d, const struct showing *s,
                     const struct kept_event *k)
{
    struct rt_fired key = {.row = k->row};
    const struct rt_fired *wanted = &key, **found = NULL;
    if (k->event.code == EV_FIRED)
        found = bsearch((const void *)&wanted, (const void *)s->fired,
                        rt_rank_tables(s->rank)->fired_count, sizeof *s->fired, by_row);
    event_describe(d, s->rank, &k->event, found != NULL ? *found : NULL);
}

/* Returns the function that contains a field's address; NULL: unknown. A call precedes its return
 * address. */
static const char *name_of(const struct showing *s, const struct field *f, uint64_t clock)
{
    uint64_t address = (uint64_t)f->number - (f->kind == FIELD_RETURN ? 1 : 0);
    uint32_t item;
    if ((f->kind != FIELD_CODE && f->kind != FIELD_RETURN) || f->number == 0 ||
        addresses_find(s->addresses, address, clock, &item) != 0)
        return NULL;
    return addresses_name(s->addresses, item);
}

static void name_key(char out[32], const struct field *f)
{
    (void)snprintf(out, 32, "%s_name", f->key);
}

static void print_field(const struct showing *s, const struct field *f, uint64_t clock)
{
    char key[32];
    const char *name = name_of(s, f, clock);
    if (f->kind == FIELD_INT)
        (void)printf(" %s=%" PRId64, f->key, f->number);
    else if (f->kind == FIELD_UINT)
        (void)printf(" %s=%" PRIu64, f->key, (uint64_t)f->number);
    else if (f->kind == FIELD_TEXT)
        print_quoted(f->key, f->text);
    else
        (void)printf(" %s=0x%" PRIx64, f->key, (uint64_t)f->number);
    name_key(key, f);
    if (name != NULL)
        print_quoted(key, name);
}

static void print_text(const struct showing *s, const struct kept_event *k, int64_t ns)
{
    const struct rt_rank *rank = s->rank;
    const struct rt_event *ev = &k->event;
    struct event_description d;
    char flags[96], window[16] = "-";
    describe(&d, s, k);
    event_flags_text(flags, ev->flags, ',');
    if (ev->window >= 0)
        (void)snprintf(window, sizeof window, "%" PRId32, ev->window);
    (void)printf("%16.9f %5" PRId32 " %4" PRId32 " %5s  %-24s %-14s", (double)ns / 1e9,
                 rt_rank_info(rank)->rank, ev->thread, window, d.name, d.label);
    for (unsigned i = 0; i < d.count; i++)
        print_field(s, &d.fields[i], ev->clock);
    if (flags[0] != '\0')
        (void)printf(" [%s]", flags);
    (void)putchar('\n');
}

static void json_field(struct json *j, const struct showing *s, const struct field *f,
                       uint64_t clock)
{
    char key[32];
    const char *name = name_of(s, f, clock);
    if (f->kind == FIELD_INT)
        json_int(j, f->key, f->number);
    else if (f->kind == FIELD_UINT)
        json_uint(j, f->key, (uint64_t)f->number);
    else if (f->kind == FIELD_TEXT)
        json_text(j, f->key, f->text);
    else
        json_hex(j, f->key, (uint64_t)f->number);
    name_key(key, f);
    if (name != NULL)
        json_text(j, key, name);
}

static void print_json(const struct showing *s, const struct kept_event *k, int64_t ns)
{
    const struct rt_rank *rank = s->rank;
    const struct rt_event *ev = &k->event;
    struct json j = {.out = stdout};
    struct event_description d;
    describe(&d, s, k);
    json_object_begin(&j, NULL);
    json_int(&j, "rank", rt_rank_info(rank)->rank);
    json_uint(&j, "pid", rt_rank_info(rank)->pid);
    json_int(&j, "thread", ev->thread);
    if (ev->window >= 0)
        json_int(&j, "window", ev->window);
    else
        json_null(&j, "window");
    json_int(&j, "ns", ns);
    json_uint(&j, "clock", ev->clock);
    json_uint(&j, "code", ev->code);
    json_text(&j, "name", d.name);
    json_text(&j, "label", d.label);
    json_uint_if(&j, "cpu", ev->cpu != EVENT_CPU_UNKNOWN, ev->cpu);
    json_bool(&j, "cut", (ev->flags & EVENT_FLAG_CUT) != 0);
    json_bool(&j, "late", (ev->flags & EVENT_FLAG_LATE) != 0);
    json_bool(&j, "nested", (ev->flags & EVENT_FLAG_NESTED) != 0);
    json_bool(&j, "fortran", (ev->flags & EVENT_FLAG_FORTRAN) != 0);
    json_object_begin(&j, "data");
    for (unsigned i = 0; i < d.count; i++)
        json_field(&j, s, &d.fields[i], ev->clock);
    json_object_end(&j);
    json_object_end(&j);
}

static uint64_t printed; /* events */

static int dump_rank(const struct dump_options *o, struct addresses *addresses,
                     struct rt_rank *rank, int64_t origin, struct rt_error *e)
{
    struct dump_kept k = {0};
    struct showing s = {rank, addresses, NULL};
    int rc = addresses_begin_rank(addresses, rank);
    if (rc == 0)
        rc = sort_fired(&s);
    if (rc != 0)
        rt_error_set(e, "no memory");
    else
        rc = keep_events(&k, o, rank, e);
    struct dump_order *order = rc == 0 ? calloc(k.count + 1, sizeof *order) : NULL;
    if (rc == 0 && order == NULL) {
        rc = -ENOMEM;
        rt_error_set(e, "no memory");
    }
    for (size_t i = 0; rc == 0 && i < k.count; i++)
        order[i] = (struct dump_order){k.rows[i].event.clock, i};
    if (rc == 0)
        qsort(order, k.count, sizeof *order, by_clock);
    for (size_t i = 0; rc == 0 && i < k.count && ferror(stdout) == 0; i++) {
        const struct kept_event *one = &k.rows[order[i].index];
        int64_t ns = rt_rank_ns(rank, one->event.clock) - origin;
        printed++;
        if (o->json)
            print_json(&s, one, ns);
        else
            print_text(&s, one, ns);
    }
    free((void *)s.fired);
    free(order);
    free(k.rows);
    return rc;
}

static int dump_run(const struct dump_options *o, const struct rt_run *run)
{
    struct rt_error why = {{0}};
    size_t unread;
    int64_t origin = tool_run_origin(run, &unread, &why);
    struct addresses addresses = {0};
    int code = TOOL_OK;
    bool any = false;
    if (!o->json)
        (void)printf("#%15s %5s %4s %5s  %-24s %s\n", "seconds", "rank", "thr", "win", "event",
                     "what");
    for (size_t i = 0; i < rt_run_count(run) && ferror(stdout) == 0; i++) {
        struct rt_rank *rank = NULL;
        struct rt_error e = {{0}};
        int rc = rt_rank_open(&rank, run, i, &e);
        if (rc == 0 && rank_list_has(&o->ranks, rt_rank_info(rank)->rank)) {
            any = true;
            rc = dump_rank(o, &addresses, rank, origin, &e);
        }
        if (rc != 0) {
            tool_error("dump", "%s: %s", rt_run_file(run, i), e.text);
            code = TOOL_FAILURE;
        }
        rt_rank_close(rank);
    }
    for (size_t i = 0; i < addresses.image_count; i++)
        if (addresses.images[i].problem != 0)
            tool_warning("dump", "no names in %s: it %s", addresses.images[i].path,
                         addresses.images[i].problem == ADDRESS_CHANGED
                             ? "has changed since the run"
                             : "cannot be read");
    addresses_free(&addresses);
    if (unread > 0 && code == TOOL_OK) {
        tool_error("dump",
                   "times count from a later moment than the run's first event, because a file "
                   "cannot be read: %s",
                   why.text);
        code = TOOL_FAILURE;
    } else if (!any && code == TOOL_OK) {
        tool_error("dump", "none of the ranks asked for (-rank) is in %s", o->path);
        code = TOOL_FAILURE;
    } else if (printed == 0 && code == TOOL_OK) {
        tool_warning("dump", "no event of %s matches", o->path);
    }
    return code;
}

static int dump_main(int argc, char **argv)
{
    struct arguments a = {.command = &command_dump, .count = argc, .words = argv, .next = 1};
    struct dump_options o = {.wait = 30};
    int code;
    if (!arguments_one_folder(&a, take_option, &o, "DIR", &o.path, &code))
        return code;
    struct rt_run *run = tool_open_run("dump", o.path, o.wait);
    if (run == NULL)
        return TOOL_FAILURE;
    code = dump_run(&o, run);
    rt_run_close(run);
    return output_finish("dump", code);
}

static const struct command_option dump_options[] = {
    {"json", NULL, "one JSON object a line", 0},
    {"rank", "LIST", "only these ranks, for example 0-3,8", 'r'},
    {"thread", "N", "only this thread (our number: 0 is the main thread)", 't'},
    {"window", "N[-M]", "only events of the windows with these ordinals", 'w'},
    {"code", "PATTERN", "only events whose name (MPI_Send, EV_FIRED) matches this shell pattern",
     'c'},
    {"wait", "SECONDS", "how long to wait for writers of processes that have ended (default 30)",
     0},
    {NULL, NULL, NULL, 0},
};

const struct command command_dump = {
    .name = "dump",
    .summary = "print every recorded event, one a line",
    .synopsis = "[--json] [--rank LIST] [--thread N] [--window N[-M]] [--code PATTERN] DIR",
    .description =
        "DIR is the folder of a run, its regtrace.h5, or one rank file. Ranks come one "
        "after the other, the events "
        "of a rank in the order of time, threads merged. The first column is in seconds "
        "since the first thread of "
        "any rank began to be traced.\n\n"
        "--json objects have rank, pid, thread, window (null outside), ns (since the "
        "same moment), clock (raw ticks), "
        "code, name, label, cpu, cut, late, nested, fortran, and data: the payload by "
        "name, for example peer, tag, "
        "bytes and comm of an MPI call.\n\n"
        "A fired alarm (EV_FIRED) has its chain and pass (from 0) and, where the thread "
        "counted, the instruction counts requested and actual, and their difference, "
        "skid; bcast, late, precond, ignored, default_start, api and closes are there where "
        "they are true.\n\n"
        "Beside an address of the program stands the function that it lies in, as "
        "address_name, call_site_name, ip_name, caller_name or next_name, where the run "
        "recorded its images (with REGTRACE_FUNCTIONS or REGTRACE_SAMPLE) and they are "
        "on this machine as they were.",
    .options = dump_options,
    .examples =
        "regtrace dump --rank 0 --window 0-2 trace\nregtrace dump --json --code 'MPI_*send' trace",
    .exits = "0 fine, 1 a file could not be read, 2 wrong usage.",
    .main = dump_main,
};
