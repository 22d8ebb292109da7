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

/* Is the log in the run's folder not empty, and may this process write to it? (Otherwise the
 * writer's last lines may be missing.) */
bool log_has_lines(void);

/* Maps memory that this process shares with the processes that it forks. A line that cannot be
 * appended to the log file is kept there, in addition to stderr: a child may have lost access to
 * the folder (chroot, another user). Without memory such lines go to stderr alone. */
void log_share(void);

/* Appends the kept lines to the log, if this process can write to it. */
void log_take_shared(void);

#endif
