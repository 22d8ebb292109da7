/* SPDX-License-Identifier: BSD-3-Clause
 * Parts of regtrace-vprofiler: decoding of instructions, what to capture of each, and the child
 * process in which a value profiling plug-in runs. */
#ifndef REGTRACE_ISA_VALUES_VP_H
#define REGTRACE_ISA_VALUES_VP_H

#include "isa/values/vp_trace.h"

#include <Zydis/Zydis.h>

/* --- instructions ----------------------------------------------------------------------------- */

/* One decoded instruction. */
struct vp_decoded {
    ZydisDecodedInstruction z;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    int memory; /* index of the memory operand to describe; -1: none */
    trace_inst_t inst;
};

/* Decodes the instruction at `code` into *d. Returns false with inst.length 0 if the bytes are no
 * instruction. */
bool vp_decode(const uint8_t *code, size_t bytes, struct vp_decoded *d);
/* Decodes for plug-ins: same as vp_decode(), but fills in trace_inst_t alone. */
void vp_decode_inst(const uint8_t *code, size_t bytes, trace_inst_t *inst);
/* Writes the instruction to `text` as objdump(1) shows it (AT&T syntax) at `address`. Returns false
 * if the bytes are no instruction. */
bool vp_disassemble(const uint8_t *code, size_t bytes, uint64_t address, char *text, size_t room);
/* Returns whether `o` is a memory operand that the instruction reads or writes. */
bool vp_is_accessed(const struct vp_decoded *d, const ZydisDecodedOperand *o);
/* Returns whether the instruction accesses other bytes than, or only some of, those at its
 * operand's address: masked accesses, bit strings, gathers, scatters. */
bool vp_is_partial(const struct vp_decoded *d);
/* Returns the trace_value_t of a register, or 0 if it cannot be captured. */
trace_value_t vp_register(ZydisRegister r);
/* Parts of vp_decode(): find the memory operand to describe, and fill in d->inst.memory. */
int vp_find_memory(const struct vp_decoded *d);
void vp_describe_memory(struct vp_decoded *d);
struct values_address vp_address_of(const struct vp_decoded *d, uint64_t at);

/* Fills in how the traced process follows the instruction: all of *a except `items` and
 * `is_selected`. */
void vp_answer_flow(const struct vp_decoded *d, const struct values_question *q,
                    struct values_answer *a);

/* --- specifications --------------------------------------------------------------------------- */

/* Values to capture for one opcode and function. */
struct vp_list {
    bool is_recorded;
    uint8_t count;
    trace_value_t values[VALUES_MOST];
};

struct vp_spec {
    struct vp_list of[op_count][TRACE_FUNCS];
};

/* Fills in which values to capture: `items` and `is_selected`. */
void vp_answer_items(const struct vp_spec *s, const struct vp_decoded *d, struct values_answer *a);
/* Fills in the whole answer to a question. Bytes that are no instruction get VALUES_STOP. */
void vp_answer(const struct vp_spec *s, const struct values_question *q, struct values_answer *a);

/* Checks the specification that prof_init returned and writes it to fd; with fd -1, checks only.
 * Returns 0, or -errno with the reason in *e. */
RT_MUST_CHECK int vp_spec_send(const trace_vlist_table_t *table, int fd, struct rt_error *e);
/* Reads what vp_spec_send() wrote into *s, which must be all zero. Returns 0, or -errno with the
 * reason in *e. */
RT_MUST_CHECK int vp_spec_receive(struct vp_spec *s, int fd, struct rt_error *e);

/* --- plug-ins, in a child process ------------------------------------------------------------- */

struct vp_apart {
    const char *plugin; /* as the user names it */
    unsigned limit;     /* most seconds that one call of the plug-in may take */
    /* Descriptors for the child. Its standard input is empty; its standard output is standard
     * error. */
    int in, out;
    /* names: get the plug-in's name. inits: call prof_init before run, prof_release after it. */
    bool names, inits;
    /* Runs in the child; returns 0, or -errno with text. May be NULL. */
    int (*run)(struct vp_apart *v, struct rt_error *e);
    /* Valid in the child: */
    const vp_dispatch_t *dispatch;
    const trace_vlist_table_t *table; /* from prof_init, if the plug-in has it */
    char name[256];                   /* name of the profile */
    struct vp_shared *shared;
};

/* Forks a child that loads the plug-in and calls v->run; waits for the child. Returns what the
 * child returned, or -errno with the plug-in's fault in *e: -EFAULT it crashed, -ETIMEDOUT a call
 * took too long, -ECHILD it ended the process. */
RT_MUST_CHECK int vp_apart(struct vp_apart *v, struct rt_error *e);

/* Restricts the calling process for the rest of its life: no new processes, signals to itself
 * alone, limited memory. For the child. */
void vp_confine(void);

/* In the child: enclose each call of the plug-in and each use of what it returned. `what` names the
 * call in error messages; vp_enter() copies it. */
void vp_enter(const struct vp_apart *v, const char *what);
void vp_leave(const struct vp_apart *v);

/* vp_load() loads the plug-in and calls init, name and prof_init. Returns 0, or -errno with the
 * reason in *e. vp_release() calls prof_release and release. */
RT_MUST_CHECK int vp_load(struct vp_apart *v, struct rt_error *e);
void vp_release(const struct vp_apart *v);

/* Values of v->run:
 * - vp_run_spec() writes the specification to `out`
 * - vp_run_process() turns traces from `in` into tuples on `out`
 * - vp_run_format() formats lines from `in` to `out`
 * - vp_run_name() writes the plug-in's name to `out` */
int vp_run_spec(struct vp_apart *v, struct rt_error *e);
int vp_run_process(struct vp_apart *v, struct rt_error *e);
int vp_run_format(struct vp_apart *v, struct rt_error *e);
int vp_run_name(struct vp_apart *v, struct rt_error *e);
/* Sends the writer a VALUES_FAILED frame with this text. */
void vp_process_failed(int fd, const char *text);

/* Reads exactly `bytes` bytes. Returns 0; 1 if the file ends before the first byte; -EPIPE if it
 * ends later; or -errno. */
int vp_read_all(int fd, void *to, size_t bytes);

#endif
