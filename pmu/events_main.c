/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-events: prints what the kernel must count on this processor for a name of PAPI or
 * libpfm4.
 *
 * This is a separate program because PAPI in the traced process would be a second tool there, with
 * its own signals, files and per-thread state, which a program that uses PAPI needs for itself.
 * regtrace starts it before main for a name that is not the kernel's. It answers on stdout, which
 * base/toolkit/ask.c reads: one line a name, fields separated by tabs:
 *
 *   TERMS NAME SOURCE MEANING    TERMS: +TYPE.CONFIG.CONFIG1.CONFIG2, hexadecimal, any number of
 *                                them without separator; - subtracts
 *   !     NAME SOURCE REASON     the event is not available
 *   end                          always the last line
 *
 * Sources: PAPI_get_event_info(3), pfm_get_os_event_encoding(3), perf_event_open(2). */
#include "pmu/events.h"

#include <stdio.h>
#include <string.h>

static const char usage[] = "Usage: regtrace-events EVENT...\n"
                            "       regtrace-events --about\n"
                            "Says what perf_event_open(2) is to be given for events of PAPI and "
                            "libpfm4. For regtrace's own use.\n";

static void print_text(const char *text)
{
    for (; *text != '\0'; text++)
        (void)putchar((unsigned char)*text < ' ' ? ' ' : *text);
}

static void print_event(const char *name, const struct event_answer *a, bool found)
{
    if (!found)
        (void)putchar('!');
    for (unsigned i = 0; found && i < a->terms; i++)
        (void)printf("%c%x.%llx.%llx.%llx", a->term[i].sign < 0 ? '-' : '+', a->term[i].type,
                     (unsigned long long)a->term[i].config, (unsigned long long)a->term[i].config1,
                     (unsigned long long)a->term[i].config2);
    (void)putchar('\t');
    print_text(name);
    (void)printf("\t%s\t", a->source);
    print_text(a->text);
    (void)putchar('\n');
}

static bool look_up(const char *name, struct event_answer *a)
{
    *a = (struct event_answer){.source = "libpfm4"};
    if (strncmp(name, "PAPI_", 5) == 0)
        return events_papi_find(name, a);
    return events_pfm_find(name, a);
}

int main(int argc, char **argv)
{
    struct event_answer a;
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        (void)fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? 2 : 0;
    }
    if (strcmp(argv[1], "--about") == 0) {
        a = (struct event_answer){.source = "PAPI"};
        bool papi = events_papi_about(&a);
        print_event("PAPI", &a, papi);
        a = (struct event_answer){.source = "libpfm4"};
        bool pfm = events_pfm_about(&a);
        print_event("libpfm4", &a, pfm);
    } else {
        for (int i = 1; i < argc; i++) {
            bool found = look_up(argv[i], &a);
            print_event(argv[i], &a, found);
        }
    }
    (void)puts("end");
    return fflush(stdout) == 0 ? 0 : 1;
}
