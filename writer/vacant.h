/* SPDX-License-Identifier: BSD-3-Clause
 * The other side of rt_run_remove_empty(): a writer that starts in a folder which was just given up. */
#ifndef REGTRACE_WRITER_VACANT_H
#define REGTRACE_WRITER_VACANT_H

#include "writer/writer.h"

#include <limits.h>

/* Make the folder and its job file again where they are gone: the traced process chose it, then another one of the
 * job ended without having recorded anything. */
void vacant_restore(const char *dir, const char *job);

#endif
