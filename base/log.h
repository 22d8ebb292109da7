/* SPDX-License-Identifier: BSD-3-Clause
 * Messages to people: one line each in DIR/regtrace.log, from any context, never through stdio. */
#ifndef REGTRACE_BASE_LOG_H
#define REGTRACE_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* The level is a word of the line. Error: recording ended or lost something. Warning: legal but
 * suspicious. Note: for the record. */
enum log_level { LOG_ERROR, LOG_WARNING, LOG_NOTE };

/* Sets the folder for all further lines; `rank` and `pid` begin each line. Copies `dir`. If `dir`
 * is NULL, lines go to stderr. */
void log_set_folder(const char *dir, int rank, uint32_t pid);

/* Appends the line "rank 3 pid 77 error: text" with one write (O_APPEND), so that lines of several
 * ranks do not mix. If the file cannot be written, the first line of the process goes to stderr,
 * and later ones are lost. Notes never go to stderr. Opens the file for each line, so that no
 * descriptor stays open in the program. Async-signal-safe. Does not change errno. */
void log_line(enum log_level level, const char *text);

/* As log_line(), with ": detail" after the text. `detail` may be NULL. */
void log_detail(enum log_level level, const char *text, const char *detail);

/* Returns true if the log in the run's folder has lines and this process may write to it. (If it
 * may not, the writer's last lines may be missing.) */
bool log_has_lines(void);

/* Maps memory that this process shares with the processes that it forks. A warning or an error
 * that cannot be appended to the log file is stored there, in addition to stderr: a child may
 * have lost access to the folder (chroot, another user). Without that memory such lines go to
 * stderr alone. */
void log_share(void);

/* Appends the stored lines to the log, if this process can write to it. */
void log_take_shared(void);

#endif
