/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: feeds any bytes to every entry of the parser. Accepted text is parsed again from its
 * canonical text, explained, and driven with pseudo-random executions. t/controller/fuzz_long.t
 * builds it for libFuzzer and runs it.
 *
 * Input: the first byte selects the entry, then comes a text up to a NUL byte, then bytes that
 * drive the automaton. */
#include <stdlib.h>
#include <string.h>

#include "controller/language/language.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define THREADS 4

struct machine {
    struct ctl_config *config;
    struct ctl_thread *threads[THREADS];
    struct {
        uint16_t alarm;
        uint32_t generation;
    } armed[THREADS];
    uint64_t icount[THREADS];
    uint64_t fired;
    uint64_t bcast_edges;
};

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void on_fire(void *context, const struct ctl_fired *fired)
{
    struct machine *machine = context;
    machine->fired++;
    check(fired->event < CTL_EVENT_COUNT);
    check(fired->default_start || fired->alarm < ctl_config_alarm_count(machine->config));
    if (!fired->default_start) {
        const struct ctl_alarm *alarm = ctl_config_alarm(machine->config, fired->alarm);
        const struct ctl_chain *chain = ctl_config_chain(machine->config, fired->chain);
        check(alarm->tid == CTL_ANY_TID || alarm->tid == fired->tid);
        check(chain->repeat == CTL_ENDLESS || fired->pass < chain->repeat);
        check(ctl_alarm_on_rank(alarm, 1));
    }
}

static uint64_t on_arm(void *context, uint32_t tid, const struct ctl_arming *arming)
{
    struct machine *machine = context;
    machine->armed[tid % THREADS].alarm = arming->alarm;
    machine->armed[tid % THREADS].generation = arming->generation;
    return arming->base == CTL_UNKNOWN && arming->distance % 2 != 0 ? machine->icount[tid % THREADS]
                                                                    : arming->base;
}

static void drive_step(struct machine *machine, const uint8_t *bytes)
{
    unsigned count = ctl_config_alarm_count(machine->config), which = bytes[0] % THREADS;
    struct ctl_thread *thread = machine->threads[which];
    struct ctl_moment moment = {.icount = machine->icount[which]};
    uint16_t alarms[8];
    unsigned hits = bytes[1] % 8 + 1u;
    for (unsigned i = 0; i < hits; i++)
        alarms[i] = (uint16_t)((bytes[2] + i) % count);
    if (hits > count)
        hits = count;
    if (bytes[0] & 0x80)
        moment.icount = CTL_UNKNOWN;
    switch (bytes[0] >> 2 & 7) {
    case 0: ctl_sync(thread, &moment); break;
    case 1: machine->icount[which] += (uint64_t)bytes[2] << (bytes[1] % 6); break;
    case 2:
    case 3:
        ctl_expire(thread, (uint16_t)(machine->armed[which].alarm % count),
                   machine->armed[which].generation, &moment);
        break;
    case 4: ctl_advance(thread, alarms[0], (uint64_t)bytes[1] << (bytes[2] % 6), &moment); break;
    default: ctl_hit(thread, alarms, hits, &moment);
    }
}

static void on_unfired(void *context, const struct ctl_alarm *alarm, enum ctl_unfired why,
                       uint64_t reached)
{
    (void)context;
    check(why != CTL_COUNT_SHORT ||
          reached < (alarm->type == CTL_ICOUNT ? alarm->distance : alarm->count));
}

static void drive(struct ctl_config *config, const uint8_t *bytes, size_t size)
{
    static const struct ctl_callbacks callbacks = {.on_fire = on_fire, .on_arm = on_arm};
    static const uint32_t tids[THREADS] = {0, 1, 2, 1003};
    struct machine machine = {.config = config};
    void *memory[THREADS];
    ctl_config_set_rank(config, 1);
    void *shared_memory = aligned_alloc(CTL_ALIGNMENT, ctl_shared_size(config));
    struct ctl_shared *shared = ctl_shared_init(config, shared_memory, &callbacks, &machine);
    for (unsigned i = 0; i < THREADS; i++) {
        memory[i] = aligned_alloc(CTL_ALIGNMENT, ctl_thread_size(config));
        machine.threads[i] = ctl_thread_init(shared, memory[i], tids[i], NULL);
    }
    for (size_t i = 0; i + 3 <= size && ctl_config_alarm_count(config) != 0 && machine.fired < 4000;
         i += 3)
        drive_step(&machine, bytes + i);
    ctl_never_fired(shared, on_unfired, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        ctl_thread_exit(machine.threads[i]);
        free(memory[i]);
    }
    free(shared_memory);
}

/* Checks that accepted text means the same when its canonical text is parsed. */
static void read_again(const struct ctl_config *config)
{
    struct rt_error err = {.text = ""};
    struct ctl_config *again = NULL;
    struct ctl_builder *builder = ctl_builder_create(NULL, NULL);
    check(ctl_builder_add_list(builder, ctl_config_text(config), "again", &err) == 0);
    check(ctl_builder_finish(builder, NULL, &again, &err) == 0);
    check(strcmp(ctl_config_text(config), ctl_config_text(again)) == 0);
    check(ctl_config_alarm_count(config) == ctl_config_alarm_count(again));
    for (unsigned i = 0; i < ctl_config_alarm_count(config); i++) {
        const struct ctl_alarm *a = ctl_config_alarm(config, i), *b = ctl_config_alarm(again, i);
        check(a->type == b->type && a->event == b->event && a->number == b->number &&
              a->second == b->second && a->count == b->count && a->tid == b->tid &&
              a->bcast == b->bcast && a->global == b->global && strcmp(a->value, b->value) == 0);
    }
    ctl_config_free(again);
    ctl_builder_free(builder);
}

/* Adds options from lines name=value. Skips options that read files. */
static int add_options(struct ctl_builder *builder, char *text, struct rt_error *err)
{
    int status = 0;
    char *line;
    while (status == 0 && (line = strsep(&text, "\n")) != NULL) {
        char *value = strchr(line, '=');
        if (value != NULL)
            *value++ = '\0';
        if (strstr(line, "file") == NULL && strstr(line, "regions") == NULL)
            status = ctl_builder_add_option(builder, line, value, err);
    }
    return status;
}

static int add_text(struct ctl_builder *builder, unsigned door, char *text, struct rt_error *err)
{
    switch (door % 8) {
    case 0: return add_options(builder, text, err);
    case 1: return ctl_builder_add_regions(builder, CTL_REGIONS_PINPOINTS, "F", text, err);
    case 2: return ctl_builder_add_regions(builder, CTL_REGIONS_LOOPPOINT, "F", text, err);
    case 3: return ctl_builder_add_regions(builder, CTL_REGIONS_INTERVALS, "F", text, err);
    case 4: return ctl_builder_add_file_text(builder, "F", text, err);
    case 5: return ctl_builder_add_chain(builder, text, "-control", err);
    default: return ctl_builder_add_list(builder, text, "REGTRACE_CONTROL", err);
    }
}

static void on_warning(void *context, const char *text)
{
    (void)context;
    check(text[0] != '\0' && strchr(text, '\n') == NULL);
}

static void match_names(const struct ctl_config *config, const char *text)
{
    for (unsigned i = 0; i < ctl_config_alarm_count(config) && i < 4; i++)
        (void)ctl_name_matches(ctl_config_alarm(config, i), text);
    for (int quoted = 0; quoted < 2; quoted++) {
        const struct ctl_alarm alarm = {.value = "solve", .quoted = quoted != 0};
        (void)ctl_name_matches(&alarm, text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const uint8_t *end = memchr(data + 1, 0, size - 1);
    size_t length = end != NULL ? (size_t)(end - data) - 1 : size - 1;
    char *text = strndup((const char *)data + 1, length), *copy = strdup(text);
    struct rt_error err = {.text = ""};
    struct ctl_config *config = NULL;
    struct ctl_builder *builder = ctl_builder_create(on_warning, NULL);
    int status = add_text(builder, data[0], copy, &err);
    check(status == 0 || err.text[0] != '\0');
    if (ctl_builder_finish(builder, NULL, &config, &err) == 0) {
        FILE *out = fopen("/dev/null", "w");
        check(ctl_explain(config, out) == 0);
        fclose(out);
        match_names(config, text);
        read_again(config);
        if (end != NULL)
            drive(config, end + 1, size - length - 2);
    } else {
        check(err.text[0] != '\0' && config == NULL);
    }
    ctl_config_free(config);
    ctl_builder_free(builder);
    free(copy);
    free(text);
    return 0;
}
