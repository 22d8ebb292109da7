/* SPDX-License-Identifier: BSD-3-Clause
 * Declares the interface of plug-ins of value profiling, after DCPI's (vprofiler). A plug-in is a
 * shared library that says which values to capture at samples, turns them into the values to count,
 * and writes those as text.
 *
 *     cc -shared -fPIC -o vp-mine.so vp-mine.c -lregtrace-trace
 *     regtrace run -values ./vp-mine.so ...
 *     regtrace values -plugin ./vp-mine.so DIR
 *
 * The library defines the table `_dispatch`; any entry may be NULL. The functions run in child
 * processes of regtrace-vprofiler, never in the program, so they share no memory between these:
 *
 * - when a program starts: prof_init
 * - beside the program's writer: prof_init, then prof_process
 * - when a profile is listed: preface and format
 *
 * Each process calls them from one thread. What they print to standard output goes to standard
 * error. share/doc/values.md has the details. */
#ifndef REGTRACE_VPROFILER_H
#define REGTRACE_VPROFILER_H

#include <regtrace/trace-inst.h>
#include <regtrace/trace-parse.h>
#include <regtrace/trace-vlist.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One value to count. Values with equal address, contexts and value are counted together. */
typedef struct vsample {
    unsigned long pc;
    unsigned long value;
    unsigned long context0, context1;
} vsample_t;

typedef struct vp_dispatch {
    /* Called in each process: init after the plug-in is loaded, release before it is unloaded. */
    void (*init)(void);
    void (*release)(void);
    /* Returns the specification of what to capture, or NULL on failure. The plug-in owns it and
     * frees it in prof_release. NULL entry: nothing is captured. */
    trace_vlist_table_t *(*prof_init)(void);
    void (*prof_release)(void);
    /* Turns entries of the trace into values to count. Called until the parser is empty; each call
     * must read from it. Sets *vsamples to an array that stays unchanged until the next call, and
     * returns its length. A negative result is an error and ends value profiling. NULL entry: each
     * value of the trace counts. */
    int (*prof_process)(unsigned pid, trace_parser_t *parser, vsample_t **vsamples);
    /* Returns the profile's name: one that no other plug-in has, and none of "values",
     * "values.replay" and "values.trace". NULL entry: the file's name without .so. */
    const char *(*name)(void);
    /* Returns the text before the list of an instruction's values, or NULL to leave the list out.
     * Called once for each instruction, before format() of its values. The text must stay valid
     * until the next call. NULL entry: no text. */
    const char *(*preface)(const trace_inst_t *inst);
    /* Returns a value as text, valid until the next call. NULL entry, or NULL returned:
     * hexadecimal. */
    const char *(*format)(const trace_inst_t *inst, unsigned long value);
} vp_dispatch_t;

extern vp_dispatch_t _dispatch;

#ifdef __cplusplus
}
#endif
#endif
