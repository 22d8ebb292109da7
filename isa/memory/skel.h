/* SPDX-License-Identifier: BSD-3-Clause
 * Program skeletons: what of a function must be recorded so that all addresses it accesses can be computed (Ketterlin and Clauss,
 * "Efficient Memory Tracing by Program Skeletonization", ISPASS 2011; seed 004).
 *
 * Function by function, in this order: graph (blocks), loops (dominators, nesting, preheaders; bodies of loops with several entries
 * are duplicated), values (what each instruction computes, in SSA form: Braun et al., CC 2013), cut (the cheapest set of values to record),
 * linear (expressions in recorded values, phis and loop counters), induct (phis that are linear in the counter of their loop).
 * Everything of a function lives in its arena. */
#ifndef REGTRACE_ISA_MEMORY_SKEL_H
#define REGTRACE_ISA_MEMORY_SKEL_H

#include "isa/decode/decode.h"
#include "isa/memory/arena.h"

#include <stdio.h>

enum {
    SKEL_RSP = 4,
    SKEL_FLAGS = 16, /* variables: general registers by number, then the flags */
    SKEL_VARIABLES = 17,
    SKEL_NONE = -1,
};

/* What is recorded, and what the skeleton makes of it. All three replay to the same accesses. */
enum skel_plan {
    PLAN_SKELETON,  /* the cheapest values of which everything else can be computed */
    PLAN_REGISTERS, /* seed 004's "Registers": the registers that addresses are linear in, phis each time; and each outcome */
    PLAN_ADDRESSES, /* seed 004's "Memory": each address, and each outcome */
};
/* False: it is none of their names. */
bool skel_plan_parse(const char *name, enum skel_plan *out);

/* --- graph ------------------------------------------------------------------------------------------------------------- */

/* How a block ends. */
enum block_end {
    END_FALL,   /* into the next */
    END_BRANCH, /* succ[0]: taken, succ[1]: not */
    END_JUMP,   /* to succ[0] */
    END_TABLE,  /* to one of succ, by what is recorded or computed: the target's address */
    END_RETURN, /* out of the function */
    END_TAIL, /* a jump to another function, or through a pointer; without instructions: to `leaves` */
    END_NORETURN, /* a call that does not return, ud2 */
};

struct block {
    uint64_t start;        /* of its first instruction; that of the loop's head for a preheader */
    uint32_t first, count; /* instructions; none in a preheader */
    uint32_t *succ, *pred;
    uint32_t succ_count, pred_count;
    uint8_t end;    /* enum block_end */
    uint8_t copy;   /* which duplicate; 0: the first */
    bool preheader; /* stands before the head of a loop */
    bool wild;      /* of END_TAIL: its last jump may lead anywhere in the function */
    uint64_t leaves;
    int32_t idom;   /* immediate dominator; SKEL_NONE: the entry */
    int32_t loop;   /* innermost that holds it */
    uint32_t order; /* in reverse postorder */
};

struct loop {
    uint32_t head;
    int32_t parent;
    unsigned depth; /* 1: outermost */
    unsigned number;
};

/* --- values ------------------------------------------------------------------------------------------------------------ */

/* What a value is. Each is 64 bits; what a register of 32 bits is written with has zeros above. Those from V_ADD on are computed from
 * their arguments alone, in 64 bits, unless said otherwise. */
enum value_kind {
    V_CONSTANT, /* constant; with `image`: and the address where the image is loaded */
    V_ENTRY,    /* a register as the function was entered */
    V_LOAD, /* what an instruction loaded, and nothing else, zero-extended from `bits`; constant: value of its address + 1, or 0 */
    V_OPAQUE,  /* whatever an instruction has left in a register */
    V_PHI,     /* args as the predecessors of `block` are */
    V_SEGMENT, /* the base of fs or gs (constant: 0, 1): one for each thread */
    V_ADD,
    V_SUB,
    V_MUL,
    V_AND,
    V_OR,
    V_XOR,
    V_NOT,
    V_SHL,     /* shifts: the count is taken modulo 64, or 32 where bits is not 64 */
    V_SHR,     /* of the value's low `bits` */
    V_SAR,     /* of the value's low `bits`, the result as wide */
    V_ROL,     /* of the low `bits` */
    V_ZEXT,    /* from `bits` */
    V_SEXT,    /* from `bits` */
    V_INSERT,  /* the low `bits` of args[1], from bit `constant` on, in args[0] */
    V_EXTRACT, /* `bits` of args[0] from bit `constant` on, zero-extended */
    V_SELECT,  /* args[0] != 0 ? args[1] : args[2] */
    V_TABLE,   /* the entry at address args[0] of table `constant`, zero-extended from `bits` */
    V_TEST, /* 1 where condition `constant` (as in Jcc's opcode) holds for the flags args[0], else 0 */
    V_FLAGS_SUB, /* flags of args[0] - args[1] in `bits` */
    V_FLAGS_ADD,
    V_FLAGS_LOGIC,  /* of args[0], carry and overflow 0 */
    V_FLAGS_RESULT, /* of args[0]: sign, zero and parity alone */
    V_FLAGS_STEP, /* inc (constant 1) or dec (-1) with the result args[0]: sign, zero, overflow; carry of args[1] */
    V_KINDS,
};

struct value {
    uint8_t kind, bits;
    uint8_t variable; /* that it was written to: a register's number, SKEL_FLAGS; of V_LOAD too */
    bool image;       /* V_CONSTANT: the image's load address on top */
    bool
        recordable; /* it is in a register behind its instruction, or where its block begins (V_PHI, V_ENTRY) */
    bool recorded;     /* the cut has it */
    bool needed;       /* an address or a branch depends on it that is not recorded itself */
    uint64_t demanded; /* bits that an address, a branch or a callee depends on (demand.c) */
    uint32_t block;
    uint32_t at; /* instruction, by number; of V_PHI: none */
    uint64_t constant;
    uint32_t arg_count;
    uint32_t *args;
    int32_t linear; /* 1 + number of its expression, 0: not made yet */
    uint32_t name;  /* as in rsi.9: counts for each variable */
};

enum access_kind { ACCESS_READ = 'R', ACCESS_WRITE = 'W', ACCESS_MODIFY = 'M' };

/* One access of one instruction, in the order in which they happen. */
struct access {
    uint32_t block, at;
    uint8_t kind;              /* enum access_kind */
    uint16_t bytes;            /* 0: as many as the processor saves (xsave) */
    const struct lanes *lanes; /* elements that are accessed (lanes.h); NULL: all of it is */
    bool repeated;             /* as often as rcx says, `count` */
    bool ends_early;           /* or not so often: `count` is known behind the instruction alone */
    uint8_t segment;           /* whose base is added: 0 none, 1 fs, 2 gs */
    uint32_t address, count;   /* values */
    bool recorded; /* the address itself, without its segment's base; and how often, if repeated */
    bool computed; /* from what is recorded, in the skeleton */
};

/* The condition of a block's branch, or the target of its table jump. */
struct decision {
    uint32_t block;
    uint32_t value; /* V_TEST, or the target */
    bool known;     /* computed from what is recorded, or constant */
    bool recorded;  /* its outcome is */
};

/* A jump to another function that is called directly (direct.h). */
struct tail {
    uint32_t block;
    uint64_t target;
    uint32_t stack; /* value: the stack pointer there */
};

/* A register that is handed to a function which is called directly: what that knows of it is computed, or recorded before the call or jump. */
struct argument {
    uint32_t block, at; /* the call, or the block's last instruction where that is a jump to it */
    bool tail;
    uint8_t variable;
    uint32_t value;
    bool recorded;
};

/* --- expressions ------------------------------------------------------------------------------------------------------- */

enum atom_kind {
    ATOM_VALUE,   /* `number` is a value */
    ATOM_COUNTER, /* of the loop with that number: 0 in its first iteration */
    ATOM_IMAGE,   /* where the image is loaded */
    ATOM_ZEXT,    /* the low `bits` of the expression `number` */
    ATOM_SEXT,
    ATOM_PRODUCT, /* the counter of loop `other` times the expression `number` */
};

struct atom {
    uint8_t kind, bits;
    uint32_t number, other;
    uint32_t next; /* of the same hash: that atom + 1 */
};

struct term {
    uint64_t factor; /* modulo 2^64 */
    uint32_t atom;
};

enum { LINEAR_TERMS = 8 };

/* constant + sum of factor times atom, modulo 2^64; by atom. */
struct linear {
    uint64_t constant;
    uint32_t count, next; /* as of atoms */
    struct term terms[LINEAR_TERMS];
};

/* A phi at the head of a loop as start + counter * step, in so many low bits; above them there are zeros where `zeros`. */
struct induction {
    bool known, zeros;
    uint8_t bits;
    uint32_t loop, start;
    uint32_t step; /* expression, without counters */
};

/* --- a function --------------------------------------------------------------------------------------------------------- */

/* A place of the frame (slots.h): so far from where the stack pointer was at the entry. */
struct slot {
    int32_t at;
    uint8_t bytes;
};
/* Where the two registers point before an instruction; rbp INT32_MIN: elsewhere. */
struct frame {
    int32_t rsp, rbp;
};

/* What lies in memory from there on and never changes. */
struct constant_table {
    uint64_t address;
    uint32_t count;
    uint8_t bytes;     /* of an entry */
    bool image;        /* the image's load address on top, of those that are not 0 */
    uint64_t *entries; /* 0 where nothing is known; as it is of all behind them */
};

struct skel_counts {
    uint64_t functions, analysed, bytes;
    uint64_t instructions, accesses, recorded, decisions, outcomes, loops, inductions;
};

struct function {
    const struct code *code;
    const struct addresses
        *claims; /* skel_find_claims(); NULL: parts are known by their names alone */
    const struct addresses *sites; /* a clone leaves there, for an alarm; NULL: nowhere */
    const struct directs *directs; /* functions that are called directly (direct.h); NULL: none */
    struct arena *arena;
    const char *name;
    uint64_t start, end;
    bool direct;            /* it is called so itself, by some function: rsp is known then ... */
    uint16_t passed;        /* ... and these registers, by number */
    uint16_t passed_itself; /* those that it hands to itself */
    bool cloned;            /* for a clone: it ends where that cannot go on, or must ask where */
    uint8_t plan;           /* enum skel_plan */
    bool late;     /* it begins in mid-function: for what has been entered before (late.h) */
    uint64_t call; /* 0; else behind that call */
    bool
        watched; /* an alarm stands at its begin: it has fired when one is entered there, and does whenever one comes back */
    const char *reason; /* why it cannot be analysed, or NULL */
    uint64_t reason_at;

    struct instruction *instructions;
    uint32_t instruction_count, instruction_room;
    struct block *blocks;
    uint32_t block_count, block_room;
    uint32_t *order; /* blocks in reverse postorder: those that are reached */
    uint32_t order_count;
    struct loop *loops; /* outer ones before inner */
    uint32_t loop_count;

    struct frame *frame; /* by instruction */
    struct slot *slots;  /* each a variable: SLOT_FIRST and so on */
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
    struct argument *arguments; /* of one call by number of the register */
    uint32_t argument_count;

    struct linear *linears;
    uint32_t linear_count, linear_room;
    struct atom *atoms;
    uint32_t atom_count, atom_room;
    uint32_t *atom_heads, *linear_heads;
    struct induction *inductions; /* by value */
    bool resolved;                /* expressions have counters in them */
    uint32_t names[SKEL_VARIABLES];
};

/* Each sets f->reason where it cannot go on. */
void graph_build(struct function *f);
/* Of all code: addresses that are called or named, sorted. Where there is no memory some are missing: a part more is no fault. */
void skel_find_claims(const struct code *c, struct addresses *claims);
/* The function or stub that begins there, or NULL. */
const struct image_symbol *graph_symbol_at(const struct image *m, uint64_t address);
/* Of a function that is elsewhere: what a compiler has moved away from it. */
bool graph_is_part(const struct image_symbol *s);
/* What jumps there from elsewhere may still be in its function. */
bool graph_stays(const struct code *c, uint64_t target);
/* It comes back with a return; a call of the next instruction, to have its own address, does not. */
bool graph_is_call(const struct instruction *i);
uint32_t graph_add_block(struct function *f);
/* Makes pred of succ; unreached blocks have none. */
void graph_link(struct function *f);
/* Of all blocks that are reached, to their successors. */
uint64_t graph_edges(const struct function *f);
void loops_find(struct function *f);
/* Is b dominated by a? */
bool loops_dominates(const struct function *f, uint32_t a, uint32_t b);
/* Is block b in that loop? */
bool loops_holds(const struct function *f, uint32_t loop, int32_t inner);
void values_build(struct function *f);
/* What stands for an entry of so many bytes (4, 8) beyond its table. */
static inline uint64_t skel_astray(unsigned bytes)
{
    return bytes == 4 ? INT32_MAX : INT64_MAX;
}

/* Makes a V_TABLE of what jumps load from tables. */
void constants_find(struct function *f);
/* What a V_TABLE is, of an address of the file and without the image's load address; false: not known. */
bool constant_load(const struct function *f, const struct value *x, uint64_t address,
                   uint64_t *out);
/* Arguments of which no bit matters become zeros. */
void demand_find(struct function *f);
void linear_resolve(struct function *f);
void cut_find(struct function *f);
/* By block, never less than 32. */
const uint64_t *often_guess(const struct function *f);
void skel_count(const struct function *f, struct skel_counts *n);

/* All of it. `reason` says what is missing. */
void skel_analyse(struct function *f);

/* --- values.c, lift.c ---------------------------------------------------------------------------------------------------- */

uint32_t value_new(struct function *f, enum value_kind kind, unsigned bits);
uint32_t value_constant(struct function *f, uint64_t n, bool image);
/* With up to three arguments; constants are folded. */
uint32_t value_op(struct function *f, enum value_kind kind, unsigned bits, uint64_t constant,
                  uint32_t a, uint32_t b, uint32_t c);
/* What a register gets of a value that lies elsewhere: it can be recorded there. */
/* Who calls the function directly knows it. */
bool value_is_passed(const struct function *f, uint32_t v);
uint32_t value_copy(struct function *f, unsigned bits, uint32_t a);
/* It has zeros from that bit on. */
bool value_fits(const struct function *f, uint32_t v, unsigned bits);
/* Computed from its arguments: an operation, or a phi. */
bool value_is_computed(const struct function *f, uint32_t v);
/* What `args` would give, of constants; false: not to be known. */
bool value_compute(enum value_kind kind, unsigned bits, uint64_t constant, const uint64_t a[3],
                   uint64_t *out);

struct lifting {
    struct function *f;
    uint32_t block;
    /* The SSA form's: */
    uint32_t (*read)(struct lifting *l, unsigned variable);
    void (*write)(struct lifting *l, unsigned variable, uint32_t value);
    void *ssa;
    int stored; /* the operand that the instruction has put a known value into; -1: none */
};

/* What an instruction computes and accesses. */
void lift_instruction(struct lifting *l, ZydisDecoder *decoder);

/* --- linear.c -------------------------------------------------------------------------------------------------------------- */

/* The number of a value's expression. */
uint32_t linear_of(struct function *f, uint32_t value);
struct linear linear_get(struct function *f, uint32_t value);
uint32_t linear_put(struct function *f, const struct linear *e);
/* *to += factor * *e; false: too many terms, *to is as before. */
bool linear_add(struct linear *to, const struct linear *e, uint64_t factor);
struct linear linear_atom(struct function *f, struct atom a);
/* That value as an atom: expression and factor 1. */
struct linear linear_value(struct function *f, uint32_t value);
/* With what the phis in it are, where that is known by now. */
bool linear_settle(struct function *f, const struct linear *e, struct linear *out);
/* All that it is made of is the same in each iteration. */
bool linear_is_invariant(const struct function *f, const struct linear *e, uint32_t loop);
void induct_find(struct function *f);

/* --- members.c --------------------------------------------------------------------------------------------------------------- */

/* Those of block b are list[start[b]] to list[start[b + 1] - 1], in ascending order. */
struct members {
    uint32_t *start, *list;
};
struct members members_values(struct function *f);
struct members members_accesses(struct function *f);
#define MEMBERS_EACH(m, block, n)                                                                  \
    for (const uint32_t *n = (m)->list + (m)->start[block],                                        \
                        *n##_end = (m)->list + (m)->start[(block) + 1];                            \
         n < n##_end; n++)

/* --- text -------------------------------------------------------------------------------------------------------------------- */

/* Their names, and behind them that of what is none. */
extern const char *const skel_variables[SKEL_VARIABLES + 1];
void skel_print(FILE *out, struct function *f);
void skel_print_summary(FILE *out, const struct skel_counts *n);
/* A graph for dot(1). */
void skel_print_dot(FILE *out, struct function *f);
/* A loop's counter: I, J, K ... from the outermost on; among those of the same depth numbered. */
void skel_counter(const struct function *f, uint32_t loop, char *text, size_t room);
/* What does not fit is left out. An access: `W 8 0x603148 + 8*J`. */
void skel_access(struct function *f, const struct access *a, char *text, size_t room);
void skel_condition(struct function *f, uint32_t value, char *text, size_t room);

#endif
