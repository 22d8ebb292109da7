/* SPDX-License-Identifier: BSD-3-Clause
 * Following a thread's instructions in a signal handler: what is known of an instruction, and the
 * state of the thread.
 *
 * values_follow.c is built without vector registers: between two copies, the processor may hold the
 * program's. */
#ifndef REGTRACE_PRELOAD_VALUES_VALUES_FOLLOW_H
#define REGTRACE_PRELOAD_VALUES_VALUES_FOLLOW_H

#include "base/format/value_protocol.h"
#include "preload/thread.h"

#define VALUES_CODES_MAX (1u << 17)   /* instructions of a process */
#define VALUES_THUNK_BYTES 80u        /* bytes of a copy and the jump back */
#define VALUES_STACK_NEED 2048u       /* bytes of stack below the handler, besides a signal frame */
#define VALUES_REPEAT_MOST (1u << 20) /* iterations of a string instruction in one copy */
#define VALUES_LEGACY_BYTES 512u      /* bytes of FXSAVE's part of an xsave area */

/* Registers as numbered for VALUES_GENERAL, then rip. values_x86_64.S has the offsets. */
struct values_registers {
    uint64_t r[17];
    uint64_t rip;
    uint64_t own_stack;
};

/* How an instruction is executed: by its flow in values_answer, or emulated although it uses the
 * stack pointer. */
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
    uint64_t bytes[2], mask[2]; /* bytes there; mask of those that are the instruction's */
    uint8_t code[16];           /* the same bytes */
    const uint8_t *thunk;       /* its copy; NULL: it has none */
    uint32_t index;             /* its number minus one */
    uint8_t kind, operand;
    /* The copy is the instruction itself: after a fault, the processor's registers are the
     * program's. */
    bool is_exact;
    bool is_x87;
    bool moves_stack; /* the register stack_as holds the new stack pointer afterwards */
};

/* Values captured before an instruction executes. */
struct values_before {
    uint64_t words[VALUES_MOST];
    uint8_t known; /* bit n: item n has its value */
};

enum values_end { END_DONE, END_STEP, END_UNKNOWN, END_UNLEARNED, END_STOP, END_BUSY };

struct values_thread {
    struct values_registers regs;
    /* The signal frame: its vector state, and the range in which only we write. */
    uint8_t *vectors; /* NULL: the processor has no xsave, or the kernel saved none */
    uint64_t components;
    uintptr_t frame_low, frame_high;
    bool is_live;   /* the processor holds the program's vector state; vectors[] is older */
    bool is_dirty;  /* the processor's vector state is newer than vectors[] */
    bool executing; /* a copy or a guarded access is under way */
    bool following;
    bool stepping; /* a SIGTRAP will come after `code` */
    bool held;     /* a signal that was sent waits: follow no further instruction */
    const struct values_code *code; /* the current instruction */
    /* The x87's instruction pointer may hold the address of its copy. */
    const struct values_code *last_x87;
    const struct values_code *earlier_x87; /* the x87 instruction executed before that one */
    struct values_before before;
    uint64_t mask; /* the program's mask, while its frame has another one for a step */
    uint32_t left; /* instructions that may still be followed */
    uint32_t periods;
    uint32_t captured;
    uint64_t begin_address; /* address of the sample */
    uint32_t skipped;       /* periods without a sample, which would take too much time */
    uint32_t followed;      /* instructions followed in this sample */
    enum values_end end;
    uint64_t begin_stack;
    uint32_t generation; /* generation of told[] */
    struct values_captured list[VALUES_FOLLOW_MOST];
    uint64_t told[VALUES_CODES_MAX / 64]; /* codes whose EV_VALUES_CODE this thread has written */
};

/* Follows instructions until `left` is 0 or something ends it; list[] then holds what was captured.
 * END_STEP: the thread must step `code`. The vector state is in the frame afterwards. */
enum values_end values_follow(struct values_thread *v);
/* The thread has executed `code` itself: captures the values after it. */
void values_stepped(struct values_thread *v);
/* Saves the processor's vector state to the frame, if it is the program's. */
void values_park(struct values_thread *v);
/* Reads this thread's memory. Returns false if it is not readable. */
bool values_read(struct values_thread *v, uintptr_t from, void *to, size_t n);
/* `rseq` is the offset from the thread pointer at which the C library has registered rseq; 0:
 * nowhere. */
void values_follow_prepare(ptrdiff_t rseq);

/* --- values_capture.c, for values_follow.c --- */

void values_capture_prepare(void);
/* Loads the program's vector state into the processor. */
void values_load_vectors(struct values_thread *v);
/* Returns true if the range overlaps our frame or the stack in use below it: the program must then
 * execute the instruction itself. */
bool values_hits_frame(const struct values_thread *v, uint64_t from, uint64_t n);
bool values_write_word(struct values_thread *v, uint64_t to, uint64_t word);
/* Computes the effective address, of element n if there are several. Returns false if the
 * instruction does not access that element. */
bool values_address(struct values_thread *v, const struct values_address *w, unsigned n,
                    uint64_t *address);
void values_capture_before(struct values_thread *v, const struct values_answer *a);
void values_capture_after(struct values_thread *v, const struct values_code *code);

/* Returns what is known of the instruction there (values_follow.c); NULL: ask. Lock-free. */
const struct values_code *values_find(uint64_t address);
/* Asks about the instruction there (values_code.c). If it returns NULL, *why says why. Uses vector
 * registers. */
const struct values_code *values_learn(struct values_thread *v, uint64_t address,
                                       enum values_end *why);

/* Returns the calling thread's state, made at its first sample; NULL: no memory. In values.c. */
struct values_thread *values_state(struct preload_thread *pt);
/* Records the result of this sample; `thread` is a struct values_thread. In values.c. */
void values_record(void *thread);

/* values_x86_64.S */
int values_run(struct values_registers *r, const void *copy) RT_MUST_CHECK;
int values_peek16(uintptr_t from, uint64_t to[2]) RT_MUST_CHECK;
int values_move(void *to, const void *from, size_t n) RT_MUST_CHECK;
extern const uint8_t values_run_back[], values_run_failed[], values_guarded[], values_guarded_end[],
    values_guarded_failed[];

#endif
