/* SPDX-License-Identifier: BSD-3-Clause
 * Removes what a killed writer left in DIR/ctl. */
#ifndef REGTRACE_WRITER_REPAIR_LEFTOVER_CTL_H
#define REGTRACE_WRITER_REPAIR_LEFTOVER_CTL_H

#include <stdbool.h>
#include <stdint.h>

/* Removes the socket, the .path file and the requests of process `pid`, whose writer is gone, and
 * the folder if nothing is left in it. `here`: the process ran on this machine. */
void leftover_remove(const char *dir, uint32_t pid, bool here);

#endif
