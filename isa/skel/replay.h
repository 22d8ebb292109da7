/* SPDX-License-Identifier: BSD-3-Clause
 * Running a compiled skeleton over a recorded stream (isa/skel/stream.h): all accesses, in the order of execution. */
#ifndef REGTRACE_ISA_SKEL_REPLAY_H
#define REGTRACE_ISA_SKEL_REPLAY_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* As skeletons are compiled with it: isa/skel/prelude.c. */
struct skeleton_access {
    uint64_t pc, address;
    uint32_t bytes;
    uint8_t kind; /* 'R', 'W', 'M' */
    uint8_t zero[3];
};

struct skeleton {
    const uint8_t *in, *in_end;
    struct skeleton_access *out, *out_end;
    unsigned long long image, fs,
        gs; /* where the image of what is entered is loaded; the thread's segment bases */
    int (*call)(struct skeleton *s); /* runs what is called; not 0: the recording ends there */
    void (*more)(struct skeleton *s,
                 unsigned bytes);    /* so many are not there; does not return if they never come */
    int (*turn)(struct skeleton *s); /* all input is used up; not 0: for ever */
    void (*flush)(struct skeleton *s); /* there is no room for another access */
    unsigned long long values,
        outcomes; /* read so far, where they are compiled with SKELETON_COUNTS */
    void *host;
};

struct skeleton_function {
    unsigned long long address;
    int (*run)(struct skeleton *s);
    const char *name;
    unsigned number, image;
};

/* What a recording enters by its number; without `run` where it was not compiled. */
struct replay_function {
    int (*run)(struct skeleton *s);
    uint64_t image;
};

/* What a replay makes, a piece at a time. Not 0: that errno, and no more comes. */
typedef int (*replay_sink)(void *context, const struct skeleton_access *list, uint64_t count);

struct replay {
    struct replay_function *functions; /* by number; replay_load()'s */
    uint32_t function_count;
    const uint8_t *stream;
    uint64_t bytes;
    uint64_t fs, gs;
    bool cut; /* it may end anywhere, amid a value too */
    replay_sink sink;
    void *context;
    uint64_t accesses, entered; /* done */
    uint64_t values, outcomes;  /* read, if skeletons count them */
};

/* 0, or -errno with the text: the stream is damaged (-EINVAL), or what the sink said. Needs as much stack as the program had. */
RT_MUST_CHECK int replay_run(struct replay *r, struct rt_error *e);
/* A whole file, mapped to be read; it stays so. -EIO with the text where it cannot be, or is empty. */
RT_MUST_CHECK int replay_map(const char *path, const uint8_t **bytes, uint64_t *size,
                             struct rt_error *e);
/* A sink: a line for each access, "PC R|W|M BYTES ADDRESS", to standard output. */
int replay_print(void *context, const struct skeleton_access *list, uint64_t count);
/* A skeleton that was compiled to a shared object, whose first function has that number; it stays loaded. images[n] is where its image n is
 * loaded, of so many. */
RT_MUST_CHECK int replay_load(struct replay *r, const char *path, uint32_t first,
                              const uint64_t *images, uint32_t image_count, struct rt_error *e);

#endif
