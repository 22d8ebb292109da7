/* SPDX-License-Identifier: BSD-3-Clause
 * Entry points of the triggers: each matches an occurrence against the alarms of its type and
 * reports it to the automaton. */
#include "preload/window/triggers.h"
#include "preload/count/counter_records.h"
#include "preload/count/counting.h"
#include "preload/images/image_records.h"
#include "preload/life.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/control_events.h"
#include "preload/window/interrupts.h"
#include "preload/window/parts.h"

#include "base/decimal.h"
#include "base/format/event_fields.h"
#include "base/identity.h"
#include "base/return_address.h"
#include "base/sys.h"
#include "mpi/mpi.h"

#include <errno.h>
#include <string.h>

#define LIST_MAX CTL_SAME_TYPE_MAX
#define TEXT_MAX 1024

static struct alarm_list pcontrols, signals, images;
static uint64_t signal_set; /* bit n - 1: an alarm names signal n */
static bool pcontrol_wants_text;
static enum { PRESET_NONE, PRESET_STD, PRESET_IPM, PRESET_APS, PRESET_MPIP } preset;

void alarms_collect(const struct ctl_config *config, enum ctl_type type, struct alarm_list *list)
{
    for (unsigned i = 0; i < ctl_config_alarm_count(config) && list->count < LIST_MAX; i++)
        if (ctl_config_alarm(config, i)->type == type && ctl_config_alarm_reachable(config, i))
            list->alarm[list->count++] = (uint16_t)i;
}

void triggers_prepare(const struct ctl_config *config)
{
    static const char *const presets[] = {"", "std", "ipm", "aps", "mpip"};
    alarms_collect(config, CTL_PCONTROL, &pcontrols);
    alarms_collect(config, CTL_SIGNAL, &signals);
    requests_prepare(config);
    alarms_collect(config, CTL_IMAGE_LOAD, &images);
    for (unsigned i = 0; i < signals.count; i++) {
        uint64_t n = ctl_config_alarm(config, signals.alarm[i])->number;
        if (n >= 1 && n <= 64)
            signal_set |= sys_signal_bit((int)n);
    }
    for (unsigned i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(process.options.text[OPT_pcontrol], presets[i]) == 0)
            preset = (typeof(preset))i;
    pcontrol_wants_text = preset == PRESET_IPM;
    for (unsigned i = 0; i < pcontrols.count; i++)
        if (ctl_config_alarm(config, pcontrols.alarm[i])->value_kind == CTL_VALUE_STRING)
            pcontrol_wants_text = true;
    functions_resolve();
}

static void hit(struct preload_thread *pt, const uint16_t *alarms, unsigned n, uintptr_t ip)
{
    if (n == 0 || pt == NULL || pt->automaton == NULL)
        return;
    struct ctl_moment m = moment_now(ip);
    ctl_hit(pt->automaton, alarms, n, &m);
    triggers_after_hit(pt);
}

static bool level_matches(const struct ctl_alarm *a, int level)
{
    return a->value_kind == CTL_VALUE_LEVEL && (int64_t)a->number == level;
}

void triggers_hit_region_end(struct preload_thread *pt, const char *name, uintptr_t ip)
{
    static const char end[] = "end=";
    uint16_t match[LIST_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < pcontrols.count; i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, pcontrols.alarm[i]);
        if (a->value_kind == CTL_VALUE_STRING && strncmp(a->value, end, sizeof end - 1) == 0 &&
            strcmp(a->value + sizeof end - 1, name) == 0)
            match[n++] = pcontrols.alarm[i];
    }
    hit(pt, match, n, ip);
}

void triggers_hit_pcontrol(struct preload_thread *pt, bool has_level, int level, const char *text,
                           uintptr_t ip)
{
    uint16_t match[LIST_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < pcontrols.count; i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, pcontrols.alarm[i]);
        if ((has_level && level_matches(a, level)) ||
            (text != NULL && a->value_kind == CTL_VALUE_STRING && strcmp(a->value, text) == 0))
            match[n++] = pcontrols.alarm[i];
    }
    hit(pt, match, n, ip);
}

static void apply_preset(struct recorder_thread *t, int level, const char *text,
                         uintptr_t return_at)
{
    char name[DECIMAL_ROOM + 1];
    switch (preset) {
    case PRESET_STD:
    case PRESET_MPIP:
        if (level == 0 || level == 1)
            control_edge(t, level == 1, true, return_address_read(return_at));
        else if (preset == PRESET_STD && level == 2)
            recorder_flush(t);
        else if (preset == PRESET_MPIP && level >= 2 && level <= 4)
            counters_stats(t, level == 2 ? EV_STATS_RESET : EV_STATS_EMIT, 0xffff, t->tid);
        break;
    case PRESET_IPM:
        if (level == 1 && text != NULL)
            region_begin(text, return_at);
        else if (level == -1 && text != NULL)
            region_end(text, return_at);
        break;
    case PRESET_APS:
        *decimal_put(name, (uint64_t)(level < 0 ? -(int64_t)level : level)) = '\0';
        if (level >= 5)
            region_begin(name, return_at);
        else if (level <= -5)
            region_end(name, return_at);
        break;
    case PRESET_NONE: break;
    }
}

void trigger_pcontrol(int level, uint64_t second, bool fortran, uintptr_t return_at)
{
    struct recorder_thread *t = &recorder_self;
    if (!process.traced || t->in_toolkit)
        return;
    if (preset == PRESET_STD || preset == PRESET_MPIP)
        process_force();
    struct preload_thread *pt = thread_self();
    if (pt == NULL)
        return;
    bool wants = pcontrol_wants_text && !fortran && second != 0;
    struct recorder_scratch *scratch = wants ? recorder_scratch_take(t, TEXT_MAX) : NULL;
    char *text = scratch != NULL ? (char *)scratch->room : NULL;
    bool has_text = text != NULL && mpi_read_string(second, text, TEXT_MAX) > 0;
    bool region_preset = preset == PRESET_IPM && has_text && (level == 1 || level == -1);
    bool before = recorder_active(t);
    uint32_t id = has_text ? stream_string_id(&recorder_stream, text) : 0;
    if (before)
        (void)recorder_emit(t, EV_MPI_PCONTROL | (fortran ? EVENT_FLAG_FORTRAN << 24 : 0),
                            EVENT_PUT(EV_MPI_PCONTROL, level, level), id);
    triggers_hit_pcontrol(pt, true, level, has_text && !region_preset ? text : NULL,
                          return_address_read(return_at));
    apply_preset(t, level, has_text ? text : NULL, return_at);
    if (!before && recorder_active(t))
        (void)recorder_emit(t, EV_MPI_PCONTROL | (fortran ? EVENT_FLAG_FORTRAN << 24 : 0),
                            EVENT_PUT(EV_MPI_PCONTROL, level, level), id);
    if (scratch != NULL)
        recorder_scratch_give(t, scratch);
}

bool trigger_wants_signal(int signal_number)
{
    return signal_number >= 1 && signal_number <= 64 &&
           (signal_set >> (signal_number - 1) & 1) != 0;
}

void trigger_signal(int signal_number, uintptr_t ip)
{
    if (!process.traced || !trigger_wants_signal(signal_number))
        return;
    uint16_t match[LIST_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < signals.count; i++)
        if (ctl_config_alarm(process.config, signals.alarm[i])->number == (uint64_t)signal_number)
            match[n++] = signals.alarm[i];
    hit(thread_self(), match, n, ip);
}

void trigger_probe(const uint16_t *alarms, unsigned n, uintptr_t ip, int due)
{
    struct preload_thread *pt = process.traced ? thread_self() : NULL;
    if (due == PROBE_COUNTED_NOTHING || pt == NULL || pt->automaton == NULL) {
        hit(pt, alarms, n, ip);
        return;
    }
    struct ctl_moment m = moment_now(ip);
    ctl_hit_due(pt->automaton, alarms, n, &m, (unsigned)due);
    triggers_after_hit(pt);
}

bool trigger_wants_images(void)
{
    return images.count != 0 || code_is_patched || functions_wanted() || images_are_recorded();
}

static void image_is_here(const struct image_facts *m)
{
    if (functions_wanted())
        functions_resolve();
    uint16_t match[LIST_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < images.count; i++) {
        const char *value = ctl_config_alarm(process.config, images.alarm[i])->value;
        if (strcmp(value, m->path) == 0 || strcmp(value, identity_base_name(m->path)) == 0)
            match[n++] = images.alarm[i];
    }
    if (n != 0)
        hit(thread_self(), match, n, m->base);
    image_record(&recorder_self, m);
}

void trigger_image_loaded(const struct image_facts *m)
{
    if (!process.traced || recorder_self.in_toolkit)
        return;
    uint64_t began = clock_ticks();
    image_note(m);
    parts_images_loaded();
    recorder_count_own_time(&recorder_self, began);
    image_is_here(m);
}

static bool visit_at_start(const struct loaded_image *m, void *context)
{
    (void)context;
    char build_id[IMAGE_ID_TEXT];
    image_build_id(m->info, build_id);
    if (m->path[0] != '\0')
        image_is_here(&(struct image_facts){m->bias, m->from, m->to, m->path, build_id});
    return images.count == 0; /* no alarm waits for other images */
}

void triggers_images_at_start(void)
{
    if (process.traced && recorder_self.in_toolkit == 0)
        (void)images_each(visit_at_start, NULL);
}
