/* SPDX-License-Identifier: BSD-3-Clause
 * What a killed writer left in DIR/ctl. */
#ifndef REGTRACE_WRITER_REPAIR_LEFTOVER_H
#define REGTRACE_WRITER_REPAIR_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>

/* Remove socket, path and requests of this process, whose writer is gone, and the folder when nothing is left in it. here: it ran
 * on this machine. */
void leftover_remove(const char *dir, uint32_t pid, bool here);

#endif
