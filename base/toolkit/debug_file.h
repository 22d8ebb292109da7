/* SPDX-License-Identifier: BSD-3-Clause
 * Separate debug files of stripped images. Include it where libdw is there. */
#ifndef REGTRACE_BASE_TOOLKIT_DEBUG_FILE_H
#define REGTRACE_BASE_TOOLKIT_DEBUG_FILE_H

#include "base/identity.h"

#include <elfutils/libdwfl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* Is there something at this path that is no regular file? */
static inline bool debug_file_is_special(const char *before, const char *folder, int length,
                                         const char *after, const char *name)
{
    char path[2 * PATH_MAX];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s%.*s%s%s", before, length, folder, after, name);
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* Does what dwfl_standard_find_debuginfo(3) does, as Dwfl_Callbacks.find_debuginfo. Finds nothing
 * if a FIFO or the like has the name of the debug file: libdwfl would wait for its other end. */
static inline int debug_file_find(Dwfl_Module *module, void **user, const char *name,
                                  Dwarf_Addr base, const char *file, const char *link,
                                  GElf_Word checksum, char **found)
{
    int length = file != NULL ? (int)(identity_base_name(file) - file) : 0;
    if (file != NULL && link != NULL &&
        (debug_file_is_special("", file, length, "", link) ||
         debug_file_is_special("", file, length, ".debug/", link) ||
         debug_file_is_special("/usr/lib/debug", file, length, "", link)))
        return -1;
    return dwfl_standard_find_debuginfo(module, user, name, base, file, link, checksum, found);
}

#endif
