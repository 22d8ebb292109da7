/* SPDX-License-Identifier: BSD-3-Clause
 * Replays the fuzz corpus as a normal test: no input may make the target abort, and the corpus must
 * exist. Replays files that are given as arguments instead of the corpus. */
#include <dirent.h>
#include <stdlib.h>

#include "t/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const char *path, const char *name)
{
    static uint8_t data[1 << 20];
    FILE *stream = fopen(path, "rb");
    size_t size = stream != NULL ? fread(data, 1, sizeof data, stream) : 0;
    if (stream != NULL)
        fclose(stream);
    diag("%s", name); /* names the input in case of an abort */
    ok(stream != NULL && LLVMFuzzerTestOneInput(data, size) == 0, "%s, %zu bytes", name, size);
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++)
        replay(arguments[i], arguments[i]);
    if (count > 1)
        return done_testing();
    const char *source = getenv("REGTRACE_SOURCE");
    char folder[4096], path[8192];
    snprintf(folder, sizeof folder, "%s/t/controller/corpus", source != NULL ? source : ".");
    struct dirent **entries;
    int found = scandir(folder, &entries, NULL, alphasort), replayed = 0;
    for (int i = 0; i < found; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
            replay(path, entries[i]->d_name);
            replayed++;
        }
        free(entries[i]);
    }
    if (found >= 0)
        free(entries);
    ok(replayed > 20, "the corpus is there (%d inputs in %s)", replayed, folder);
    return done_testing();
}
