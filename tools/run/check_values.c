/* SPDX-License-Identifier: BSD-3-Clause
 * Checks -values before the program starts. */
#include "base/toolkit/beside.h"
#include "base/format/value_protocol.h"
#include "pmu/pmu.h"
#include "tools/helper_process.h"
#include "tools/run/run.h"

#include <errno.h>
#include <string.h>

/* Has a separate process load the plug-in and make its specification. */
static int check_plugin(const char *program, const char *plugin, struct rt_error *e)
{
    char line[sizeof e->text - 64];
    const char *const words[] = {program, "--check", plugin, NULL};
    const struct helper h = {
        .words = words, .in = HELPER_NULL, .out = HELPER_NULL, .err = HELPER_CAPTURED};
    int rc = helper_capture(&h, line, sizeof line);
    line[strcspn(line, "\n")] = '\0';
    if (rc == 0)
        return 0;
    if (rc < 0) {
        rt_error_set(e, "%s cannot be started: %s", program, strerror(-rc));
        return rc;
    }
    rt_error_set(e, VALUES_REFUSED ": %s", line[0] != '\0' ? line : VALUES_CRASHED);
    return -EINVAL;
}

int run_check_values(const struct options *o, bool one_window, const char *library,
                     struct rt_error *e)
{
    struct pmu_sample_spec spec;
    char program[PATH_MAX];
    if (o->text[OPT_values][0] == '\0')
        return 0;
    int rc = pmu_wanted_values(o, one_window, &spec, e);
    if (rc != 0)
        return rc;
    if (!beside_library(library, "regtrace-vprofiler", program)) {
        rt_error_set(e, VALUES_MISSING);
        return -ENOENT;
    }
    return check_plugin(program, o->text[OPT_values], e);
}
