/* SPDX-License-Identifier: BSD-3-Clause
 * The folder OUT.parts and the small files in it: between parts.c, which knows what they are for, and the file system. */
#ifndef REGTRACE_TOOLS_STREAMS_PARTS_FOLDER_H
#define REGTRACE_TOOLS_STREAMS_PARTS_FOLDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What here-K says. */
struct part_here {
    uint64_t token; /* of this process, and no other */
    uint64_t start; /* of the process, as base/identity.h */
    uint32_t pid, unused;
    char host[72];
};

/* When here-K was last touched, as seen from here; all zero at first. */
struct part_watch {
    int64_t touched_s, touched_ns;
    uint64_t seen_ns;
};

/* The first makes the folder, or empties that of a job which is gone; the others take the name. All are removed on SIGINT, SIGTERM and
 * SIGHUP from here on, each process its own files. -EBUSY: a job that lives has it. */
RT_MUST_CHECK int parts_open_folder(const char *out, uint32_t number, const struct part_here *self,
                                    struct rt_error *e);
const char *parts_folder(void);
/* This process's files; all: those of all, and the folder. */
void parts_remove(bool all);

RT_MUST_CHECK int parts_write(const char *what, uint32_t number, const void *bytes, size_t size,
                              struct rt_error *e);
/* How many, at most size; -errno */
long parts_read_bytes(const char *what, uint32_t number, void *bytes, size_t size);
/* As text, with a NUL. */
long parts_read(const char *what, uint32_t number, char *text, size_t room);

RT_MUST_CHECK int part_here_write(uint32_t number, const struct part_here *here,
                                  struct rt_error *e);
RT_MUST_CHECK int part_here_read(uint32_t number, struct part_here *here);
/* Does it live? On this host by its process, on another by its file, which it touches every few seconds. */
bool part_is_there(const struct part_here *other, struct part_watch *watch, uint32_t number,
                   const struct part_here *self);

#endif
