/* SPDX-License-Identifier: BSD-3-Clause
 * The traced program as a child of the command. */
#ifndef REGTRACE_TOOLS_CHILD_H
#define REGTRACE_TOOLS_CHILD_H

/* Runs the command as a child and passes signals on to it. Returns its wait status, or -errno if it
 * could not start. */
int child_run(const char *path, char *const *command);

/* Ends this process as the child ended: with its exit code, or by its signal without a second core
 * file. */
_Noreturn void child_end_as(int status);

#endif
