/* SPDX-License-Identifier: BSD-3-Clause
 * A process that ends, or seems to end: owner headless|orphan|reexec.
 *   headless  the main thread ends first; another thread goes on recording
 *   orphan    a child lives on and holds whatever it inherited
 *   reexec    the program records, then executes itself, and records again */
#include "share/include/regtrace.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *later(void *unused)
{
    (void)unused;
    usleep(700000); /* the writer looks more than ten times meanwhile */
    for (long i = 1; i <= 100; i++)
        regtrace_mark_set(0, i);
    printf("recorded\n");
    exit(0);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const char *part = argc > 1 ? argv[1] : "";
    if (strcmp(part, "headless") == 0) {
        regtrace_mark_set(1, 1);
        if (pthread_create(&thread, NULL, later, NULL) == 0)
            pthread_exit(NULL);
    } else if (strcmp(part, "orphan") == 0) {
        for (long i = 1; i <= 100; i++)
            regtrace_mark_set(0, i);
        pid_t child = fork();
        if (child == 0) {
            (void)close(1);
            (void)sleep(60);
            _exit(0);
        }
        printf("%d\n", (int)child);
        (void)fflush(stdout);
        (void)raise(SIGKILL);
    } else if (strcmp(part, "reexec") == 0) {
        for (long i = 1; i <= 100; i++)
            regtrace_mark_set(0, i);
        if (argc == 2)
            (void)execl(argv[0], argv[0], part, "again", (char *)NULL);
        return 0;
    }
    return 2;
}
