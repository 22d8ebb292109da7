/* SPDX-License-Identifier: BSD-3-Clause
 * Where the toolkit's programs are: the library and regtrace look in the same places. */
#include "base/beside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool beside_library(const char *library, const char *name, char path[PATH_MAX])
{
    static const char *const places[] = {"",
                                         "../libexec/regtrace/",
                                         "../../libexec/regtrace/",
                                         "../../writer/",
                                         "../writer/",
                                         "../../pmu/",
                                         "../pmu/",
                                         "../../isa/",
                                         "../isa/"};
    const char *slash = strrchr(library, '/');
    int folder = slash != NULL ? (int)(slash - library) : 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int n = snprintf(path, PATH_MAX, "%.*s/%s%s", folder, library, places[i], name);
        if (n > 0 && n < PATH_MAX && access(path, X_OK) == 0)
            return true;
    }
    (void)snprintf(path, PATH_MAX, "%.*s/%s", folder, library, name);
    return false;
}
