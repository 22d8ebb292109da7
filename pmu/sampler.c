/* SPDX-License-Identifier: BSD-3-Clause
 * Samples a thread by a timer on its CPU time, or by a perf event that overflows. */
#include "pmu/backend.h"

#include "base/clock.h"
#include "base/sys.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#define SHORTEST_NS UINT64_C(10000)
#define NO_SAMPLE                                                                                  \
    UINT64_C(1000000000) /* a period that the few instructions of pmu_sample_probe() do not reach */
#define VARY_EVERY 64u
#define SLOWEST (UINT64_C(1) << 16)
#define SLOWEST_NS UINT64_C(100000000) /* longest period of a clock, whatever the factor */
#define OFTEN UINT64_C(20000)          /* a sample's handler may itself cause this many events */
#define LONGEST_NS UINT64_C(1000000000000)

static int bad(struct rt_error *err, const char *text, const char *why)
{
    rt_error_set(err,
                 "\"%s\": %s; legal is "
                 "EVENT:PERIOD[:windows|gaps|always], for instance cpu:10ms, cpu:10ms:gaps, "
                 "instructions:1000000, cycles:1M, page-faults:1, r01c2:100000 or an event of PAPI "
                 "or libpfm4 (PAPI_L1_DCM:10000)",
                 text, why);
    return -EINVAL;
}

static uint64_t unit_of(const char *suffix, bool time)
{
    static const struct {
        const char *text;
        bool time;
        uint64_t times;
    } units[] = {{"ns", true, 1},         {"us", true, 1000},    {"ms", true, 1000000},
                 {"s", true, 1000000000}, {"", false, 1},        {"K", false, 1000},
                 {"k", false, 1000},      {"M", false, 1000000}, {"G", false, 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].time == time && strcmp(units[i].text, suffix) == 0)
            return units[i].times;
    return 0;
}

static int read_period(const char *text, const char *from, size_t bytes,
                       struct pmu_sample_spec *spec, struct rt_error *err)
{
    uint64_t n = 0;
    char copy[32];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)bytes, from);
    const char *at = copy;
    from = copy;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*at - '0'), &n))
            return bad(err, text, "the period is too large");
    uint64_t unit = unit_of(at, spec->by_time);
    if (at == from || unit == 0)
        return bad(err, text,
                   spec->by_time ? "a period of CPU time is a number and ns, us, ms or s"
                                 : "the period of an event is how many of it, with an optional "
                                   "K, M or G; only cpu takes a time");
    if (__builtin_mul_overflow(n, unit, &n) || n > (UINT64_C(1) << 62) ||
        (spec->by_time && n > LONGEST_NS))
        return bad(err, text, "the period is too large");
    if (n == 0 || (spec->by_time && n < SHORTEST_NS))
        return bad(err, text,
                   spec->by_time ? "the period is below 10us: the program would not come to run"
                                 : "the period is 0");
    spec->period = n;
    return 0;
}

/* Parses the optional last word, which tells where to sample. Returns the length of the text before
 * it. */
static size_t read_where(const char *text, struct pmu_sample_spec *spec)
{
    const char *colon = strrchr(text, ':');
    const char *word = colon != NULL ? colon + 1 : "";
    spec->in_gaps = strcmp(word, "gaps") == 0 || strcmp(word, "always") == 0;
    spec->in_windows = strcmp(word, "gaps") != 0;
    return spec->in_gaps || strcmp(word, "windows") == 0 ? (size_t)(colon - text) : strlen(text);
}

/* Returns whether the last word follows a period but is no valid place to sample. */
static bool is_no_place(const char *text)
{
    const char *word = strrchr(text, ':');
    const char *period = word != NULL ? memrchr(text, ':', (size_t)(word - text)) : NULL;
    return period != NULL && isalpha((unsigned char)word[1]) && isdigit((unsigned char)period[1]);
}

int pmu_sample_read(const char *text, struct pmu_sample_spec *spec, struct rt_error *err)
{
    *spec = (struct pmu_sample_spec){0};
    if (text[0] == '\0')
        return 0;
    size_t end = read_where(text, spec);
    if (end == strlen(text) && is_no_place(text))
        return bad(err, text, "the word after the period is none of windows, gaps and always");
    /* The event's name may contain colons (libpfm4). */
    const char *colon = memrchr(text, ':', end);
    size_t n = colon != NULL ? (size_t)(colon - text) : 0;
    if (n == 0)
        return bad(err, text, "an event or its period is missing");
    spec->name_bytes = (uint32_t)n;
    spec->by_time = n == 3 && strncmp(text, "cpu", n) == 0;
    (void)snprintf(spec->unit, sizeof spec->unit, "%.*s", (int)(spec->by_time ? 14 : n),
                   spec->by_time ? "ns of CPU time" : text);
    return read_period(text, colon + 1, end - n - 1, spec, err);
}

int pmu_sample_parse(const char *text, struct pmu_sample_spec *spec, struct rt_error *err)
{
    struct pmu_event event;
    struct rt_error why = {{0}};
    struct pmu_sample_spec read;
    *spec = (struct pmu_sample_spec){0};
    int rc = pmu_sample_read(text, &read, err);
    /* Report an unknown event before a wrong period. */
    if (read.name_bytes != 0 && !read.by_time) {
        if (!pmu_event_find(text, read.name_bytes, &event, &why)) {
            rt_error_prefix(&why, "there is no such event here");
            return bad(err, text, why.text);
        }
        if (event.count != 1) {
            rt_error_set(&why, "%s is made of several events (%s), of which one can be sampled",
                         event.name, event.meaning);
            return bad(err, text, why.text);
        }
        if (rc != 0)
            return rc;
        read.code = event.code[0];
        read.is_clock =
            read.code.type == PERF_TYPE_SOFTWARE && (read.code.config == PERF_COUNT_SW_TASK_CLOCK ||
                                                     read.code.config == PERF_COUNT_SW_CPU_CLOCK);
        if (read.is_clock && read.period < SHORTEST_NS)
            return bad(err, text, "the period is below 10000, in ns: the kernel has none shorter");
        pmu_event_describe(&event, read.meaning, sizeof read.meaning);
    }
    if (rc != 0)
        return rc;
    /* Not for a clock: Linux 6.16 and 6.17 hang if a clock has to stop by itself. */
    read.halts = read.period != 0 && !read.by_time && !read.is_clock && read.period < OFTEN;
    *spec = read;
    return 0;
}

/* --- kernel timers and events ----------------------------------------------------------------- */

static struct perf_event_attr event_of(const struct pmu_sample_spec *spec)
{
    struct perf_event_attr attr = pmu_perf_attr(spec->code);
    attr.disabled = 1;
    attr.sample_period = spec->period;
    attr.wakeup_events = 1;
    return attr;
}

int pmu_sample_probe(const struct pmu_sample_spec *spec, bool one_window, struct rt_error *err)
{
    if (spec->in_gaps && !spec->in_windows && one_window) {
        rt_error_set(err, "asks for samples between windows (:gaps), and the whole run is one "
                          "window: give chains (-control), or "
                          "no window at all (-controller-default-start 0)");
        return -EINVAL;
    }
    if (spec->period == 0 || spec->by_time)
        return 0;
    struct perf_event_attr attr = pmu_perf_attr(spec->code);
    attr.sample_period = spec->period < NO_SAMPLE ? NO_SAMPLE : spec->period;
    int rc = pmu_perf_try(attr);
    if (rc == 0)
        return 0;
    struct rt_error why = {{0}};
    pmu_perf_explain(rc, spec->code.type, &why);
    rt_error_set(err, "%s cannot be sampled: %s; cpu:10ms samples by time", spec->unit, why.text);
    return rc;
}

int pmu_sampler_begin(struct pmu_sampler *s, const struct pmu_sample_spec *spec, int signo,
                      int code, uint32_t kernel_tid)
{
    s->spec = spec;
    s->factor = s->least = 1;
    s->patience = s->room = 0;
    s->armed = s->halted = s->careful = false;
    if (spec->is_clock && spec->period < PMU_SHORT_NS) {
        s->factor = (PMU_SHORT_NS + spec->period - 1) / spec->period;
        s->careful = true;
    }
    s->random = (clock_ticks() ^ (uint64_t)kernel_tid << 32) | 1;
    if (!spec->by_time) {
        s->id = pmu_perf_open_signalling(event_of(spec), signo, kernel_tid);
        s->made = s->id >= 0;
        return s->made ? 0 : s->id;
    }
    int rc = sys_thread_timer(CLOCK_THREAD_CPUTIME_ID, signo, code, kernel_tid, &s->id);
    s->made = rc == 0;
    return rc;
}

static void set_period(const struct pmu_sampler *s, uint64_t n)
{
    struct timespec period = {.tv_sec = (time_t)(n / 1000000000u),
                              .tv_nsec = (long)(n % 1000000000u)};
    struct itimerspec when = {.it_value = period, .it_interval = period};
    if (s->spec->by_time)
        (void)sys_call6(SYS_timer_settime, s->id, 0, (long)&when, 0, 0, 0);
    else
        (void)sys_call6(SYS_ioctl, s->id, PERF_EVENT_IOC_PERIOD, (long)&n, 0, 0, 0);
}

/* Each refresh adds one overflow after which the kernel stops the event (perf_event_open(2)). */
static void enable(struct pmu_sampler *s)
{
    bool refresh = s->spec->halts && !s->armed;
    s->armed = s->spec->halts;
    (void)sys_call6(SYS_ioctl, s->id, refresh ? PERF_EVENT_IOC_REFRESH : PERF_EVENT_IOC_ENABLE,
                    refresh ? 1 : 0, 0, 0, 0);
}

void pmu_sampler_run(struct pmu_sampler *s, bool on)
{
    if (!s->made)
        return;
    s->halted = false;
    if (on || s->spec->by_time)
        set_period(s, on ? s->spec->period * s->factor : 0);
    if (s->spec->by_time)
        return;
    if (on)
        enable(s);
    else
        (void)sys_call6(SYS_ioctl, s->id, PERF_EVENT_IOC_DISABLE, 0, 0, 0, 0);
}

void pmu_sampler_careful(struct pmu_sampler *s)
{
    s->careful = true;
}

void pmu_sampler_overflowed(struct pmu_sampler *s)
{
    s->armed = false;
    if (s->careful)
        pmu_sampler_halt(s);
}

void pmu_sampler_halt(struct pmu_sampler *s)
{
    if (!s->made || s->spec->by_time || s->spec->halts || s->halted)
        return;
    s->halted = true;
    (void)sys_call6(SYS_ioctl, s->id, PERF_EVENT_IOC_DISABLE, 0, 0, 0, 0);
}

void pmu_sampler_again(struct pmu_sampler *s)
{
    if (!s->made || !(s->spec->halts || s->halted))
        return;
    s->armed = s->halted = false;
    enable(s);
}

/* Xorshift (Marsaglia 2003, "Xorshift RNGs"). Not at every sample, since it needs a system call. */
void pmu_sampler_vary(struct pmu_sampler *s)
{
    uint64_t period = s->spec->period * s->factor;
    uint64_t spread = period * s->spec->spread / 1000, x = s->random;
    if (spread == 0 || ++s->since < VARY_EVERY)
        return;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    s->random = x;
    s->since = 0;
    set_period(s, period - spread + x % (2 * spread + 1));
}

enum { PACE_STEP = 4, PATIENCE = 16, PATIENCE_MOST = 4096 };

static uint64_t longer(struct pmu_sampler *s, uint64_t times)
{
    pmu_sampler_careful(s);
    s->least = s->factor * 2;
    s->patience = s->patience == 0 ? PATIENCE : s->patience * 2;
    s->patience = s->patience < PATIENCE_MOST ? s->patience : PATIENCE_MOST;
    s->room = 0;
    return s->factor * (times < PACE_STEP ? times : PACE_STEP);
}

static uint64_t shorter(struct pmu_sampler *s, uint64_t times)
{
    uint64_t factor = (s->factor + PACE_STEP - 1) / (times < PACE_STEP ? times : PACE_STEP);
    factor += factor == 0;
    if (factor >= s->least)
        return factor;
    if (++s->room < s->patience)
        return s->least < s->factor ? s->least : s->factor;
    s->room = 0;
    s->least = factor;
    return factor;
}

/* Changes the period towards the need, at most by PACE_STEP at once: some measurements are
 * misleading. */
void pmu_sampler_pace(struct pmu_sampler *s, uint64_t samples, uint64_t program)
{
    uint64_t factor = s->factor;
    program += program == 0;
    if (samples > program)
        factor = longer(s, samples / program + 1);
    else if (samples < program / 2)
        factor = shorter(s, program / (samples + 1));
    uint64_t most = s->spec->is_clock ? SLOWEST_NS / s->spec->period + 1 : SLOWEST;
    factor = factor < most ? factor : most;
    /* The longest period, 2^62, is never reached anyway. */
    if (factor == s->factor || factor > (UINT64_C(1) << 62) / s->spec->period)
        return;
    s->factor = factor;
    set_period(s, s->spec->period * factor);
}

void pmu_sampler_end(struct pmu_sampler *s)
{
    if (s->made && s->spec->by_time)
        (void)sys_call6(SYS_timer_delete, s->id, 0, 0, 0, 0, 0);
    else if (s->made)
        pmu_perf_close(s->id);
    s->made = false;
}

void pmu_sampler_forked(struct pmu_sampler *s)
{
    if (s->made && !s->spec->by_time)
        pmu_perf_close(s->id);
    s->made = false;
}

bool pmu_sampler_is_overflow(const struct pmu_sampler *s, const siginfo_t *info)
{
    return s->made && !s->spec->by_time && info->si_code > 0 && info->si_fd == s->id;
}

uint32_t pmu_sampler_weight(const struct pmu_sampler *s, const siginfo_t *info)
{
    uint64_t periods =
        s->spec->by_time && info->si_overrun > 0 ? 1 + (uint64_t)info->si_overrun : 1;
    periods *= s->factor;
    return periods < UINT32_MAX ? (uint32_t)periods : UINT32_MAX;
}
