# SPDX-License-Identifier: BSD-3-Clause
"""Writes a C program with that many functions. One thread runs them all the time, while another
opens and closes windows. Each time the program prints how many bytes of the functions differ
from the original ones, and how many times it has read or written by system calls (proc(5), io)."""
import sys

count = int(sys.argv[1])
print("""#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define KEEP __attribute__((noinline, noclone))
KEEP void open_window(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
KEEP void close_window(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
static long cells[64];
KEEP long first(long n) { return n; }""")
for i in range(count):
    print("KEEP long f%d(long n) { long sum = n; for (long i = 0; i < n; i++) sum += cells[(i * %d) & 63]; return sum; }" % (i, 7 * i + 3))
print("KEEP long last(long n) { return n + 1; }")
print("static long (*const all[])(long) = {%s};" % ", ".join("f%d" % i for i in range(count)))
print("""static _Atomic int ended;
static _Atomic long rounds, wrong;

static void *run(void *unused)
{
    long right = 0;
    for (int k = 0; !atomic_load(&ended); k++) {
        long sum = 0;
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            sum += all[i](3);
        right = k == 0 ? sum : right;
        atomic_fetch_add(&wrong, sum != right);
        atomic_fetch_add(&rounds, 1);
    }
    return unused;
}

static long calls(void)
{
    char text[512] = {0};
    int fd = open("/proc/self/io", O_RDONLY);
    long n = read(fd, text, sizeof text - 1);
    const char *r = strstr(text, "syscr: "), *w = strstr(text, "syscw: ");
    close(fd);
    return n > 0 && r && w ? atol(r + 7) + atol(w + 7) : -1;
}

int main(void)
{
    size_t bytes = (size_t)((char *)last - (char *)first);
    char *was = malloc(bytes);
    pthread_t thread;
    memcpy(was, (char *)first, bytes);
    pthread_create(&thread, NULL, run, NULL);
    while (atomic_load(&rounds) < 2)
        usleep(1000);
    for (int k = 0; k < 5; k++) {
        long before = calls(), differ = 0, then = atomic_load(&rounds);
        open_window();
        long open = calls();
        for (size_t i = 0; i < bytes; i++)
            differ += was[i] != ((char *)first)[i];
        while (atomic_load(&rounds) < then + 2)
            usleep(1000);
        long mean = calls();
        close_window();
        then = atomic_load(&rounds); /* the last thread to get here restores the state */
        while (atomic_load(&rounds) < then + 2)
            usleep(1000);
        long after = calls(), left = 0;
        for (size_t i = 0; i < bytes; i++)
            left += was[i] != ((char *)first)[i];
        printf("bytes %zu open %ld close %ld changed %ld left %ld\\n", bytes, open - before, after - mean, differ, left);
    }
    atomic_store(&ended, 1);
    pthread_join(thread, NULL);
    printf("wrong %ld\\n", wrong);
    return 0;
}""")
