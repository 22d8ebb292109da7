/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the facts about this process that the writer needs besides the events, as key=value text
 * in the stream. */
#include "preload/affinity.h"
#include "preload/count/counter_records.h"
#include "preload/count/sampling.h"
#include "preload/count/totals.h"
#include "preload/libc/interpose.h"
#include "preload/life.h"
#include "preload/process.h"
#include "preload/values/values.h"
#include "preload/window/triggers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put_number(const struct stream *s, const char *key, unsigned long long value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", value);
    (void)stream_meta_put(s, key, text);
}

static void put_arguments(const struct stream *s)
{
    char text[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        (void)close(fd);
    if (n <= 0)
        return;
    for (ssize_t i = 0; i + 1 < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    text[n] = '\0';
    (void)stream_meta_put(s, "arguments", text);
}

/* Counts the processors in a list: 5 for "0-3,8". */
static unsigned count_processors(const char *list)
{
    unsigned n = 0, first, last;
    for (int read; sscanf(list, "%u%n", &first, &read) == 1; list += *list == ',') {
        list += read;
        last = first;
        if (sscanf(list, "-%u%n", &last, &read) == 1)
            list += read;
        n += last - first + 1;
    }
    return n;
}

static void put_processors(const struct stream *s)
{
    enum { LIST = 24 << 10 }; /* room for every second one of 8,192 */
    char list[LIST];
    affinity_list(list, sizeof list);
    if (list[0] != '\0')
        (void)stream_meta_put(s, "affinity", list);
    int fd = open("/sys/devices/system/cpu/present", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, list, sizeof list - 1);
    if (fd >= 0)
        (void)close(fd);
    list[n > 0 ? n : 0] = '\0';
    if (count_processors(list) != 0)
        put_number(s, "processors", count_processors(list));
}

static void put_chains(const struct stream *s)
{
    char key[48], text[2048];
    const char *warning;
    for (unsigned i = 0; (warning = process_chain_warning(i)) != NULL; i++) {
        (void)snprintf(key, sizeof key, "warning.%u", i);
        (void)stream_meta_put(s, key, warning);
    }
    for (unsigned i = 0; i < ctl_config_chain_count(process.config); i++) {
        const struct ctl_chain *c = ctl_config_chain(process.config, i);
        (void)snprintf(key, sizeof key, "chain.%u", i);
        (void)stream_meta_put(s, key, c->text);
        if (c->label[0] != '\0') {
            (void)snprintf(key, sizeof key, "chain_label.%u", i);
            (void)stream_meta_put(s, key, c->label);
        }
        if (c->region[0] != '\0') {
            (void)snprintf(key, sizeof key, "chain_region.%u", i);
            (void)stream_meta_put(s, key, c->region);
        }
    }
    for (unsigned i = 0; i < ctl_config_alarm_count(process.config); i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, i);
        (void)snprintf(key, sizeof key, "alarm.%u", i);
        (void)snprintf(text, sizeof text, "%u\t%u\t%s\t%s\t%.1500s", a->chain, a->position,
                       ctl_event_name((enum ctl_event)a->event),
                       ctl_type_name((enum ctl_type)a->type), a->text);
        if (stream_meta_put(s, key, text) != 0)
            break;
    }
}

/* Writes which counter counts what, by whose definition, and which event the kernel got. */
static void put_counters(const struct stream *s)
{
    char key[48], text[2 * PMU_NAME + 512];
    const struct pmu_counter_set *set = counters_set();
    (void)stream_meta_put(s, "pmu", process.pmu != NULL ? process.pmu->name : "none");
    if (process.pmu != NULL) {
        pmu_describe(process.pmu, text, sizeof text);
        (void)stream_meta_put(s, "pmu_event", text);
    }
    if (sampling_spec()->meaning[0] != '\0')
        (void)stream_meta_put(s, "sample_event", sampling_spec()->meaning);
    if (values_are_on()) {
        (void)stream_meta_put(s, "values", process.options.text[OPT_values]);
        (void)stream_meta_put(s, "values_unit", values_spec()->unit);
        put_number(s, "values_period", values_spec()->period);
    }
    for (unsigned i = 0; i < set->count; i++) {
        (void)snprintf(key, sizeof key, "counter.%u", i);
        (void)snprintf(text, sizeof text, "%s\t%s", set->name[i], set->meaning[i]);
        (void)stream_meta_put(s, key, text);
    }
}

/* Sums the room for put_chains() and for the lines about alarms that never fired: numbers, and
 * texts, which escapes can make twice as long. */
uint32_t metadata_room(void)
{
    enum { ANYTHING_ELSE = 64 << 10, NUMBERS = 400, TEXT_MAX = 2000 };
    uint64_t room = ANYTHING_ELSE;
    for (unsigned i = 0; i < ctl_config_chain_count(process.config); i++) {
        const struct ctl_chain *c = ctl_config_chain(process.config, i);
        room += NUMBERS + 2 * (strlen(c->text) + strlen(c->label) + strlen(c->region));
    }
    for (unsigned i = 0; i < ctl_config_alarm_count(process.config); i++)
        room += NUMBERS + 2 * strnlen(ctl_config_alarm(process.config, i)->text, TEXT_MAX);
    return room < (1u << 30) ? (uint32_t)room : 1u << 30;
}

/* Avoids %f: libquadmath may print it by its own functions (register_printf_modifier), where probes
 * may stand while signals are blocked. */
static void put_cost(const struct stream *s)
{
    char text[48];
    unsigned long long thousandths = (unsigned long long)(1000 * recorder_measure_cost() + 0.5);
    (void)snprintf(text, sizeof text, "%llu.%03llu", thousandths / 1000, thousandths % 1000);
    (void)stream_meta_put(s, "event_cost_ticks", text);
}

void metadata_write(const struct stream *s)
{
    const struct identity *id = &process.id;
    char key[64];
    (void)stream_meta_put(s, "version", PACKAGE_VERSION);
    (void)stream_meta_put(s, "host", id->host);
    (void)stream_meta_put(s, "boot_id", id->boot_id);
    (void)stream_meta_put(s, "job", id->job);
    if (id->world != 0)
        put_number(s, "world", id->world);
    (void)stream_meta_put(s, "program", id->program);
    (void)stream_meta_put(s, "executable", id->executable);
    put_arguments(s);
    (void)stream_meta_put(s, "rank_source",
                          id->rank_variable != NULL ? id->rank_variable : "no launcher");
    (void)stream_meta_put(s, "dir", process.dir);
    (void)stream_meta_put(s, "stream", process.stream_path);
    put_number(s, "ctl.signal", (unsigned long long)process.internal_signal);
    put_cost(s);
    (void)stream_meta_put(s, "clock_source",
                          clock_source == CLOCK_SOURCE_TSC      ? "tsc"
                          : clock_source == CLOCK_SOURCE_CNTVCT ? "cntvct"
                                                                : "monotonic");
    put_number(s, "default_start", ctl_config_default_start(process.config));
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (process.options.text[i][0] == '\0' || i == OPT_control)
            continue;
        (void)snprintf(key, sizeof key, "option.%s", option_table[i].field);
        if (option_table[i].kind == OPTION_SIZE)
            put_number(s, key, process.options.number[i]);
        else
            (void)stream_meta_put(s, key, process.options.text[i]);
    }
    put_processors(s);
    put_counters(s);
    put_chains(s);
    functions_say_limits();
}

/* Do the open chunks of a thread that is still alive hold more than `most` records? The thread's
 * row counts these records only when the chunk is closed. */
static bool open_chunks_hold(uint32_t thread, uint32_t most)
{
    const struct stream *s = &recorder_stream;
    for (uint32_t i = 0; i < s->header->chunk_count; i++) {
        struct chunk_header *c = stream_chunk(s, i);
        const struct event_slot *slot = chunk_slots(c);
        if (atomic_load_explicit(&c->state, memory_order_acquire) != CHUNK_OPEN ||
            c->thread != thread)
            continue;
        uint32_t records = 0;
        for (uint32_t k = 0; k < stream_chunk_slots(s) && records <= most; k++) {
            uint64_t head = __atomic_load_n(&slot[k].head, __ATOMIC_ACQUIRE);
            if (EVENT_HEAD_MARK(head) != chunk_mark(c))
                break;
            records += (EVENT_HEAD_FLAGS(head) & EVENT_FLAG_CONTINUED) == 0;
        }
        if (records > most)
            return true;
    }
    return false;
}

bool process_nothing_recorded(void)
{
    enum { DEFAULT_EDGES = 3 }; /* records: fired, open and close */
    struct stream_header *h = recorder_stream.header;
    if (atomic_load(&h->mpi_state) != STREAM_MPI_NONE)
        return false;
    if (process.options.number[OPT_count] != 0 && totals_are_there())
        return false;
    if (!process.id.launched && ctl_config_chain_count(process.config) != 0)
        /* Not a rank of a job: the user wants to know which alarms never fired. */
        return false;
    if (process.options.number[OPT_default_start] == 0 && atomic_load(&h->windows_opened) != 0)
        /* The user asked for that window, if only to see how long it was. */
        return false;
    uint32_t n = atomic_load(&h->thread_count);
    for (uint32_t i = 0; i < n && i < h->thread_capacity; i++) {
        const struct stream_thread *row = &stream_threads(&recorder_stream)[i];
        if (atomic_load(&((struct stream_thread *)row)->recorded) >
                DEFAULT_EDGES + row->affinities ||
            atomic_load(&((struct stream_thread *)row)->dropped) != 0)
            return false;
        if (atomic_load(&((struct stream_thread *)row)->chunks) > 1 ||
            open_chunks_hold(i, DEFAULT_EDGES + row->affinities))
            return false;
    }
    return ctl_config_chain_count(process.config) == 0 || atomic_load(&h->fired_total) == 0;
}
