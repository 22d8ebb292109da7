/* SPDX-License-Identifier: BSD-3-Clause
 * Prints its open descriptors, children and signal masks after something was recorded; then
 * executes itself and prints them again. */
#include "share/include/regtrace.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void show_descriptors(const char *when)
{
    int numbers[1024], n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (d == NULL)
        exit(2);
    for (struct dirent *e = readdir(d); e != NULL && n < 1024; e = readdir(d))
        if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d))
            numbers[n++] = atoi(e->d_name);
    closedir(d);
    qsort(numbers, (size_t)n, sizeof numbers[0], compare);
    for (int i = 0; i < n; i++)
        printf("%s: descriptor %d\n", when, numbers[i]);
}

static void show_status(const char *when)
{
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "Threads:", 8) == 0)
            printf("%s: %s", when, line);
    if (f != NULL)
        fclose(f);
}

int main(int argc, char **argv)
{
    const char *when = argc > 1 ? "after exec" : "at first";
    for (int i = 0; i < 1000; i++)
        regtrace_mark_set(1, i);
    show_descriptors(when);
    show_status(when);
    int status;
    printf("%s: %s\n", when,
           wait(&status) == -1 && errno == ECHILD ? "no child" : "a child that nobody made");
    fflush(stdout);
    if (argc == 1)
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    return 0;
}
