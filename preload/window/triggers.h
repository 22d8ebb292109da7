/* SPDX-License-Identifier: BSD-3-Clause
 * Triggers, which make alarms fire: triggers.c, named_regions.c, instrumented_functions.c,
 * after_hit.c. The trigger_ functions are async-signal-safe. Any thread may call them at any
 * time. */
#ifndef REGTRACE_PRELOAD_WINDOW_TRIGGERS_H
#define REGTRACE_PRELOAD_WINDOW_TRIGGERS_H

#include "preload/images/image_records.h"
#include "preload/thread.h"

/* ip: address where it happened; 0: unknown. */
void trigger_signal(int signal_number, uintptr_t ip);
void trigger_image_loaded(const struct image_facts *m);
void trigger_pcontrol(int level, uint64_t second, bool fortran, uintptr_t return_at);
void trigger_function(uintptr_t function, uintptr_t call_site, bool enter, uintptr_t return_at);
/* A probe of these alarms, in index order, was hit. due: the index in `alarms` of the one whose
 * count the probe's code has brought to zero, after it has counted those before it; or
 * PROBE_COUNTED_NOTHING. */
enum { PROBE_COUNTED_NOTHING = -1 };
void trigger_probe(const uint16_t *alarms, unsigned n, uintptr_t ip, int due);

/* Does any chain name this signal? Then it must come to us even if the program has no handler. */
bool trigger_wants_signal(int signal_number);
bool trigger_wants_images(void);

/* The alarms of one type, ordered by index. */
struct alarm_list {
    unsigned count;
    uint16_t alarm[CTL_SAME_TYPE_MAX]; /* the constructor refuses more */
};
/* Fills *list with the alarms of this type that this rank can reach. */
void alarms_collect(const struct ctl_config *config, enum ctl_type type, struct alarm_list *list);

/* Makes the match tables (alarms by type) once from the configuration. */
void triggers_prepare(const struct ctl_config *config);
/* Fires the image_load alarms for images that were loaded before main. */
void triggers_images_at_start(void);

/* Hits all pcontrol alarms that this call matches. text NULL: the call has none, or none that can
 * be read. */
void triggers_hit_pcontrol(struct preload_thread *pt, bool has_level, int level, const char *text,
                           uintptr_t ip);
/* Hits the pcontrol alarms for the end of a region, which have the text "end=NAME". */
void triggers_hit_region_end(struct preload_thread *pt, const char *name, uintptr_t ip);

void triggers_count_armed(const struct preload_thread *pt);
/* Call it after every hit. Ends the program if REGTRACE_EXIT_ON_STOP asks for that. */
void triggers_after_hit(struct preload_thread *pt);

/* --- named_regions.c -------------------------------------------------------------------------- */

/* Can we read a text that the program passed to us? Asks the kernel once for each page and thread,
 * so that a wrong pointer leads to a line in the log and not to a fault in our code. Does not
 * notice if a page is unmapped later. */
bool text_look(struct preload_thread *pt, const char *text);
static inline bool text_is_readable(struct preload_thread *pt, const char *text)
{
    uintptr_t page = (uintptr_t)text / TEXT_PAGE;
    bool inside = (uintptr_t)text % TEXT_PAGE < TEXT_PAGE - STREAM_STRING_MAX;
    return RT_LIKELY(inside && pt != NULL &&
                     pt->readable[page % THREAD_READABLE_PAGES] == page + 1) ||
           text_look(pt, text);
}
/* return_at: where the return address of the program's call lies on the stack. */
void region_begin(const char *name, uintptr_t return_at);
void region_end(const char *name, uintptr_t return_at);

/* --- instrumented_functions.c ----------------------------------------------------------------- */

/* Finds the addresses of the functions that enter_func and exit_func name, in the images that are
 * loaded now. Called again after each dlopen(). */
void functions_resolve(void);
bool functions_wanted(void);
/* In the child of fork: the paths of active functions are in the parent's stream. */
void functions_forked(struct preload_thread *pt);
void functions_say_limits(void); /* call it once there is a log */
/* Call it before a longjmp to this stack pointer. */
void functions_jumped(uintptr_t stack);

#endif
