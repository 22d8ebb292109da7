/* SPDX-License-Identifier: BSD-3-Clause
 * Messages to people: one line each into DIR/regtrace.log, from any context, never from stdio. */
#ifndef REGTRACE_BASE_LOG_H
#define REGTRACE_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Levels: what the line's second word says. error: recording ended or lost something; warning: legal but suspicious;
 * note: for the record. */
enum log_level { LOG_ERROR, LOG_WARNING, LOG_NOTE };

/* Where lines go from now on; `rank` and `pid` head each line. Keeps a copy. dir NULL: stderr. */
void log_set_folder(const char *dir, int rank, uint32_t pid);

/* One line "rank 3 pid 77 error: text" appended by one write (O_APPEND): lines of many ranks do not mix. Where the file
 * cannot be written, the first line of the process goes to stderr, later ones nowhere. Async-signal-safe; keeps
 * errno. The folder is opened anew each time: no descriptor stays in the program. */
void log_line(enum log_level level, const char *text);

/* The same with one %s-free piece behind: "text: detail" and a number when has_number. */
void log_detail(enum log_level level, const char *text, const char *detail);

/* Does the folder's log hold anything, and may this process write there? (Else the writer's last words may be missing.) */
bool log_has_lines(void);

/* Lines that the log's file does not take are kept in memory that this process shares with those that it forks, beside
 * stderr: a child may not reach the folder any more (chroot, another user). Where there is no memory they are not. */
void log_share(void);

/* Lines that are kept go to the log, where this process can write there. */
void log_take_shared(void);

#endif
