/* SPDX-License-Identifier: BSD-3-Clause
 * Checks files that were complete once: recover must name those that it cannot repair. */
#include "writer/repair/verify.h"

#include "base/hash.h"
#include "base/toolkit/map.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK 65536u
/* A small file is read quickly when it is closed. Larger files are nearly all compressed data,
 * which have checksums. */
#define CHECKSUM_LIMIT (UINT64_C(64) << 20)

/* Returns the FNV-1a checksum by words of 8 bytes, never 0: it finds accidents, not forgery.
 * Returns 0 if the file is too large or cannot be read. */
static uint64_t checksum_of(const char *path, uint64_t bytes)
{
    uint64_t sum = HASH_BEGIN, words[8192];
    size_t got;
    FILE *f = bytes > CHECKSUM_LIMIT ? NULL : fopen_regular(path);
    if (f == NULL)
        return 0;
    do {
        memset(words, 0, sizeof words);
        got = fread(words, 1, sizeof words, f);
        for (size_t i = 0; i < (got + 7) / 8; i++)
            sum = hash_word(sum, words[i]);
    } while (got == sizeof words);
    bool failed = ferror(f) != 0;
    (void)fclose(f);
    return failed ? 0 : sum != 0 ? sum : 1;
}

void verify_note(struct claim *c)
{
    char path[PATH_MAX];
    struct stat st;
    if (claim_refresh(c) != 0)
        return;
    if (snprintf(path, sizeof path, "%s/%s", c->dir, c->file) >= (int)sizeof path ||
        stat(path, &st) != 0)
        return;
    c->summary.file_bytes = (uint64_t)st.st_size;
    c->summary.file_mtime_ns =
        (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    c->summary.checksum = checksum_of(path, c->summary.file_bytes);
}

/* Reads every event (rt_rank_open_file() has read the other tables). This finds most changes:
 * compressed rows that have changed do not decompress. */
static int read_whole(struct rt_rank *rank, const struct rt_recover_listener *listener,
                      uint64_t *rows, struct rt_error *e)
{
    struct rt_event *block = malloc(BLOCK * sizeof *block);
    size_t got = 1;
    int rc = block == NULL ? -ENOMEM : 0;
    for (*rows = 0; rc == 0 && got > 0; *rows += got) {
        rc = rt_rank_read_events(rank, *rows, BLOCK, block, &got, e);
        if (rc == 0 && listener->step != NULL)
            listener->step(listener->context, rt_rank_info(rank)->file, *rows + got,
                           rt_rank_info(rank)->event_count);
    }
    free(block);
    return rc;
}

void verify_file(const char *dir, const char *file, const struct claim *c,
                 const struct rt_recover_listener *listener, struct rt_recovered *result)
{
    char path[PATH_MAX];
    struct rt_error e = {{0}};
    struct rt_rank *rank = NULL;
    struct stat st;
    uint64_t rows = 0;
    (void)snprintf(result->file, sizeof result->file, "%s", file);
    (void)snprintf(path, sizeof path, "%s/%s", dir, file);
    if (stat(path, &st) != 0 && errno == ENOENT) {
        result->result = RT_RECOVER_MISSING;
        return;
    }
    if (c != NULL && c->summary.file_bytes > (uint64_t)st.st_size)
        rt_error_set(&e, "cut: it has %lld of %llu bytes", (long long)st.st_size,
                     (unsigned long long)c->summary.file_bytes);
    else if (rt_rank_open_file(&rank, path, &e) == 0 &&
             read_whole(rank, listener, &rows, &e) == 0 && c != NULL && rows != c->events)
        rt_error_set(&e, "it holds %llu of %llu events", (unsigned long long)rows,
                     (unsigned long long)c->events);
    if (e.text[0] == '\0' && c != NULL && c->summary.checksum != 0 &&
        checksum_of(path, (uint64_t)st.st_size) != c->summary.checksum)
        rt_error_set(&e, "its bytes are not those that its writer closed");
    if (rank != NULL && c == NULL && rt_rank_info(rank)->state == RT_FILE_ABANDONED)
        rt_error_set(&e, "its writer was killed, and .regtrace/ does not know it any more");
    rt_rank_close(rank);
    if (e.text[0] == '\0')
        return;
    char *advice = strstr(e.text, "; `regtrace recover`"); /* the reader's advice to use recover */
    if (advice != NULL)
        *advice = '\0';
    result->result = RT_RECOVER_DAMAGED;
    (void)snprintf(result->text, sizeof result->text, "%.500s", e.text);
}

/* Rank files without an entry were copied here, or .regtrace/ is not complete. */
bool verify_others(const char *dir, const struct claim *claims, size_t claim_count,
                   const struct rt_recover_listener *listener)
{
    struct rt_run *run;
    bool damaged = false;
    if (rt_run_open(&run, dir, &(struct rt_error){{0}}) != 0)
        return false;
    for (size_t i = 0; i < rt_run_count(run); i++) {
        struct rt_recovered result = {.result = RT_RECOVER_DONE};
        bool known = false;
        for (size_t k = 0; k < claim_count && !known; k++)
            known = strcmp(claims[k].file, rt_run_file(run, i)) == 0;
        if (!known)
            verify_file(dir, rt_run_file(run, i), NULL, listener, &result);
        damaged |= result.result == RT_RECOVER_DAMAGED;
        if (result.result == RT_RECOVER_DAMAGED && listener->report != NULL)
            listener->report(listener->context, &result);
    }
    rt_run_close(run);
    return damaged;
}
