/* SPDX-License-Identifier: BSD-3-Clause
 * Where an export is written to. What was there stays until the new one is whole. */
#ifndef REGTRACE_TOOLS_EXPORT_OUTPUT_H
#define REGTRACE_TOOLS_EXPORT_OUTPUT_H

#include "tools/export/export.h"

struct export_output {
    const struct export_format *format;
    char path[PATH_MAX], working[PATH_MAX + 16]; /* working: where the format writes to */
};

/* path: "-" is standard output. -EEXIST: something is there, and stays. */
RT_MUST_CHECK int export_output_begin(struct export_output *o, const char *path,
                                      const struct export_format *format, bool force,
                                      struct rt_error *e);
/* Move it to its place, or remove it where it is not whole. */
RT_MUST_CHECK int export_output_end(struct export_output *o, bool whole, struct rt_error *e);

#endif
