/* SPDX-License-Identifier: BSD-3-Clause
 * odd clones | crowd N | names LIBRARY SYMBOL: makes threads and namespaces as libc's usual calls
 * do not. The output must be the same with and without the preload. */
#include "share/include/regtrace.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK = 1 << 18, CLONES = 8, MARKS = 100 };

static int cloned(void *number)
{
    for (long i = 1; i <= MARKS; i++)
        regtrace_mark_set((int)(intptr_t)number, i);
    (void)syscall(SYS_exit, 0);
    return 0;
}

/* Makes threads of the kernel that libc does not know. Each runs on the thread-local storage of its
 * creator, which waits. */
static int clones(void)
{
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                      CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;
    for (intptr_t n = 1; n <= CLONES; n++) {
        volatile int tid = 1;
        char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED ||
            clone(cloned, stack + STACK, flags, (void *)n, &tid, NULL, &tid) < 0)
            return 1;
        for (int now; (now = tid) != 0;)
            (void)syscall(SYS_futex, &tid, FUTEX_WAIT, now, NULL, NULL, 0);
        (void)munmap(stack, STACK);
    }
    regtrace_mark_set(99, 1);
    printf("clones ended\n");
    return 0;
}

static void *one_of_many(void *unused)
{
    regtrace_mark_set(1, 1);
    return unused;
}

static int crowd(int n)
{
    pthread_t thread;
    int made = 0;
    for (int i = 0; i < n; i++)
        if (pthread_create(&thread, NULL, one_of_many, NULL) == 0)
            made += pthread_join(thread, NULL) == 0;
    printf("threads %d\n", made);
    return 0;
}

/* Loads each copy of the library into its own namespace, with its own libc. */
static int names(const char *library, const char *symbol)
{
    for (int i = 0; i < 3; i++) {
        void *handle = dlmopen(LM_ID_NEWLM, library, RTLD_NOW);
        int (*function)(void) = NULL;
        if (handle == NULL) {
            printf("no name space: %s\n", dlerror());
            return 1;
        }
        *(void **)&function = dlsym(handle, symbol);
        if (function == NULL)
            printf("no %s\n", symbol);
        else
            printf("%s: %d\n", symbol, function());
        printf("closed %d\n", dlclose(handle));
        regtrace_mark_set(2, i + 1);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    if (strcmp(part, "clones") == 0)
        return clones();
    if (strcmp(part, "crowd") == 0 && argc > 2)
        return crowd(atoi(argv[2]));
    if (strcmp(part, "names") == 0 && argc > 3)
        return names(argv[2], argv[3]);
    return 2;
}
