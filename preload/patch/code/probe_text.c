/* SPDX-License-Identifier: BSD-3-Clause
 * Reads and writes the program's text. Async-signal-safe. */
#include "preload/patch/code/probe_code.h"

#include "base/sys.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((uintptr_t)4096)

/* The page that is being changed. A page is written at once, because in a program with thousands of
 * sites each page has many. */
static struct {
    struct probe_lock lock;
    struct probe_locked locked;
    int fd;
    uintptr_t page;    /* 0: none */
    unsigned from, to; /* its changed bytes; from >= to: none */
    bool failed;
    uint8_t bytes[PAGE];
} text;

static bool read_text(int fd, uintptr_t at, uint8_t *bytes, size_t n)
{
    return (fd >= 0 && pread(fd, bytes, n, (off_t)at) == (ssize_t)n) ||
           sys_read_self(at, bytes, n) == (long)n;
}

/* Through /proc/self/mem the kernel also writes where the mapping is not writable, and copies the
 * page first. */
static bool write_text(int fd, uintptr_t at, const uint8_t *bytes, size_t n)
{
    if (fd >= 0 && pwrite(fd, bytes, n, (off_t)at) == (ssize_t)n)
        return true;
    void *page = (void *)(at & ~(PAGE - 1)); /* NOLINT: an address of the program's */
    size_t room = ((at + n + PAGE - 1) & ~(PAGE - 1)) - (at & ~(PAGE - 1));
    if (mprotect(page, room, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        ((volatile uint8_t *)at)[i] = bytes[i]; /* NOLINT */
    (void)mprotect(page, room, PROT_READ | PROT_EXEC);
    return true;
}

void probe_text_open(void)
{
    struct probe_locked locked = probe_lock(&text.lock);
    text.locked = locked;
    text.fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    text.page = 0;
    text.from = text.to = 0;
    text.failed = false;
}

void probe_text_flush(void)
{
    if (text.from < text.to &&
        !write_text(text.fd, text.page + text.from, text.bytes + text.from, text.to - text.from))
        text.failed = true;
    text.page = 0;
    text.from = text.to = 0;
}

bool probe_text_close(void)
{
    probe_text_flush();
    if (text.fd >= 0)
        (void)close(text.fd);
    bool done = !text.failed;
    probe_unlock(&text.lock, text.locked);
    return done;
}

/* As memcpy(3): the program may have its own, with a probe. Without volatile, compilers would call
 * that here. */
static void copy(volatile uint8_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

/* Returns the bytes of a site that lie in one page, and sets *n to their number. NULL: they cannot
 * be read. */
static uint8_t *within(uintptr_t at, size_t *n)
{
    uintptr_t page = at & ~(PAGE - 1);
    if (page != text.page) {
        probe_text_flush();
        if (!read_text(text.fd, page, text.bytes, PAGE))
            return NULL;
        text.page = page;
        text.from = PAGE;
    }
    *n = *n > page + PAGE - at ? page + PAGE - at : *n;
    return text.bytes + (at - page);
}

bool probe_text_read(uintptr_t at, uint8_t *bytes, size_t n)
{
    for (size_t k; n > 0; at += k, bytes += k, n -= k) {
        k = n;
        const uint8_t *there = within(at, &k);
        if (there == NULL)
            return false;
        copy(bytes, there, k);
    }
    return true;
}

void probe_text_write(uintptr_t at, const uint8_t *bytes, size_t n)
{
    for (size_t k; n > 0; at += k, bytes += k, n -= k) {
        k = n;
        uint8_t *there = within(at, &k);
        if (there == NULL) {
            text.failed = true;
            return;
        }
        unsigned from = (unsigned)(at & (PAGE - 1)), to = from + (unsigned)k;
        copy(there, bytes, k);
        text.from = from < text.from ? from : text.from;
        text.to = to > text.to ? to : text.to;
    }
}

bool probe_text_write_once(uintptr_t at, const uint8_t *bytes, size_t n)
{
    probe_text_open();
    probe_text_write(at, bytes, n);
    return probe_text_close();
}

bool probe_code_write(uintptr_t at, const uint8_t *bytes, size_t n)
{
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    bool done = write_text(fd, at, bytes, n);
    if (fd >= 0)
        (void)close(fd);
    return done;
}

void probe_text_forked(void)
{
    probe_lock_free(&text.lock);
}
