/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the sources of chains other than -control: legacy options, control files, regions files;
 * and function names. */
#include <errno.h>
#include <unistd.h>

#include "t/controller/helpers.h"
#include "t/tap.h"

#define MOST 6

/* ---- Options ---- */

static const struct {
    const char *options[MOST]; /* "name=value" */
    const char *want;          /* canonical text, or words of the error */
    const char *warning;
} options[] = {
    {{"skip=1000", "length=100"}, "start:icount:1000,stop:icount:100\n", NULL},
    {{"length=100"}, "stop:icount:100\n", NULL},
    {{"skip=1000"}, "start:icount:1000\n", NULL},
    {{"start_ssc_mark=111:repeat", "stop_ssc_mark=222:repeat"},
     "start:ssc:111,repeat\nstop:ssc:222,repeat\n",
     NULL},
    {{"-start-ssc-mark=111:3:tid2:repeat", "length=7"},
     "start:ssc:111:count3:tid2,stop:icount:7,repeat\n",
     NULL},
    {{"--stop_address=foo:2"}, "stop:address:foo:count2\n", NULL},
    {{"\xe2\x80\x93start_address=\"ns::f\":2"}, "start:address:\"ns::f\":count2\n", NULL},
    {{"start-itext=0f0b", "stop-itext=90"}, "start:itext:0f0b\nstop:itext:90\n", NULL},
    {{"start-int3=", "stop-int3=2"}, "start:int3:1\nstop:int3:2\n", NULL},
    {{"start-int3=0", "stop-int3=1"}, "stop:int3:1\n", NULL},
    {{"start_extension=AVX", "stop_category=CALL:5"},
     "start:isa_extension:AVX\nstop:isa_category:CALL:count5\n",
     NULL},
    {{"skip=5", "control=start:ssc:1"}, "start:ssc:1\nstart:icount:5\n", NULL},
    {{"uniform-skip=200", "uniform-period=500", "uniform-length=500", "uniform-count=5"},
     "precond:icount:200,uniform:500:500:5\n",
     "-uniform-period 500 is taken as start to start"},
    {{"uniform-period=800", "uniform-length=500", "uniform-count=5"},
     "uniform:800:500:5\n",
     "start to start"},
    {{"trace_after_instrs=10", "trace_for_instrs=20"},
     "start:icount:10:global:bcast,stop:icount:20:global:bcast\n",
     NULL},
    {{"trace-for-instrs=20"}, "start:icount:0:global:bcast,stop:icount:20:global:bcast\n", NULL},
    {{"trace_after_instrs=10", "trace_for_instrs=20", "retrace_every_instrs=30"},
     "start:icount:10:global:bcast,stop:icount:20:global:bcast,name:trace_for_instrs\n"
     "start:icount:30:global:bcast,stop:icount:20:global:bcast,repeat,waitfor:trace_for_instrs\n",
     NULL},
    /* Wrong options */
    {{"skipp=5"}, "unknown controller option '-skipp', did you mean '-skip'?", NULL},
    {{"length=5", "length=6"}, "-length is given twice", NULL},
    {{"length=x"}, "-length expects an integer", NULL},
    {{"length="},
     "-length expects an integer (decimal, or hexadecimal with 0x), found nothing",
     NULL},
    {{"uniform-period=500", "uniform-length=500"},
     "-uniform-count is missing; -uniform-period needs it",
     NULL},
    {{"retrace_every_instrs=5"}, "-trace_for_instrs is missing", NULL},
    {{"uniform-period=5", "uniform-length=8", "uniform-count=1"},
     "column 9: the period of uniform",
     NULL},
    {{"start_ssc_mark=xyz"},
     "chain 1 (from -start-ssc-mark xyz) \"start:ssc:xyz\", column 11: ssc expects",
     NULL},
    {{"start_address=foo:repeat:bogus"}, "unknown token 'bogus'", NULL},
    {{"control=start:scc:1"}, "did you mean 'ssc'", NULL},
    {{"controller-default-start=2"}, "-controller-default-start expects 0 or 1, found '2'", NULL},
    {{"control-file=/nonexistent/file"},
     "cannot open /nonexistent/file: No such file or directory",
     NULL},
    {{"regions:in=/nonexistent/file"}, "cannot open /nonexistent/file", NULL},
    {{"control-file=/"}, "cannot read /: Is a directory", NULL},
    {{"regions:warmup=100"}, "have no use without -regions:in FILE", NULL},
    {{"regions:epilog=10M", "regions:in=/nonexistent/file"},
     "-regions:epilog expects a number of instructions, found '10M'",
     NULL},
    {{"regions:prolog="}, "-regions:prolog expects a number of instructions, found ''", NULL},
};

static int add_options(struct ctl_builder *builder, const char *const *list, struct rt_error *err)
{
    int status = 0;
    for (int i = 0; i < MOST && list[i] != NULL && status == 0; i++) {
        char name[64];
        const char *value = strchr(list[i], '=') + 1;
        snprintf(name, sizeof name, "%.*s", (int)(value - list[i] - 1), list[i]);
        status = ctl_builder_add_option(builder, name, value, err);
    }
    return status;
}

static void check_options(size_t row)
{
    struct rt_error err = {.text = ""};
    struct warnings warnings = {.text = ""};
    struct ctl_config *config = NULL;
    struct ctl_builder *builder = ctl_builder_create(warnings_collect, &warnings);
    int status = add_options(builder, options[row].options, &err);
    if (status == 0)
        status = ctl_builder_finish(builder, NULL, &config, &err);
    const char *got = config != NULL ? ctl_config_text(config) : err.text;
    bool right = config != NULL ? strcmp(got, options[row].want) == 0
                                : strstr(got, options[row].want) != NULL;
    bool warned = options[row].warning == NULL
                      ? warnings.count == 0
                      : strstr(warnings.text, options[row].warning) != NULL;
    if (!ok(right && warned, "-%s ...", options[row].options[0]))
        diag("got %d '%s', warnings '%s'", status, got, warnings.text);
    ctl_config_free(config);
    ctl_builder_free(builder);
}

/* ---- Regions files ---- */

#define LP_HEAD                                                                                    \
    "comment,thread-id,region-id,start-pc,start-image-name,start-image-offset,start-pc-count,end-" \
    "pc,end-image-name,end-image-offset,end-pc-count,end-pc-relative-count,region-length,region-"  \
    "weight,region-multiplier,region-type\n"

static const struct {
    enum ctl_regions_format format;
    const char *text, *want;
} regions[] = {
    {CTL_REGIONS_PINPOINTS,
     "# made by hand\ncomment,thread-id,region-id,start-icount,end-icount,weight\n\n"
     "cluster 0 from slice 3,0,1,1000,2000,0.25\r\ncluster 1, 2 ,2,0,5000000000,0.75\n",
     "start:icount:1000:tid0,stop:icount:1000:tid0\nstart:icount:0:tid2,stop:icount:5000000000:"
     "tid2\n"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,2000,1000,0.5\n",
     "file F line 1, column 12: end-icount 1000 is not after start-icount 2000"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,2000\n", "file F line 1, column 1: expected comment,thread-id"},
    {CTL_REGIONS_PINPOINTS, "#\nc,0,1,1000,2000\n",
     "file F line 2, column 16: found 5 fields, the weight is missing: write it after a comma"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,1000,2000,\n", "start:icount:1000:tid0,stop:icount:1000:tid0\n"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,1000,2000,0.5,spare\n",
     "file F line 1, column 21: found 7 fields; "
     "comment,thread-id,region-id,start-icount,end-icount,"
     "weight are 6: remove the comma after the weight"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,1000,2000,0.5,\n", "column 21: found 7 fields"},
    {CTL_REGIONS_PINPOINTS, "\nc,x,1,1000,2000,1\n",
     "file F line 2, column 3: thread-id expects an integer, found 'x'"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,1000,2000,heavy\n",
     "column 17: weight expects a number that is not negative, such as 0.25, found 'heavy'"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,1000,2000,-0.5\n",
     "weight expects a number that is not negative"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,1000,2000,0.5x\n", "found '0.5x'"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,1000,2000,1e\n", "found '1e'"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,1000,2000,.\n", "found '.'"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,1000,2000,nan\n", "found 'nan'"},
    {CTL_REGIONS_PINPOINTS, "c,0,1,1000,2000,1e-05\n",
     "start:icount:1000:tid0,stop:icount:1000:tid0\n"},
    {CTL_REGIONS_LOOPPOINT,
     "c,global,1,40,app,1030,1,401060,app,1060,6,7,1000,0.5,three,simulation\n",
     "column 55: multiplier expects a number that is not negative, such as 0.25, found 'three'"},
    {CTL_REGIONS_PINPOINTS, "# nothing\n", "file F line 1, column 1: the file has no region"},
    {CTL_REGIONS_LOOPPOINT,
     LP_HEAD "cluster "
             "0,global,1,0x401030,app,0x1030,5000000001,401060,app,1060,6000000000,7,1000,0.5,3.0,"
             "simulation\n"
             "warm,global,2,401000,app,1000,1,401030,app,1030,5000000001,9,1000,0.5,3.0,warmup:1\n"
             "c,3,4,401000,/opt/my app/bin,1000,2,401030,,0,9,9,1000,0.5,3.0,simulation\n",
     "start:address:\"app+0x1030\":count5000000001:global:bcast\n"
     "stop:address:\"app+0x1060\":count6000000000:global:bcast\n"
     "warmup-start:address:\"app+0x1000\":count1:global:bcast\n"
     "warmup-stop:address:\"app+0x1030\":count5000000001:global:bcast\n"
     "start:address:\"/opt/my app/bin+0x1000\":count2:tid3\n"
     "stop:address:0x401030:count9:tid3\n"},
    {CTL_REGIONS_LOOPPOINT, "c,global,1,401030,app,1030,5,401060,app,1060,6,7,1000,0.5,3.0\n",
     "expected 16 fields"},
    {CTL_REGIONS_LOOPPOINT,
     "c,global,1,zz,app,1030,5,401060,app,1060,6,7,1000,0.5,3.0,simulation\n",
     "column 12: start-pc expects hexadecimal digits, found 'zz'"},
    {CTL_REGIONS_LOOPPOINT,
     "c,global,1,40,app,1030,0,401060,app,1060,6,7,1000,0.5,3.0,simulation\n",
     "column 24: start-count is 0"},
    {CTL_REGIONS_LOOPPOINT, "c,global,1,40,app,1030,1,401060,app,1060,6,7,1000,0.5,3.0,detail\n",
     "type expects 'simulation' or 'warmup:<region-id>', found 'detail'"},
    {CTL_REGIONS_LOOPPOINT,
     "c,global,1,40,app,1030,1,401060,app,1060,99999999999999999999,7,1000,0.5,3.0,simulation\n",
     "end-count '99999999999999999999' does not fit 64 bits"},
    {CTL_REGIONS_INTERVALS, "#start,duration\n1000,50\n 5000 , 60\n",
     "start:icount:1000:global:bcast,stop:icount:50:global:bcast,name:interval-2\n"
     "start:icount:3950:global:bcast,stop:icount:60:global:bcast,waitfor:interval-2\n"},
    /* Unordered regions. One touches the region before it, one begins inside another. */
    {CTL_REGIONS_INTERVALS, "300,50\n0,100\n320,10\n100,7\n",
     "start:icount:193:global:bcast,stop:icount:50:global:bcast,waitfor:interval-4\n"
     "start:icount:0:global:bcast,stop:icount:100:global:bcast,name:interval-2\n"
     "start:icount:320:global:bcast,stop:icount:10:global:bcast\n"
     "start:icount:0:global:bcast,stop:icount:7:global:bcast,name:interval-4,waitfor:interval-2\n"},
    {CTL_REGIONS_INTERVALS, "1000,0\n", "column 6: the duration is 0"},
    {CTL_REGIONS_INTERVALS, "1000\n", "expected start,duration, found 1 fields"},
};

static void check_regions(size_t row)
{
    struct rt_error err = {.text = ""};
    struct ctl_config *config = NULL;
    struct ctl_builder *builder = ctl_builder_create(NULL, NULL);
    int status =
        ctl_builder_add_regions(builder, regions[row].format, "F", regions[row].text, &err);
    if (status == 0)
        status = ctl_builder_finish(builder, NULL, &config, &err);
    const char *got = config != NULL ? ctl_config_text(config) : err.text;
    bool right = config != NULL ? strcmp(got, regions[row].want) == 0
                                : strstr(got, regions[row].want) != NULL;
    if (!ok(right, "regions file %zu", row + 1))
        diag("got %d '%s'", status, got);
    ctl_config_free(config);
    ctl_builder_free(builder);
}

/* Tests what -regions:warmup, -regions:prolog and -regions:epilog add, and the space that regions
 * leave each other. */
static const struct {
    const char *parts[3]; /* warmup, prolog, epilog; NULL: not given */
    const char *text, *want, *warning;
} around[] = {
    {{"300", "200", "100"},
     "c,0,1,1000,1200,1\n",
     "warmup-start:icount:500:tid0,prolog-start:icount:300:tid0,start:icount:200:tid0,"
     "epilog-start:icount:200:tid0,epilog-stop:icount:100:tid0\n",
     ""},
    {{"300", NULL, NULL},
     "c,2,1,1000,1200,1\n",
     "warmup-start:icount:700:tid2,start:icount:300:tid2,stop:icount:200:tid2\n",
     ""},
    {{NULL, "0x10", NULL},
     "c,0,1,1000,1200,1\n",
     "prolog-start:icount:984:tid0,start:icount:16:tid0,stop:icount:200:tid0\n",
     ""},
    {{NULL, NULL, "50"},
     "c,0,1,1000,1200,1\n",
     "start:icount:1000:tid0,epilog-start:icount:200:tid0,epilog-stop:icount:50:tid0\n",
     ""},
    {{"0", "0", "0"}, "c,0,1,1000,1200,1\n", "start:icount:1000:tid0,stop:icount:200:tid0\n", ""},
    {{"900", "200", NULL}, /* the program has only 800 instructions for the warm-up */
     "c,0,1,1000,1200,1\n",
     "warmup-start:icount:0:tid0,prolog-start:icount:800:tid0,start:icount:200:tid0,"
     "stop:icount:200:tid0\n",
     "file F line 1: the warm-up of region 1 has room for 800 instructions, not 900\n"},
    {{"900", "1200", NULL},
     "c,0,1,1000,1200,1\n",
     "prolog-start:icount:0:tid0,start:icount:1000:tid0,stop:icount:200:tid0\n",
     "file F line 1: the prolog of region 1 has room for 1000 instructions, not 1200\n"
     "file F line 1: the warm-up of region 1 has room for 0 instructions, not 900\n"},
    /* Two regions of a thread have, between them, the epilog, the prolog and the warm-up, which
     * begins one instruction later. The order of lines does not matter, and other threads do not
     * count. */
    {{"300", "200", "100"},
     "c,0,b,2000,2100,1\nc,0,a,1000,1700,1\nc,1,c,1500,1600,1\n",
     "prolog-start:icount:1801:tid0,start:icount:199:tid0,"
     "epilog-start:icount:100:tid0,epilog-stop:icount:100:tid0\n"
     "warmup-start:icount:500:tid0,prolog-start:icount:300:tid0,start:icount:200:tid0,"
     "epilog-start:icount:700:tid0,epilog-stop:icount:100:tid0\n"
     "warmup-start:icount:1000:tid1,prolog-start:icount:300:tid1,start:icount:200:tid1,"
     "epilog-start:icount:100:tid1,epilog-stop:icount:100:tid1\n",
     "file F line 1: the prolog of region b has room for 199 instructions, not 200\n"
     "file F line 1: the warm-up of region b has room for 0 instructions, not 300\n"},
    /* Regions that touch: the second begins one instruction later, since two edges at one count
     * could come in either order. */
    {{NULL, NULL, NULL},
     "c,0,1,1000,1200,1\nc,0,2,1200,1300,1\n",
     "start:icount:1000:tid0,stop:icount:200:tid0\nstart:icount:1201:tid0,stop:icount:99:tid0\n",
     ""},
    {{NULL, NULL, NULL},
     "c,0,1,1000,1200,1\nc,0,2,1100,1300,1\n",
     "start:icount:1000:tid0,stop:icount:200:tid0\nstart:icount:1100:tid0,stop:icount:200:tid0\n",
     "file F line 2: region 2 begins before region 1 of the same thread ends; a thread is in one "
     "window at a time\n"},
    /* Region 2 ends before region 3 begins; region 1 does not. */
    {{NULL, NULL, NULL},
     "c,0,1,1000,1900,1\nc,0,2,1100,1200,1\nc,0,3,1300,1400,1\n",
     "start:icount:1000:tid0,stop:icount:900:tid0\nstart:icount:1100:tid0,stop:icount:100:tid0\n"
     "start:icount:1300:tid0,stop:icount:100:tid0\n",
     "file F line 2: region 2 begins before region 1 of the same thread ends; a thread is in one "
     "window at a time\n"
     "file F line 3: region 3 begins before region 1 of the same thread ends; a thread is in one "
     "window at a time\n"},
};

static void check_intervals(const char *file, const char *warning, const char *what)
{
    struct rt_error err = {.text = ""};
    struct warnings warnings = {.text = ""};
    struct ctl_builder *builder = ctl_builder_create(warnings_collect, &warnings);
    int status = ctl_builder_add_regions(builder, CTL_REGIONS_INTERVALS, "F", file, &err);
    if (!ok(status == 0 && strcmp(warnings.text, warning) == 0, "%s", what))
        diag("got %d '%s', warnings '%s'", status, err.text, warnings.text);
    ctl_builder_free(builder);
}

static void check_around(size_t row)
{
    static const char *const names[] = {"regions:warmup", "regions:prolog", "regions:epilog"};
    struct rt_error err = {.text = ""};
    struct warnings warnings = {.text = ""};
    struct ctl_config *config = NULL;
    struct ctl_builder *builder = ctl_builder_create(warnings_collect, &warnings);
    int status = 0;
    for (int i = 0; i < 3 && status == 0; i++)
        if (around[row].parts[i] != NULL)
            status = ctl_builder_add_option(builder, names[i], around[row].parts[i], &err);
    if (status == 0)
        status =
            ctl_builder_add_regions(builder, CTL_REGIONS_PINPOINTS, "F", around[row].text, &err);
    if (status == 0)
        status = ctl_builder_finish(builder, NULL, &config, &err);
    const char *got = config != NULL ? ctl_config_text(config) : err.text;
    if (!ok(strcmp(got, around[row].want) == 0 && strcmp(warnings.text, around[row].warning) == 0,
            "what stands around a region %zu", row + 1))
        diag("got '%s'\nwarnings '%s'", got, warnings.text);
    ctl_config_free(config);
    ctl_builder_free(builder);
}

static const char *label_of(const char *file)
{
    static char label[160];
    struct rt_error err = {.text = ""};
    struct ctl_config *config = NULL;
    struct ctl_builder *builder = ctl_builder_create(NULL, NULL);
    if (ctl_builder_add_regions(builder, CTL_REGIONS_PINPOINTS, "F", file, &err) == 0 &&
        ctl_builder_finish(builder, NULL, &config, &err) == 0)
        snprintf(label, sizeof label, "%s", ctl_config_chain(config, 0)->label);
    ctl_config_free(config);
    ctl_builder_free(builder);
    return label;
}

static void check_label(void)
{
    struct rt_error err = {.text = ""};
    struct ctl_config *config = NULL;
    struct ctl_builder *builder = ctl_builder_create(NULL, NULL);
    int status =
        ctl_builder_add_regions(builder, CTL_REGIONS_PINPOINTS, "F", "c,0,17,5,9,0.25\n", &err);
    status |= ctl_builder_finish(builder, NULL, &config, &err);
    ok(status == 0 && strcmp(ctl_config_chain(config, 0)->label, "region 17 weight 0.25") == 0 &&
           strcmp(ctl_config_chain(config, 0)->region, "17\t0.25\t") == 0 &&
           strcmp(ctl_config_chain(config, 0)->origin, "file F line 1") == 0,
       "a region keeps its id, weight and line");
    ctl_config_free(config);
    ctl_builder_free(builder);
}

/* ---- Options that have no effect without another ---- */

static void check_useless(void)
{
    static const struct {
        const char *variables[3], *words; /* NULL: no warning */
    } rows[] = {
        {{"REGTRACE_SAMPLE_DEPTH=8", NULL, NULL}, "-sample-depth (REGTRACE_SAMPLE_DEPTH)"},
        {{"REGTRACE_SAMPLE_DEPTH=8", "REGTRACE_SAMPLE=cpu:10ms", NULL}, NULL},
        {{"REGTRACE_SAMPLE_DEPTH=0", NULL, NULL}, NULL},
        {{"REGTRACE_CONTROL=start:ssc:1,stop:ssc:2;stats-emit:ssc:3", NULL, NULL},
         "chain 2 has a stats-emit, and no events"},
        {{"REGTRACE_CONTROL=stats-reset:ssc:3,stats-emit-reset:ssc:4", NULL, NULL},
         "chain 1 has a stats-reset, and no events"},
        {{"REGTRACE_CONTROL=stats-emit:ssc:3", "REGTRACE_EVENTS=cycles", NULL}, NULL},
        {{"REGTRACE_CONTROL=start:ssc:3", NULL, NULL}, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rt_error err = {.text = ""};
        struct warnings warnings = {.text = ""};
        struct options o;
        struct ctl_config *config = NULL;
        struct ctl_builder *builder = ctl_builder_create(warnings_collect, &warnings);
        int status = options_read(&o, (char *const *)rows[i].variables, &err, NULL, NULL);
        status |= ctl_builder_add_options(builder, &o, &err);
        status |= ctl_builder_finish(builder, NULL, &config, &err);
        bool right = rows[i].words == NULL
                         ? warnings.count == 0
                         : warnings.count == 1 && strstr(warnings.text, rows[i].words) != NULL;
        if (!ok(status == 0 && right, "%s: %s", rows[i].variables[0],
                rows[i].words != NULL ? rows[i].words : "no warning"))
            diag("%s, warnings '%s'", err.text, warnings.text);
        ctl_config_free(config);
        ctl_builder_free(builder);
    }
}

/* ---- Control files ---- */

static void check_file(void)
{
    char path[] = "/tmp/regtrace-control-XXXXXX";
    int descriptor = mkstemp(path);
    static const char text[] =
        "# windows\n\nstart:ssc:1 , stop:ssc:2\r\n   # more\nstart:pcontrol:a;b\n";
    bool written =
        descriptor >= 0 && write(descriptor, text, sizeof text - 1) == (ssize_t)sizeof text - 1;
    close(descriptor);
    struct rt_error err = {.text = ""};
    struct ctl_config *config = NULL;
    struct ctl_builder *builder = ctl_builder_create(NULL, NULL);
    int status = ctl_builder_add_file(builder, path, &err);
    status |= ctl_builder_finish(builder, NULL, &config, &err);
    if (!ok(written && status == 0 &&
                strcmp(ctl_config_text(config),
                       "start:ssc:1,stop:ssc:2\nstart:pcontrol:\"a;b\"\n") == 0,
            "a control file: a chain a line, comments, CRLF; a ';' is quoted in the canonical "
            "text"))
        diag("%s", err.text);
    ctl_config_free(config);
    ctl_builder_free(builder);
    unlink(path);
    builder = ctl_builder_create(NULL, NULL);
    status = ctl_builder_add_file_text(builder, "F", "start:ssc:1\n\nstart:scc:2\n", &err);
    ok(status == -EINVAL &&
           strncmp(err.text, "chain 2 (file F line 3) \"start:scc:2\", column 7:", 47) == 0,
       "an error names the file and the line");
    ctl_builder_free(builder);
}

static void check_list(void)
{
    struct rt_error err = {.text = ""};
    struct ctl_config *config = config_of(";start:ssc:1;;\n  \nstop:pcontrol:\"a;b\";", NULL, &err);
    ok(config != NULL &&
           strcmp(ctl_config_text(config), "start:ssc:1\nstop:pcontrol:\"a;b\"\n") == 0,
       "a list: newline and ';' separate, not in quotes; empty chains are skipped");
    ctl_config_free(config);
}

/* ---- Function names ---- */

static const struct {
    const char *value, *name;
    bool quoted, match;
} names[] = {
    {"solve", "solve", false, true},
    {"solve", "solver", false, false},
    {"solve", "ns::solve(int, char)", false, true},
    {"solve", "ns::Grid<int, a::b>::solve<double>(std::vector<int>) const", false, true},
    {"solve", "void ns::solve<int>(int)", false, true},
    {"solve", "solve::other(int)", false, false},
    {"solve", "(anonymous namespace)::solve(int)", false, true},
    {"solve", "(anonymous namespace)::solve", false, true},
    {"solve", "f(solve)", false, false},
    {"operator()", "ns::F::operator()(int) const", false, true},
    {"operator<", "ns::operator<(A const&, B const&)", false, true},
    {"operator<<", "std::ostream& ns::operator<< <int>(std::ostream&, int)", false, false},
    {"operator->", "ns::P::operator->() const", false, true},
    {"~Grid", "ns::Grid::~Grid()", false, true},
    {"ns::solve", "ns::solve(int, char)", true, true},
    {"ns::solve", "other::ns::solve(int)", true, false},
    {"ns::solve", "ns::solve<int>(int)", true, true},
    {"ns::solve<int>", "ns::solve<int>(int)", true, true},
    {"ns::solve<long>", "ns::solve<int>(int)", true, false},
    {"ns::solve(int)", "ns::solve(int)", true, true},
    {"ns::solve(int)", "ns::solve(int, char)", true, false},
    {"solve", "ns::solve(int)", true, false},
    {"", "", false, true},
    {"x", "", false, false},
    {"f", ")", false, false},
    {"f", "((((", false, false},
    {"f", ">>>f", false, false},
};

static void check_names(size_t row)
{
    const struct ctl_alarm alarm = {.value = names[row].value, .quoted = names[row].quoted};
    ok(ctl_name_matches(&alarm, names[row].name) == names[row].match, "%s%s%s %s '%s'",
       names[row].quoted ? "\"" : "", names[row].value, names[row].quoted ? "\"" : "",
       names[row].match ? "matches" : "does not match", names[row].name);
}

int main(void)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        check_options(i);
    for (size_t i = 0; i < sizeof regions / sizeof regions[0]; i++)
        check_regions(i);
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        check_around(i);
    ok(strcmp(label_of("c,0,17,5,9,\n"), "region 17 no weight") == 0,
       "without a weight it says so");
    check_intervals("100,50\n150,50\n", "", "intervals that touch");
    check_intervals("120,50\n100,50\n",
                    "file F line 1: the interval that begins at 120 does so before that of line 2 "
                    "ends, at 150; threads are in one window at a time\n",
                    "intervals that overlap are warned of, in any order");
    check_label();
    check_useless();
    check_file();
    check_list();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_names(i);
    return done_testing();
}
