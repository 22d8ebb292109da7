/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps its own account of where it is: the lines of the calls that it is in, outermost first. Each
 * region that it begins has that account as its name, "12>34>56", and LOG.THREAD has a line
 * "FUNCTION 12>34" for each call of a function work_*. usage: own_paths LOG */
#include <regtrace.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))
#define QUIET __attribute__((no_instrument_function))

static __thread volatile int lines[100], depth;
static __thread FILE *log_file;

QUIET static const char *account(char room[800])
{
    char *at = room;
    *at = '\0';
    for (int i = 0; i < depth; i++)
        at += sprintf(at, "%s%d", i > 0 ? ">" : "", lines[i]);
    return room;
}

QUIET static void note(const char *function)
{
    char room[800];
    fprintf(log_file, "%s %s\n", function, account(room));
}

/* Makes a call and notes its line while it lasts. */
#define CALL(...)                                                                                  \
    do {                                                                                           \
        lines[depth] = __LINE__;                                                                   \
        depth = depth + 1;                                                                         \
        __VA_ARGS__;                                                                               \
        depth = depth - 1;                                                                         \
    } while (0)
#define REGION()                                                                                   \
    do {                                                                                           \
        char room_[800];                                                                           \
        CALL(account(room_), regtrace_region_begin(room_));                                        \
        regtrace_region_end(room_);                                                                \
    } while (0)

static volatile int sum;

APART void work_leaf(int n)
{
    note(__func__);
    REGION();
    sum += n;
}

APART void work_recursion(int n)
{
    note(__func__);
    if (n > 0)
        CALL(work_recursion(n - 1));
    else
        CALL(work_leaf(n));
    sum += n;
}

/* Aligns its stack. */
APART void work_aligned(int n)
{
    _Alignas(64) char room[640];
    note(__func__);
    memset(room, n, sizeof room);
    CALL(work_leaf(room[n]));
    REGION();
    sum += room[n];
}

/* Has a frame of variable size. */
APART void work_variable(int n)
{
    char room[n * 100 + 1];
    note(__func__);
    memset(room, n, sizeof room);
    CALL(work_aligned(n));
    sum += room[n];
}

QUIET static int compare(const void *a, const void *b)
{
    CALL(work_leaf(1));
    return *(const int *)a - *(const int *)b;
}

APART void work_callback(void)
{
    int x[3] = {3, 2, 1};
    note(__func__);
    CALL(qsort(x, 3, sizeof *x, compare));
    sum += x[0];
}

QUIET static void handler(int number)
{
    CALL(work_variable(number % 7));
}

APART void work_signal(void)
{
    note(__func__);
    CALL(raise(SIGUSR1));
    sum++;
}

APART void work_all(int n)
{
    note(__func__);
    CALL(work_leaf(n));
    CALL(work_recursion(12));
    CALL(work_variable(n));
    CALL(work_callback());
    CALL(work_signal());
    REGION();
    sum += n;
}

QUIET static void open_log(const char *name, int thread)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", name, thread);
    log_file = fopen(path, "w");
    if (log_file == NULL)
        exit(3);
}

QUIET static void *other(void *log)
{
    open_log(log, 1);
    for (int i = 0; i < 3; i++)
        CALL(work_all(i));
    fclose(log_file);
    return NULL;
}

QUIET int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 2)
        return 2;
    open_log(argv[1], 0);
    signal(SIGUSR1, handler);
    pthread_create(&thread, NULL, other, argv[1]);
    for (int i = 0; i < 5; i++)
        CALL(work_all(i));
    REGION();
    pthread_join(thread, NULL);
    fclose(log_file);
    return 0;
}
