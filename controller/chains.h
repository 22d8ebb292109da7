/* SPDX-License-Identifier: BSD-3-Clause
 * The control language: its vocabulary, parsed chains, and how a configuration is made of them.
 *
 * This half may allocate. It runs before main or in a tool. Included by controller/controller.h. */
#ifndef REGTRACE_CONTROLLER_CHAINS_H
#define REGTRACE_CONTROLLER_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/format/enums.h"
#include "base/options.h"

/* ---- The vocabulary ---- */

enum ctl_type {
    CTL_ICOUNT,
    CTL_ADDRESS,
    CTL_SSC,
    CTL_ITEXT,
    CTL_ISA_EXTENSION,
    CTL_ISA_CATEGORY,
    CTL_INT3,
    CTL_MAGIC,
    CTL_CPUID,
    CTL_PCONTROL,
    CTL_ENTER_FUNC,
    CTL_EXIT_FUNC,
    CTL_INTERACTIVE,
    CTL_TIMEOUT,
    CTL_SIGNAL,
    CTL_IMAGE_LOAD,
    CTL_UNIFORM, /* the piece uniform:P:L:N; its events are start and stop in turn, all bcast */
    CTL_TYPE_COUNT
};

/* Return the name in the language ("warmup-start", "isa_extension"), or NULL for a number out of
 * range. */
const char *ctl_event_name(enum ctl_event event);
const char *ctl_type_name(enum ctl_type type);

#define CTL_NO_ALARM UINT16_MAX /* "no alarm": a default start, nothing armed */
#define CTL_MAX_ALARMS 65000u   /* alarm indexes are dense from 0 and fit 16 bits */
#define CTL_ANY_TID UINT32_MAX  /* the alarm has no tid token */
#define CTL_HELPER_TID 1000u    /* first tid of threads of MPI and other runtimes */
#define CTL_HELPER_END 1000000u /* end of these; the program's threads go on here after 999 */
static inline bool ctl_is_helper(uint32_t tid)
{
    return tid >= CTL_HELPER_TID && tid < CTL_HELPER_END;
}
#define CTL_UNKNOWN UINT64_MAX /* an instruction count that is not known or not requested */
#define CTL_ENDLESS 0u         /* ctl_chain.repeat for ",repeat" without a number */

/* ---- The parsed chains ---- */

/* Kinds of an alarm's value. Each comment names the fields of ctl_alarm that hold the value. */
enum ctl_value_kind {
    CTL_VALUE_NONE,     /* int3, interactive */
    CTL_VALUE_NUMBER,   /* icount, ssc, cpuid, signal (its number), timeout (nanoseconds): number */
    CTL_VALUE_ABSOLUTE, /* address:0x...: number */
    CTL_VALUE_NAME,     /* address:NAME (a symbol), functions, image_load, isa names: value */
    /* address:NAME+OFF: value is NAME (an image, if one of that path or base name is loaded; else a
     * symbol), number is OFF */
    CTL_VALUE_NAME_OFFSET,
    CTL_VALUE_BYTES,  /* itext: bytes, byte_count */
    CTL_VALUE_PAIR,   /* magic:A.B: number is A, second is B */
    CTL_VALUE_STRING, /* pcontrol:TEXT: value */
    CTL_VALUE_LEVEL,  /* pcontrol:level=N: (int64_t)number */
    CTL_VALUE_UNIFORM /* uniform: number is the period, second the length, count the windows */
};

struct ctl_range {
    uint32_t first, last; /* both included */
};

struct ctl_alarm {
    uint16_t index;    /* 0 .. alarm count - 1, over all chains */
    uint16_t chain;    /* 0 .. chain count - 1 */
    uint16_t position; /* in its chain, 0 .. */
    uint8_t event;     /* enum ctl_event; CTL_START for a uniform */
    uint8_t type;      /* enum ctl_type */
    uint8_t value_kind;
    uint8_t byte_count;
    uint8_t bytes[15]; /* in memory order */
    /* The value was in quotes: function names must match as a whole; see ctl_name_matches(). */
    bool quoted;
    bool bcast, global, exact;
    uint32_t tid;   /* CTL_ANY_TID: no filter */
    uint64_t count; /* >= 1; uniform: number of windows */
    uint64_t number, second;
    uint64_t distance; /* icount: instructions x count; timeout: nanoseconds x count; else 0 */
    const char *value; /* the value without quotes, "" if it has none; never NULL */
    const char *text;  /* the alarm as written, with its tokens */
    const struct ctl_range *ranks;
    unsigned range_count; /* 0: every rank */
};

struct ctl_chain {
    uint16_t index;
    uint16_t first_alarm; /* alarms of a chain are adjacent */
    uint16_t alarm_count;
    uint16_t waitfor; /* index of the chain that it waits for, or CTL_NO_ALARM */
    uint64_t repeat;  /* passes in total, >= 1; CTL_ENDLESS */
    const char *name; /* "" if it has none */
    /* Canonical: one line that parses to the same chain, without ';' outside quotes. */
    const char *text;
    const char *origin; /* "-control", "REGTRACE_CONTROL", "file F line 3", "-skip", ... */
    const char *label;  /* region id and weight from a regions file, else "" */
    /* From a regions file: "ID TAB WEIGHT TAB MULTIPLIER", decimal fractions that may be empty;
     * else "". */
    const char *region;
};

/* Immutable once made, except for its rank. Free it with ctl_config_free(). */
struct ctl_config;

unsigned ctl_config_alarm_count(const struct ctl_config *config);
unsigned ctl_config_chain_count(const struct ctl_config *config);
/* Return NULL if index is out of range. The pointers live as long as the config. */
const struct ctl_alarm *ctl_config_alarm(const struct ctl_config *config, unsigned index);
const struct ctl_chain *ctl_config_chain(const struct ctl_config *config, unsigned index);
/* Returns whether each thread gets a default start: no chain has a start or a uniform, and the
 * default start is not turned off. */
bool ctl_config_default_start(const struct ctl_config *config);
/* Returns whether any alarm has this type. */
bool ctl_config_uses(const struct ctl_config *config, enum ctl_type type);
/* Returns whether any alarm has the token `exact`. */
bool ctl_config_has_exact(const struct ctl_config *config);
/* Returns all chains in canonical form, one a line, each with a newline. The text suits
 * REGTRACE_CONTROL or a control file: a tool that has parsed legacy options and regions files need
 * not pass them on. Owned by the config. */
const char *ctl_config_text(const struct ctl_config *config);
void ctl_config_free(struct ctl_config *config);

/* This project's rule: `ranksLIST` filters as `tid` does. On a rank outside the list, executions of
 * the alarm are ignored, so the chain does not go past it there. A start with a list still counts
 * as a start for the default start. The rank is 0 until set; set it before ctl_shared_init(). */
void ctl_config_set_rank(struct ctl_config *config, uint32_t rank);
bool ctl_alarm_on_rank(const struct ctl_alarm *alarm, uint32_t rank);
/* Returns whether the alarm can fire on the config's rank: the alarm and those before it in its
 * chain are on that rank, and so is the chain that it waits for. Triggers may ignore other
 * alarms. */
bool ctl_config_alarm_reachable(const struct ctl_config *config, unsigned index);

/* Does a function of this name match an enter_func, exit_func or address alarm's name? `name` is
 * demangled, or plain C. Unquoted values match the bare name: namespaces, classes, template
 * arguments and parameters are stripped from `name`, so every overload matches. Quoted values match
 * as a whole: with a '(' the full text, without one the qualified name without parameters (and
 * without template arguments if the value has none). Does not allocate. */
bool ctl_name_matches(const struct ctl_alarm *alarm, const char *name);

/* ---- Making a config ---- */

/* A shorter timeout would expire before its handler has returned, and would leave the program no
 * time at all. The parser refuses it. */
#define CTL_TIMEOUT_LEAST_NS 100000u

/* Most alarms of each type that a process must search when something happens (pcontrol, signal,
 * interactive, image_load). ctl_builder_finish() refuses more if it gets capabilities. */
#define CTL_SAME_TYPE_MAX 256u

/* Why a type cannot be used, by enum ctl_type; NULL = it can. The reason completes "icount is not
 * available: ...". CTL_UNIFORM needs CTL_ICOUNT as well: a reason for icount refuses it too. */
struct ctl_capabilities {
    const char *unavailable_reason[CTL_TYPE_COUNT];
    const char *exact_reason; /* why the token `exact` cannot be used; NULL = it can */
};

/* Returns the types for which this build has no trigger (base/not_built.def). The caller adds what
 * the machine lacks. */
struct ctl_capabilities ctl_capabilities_of_build(void);

/* Called once for each warning (input that is suspicious but legal). `text` is one line without a
 * newline. */
typedef void ctl_warning_function(void *context, const char *text);

struct ctl_builder;

/* Returns NULL with errno set on failure. warn may be NULL. */
struct ctl_builder *ctl_builder_create(ctl_warning_function *warn, void *context) RT_MUST_CHECK;
void ctl_builder_free(struct ctl_builder *builder);

/* The functions that add return 0; -EINVAL for a wrong text; -ENOMEM; or the -errno of a file that
 * cannot be read. The first line of the error text is complete by itself: chain, column (1-based,
 * in characters of the chain), what was found, what is legal there, the nearest legal name. The
 * chain and a caret line follow. After a failure the builder is unchanged. */

/* Adds one chain, as after -control. `origin` tells messages where the chain comes from. */
int ctl_builder_add_chain(struct ctl_builder *builder, const char *text, const char *origin,
                          struct rt_error *err) RT_MUST_CHECK;
/* Adds the chains of a text such as REGTRACE_CONTROL, separated by newlines or by ';' outside
 * quotes. Skips empty chains. */
int ctl_builder_add_list(struct ctl_builder *builder, const char *text, const char *origin,
                         struct rt_error *err) RT_MUST_CHECK;
/* Adds the chains of a file for -control-file: one a line; '#' begins a comment line. */
int ctl_builder_add_file(struct ctl_builder *builder, const char *path,
                         struct rt_error *err) RT_MUST_CHECK;

/* Adds an option of the controller by its name in base/options.def. '-', '_' and U+2013 are the
 * same; leading dashes are skipped. The options are control, control-file,
 * controller-default-start, regions:in, pcregions:in, trace_instr_intervals_file; regions:warmup,
 * regions:prolog and regions:epilog, which must come before the regions:in that they apply to; and
 * the legacy options, which become chains at finish, after all -control chains. For start-int3 and
 * stop-int3, an empty or NULL value means 1. Returns -EINVAL also for an unknown name. */
int ctl_builder_add_option(struct ctl_builder *builder, const char *name, const char *value,
                           struct rt_error *err) RT_MUST_CHECK;

/* Checks all chains together (waitfor, uniform, capabilities), warns, and makes the config, which
 * the caller owns. The builder can be freed afterwards. `capabilities` NULL: everything is
 * available. */
int ctl_builder_finish(struct ctl_builder *builder, const struct ctl_capabilities *capabilities,
                       struct ctl_config **config, struct rt_error *err) RT_MUST_CHECK;

/* Callbacks that find out what this machine can do. */
struct ctl_machine {
    /* Fills in why each capability is missing. `needed`: the chains count something, so the check
     * may start a process. */
    void (*look)(void *context, bool needed, struct ctl_capabilities *out);
    /* Did the last look() find a back end that counts instructions? */
    bool (*counts)(void *context);
    void *context;
};

/* Builds and checks the chains of a run from its options. With machine NULL it checks the language
 * alone. Returns 0 and *config, which the caller frees, or -errno with the text and *config
 * NULL. */
int ctl_config_of_options(const struct options *o, const struct ctl_machine *machine,
                          ctl_warning_function *warn, void *warn_context,
                          struct ctl_config **config, struct rt_error *err) RT_MUST_CHECK;

/* Explains in words what the chains will do (--explain). Part of explain.c, which libregtrace.so
 * does not link. Returns 0, or -EIO if the stream has an error. */
int ctl_explain(const struct ctl_config *config, FILE *out);

#endif
