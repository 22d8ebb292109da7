/* SPDX-License-Identifier: BSD-3-Clause
 * Stands in for a writer that is in the middle of execve(2): for 0.7 s its command line is empty,
 * since the memory that holds it is gone. Then it becomes WRITER. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE ((uintptr_t)4096)

extern char **environ;
static char **arguments, **variables;

/* The pages of the arguments, up to the end of the stack. Linux would extend a part of the stack
 * that stays behind them down to them, with zeros, as soon as somebody reads them. */
static uintptr_t from, to;

static char **copy(char **texts)
{
    size_t n = 0;
    while (texts[n] != NULL)
        n++;
    char **all = calloc(n + 1, sizeof *all);
    for (size_t i = 0; all != NULL && i < n; i++)
        all[i] = strdup(texts[i]);
    return all;
}

/* Runs on a stack of its own: the first thread's may lie in the same pages. */
static void *become_writer(void *nothing)
{
    (void)nothing;
    (void)munmap((void *)from, to - from); /* NOLINT: pages of the stack */
    (void)nanosleep(&(struct timespec){.tv_nsec = 700000000}, NULL);
    (void)execve(WRITER, arguments, variables);
    _exit(127);
}

int main(int argc, char **argv)
{
    (void)argc;
    pthread_t thread;
    uintptr_t name = getauxval(AT_EXECFN);
    arguments = copy(argv);
    variables = copy(environ);
    from = (uintptr_t)argv[0] / PAGE * PAGE;
    to = (name + strlen((const char *)name)) / PAGE * PAGE + PAGE;
    if (pthread_create(&thread, NULL, become_writer, NULL) == 0)
        (void)pthread_join(thread, NULL);
    return 127;
}
