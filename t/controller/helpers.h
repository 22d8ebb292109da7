/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by the controller's tests: a collector of warnings, and configs from chains. */
#ifndef REGTRACE_T_CONTROLLER_HELPERS_H
#define REGTRACE_T_CONTROLLER_HELPERS_H

#include <stdlib.h>
#include <string.h>

#include "controller/language/language.h"

/* Warnings, one a line. */
struct warnings {
    char text[8192];
    unsigned count;
};

static inline void warnings_collect(void *context, const char *text)
{
    struct warnings *warnings = context;
    warnings->count++;
    strncat(warnings->text, text, sizeof warnings->text - strlen(warnings->text) - 2);
    strcat(warnings->text, "\n");
}

/* Returns the config of `chains`, which are written as in REGTRACE_CONTROL, or NULL with the reason
 * in `err`. */
static inline struct ctl_config *config_of(const char *chains, struct warnings *warnings,
                                           struct rt_error *err)
{
    struct ctl_config *config = NULL;
    struct ctl_builder *builder =
        ctl_builder_create(warnings != NULL ? warnings_collect : NULL, warnings);
    if (builder == NULL)
        abort();
    if (ctl_builder_add_list(builder, chains, "REGTRACE_CONTROL", err) != 0 ||
        ctl_builder_finish(builder, NULL, &config, err) != 0)
        config = NULL;
    ctl_builder_free(builder);
    return config;
}

#endif
