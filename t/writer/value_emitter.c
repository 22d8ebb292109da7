/* SPDX-License-Identifier: BSD-3-Clause
 * A process for t/tools/values/values.t that records a known profile of values, in its own
 * functions. Usage: value_emitter WRITER DIR STREAM PLUGIN plain|args|wide [SAMPLES [IMAGE]];
 * prints the addresses of its functions. `wide`, for measurements: 20,000 instructions of IMAGE,
 * 200 values each. */
#include "t/writer/producer.h"
#include "t/writer/value_records.h"

#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Code that never executes: addresses for the instructions of the profile. */
#define ROOM(bytes)                                                                                \
    __asm__ volatile(".skip " #bytes ", 0x90") /* sizes differ: compilers merge equal functions */
__attribute__((noinline, visibility("default"))) void first_kernel(void);
__attribute__((noinline, visibility("default"))) void second_kernel(void);
void first_kernel(void)
{
    ROOM(64);
}
void second_kernel(void)
{
    ROOM(96);
}

static int find_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uint64_t *)base = info->dlpi_addr;
    return 1; /* the first object is the program */
}

static void image(uint64_t base)
{
    char path[PATH_MAX] = "";
    uint64_t more[3] = {0};
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    (void)recorder_emit_long(&recorder_self, EV_IMAGE, stream_string_id(&recorder_stream, path),
                             base, more, 1);
}

/* In first_kernel: 7 in three of four samples, else 1, 2, 3 in turn; always 0x1234. In
 * second_kernel: all different. */
static void plain(uint64_t samples)
{
    for (uint64_t i = 0; i < samples; i++) {
        struct values_captured c[3] = {
            {.number = 1, .count = 1, .values = {i % 4 != 0 ? 7 : 1 + i / 4 % 3}},
            {.number = 2, .count = 1, .values = {0x1234}},
            {.number = 3, .count = 1, .values = {i}},
        };
        put_sample(c, i % 2 == 0 ? 3 : 2, 2);
    }
    (void)recorder_emit(&recorder_self, EV_VALUES_NONE, VALUES_UNKNOWN | UINT64_C(1) << 32, 0x10);
    (void)recorder_emit(&recorder_self, EV_VALUES_NONE, VALUES_NOT_RUN | UINT64_C(1) << 32, 0x10);
}

/* Values as vp-args captures them: instruction 1 calls second_kernel with 5 and a pointer,
 * instruction 4 returns from it. */
static void arguments(uint64_t samples)
{
    for (uint64_t i = 0; i < samples; i++) {
        struct values_captured c[3] = {
            {.number = 1, .has_context = true, .count = 1, .values = {5}},
            {.number = 1, .has_context = true, .count = 1, .values = {0x1000 + i % 2}},
            {.number = 4, .has_context = true, .count = 1, .values = {i % 4 == 0}},
        };
        c[0].context[0] = 1;
        c[1].context[0] = 2;
        c[0].context[1] = c[1].context[1] = (uint64_t)(uintptr_t)second_kernel;
        put_sample(c, 3, 1);
    }
}

static void wide(uint64_t samples, const char *path)
{
    enum { INSTRUCTIONS = 20000, VALUES = 200, EACH = 4 };
    const uint64_t base = 0x10000000, more[3] = {0};
    uint64_t x = 88172645463325252;
    (void)recorder_emit_long(&recorder_self, EV_IMAGE, stream_string_id(&recorder_stream, path),
                             base, more, 1);
    for (uint32_t n = 1; n <= INSTRUCTIONS; n++)
        put_code(10 + n, base + 0x3000 + n * UINT64_C(16), "\x48\x8b\x07", 3);
    for (uint64_t i = 0; i < samples; i += EACH) {
        struct values_captured c[EACH];
        for (unsigned k = 0; k < EACH; k++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            uint64_t u = x % 1000, v = x / 1000 % 1000;
            c[k] = (struct values_captured){
                .number = 11 + (uint32_t)(u * v * INSTRUCTIONS / 1000000), .count = 1};
            c[k].values[0] = 0x7f0000000000 + (x >> 40) % VALUES * ((x >> 50) % VALUES) / VALUES;
        }
        put_sample(c, EACH, 1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    const char *const meta[] = {"values", argv[4], NULL};
    uint64_t base = 0, first = (uint64_t)(uintptr_t)first_kernel,
             second = (uint64_t)(uintptr_t)second_kernel;
    uint64_t samples = argc > 6 ? strtoull(argv[6], NULL, 10) : 4000;
    struct producer p;
    (void)dl_iterate_phdr(find_base, &base);
    printf("first=0x%" PRIx64 " second=0x%" PRIx64 "\n", first - base, second - base);
    (void)fflush(stdout);
    producer_create(&p, argv[3], &(struct stream_geometry){0}, meta);
    producer_start_writer(&p, argv[1], argv[2]);
    producer_attach(&p);
    image(base);
    put_code(1, first + 16, "\x48\x8b\x07", 3);
    put_code(2, first + 20, "\x90", 1);
    put_code(3, second + 16, "\x48\x89\x07", 3);
    put_code(4, second + 20, "\xc3", 1);
    if (strcmp(argv[5], "args") == 0)
        arguments(samples);
    else if (strcmp(argv[5], "wide") == 0)
        wide(samples, argc > 7 ? argv[7] : "/nowhere");
    else
        plain(samples);
    return producer_finish(&p, STREAM_FINISHED) == WRITER_CLOSED ? 0 : 1;
}
