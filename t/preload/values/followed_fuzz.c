/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz test: follows one to four instructions in a handler, and compares the resulting state with
 * the processor's, faults included. The instructions come from libraries or are random; the start
 * states make most memory operands point to mapped memory.
 *
 *   followed_fuzz.t [SEED CASES FILE...]   without a FILE: from this program and its libraries */
#include "t/preload/values/following.h"

#include "preload/values/values_ask.h"
#include "t/tap.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOT 80 /* bytes of a case: at most 4 * 15, and two int3s */
#define CASES 12288u
#define INSTRUCTIONS 4u
#define TEXTS 4096
#define FORM_MOST 6 /* cases of one form */

/* Instructions are followed only in the code of an image, so the cases lie in this program's
 * text. */
__asm__(".pushsection .text.cases, \"ax\", @progbits\n"
        ".balign 4096\n"
        "cases: .zero 80 * 12288\n"
        ".balign 4096\n"
        ".popsection\n");
extern uint8_t cases[] __attribute__((visibility("hidden")));

struct text {
    const uint8_t *from;
    size_t count;
};
struct instruction {
    ZydisDecodedInstruction z;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
};
/* Progress of the child, in memory that it shares with its parent. */
struct progress {
    uint8_t bytes[SLOT];
    unsigned count, tried, differing, faulted, captured, instructions;
    uint8_t forms[1 << 16];
};

static struct text texts[TEXTS];
static unsigned text_count;
static struct progress *progress;
static ZydisDecoder decoder;

/* --- choice of instructions ------------------------------------------------------------------- */

/* Is this an instruction that cannot be compared? Such an instruction
 * - leaves the program, or waits
 * - changes what handlers themselves run on
 * - tells the time, random numbers or the processor's number
 * FNSTENV and similar instructions store the address of the last x87 instruction, which AMD's
 * processors lose with any signal. The length of UD0 depends on the processor. */
static bool is_apart(const ZydisDecodedInstruction *z)
{
    static const ZydisInstructionCategory categories[] = {
        ZYDIS_CATEGORY_COND_BR,   ZYDIS_CATEGORY_UNCOND_BR, ZYDIS_CATEGORY_CALL,
        ZYDIS_CATEGORY_RET,       ZYDIS_CATEGORY_INTERRUPT, ZYDIS_CATEGORY_SYSCALL,
        ZYDIS_CATEGORY_SYSRET,    ZYDIS_CATEGORY_SYSTEM,    ZYDIS_CATEGORY_SEGOP,
        ZYDIS_CATEGORY_RDWRFSGS,  ZYDIS_CATEGORY_XSAVE,     ZYDIS_CATEGORY_XSAVEOPT,
        ZYDIS_CATEGORY_RDRAND,    ZYDIS_CATEGORY_RDSEED,    ZYDIS_CATEGORY_WAITPKG,
        ZYDIS_CATEGORY_PKU,       ZYDIS_CATEGORY_CET,       ZYDIS_CATEGORY_UINTR,
        ZYDIS_CATEGORY_AMX_TILE,  ZYDIS_CATEGORY_ENQCMD,    ZYDIS_CATEGORY_IO,
        ZYDIS_CATEGORY_IOSTRINGOP};
    static const ZydisISAExt extensions[] = {
        ZYDIS_ISA_EXT_RTM, ZYDIS_ISA_EXT_MONITOR, ZYDIS_ISA_EXT_MONITORX, ZYDIS_ISA_EXT_RDPID,
        ZYDIS_ISA_EXT_MPX, ZYDIS_ISA_EXT_SVM,     ZYDIS_ISA_EXT_VTX};
    static const ZydisMnemonic mnemonics[] = {
        ZYDIS_MNEMONIC_CPUID,     ZYDIS_MNEMONIC_POPF,     ZYDIS_MNEMONIC_POPFD,
        ZYDIS_MNEMONIC_POPFQ,     ZYDIS_MNEMONIC_ENTER,    ZYDIS_MNEMONIC_LEAVE,
        ZYDIS_MNEMONIC_LDMXCSR,   ZYDIS_MNEMONIC_VLDMXCSR, ZYDIS_MNEMONIC_FLDCW,
        ZYDIS_MNEMONIC_FLDENV,    ZYDIS_MNEMONIC_FRSTOR,   ZYDIS_MNEMONIC_FXRSTOR,
        ZYDIS_MNEMONIC_FXRSTOR64, ZYDIS_MNEMONIC_FNSTENV,  ZYDIS_MNEMONIC_FNSAVE,
        ZYDIS_MNEMONIC_FXSAVE,    ZYDIS_MNEMONIC_FXSAVE64, ZYDIS_MNEMONIC_VERR,
        ZYDIS_MNEMONIC_UD0,       ZYDIS_MNEMONIC_UD1};
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (z->meta.category == categories[i])
            return true;
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (z->meta.isa_ext == extensions[i])
            return true;
    for (size_t i = 0; i < sizeof mnemonics / sizeof *mnemonics; i++)
        if (z->mnemonic == mnemonics[i])
            return true;
    return false;
}

static bool is_fit(const struct instruction *i)
{
    if (is_apart(&i->z))
        return false;
    for (int n = 0; n < i->z.operand_count; n++) {
        const ZydisDecodedOperand *o = &i->operands[n];
        bool writes = (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && writes) {
            ZydisRegister whole =
                ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value);
            bool is_hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
            if (ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_SEGMENT ||
                (whole == ZYDIS_REGISTER_RSP && !is_hidden))
                return false;
        }
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS)
            return false;
        if (writes && i->z.address_width == 32)
            return false;
        if (o->mem.base == ZYDIS_REGISTER_RSP && o->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
            (o->mem.index != ZYDIS_REGISTER_NONE || o->mem.disp.value < -128 ||
             o->mem.disp.value > 64 * 8 - 64 || (writes && o->mem.disp.value < 0)))
            return false; /* beyond the words that enter() fills in */
    }
    return true;
}

static unsigned form_of(const struct instruction *i)
{
    uint64_t h = i->z.mnemonic * 31u + (unsigned)i->z.encoding;
    h = h * 31 + i->z.operand_width;
    h = h * 31 + (i->z.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPNE |
                                     ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_REPE));
    h = h * 31 + (unsigned)i->z.avx.vector_length + (unsigned)i->z.avx.mask.mode * 8u;
    for (int n = 0; n < i->z.operand_count_visible; n++) {
        const ZydisDecodedOperand *o = &i->operands[n];
        h = h * 31 + o->type * 4u + o->size;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
            h = h * 31 + (o->mem.base == ZYDIS_REGISTER_RSP) * 2u +
                (o->mem.base == ZYDIS_REGISTER_RIP);
    }
    return (unsigned)((h * UINT64_C(0x9e3779b97f4a7c15)) >> 48);
}

static bool decode(const uint8_t *from, size_t count, struct instruction *i)
{
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, from, count, &i->z, i->operands)) ||
        !is_fit(i))
        return false;
    memcpy(i->bytes, from, i->z.length);
    return true;
}

/* Fills `list` with one to four instructions. Returns their count, or 0 if the first is not
 * usable. */
static unsigned choose(struct instruction *list)
{
    uint8_t random[64];
    const uint8_t *from = random;
    size_t left = sizeof random;
    for (unsigned i = 0; i < sizeof random; i++)
        random[i] = (uint8_t)(random_word() >> 24);
    if (random_word() % 4 != 0) {
        const struct text *t = &texts[random_word() % text_count];
        size_t at = random_word() % t->count;
        from = t->from + at;
        left = t->count - at < 64 ? t->count - at : 64;
    } else if (random_word() % 2 != 0) {
        /* EVEX or VEX: random bytes begin with one in 256 cases only. */
        random[0] = random_word() % 2 != 0 ? 0x62 : 0xc4;
        random[1] = (uint8_t)((random[0] == 0x62 ? 0xf0 : 0xe0) | (random[1] & 3) | 1);
    }
    unsigned n = 0, most = 1 + (unsigned)(random_word() % INSTRUCTIONS);
    while (n < most && decode(from, left, &list[n])) {
        from += list[n].z.length;
        left -= list[n].z.length;
        n++;
    }
    return n;
}

/* --- start states ----------------------------------------------------------------------------- */

static uint64_t *general(ZydisRegister r)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
    if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15 || whole == ZYDIS_REGISTER_RSP)
        return NULL;
    return &before.r[whole - ZYDIS_REGISTER_RAX];
}

static void small_vector(ZydisRegister r)
{
    int n = ZydisRegisterGetId(r);
    for (unsigned lane = 0; lane < 8; lane++) {
        unsigned at = vector_at((unsigned)n, lane);
        uint64_t word = (random_word() % 64) | (random_word() % 64) << 32;
        if (n < 16 ? lane < 4 : true)
            memcpy(before.vectors + at, &word, sizeof word);
    }
}

/* Sets the registers of a memory operand so that it points into the middle of the arena; sets the
 * displacement if the operand is rip-relative. */
static void aim(struct instruction *i, const ZydisDecodedOperand *o, const uint8_t *end)
{
    uintptr_t to = (uintptr_t)arena + ARENA / 2 + random_word() % 8 * 64 +
                   (random_word() % 4 == 0 ? random_word() % 64 : 0);
    if (o->mem.base == ZYDIS_REGISTER_RIP && i->z.raw.disp.size == 32) {
        int32_t displacement = (int32_t)(to - (uintptr_t)end);
        memcpy(i->bytes + i->z.raw.disp.offset, &displacement, sizeof displacement);
        return;
    }
    bool is_vector = ZydisRegisterGetClass(o->mem.index) >= ZYDIS_REGCLASS_XMM &&
                     ZydisRegisterGetClass(o->mem.index) <= ZYDIS_REGCLASS_ZMM;
    uint64_t *index = general(o->mem.index), *base = general(o->mem.base);
    if (is_vector)
        small_vector(o->mem.index);
    else if (index != NULL)
        *index = random_word() % 8;
    if (base != NULL && base != index)
        *base = to - (uint64_t)o->mem.disp.value;
}

static void prepare(struct instruction *list, unsigned n, const uint8_t *at)
{
    make_state();
    before.r[1] = random_word() % 4 == 0 ? 0 : random_word() % 200; /* rcx: repetitions */
    /* From the last to the first, so that the settings for the first instruction win. */
    for (unsigned k = n; k-- > 0;) {
        struct instruction *i = &list[k];
        const uint8_t *end = at;
        for (unsigned m = 0; m <= k; m++)
            end += list[m].z.length;
        for (int o = 0; o < i->z.operand_count; o++)
            if (i->operands[o].type == ZYDIS_OPERAND_TYPE_MEMORY)
                aim(i, &i->operands[o], end);
        bool is_bit = i->z.mnemonic == ZYDIS_MNEMONIC_BT || i->z.mnemonic == ZYDIS_MNEMONIC_BTC ||
                      i->z.mnemonic == ZYDIS_MNEMONIC_BTR || i->z.mnemonic == ZYDIS_MNEMONIC_BTS;
        uint64_t *bit = is_bit && i->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER
                            ? general(i->operands[1].reg.value)
                            : NULL;
        if (bit != NULL && i->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
            *bit = random_word() % 2048;
    }
}

/* --- cases ------------------------------------------------------------------------------------ */

static bool is_written(const struct instruction *i, const uint64_t *r)
{
    for (int o = 0; o < i->z.operand_count; o++)
        if (i->operands[o].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            (i->operands[o].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 &&
            general(i->operands[o].reg.value) == r)
            return true;
    return false;
}

/* Can aim() set the registers so that the memory operands of both instructions lie in the arena? */
static bool goes_with(const struct instruction *first, const ZydisDecodedOperand *later)
{
    const uint64_t *base = general(later->mem.base), *index = general(later->mem.index);
    if ((base != NULL && is_written(first, base)) || (index != NULL && is_written(first, index)))
        return false;
    for (int o = 0; o < first->z.operand_count; o++) {
        const ZydisDecodedOperand *f = &first->operands[o];
        int64_t apart = f->mem.disp.value - later->mem.disp.value;
        if (f->type == ZYDIS_OPERAND_TYPE_MEMORY && base != NULL &&
            ((general(f->mem.base) == base && (apart > 512 || apart < -512)) ||
             general(f->mem.index) == base))
            return false;
    }
    return true;
}

/* Returns how many instructions at the head of the list are independent: none accesses memory
 * through a register that an earlier one has changed, because its value could be any address. */
static unsigned independent(const struct instruction *list, unsigned n)
{
    for (unsigned k = 1; k < n; k++)
        for (int o = 0; o < list[k].z.operand_count; o++) {
            const ZydisDecodedOperand *p = &list[k].operands[o];
            if (p->type != ZYDIS_OPERAND_TYPE_MEMORY)
                continue;
            if (ZydisRegisterGetClass(p->mem.index) >= ZYDIS_REGCLASS_XMM)
                return k;
            for (unsigned before_it = 0; before_it < k; before_it++)
                if (!goes_with(&list[before_it], p))
                    return k;
        }
    return n;
}

static void say_case(const char *what)
{
    char text[3 * SLOT + 1];
    for (unsigned i = 0; i < progress->count; i++)
        (void)snprintf(text + 3 * (size_t)i, 4, " %02x", progress->bytes[i]);
    diag("%s:%s", what, progress->count != 0 ? text : " (none)");
}

static bool try_case(unsigned number)
{
    static struct state native, followed;
    struct instruction list[INSTRUCTIONS];
    unsigned n = independent(list, choose(list)), length = 0;
    static struct piece p = {"case", NULL, NULL, 0};
    uint8_t *at = cases + (size_t)number * SLOT;
    if (n == 0)
        return false;
    uint8_t *form = &progress->forms[form_of(&list[0])];
    if (*form >= FORM_MOST)
        return false;
    ++*form;
    prepare(list, n, at + 1);
    at[0] = 0xcc;
    for (unsigned k = 0; k < n; k++) {
        memcpy(at + 1 + length, list[k].bytes, list[k].z.length);
        length += list[k].z.length;
    }
    at[1 + length] = 0xcc;
    p.from = at;
    p.to = at + 1 + length;
    piece = &p;
    memcpy(progress->bytes, at + 1, length);
    progress->count = length;
    follow = 0;
    execute(&native);
    follow = INSTRUCTIONS;
    execute(&followed);
    if (!same_state(&native, &followed)) {
        progress->differing++;
        say_case("following leaves another state");
    }
    progress->faulted += native.faults != 0;
    progress->captured += captured_count;
    progress->instructions += n;
    progress->tried++;
    return true;
}
/* Makes the cases writable and reserves address space for the arena: near enough for displacements,
 * with nothing else mapped for 512 MiB on either side. Returns the arena's address. */
static uintptr_t reserve(void)
{
    const size_t around = (size_t)512 << 20;
    uintptr_t page = (uintptr_t)cases & ~(uintptr_t)4095;
    (void)mprotect(cases, (size_t)SLOT * CASES, PROT_READ | PROT_WRITE | PROT_EXEC);
    void *p = mmap((void *)(page - 3 * around), 2 * around, PROT_NONE, /* NOLINT */
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED)
        exit(97);
    return (uintptr_t)p + around;
}

/* Tries cases in a child process, because a wrong result may end it. Returns its exit status. */
static int try_cases(unsigned most, uint64_t seed)
{
    struct rt_error e = {{0}};
    random_seed(seed);
    faults_end = true;
    if (values_ask_begin("vp-classic", &e) != 0) {
        diag("%s", e.text);
        return 3;
    }
    (void)alarm(300);
    unsigned done = 0;
    for (unsigned tries = 0; done < most && tries < 400 * most; tries++)
        done += try_case(done);
    values_ask_forked();
    return 0;
}

static bool run_cases(unsigned most, uint64_t seed)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (!following_prepare(reserve()))
            _exit(77);
        _exit(try_cases(most, seed));
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return progress->differing == 0;
    diag("seed %llu ended by %s %d", (unsigned long long)seed,
         WIFSIGNALED(status) ? "signal" : "status",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    say_case("it was at");
    return false;
}

/* --- code of files ---------------------------------------------------------------------------- */

static void add_file(const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) != 0 || s.st_size < (off_t)sizeof(ElfW(Ehdr))) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    size_t size = (size_t)s.st_size;
    const uint8_t *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (p == MAP_FAILED)
        return;
    const ElfW(Ehdr) *e = (const void *)p;
    if (memcmp(p, ELFMAG, SELFMAG) != 0 || e->e_machine != EM_X86_64 ||
        e->e_phoff + e->e_phnum * sizeof(ElfW(Phdr)) > size)
        return;
    const ElfW(Phdr) *h = (const void *)(p + e->e_phoff);
    for (unsigned i = 0; i < e->e_phnum && text_count < TEXTS; i++)
        if (h[i].p_type == PT_LOAD && (h[i].p_flags & PF_X) != 0 && h[i].p_filesz > 64 &&
            h[i].p_filesz <= size && h[i].p_offset <= size - h[i].p_filesz)
            texts[text_count++] = (struct text){p + h[i].p_offset, h[i].p_filesz};
}

static int add_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    add_file(info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe");
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    unsigned long wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : 8000;
    for (int i = 3; i < argc; i++)
        add_file(argv[i]);
    if (argc <= 3)
        (void)dl_iterate_phdr(add_loaded, NULL);
    if (text_count == 0 ||
        !ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return 99;
    progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return 99;
    if (!following_is_possible()) {
        skip(NOT_POSSIBLE);
        return done_testing();
    }
    bool same = true;
    while (progress->tried < wanted && same) {
        unsigned long left = wanted - progress->tried, now = progress->tried;
        same = run_cases(left < CASES ? (unsigned)left : CASES, seed++);
        if (progress->tried == now)
            break; /* each form has had its cases */
        memset(progress->forms, 0, argc > 3 ? sizeof progress->forms : 0);
    }
    ok(same, "%u cases of %u instructions, %u of them with a fault: the state is the processor's",
       progress->tried, progress->instructions, progress->faulted);
    ok(progress->tried > 1000 && progress->captured > progress->tried / 2 &&
           progress->faulted < progress->tried / 2,
       "and %u were captured", progress->captured);
    return done_testing();
}
