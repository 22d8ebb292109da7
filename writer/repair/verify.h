/* SPDX-License-Identifier: BSD-3-Clause
 * Compares complete rank files with what their writers noted about them. */
#ifndef REGTRACE_WRITER_REPAIR_VERIFY_H
#define REGTRACE_WRITER_REPAIR_VERIFY_H

#include "writer/claim.h"
#include "writer/writer.h"

/* Notes the present state of the claim's complete file in c->summary: size, time, and a checksum of
 * up to 64 MiB. */
void verify_note(struct claim *c);

/* Reads `file` of the folder completely. result->result becomes RT_RECOVER_DAMAGED, with the text,
 * or RT_RECOVER_MISSING; it does not change if the file is as it was. `c`: the entry of its writer,
 * NULL if there is none. */
void verify_file(const char *dir, const char *file, const struct claim *c,
                 const struct rt_recover_listener *listener, struct rt_recovered *result);

/* Does the same for rank files that no entry names, and reports those that are damaged. Returns
 * true if any was. */
bool verify_others(const char *dir, const struct claim *claims, size_t claim_count,
                   const struct rt_recover_listener *listener);

#endif
