/* SPDX-License-Identifier: BSD-3-Clause
 * Tests right control strings: the fields that they parse to, their warnings, and that their
 * canonical text means the same. */
#include "t/controller/helpers.h"
#include "t/tap.h"

/* Input and canonical text (NULL: the input itself). */
static const struct {
    const char *chains, *canonical;
} table[] = {
    /* The examples of Intel SDE's controller (Pin's InstLib control_manager) */
    {"start:icount:100", NULL},
    {"stop:address:foo:count3", NULL},
    {"start:icount:100,repeat:3", NULL},
    {"start:icount:100,repeat", NULL},
    {"start:icount:100,stop:address:foo:count3,repeat:2", NULL},
    {"precond:address:bar,start:address:foo,stop:icount:100000", NULL},
    {"start:icount:100:tid3", NULL},
    {"start:interactive:bcast,stop:interactive:bcast", NULL},
    {"start:address:foo,stop:address:bar", NULL},
    {"start:icount:1000000,stop:icount:100000", NULL},
    {"precond:ssc:11223344,start:address:foo,stop:address:bar", NULL},
    {"start:address:foo,bcast,stop:address:bar,bcast", NULL},
    {"start:address:foo:tid0,stop:address:bar:tid0", NULL},
    {"precond:icount:200,uniform:800:500:5", NULL},
    {"precond:ssc:11223344,uniform:800:500:5", NULL},
    {"precond:address:foo,precond:address:bar,repeat:2,name:c1;start:address:boo,waitfor:c1",
     "precond:address:foo,precond:address:bar,repeat:2,name:c1\nstart:address:boo,waitfor:c1"},
    {"start:enter_func:foo,stop:exit_func:foo", NULL},
    {"start:enter_func:foo,stop:exit_func:bar", NULL},
    /* Names, dashes */
    {"start:isa-extension:AVX512EVEX", "start:isa_extension:AVX512EVEX"},
    {"start:isa\xe2\x80\x93"
     "category:COND_BR",
     "start:isa_category:COND_BR"},
    {"start:isa_category:COND-BR", NULL},
    {"warmup_start:ssc:1,warmup-stop:ssc:2", "warmup-start:ssc:1,warmup-stop:ssc:2"},
    {"stats\xe2\x80\x93"
     "emit:ssc:1",
     "stats-emit:ssc:1"},
    {"prolog-start:ssc:1,prolog-stop:ssc:2,epilog-start:ssc:3,epilog-stop:ssc:4", NULL},
    {"stats-emit:ssc:1,stats-reset:ssc:2,stats-emit-reset:ssc:3,threadid:ssc:4", NULL},
    {"start:enter-func:f,stop:exit-func:f", "start:enter_func:f,stop:exit_func:f"},
    {"start:image-load:libm.so.6", "start:image_load:libm.so.6"},
    {"start:isa_extension:3DNOW", NULL},
    /* Blanks around pieces */
    {"  start:ssc:1 ,\tstop:ssc:2  ", "start:ssc:1,stop:ssc:2"},
    /* Options anywhere */
    {"name:a,start:ssc:1,repeat:2,stop:ssc:2", NULL},
    {"start:ssc:1,waitfor:b;stop:ssc:2,name:b", "start:ssc:1,waitfor:b\nstop:ssc:2,name:b"},
    {"start:ssc:1,name:r\xc3\xa9gion-1.b", NULL},
    /* Integers */
    {"start:icount:0x10", NULL},
    {"start:icount:010", NULL},
    {"start:icount:18446744073709551615", NULL},
    {"start:icount:0", NULL},
    {"start:icount:0,stop:icount:5,repeat", NULL},
    /* Values */
    {"start:address:0x401000", NULL},
    {"start:address:libm.so.6+0x1a0", NULL},
    {"start:address:/usr/lib/libm.so.6+416", NULL},
    {"start:address:\"operator+\"", NULL},
    {"start:address:\"a,b:c+0x10\"", NULL},
    {"start:ssc:ABCDEF12", NULL},
    {"start:itext:90", NULL},
    {"start:itext:00112233445566778899aabbccddee", NULL},
    {"start:int3", NULL},
    {"start:int3:3", NULL},
    {"start:int3:count3:global", NULL},
    {"start:int3:3:global", NULL},
    {"start:magic:1.0x20", NULL},
    {"start:cpuid:0xffff", NULL},
    {"start:pcontrol:solve", NULL},
    {"start:pcontrol:\"a, b: c\"", NULL},
    {"start:pcontrol:level=5,stop:pcontrol:level=-5", NULL},
    {"start:pcontrol:\"level=5\"", NULL},
    {"start:pcontrol:\xc3\xbc"
     "ber",
     NULL},
    {"start:enter_func:\"ns::solve(int, char)\":count2", NULL},
    {"start:timeout:5,stop:timeout:500ms", NULL},
    {"start:timeout:250us,stop:timeout:3s", NULL},
    {"start:timeout:100us,stop:timeout:0x10ms", NULL},
    {"start:signal:10,stop:signal:SIGUSR2", NULL},
    {"start:signal:USR1,stop:signal:SIGRTMIN+3", NULL},
    {"start:image_load:libplugin.so", NULL},
    /* Tokens */
    {"start:ssc:1:count2:bcast:global", NULL},
    {"start:ssc:1:tid1001", NULL},
    {"start:icount:5:exact", NULL},
    {"start:icount:5:global:bcast", NULL},
    {"start:icount:100:count3", NULL},
    {"start:ssc:1:ranks0-3+8", NULL},
    {"uniform:800:500:5:tid2:ranks0", NULL},
    {"uniform:500:500:1,repeat", NULL},
    {"uniform:800:500:5:ranks0-3+8;uniform:700:500:5:ranks4-7;uniform:900:500:5:ranks9",
     "uniform:800:500:5:ranks0-3+8\nuniform:700:500:5:ranks4-7\nuniform:900:500:5:ranks9"},
    {"start:ssc:1:tid0x10", NULL},
};

static void check_round_trip(const char *chains, const char *canonical)
{
    struct rt_error err = {.text = ""}, again_err = {.text = ""};
    struct ctl_config *config = config_of(chains, NULL, &err);
    struct ctl_config *again =
        config != NULL ? config_of(ctl_config_text(config), NULL, &again_err) : NULL;
    char want[1024];
    snprintf(want, sizeof want, "%s\n", canonical != NULL ? canonical : chains);
    bool same = config != NULL && again != NULL && strcmp(ctl_config_text(config), want) == 0 &&
                strcmp(ctl_config_text(again), want) == 0 &&
                ctl_config_alarm_count(config) == ctl_config_alarm_count(again);
    if (!ok(same, "'%s'", chains))
        diag("got %s %s %s", config != NULL ? ctl_config_text(config) : "", err.text,
             again_err.text);
    ctl_config_free(config);
    ctl_config_free(again);
}

/* ---- Values of the fields ---- */

static const struct ctl_alarm *first_of(struct ctl_config *config)
{
    static const struct ctl_alarm none = {.value = "", .text = ""};
    return config != NULL ? ctl_config_alarm(config, 0) : &none;
}

static void check_fields(void)
{
    struct rt_error err = {.text = ""};
    static const struct {
        const char *chain;
        enum ctl_value_kind kind;
        uint64_t number, second, distance, count;
        const char *value;
    } rows[] = {
        {"start:icount:010", CTL_VALUE_NUMBER, 10, 0, 10, 1, "010"},
        {"start:icount:0x10:count3", CTL_VALUE_NUMBER, 16, 0, 48, 3, "0x10"},
        {"start:address:0x401000", CTL_VALUE_ABSOLUTE, 0x401000, 0, 0, 1, "0x401000"},
        {"start:address:libm.so.6+0x1a0", CTL_VALUE_NAME_OFFSET, 0x1a0, 0, 0, 1, "libm.so.6"},
        {"start:address:\"libstdc++.so+16\"", CTL_VALUE_NAME_OFFSET, 16, 0, 0, 1, "libstdc++.so"},
        {"start:address:\"operator+\"", CTL_VALUE_NAME, 0, 0, 0, 1, "operator+"},
        {"start:ssc:11223344", CTL_VALUE_NUMBER, 0x11223344, 0, 0, 1, "11223344"},
        {"start:isa_extension:3DNOW", CTL_VALUE_NAME, 0, 0, 0, 1, "AMD3DNOW"},
        {"start:int3:3", CTL_VALUE_NONE, 0, 0, 0, 3, ""},
        {"start:magic:1.0x20", CTL_VALUE_PAIR, 1, 32, 0, 1, "1.0x20"},
        {"start:pcontrol:\"a, b\"", CTL_VALUE_STRING, 0, 0, 0, 1, "a, b"},
        {"start:pcontrol:level=-5", CTL_VALUE_LEVEL, (uint64_t)-5, 0, 0, 1, "level=-5"},
        {"start:pcontrol:level=-2147483648", CTL_VALUE_LEVEL, (uint64_t)INT32_MIN, 0, 0, 1,
         "level=-2147483648"},
        {"start:timeout:250us:count4", CTL_VALUE_NUMBER, 250000, 0, 1000000, 4, "250us"},
        {"start:timeout:5", CTL_VALUE_NUMBER, 5000000000, 0, 5000000000, 1, "5"},
        {"start:signal:SIGRTMIN+3", CTL_VALUE_NUMBER, 37, 0, 0, 1, "SIGRTMIN+3"},
        {"start:signal:SIGRTMAX-1", CTL_VALUE_NUMBER, 63, 0, 0, 1, "SIGRTMAX-1"},
        {"uniform:800:500:5", CTL_VALUE_UNIFORM, 800, 500, 0, 5, ""},
        {"start:ssc:1:count5000000001:global", CTL_VALUE_NUMBER, 1, 0, 0, 5000000001, "1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ctl_config *config = config_of(rows[i].chain, NULL, &err);
        const struct ctl_alarm *alarm = first_of(config);
        bool same = config != NULL && alarm->value_kind == (unsigned)rows[i].kind &&
                    alarm->number == rows[i].number && alarm->second == rows[i].second &&
                    alarm->distance == rows[i].distance && alarm->count == rows[i].count &&
                    strcmp(alarm->value, rows[i].value) == 0;
        if (!ok(same, "fields of '%s'", rows[i].chain))
            diag("kind %u number %" PRIu64 " distance %" PRIu64 " value %s; %s", alarm->value_kind,
                 alarm->number, alarm->distance, alarm->value, err.text);
        ctl_config_free(config);
    }
}

static void check_tokens(void)
{
    struct rt_error err = {.text = ""};
    struct ctl_config *config = config_of(
        "start:address:foo,bcast,stop:itext:0f0b:tid7:ranks0-3+8\nstop:icount:5:global:exact:x",
        NULL, &err);
    ok(config == NULL, "a wrong second line fails the list");
    config = config_of("start:address:foo,bcast,stop:itext:0f0b:tid7:ranks0-3+8", NULL, &err);
    const struct ctl_alarm *start = ctl_config_alarm(config, 0),
                           *stop = ctl_config_alarm(config, 1);
    ok(start->bcast && start->tid == CTL_ANY_TID &&
           strcmp(start->text, "start:address:foo:bcast") == 0,
       "a bcast piece applies to the alarm before it");
    ok(!stop->bcast && stop->tid == 7 && stop->position == 1 && stop->index == 1 &&
           stop->chain == 0,
       "tid, position");
    ok(stop->byte_count == 2 && stop->bytes[0] == 0x0f && stop->bytes[1] == 0x0b,
       "itext in memory order");
    ok(ctl_alarm_on_rank(stop, 0) && ctl_alarm_on_rank(stop, 3) && !ctl_alarm_on_rank(stop, 4) &&
           ctl_alarm_on_rank(stop, 8) && !ctl_alarm_on_rank(stop, 9) && ctl_alarm_on_rank(start, 4),
       "ranks0-3+8");
    ok(ctl_config_alarm(config, 2) == NULL && ctl_config_chain(config, 1) == NULL,
       "NULL out of range");
    ok(ctl_config_uses(config, CTL_ITEXT) && !ctl_config_uses(config, CTL_ICOUNT),
       "which types are used");
    ctl_config_free(config);
    config = config_of("start:ssc:1:ranks1,stop:ssc:2,name:a;start:ssc:3,waitfor:a;stop:ssc:4",
                       NULL, &err);
    bool reach0[4], reach1[4];
    for (unsigned i = 0; i < 4; i++)
        reach0[i] = ctl_config_alarm_reachable(config, i);
    ctl_config_set_rank(config, 1);
    for (unsigned i = 0; i < 4; i++)
        reach1[i] = ctl_config_alarm_reachable(config, i);
    ok(!reach0[0] && !reach0[1] && !reach0[2] && reach0[3] && reach1[0] && reach1[1] && reach1[2] &&
           reach1[3],
       "a rank list ends the chain, and those that wait for it, on other ranks");
    ctl_config_free(config);
}

static void check_default_start(void)
{
    static const struct {
        const char *chains;
        bool off, want;
    } rows[] = {
        {"", false, true},
        {"", true, false},
        {"stop:ssc:1", false, true},
        {"stop:ssc:1", true, false},
        {"start:ssc:1", false, false},
        {"precond:ssc:1,uniform:8:5:1", false, false},
        {"warmup-start:ssc:1", false, true},
        {"start:ssc:1:ranks5", false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rt_error err = {.text = ""};
        struct ctl_config *config = NULL;
        struct ctl_builder *builder = ctl_builder_create(NULL, NULL);
        int status = ctl_builder_add_list(builder, rows[i].chains, "REGTRACE_CONTROL", &err);
        if (rows[i].off)
            status |= ctl_builder_add_option(builder, "-controller_default_start", "0", &err);
        status |= ctl_builder_finish(builder, NULL, &config, &err);
        ok(status == 0 && ctl_config_default_start(config) == rows[i].want,
           "default start with '%s'%s: %s", rows[i].chains, rows[i].off ? " turned off" : "",
           rows[i].want ? "yes" : "no");
        ctl_config_free(config);
        ctl_builder_free(builder);
    }
}

/* ---- Warnings ---- */

static void check_warnings(void)
{
    static const struct {
        const char *chains, *words; /* NULL: no warning */
    } rows[] = {
        {"start:ssc:1,stop:ssc:2", NULL},
        {"start:ssc:1:tid0,stop:ssc:2:tid0", NULL},
        {"start:ssc:1:tid0,stop:ssc:2:tid1", "'stop:ssc:2:tid1' can never be armed"},
        {"start:ssc:1:tid0:bcast,stop:ssc:2:tid1", NULL},
        {"start:address:foo,stop:address:foo",
         "are one place: the window opens at one execution and closes at a later"},
        {"start:address:foo;stop:address:foo", "one execution fires both"},
        {"start:address:foo;stop:address:foo:count2", NULL},
        {"start:icount:5,stop:icount:5", NULL},
        {"start:timeout:5,stop:timeout:5", NULL},
        {"start:ssc:1,repeat,name:a;stop:ssc:2,waitfor:a",
         "chain 2 waits for chain 'a', which repeats without end"},
        {"start:ssc:1,repeat:3,name:a;stop:ssc:2,waitfor:a", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rt_error err = {.text = ""};
        struct warnings warnings = {.text = ""};
        struct ctl_config *config = config_of(rows[i].chains, &warnings, &err);
        bool right = rows[i].words == NULL
                         ? warnings.count == 0
                         : warnings.count == 1 && strstr(warnings.text, rows[i].words) != NULL;
        if (!ok(config != NULL && right, "warnings of '%s'", rows[i].chains))
            diag("%s%s", warnings.text, err.text);
        ctl_config_free(config);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        check_round_trip(table[i].chains, table[i].canonical);
    check_fields();
    check_tokens();
    check_default_start();
    check_warnings();
    return done_testing();
}
