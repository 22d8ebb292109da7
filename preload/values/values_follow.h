/* SPDX-License-Identifier: BSD-3-Clause
 * Following a thread's instructions inside a signal handler: what is known of an instruction, and the thread's state meanwhile.
 *
 * values_follow.c is built without vector registers: between two copies the program's own ones may stand in the processor. */
#ifndef REGTRACE_PRELOAD_VALUES_VALUES_FOLLOW_H
#define REGTRACE_PRELOAD_VALUES_VALUES_FOLLOW_H

#include "base/format/values.h"
#include "preload/internal.h"

#define VALUES_CODES_MAX (1u << 17) /* instructions of a process */
#define VALUES_THUNK_BYTES 80u      /* copy, and the jump back */
#define VALUES_STACK_NEED 2048u     /* of ours below the handler, beside a frame of the kernel's */
#define VALUES_REPEAT_MOST (1u << 20) /* iterations of a string instruction in one copy */
#define VALUES_LEGACY_BYTES 512u      /* of an xsave area: FXSAVE's part */

/* As VALUES_GENERAL has them, then rip; values_x86_64.S has the offsets. */
struct values_registers {
    uint64_t r[17];
    uint64_t rip;
    uint64_t own_stack;
};

/* What is done with it: the flow of values_answer, and what is executed here although it uses the stack pointer. */
enum values_kind {
    KIND_COPY,
    KIND_JUMP,
    KIND_CONDITION,
    KIND_CALL,
    KIND_RETURN,
    KIND_PUSH, /* register `operand` */
    KIND_POP,
    KIND_LEAVE,
    KIND_FROM_STACK, /* mov %rsp, register `operand` */
    KIND_REPEAT,     /* string instruction with a repeat prefix */
    KIND_STEP,
    KIND_STOP
};

/* One instruction of this process. Never changes once it can be found; never freed. */
struct values_code {
    struct values_answer answer;
    uint64_t bytes[2], mask[2]; /* what stands there, and which of it is the instruction's */
    uint8_t code[16];           /* the same as bytes */
    const uint8_t *thunk;       /* NULL: it has none */
    uint32_t index;             /* its number less one */
    uint8_t kind, operand;
    bool
        is_exact; /* the copy is the instruction itself: a fault leaves the registers as the processor has them */
    bool is_x87;
    bool moves_stack; /* stack_as takes the new stack pointer back */
};

/* What is found out before an instruction. */
struct values_before {
    uint64_t words[VALUES_MOST];
    uint8_t known; /* bit n: item n has its value */
};

enum values_end { END_DONE, END_STEP, END_UNKNOWN, END_UNLEARNED, END_STOP, END_BUSY };

struct values_thread {
    struct values_registers regs;
    /* The handler's frame: its vector state, and what lies between (written by nobody but us). */
    uint8_t *vectors; /* NULL: the processor has no xsave, or the kernel saved none */
    uint64_t components;
    uintptr_t frame_low, frame_high;
    bool is_live;   /* the processor holds the program's vector state, vectors[] an older one */
    bool is_dirty;  /* ... which is newer than vectors[] */
    bool executing; /* a copy or a guarded access is under way */
    bool following;
    bool stepping;                  /* SIGTRAP is to come behind `code` */
    bool held;                      /* a signal that was sent waits: no further instruction */
    const struct values_code *code; /* under way */
    const struct values_code
        *last_x87; /* its copy's address may stand in the x87's instruction pointer */
    const struct values_code *earlier_x87; /* executed before that one */
    struct values_before before;
    uint64_t mask; /* the program's, while its frame has another for the step */
    uint32_t left; /* instructions that may still be followed */
    uint32_t periods;
    uint32_t captured;
    uint64_t begin_address; /* where the sample was */
    uint32_t skipped;       /* periods without a sample, since they would take too much */
    uint32_t followed;      /* instructions of this sample */
    enum values_end end;
    uint64_t begin_stack;
    uint32_t generation; /* of told[] */
    struct values_captured list[VALUES_FOLLOW_MOST];
    uint64_t told[VALUES_CODES_MAX / 64]; /* codes whose EV_VALUES_CODE this thread has written */
};

/* Follows until `left` is 0 or something ends it; what was captured is in list[]. END_STEP: `code` is to be stepped. Vector state is in the
 * frame afterwards. */
enum values_end values_follow(struct values_thread *v);
/* `code` has been executed by itself: captures what comes after. */
void values_stepped(struct values_thread *v);
/* The processor's state to the frame, if it holds the program's. */
void values_park(struct values_thread *v);
/* Of an address in this thread's memory; 0: it cannot be read. */
bool values_read(struct values_thread *v, uintptr_t from, void *to, size_t n);
/* rseq: where the C library has registered it, from the thread pointer on; 0: nowhere. */
void values_follow_prepare(ptrdiff_t rseq);

/* --- values_capture.c: for values_follow.c */

void values_capture_prepare(void);
/* The processor holds the program's vector state from here on. */
void values_load_vectors(struct values_thread *v);
/* Is our frame, or what is in use below it, there? Then the program must do it by itself. */
bool values_hits_frame(const struct values_thread *v, uint64_t from, uint64_t n);
bool values_write_word(struct values_thread *v, uint64_t to, uint64_t word);
/* Of element n where it has several. False: that one is not accessed. */
bool values_address(struct values_thread *v, const struct values_address *w, unsigned n,
                    uint64_t *address);
void values_capture_before(struct values_thread *v, const struct values_answer *a);
void values_capture_after(struct values_thread *v, const struct values_code *code);

/* What is there to be known: values_code.c. NULL: ask. Lock-free. */
const struct values_code *values_find(uint64_t address);
/* Asks; *why says why there is none. Vector registers are used. */
const struct values_code *values_learn(struct values_thread *v, uint64_t address,
                                       enum values_end *why);

/* The calling thread's, made with the first sample; NULL: no memory. values.c */
struct values_thread *values_state(struct preload_thread *pt);
/* What this sample (struct values_thread) has come to. values.c */
void values_record(void *thread);

/* values_x86_64.S */
int values_run(struct values_registers *r, const void *copy) RT_MUST_CHECK;
int values_peek16(uintptr_t from, uint64_t to[2]) RT_MUST_CHECK;
int values_move(void *to, const void *from, size_t n) RT_MUST_CHECK;
extern const uint8_t values_run_back[], values_run_failed[], values_guarded[], values_guarded_end[],
    values_guarded_failed[];

#endif
