/* SPDX-License-Identifier: BSD-3-Clause
 * Value profiling in this process: its options, the threads' state, and the records of a sample. */
#include "preload/values/values.h"

#include "base/format/value_protocol.h"
#include "preload/process.h"
#include "preload/values/values_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool values_are_captured;

static struct pmu_sample_spec spec;
static int context_wanted = VALUES_CONTEXT_NONE;

bool values_are_on(void)
{
    return spec.period != 0;
}

const struct pmu_sample_spec *values_spec(void)
{
    return &spec;
}

int values_context(void)
{
    return context_wanted;
}

#if defined(__x86_64__)

#include "base/log.h"
#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/images/image_records.h"
#include "preload/libc/interpose.h"
#include "preload/life.h"
#include "preload/thread.h"
#include "preload/valgrind.h"
#include "preload/values/values_code.h"
#include "preload/values/values_follow.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define PERIOD_SPREAD 30u /* per mille to either side: DCPI has 60 to 64 thousand cycles */

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static _Atomic uint32_t generation =
    1; /* of this process's instruction numbers; changes after fork */

/* --- before main ------------------------------------------------------------------------------ */

static const char *const register_names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                             "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                             "r12", "r13", "r14", "r15"};

/* The option's value has been checked. */
static void read_context(void)
{
    const char *text = process.options.text[OPT_vcontext];
    if (strcmp(text, "caller") == 0)
        context_wanted = VALUES_CONTEXT_CALLER;
    else if (strcmp(text, "callers") == 0)
        context_wanted = VALUES_CONTEXT_CALLERS;
    for (int i = 0; i < 16; i++)
        if (strcmp(text, register_names[i]) == 0)
            context_wanted = i;
}

static ptrdiff_t find_rseq(void)
{
    return &__rseq_offset == NULL || &__rseq_size == NULL || __rseq_size == 0 ? 0 : __rseq_offset;
}

static int begin(struct rt_error *e)
{
    if (valgrind_request(VALGRIND_RUNNING, 0, 0) != 0) {
        rt_error_set(e, "valgrind executes the program, and not this processor");
        return -ENOTSUP;
    }
    if (!values_codes_prepare()) {
        rt_error_set(e, "no memory for the table of instructions");
        return -ENOMEM;
    }
    values_follow_prepare(find_rseq());
    return values_ask_begin(process.options.text[OPT_values], e);
}

static struct pmu_sample_spec wanted;

int values_prepare(struct rt_error *e)
{
    if (process.options.text[OPT_values][0] == '\0')
        return 0;
    read_context();
    int rc = pmu_wanted_values(&process.options, process_is_one_window(), &wanted, e);
    wanted.spread = PERIOD_SPREAD;
    return rc;
}

int values_start(struct rt_error *e)
{
    struct rt_error why = {{0}};
    if (wanted.period == 0)
        return 0;
    int rc = begin(&why);
    /* The child of a traced program is not refused: it may have another working directory, where a
     * relative path does not exist. */
    if (rc == -EINVAL && !process_is_child()) {
        *e = why;
        return rc;
    }
    if (rc != 0) {
        char text[sizeof why.text + 64];
        (void)snprintf(text, sizeof text, "no values are captured: %s", why.text);
        process_warn(text);
        return 0;
    }
    spec = wanted;
    values_are_captured = true;
    counters_interrupt |= !spec.by_time;
    values_images_changed();
    return 0;
}

/* --- the thread ------------------------------------------------------------------------------- */

struct values_thread *values_state(struct preload_thread *pt)
{
    if (pt->values != NULL)
        return pt->values;
    long p = sys_call6(SYS_mmap, 0, sizeof(struct values_thread), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p < 0 && p > -4096)
        return NULL;
    struct values_thread *v = (struct values_thread *)p; /* NOLINT: the kernel's address */
    v->generation = atomic_load(&generation);
    pt->values = v;
    return v;
}

void values_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    if (pt->values != NULL)
        (void)sys_call6(SYS_munmap, (long)pt->values, sizeof *pt->values, 0, 0, 0, 0);
    pt->values = NULL;
}

void values_forked(void)
{
    if (!values_are_on())
        return;
    atomic_fetch_add(&generation, 1);
    values_codes_forked();
    values_ask_forked();
}

/* --- recording -------------------------------------------------------------------------------- */

/* Our handlers block every signal whose handler records, so this need not block any. */
static void record_code(struct recorder_thread *t, struct values_thread *v, uint32_t index)
{
    const struct values_code *c = &values_table.codes[index];
    uint64_t more[3] = {0};
    if ((v->told[index / 64] >> (index % 64) & 1) != 0)
        return;
    v->told[index / 64] |= UINT64_C(1) << (index % 64);
    memcpy(more, c->code, VALUES_CODE);
    ((uint8_t *)more)[VALUES_CODE] = c->answer.length;
    recorder_emit_blocked(t, EV_VALUES_CODE, index + 1, c->answer.address, more, 1);
}

static void record_bytes(struct recorder_thread *t, const uint8_t *bytes, size_t n, uint64_t flags)
{
    uint64_t words[1 + 21] = {0};
    unsigned slots = n > 8 ? (unsigned)(n - 8 + 23) / 24 : 0;
    memcpy(words, bytes, n);
    recorder_emit_blocked(t, EV_VALUES, n | flags, words[0], words + 1, slots);
}

static void record_values(struct recorder_thread *t, struct values_thread *v)
{
    uint8_t bytes[VALUES_RECORD_BYTES + VALUES_PUT_MOST];
    uint64_t flags = VALUES_FIRST | (uint64_t)v->periods << 32;
    size_t n = 0;
    for (uint32_t i = 0; i < v->captured; i++)
        record_code(t, v, v->list[i].number - 1);
    for (uint32_t i = 0; i < v->captured; i++) {
        n += values_put(&v->list[i], bytes + n);
        if (n <= VALUES_RECORD_BYTES)
            continue;
        record_bytes(t, bytes, VALUES_RECORD_BYTES, flags);
        flags &= ~VALUES_FIRST;
        n -= VALUES_RECORD_BYTES;
        memmove(bytes, bytes + VALUES_RECORD_BYTES, n);
    }
    record_bytes(t, bytes, n, flags | VALUES_LAST);
}

static void record_none(struct recorder_thread *t, enum values_none why, uint32_t periods,
                        uint64_t address)
{
    if (periods != 0)
        (void)recorder_emit(t, EV_VALUES_NONE, (uint64_t)why | (uint64_t)periods << 32, address);
}

void values_record(void *p)
{
    static const uint8_t reasons[] = {[END_UNKNOWN] = VALUES_UNKNOWN,
                                      [END_UNLEARNED] = VALUES_UNLEARNED,
                                      [END_STOP] = VALUES_NOT_RUN,
                                      [END_STEP] = VALUES_BUSY,
                                      [END_BUSY] = VALUES_BUSY};
    struct values_thread *v = p;
    struct recorder_thread *t = &recorder_self;
    if (v->generation != atomic_load(&generation)) {
        v->generation = atomic_load(&generation);
        memset(v->told, 0, sizeof v->told);
    }
    images_record(t);
    record_none(t, VALUES_SKIPPED, v->skipped, v->begin_address);
    v->skipped = 0;
    if (v->followed == 0 && v->end != END_DONE)
        record_none(t, reasons[v->end], v->periods, v->begin_address);
    else
        record_values(t, v);
}

#else

int values_prepare(struct rt_error *e)
{
    if (process.options.text[OPT_values][0] == '\0')
        return 0;
    rt_error_set(e, "values (REGTRACE_VALUES, option -values) are for x86-64 alone");
    return -ENOTSUP;
}

bool values_is_code(uintptr_t address)
{
    (void)address;
    return false;
}

#endif
