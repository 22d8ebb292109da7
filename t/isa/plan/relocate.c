/* SPDX-License-Identifier: BSD-3-Clause
 * Displaced instructions run elsewhere and do what they did. Random sequences of a pool of
 * instructions (t/isa/plan/pool.S) run in place, then as copies far away with the originals
 * overwritten. The test compares registers, flags, memory and stack. The pool's own table, not the
 * decoder, says which parts of an instruction depend on its address. With a folder as argument,
 * some sequences are written there for objdump. */
#include "isa/plan/relocate.h"
#include "preload/valgrind.h"
#include "t/tap.h"

#include <sys/mman.h>

struct pool_entry {
    const uint8_t *code;
    uint8_t bytes, kind, tail, zero[5];
};
enum { PLAIN, MEMORY, BRANCH, LONGER };
extern const struct pool_entry pool_table[];
extern uint64_t pool_registers[15], pool_flags;
extern void *pool_entry, *pool_stack;
extern uint8_t pool_vectors[32], pool_memory[256];
void pool_run(void);
void pool_exit(void);

enum { STACK = 8192, ROOM = 4096, OTHER_EXIT = 110 };

struct outcome {
    uint64_t registers[15], flags, stack_pointer;
    uint8_t vectors[32], memory[256], stack[STACK];
};

static uint8_t stack[STACK] __attribute__((aligned(64)));
static struct forms *forms;
static uint64_t seed = 88172645463325252u;

static uint64_t random_word(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static uint8_t *map_at(uintptr_t address, size_t bytes)
{
    void *p = mmap((void *)address, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Writes jmp *pool_exit, followed by its address. */
static void put_exit(uint8_t *at)
{
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
    void (*out)(void) = pool_exit;
    memcpy(at, jump, sizeof jump);
    memcpy(at + sizeof jump, &out, sizeof out);
}

/* Prepares the same start for both runs. */
static void prepare(uint64_t from)
{
    seed = from;
    for (unsigned i = 0; i < 15; i++) {
        pool_registers[i] = random_word();
        if ((random_word() & 3) == 0)
            pool_registers[i] &= 3;
    }
    pool_registers[3] = (uint64_t)(uintptr_t)(pool_memory + 128);
    pool_flags = (random_word() & 0x8d5) | 0x202;
    for (unsigned i = 0; i < sizeof pool_memory; i++)
        pool_memory[i] = (uint8_t)random_word();
    for (unsigned i = 0; i < sizeof pool_vectors; i++)
        pool_vectors[i] = (uint8_t)random_word();
    for (unsigned i = 0; i < STACK; i++)
        stack[i] = (uint8_t)(i * 37);
    pool_stack = stack + STACK / 2;
}

static void run(uint8_t *code, uint64_t from, struct outcome *o)
{
    prepare(from);
    pool_entry = code;
    pool_run();
    memcpy(o->registers, pool_registers, sizeof o->registers);
    o->flags = pool_flags & 0xcd5;
    o->stack_pointer = (uint64_t)(uintptr_t)pool_stack;
    memcpy(o->vectors, pool_vectors, sizeof o->vectors);
    memcpy(o->memory, pool_memory, sizeof o->memory);
    memcpy(o->stack, stack, sizeof o->stack);
}

/* Writes an instruction of the pool as it must be at that address; returns its length. */
static unsigned put_instruction(uint8_t *at, const uint8_t *other_exit, const struct pool_entry *p)
{
    uint8_t *end = at + p->bytes;
    int32_t distance = (int32_t)(other_exit - end);
    memcpy(at, p->code, p->bytes);
    if (p->kind == MEMORY) {
        distance = (int32_t)(pool_memory + 64 - end);
        memcpy(end - p->tail - 4, &distance, 4);
    } else if (p->kind == BRANCH) {
        end[-1] = (uint8_t)distance;
    } else if (p->kind == LONGER) {
        if (p->code[0] == 0x0f)
            at[1] = (uint8_t)(0x80 | (random_word() & 15));
        memcpy(end - 4, &distance, 4);
    }
    return p->bytes;
}

/* Writes a random sequence to `code`. One exit follows it, the other is further on. Returns its
 * length. */
static unsigned make(uint8_t *code, size_t pool)
{
    unsigned n = 0, least = 1 + (unsigned)(random_word() % 12);
    memset(code, 0xcc, ROOM);
    while (n < least)
        n += put_instruction(code + n, code + OTHER_EXIT, &pool_table[random_word() % pool]);
    put_exit(code + n);
    put_exit(code + OTHER_EXIT);
    return n;
}

/* Writes the copy of the n bytes at `code` to `elsewhere`. Returns NULL or the reason why it
 * cannot. */
static const char *displace(const uint8_t *code, unsigned n, uint8_t *elsewhere,
                            struct relocated *r)
{
    *r = (struct relocated){.bytes = 0};
    for (unsigned at = 0; at < n && !r->ends;) {
        struct instruction i;
        if (!instruction_read(forms, code + at, n - at, (uint64_t)(uintptr_t)(code + at), &i))
            return "not decoded";
        const char *why = relocate_add(r, &i, code + at);
        if (why != NULL)
            return why;
        at += i.form.length;
    }
    const char *why = relocate_end(r);
    if (why != NULL)
        return why;
    memset(elsewhere, 0xcc, ROOM);
    for (unsigned i = 0; i < r->fixup_count; i++)
        if (!isa_fixup_apply(&r->fixups[i], r->code, (uint64_t)(uintptr_t)elsewhere, 0))
            return "out of reach";
    memcpy(elsewhere, r->code, r->bytes);
    return NULL;
}

static void write_out(const char *folder, unsigned k, const char *what, const uint8_t *code,
                      size_t n)
{
    char name[300];
    snprintf(name, sizeof name, "%s/%u.%s.%lx", folder, k, what, (unsigned long)(uintptr_t)code);
    FILE *f = fopen(name, "w");
    if (f == NULL || fwrite(code, 1, n, f) != n || fclose(f) != 0)
        exit(9);
}

/* Compares many sequences with their copies, which are before or after the originals. */
static void compare(uint8_t *code, uint8_t *elsewhere, const char *where, const char *folder)
{
    static struct outcome first, second;
    size_t pool = 0;
    unsigned wrong = 0, jumped = 0;
    const unsigned count = 200000 / (unsigned)slowdown();
    while (pool_table[pool].code != NULL)
        pool++;
    for (unsigned k = 0; k < count && wrong < 5; k++) {
        struct relocated r;
        uint64_t begin = random_word() | 1, from = random_word() | 1;
        seed = begin;
        unsigned n = make(code, pool);
        const char *why = displace(code, n, elsewhere, &r);
        if (folder != NULL && why == NULL && k < 300) {
            write_out(folder, k, "was", code, r.displaced);
            write_out(folder, k, "is", elsewhere, r.bytes);
        }
        if (why == NULL) {
            run(code, from, &first);
            memset(code, 0xcc, n);
            run(elsewhere, from, &second);
            jumped += first.stack_pointer != (uint64_t)(uintptr_t)(stack + STACK / 2);
        }
        if (why != NULL || memcmp(&first, &second, sizeof first) != 0) {
            diag("sequence of seed %" PRIu64 ": %s", begin, why != NULL ? why : "another outcome");
            wrong++;
        }
        seed = begin ^ (from << 1);
    }
    ok(wrong == 0, "%u sequences of %zu instructions do the same %s", count, pool, where);
    ok(jumped > count / 20, "and do something: %u moved the stack", jumped);
}

/* --- Calls: the copy jumps, the caller's patched call pushes --- */

static void check_call(uint8_t *code, uint8_t *elsewhere, const uint8_t *bytes, unsigned n,
                       const char *name)
{
    static struct outcome first, second;
    /* pop %r8; push %r8; mov $9,%eax; ret: the return address stays in r8. */
    static const uint8_t callee[] = {0x41, 0x58, 0x41, 0x50, 0xb8, 9, 0, 0, 0, 0xc3};
    struct relocated r = {.bytes = 0};
    struct instruction i;
    uint8_t *function = code + 256, original[15];
    memset(code, 0xcc, ROOM);
    memcpy(function, callee, sizeof callee);
    memcpy(code, bytes, n);
    put_exit(code + n);
    int32_t distance = bytes[0] == 0xe8 || bytes[1] == 0xe8
                           ? (int32_t)(function - (code + n))
                           : (int32_t)(pool_memory + 64 - (code + n));
    if (code[n - 1] == 0 && code[n - 4] == 0)
        memcpy(code + n - 4, &distance, 4);
    memcpy(original, code, n);
    bool read = instruction_read(forms, code, n, (uint64_t)(uintptr_t)code, &i);
    const char *why = read ? relocate_add(&r, &i, code) : "not decoded";
    if (!ok(why == NULL && r.call && relocate_end(&r) == NULL, "%s: is copied as a call", name))
        return diag("%s", why != NULL ? why : "not a call");
    for (unsigned f = 0; f < r.fixup_count; f++)
        (void)isa_fixup_apply(&r.fixups[f], r.code, (uint64_t)(uintptr_t)elsewhere, 0);
    memcpy(elsewhere, r.code, r.bytes);
    for (int patched = 0; patched < 2; patched++) {
        prepare(77);
        pool_registers[2] = (uint64_t)(uintptr_t)function;
        memcpy(pool_memory + 64, &function, sizeof function);
        memcpy(pool_memory + 136, &function, sizeof function);
        if (patched == 1)
            isa_call_bytes(code, n, (int32_t)(elsewhere - (code + n)));
        pool_entry = code;
        pool_run();
        struct outcome *o = patched ? &second : &first;
        memcpy(o->registers, pool_registers, sizeof o->registers);
        o->stack_pointer = (uint64_t)(uintptr_t)pool_stack;
        memcpy(o->memory, pool_memory, sizeof o->memory);
        memcpy(o->stack, stack, sizeof o->stack);
    }
    ok(first.registers[7] == (uint64_t)(uintptr_t)(code + n),
       "%s: the original returns after itself", name);
    ok(memcmp(&first, &second, sizeof first) == 0 && memcmp(original, code, n) != 0,
       "%s: patched it calls the same and returns there too", name);
}

static void check_calls(uint8_t *code, uint8_t *elsewhere)
{
    static const struct {
        const char *name;
        uint8_t bytes[15], n;
    } calls[] = {
        {"call", {0xe8, 0, 0, 0, 0}, 5},
        {"addr32 call", {0x67, 0xe8, 0, 0, 0, 0}, 6},
        {"call *memory", {0xff, 0x15, 0, 0, 0, 0}, 6},
        {"call *8(%rbx) with a long distance", {0xff, 0x93, 8, 0, 0, 0}, 6},
        {"notrack call *%rdx, with prefixes", {0x2e, 0x2e, 0x3e, 0xff, 0xd2}, 5},
    };
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        uint8_t bytes[15];
        if (slowdown() > 1 && k > 0) {
            skip(calls[k].name, "valgrind does not know calls with prefixes");
            continue;
        }
        memcpy(bytes, calls[k].bytes, sizeof bytes);
        check_call(code, elsewhere, bytes, calls[k].n, calls[k].name);
    }
}

/* --- Refusals --- */

static void check_refusals(void)
{
    static const struct {
        const char *name;
        uint8_t before[5], b, bytes[10], n;
        const char *why;
    } cases[] = {
        {"a call after another", {0x55}, 1, {0xe8, 0, 0, 0, 0}, 5, "a call would return elsewhere"},
        {"a pointer call after another",
         {0x55},
         1,
         {0xff, 0xd0},
         2,
         "a call would return elsewhere"},
        {"a system call after another",
         {0x55},
         1,
         {0x0f, 0x05},
         2,
         "a thread would stay elsewhere"},
        {"int3", {0}, 0, {0xcc}, 1, "it is a breakpoint of the program's own"},
        {"int $0x80", {0}, 0, {0xcd, 0x80}, 2, "the kernel looks at where it is"},
        {"sysenter", {0}, 0, {0x0f, 0x34}, 2, "the kernel looks at where it is"},
        {"call *8(%rsp)", {0}, 0, {0xff, 0x54, 0x24, 8}, 4, "it calls by the stack pointer"},
        {"call *%rsp", {0}, 0, {0xff, 0xd4}, 2, "it calls by the stack pointer"},
        {"a far call", {0}, 0, {0xff, 0x1f}, 2, "it is a far call"},
        {"relative to eip",
         {0},
         0,
         {0x67, 0x8b, 0x05, 0, 0, 0, 0},
         7,
         "its operand is relative to half of the instruction pointer"},
        {"a jump of 16 bits, or of 32",
         {0},
         0,
         {0x66, 0xe9, 0, 0, 0, 0},
         6,
         "its branch has another length on another processor"},
        {"what is after a return", {0xc3}, 1, {0x90}, 1, "control does not get there"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct relocated r = {.bytes = 0}, before;
        struct instruction i;
        if (cases[k].b != 0)
            ok(instruction_read(forms, cases[k].before, cases[k].b, 0x1000, &i) &&
                   relocate_add(&r, &i, cases[k].before) == NULL,
               "%s: the one before is copied", cases[k].name);
        before = r;
        bool read = instruction_read(forms, cases[k].bytes, cases[k].n, 0x1000 + cases[k].b, &i);
        is_str(read ? relocate_add(&r, &i, cases[k].bytes) : "not decoded", cases[k].why,
               cases[k].name);
        ok(memcmp(&r, &before, sizeof r) == 0, "%s: nothing has changed", cases[k].name);
    }
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : NULL;
    if (valgrind_request(VALGRIND_RUNNING, 0, 0) != 0) {
        skip("random sequences",
             "they move the stack pointer at random, which valgrind takes for a switch");
        return done_testing();
    }
    forms = forms_open();
    /* pool_memory must be in reach of original and copy. */
    uintptr_t near = ((uintptr_t)pool_memory & ~(uintptr_t)0xfffff);
    uint8_t *code = map_at(near - 0x10000000, ROOM), *before = map_at(near - 0x70000000, ROOM),
            *after = map_at(near + 0x60000000, ROOM), *beyond = map_at(near + 0x90000000, ROOM);
    if (!ok(code != NULL && before != NULL && after != NULL && beyond != NULL, "places are free"))
        return done_testing();
    compare(code, after, "after the original", folder);
    compare(code, before, "before it", NULL);
    check_calls(code, after);
    check_refusals();
    struct relocated r;
    memset(code, 0xcc, ROOM);
    memcpy(code, "\x90\x90\x90\x90\x90", 5);
    is_str(displace(code, 5, beyond, &r), "out of reach",
           "a copy that cannot jump back is not taken for one");
    return done_testing();
}
