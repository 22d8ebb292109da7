/* SPDX-License-Identifier: BSD-3-Clause
 * Parts of regtrace-vprofiler: plug-ins of value profiling, run apart; instructions, and what is to be captured of each. */
#ifndef REGTRACE_ISA_VALUES_VP_H
#define REGTRACE_ISA_VALUES_VP_H

#include "isa/values/vp_trace.h"

#include <Zydis/Zydis.h>

/* --- instructions ------------------------------------------------------------------------------------ */

/* What the decoder says of one. */
struct vp_decoded {
    ZydisDecodedInstruction z;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    int memory; /* the operand that counts; -1: none */
    trace_inst_t inst;
};

/* False, and inst.length is 0: no instruction begins there. */
bool vp_decode(const uint8_t *code, size_t bytes, struct vp_decoded *d);
/* The same, as plug-ins get it. */
void vp_decode_inst(const uint8_t *code, size_t bytes, trace_inst_t *inst);
/* As objdump(1) writes it (AT&T), were it at that address. False: no instruction begins there. */
bool vp_disassemble(const uint8_t *code, size_t bytes, uint64_t address, char *text, size_t room);
bool vp_is_accessed(const struct vp_decoded *d, const ZydisDecodedOperand *o); /* that memory is */
/* What is at its address is not, or not all, what it loads or stores: of masked ones, bit strings, gathers. */
bool vp_is_partial(const struct vp_decoded *d);
/* By trace_value_t, 0: none that is captured. */
trace_value_t vp_register(ZydisRegister r);
/* Parts of vp_decode(): the operand that counts; d->inst.memory. */
int vp_find_memory(const struct vp_decoded *d);
void vp_describe_memory(struct vp_decoded *d);
struct values_address vp_address_of(const struct vp_decoded *d, uint64_t at);

/* What is to be done with it, but for `items`, `is_selected`. */
void vp_answer_flow(const struct vp_decoded *d, const struct values_question *q,
                    struct values_answer *a);

/* --- specifications -------------------------------------------------------------------------------- */

/* Of one opcode and function. */
struct vp_list {
    bool is_recorded;
    uint8_t count;
    trace_value_t values[VALUES_MOST];
};

struct vp_spec {
    struct vp_list of[op_count][TRACE_FUNCS];
};

/* What is captured of it. */
void vp_answer_items(const struct vp_spec *s, const struct vp_decoded *d, struct values_answer *a);
/* The whole answer. */
void vp_answer(const struct vp_spec *s, const struct values_question *q, struct values_answer *a);

/* Writes what prof_init gave to fd, unless that is -1. 0 or -errno with the reason. */
RT_MUST_CHECK int vp_spec_send(const trace_vlist_table_t *table, int fd, struct rt_error *e);
/* Reads that file; all-zero before. */
RT_MUST_CHECK int vp_spec_receive(struct vp_spec *s, int fd, struct rt_error *e);

/* --- plug-ins, in a process of their own ------------------------------------------------------------------ */

struct vp_apart {
    const char *plugin; /* as the user names it */
    unsigned limit;     /* seconds that a call of the plug-in may take */
    int in,
        out; /* what is the child's; its standard input is empty, its standard output is standard error */
    bool names,
        inits; /* asks for its name; prof_init is called before run, prof_release after it */
    int (*run)(struct vp_apart *v,
               struct rt_error *e); /* in the child: 0 or -errno with text. May be NULL */
    /* The child's: */
    const vp_dispatch_t *dispatch;
    const trace_vlist_table_t *table; /* of prof_init, if there is such an entry */
    char name[256];                   /* of the profile */
    struct vp_shared *shared;
};

/* Loads the plug-in in a child, has it run there to its end. 0, or -errno and what the plug-in did wrong: it crashed, hung, ended the
 * process. */
RT_MUST_CHECK int vp_apart(struct vp_apart *v, struct rt_error *e);

/* In the child, for good: it can make no processes, and send signals to itself alone. */
void vp_confine(void);

/* In the child, before and after each call of the plug-in's and the use of what it gave: `what` is static. */
void vp_enter(const struct vp_apart *v, const char *what);
void vp_leave(const struct vp_apart *v);

/* Loads it and calls init, name, prof_init; then the counterparts of the first and last. */
RT_MUST_CHECK int vp_load(struct vp_apart *v, struct rt_error *e);
void vp_release(const struct vp_apart *v);

/* What the child does: sends the specification to `out`; answers traces on `in`; formats lines from `in` on `out`; says its name there. */
int vp_run_spec(struct vp_apart *v, struct rt_error *e);
int vp_run_process(struct vp_apart *v, struct rt_error *e);
int vp_run_format(struct vp_apart *v, struct rt_error *e);
int vp_run_name(struct vp_apart *v, struct rt_error *e);
/* An answer to the writer that is none. */
void vp_process_failed(int fd, const char *text);

/* All of it. 0; 1: at its beginning the file ends; -errno. */
int vp_read_all(int fd, void *to, size_t bytes);

#endif
