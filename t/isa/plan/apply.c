/* SPDX-License-Identifier: BSD-3-Clause
 * Applies a plan to the C mathematical library of this very process. It patches every site, with a
 * jump if the plan has one, otherwise with int3, and counts the site's hits. The functions must
 * compute the same to the bit, and each site must be hit as often as the processor's trap flag
 * says. One thread: patching a running program is not tested here.
 *
 * apply PLAN [int3]: with int3 it uses no jumps. */
#include "isa/isa.h"
#include "t/tap.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct isa_plan *the_plan;
static const struct isa_site *sites;
static uint64_t *hits, *steps; /* by site */
static uint8_t **copies;       /* by site; NULL unless patched with int3 */
static uint64_t bias, low, high;
static int32_t *site_at; /* by address - low: number of the site + 1 */
static uint8_t *room;    /* for copies and counters, near the library */
static size_t used;
enum { ROOM = 256 << 20 };

static const void *table(const struct isa_table *t)
{
    return (const uint8_t *)the_plan + t->offset;
}

/* --- The work --- */

enum { VALUES = 10, FUNCTIONS = 46 };
static const char *const unary[] = {
    "sin",   "cos",   "tan",   "asin",  "acos", "atan",  "sinh",   "cosh",   "tanh",
    "asinh", "acosh", "atanh", "exp",   "exp2", "exp10", "expm1",  "log",    "log2",
    "log10", "log1p", "sqrt",  "cbrt",  "erf",  "erfc",  "tgamma", "lgamma", "j0",
    "j1",    "y0",    "y1",    "floor", "ceil", "rint",  "trunc",  "round",  "logb"};
static const char *const binary[] = {"pow",  "atan2", "fmod",      "remainder", "hypot",
                                     "fdim", "fmax",  "nextafter", "copysign",  "drem"};
static double (*unary_function[FUNCTIONS])(double);
static double (*binary_function[FUNCTIONS])(double, double);
static double values[VALUES], results[FUNCTIONS][VALUES];

static void find_functions(void *library)
{
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++)
        *(void **)&unary_function[i] = dlsym(library, unary[i]);
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        *(void **)&binary_function[i] = dlsym(library, binary[i]);
    for (int i = 0; i < VALUES; i++)
        values[i] = (i - 4) * 0.83 * (i % 5 == 4 ? 1e9 : i % 7 == 6 ? 1e-300 : i % 3 + 1);
    values[3] = __builtin_nan("");
    values[4] = __builtin_inf();
}

static void work(void)
{
    size_t n = 0;
    for (size_t f = 0; f < sizeof unary / sizeof *unary; f++, n++)
        for (int v = 0; v < VALUES && unary_function[f] != NULL; v++)
            results[n][v] = unary_function[f](values[v]);
    for (size_t f = 0; f < sizeof binary / sizeof *binary; f++, n++)
        for (int v = 0; v < VALUES && binary_function[f] != NULL; v++)
            results[n][v] = binary_function[f](values[v], values[VALUES - 1 - v]);
}

/* --- Counting by the trap flag --- */

static volatile bool stepping;
static volatile uint64_t foreign_traps;

static void on_trap(int signo, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t at = (uint64_t)r[REG_RIP];
    (void)signo;
    (void)info;
    if (stepping) {
        if (at - low < high - low && site_at[at - low] != 0)
            steps[site_at[at - low] - 1]++;
        return;
    }
    int32_t site = at - 1 - low < high - low ? site_at[at - 1 - low] : 0;
    if (site == 0 || copies[site - 1] == NULL) {
        foreign_traps++;
        return;
    }
    const struct isa_site *s = &sites[site - 1];
    hits[site - 1]++;
    if ((s->flags & ISA_SITE_CALL) != 0) {
        r[REG_RSP] -= 8;
        *(uint64_t *)r[REG_RSP] = at - 1 + s->one.displaced;
    }
    r[REG_RIP] = (greg_t)(uintptr_t)copies[site - 1];
}

static void work_stepped(void)
{
    stepping = true;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    work();
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    stepping = false;
}

/* --- Patching --- */

static bool find_library(const char *part)
{
    struct link_map *m = dlopen(NULL, RTLD_NOW);
    for (; m != NULL; m = m->l_next)
        if (strstr(m->l_name, part) != NULL)
            break;
    if (m == NULL)
        return false;
    bias = m->l_addr;
    const ElfW(Ehdr) *h = (const void *)m->l_addr;
    const ElfW(Phdr) *p = (const void *)(m->l_addr + h->e_phoff);
    for (unsigned i = 0; i < h->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X) != 0) {
            low = (bias + p[i].p_vaddr) & ~UINT64_C(4095);
            high = (bias + p[i].p_vaddr + p[i].p_memsz + 4095) & ~UINT64_C(4095);
        }
    return low != 0;
}

static uint8_t *put(const void *bytes, size_t n)
{
    uint8_t *at = room + used;
    memcpy(at, bytes, n);
    used += n;
    return at;
}

/* Writes code that increments `counter` and preserves registers, flags and the red zone. Returns
 * its address. */
static uint8_t *put_counter(uint64_t *counter)
{
    static const uint8_t begin[] = {0x48, 0x8d, 0x64, 0x24, 0x80, 0x9c, 0x50, 0x48, 0xb8},
                         end[] = {0x48, 0xff, 0x00, 0x58, 0x9d, 0x48, 0x8d,
                                  0xa4, 0x24, 0x80, 0,    0,    0};
    uint8_t *at = put(begin, sizeof begin);
    put(&counter, 8);
    put(end, sizeof end);
    return at;
}

static uint8_t *put_copy(const struct isa_copy *c)
{
    const struct isa_fixup *fixups = table(&the_plan->fixups);
    uint8_t *at = put((const uint8_t *)table(&the_plan->code) + c->code, c->bytes);
    for (unsigned i = 0; i < c->fixup_count; i++)
        if (!isa_fixup_apply(&fixups[c->fixups + i], at, (uint64_t)(uintptr_t)at, bias))
            return NULL;
    return at;
}

/* Patches site `i`. Returns false if the plan was made from another library, or the code is out of
 * reach. */
static bool patch(size_t i, bool jumps)
{
    const struct isa_site *s = &sites[i];
    uint8_t *at = (uint8_t *)(uintptr_t)(s->address + s->patch + bias);
    unsigned length = jumps && s->jump.displaced != 0 ? s->jump.displaced : s->one.displaced;
    if (memcmp(at, (const uint8_t *)table(&the_plan->code) + s->bytes, length) != 0)
        return false;
    if (!jumps || s->jump.displaced == 0) {
        copies[i] = put_copy(&s->one);
        *at = 0xcc;
        return copies[i] != NULL;
    }
    uint8_t *entry = put_counter(&hits[i]);
    if (put_copy(&s->jump) == NULL)
        return false;
    if ((s->flags & ISA_SITE_CALL) != 0) {
        isa_call_bytes(at, length, (int32_t)(entry - (at + length)));
    } else {
        int32_t distance = (int32_t)(entry - (at + 5));
        *at = 0xe9;
        memcpy(at + 1, &distance, 4);
        memset(at + 5, 0xcc, length - 5);
    }
    return true;
}

static bool map_plan(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return false;
    the_plan = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (the_plan == MAP_FAILED ||
        memcmp(the_plan->magic, ISA_PLAN_MAGIC, sizeof the_plan->magic) != 0)
        return false;
    sites = table(&the_plan->sites);
    return true;
}

static bool make_room(void)
{
    for (uint64_t at = (low - ROOM) & ~UINT64_C(0xffff); low - at < UINT64_C(1) << 30;
         at -= 1 << 20) {
        room = mmap((void *)at, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (room != MAP_FAILED)
            break;
    }
    hits = calloc(the_plan->sites.count, sizeof *hits);
    steps = calloc(the_plan->sites.count, sizeof *steps);
    copies = calloc(the_plan->sites.count, sizeof *copies);
    site_at = calloc(high - low, sizeof *site_at);
    return room != MAP_FAILED && hits != NULL && steps != NULL && copies != NULL && site_at != NULL;
}

static void compare(bool jumps)
{
    static double before[FUNCTIONS][VALUES];
    size_t count = the_plan->sites.count, jumped = 0, wrong = 0, hit = 0, failed = 0;
    work();
    memcpy(before, results, sizeof before);
    work_stepped();
    for (size_t i = 0; i < count; i++) {
        if ((sites[i].flags & ISA_SITE_REFUSED) != 0)
            continue;
        failed += !patch(i, jumps);
        jumped += copies[i] == NULL;
    }
    is_int((intmax_t)failed, 0, "every site is patched");
    memset(results, 0, sizeof results);
    work();
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        hit += steps[i] != 0;
        total += steps[i];
        if ((sites[i].flags & ISA_SITE_REFUSED) == 0 && hits[i] != steps[i] && wrong++ < 5)
            diag("site %" PRIx64 ": %" PRIu64 " hits, %" PRIu64 " by stepping", sites[i].address,
                 hits[i], steps[i]);
    }
    diag("%zu sites, %zu by jumps; %zu of them hit, %" PRIu64 " times", count, jumped, hit, total);
    ok(memcmp(before, results, sizeof before) == 0, "all results are the same, to the bit");
    ok(hit > 0, "sites are hit");
    is_int((intmax_t)wrong, 0, "each as often as the trap flag says");
    is_int((intmax_t)foreign_traps, 0, "there are no other traps");
}

int main(int argc, char **argv)
{
    bool jumps = argc < 3 || strcmp(argv[2], "int3") != 0;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    void *library = dlopen("libm.so.6", RTLD_NOW);
    if (!ok(argc > 1 && library != NULL && map_plan(argv[1]) && find_library("libm.so") &&
                make_room(),
            "there is a plan, a library and room"))
        return done_testing();
    find_functions(library);
    for (size_t i = 0; i < the_plan->sites.count; i++)
        site_at[sites[i].address + sites[i].patch + bias - low] = (int32_t)i + 1;
    sigaction(SIGTRAP, &action, NULL);
    if (!ok(mprotect((void *)low, high - low, PROT_READ | PROT_WRITE | PROT_EXEC) == 0,
            "the text can be written"))
        return done_testing();
    compare(jumps);
    return done_testing();
}
