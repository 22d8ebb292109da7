/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the folder OUT.parts and the small files in it for joint_processes.c, which knows their
 * purpose. */
#ifndef REGTRACE_TOOLS_STREAMS_JOINT_FOLDER_H
#define REGTRACE_TOOLS_STREAMS_JOINT_FOLDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The content of here-K. */
struct part_here {
    uint64_t token; /* differs in each process */
    uint64_t start; /* of the process, as in base/identity.h */
    uint32_t pid, unused;
    char host[72];
};

/* When here-K was last touched: its modification time, and when this process first saw that time.
 * All zero at first. */
struct part_watch {
    int64_t touched_s, touched_ns;
    uint64_t seen_ns;
};

/* Sets the folder's name. The first process makes the folder, or empties one whose job is gone, and
 * writes its here-0. From now on this process touches its here-K every few seconds, and
 * joint_signalled() removes its files. Returns 0 or -errno: -EBUSY if a live job uses the
 * folder. */
RT_MUST_CHECK int joint_open_folder(const char *out, uint32_t number, const struct part_here *self,
                                    struct rt_error *e);
const char *joint_folder(void);
/* Removes this process's files; if `all`, those of all processes and the folder. */
void joint_remove(bool all);

RT_MUST_CHECK int joint_write(const char *what, uint32_t number, const void *bytes, size_t size,
                              struct rt_error *e);
/* Returns the number of bytes read, at most `size`, or -errno. */
long joint_read_bytes(const char *what, uint32_t number, void *bytes, size_t size);
/* Reads a text of at most room - 1 bytes and ends it with a NUL. */
long joint_read(const char *what, uint32_t number, char *text, size_t room);

RT_MUST_CHECK int part_here_write(uint32_t number, const struct part_here *here,
                                  struct rt_error *e);
RT_MUST_CHECK int part_here_read(uint32_t number, struct part_here *here);
/* Returns whether the process lives: on this host by its pid and start time, on another host by its
 * here-K, which it touches every few seconds. */
bool part_is_there(const struct part_here *other, struct part_watch *watch, uint32_t number,
                   const struct part_here *self);

#endif
