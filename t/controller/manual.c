/* SPDX-License-Identifier: BSD-3-Clause
 * Checks the manual: it has every name of the language, and each of its example chains parses. */
#include <stdlib.h>

#include "controller/language/language.h"
#include "t/controller/helpers.h"
#include "t/tap.h"

static void check_names(const char *manual, const char *const *table, const char *what)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "`%s`", table[i]);
        ok(strstr(manual, wanted) != NULL, "%s %s is in the manual", what, table[i]);
    }
}

/* Parses all chains of one ```chain block together, since some wait for others; returns their
 * number. */
static unsigned check_block(const char *block, size_t length)
{
    struct rt_error err = {.text = ""};
    char *chains = strndup(block, length);
    struct ctl_config *config = config_of(chains, NULL, &err);
    unsigned count = config != NULL ? ctl_config_chain_count(config) : 0;
    /* All chains together may have one uniform; the block has one. */
    if (!ok(config != NULL, "a block of %u example chains", count))
        diag("%s", err.text);
    ctl_config_free(config);
    free(chains);
    return count;
}

int main(void)
{
    const char *source = getenv("REGTRACE_SOURCE");
    char path[4096];
    int status = 0;
    struct rt_error err = {.text = ""};
    snprintf(path, sizeof path, "%s/share/doc/control.md", source != NULL ? source : ".");
    char *manual = file_read(path, &status, &err);
    if (!ok(manual != NULL, "the manual can be read")) {
        diag("%s", err.text);
        return done_testing();
    }
    check_names(manual, event_names, "event");
    check_names(manual, type_names, "type");
    unsigned chains = 0;
    for (const char *at = manual; (at = strstr(at, "```chain\n")) != NULL;) {
        at += strlen("```chain\n");
        const char *end = strstr(at, "```");
        chains += check_block(at, (size_t)(end - at));
        at = end;
    }
    ok(chains > 10, "%u example chains", chains);
    free(manual);
    return done_testing();
}
