/* SPDX-License-Identifier: BSD-3-Clause
 * Follows threads: numbers them in the order of creation, tells them apart from those of MPI's own
 * libraries, and sees their very end (return, pthread_exit, cancellation).
 *
 * Threads that libc makes internally (timers with SIGEV_THREAD, aio), and those of a raw clone, are
 * attached when they first record. */
#include "preload/libc/interpose.h"
#include "preload/images/loaded_images.h"

#include "base/hash.h"
#include "base/identity.h"
#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/libc/signals.h"
#include "preload/life.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"
#include "preload/thread.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

/* A creator's data for its new thread. The new thread releases it before the program's routine
 * runs. */
struct thread_start {
    _Atomic uint32_t taken;
    bool mapped; /* by mmap(), because the pool was full */
    bool helper;
    uint64_t hidden; /* signals_hidden of the new thread */
    uint32_t claimed;
    struct thread_stack stack;
    union {
        void *(*posix)(void *);
        thrd_start_t c11;
        uintptr_t address;
    } routine;
    void *argument;
    /* A string of the dynamic linker. It stays while the image is loaded. */
    const char *image;
};

#define POOL 128
static struct thread_start pool[POOL];

/* Our key's destructor runs in the last round of destructors. The program gets the key if it needs
 * all keys. */
static pthread_key_t end_key;
static _Atomic uint32_t have_end_key;

/* Value of the key: the low bits count the rounds of destructors; the bits above them hold a hash
 * of the thread's first name. */
#define ROUND 1u
#define ROUNDS 0xffu
#define NAMED 0x100u /* the value is never 0: libc calls no destructor for 0 */

static struct thread_start *start_take(void)
{
    static _Atomic uint32_t hint;
    uint32_t from = atomic_fetch_add_explicit(&hint, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < POOL; i++) {
        struct thread_start *s = &pool[(from + i) % POOL];
        uint32_t unused = 0;
        if (atomic_compare_exchange_strong(&s->taken, &unused, 1)) {
            s->mapped = false;
            return s;
        }
    }
    long p = sys_call6(SYS_mmap, 0, sizeof(struct thread_start), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p < 0 && p > -4096)
        return NULL;
    struct thread_start *s = (struct thread_start *)p; /* NOLINT: the kernel's address */
    s->mapped = true;
    return s;
}

static void start_give(struct thread_start *s)
{
    if (s->mapped)
        (void)sys_call6(SYS_munmap, (long)s, sizeof *s, 0, 0, 0, 0);
    else
        atomic_store(&s->taken, 0);
}

static const char *program_name = ""; /* argv[0] */

struct image_search {
    uintptr_t address;
    const char *found;
};

static bool take_image(const struct loaded_image *m, void *context)
{
    struct image_search *s = context;
    if (!image_has(m, s->address))
        return false;
    s->found = m->info->dlpi_name[0] != '\0' ? m->info->dlpi_name : program_name;
    return true;
}

/* dladdr() would wait for the lock that dlopen() holds while constructors run, and a constructor
 * may wait for the new thread. */
static const char *image_of(uintptr_t address)
{
    struct image_search s = {address, ""};
    (void)images_each(take_image, &s);
    return s.found;
}

/* Is this a library of MPI, or one that MPI is built on? Their threads are no part of the
 * program. */
static bool is_helper_image(const char *path)
{
    static const char *const prefixes[] = {"libmpi",   "libopen-", "libpmix", "libucm", "libucp",
                                           "libucs",   "libuct",   "libpapi", "mca_",   "libfabric",
                                           "libevent", "libprrte", NULL};
    const char *name = identity_base_name(path);
    for (int i = 0; prefixes[i] != NULL; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static void thread_name_now(char name[16])
{
    (void)sys_call6(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0);
    name[15] = '\0';
}

/* Returns the hash of the thread's current name, as the upper bits of the key's value. */
static uintptr_t name_value(void)
{
    char name[16];
    thread_name_now(name);
    return (uintptr_t)((hash_bytes(HASH_BEGIN, name, strlen(name)) << 9) | NAMED);
}

/* Ends a thread. Reads its name, which prctl() or another thread may have changed without our
 * wrapper. first: the value of the key; 0 if unknown. */
static void thread_end(uintptr_t first)
{
    char name[16] = "";
    if (processes_vfork_depth != 0)
        return;
    probe_exits_thread_end();
    thread_name_now(name);
    if (process.traced && name_value() != (first & ~(uintptr_t)ROUNDS))
        thread_named(name);
    signals_main_ends();
    thread_finish();
}

/* The thread sanitizer ends its own record of a thread in the last round. */
#ifdef __SANITIZE_THREAD__
#define END_ROUND (PTHREAD_DESTRUCTOR_ITERATIONS - 2)
#else
#define END_ROUND PTHREAD_DESTRUCTOR_ITERATIONS
#endif

/* Comes back in each round until the last, because destructors of the program's keys may still
 * record. */
static void end_destructor(void *value)
{
    uintptr_t state = (uintptr_t)value + ROUND;
    if ((state & ROUNDS) < END_ROUND && pthread_setspecific(end_key, (void *)state) == 0)
        return; /* NOLINT: a number */
    thread_end(state);
}

void threads_watch_end(void)
{
    if (atomic_load(&have_end_key) == 0)
        return;
    uintptr_t rounds = (uintptr_t)pthread_getspecific(end_key) & ROUNDS;
    (void)pthread_setspecific(end_key, (void *)(name_value() | rounds)); /* NOLINT: a number */
}

/* pthread_attr_getsigmask_np(); NULL: glibc before 2.32. It is looked up once, since dlsym() takes
 * that lock too. */
static int (*get_mask)(const pthread_attr_t *, sigset_t *);

/* Takes the key INLINE_KEYS - 1, the last one for which pthread_setspecific() allocates nothing.
 * libc calls destructors in the order of the keys, so ours runs after those of the program's lower
 * keys (up to 31 of them). */
void threads_prepare(void)
{
    enum { INLINE_KEYS = 32 };
    pthread_key_t low[INLINE_KEYS];
    int n = 0;
    void *symbol = preload_next("pthread_attr_getsigmask_np");
    memcpy(&get_mask, &symbol, sizeof get_mask);
    program_name = program_invocation_name;
    while (n < INLINE_KEYS && NEXT(pthread_key_create)(&low[n], end_destructor) == 0)
        if (low[n++] >= INLINE_KEYS - 1)
            break;
    for (int i = 0; i < n; i++) {
        if (low[i] != INLINE_KEYS - 1) {
            (void)pthread_key_delete(low[i]);
            continue;
        }
        end_key = low[i];
        atomic_store(&have_end_key, 1);
    }
    threads_watch_end(); /* the main thread may end by pthread_exit() */
}

/* Returns the hidden signals of a thread that is about to be made: those of its creator, unless
 * pthread_attr_setsigmask_np() has set a mask for it. */
static uint64_t hidden_for(const pthread_attr_t *attributes)
{
    sigset_t set;
    uint64_t bits;
    if (attributes == NULL || get_mask == NULL || get_mask(attributes, &set) != 0)
        return signals_hidden;
    memcpy(&bits, &set, sizeof bits);
    return bits & signals_kept_bits();
}

static struct thread_start *start_prepare(const pthread_attr_t *attributes, uintptr_t routine,
                                          void *argument)
{
    struct recorder_thread *t = &recorder_self;
    if (!process.traced || t->in_toolkit || processes_vfork_depth != 0)
        return NULL;
    /* A child of a raw system call has one thread until now: later, two might follow the fork at
     * once, or one use the parent's stream while another leaves it. */
    if (RT_UNLIKELY(recorder_was_forked())) {
        process_fork_unseen();
        if (!process.traced)
            return NULL;
    }
    struct thread_start *s = start_take();
    if (s == NULL)
        return NULL;
    if (t->claimed == 0)
        t->claimed = recorder_tid_claim(false) + 1;
    s->routine.address = routine;
    s->stack = stack_wanted(attributes);
    s->argument = argument;
    s->image = image_of(routine);
    s->helper = is_helper_image(s->image);
    s->hidden = hidden_for(attributes);
    s->claimed = recorder_tid_claim(s->helper) + 1;
    known_thread_expected();
    return s;
}

static void start_cancel(struct thread_start *s)
{
    recorder_tid_return(s->claimed - 1);
    known_thread_never_came();
    start_give(s);
}

/* Begins a thread, in the new thread, before the program's routine. Unblocks our signals, which a
 * mask of pthread_attr_setsigmask_np() may block. */
static struct thread_start start_begin(void *p)
{
    struct thread_start *given = p;
    struct thread_start s;
    memcpy(&s, given, sizeof s);
    start_give(given);
    signals_hidden = s.hidden;
    uint64_t ours = signals_kept_bits();
    if (ours != 0)
        (void)sys_call6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&ours, 0, sizeof ours, 0, 0);
    stack_of_thread(s.stack);
    recorder_self.claimed = s.claimed;
    threads_watch_end();
    probes_thread_begins();
    thread_begin(s.routine.address, s.image, s.helper);
    return s;
}

static void *start_posix(void *p)
{
    struct thread_start s = start_begin(p);
    struct pmu_inside inside = counting_program_begin();
    void *result = s.routine.posix(s.argument);
    counting_program_end(inside);
    if (atomic_load(&have_end_key) == 0)
        thread_end(0);
    return result;
}

static int start_c11(void *p)
{
    struct thread_start s = start_begin(p);
    struct pmu_inside inside = counting_program_begin();
    int result = s.routine.c11(s.argument);
    counting_program_end(inside);
    if (atomic_load(&have_end_key) == 0)
        thread_end(0);
    return result;
}

PRELOAD_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                  void *(*routine)(void *), void *argument)
{
    struct thread_start *s = start_prepare(attributes, (uintptr_t)routine, argument);
    if (s == NULL)
        return NEXT(pthread_create)(thread, attributes, routine, argument);
    unsigned own = counting_own_begin();
    int rc = NEXT(pthread_create)(thread, attributes, start_posix, s);
    if (rc != 0)
        start_cancel(s);
    counting_own_end(own);
    return rc;
}

PRELOAD_EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
    struct thread_start *s = start_prepare(NULL, (uintptr_t)routine, argument);
    if (s == NULL)
        return NEXT(thrd_create)(thread, routine, argument);
    unsigned own = counting_own_begin();
    int rc = NEXT(thrd_create)(thread, start_c11, s);
    if (rc != thrd_success)
        start_cancel(s);
    counting_own_end(own);
    return rc;
}

PRELOAD_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    int rc = NEXT(pthread_setname_np)(thread, name);
    if (rc == 0 && process.traced && pthread_equal(thread, pthread_self()) &&
        processes_vfork_depth == 0) {
        thread_named(name);
        threads_watch_end();
    }
    return rc;
}

/* Gives our key to the program, because all keys are in use. We then see the end of a thread only
 * if its routine returns. */
static bool give_up_key(void)
{
    uint32_t yes = 1;
    return atomic_compare_exchange_strong(&have_end_key, &yes, 0) &&
           pthread_key_delete(end_key) == 0;
}

#ifndef __SANITIZE_THREAD__ /* TSan calls it before instrumented code can run */
PRELOAD_EXPORT int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    int rc = NEXT(pthread_key_create)(key, destructor);
    if (rc == EAGAIN && give_up_key())
        rc = NEXT(pthread_key_create)(key, destructor);
    return rc;
}
#endif

PRELOAD_EXPORT int tss_create(tss_t *key, tss_dtor_t destructor)
{
    int rc = NEXT(tss_create)(key, destructor);
    if (rc == thrd_error && give_up_key())
        rc = NEXT(tss_create)(key, destructor);
    return rc;
}
