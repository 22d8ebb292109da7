/* SPDX-License-Identifier: BSD-3-Clause
 * Finds a program as execvp() does, and checks whether a library can be preloaded into it. */
#include "tools/run/run.h"

#include "base/identity.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPT_DEPTH 4

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#define OWN_MACHINE_NAME "x86-64"
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#define OWN_MACHINE_NAME "aarch64"
#else
#define OWN_MACHINE EM_NONE
#define OWN_MACHINE_NAME "this machine"
#endif

static bool is_executable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Returns the length of the PATH entry at p, without the colon. */
static size_t path_entry(const char *p)
{
    return strcspn(p, ":");
}

static int find_in_path(const char *word, char out[PATH_MAX])
{
    const char *p = getenv("PATH");
    if (p == NULL || p[0] == '\0')
        p = "/usr/local/bin:/bin:/usr/bin";
    for (;; p++) {
        size_t n = path_entry(p);
        int length = n == 0 ? snprintf(out, PATH_MAX, "./%s", word)
                            : snprintf(out, PATH_MAX, "%.*s/%s", (int)n, p, word);
        if (length > 0 && length < PATH_MAX && is_executable(out))
            return 0;
        p += n;
        if (*p == '\0')
            return -ENOENT;
    }
}

static int find_program(const char *word, char out[PATH_MAX], struct rt_error *e)
{
    struct stat st;
    if (strchr(word, '/') == NULL) {
        if (find_in_path(word, out) == 0)
            return 0;
        rt_error_set(e, "the program \"%s\" is in no folder of PATH%s", word,
                     is_executable(word) ? "; it is in this folder: write ./ in front of it" : "");
        return -ENOENT;
    }
    if (snprintf(out, PATH_MAX, "%s", word) >= PATH_MAX) {
        rt_error_set(e, "the program's path is too long");
        return -ENAMETOOLONG;
    }
    if (stat(word, &st) != 0) {
        int rc = -errno;
        rt_error_set(e, "the program %s cannot be found: %s", word, strerror(-rc));
        return rc;
    }
    if (S_ISDIR(st.st_mode)) {
        rt_error_set(e, "%s is a folder; name the program in it", word);
        return -EISDIR;
    }
    if (!S_ISREG(st.st_mode)) {
        rt_error_set(e, "%s is no file, but a FIFO, a socket or a device; name a program", word);
        return -EACCES;
    }
    if (!is_executable(word)) {
        rt_error_set(e, "%s is not executable; chmod +x makes it so", word);
        return -EACCES;
    }
    return 0;
}

/* Refuses a program that gains rights when it starts: the loader then ignores LD_PRELOAD (ld.so(8),
 * secure execution). */
static int check_rights(const char *path, struct rt_error *e)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return -errno;
    bool user = (st.st_mode & S_ISUID) != 0 && st.st_uid != getuid();
    bool group = (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid();
    if (user || group) {
        rt_error_set(
            e, "%s is set%cid: the loader ignores LD_PRELOAD there; run a copy without that bit",
            path, user ? 'u' : 'g');
        return -EPERM;
    }
    if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0) {
        rt_error_set(
            e,
            "%s has file capabilities: the loader ignores LD_PRELOAD there; run a copy without "
            "them (setcap -r)",
            path);
        return -EPERM;
    }
    return 0;
}

static int elf_wrong(const char *path, struct rt_error *e, const char *why)
{
    rt_error_set(e, "%s cannot be traced by preloading: %s", path, why);
    return -ENOEXEC;
}

/* Looks for PT_INTERP. Checks every offset in the file before using it. */
static int check_headers(int fd, const char *path, const Elf64_Ehdr *h, struct rt_error *e)
{
    if (h->e_phentsize != sizeof(Elf64_Phdr))
        return elf_wrong(path, e, "its program headers are damaged");
    for (unsigned i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p;
        off_t at = (off_t)(h->e_phoff + (uint64_t)i * sizeof p);
        if (at < 0 || pread(fd, &p, sizeof p, at) != (ssize_t)sizeof p)
            return elf_wrong(path, e, "its program headers are cut");
        if (p.p_type == PT_INTERP)
            return 0;
    }
    return elf_wrong(path, e,
                     h->e_entry == 0 ? "it is a library; name a program"
                                     : "it is a library, or a program that is statically linked, "
                                       "so that no loader runs in it; link it dynamically "
                                       "(without -static, -static-pie)");
}

int program_check_elf(const char *path, struct rt_error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int rc = -errno;
        if (rc == -EACCES) /* executable but not readable: the loader can still run it */
            return 0;
        rt_error_set(e, "%s cannot be read: %s", path, strerror(-rc));
        return rc;
    }
    Elf64_Ehdr h;
    int rc = 0;
    if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
        rc = elf_wrong(path, e, "it is neither an ELF program nor a script");
    else if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != OWN_MACHINE)
        rc = elf_wrong(path, e, "it is not a 64-bit program for " OWN_MACHINE_NAME);
    else if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
        rc = elf_wrong(path, e, "it is no program (an object or a core file)");
    else
        rc = check_headers(fd, path, &h, e);
    (void)close(fd);
    return rc != 0 ? rc : check_rights(path, e);
}

/* Finds the interpreter in a "#!" line; looks up NAME of `env NAME` in PATH. Returns false if the
 * file is no script. */
static bool script_interpreter(const char *path, char out[PATH_MAX], char word[256])
{
    char line[512];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    char *save = NULL, *first = strtok_r(line + 2, " \t", &save);
    if (first == NULL)
        return false;
    const char *base = identity_base_name(first);
    char *second = strtok_r(NULL, " \t", &save);
    if (second != NULL && strcmp(second, "-S") == 0)
        second = strtok_r(NULL, " \t", &save);
    bool by_env = strcmp(base, "env") == 0 && second != NULL;
    (void)snprintf(word, 256, "%s", by_env ? second : first);
    if (by_env && find_in_path(second, out) == 0)
        return true;
    (void)snprintf(out, PATH_MAX, "%s", by_env ? second : first);
    return true;
}

static int look_past_scripts(struct program *p, struct rt_error *e)
{
    char at[PATH_MAX], next[PATH_MAX], word[256];
    (void)snprintf(at, sizeof at, "%s", p->path);
    for (int depth = 0; script_interpreter(at, next, word); depth++) {
        if (depth == SCRIPT_DEPTH) {
            rt_error_set(e, "%s: scripts that interpret scripts, more than %d deep", p->path,
                         depth);
            return -ELOOP;
        }
        if (access(next, X_OK) != 0) {
            rt_error_set(e, "the script %s wants the interpreter %s, which cannot be run: %s", at,
                         word, strerror(errno));
            return -ENOENT;
        }
        (void)snprintf(at, sizeof at, "%s", next);
    }
    if (realpath(at, p->executable) == NULL) {
        int rc = -errno;
        rt_error_set(e, "%s: %s", at, strerror(-rc));
        return rc;
    }
    return 0;
}

int program_look(struct program *p, const char *word, struct rt_error *e)
{
    memset(p, 0, sizeof *p);
    int rc = find_program(word, p->path, e);
    if (rc != 0)
        return rc;
    rc = look_past_scripts(p, e);
    if (rc != 0)
        return rc;
    (void)snprintf(p->name, sizeof p->name, "%.63s", identity_base_name(p->executable));
    rc = program_check_elf(p->executable, e);
    return rc == 0 ? program_look_sanitizer(p->executable, p->runtime, e) : rc;
}
