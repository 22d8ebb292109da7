/* SPDX-License-Identifier: BSD-3-Clause
 * Finds out whether the writer of an entry lives, and this host's name and boot id. */
#include "writer/claim.h"

#include "base/identity.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int claim_writer_lives(const struct claim *c, const char *host, const char *boot_id)
{
    if (strcmp(c->boot_id, boot_id) != 0)
        return strcmp(c->host, host) == 0 ? 0 : -1; /* 0: the host has rebooted; -1: another host */
    uint64_t start = identity_start_time(c->writer_pid);
    return start != 0 && start == c->writer_start_time;
}

void claim_this_host(char host[65], char boot_id[40])
{
    host[0] = '\0';
    if (gethostname(host, 65) != 0)
        (void)snprintf(host, 65, "unknown");
    host[64] = '\0';
    boot_id[0] = '\0';
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f == NULL)
        return;
    if (fgets(boot_id, 40, f) == NULL)
        boot_id[0] = '\0';
    (void)fclose(f);
    boot_id[strcspn(boot_id, "\n")] = '\0';
}
