/* SPDX-License-Identifier: BSD-3-Clause
 * Reads a skeleton's C as text (isa/memory/source/source_file.c): the position of each function,
 * and which functions call which directly. */
#ifndef REGTRACE_TOOLS_MEMORY_COMPILE_SKELETON_TEXT_H
#define REGTRACE_TOOLS_MEMORY_COMPILE_SKELETON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bound for numbers of functions. Functions beyond it are not found, and replay reports that. */
#define SKEL_FUNCTIONS_MOST (1u << 22)

struct skel_function {
    uint32_t number;
    size_t at, bytes; /* position in the text */
    bool loops;
};

struct skel_text {
    char *text;
    /* Length up to the end of the last complete function. */
    size_t bytes;
    bool cut;                        /* the text continues after `bytes` */
    size_t head;                     /* bytes before the first function */
    struct skel_function *functions; /* in the order of the text */
    size_t count, room;
    uint32_t (*calls)[2]; /* from, to */
    size_t call_count, call_room;
};

/* Reads a skeleton. Returns false with errno set if it cannot be read. The caller calls
 * skel_text_free() in any case. */
bool skel_text_read(struct skel_text *t, const char *path);
void skel_text_free(struct skel_text *t);

#endif
