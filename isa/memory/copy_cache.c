/* SPDX-License-Identifier: BSD-3-Clause
 * Caches instrumented copies and skeletons. A cache file has: struct copy_cache_head, the key, the
 * output, copies, skeleton. The program executes the copies, so damage must be found. */
#include "isa/memory/copy_cache.h"

#include "base/format/copy.h"
#include "base/hash.h"
#include "base/sys.h"
#include "base/toolkit/map.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_MAGIC "rtkept2"

struct copy_cache_head {
    char magic[8];
    uint64_t key, said, copies, skeleton; /* sizes in bytes */
    uint64_t check;                       /* hash_checksum() of all that follows */
};

/* The key identifies this program's file, since another build may make other copies. */
static bool make_key(struct copy_cache *k, const char *options, size_t bytes)
{
    struct stat st;
    FILE *out = open_memstream(&k->key, &k->key_bytes);
    if (out == NULL)
        return false;
    bool good = stat("/proc/self/exe", &st) == 0;
    if (good)
        (void)fprintf(out, "%d %lld %lld.%09ld %llu ", COPIES_VERSION, (long long)st.st_size,
                      (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                      (unsigned long long)st.st_ino);
    good = good && fwrite(options, 1, bytes, out) == bytes;
    return fclose(out) == 0 && good;
}

static bool put_file(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_CREAT | O_TRUNC, 0666);
    bool good = fd >= 0 && sys_write_all(fd, bytes, n) == 0;
    return fd >= 0 && close(fd) == 0 && good;
}

static bool deliver(const struct copy_cache *k, const char *copies, const char *skeleton)
{
    size_t n;
    const char *bytes = cache_map(k->path, &n);
    const struct copy_cache_head *h = (const void *)bytes;
    if (bytes == NULL)
        return false;
    const char *said = bytes + sizeof *h + k->key_bytes;
    bool good = n >= sizeof *h && memcmp(h->magic, KEPT_MAGIC, sizeof KEPT_MAGIC) == 0 &&
                h->key == k->key_bytes && h->said < n && h->copies < n && h->skeleton < n &&
                n == sizeof *h + h->key + h->said + h->copies + h->skeleton &&
                memcmp(bytes + sizeof *h, k->key, k->key_bytes) == 0 &&
                h->check == hash_checksum(bytes + sizeof *h, n - sizeof *h) &&
                put_file(copies, said + h->said, h->copies) &&
                put_file(skeleton, said + h->said + h->copies, h->skeleton) &&
                fwrite(said, 1, h->said, stdout) == h->said;
    (void)munmap((void *)bytes, n); /* NOLINT: munmap() takes no const */
    return good;
}

static void forget(struct copy_cache *k)
{
    cache_unlock(&k->cache);
    if (k->image != NULL)
        image_close(k->image);
    free(k->key);
    *k = (struct copy_cache){.cache = {.lock = -1}, .out = -1, .said = -1};
}

bool copy_cache_begin(struct copy_cache *k, const char *image, const char *options, size_t bytes,
                      const char *copies, const char *skeleton)
{
    struct rt_error e;
    *k = (struct copy_cache){.out = -1, .said = -1};
    cache_open(&k->cache, NULL);
    k->image = k->cache.folder[0] != '\0' ? image_open(image, &e) : NULL;
    if (k->image == NULL || !make_key(k, options, bytes) ||
        !cache_path_of(&k->cache, k->image, k->key, k->key_bytes, "copies", k->path)) {
        forget(k);
        return false;
    }
    bool done = deliver(k, copies, skeleton);
    if (!done) {
        cache_lock(&k->cache, k->image);
        done = deliver(k, copies, skeleton); /* made by the process that held the lock */
    }
    if (done) {
        forget(k);
        return true;
    }
    (void)fflush(stdout);
    k->out = dup(STDOUT_FILENO);
    k->said = memfd_create("regtrace-said", MFD_CLOEXEC);
    if (k->out < 0 || k->said < 0 || dup2(k->said, STDOUT_FILENO) < 0) {
        if (k->out >= 0)
            (void)close(k->out);
        if (k->said >= 0)
            (void)close(k->said);
        forget(k);
    }
    return false;
}

static void store(const struct copy_cache *k, const char *said, size_t said_bytes,
                  const char *copies, const char *skeleton)
{
    struct copy_cache_head h = {.magic = KEPT_MAGIC, .key = k->key_bytes, .said = said_bytes};
    const char *code = map_path(copies, &h.copies), *text = map_path(skeleton, &h.skeleton);
    size_t n = sizeof h + h.key + h.said + h.copies + h.skeleton;
    char *bytes = code != NULL && text != NULL ? malloc(n) : NULL, *to = bytes;
    if (bytes != NULL) {
        to = (char *)mempcpy(to, &h, sizeof h);
        to = mempcpy(to, k->key, h.key);
        to = mempcpy(to, said, h.said);
        to = mempcpy(to, code, h.copies);
        (void)mempcpy(to, text, h.skeleton);
        h.check = hash_checksum(bytes + sizeof h, n - sizeof h);
        memcpy(bytes, &h, sizeof h);
        (void)cache_put(k->cache.folder, k->path, (const uint8_t *)bytes, n);
    }
    free(bytes);
    if (code != NULL)
        (void)munmap((void *)code, h.copies); /* NOLINT */
    if (text != NULL)
        (void)munmap((void *)text, h.skeleton); /* NOLINT */
}

void copy_cache_end(struct copy_cache *k, bool good, const char *copies, const char *skeleton)
{
    size_t n;
    if (k->out < 0)
        return;
    good = fflush(stdout) == 0 && good;
    (void)dup2(k->out, STDOUT_FILENO);
    (void)close(k->out);
    const char *said = map_fd(k->said, &n);
    if (said != NULL) {
        (void)sys_write_all(STDOUT_FILENO, said, n);
        if (good)
            store(k, said, n, copies, skeleton);
        (void)munmap((void *)said, n); /* NOLINT */
    }
    (void)close(k->said);
    forget(k);
}
