/* SPDX-License-Identifier: BSD-3-Clause
 * Generates code as just-in-time compilers do, with and without frame pointers, and writes a perf
 * map of it: to /tmp/perf-PID.map, which it prints. With the argument "none" it writes none, with
 * "old" one that was written long ago, with "link" one that is a symbolic link.
 *
 * It calls main > outer > first > inner > second, of which outer and inner are generated. `second`
 * begins a region, and works in generated code until it has taken some processor time. With MPI it
 * calls MPI_Barrier. */
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include <regtrace.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline))

typedef void function(void);
typedef void caller(function *callee);
static caller *outer, *inner;
static function *spin;
static volatile int count;

static FILE *map;
static unsigned char *room;

static void *generate(const char *name, const void *code, size_t bytes)
{
    unsigned char *at = room;
    memcpy(at, code, bytes);
    room += 256;
    fprintf(map, "%lx %zx %s\n", (unsigned long)at, bytes, name);
    return at;
}

APART static void second(void)
{
    struct timespec t;
    regtrace_region_begin("second");
    do {
        spin();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 300000000);
    regtrace_region_end("second");
#ifdef WITH_MPI
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    count++;
}

APART static void first(void)
{
    inner(second);
    count++;
}

/* Makes the map as the argument says. */
static void finish(const char *name, const char *how)
{
    static const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    char target[128];
    snprintf(target, sizeof target, "%s.target", name);
    if (strcmp(how, "none") == 0)
        unlink(name);
    if (strcmp(how, "old") == 0)
        utimensat(AT_FDCWD, name, old, 0);
    if (strcmp(how, "link") == 0 && (rename(name, target) != 0 || symlink(target, name) != 0))
        puts("no link");
    puts(name);
}

int main(int argc, char **argv)
{
    /* sub $8,%rsp; call *%rdi; add $8,%rsp; ret: as the trampoline of CPython 3.12 */
    static const unsigned char steps[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
                                          0x48, 0x83, 0xc4, 0x08, 0xc3};
    /* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
    static const unsigned char calls[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    /* push %rbp; mov %rsp,%rbp; mov $1000000,%ecx; 1: dec %ecx; jne 1b; pop %rbp; ret */
    static const unsigned char spins[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x42, 0x0f,
                                          0,    0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
    char name[64];
    snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
    map = fopen(name, "w");
    room = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == NULL || room == MAP_FAILED)
        return 3;
    fprintf(map, "%lx 1000 replaced by the next ones\nno line of a map\n", (unsigned long)room);
    outer = (caller *)generate("py::outer:/code.py", calls, sizeof calls);
    inner = (caller *)generate("js::inner code.js:3", steps, sizeof steps);
    spin = (function *)generate("spin", spins, sizeof spins);
    fclose(map);
    finish(name, argc > 1 ? argv[1] : "");
#ifdef WITH_MPI
    MPI_Init(NULL, NULL);
#endif
    outer(first);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return count == 2 ? 0 : 4;
}
