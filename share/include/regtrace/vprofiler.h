/* SPDX-License-Identifier: BSD-3-Clause
 * Plug-ins of value profiling: a shared library that says which values are captured at samples, makes of them what is counted, and how
 * that is shown.
 *
 *     cc -shared -fPIC -o vp-mine.so vp-mine.c -lregtrace-trace
 *     regtrace run -values ./vp-mine.so ...
 *     regtrace values -plugin ./vp-mine.so DIR
 *
 * It has a table `_dispatch`; any entry may be NULL. All of it runs in processes of their own (regtrace-vprofiler), never in the
 * program: prof_init when a program starts, prof_process beside its writer, preface and format when a profile is listed.
 * Standard output is not theirs: what they print there goes to standard error. share/doc/values.md tells the whole. */
#ifndef REGTRACE_VPROFILER_H
#define REGTRACE_VPROFILER_H

#include <regtrace/trace-inst.h>
#include <regtrace/trace-parse.h>
#include <regtrace/trace-vlist.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One value to be counted: by address, contexts and value. */
typedef struct vsample {
    unsigned long pc;
    unsigned long value;
    unsigned long context0, context1;
} vsample_t;

typedef struct vp_dispatch {
    /* After it was loaded, and before it is unloaded, in each process. */
    void (*init)(void);
    void (*release)(void);
    /* What is to be captured. NULL entry: nothing; NULL returned: an error. It belongs to the plug-in, to be freed by prof_release. */
    trace_vlist_table_t *(*prof_init)(void);
    void (*prof_release)(void);
    /* Called until the parser is empty; each time it has to read some. Sets *vsamples to an array that stays as it is until the next call;
     * how many, or negative: an error, which ends value profiling. NULL entry: each value of the trace is one. */
    int (*prof_process)(unsigned pid, trace_parser_t *parser, vsample_t **vsamples);
    /* Of the profile: no other plug-in has it, and it is none of "values", "values.replay", "values.trace". NULL entry: the file's. */
    const char *(*name)(void);
    /* What stands before the list of an instruction's values, once for each instruction, before its values are formatted. NULL entry:
     * nothing; NULL returned: the list is left out. */
    const char *(*preface)(const trace_inst_t *inst);
    /* A value as text. NULL entry, or NULL returned: in hexadecimal. */
    const char *(*format)(const trace_inst_t *inst, unsigned long value);
} vp_dispatch_t;

extern vp_dispatch_t _dispatch;

#ifdef __cplusplus
}
#endif
#endif
