/* SPDX-License-Identifier: BSD-3-Clause
 * Program skeletons: finds what must be recorded of a function so that all addresses it accesses
 * can be computed (Ketterlin and Clauss, "Efficient Memory Tracing by Program Skeletonization",
 * ISPASS 2011).
 *
 * A function is analysed in these steps, each in its own file:
 * - graph: blocks
 * - loops: dominators, nesting, preheaders; duplicates bodies of loops with several entries
 * - values: what each instruction computes, in SSA form (Braun et al., CC 2013)
 * - constant, demand: entries of jump tables; bits of values that matter
 * - cut: the cheapest set of values to record
 * - linear: expressions in recorded values, phis and loop counters
 * - induct: phis that are linear in the counter of their loop
 * All data of a function lives in its arena. */
#ifndef REGTRACE_ISA_MEMORY_SKEL_H
#define REGTRACE_ISA_MEMORY_SKEL_H

#include "isa/decode/code_map.h"
#include "isa/memory/arena.h"

#include <stdio.h>

enum {
    SKEL_RSP = 4,
    SKEL_FLAGS = 16, /* variables are the general registers by number, then the flags */
    SKEL_VARIABLES = 17,
    SKEL_NONE = -1,
};

/* Plans of recording. All three replay to the same accesses. */
enum skel_plan {
    PLAN_SKELETON, /* the cheapest values from which all else can be computed */
    /* "Registers" of Ketterlin and Clauss: the registers that addresses are linear in, phis each
     * time, and each outcome */
    PLAN_REGISTERS,
    PLAN_ADDRESSES, /* "Memory" of Ketterlin and Clauss: each address and each outcome */
};
/* Sets *out to the plan of that name. Returns false if there is none. */
bool skel_plan_parse(const char *name, enum skel_plan *out);

/* --- graph ------------------------------------------------------------------------------------ */

enum block_end {
    END_FALL,   /* falls into the next block */
    END_BRANCH, /* succ[0]: taken, succ[1]: not taken */
    END_JUMP,   /* to succ[0] */
    END_TABLE,  /* to one of succ, by the target's address, which is recorded or computed */
    END_RETURN, /* returns from the function */
    /* jumps to another function or through a pointer; without instructions: to `leaves` */
    END_TAIL,
    END_NORETURN, /* a call that does not return, or ud2 */
};

struct block {
    uint64_t start;        /* first instruction; for a preheader, that of the loop head */
    uint32_t first, count; /* instructions; a preheader has none */
    uint32_t *succ, *pred;
    uint32_t succ_count, pred_count;
    uint8_t end;    /* enum block_end */
    uint8_t copy;   /* number of the duplicate; 0: the original */
    bool preheader; /* stands before a loop head */
    bool wild;      /* END_TAIL: its last jump may lead anywhere in the function */
    uint64_t leaves;
    int32_t idom;   /* immediate dominator; SKEL_NONE: this is the entry */
    int32_t loop;   /* innermost loop around it, or SKEL_NONE */
    uint32_t order; /* index in reverse postorder */
};

struct loop {
    uint32_t head;
    int32_t parent;
    unsigned depth; /* 1: outermost */
    unsigned number;
};

/* --- values ----------------------------------------------------------------------------------- */

/* Kinds of values. Each value has 64 bits; a write to a 32-bit register leaves zeros above. Values
 * from V_ADD on are computed from their arguments alone, in 64 bits unless noted otherwise. */
enum value_kind {
    V_CONSTANT, /* `constant`; with `image`: plus the image's load address */
    V_ENTRY,    /* a register at the function's entry */
    /* unchanged result of a load, zero-extended from `bits`; constant: 1 + value of its address, or
     * 0 */
    V_LOAD,
    V_OPAQUE,  /* an unknown result that an instruction leaves in a register */
    V_PHI,     /* args in the order of the predecessors of `block` */
    V_SEGMENT, /* base of fs (constant 0) or gs (1): fixed for each thread */
    V_ADD,
    V_SUB,
    V_MUL,
    V_AND,
    V_OR,
    V_XOR,
    V_NOT,
    V_SHL,     /* shifts take the count modulo 64, or modulo 32 if `bits` is not 64 */
    V_SHR,     /* shifts the low `bits` */
    V_SAR,     /* shifts the low `bits`; the result is as wide */
    V_ROL,     /* rotates the low `bits` */
    V_ZEXT,    /* from `bits` */
    V_SEXT,    /* from `bits` */
    V_INSERT,  /* args[0], with the low `bits` of args[1] put in from bit `constant` on */
    V_EXTRACT, /* `bits` of args[0] from bit `constant` on, zero-extended */
    V_SELECT,  /* args[0] != 0 ? args[1] : args[2] */
    V_TABLE,   /* entry at address args[0] of table `constant`, zero-extended from `bits` */
    V_TEST, /* 1 if condition `constant` (as in Jcc's opcode) holds for the flags args[0], else 0 */
    V_FLAGS_SUB, /* flags of args[0] - args[1] in `bits` */
    V_FLAGS_ADD,
    V_FLAGS_LOGIC,  /* flags of args[0]; carry and overflow are 0 */
    V_FLAGS_RESULT, /* flags of args[0]: sign, zero and parity alone */
    /* flags of inc (constant 1) or dec (-1) with the result args[0]: sign, zero, overflow; carry of
     * args[1] */
    V_FLAGS_STEP,
    V_KINDS,
};

struct value {
    uint8_t kind, bits;
    uint8_t variable; /* written to: a register's number or SKEL_FLAGS; V_LOAD too */
    bool image;       /* V_CONSTANT: plus the image's load address */
    /* a register holds it after its instruction, or where its block begins (V_PHI, V_ENTRY) */
    bool recordable;
    bool recorded;     /* the cut contains it */
    bool needed;       /* an address or a branch that is not recorded depends on it */
    uint64_t demanded; /* bits that an address, a branch or a callee depends on (demand.c) */
    uint32_t block;
    uint32_t at; /* number of its instruction; V_PHI has none */
    uint64_t constant;
    uint32_t arg_count;
    uint32_t *args;
    int32_t linear; /* 1 + number of its expression; 0: not built yet */
    uint32_t name;  /* number in its text, as in rsi.9; counts for each variable */
};

enum access_kind { ACCESS_READ = 'R', ACCESS_WRITE = 'W', ACCESS_MODIFY = 'M' };

/* An access of an instruction; accesses are in the order in which they happen. */
struct access {
    uint32_t block, at;
    uint8_t kind;              /* enum access_kind */
    uint16_t bytes;            /* 0: as many as the processor saves (xsave) */
    const struct lanes *lanes; /* elements that are accessed (lanes.h); NULL: the whole operand */
    bool repeated;             /* happens `count` times, by rcx */
    bool ends_early;           /* may end early: `count` is known only after the instruction */
    uint8_t segment;           /* base to add: 0 none, 1 fs, 2 gs */
    uint32_t address, count;   /* values */
    /* address, without its segment's base, is recorded; so is the count, if repeated */
    bool recorded;
    bool computed; /* the skeleton computes it from recorded values */
};

/* The condition of a block's branch, or the target of its jump through a table. */
struct decision {
    uint32_t block;
    uint32_t value; /* V_TEST, or the target */
    bool known;     /* constant, or computed from recorded values */
    bool recorded;  /* its outcome is recorded */
};

/* A jump to another function that is called directly (direct_calls.h). */
struct tail {
    uint32_t block;
    uint64_t target;
    uint32_t stack; /* value of the stack pointer at the jump */
};

/* A register that is passed to a directly called function, whose skeleton uses its entry value. The
 * caller computes the value, or records it before the call or jump. */
struct argument {
    uint32_t block, at; /* the call, or the block's last instruction if that jumps */
    bool tail;
    uint8_t variable;
    uint32_t value;
    bool recorded;
};

/* --- expressions ------------------------------------------------------------------------------ */

enum atom_kind {
    ATOM_VALUE,   /* value `number` */
    ATOM_COUNTER, /* counter of loop `number`: 0 in its first iteration */
    ATOM_IMAGE,   /* the image's load address */
    ATOM_ZEXT,    /* the low `bits` of expression `number` */
    ATOM_SEXT,
    ATOM_PRODUCT, /* the counter of loop `other` times expression `number` */
};

struct atom {
    uint8_t kind, bits;
    uint32_t number, other;
    uint32_t next; /* 1 + the next atom of the same hash */
};

struct term {
    uint64_t factor; /* modulo 2^64 */
    uint32_t atom;
};

enum { LINEAR_TERMS = 8 };

/* The sum of `constant` and all factor * atom, modulo 2^64; terms are sorted by atom. */
struct linear {
    uint64_t constant;
    uint32_t count, next; /* next: as in struct atom */
    struct term terms[LINEAR_TERMS];
};

/* A phi at a loop head that is start + counter * step in its low `bits`. The bits above are zeros
 * if `zeros`. */
struct induction {
    bool known, zeros;
    uint8_t bits;
    uint32_t loop, start;
    uint32_t step; /* expression without counters */
};

/* --- a function ------------------------------------------------------------------------------- */

/* A place in the frame (slots.h), at this distance from the stack pointer at entry. */
struct slot {
    int32_t at;
    uint8_t bytes;
};
/* Distances of the two registers from the stack pointer at entry, before an instruction. rbp
 * INT32_MIN: it points elsewhere. */
struct frame {
    int32_t rsp, rbp;
};

/* A table in memory, from `address` on, that never changes. */
struct constant_table {
    uint64_t address;
    uint32_t count;
    uint8_t bytes;     /* bytes of one entry */
    bool image;        /* entries that are not 0 are relative to the image's load address */
    uint64_t *entries; /* 0: not known, as with all beyond the table */
};

struct skel_counts {
    uint64_t functions, analysed, bytes;
    uint64_t instructions, accesses, recorded, decisions, outcomes, loops, inductions;
};

struct function {
    const struct code *code;
    const struct address_list
        *claims; /* skel_find_claims(); NULL: parts are recognized by their names alone */
    const struct address_list *sites; /* alarms, where a copy leaves; NULL: none */
    const struct directs *directs;    /* called directly (direct_calls.h); NULL: none */
    struct arena *arena;
    const char *name;
    uint64_t start, end;
    bool direct;            /* it is called directly itself, so that callers know rsp ... */
    uint16_t passed;        /* ... and these registers, by number */
    uint16_t passed_itself; /* registers that it passes when it calls itself */
    /* analysed for an instrumented copy: blocks also end where the copy leaves for the function, or
     * asks a hook for a target */
    bool copied;
    uint8_t plan; /* enum skel_plan */
    /* begins in mid-function, for a thread that has entered it before (opening_calls.h) */
    bool late;
    uint64_t call; /* the call that it begins after; 0: none */
    /* An alarm stands at its start: it has fired when a thread enters there, and must fire each
     * time the function jumps back there. */
    bool watched;
    const char *reason; /* why it cannot be analysed; NULL: it can */
    uint64_t reason_at;

    struct instruction *instructions;
    uint32_t instruction_count, instruction_room;
    const struct decoded **decoded; /* by instruction: decoded_of() makes them */
    struct block *blocks;
    uint32_t block_count, block_room;
    uint32_t *order; /* reached blocks, in reverse postorder */
    uint32_t order_count;
    struct loop *loops; /* outer loops before inner ones */
    uint32_t loop_count;

    struct frame *frame; /* by instruction */
    struct slot *slots;  /* variables from SLOT_FIRST on */
    unsigned slot_count;

    uint32_t now_block, now_at; /* where new values are computed */
    struct value *values;
    uint32_t value_count, value_room;
    struct access *accesses;
    uint32_t access_count, access_room;
    struct decision *decisions;
    uint32_t decision_count, decision_room;
    struct tail *tails;
    uint32_t tail_count;
    struct constant_table *tables;
    uint32_t table_count;
    struct argument *arguments; /* those of one call are sorted by register number */
    uint32_t argument_count;

    struct linear *linears;
    uint32_t linear_count, linear_room;
    struct atom *atoms;
    uint32_t atom_count, atom_room;
    uint32_t *atom_heads, *linear_heads;
    struct induction *inductions; /* by value */
    bool resolved;                /* expressions contain counters */
    uint32_t names[SKEL_VARIABLES];
};

/* Finds the blocks. This and the following steps set f->reason if they cannot go on. */
void graph_build(struct function *f);
/* Finds the addresses in all code that are called or named; sorts them. If memory runs out some are
 * missing, which does no harm: more code counts as a part of its function. */
void skel_find_claims(const struct code *c, struct address_list *claims);
/* Returns the symbol of the function or stub that begins at `address`, or NULL. */
const struct image_symbol *graph_symbol_at(const struct image *m, uint64_t address);
/* Returns whether the symbol is a part that a compiler has moved away from its function. */
bool graph_is_part(const struct image_symbol *s);
/* Returns whether a jump to `target` from elsewhere may still be in its function. */
bool graph_stays(const struct code *c, uint64_t target);
/* Returns whether `i` is a call that comes back with a return. A call of the next instruction,
 * which code uses to get its own address, does not. */
bool graph_is_call(const struct instruction *i);
uint32_t graph_add_block(struct function *f);
/* Builds `pred` from `succ`; unreached blocks have no predecessors. */
void graph_link(struct function *f);
/* Returns the number of edges from reached blocks to their successors. */
uint64_t graph_edges(const struct function *f);
void loops_find(struct function *f);
/* Returns whether `a` dominates `b`. */
bool loops_dominates(const struct function *f, uint32_t a, uint32_t b);
/* Returns whether loop `inner` is `loop` or lies within it; SKEL_NONE is in no loop. */
bool loops_holds(const struct function *f, uint32_t loop, int32_t inner);
void values_build(struct function *f);
/* Stands for an entry of so many bytes (4 or 8) beyond its table. */
static inline uint64_t skel_astray(unsigned bytes)
{
    return bytes == 4 ? INT32_MAX : INT64_MAX;
}

/* Turns loads of jumps from constant tables into V_TABLE. */
void constants_find(struct function *f);
/* Sets *out to the entry of V_TABLE `x` at `address`, an address of the image's file; the entry is
 * without the image's load address. Returns false if it is not known. */
bool constant_load(const struct function *f, const struct value *x, uint64_t address,
                   uint64_t *out);
/* Finds the bits of each value that matter. Arguments without such bits become zeros. */
void demand_find(struct function *f);
void linear_resolve(struct function *f);
void cut_find(struct function *f);
/* Returns estimated block frequencies, by block, each at least 32. */
const uint64_t *frequency_estimate(const struct function *f);
/* Adds the function to *n. */
void skel_count(const struct function *f, struct skel_counts *n);

/* Runs all steps. f->reason says why one could not go on. */
void skel_analyse(struct function *f);

/* --- ssa_build.c, lift.c ---------------------------------------------------------------------- */

uint32_t value_new(struct function *f, enum value_kind kind, unsigned bits);
uint32_t value_constant(struct function *f, uint64_t n, bool image);
/* Returns a new value of up to three arguments; folds constants. */
uint32_t value_op(struct function *f, enum value_kind kind, unsigned bits, uint64_t constant,
                  uint32_t a, uint32_t b, uint32_t c);
/* Returns whether direct callers of the function know the value. */
bool value_is_passed(const struct function *f, uint32_t v);
/* Returns a value for a register that receives `a` from elsewhere: it can be recorded there. */
uint32_t value_copy(struct function *f, unsigned bits, uint32_t a);
/* Returns whether the value is zero from bit `bits` on. */
bool value_fits(const struct function *f, uint32_t v, unsigned bits);
/* Returns whether the value is computed from its arguments: an operation, or a phi. */
bool value_is_computed(const struct function *f, uint32_t v);
/* Sets *out to the result of the operation for constant arguments. Returns false if it cannot be
 * known. */
bool value_compute(enum value_kind kind, unsigned bits, uint64_t constant, const uint64_t a[3],
                   uint64_t *out);

struct lifting {
    struct function *f;
    uint32_t block;
    /* access to the SSA form */
    uint32_t (*read)(struct lifting *l, unsigned variable);
    void (*write)(struct lifting *l, unsigned variable, uint32_t value);
    void *ssa;
    int stored; /* operand into which the instruction has put a known value; -1: none */
};

/* Adds the values and accesses of the instruction f->now_at. */
void lift_instruction(struct lifting *l);

/* --- linear.c --------------------------------------------------------------------------------- */

/* Returns the number of a value's expression. */
uint32_t linear_of(struct function *f, uint32_t value);
struct linear linear_get(struct function *f, uint32_t value);
/* Returns the number of an equal expression, which is added if it is new. */
uint32_t linear_put(struct function *f, const struct linear *e);
/* Adds factor * *e to *to. Returns false if there are too many terms; *to is unchanged then. */
bool linear_add(struct linear *to, const struct linear *e, uint64_t factor);
struct linear linear_atom(struct function *f, struct atom a);
/* Returns the value itself as an atom: an expression with factor 1. */
struct linear linear_value(struct function *f, uint32_t value);
/* Sets *out to *e with its phis replaced by their expressions, if these are known by now. Returns
 * false if there are too many terms. */
bool linear_settle(struct function *f, const struct linear *e, struct linear *out);
/* Returns whether everything in the expression is the same in each iteration. */
bool linear_is_invariant(const struct function *f, const struct linear *e, uint32_t loop);
void induct_find(struct function *f);

/* --- members.c -------------------------------------------------------------------------------- */

/* Members of block b are list[start[b]] to list[start[b + 1] - 1], in ascending order. */
struct members {
    uint32_t *start, *list;
};
struct members members_values(struct function *f);
struct members members_accesses(struct function *f);
#define MEMBERS_EACH(m, block, n)                                                                  \
    for (const uint32_t *n = (m)->list + (m)->start[block],                                        \
                        *n##_end = (m)->list + (m)->start[(block) + 1];                            \
         n < n##_end; n++)

/* --- text ------------------------------------------------------------------------------------- */

/* Names of the variables; the last name is for values in none. */
extern const char *const skel_variables[SKEL_VARIABLES + 1];
void skel_print(FILE *out, struct function *f);
void skel_print_summary(FILE *out, const struct skel_counts *n);
/* Writes a graph for dot(1). */
void skel_print_dot(FILE *out, struct function *f);
/* Writes the name of a loop's counter: I, J, K ... from the outermost loop on; loops of the same
 * depth are numbered. */
void skel_counter(const struct function *f, uint32_t loop, char *text, size_t room);
/* These leave out what does not fit. An access: `W 8 0x603148 + 8*J`. */
void skel_access(struct function *f, const struct access *a, char *text, size_t room);
void skel_condition(struct function *f, uint32_t value, char *text, size_t room);

#endif
