/* SPDX-License-Identifier: BSD-3-Clause
 * A plug-in of value profiling that is controlled by its environment:
 * - VP_SPEC: the values that it captures
 * - VP_NULL: the entries that its table lacks
 * - VP_IN, VP_DO: the call in which it misbehaves, and how
 * - VP_LOG: a file to which it writes each call */
#include <regtrace/vprofiler.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 4 };

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static bool does(const char *what)
{
    return strcmp(setting("VP_DO"), what) == 0;
}

static void misbehave(void)
{
    static volatile int *nowhere;
    if (does("crash"))
        *nowhere = 1;
    if (does("hang"))
        for (;;)
            (void)pause();
    if (does("exit"))
        exit(0);
    if (does("abort"))
        abort();
    if (does("print")) {
        (void)puts("printed by the plug-in");
        (void)fflush(stdout);
    }
    if (does("fork") && fork() == 0) {
        (void)close(open("forked", O_WRONLY | O_CREAT, 0600));
        _exit(0);
    }
    for (int i = 0; does("eat") && i < 192; i++) /* 3 GiB, never touched */
        if (malloc(16 << 20) == NULL)
            abort();
    if (does("write"))
        (void)!write(STDIN_FILENO, "garbage", 7);
    if (does("read")) {
        char c;
        if (read(STDIN_FILENO, &c, 1) != 0)
            abort();
    }
}

/* Logs the call. Misbehaves if VP_IN names the call, and then returns true. */
static bool enter(const char *where)
{
    const char *log = getenv("VP_LOG");
    int fd = log != NULL ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        (void)!write(fd, where, strlen(where));
        (void)!write(fd, "\n", 1);
        (void)close(fd);
    }
    bool here = strcmp(setting("VP_IN"), where) == 0;
    if (here)
        misbehave();
    return here;
}

static void init(void)
{
    (void)enter("init");
}

static void release(void)
{
    (void)enter("release");
}

/* --- The specification --- */

static trace_value_t pick(trace_opcode_t opc, trace_func_t func)
{
    if (opc == op_nop)
        return TRACE_BASIC;
    return (func & TRACE_FUNC_RESULT) != 0 ? TRACE_DESTINATION : TRACE_IGNORE;
}

static int select_all(trace_opcode_t opc, trace_func_t func)
{
    return opc != op_none || func != 0;
}

static int select_adds(trace_opcode_t opc, trace_func_t func)
{
    (void)func;
    return strcmp(trace_opcode_name(opc), "add") == 0;
}

static void fill(trace_vlist_t *vlist, const trace_value_t *values, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        (void)trace_add_value_to_vlist(vlist, values[i]);
}

static void specify(trace_vlist_table_t *table, trace_vlist_t *vlist, const char *spec)
{
    static const trace_value_t operands[] = {TRACE_OPERAND(0), TRACE_OPERAND(1), TRACE_OPERAND(2),
                                             TRACE_OPERAND(3), TRACE_ADDRESS,    TRACE_LOADED,
                                             TRACE_STORED};
    static const trace_value_t registers[] = {TRACE_RAX,
                                              TRACE_R15,
                                              TRACE_RFLAGS,
                                              TRACE_VECTOR(31, 7),
                                              TRACE_MASK(3),
                                              TRACE_X87(2),
                                              TRACE_OPERAND_LANE(0, 3)};
    if (strcmp(spec, "pick") == 0) {
        (void)trace_set_vlist_by_pick_value(table, pick);
    } else if (strcmp(spec, "registers") == 0) {
        fill(vlist, registers, 7);
        (void)trace_add_vlist_by_select(table, select_adds, vlist);
        /* A value that is added twice is captured once. */
    } else if (strcmp(spec, "two") == 0) {
        fill(vlist, operands, 2);
        (void)trace_add_vlist_by_opc(table, op_add, vlist);
        (void)trace_add_vlist_by_opc(table, trace_opcode_by_name("add"), vlist);
        fill(vlist, registers, 1);
        (void)trace_add_vlist_by_select(table, select_adds, vlist);
    } else if (strcmp(spec, "basic") == 0) {
        (void)trace_add_vlist_by_opc(table, op_mov, vlist);
    } else if (strcmp(spec, "latency") == 0) {
        (void)trace_add_value_to_vlist(vlist, TRACE_LATENCY);
        (void)trace_add_vlist_by_opc(table, op_mov, vlist);
    } else if (strcmp(spec, "eight") == 0) {
        fill(vlist, operands, 7);
        (void)trace_add_vlist_by_opc(table, op_mov, vlist);
        trace_vlist_init(vlist);
        fill(vlist, registers, 1);
        (void)trace_add_vlist_by_opc(table, op_mov, vlist);
    } else if (strcmp(spec, "same") == 0 || strcmp(spec, "equal") == 0) { /* 7, 8 values */
        for (unsigned i = 0; i < (strcmp(spec, "same") == 0 ? 7 : 8); i++)
            fill(vlist, registers, 1);
        (void)trace_add_vlist_by_select(table, select_adds, vlist);
        (void)trace_add_vlist_by_opc(table, op_add, vlist);
    } else if (strcmp(spec, "wrong") == 0) {
        (void)trace_add_value_to_vlist(vlist, TRACE_GENERAL(17));
        (void)trace_add_vlist_by_opc(table, op_mov, vlist);
    } else if (strcmp(spec, "opcode") == 0) {
        (void)trace_add_vlist_by_opc(table, (trace_opcode_t)op_count, vlist);
    } else if (strcmp(spec, "none") != 0) {
        fill(vlist, operands, 7);
        (void)trace_add_vlist_by_select(table, select_all, vlist);
    }
}

static trace_vlist_table_t *table;

static trace_vlist_table_t *prof_init(void)
{
    trace_vlist_t *vlist = trace_vlist_alloc();
    bool wrong = enter("prof_init");
    if (wrong && does("null"))
        return NULL;
    table = trace_vlist_table_alloc();
    if (wrong && does("garbage")) /* never initialized */
        return table;
    if (wrong && does("pointer"))
        return (trace_vlist_table_t *)16;
    trace_vlist_table_init(table);
    trace_vlist_init(vlist);
    specify(table, vlist, setting("VP_SPEC"));
    free(vlist);
    if (wrong && does("damage"))
        memset((char *)table + 4096, 0xff, 4096);
    return table;
}

static void prof_release(void)
{
    (void)enter("prof_release");
    free(table);
}

/* --- Processing --- */

static int prof_process(unsigned pid, trace_parser_t *parser, vsample_t **vsamples)
{
    static vsample_t samples[SAMPLES];
    trace_inst_t inst;
    unsigned long pc, c0, c1, values[2];
    int n = 0, count;
    bool wrong = enter("prof_process");
    *vsamples = samples;
    if (wrong && does("nothing"))
        return 0;
    if (wrong && does("fail"))
        return -3;
    if (wrong && does("endless"))
        return SAMPLES;
    if (wrong && does("damage"))
        memset(parser, 0xff, 64);
    if (wrong && does("null"))
        *vsamples = NULL;
    if (wrong && does("pointer"))
        *vsamples = (vsample_t *)16;
    /* Takes up to SAMPLES entries a call. Each sample combines all that the parser reports: the
     * number of values, the last value, opcode, length, pid. */
    while (n < SAMPLES && (count = trace_parser_next(parser, &inst, &pc, &c0, &c1, 2, values)) >= 0)
        samples[n++] = (vsample_t){
            .pc = pc,
            .value = (unsigned long)count << 32 | (count > 0 ? values[count - 1] : 0),
            .context0 = trace_parser_has_context(parser) ? c0 : pid,
            .context1 = inst.opc == op_add ? c1 + inst.length : 0xdead,
        };
    if (n < SAMPLES && trace_parser_next(parser, NULL, NULL, NULL, NULL, 0, NULL) != -1)
        abort();
    return n;
}

static const char *name(void)
{
    static char very_long[400];
    bool wrong = enter("name");
    if (wrong && does("null"))
        return NULL;
    if (wrong && does("long"))
        return memset(very_long, 'a', sizeof very_long - 1);
    return getenv("VP_NAME") != NULL ? getenv("VP_NAME") : "vp-test";
}

static const char *preface(const trace_inst_t *inst)
{
    static char text[64], name_of[16];
    if ((enter("preface") && does("null")) || inst->opc == op_nop)
        return NULL;
    (void)snprintf(
        text, sizeof text, "%s/%u\n%s %u", trace_opcode_name(inst->opc), inst->length,
        trace_register_name(trace_inst_register(inst, 0), 64, 0, name_of, sizeof name_of),
        trace_inst_width(inst));
    return text;
}

static const char *format(const trace_inst_t *inst, unsigned long value)
{
    static char text[64];
    if (enter("format") && does("null"))
        return NULL;
    (void)snprintf(text, sizeof text, "%lu of %s\tend", value, trace_opcode_name(inst->opc));
    return text;
}

vp_dispatch_t _dispatch = {
    init, release, prof_init, prof_release, prof_process, name, preface, format,
};

static bool lacks(const char *entry)
{
    return strstr(setting("VP_NULL"), entry) != NULL;
}

/* Runs when the plug-in is loaded. In VP_NULL each entry begins with a comma. */
__attribute__((constructor)) static void load(void)
{
    if (lacks(",init"))
        _dispatch.init = NULL;
    if (lacks(",release"))
        _dispatch.release = NULL;
    if (lacks(",prof_init"))
        _dispatch.prof_init = NULL;
    if (lacks(",prof_release"))
        _dispatch.prof_release = NULL;
    if (lacks(",prof_process"))
        _dispatch.prof_process = NULL;
    if (lacks(",name"))
        _dispatch.name = NULL;
    if (lacks(",preface"))
        _dispatch.preface = NULL;
    if (lacks(",format"))
        _dispatch.format = NULL;
    (void)enter("loading it");
}
