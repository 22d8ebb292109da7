/* SPDX-License-Identifier: BSD-3-Clause
 * Caches compiled skeletons. A cached file is the shared object, then struct source_tail. Its code
 * runs in regtrace-isa: so its hash is checked first, and a copy is loaded that nobody else can
 * change. */
#include "tools/memory/compile/compiled_cache.h"

#include "base/toolkit/cache.h"
#include "base/hash.h"
#include "base/sys.h"
#include "base/toolkit/map.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define KEPT_MAGIC "rtskel1"

struct source_tail {
    char magic[8];
    uint64_t key[2], bytes, hash; /* bytes, hash: of the shared object */
};

/* --- the key ---------------------------------------------------------------------------------- */

static void add(struct compiled_cache *k, const void *bytes, size_t n)
{
    for (unsigned i = 0; i < 2; i++) {
        k->key[i] = hash_bytes(k->key[i], &n, sizeof n);
        k->key[i] = hash_bytes(k->key[i], bytes, n);
    }
}

static bool add_file(struct compiled_cache *k, const char *path)
{
    size_t n;
    const void *bytes = map_path(path, &n);
    if (bytes == NULL)
        return false;
    add(k, bytes, n);
    (void)munmap((void *)(uintptr_t)bytes, n);
    return true;
}

/* Finds a program as execvp(3) does. */
static bool find_program(const char *name, char path[PATH_MAX])
{
    const char *folders = strchr(name, '/') != NULL ? "" : getenv("PATH");
    if (strchr(name, '/') != NULL)
        return realpath(name, path) != NULL;
    for (; folders != NULL;
         folders = strchr(folders, ':') != NULL ? strchr(folders, ':') + 1 : NULL) {
        char one[PATH_MAX];
        int length = (int)strcspn(folders, ":");
        int n = snprintf(one, sizeof one, "%.*s/%s", length, folders, name);
        if (length > 0 && n < (int)sizeof one && access(one, X_OK) == 0)
            return realpath(one, path) != NULL;
    }
    return false;
}

/* Another build of the compiler may generate other code: adds its path, size, time and inode. */
static bool add_compiler(struct compiled_cache *k, const char *name)
{
    struct stat st;
    char path[PATH_MAX], text[PATH_MAX + 128];
    if (!find_program(name, path) || stat(path, &st) != 0)
        return false;
    int n =
        snprintf(text, sizeof text, "%s %lld %lld.%09ld %llu", path, (long long)st.st_size,
                 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (unsigned long long)st.st_ino);
    add(k, text, (size_t)n);
    return n < (int)sizeof text;
}

bool compiled_cache_key(struct compiled_cache *k, const char *folder, const char *const *words,
                        const char *some, const char *source)
{
    struct utsname machine;
    *k = (struct compiled_cache){.folder = folder, .key = {HASH_BEGIN, ~HASH_BEGIN}};
    if (uname(&machine) != 0 || !add_compiler(k, words[0]))
        return false;
    add(k, machine.machine, strlen(machine.machine));
    for (unsigned i = 1; words[i] != NULL; i++)
        add(k, words[i], strlen(words[i]));
    return add_file(k, some) &&
           add_file(k, source); /* the source contains its interface to the host */
}

/* --- files ------------------------------------------------------------------------------------ */

/* Sets folder and path of the cached file. number 0: in the run's folder; 1: in the user's
 * cache. */
static bool place(const struct compiled_cache *k, unsigned number, char folder[PATH_MAX],
                  char path[PATH_MAX])
{
    struct cache c = {.folder = ""};
    if (number == 1)
        cache_open(&c, NULL);
    int length = snprintf(folder, PATH_MAX, "%s", number == 0 ? k->folder : c.folder);
    int n = snprintf(path, PATH_MAX, "%s/%016" PRIx64 "%016" PRIx64 ".so", folder, k->key[0],
                     k->key[1]);
    return folder[0] != '\0' && length < PATH_MAX && n < PATH_MAX;
}

static bool is_whole(const struct compiled_cache *k, const uint8_t *bytes, size_t n)
{
    struct source_tail t;
    if (n < sizeof t)
        return false;
    memcpy(&t, bytes + n - sizeof t, sizeof t);
    return memcmp(t.magic, KEPT_MAGIC, sizeof KEPT_MAGIC) == 0 && t.bytes == n - sizeof t &&
           memcmp(t.key, k->key, sizeof t.key) == 0 &&
           hash_bytes(HASH_BEGIN, bytes, t.bytes) == t.hash;
}

static bool put_file(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0700);
    bool good = fd >= 0 && sys_write_all(fd, bytes, n) == 0;
    good = fd >= 0 && close(fd) == 0 && good;
    if (fd >= 0 && !good)
        (void)unlink(path);
    return good;
}

bool compiled_cache_get(const struct compiled_cache *k, const char *path)
{
    char folder[PATH_MAX], from[PATH_MAX];
    bool done = false;
    for (unsigned number = 0; number < 2 && !done; number++) {
        size_t n = 0;
        const void *bytes = place(k, number, folder, from) ? cache_map(from, &n) : NULL;
        done = bytes != NULL && is_whole(k, bytes, n) &&
               put_file(path, bytes, n - sizeof(struct source_tail));
        if (bytes != NULL)
            (void)munmap((void *)bytes, n); /* NOLINT: it takes no const */
    }
    return done;
}

void compiled_cache_put(const struct compiled_cache *k, const char *path)
{
    char folder[PATH_MAX], to[PATH_MAX];
    size_t n = 0;
    const void *bytes = cache_map(path, &n);
    uint8_t *whole = bytes != NULL ? malloc(n + sizeof(struct source_tail)) : NULL;
    if (whole != NULL) {
        struct source_tail t = {.magic = KEPT_MAGIC, .key = {k->key[0], k->key[1]}, .bytes = n};
        t.hash = hash_bytes(HASH_BEGIN, bytes, n);
        memcpy(whole, bytes, n);
        memcpy(whole + n, &t, sizeof t);
        bool done = false;
        for (unsigned number = 0; number < 2 && !done; number++)
            done = place(k, number, folder, to) && cache_put(folder, to, whole, n + sizeof t);
    }
    free(whole);
    if (bytes != NULL)
        (void)munmap((void *)bytes, n); /* NOLINT: it takes no const */
}
