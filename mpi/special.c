/* SPDX-License-Identifier: BSD-3-Clause
 * Hand-written wrappers: MPI's start and end, MPI_Abort, MPI_Pcontrol, and functions that do not
 * return int. */
#include "mpi/special.h"

#include "mpi/library.h"
#include "mpi/wrapper.h"

int mpi_world_rank = -1, mpi_world_size = -1;
static int world_level; /* the thread level that MPI_Init provided */

static void begin_init(void)
{
    if (mpi_hooks.init_begin != NULL)
        mpi_hooks.init_begin();
}

_Atomic bool mpi_is_up;
static _Atomic int sessions; /* begun and not yet finalized */

void mpi_session_ended(void)
{
    if (atomic_fetch_sub(&sessions, 1) == 1 && mpi_world_size < 0)
        atomic_store(&mpi_is_up, false);
}

/* world: true for MPI_Init and MPI_Init_thread, which all ranks of MPI_COMM_WORLD call; false for a
 * session. */
static void end_init(bool world, int result)
{
    if (result != 0) {
        if (mpi_hooks.init_failed != NULL)
            mpi_hooks.init_failed();
        return;
    }
    if (!world)
        atomic_fetch_add(&sessions, 1);
    atomic_store(&mpi_is_up, true);
    const struct mpi_library *l = mpi_library();
    struct recorder_thread *t = &recorder_self;
    int rank = -1, size = -1;
    t->in_toolkit++;
    if (world && l->Comm_rank != NULL && l->Comm_rank(mpi_abi.comm_world, &rank) == 0 &&
        l->Comm_size(mpi_abi.comm_world, &size) == 0) {
        mpi_world_rank = rank;
        mpi_world_size = size;
        clocksync_measure(rank, size, false);
    }
    if (world && l->Query_thread != NULL)
        (void)l->Query_thread(&world_level);
    t->in_toolkit--;
    /* MPI_THREAD_SERIALIZED is 2, in the standard's interface 2048; a session may have any level */
    if (!world || world_level > 2)
        atomic_store(&mpi_concurrent, true);
    mpi_numbering_begin();
    if (mpi_hooks.init_done != NULL)
        mpi_hooks.init_done(mpi_world_rank, mpi_world_size, world_level, (int)mpi_abi.kind);
}

static void begin_finalize(void)
{
    if (mpi_hooks.finalize_begin != NULL)
        mpi_hooks.finalize_begin();
    struct recorder_thread *t = &recorder_self;
    t->in_toolkit++;
    if (mpi_world_size > 0)
        clocksync_measure(mpi_world_rank, mpi_world_size, true);
    t->in_toolkit--;
}

static void end_finalize(int result)
{
    if (result != 0)
        return;
    mpi_world_rank = mpi_world_size = -1;
    if (atomic_load(&sessions) <= 0)
        atomic_store(&mpi_is_up, false);
    if (mpi_hooks.finalize_done != NULL)
        mpi_hooks.finalize_done();
}

/* --- C ---------------------------------------------------------------------------------------- */

/* begin runs before the call, and end after it with `result`, unless the call is the C half of a
 * Fortran call. REAL calls the real function. */
#define C_CALL(function, begin, end, REAL)                                                         \
    do {                                                                                           \
        struct recorder_thread *t = &recorder_self;                                                \
        const unsigned own = MPI_OWN_BEGIN(t);                                                     \
        int result;                                                                                \
        if (MPI_PASSES(t, MPI_NUMBER_##function)) {                                                \
            result = MPI_REAL(t->counted != 0, REAL);                                              \
        } else {                                                                                   \
            begin;                                                                                 \
            struct mpi_plain call = mpi_open_plain(t, MPI_NUMBER_##function);                      \
            result = MPI_REAL(t->counted != 0, REAL);                                              \
            mpi_close_plain(t, MPI_NUMBER_##function, call);                                       \
            end;                                                                                   \
        }                                                                                          \
        MPI_OWN_END(own);                                                                          \
        return result;                                                                             \
    } while (0)

typedef int real_0(void);
typedef int real_1(mpi_word);
typedef int real_2(mpi_word, mpi_word);
typedef int real_3(mpi_word, mpi_word, mpi_word);
typedef int real_4(mpi_word, mpi_word, mpi_word, mpi_word);

int MPI_Init(mpi_word argc, mpi_word argv);
int MPI_Init_thread(mpi_word argc, mpi_word argv, mpi_word required, mpi_word provided);
int MPI_Session_init(mpi_word info, mpi_word errhandler, mpi_word session);
int MPI_Finalize(void);
int MPI_Abort(mpi_word comm, mpi_word code);
int MPI_Pcontrol(int level, mpi_word second);
int64_t MPI_Aint_add(mpi_word base, mpi_word displacement);
int64_t MPI_Aint_diff(mpi_word one, mpi_word two);

MPI_ENTRY int MPI_Init(mpi_word argc, mpi_word argv)
{
    real_2 *real = (real_2 *)mpi_real_function(0, MPI_NUMBER_Init, "MPI_Init");
    C_CALL(Init, begin_init(), end_init(true, result), real(argc, argv));
}

MPI_ENTRY int MPI_Init_thread(mpi_word argc, mpi_word argv, mpi_word required, mpi_word provided)
{
    real_4 *real = (real_4 *)mpi_real_function(0, MPI_NUMBER_Init_thread, "MPI_Init_thread");
    C_CALL(Init_thread, begin_init(), end_init(true, result), real(argc, argv, required, provided));
}

MPI_ENTRY int MPI_Session_init(mpi_word info, mpi_word errhandler, mpi_word session)
{
    real_3 *real = (real_3 *)mpi_real_function(0, MPI_NUMBER_Session_init, "MPI_Session_init");
    C_CALL(Session_init, begin_init(), end_init(false, result), real(info, errhandler, session));
}

MPI_ENTRY int MPI_Finalize(void)
{
    real_0 *real = (real_0 *)mpi_real_function(0, MPI_NUMBER_Finalize, "MPI_Finalize");
    C_CALL(Finalize, begin_finalize(), end_finalize(result), real());
}

static void begin_abort(int code)
{
    if (mpi_hooks.abort_called != NULL)
        mpi_hooks.abort_called(code);
}

MPI_ENTRY int MPI_Abort(mpi_word comm, mpi_word code)
{
    real_2 *real = (real_2 *)mpi_real_function(0, MPI_NUMBER_Abort, "MPI_Abort");
    C_CALL(Abort, begin_abort((int)code), (void)0, real(comm, code));
}

MPI_EXPORT int64_t MPI_Aint_add(mpi_word base, mpi_word displacement)
{
    /* MPI-3.1, 4.1.5: the sum of the addresses as char pointers. There is nothing to time, so no
     * event. */
    return (int64_t)(base + displacement);
}

MPI_EXPORT int64_t MPI_Aint_diff(mpi_word one, mpi_word two)
{
    return (int64_t)(one - two);
}

/* --- Fortran ---------------------------------------------------------------------------------- */

#define FORTRAN_CALL(row, function, begin, end, real, ierror, ...)                                 \
    do {                                                                                           \
        struct recorder_thread *t = &recorder_self;                                                \
        const unsigned entry = MPI_NUMBER_##function | MPI_OPEN_FORTRAN;                           \
        const unsigned own = MPI_OWN_BEGIN(t);                                                     \
        if (MPI_PASSES(t, MPI_NUMBER_##function)) {                                                \
            MPI_REAL_VOID(t->counted != 0, real(__VA_ARGS__));                                     \
        } else {                                                                                   \
            begin;                                                                                 \
            struct mpi_plain call = mpi_open_plain(t, entry);                                      \
            MPI_REAL_VOID(t->counted != 0, real(__VA_ARGS__));                                     \
            mpi_close_plain(t, entry, call);                                                       \
            const int result = mpi_fortran_result(ierror);                                         \
            (void)result;                                                                          \
            end;                                                                                   \
        }                                                                                          \
        MPI_OWN_END(own);                                                                          \
    } while (0)

#define FORTRAN_NAMES(low, upper, types)                                                           \
    MPI_EXPORT void low types __attribute__((alias(#low "_")));                                    \
    MPI_EXPORT void low##__ types __attribute__((alias(#low "_")));                                \
    MPI_EXPORT void upper types __attribute__((alias(#low "_")));

#define FORTRAN_ENTRY_1(row, name, function, begin, end)                                           \
    void name(mpi_word ierror);                                                                    \
    MPI_ENTRY void name(mpi_word ierror)                                                           \
    {                                                                                              \
        real_1 *real = (real_1 *)mpi_real_function(row, MPI_NUMBER_##function, #name);             \
        FORTRAN_CALL(row, function, begin, end, real, ierror, ierror);                             \
    }
#define FORTRAN_ENTRY_3(row, name, function, begin, end, ierror)                                   \
    void name(mpi_word a, mpi_word b, mpi_word c);                                                 \
    MPI_ENTRY void name(mpi_word a, mpi_word b, mpi_word c)                                        \
    {                                                                                              \
        real_3 *real = (real_3 *)mpi_real_function(row, MPI_NUMBER_##function, #name);             \
        FORTRAN_CALL(row, function, begin, end, real, ierror, a, b, c);                            \
    }
#define FORTRAN_ENTRY_4(row, name, function, begin, end, ierror)                                   \
    void name(mpi_word a, mpi_word b, mpi_word c, mpi_word d);                                     \
    MPI_ENTRY void name(mpi_word a, mpi_word b, mpi_word c, mpi_word d)                            \
    {                                                                                              \
        real_4 *real = (real_4 *)mpi_real_function(row, MPI_NUMBER_##function, #name);             \
        FORTRAN_CALL(row, function, begin, end, real, ierror, a, b, c, d);                         \
    }

FORTRAN_ENTRY_1(1, mpi_init_, Init, begin_init(), end_init(true, result))
FORTRAN_ENTRY_1(2, mpi_init_f08_, Init, begin_init(), end_init(true, result))
FORTRAN_NAMES(mpi_init, MPI_INIT, (mpi_word))
FORTRAN_ENTRY_3(1, mpi_init_thread_, Init_thread, begin_init(), end_init(true, result), c)
FORTRAN_ENTRY_3(2, mpi_init_thread_f08_, Init_thread, begin_init(), end_init(true, result), c)
FORTRAN_NAMES(mpi_init_thread, MPI_INIT_THREAD, (mpi_word, mpi_word, mpi_word))
FORTRAN_ENTRY_4(1, mpi_session_init_, Session_init, begin_init(), end_init(false, result), d)
FORTRAN_ENTRY_4(2, mpi_session_init_f08_, Session_init, begin_init(), end_init(false, result), d)
FORTRAN_NAMES(mpi_session_init, MPI_SESSION_INIT, (mpi_word, mpi_word, mpi_word, mpi_word))
FORTRAN_ENTRY_1(1, mpi_finalize_, Finalize, begin_finalize(), end_finalize(result))
FORTRAN_ENTRY_1(2, mpi_finalize_f08_, Finalize, begin_finalize(), end_finalize(result))
FORTRAN_NAMES(mpi_finalize, MPI_FINALIZE, (mpi_word))
FORTRAN_ENTRY_3(1, mpi_abort_, Abort, begin_abort(mpi_read_int(b)), (void)0, c)
FORTRAN_ENTRY_3(2, mpi_abort_f08_, Abort, begin_abort(mpi_read_int(b)), (void)0, c)
FORTRAN_NAMES(mpi_abort, MPI_ABORT, (mpi_word, mpi_word, mpi_word))

/* Fortran passes the addresses of two address-sized integers. */
#define FORTRAN_AINT(name, operation)                                                              \
    int64_t name(mpi_word one, mpi_word two);                                                      \
    MPI_EXPORT int64_t name(mpi_word one, mpi_word two)                                            \
    {                                                                                              \
        return (int64_t)(*(const mpi_word *)(uintptr_t)one operation *                             \
                         (const mpi_word *)(uintptr_t)two);                                        \
    }
#define FORTRAN_AINT_NAMES(low, upper)                                                             \
    MPI_EXPORT int64_t low(mpi_word, mpi_word) __attribute__((alias(#low "_")));                   \
    MPI_EXPORT int64_t low##__(mpi_word, mpi_word) __attribute__((alias(#low "_")));               \
    MPI_EXPORT int64_t upper(mpi_word, mpi_word) __attribute__((alias(#low "_")));
FORTRAN_AINT(mpi_aint_add_, +)
FORTRAN_AINT(mpi_aint_diff_, -)
FORTRAN_AINT(mpi_aint_add_f08_, +)
FORTRAN_AINT(mpi_aint_diff_f08_, -)
FORTRAN_AINT_NAMES(mpi_aint_add, MPI_AINT_ADD)
FORTRAN_AINT_NAMES(mpi_aint_diff, MPI_AINT_DIFF)

/* --- Pcontrol --------------------------------------------------------------------------------- */

/* Does not call the library's MPI_Pcontrol: a variable argument list cannot be passed on, and the
 * libraries' own function does nothing. */
MPI_RECORDED static void pcontrol(int level, mpi_word second, int is_fortran, void *frame)
{
    struct recorder_thread *t = &recorder_self;
    const unsigned own = MPI_OWN_BEGIN(t);
    if (t->in_toolkit == 0 && mpi_hooks.pcontrol != NULL)
        mpi_hooks.pcontrol(level, second, is_fortran, frame);
    MPI_OWN_END(own);
}

/* Declared without "...", so that the second argument is what its register holds, whether the
 * caller passed it or not. The return clears the register: otherwise a call with the level alone
 * would find the last call's string there. */
MPI_ENTRY int MPI_Pcontrol(int level, mpi_word second)
{
    pcontrol(level, second, 0, __builtin_frame_address(0));
#if defined(__x86_64__)
    __asm__ volatile("xorl %%esi, %%esi" ::: "rsi", "cc");
#elif defined(__aarch64__)
    __asm__ volatile("mov x1, xzr" ::: "x1");
#endif
    return 0;
}

void mpi_pcontrol_(mpi_word level);
MPI_ENTRY void mpi_pcontrol_(mpi_word level)
{
    pcontrol(mpi_read_int(level), 0, 1, __builtin_frame_address(0));
}
MPI_EXPORT void mpi_pcontrol(mpi_word) __attribute__((alias("mpi_pcontrol_")));
MPI_EXPORT void mpi_pcontrol__(mpi_word) __attribute__((alias("mpi_pcontrol_")));
MPI_EXPORT void MPI_PCONTROL(mpi_word) __attribute__((alias("mpi_pcontrol_")));
MPI_EXPORT void mpi_pcontrol_f08_(mpi_word) __attribute__((alias("mpi_pcontrol_")));
