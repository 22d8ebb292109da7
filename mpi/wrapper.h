/* SPDX-License-Identifier: BSD-3-Clause
 * The path that every wrapped MPI call takes; the generated wrappers consist of these pieces.
 *
 * Arguments are passed as 64-bit words: ints, pointers and both kinds of handles fit a register or
 * an eight-byte stack slot of the x86-64 and AArch64 System V conventions. The bits above a
 * narrower argument are passed on unchanged. */
#ifndef REGTRACE_MPI_WRAPPER_H
#define REGTRACE_MPI_WRAPPER_H

#include "base/format/event_fields.h"
#include "mpi/abi.h"
#include "mpi/functions.h" /* generated: MPI_NUMBER_*, MPI_FUNCTIONS */
#include "mpi/mpi.h"
#include "mpi/numbers.h"
#include "mpi/profile.h"
#include "mpi/requests.h"

#define MPI_EXPORT __attribute__((visibility("default")))
#define MPI_ENTRY RECORDER_ENTRY MPI_EXPORT
#define MPI_RECORDED __attribute__((noinline))
#define MPI_INLINE __attribute__((always_inline)) static inline

/* Real functions resolved so far, by row: [0] C, [1] mpif.h, [2] mpi_f08, [3] mpi_f08 with
 * descriptors. */
#define MPI_REAL_ROWS 5
extern void *mpi_real[MPI_REAL_ROWS][MPI_FUNCTIONS] RT_HIDDEN;

/* Finds and caches a real function: the next definition of `name` after ours, or else of its PMPI_
 * or pmpi_ twin. Returns a function that fails with MPI_ERR_OTHER if the library has neither; never
 * NULL. */
void *mpi_resolve(unsigned row, unsigned function, const char *name);

static inline void *mpi_real_function(unsigned row, unsigned function, const char *name)
{
    void *real = __atomic_load_n(&mpi_real[row][function], __ATOMIC_RELAXED);
    return RT_LIKELY(real != NULL) ? real : mpi_resolve(row, function, name);
}

/* Begins a wrapper. While nothing can ever be recorded, jumps to the real function, if it is known,
 * without saving anything. Otherwise runs the rest of the wrapper (MPI_AWAKE), which must see the
 * wrapper's own frame and return address: it is reached by a jump, or inlined if the compiler makes
 * no such jumps. */
#ifdef __OPTIMIZE__
#define MPI_AWAKE __attribute__((noinline)) RECORDER_ENTRY static
#else
#define MPI_AWAKE MPI_INLINE
#endif
#define MPI_JUMP_IF_ASLEEP(row, function, type, ...)                                               \
    do {                                                                                           \
        if (RT_UNLIKELY(atomic_load_explicit(&mpi_asleep, memory_order_relaxed) != 0)) {           \
            type *real_ = (type *)__atomic_load_n(&mpi_real[row][function], __ATOMIC_RELAXED);     \
            if (RT_LIKELY(real_ != NULL))                                                          \
                return real_(__VA_ARGS__);                                                         \
        }                                                                                          \
    } while (0)

/* --- instructions of regtrace and of the program ---------------------------------------------- */

/* First and last in a wrapper: the instructions between them are regtrace's, except inside
 * MPI_REAL. */
#define MPI_OWN_BEGIN(t)                                                                           \
    (RT_UNLIKELY((t)->counted != 0) ? mpi_hooks.own_begin(MPI_OWN_UNKNOWN) : 0u)
#define MPI_OWN_END(own) ((void)(RT_UNLIKELY((own) != 0) && (mpi_hooks.own_end(own), true)))

/* A wrapper whose instructions own_cost.c can measure; it finds them by the section. */
struct mpi_measured {
    void (*entry)(void);
    uintptr_t function;
};
#define MPI_MEASURED(name, number)                                                                 \
    static const struct mpi_measured measured_##name                                               \
        __attribute__((used, section("regtrace_measured"))) = {(void (*)(void))(name), number}

/* Calls a real function. MPI_REAL_VOID is for functions that return nothing. */
#define MPI_REAL_AS(counted, declare, result, ...)                                                 \
    ({                                                                                             \
        const bool counted_ = RT_UNLIKELY(counted);                                                \
        struct mpi_inside inside_;                                                                 \
        if (counted_)                                                                              \
            inside_ = mpi_hooks.program_begin();                                                   \
        declare __VA_ARGS__;                                                                       \
        if (counted_)                                                                              \
            mpi_hooks.program_end(inside_);                                                        \
        result;                                                                                    \
    })
#define MPI_REAL(counted, ...)                                                                     \
    MPI_REAL_AS(counted, const __typeof__(__VA_ARGS__) result_ =, result_, __VA_ARGS__)
#define MPI_REAL_VOID(counted, ...) MPI_REAL_AS(counted, , (void)0, __VA_ARGS__)

/* --- one call --------------------------------------------------------------------------------- */

/* The canonical frame address: the stack pointer before the call of the wrapper. */
#define MPI_FRAME() ((uintptr_t)__builtin_dwarf_cfa())

/* Address of the stack's word that holds the wrapper's return address. On AArch64, the frame record
 * holds it (AAPCS64, "The frame pointer"). */
#if defined(__x86_64__)
#define MPI_RETURN_AT() (MPI_FRAME() - sizeof(uintptr_t))
#else
#define MPI_RETURN_AT() ((uintptr_t)__builtin_frame_address(0) + sizeof(uintptr_t))
#endif

/* Origin of a call. The place of its return address tells calls that are still open from those that
 * an exception or a jump has left. */
struct mpi_origin {
    uintptr_t return_at, frame;
};
#define MPI_ORIGIN() ((struct mpi_origin){.return_at = MPI_RETURN_AT(), .frame = MPI_FRAME()})

bool mpi_passes_nested(struct recorder_thread *t, unsigned function, struct mpi_origin from);
/* Is this an address in regtrace, or in the MPI library as far as it has been called? */
bool mpi_is_library(uintptr_t address);

/* Takes our own calls, nested calls and calls of counted threads off the common path. */
#define MPI_IS_NESTED(t) RT_UNLIKELY(((t)->in_toolkit | (t)->open_depth | (t)->counted) != 0)

/* True for our own calls, and for the C half of a Fortran call that is open already: the wrapper
 * only calls the real function. */
#define MPI_PASSES_FROM(t, function, from)                                                         \
    (MPI_IS_NESTED(t) && mpi_passes_nested(t, function, from))
#define MPI_PASSES(t, function) MPI_PASSES_FROM(t, function, MPI_ORIGIN())

/* Notes the call as open at `depth`, which is t->open_depth. Returns true if the call is to be
 * recorded (t->recording) or to be in the profile (t->profile). A
 * handler that opens a window from here on writes the cut enter itself; if it did so before, the
 * second look at t->recording sees the window. */
__attribute__((always_inline)) static inline bool
mpi_open_at(struct recorder_thread *t, uint32_t depth, unsigned entry, uintptr_t return_at)
{
    (void)recorder_active(t);
    t->open_calls[depth] = (uint64_t)return_at << RECORDER_OPEN_RETURN_AT | entry;
    __asm__ volatile("" ::: "memory");
    t->open_depth = depth + 1;
    __asm__ volatile("" ::: "memory");
    return RT_UNLIKELY(((uintptr_t)t->profile | t->recording) != 0) && mpi_recorded != 0;
}

/* Writes the enter event, unless a window that opened or closed meanwhile made it needless. Callers
 * pass constant codes. */
void mpi_put_enter(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b);
/* Writes the leave event if the open window holds the call's enter. */
void mpi_put_leave(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b);
/* Ends a call inside a window if its enter may not be the thread's latest event. First ends inner
 * calls that an exception has left, then the call itself, with a leave if the window holds its
 * enter. */
void mpi_close_slow(struct recorder_thread *t, uint32_t depth, uint32_t code_flags);

#define MPI_FORTRAN_FLAG(entry)                                                                    \
    (((entry)&MPI_OPEN_FORTRAN) != 0 ? (uint32_t)EVENT_FLAG_FORTRAN << 24 : 0u)
#define MPI_ENTER_CODE(entry) (EVENT_MPI_ENTER((entry)&MPI_OPEN_FUNCTION) | MPI_FORTRAN_FLAG(entry))
#define MPI_LEAVE_CODE(entry) (EVENT_MPI_LEAVE((entry)&MPI_OPEN_FUNCTION) | MPI_FORTRAN_FLAG(entry))

__attribute__((always_inline)) static inline void mpi_enter(struct recorder_thread *t,
                                                            unsigned entry, uint64_t a, uint64_t b)
{
    mpi_put_enter(t, MPI_ENTER_CODE(entry), a, b);
}

/* After the recorded enter of a call, and before its leave: the hooks for counters in outermost
 * calls. No effect on a thread without RECORDER_COUNTED_CALLS; C wrappers also skip them if the
 * thread was not counted when the call began. */
__attribute__((always_inline)) static inline void mpi_count_begin(struct recorder_thread *t)
{
    if (RT_UNLIKELY((t->counted & RECORDER_COUNTED_CALLS) != 0) && t->open_depth == 1)
        mpi_hooks.call_begin(t);
}
__attribute__((always_inline)) static inline void mpi_count_end(struct recorder_thread *t,
                                                                uint32_t depth)
{
    if (RT_UNLIKELY((t->counted & RECORDER_COUNTED_CALLS) != 0) && depth == 0)
        mpi_hooks.call_end(t);
}

/* Removes the call from the open calls. A window that opened just before has written a cut enter,
 * which needs a leave. */
__attribute__((always_inline)) static inline void mpi_pop(struct recorder_thread *t, uint32_t depth,
                                                          unsigned entry)
{
    t->open_depth = depth;
    __asm__ volatile("" ::: "memory");
    if (RT_UNLIKELY((t->open_calls[depth] & RECORDER_CALL_ENTERED) != 0)) {
        t->open_depth = depth + 1;
        mpi_close_slow(t, depth, MPI_LEAVE_CODE(entry));
    }
}

/* Ends a recorded call. `depth` as at its begin. */
__attribute__((always_inline)) static inline void mpi_close_recorded(struct recorder_thread *t,
                                                                     uint32_t depth, unsigned entry,
                                                                     uint64_t a, uint64_t b)
{
    (void)recorder_active(t);
    if (RT_UNLIKELY(t->open_depth != depth + 1)) {
        mpi_close_slow(t, depth, MPI_LEAVE_CODE(entry));
        return;
    }
    mpi_put_leave(t, MPI_LEAVE_CODE(entry), a, b);
    mpi_pop(t, depth, entry);
}

/* Ends a call whose enter was not recorded: a window may have opened meanwhile. */
__attribute__((always_inline)) static inline void mpi_close(struct recorder_thread *t,
                                                            uint32_t depth, unsigned entry)
{
    if (RT_UNLIKELY(recorder_active(t)) && mpi_recorded != 0)
        mpi_close_slow(t, depth, MPI_LEAVE_CODE(entry));
    else
        mpi_pop(t, depth, entry);
}

/* --- arguments -------------------------------------------------------------------------------- */

#define MPI_NOBODY ((uint32_t)INT32_MIN)

/* Peers and tags as recorded: any = -1, MPI_PROC_NULL = -2, MPI_ROOT = -3, none = INT32_MIN. */
static inline uint32_t mpi_peer(mpi_word rank)
{
    int r = (int)rank;
    if (RT_LIKELY(r >= 0))
        return (uint32_t)r;
    if (r == mpi_abi.any_source)
        return (uint32_t)-1;
    if (r == mpi_abi.proc_null)
        return (uint32_t)-2;
    return r == mpi_abi.root ? (uint32_t)-3 : (uint32_t)r;
}
static inline uint32_t mpi_tag(mpi_word tag)
{
    return RT_UNLIKELY((int)tag == mpi_abi.any_tag) ? (uint32_t)-1 : (uint32_t)tag;
}
/* For a rooted collective between two groups: do this rank's arguments have a meaning? `root` is
 * the peer as recorded. */
static inline bool mpi_some_rank(uint32_t root)
{
    return (int)root >= 0;
}
static inline bool mpi_some_root(uint32_t root)
{
    return (int)root >= 0 || (int)root == -3;
}
static inline uint64_t mpi_peer_tag(uint32_t peer, uint32_t tag)
{
    return EVENT_PUT(EV_MPI_ENTER, peer, peer) | EVENT_PUT(EV_MPI_ENTER, tag, tag);
}

/* Begin and end of a call whose arguments are not recorded. */
struct mpi_plain {
    uint32_t depth;
    bool recorded;
    struct mpi_profiled profiled;
};
#define mpi_open_plain(t, entry) mpi_open_plain_at(t, entry, MPI_RETURN_AT())
__attribute__((always_inline)) static inline struct mpi_plain
mpi_open_plain_at(struct recorder_thread *t, unsigned entry, uintptr_t return_at)
{
    struct mpi_plain call = {.depth = t->open_depth};
    call.recorded = mpi_open_at(t, call.depth, entry, return_at);
    call.profiled = mpi_profile_begin_if(call.recorded, t, return_at);
    call.recorded = call.recorded && t->recording != 0;
    if (call.recorded) {
        mpi_enter(t, entry, mpi_peer_tag(MPI_NOBODY, MPI_NOBODY), 0);
        mpi_count_begin(t);
    }
    return call;
}
__attribute__((always_inline)) static inline void
mpi_close_plain(struct recorder_thread *t, unsigned entry, struct mpi_plain call)
{
    if (call.recorded) {
        mpi_count_end(t, call.depth);
        mpi_close_recorded(t, call.depth, entry, 0, 0);
    } else {
        mpi_close(t, call.depth, entry);
    }
    if (RT_UNLIKELY(call.profiled.begin != 0))
        mpi_profile_add(
            t, call.profiled.return_at, clock_ticks() - call.profiled.begin,
            mpi_profile_what(entry & MPI_OPEN_FUNCTION, call.depth, MPI_PROFILE_NO_COMM, false), 0,
            0);
}

/* Events hold 48 bits of bytes; a larger number is recorded as the largest. */
static inline uint64_t mpi_bytes_comm(uint64_t bytes, uint32_t comm)
{
    const uint64_t most = EV_MPI_ENTER_bytes(0, UINT64_MAX);
    return EVENT_PUT(EV_MPI_ENTER, bytes, bytes < most ? bytes : most) |
           EVENT_PUT(EV_MPI_ENTER, comm, comm);
}

/* Arguments as C values. Fortran arguments are addresses of default integers, or of 64-bit ones
 * (wide). */
static inline mpi_word mpi_int_argument(mpi_word a, bool fortran)
{
    return fortran ? (mpi_word)(int64_t) * (const int *)(uintptr_t)a : a;
}
static inline mpi_word mpi_wide_argument(mpi_word a, bool fortran)
{
    return fortran ? *(const mpi_word *)(uintptr_t)a : a;
}
enum mpi_handle_kind {
    MPI_HANDLE_COMM = 0,
    MPI_HANDLE_TYPE = 1,
    MPI_HANDLE_REQUEST = 2,
    MPI_HANDLE_WIN = 3,
    MPI_HANDLE_FILE = 4,
    MPI_HANDLE_KINDS = 5
};
/* Returns the C handle of a Fortran handle, by the library's own MPI_*_f2c. MPICH's files have
 * pointers in C, of which we keep the low half, and other integers in Fortran: a file that both
 * languages use is unknown in the one that did not open it. */
uint64_t mpi_handle_from_fortran(enum mpi_handle_kind kind, int handle);
static inline uint64_t mpi_handle_argument(enum mpi_handle_kind kind, mpi_word a, bool fortran)
{
    return fortran ? mpi_handle_from_fortran(kind, *(const int *)(uintptr_t)a)
                   : a & mpi_abi.handle_mask;
}
/* Returns element i of an array of handles, as a C handle. i = 0 also reads a pointer to a
 * handle. */
uint64_t mpi_handle_element(enum mpi_handle_kind kind, mpi_word array, uint64_t i, bool fortran);

/* MPI calls the program's error handler if a function gets an invalid handle. So our code asks MPI
 * about predefined handles and about handles from calls that we saw. It asks about any other handle
 * only after a call with that handle has succeeded. */

/* Returns the bytes of one element; 0 for MPI_DATATYPE_NULL, if MPI does not know the size, or if
 * the type is not known to be valid. */
uint64_t mpi_size_of_type(uint64_t type);
/* Notes that a call has made this type. */
void mpi_type_made(uint64_t type);
/* Notes that a call is about to free this type. Returns true if the type was known: if the call
 * fails, the caller passes it to mpi_type_made() again. */
bool mpi_type_ends(uint64_t type);
/* Returns a small number for a communicator: 0 for MPI_COMM_NULL or a handle that is not known to
 * be valid, 1 for the world, 2 for self, then in order of first use; 0xffff when there are too
 * many. The first use records EV_MPI_COMM. */
uint32_t mpi_comm_id(struct recorder_thread *t, uint64_t comm);
/* The same after a call with the communicator has succeeded, which proves it valid. */
uint32_t mpi_comm_proved(struct recorder_thread *t, uint64_t comm);
/* The same for a call that has returned; proved: it has succeeded. */
static inline uint32_t mpi_comm_of_call(struct recorder_thread *t, uint64_t comm, uint32_t proved)
{
    uint32_t id = mpi_comm_id(t, comm);
    return RT_LIKELY(id != 0 || proved == 0) ? id : mpi_comm_proved(t, comm);
}
/* Returns how many ranks a call on `comm` exchanges with, and the own rank; 0 if unknown. */
uint32_t mpi_known_size(uint64_t comm);
uint32_t mpi_known_rank(uint64_t comm);
/* How a communicator is made: by a call of all ranks of its parent, the same with all ranks in it
 * (MPI_Comm_idup, which may not be complete yet), by a call of its own ranks alone, of the ranks of
 * two communicators, or in a way that does not identify it. */
enum mpi_comm_making {
    MPI_MADE_BY_ALL,
    MPI_MADE_BY_SOME,
    MPI_MADE_OF_TWO,
    MPI_MADE_SOMEHOW,
    MPI_MADE_ALIKE
};
/* MPI_COMM_SECOND_SIDE: the caller is on the second of two sides. */
enum mpi_comm_sides { MPI_COMM_TWO_SIDES = 1, MPI_COMM_SECOND_SIDE = 2 };
/* Notes that a call has made `comm` (on this rank maybe the null communicator), recorded or not,
 * and derives its identity. */
void mpi_comm_made(uint64_t parent, uint64_t comm, enum mpi_comm_making how, int tag);
/* mpi_comm_created() records a new communicator; `parent` is the parent's number. mpi_comm_freed()
 * notes that the handle has just ended, unless another thread has made a communicator with the same
 * handle meanwhile: `made` is mpi_comm_times_made() before the call. */
void mpi_comm_created(struct recorder_thread *t, uint64_t comm, uint32_t parent);
uint32_t mpi_comm_times_made(uint64_t comm);
void mpi_comm_freed(uint64_t comm, uint32_t made);

static inline uint64_t mpi_bytes(mpi_word count, uint64_t type)
{
    return (int64_t)count > 0 ? count * mpi_size_of_type(type) : 0;
}
/* For calls without bytes: returns the word of the leave event that supplies the communicator that
 * the enter event lacks. */
uint64_t mpi_comm_later(struct recorder_thread *t, uint64_t comm);
/* Does this word of an enter event lack the communicator (the bytes)? Also true if the value is
 * 0. */
static inline bool mpi_lacks_comm(uint64_t bytes_comm)
{
    return RT_UNLIKELY(EV_MPI_ENTER_comm(0, bytes_comm) == 0);
}
static inline bool mpi_lacks_bytes(uint64_t bytes_comm)
{
    return RT_UNLIKELY(EV_MPI_ENTER_bytes(0, bytes_comm) == 0);
}
/* mpi_sum() adds an array over the ranks of comm (wide: 64-bit counts); mpi_own() returns the own
 * rank's element; mpi_sum_types() adds counts times sizes of types. */
uint64_t mpi_sum(mpi_word counts, bool wide, uint64_t comm);
uint64_t mpi_own(mpi_word counts, bool wide, uint64_t comm);
uint64_t mpi_sum_types(mpi_word counts, bool wide, mpi_word types, uint64_t comm, bool fortran);
/* Is this buffer MPI_IN_PLACE? In MPICH's mpi_f08 a buffer is a descriptor that begins with the
 * address. */
bool mpi_is_in_place(mpi_word buffer, bool fortran, bool descriptor);

/* A holder of a communicator is a window of one-sided communication, by its handle, or a file, by
 * what mpi_file_holder() makes of its handle. */
static inline uint64_t mpi_file_holder(uint64_t file)
{
    return file | UINT64_C(1) << 62; /* no window has this handle */
}
/* Note that a call made a holder from this communicator, or freed it. */
void mpi_holder_made(uint64_t holder, uint64_t comm);
void mpi_holder_freed(uint64_t holder);
/* Returns the holder's communicator, also if that has been freed (mpi/comm_holders.h); the null
 * communicator if it is not known. */
uint64_t mpi_holder_comm(uint64_t holder);
/* Returns the number of the holder's communicator; 0 if unknown. */
uint32_t mpi_holder_comm_id(struct recorder_thread *t, uint64_t holder);

/* Notes that MPI_Session_finalize has succeeded. */
void mpi_session_ended(void);

/* Returns *ierror of a Fortran call; 0 if the program left it out (mpi_f08). */
static inline int mpi_fortran_result(mpi_word ierror)
{
    return ierror != 0 ? *(const int *)(uintptr_t)ierror : 0;
}
static inline int mpi_read_int(mpi_word address)
{
    return address != 0 ? *(const int *)(uintptr_t)address : 0;
}

#endif
