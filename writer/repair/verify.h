/* SPDX-License-Identifier: BSD-3-Clause
 * Holding complete rank files against what their writers noted of them. */
#ifndef REGTRACE_WRITER_REPAIR_VERIFY_H
#define REGTRACE_WRITER_REPAIR_VERIFY_H

#include "writer/claim.h"
#include "writer/writer.h"

/* Note in c->summary what the complete file of the claim is like now: size, time, and up to 64 MiB a checksum. */
void verify_note(struct claim *c);

/* Read `file` of the folder as a whole. result->result becomes RT_RECOVER_DAMAGED with the text, or RT_RECOVER_MISSING;
 * nothing is changed where it is as it was. `c`: the entry of its writer, NULL if there is none. */
void verify_file(const char *dir, const char *file, const struct claim *c,
                 const struct rt_recover_listener *listener, struct rt_recovered *result);

/* The same for rank files that no entry names; damaged ones are reported. True: there was one. */
bool verify_others(const char *dir, const struct claim *claims, size_t claim_count,
                   const struct rt_recover_listener *listener);

#endif
