/* SPDX-License-Identifier: BSD-3-Clause
 * To be preloaded: maps the instrumented copies of COPIES_FILE (regtrace-isa skel --copies) near
 * the program and, with COPIES_ENTER=1, patches each function with a jump to its copy. When the
 * program ends, writes what the first thread recorded to COPIES_STREAM. */
#include "base/format/copy.h"

#include <asm/prctl.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };
static const size_t recording_bytes = (size_t)1 << 32;
static __thread uint64_t slots[3] __attribute__((tls_model("initial-exec")));
static uint8_t *recording;

static void fail(const char *what)
{
    perror(what);
    _exit(99);
}

static int first_image(struct dl_phdr_info *i, size_t size, void *p)
{
    (void)size;
    uintptr_t *bias = p, *end = bias + 1;
    bias[0] = i->dlpi_addr;
    for (int k = 0; k < i->dlpi_phnum; k++)
        if (i->dlpi_phdr[k].p_type == PT_LOAD)
            *end = i->dlpi_addr + i->dlpi_phdr[k].p_vaddr + i->dlpi_phdr[k].p_memsz;
    return 1;
}

static const uint8_t *read_all(const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) != 0)
        fail(path);
    void *p = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        fail(path);
    close(fd);
    return p;
}

/* Maps memory after the image, so far away that the heap does not grow into it. */
static uint8_t *place(uintptr_t end, size_t bytes)
{
    uintptr_t at = (end + ((uintptr_t)1 << 29)) & ~(uintptr_t)(PAGE - 1);
    void *p = mmap((void *)at, bytes, PROT_READ | PROT_WRITE, /* NOLINT */
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED)
        fail("copies cannot be put beside the program");
    return p;
}

/* Applies the fixups to `code`. Hooks are a `ret`. A jump to an unknown target goes to the original
 * function. */
static void settle(uint8_t *code, const struct copy_fixup *f, uint64_t count, uintptr_t bias,
                   uint8_t *hook)
{
    uintptr_t thread = 0;
    *hook = 0xc3;
    syscall(SYS_arch_prctl, ARCH_GET_FS, &thread);
    for (uint64_t k = 0; k < count; k++) {
        uint8_t *at = code + f[k].at;
        int64_t n = f[k].kind == COPY_IMAGE || f[k].kind == COPY_FUNCTION
                        ? (int64_t)(f[k].target + bias) - (int64_t)(uintptr_t)(at + 4 + f[k].after)
                    : f[k].kind == COPY_THREAD ? (int64_t)((uintptr_t)&slots[f[k].target] - thread)
                                               : (int64_t)(hook - (at + 4));
        if (f[k].kind != COPY_NUMBER) /* these begin with 0 */
            memcpy(at, &(int32_t){(int32_t)n}, 4);
    }
}

__attribute__((constructor)) static void begin(void)
{
    uintptr_t image[2];
    const char *path = getenv("COPIES_FILE");
    if (path == NULL)
        return;
    dl_iterate_phdr(first_image, image);
    const struct copies_head *h = (const void *)read_all(path);
    const struct copy_function *functions = (const void *)(h + 1);
    const struct copy_fixup *fixups = (const void *)(functions + h->function_count + h->late_count);
    const struct copy_place *places = (const void *)(fixups + h->fixup_count);
    uint8_t *code = place(image[1], h->code_bytes + 1);
    memcpy(code, places + h->place_count, h->code_bytes);
    settle(code, fixups, h->fixup_count, image[0], code + h->code_bytes);
    recording = mmap(NULL, recording_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mprotect(code, h->code_bytes + 1, PROT_READ | PROT_EXEC) != 0 || recording == MAP_FAILED)
        fail("copies");
    slots[COPY_RECORDING] = (uint64_t)(uintptr_t)recording;
    for (uint32_t k = 0; k < h->function_count; k++) {
        uint8_t *at = (uint8_t *)(functions[k].address + image[0]);          /* NOLINT */
        uint8_t *page = (uint8_t *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1)); /* NOLINT */
        int32_t distance = (int32_t)(code + functions[k].code - (at + 5));
        if (strcmp(getenv("COPIES_ENTER"), "1") != 0)
            break;
        if (mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
            fail("code cannot be written");
        *at = 0xe9;
        memcpy(at + 1, &distance, 4);
    }
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("COPIES_STREAM");
    if (recording == NULL || path == NULL)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    uint8_t *to = (uint8_t *)slots[COPY_RECORDING]; /* NOLINT */
    for (uint8_t *p = recording; p < to;) {
        ssize_t n = write(fd, p, (size_t)(to - p));
        if (n <= 0)
            fail(path);
        p += n;
    }
    close(fd);
}
