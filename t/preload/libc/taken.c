/* SPDX-License-Identifier: BSD-3-Clause
 * A program that blocks all real-time signals and takes them one by one: "some" sends and waits for
 * one of them, "all" for each of them by each kind of wait. Prints how many it has taken, and how
 * many came that it had not sent. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static sigset_t realtime;
static int taken, foreign;

static void take(int expected, int kind)
{
    struct timespec limit = {.tv_sec = 10};
    siginfo_t info = {.si_value.sival_int = 7};
    int got = 0;
    if (kind == 0)
        got = sigtimedwait(&realtime, &info, &limit);
    else if (kind == 1)
        got = sigwaitinfo(&realtime, &info);
    else
        (void)sigwait(&realtime, &got);
    if (got == expected && info.si_value.sival_int == 7)
        taken++;
    else
        foreign++;
}

int main(int n, char **arguments)
{
    int all = n > 1 && strcmp(arguments[1], "all") == 0;
    struct timespec nap = {.tv_nsec = 3000000}, none = {.tv_nsec = 1000000};
    siginfo_t info;
    sigemptyset(&realtime);
    for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
        sigaddset(&realtime, i);
    sigprocmask(SIG_BLOCK, &realtime, NULL);
    for (int i = 0; i < 93; i++) {
        int signo = all ? SIGRTMIN + i / 3 : SIGRTMAX - 3;
        sigqueue(getpid(), signo, (union sigval){.sival_int = 7});
        take(signo, i % 3);
        nanosleep(&nap, NULL);
    }
    while (sigtimedwait(&realtime, &info, &none) > 0)
        foreign++;
    printf("taken %d foreign %d\n", taken, foreign);
    return 0;
}
